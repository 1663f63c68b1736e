//! The order of steps inside one agent.

use crate::draft::{Draft, exact};
use unspool_model::{EdgeKind, Rule};

pub(crate) fn link(draft: &mut Draft<'_>) {
    for agent in 0..draft.timeline.len() {
        for pair in 1..draft.timeline[agent].len() {
            let (from, to) = (draft.timeline[agent][pair - 1], draft.timeline[agent][pair]);
            let evidence = [draft.first_record(from), draft.first_record(to)];
            draft.add_edge(exact(from, to, EdgeKind::Sequence, Rule::AgentSequence), &evidence);
        }
    }
}
