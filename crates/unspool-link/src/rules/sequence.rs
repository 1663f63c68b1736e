//! The order of steps inside one agent: as it was written, or, where a recorded request repeats the one before it, as the
//! conversation goes.

use crate::draft::{Draft, exact};
use unspool_model::{EdgeKind, Rule};

pub(crate) fn link(draft: &mut Draft<'_>) {
    for agent in 0..draft.timeline.len() {
        for pair in 1..draft.timeline[agent].len() {
            let (from, to) = (draft.timeline[agent][pair - 1], draft.timeline[agent][pair]);
            let evidence = [draft.first_record(from), draft.first_record(to)];
            let repeats = draft.corpus.conversations.parent(evidence[1]) == Some(evidence[0]);
            let rule = if repeats { Rule::ConversationHistory } else { Rule::AgentSequence };
            draft.add_edge(exact(from, to, EdgeKind::Sequence, rule), &evidence);
        }
    }
}
