//! The order of steps inside one agent: as it was written, or, where a recorded request repeats the one before it, as the
//! conversation goes. Order never speaks against what is known otherwise.

use crate::draft::{Draft, exact};
use crate::order;
use unspool_model::{EdgeKind, Rule};

pub(crate) fn link(draft: &mut Draft<'_>) {
    let causes_the_one_before = causes_of_the_one_before(draft);
    for agent in 0..draft.timeline.len() {
        for pair in 1..draft.timeline[agent].len() {
            let (from, to) = (draft.timeline[agent][pair - 1], draft.timeline[agent][pair]);
            if causes_the_one_before[to as usize] {
                continue;
            }
            let evidence = [draft.first_record(from), draft.first_record(to)];
            let repeats = draft.corpus.conversations.parent(evidence[1]) == Some(evidence[0]);
            let rule = if repeats { Rule::ConversationHistory } else { Rule::AgentSequence };
            draft.add_edge(exact(from, to, EdgeKind::Sequence, rule), &evidence);
        }
    }
}

/// Steps that are known to have caused the step before them in their agent, as in circles that sources state.
fn causes_of_the_one_before(draft: &Draft<'_>) -> Vec<bool> {
    let positions = order::positions(draft);
    let mut found = vec![false; draft.steps.len()];
    for edge in draft.edges.iter().filter(|edge| !edge.rule.inferred()) {
        let (from, to) = (edge.from as usize, edge.to as usize);
        let is_next = positions[to].checked_add(1) == Some(positions[from]);
        found[from] |= is_next && draft.steps[from].agent == draft.steps[to].agent;
    }
    found
}
