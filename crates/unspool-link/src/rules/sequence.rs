//! The order of steps inside one agent.

use crate::draft::{Draft, EdgeDraft, Evidence};
use unspool_model::{Confidence, EdgeKind, Rule, Sym};

pub(crate) fn link(draft: &mut Draft<'_>) {
    for agent in 0..draft.timeline.len() {
        for pair in 1..draft.timeline[agent].len() {
            let (from, to) = (draft.timeline[agent][pair - 1], draft.timeline[agent][pair]);
            let evidence = Evidence::Two(draft.first_record(from), draft.first_record(to));
            draft.add_edge(EdgeDraft {
                from,
                to,
                kind: EdgeKind::Sequence,
                rule: Rule::AgentSequence,
                confidence: Confidence::EXACT,
                tool_use: Sym::EMPTY,
                is_error: false,
                evidence,
            });
        }
    }
}
