//! Agents whose clock contradicts that of the call that started them.

use crate::draft::Draft;
use unspool_model::{Code, EventFlags, Timestamp};

pub(crate) fn compare(draft: &mut Draft<'_>) {
    for n in 0..draft.agents.len() {
        let agent = &draft.agents[n];
        // An inferred link already respects the clocks.
        let Some(spawn) = agent.spawn.filter(|spawn| !spawn.rule.inferred()) else { continue };
        let Some(first) = draft.timeline[n].first().copied() else { continue };
        let (started, call) = (draft.steps[first as usize].started, &draft.steps[spawn.step as usize]);
        let before = is_before(draft, started, call.started);
        let waits = !call.flags.has(EventFlags::ASYNC);
        let after = waits && is_before(draft, call.ended, started);
        if before || after {
            let (id, record) = (agent.native_id, draft.first_record(first));
            draft.issue(Code::ClockSkew, id, Some(record));
        }
    }
}

/// Whether a moment lies before another by more than clocks may disagree.
fn is_before(draft: &Draft<'_>, a: Timestamp, b: Timestamp) -> bool {
    let tolerance = draft.table.tolerance_ms(a, b);
    b.ms_since(a).is_some_and(|ms| ms > tolerance)
}
