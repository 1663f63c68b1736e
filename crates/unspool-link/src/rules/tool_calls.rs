//! Tool calls to the model call that asked, and results to the model call that first received them. By id.

use crate::draft::{Draft, EdgeDraft, Evidence};
use crate::order::Place;
use rustc_hash::FxHashMap;
use unspool_model::flow::NONE;
use unspool_model::{Confidence, EdgeKind, EventKind, Rule, StepKind};

pub(crate) fn link(draft: &mut Draft<'_>) {
    link_calls(draft);
    link_results(draft);
}

/// A call stands in the same record as (a block of) the answer that asked for it.
fn link_calls(draft: &mut Draft<'_>) {
    let mut asked_by: FxHashMap<u32, u32> = FxHashMap::default();
    let (mut record, mut model_call) = (u32::MAX, NONE);
    for at in 0..draft.event_step.len() {
        let event = *draft.event(at);
        let step = draft.event_step[at];
        if event.record != record {
            (record, model_call) = (event.record, NONE);
        }
        match event.kind {
            EventKind::ModelCall => model_call = step,
            // The first occurrence wins: repeated history never makes a second edge.
            EventKind::ToolCall if model_call != NONE && !asked_by.contains_key(&step) => {
                asked_by.insert(step, model_call);
                draft.steps[step as usize].caller = model_call;
                let tool_use = draft.steps[step as usize].tool_use;
                draft.add_edge(EdgeDraft {
                    from: model_call,
                    to: step,
                    kind: EdgeKind::Calls,
                    rule: Rule::ToolCallId,
                    confidence: Confidence::EXACT,
                    tool_use,
                    is_error: false,
                    evidence: Evidence::Two(record, record),
                });
            }
            _ => {}
        }
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
            // A coarse clock may date a result before its own call.
            let result_place = draft.place(step.result_event as usize).max(step.place);
            let Some(receiver) = first_after(&calls, result_place) else { continue };
            let edge = EdgeDraft {
                from: n,
                to: receiver,
                kind: EdgeKind::ToolResult,
                rule: Rule::ToolResultId,
                confidence: Confidence::EXACT,
                tool_use: step.tool_use,
                is_error: step.is_error,
                evidence: Evidence::Two(
                    draft.event(step.result_event as usize).record,
                    draft.first_record(receiver),
                ),
            };
            draft.add_edge(edge);
        }
    }
}

/// An agent's model calls with their places, in order.
pub(crate) fn model_calls(draft: &Draft<'_>, agent: usize) -> Vec<(Place, u32)> {
    let steps = draft.timeline[agent].iter();
    let calls = steps.filter(|n| draft.steps[**n as usize].kind == StepKind::ModelCall);
    calls.map(|n| (draft.steps[*n as usize].place, *n)).collect()
}

/// The first model call after a place.
pub(crate) fn first_after(calls: &[(Place, u32)], place: Place) -> Option<u32> {
    let next = calls.partition_point(|(at, _)| *at <= place);
    calls.get(next).map(|(_, step)| *step)
}
