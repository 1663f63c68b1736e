//! Tool calls to the model call that asked, and results to the model call that first received them. By id.

use crate::draft::{Draft, exact};
use crate::order::Place;
use unspool_model::flow::NONE;
use unspool_model::{Confidence, Edge, EdgeKind, EventFlags, EventKind, RecordIx, Rule, StepKind, Witness};

pub(crate) fn link(draft: &mut Draft<'_>) {
    link_calls(draft);
    link_results(draft);
}

/// A call stands in the same record as (a block of) the answer that asked for it. Repeated history never makes a
/// second edge: of several such records, the one that gives the call its place is the evidence.
fn link_calls(draft: &mut Draft<'_>) {
    let mut asked: Vec<(u32, RecordIx)> = vec![(NONE, 0); draft.steps.len()];
    let (mut record, mut model_call) = (u32::MAX, NONE);
    for at in 0..draft.event_step.len() {
        let event = draft.event(at);
        let step = draft.event_step[at];
        if event.record != record {
            (record, model_call) = (event.record, NONE);
        }
        match event.kind {
            EventKind::ModelCall => model_call = step,
            EventKind::ToolCall if model_call != NONE => {
                let slot = &mut asked[step as usize];
                if slot.0 == NONE || draft.steps[step as usize].first_event as usize == at {
                    *slot = (model_call, record);
                }
            }
            _ => {}
        }
    }
    for (n, (model_call, record)) in
        asked.into_iter().enumerate().filter(|(_, (model_call, _))| *model_call != NONE)
    {
        draft.steps[n].caller = model_call;
        let call = exact(model_call, u32::try_from(n).unwrap_or(NONE), EdgeKind::Calls, Rule::ToolCallId);
        draft.add_edge(Edge { tool_use_id: draft.steps[n].tool_use, ..call }, &[record]);
    }
}

fn link_results(draft: &mut Draft<'_>) {
    for agent in 0..draft.timeline.len() {
        let calls = model_calls(draft, agent);
        for n in draft.timeline[agent].clone() {
            let step = &draft.steps[n as usize];
            if step.kind != StepKind::ToolCall || step.result_event == NONE {
                continue;
            }
            if step.is_declared() {
                // No id names the call; what its result fed is for its source to say.
                continue;
            }
            // A coarse clock may date a result before its own call.
            let result_place = draft.result_place(step.result_event as usize).max(draft.place_of(step));
            let own = receiver_in_record(draft, step.result_event as usize);
            let Some(receiver) = own.or_else(|| first_after(&calls, result_place)) else { continue };
            let by_order = draft.event(step.result_event as usize).flags.has(EventFlags::RESULT_BY_ORDER);
            let rule = if by_order { Rule::ToolResultOrder } else { Rule::ToolResultId };
            let edge = Edge {
                tool_use_id: step.tool_use,
                is_error: step.is_error,
                confidence: if by_order { draft.table.result_order } else { Confidence::EXACT },
                ..exact(n, receiver, EdgeKind::ToolResult, rule)
            };
            let evidence = [draft.event(step.result_event as usize).record, draft.first_record(receiver)];
            draft.add_edge(edge, &evidence);
        }
    }
}

/// The model call whose request a recorded input stands in.
pub(crate) fn receiver_in_record(draft: &Draft<'_>, result: usize) -> Option<u32> {
    if draft.witness(result) != Witness::Wire {
        return None;
    }
    let record = draft.event(result).record;
    let rest = (result + 1..draft.group.events.len()).take_while(|at| draft.event(*at).record == record);
    rest.into_iter().find(|at| draft.event(*at).kind == EventKind::ModelCall).map(|at| draft.event_step[at])
}

/// An agent's model calls with their places, in order.
pub(crate) type Calls = Vec<(Place, u32)>;

pub(crate) fn model_calls(draft: &Draft<'_>, agent: usize) -> Calls {
    let steps = draft.timeline[agent].iter();
    let calls = steps.filter(|n| draft.steps[**n as usize].kind == StepKind::ModelCall);
    calls.map(|n| (draft.place_of(&draft.steps[*n as usize]), *n)).collect()
}

/// The first model call after a place.
pub(crate) fn first_after(calls: &Calls, place: Place) -> Option<u32> {
    let next = calls.partition_point(|(at, _)| *at <= place);
    calls.get(next).map(|(_, step)| *step)
}
