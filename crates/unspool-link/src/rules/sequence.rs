//! The order of steps inside one agent: as it was written, or, where recorded requests repeat what they go on from, as the
//! conversation goes. Order never speaks against what is known otherwise.

use crate::draft::{Draft, exact};
use crate::order;
use rustc_hash::FxHashSet;
use unspool_model::{EdgeKind, Rule};

pub(crate) fn link(draft: &mut Draft<'_>) {
    let causes_the_one_before = causes_of_the_one_before(draft);
    // Steps that begin a branch: what they go on from leads to them already.
    let forks = draft.edges.iter().filter(|edge| edge.rule == Rule::ContinuationFork);
    let begin: FxHashSet<u32> = forks.map(|edge| edge.to).collect();
    for agent in 0..draft.timeline.len() {
        for pair in 1..draft.timeline[agent].len() {
            let (from, to) = (draft.timeline[agent][pair - 1], draft.timeline[agent][pair]);
            if causes_the_one_before[to as usize] {
                continue;
            }
            let Some((from, rule)) = before(draft, &begin, from, to) else { continue };
            let evidence = [draft.first_record(from), draft.first_record(to)];
            draft.add_edge(exact(from, to, EdgeKind::Sequence, rule), &evidence);
        }
    }
}

/// What a step follows, given the one before it in time: that one, or the call whose history its request repeats, or nothing
/// that is not known already.
fn before(draft: &Draft<'_>, begin: &FxHashSet<u32>, from: u32, to: u32) -> Option<(u32, Rule)> {
    let conversations = &draft.corpus.conversations;
    let (earlier, record) = (draft.first_record(from), draft.first_record(to));
    match conversations.parent(record) {
        Some(parent) if parent == earlier => Some((from, Rule::ConversationHistory)),
        Some(_) if earlier == record => Some((from, Rule::AgentSequence)),
        Some(_) if begin.contains(&to) => None,
        // Both go on from the same request: one of them was tried again.
        Some(parent) if conversations.parent(earlier) != Some(parent) => {
            let call = draft.call_of.get(&parent).copied();
            let in_agent = call.filter(|call| {
                draft.steps[*call as usize].agent == draft.steps[to as usize].agent && *call != to
            });
            Some(in_agent.map_or((from, Rule::AgentSequence), |call| (call, Rule::ConversationHistory)))
        }
        _ => Some((from, Rule::AgentSequence)),
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
