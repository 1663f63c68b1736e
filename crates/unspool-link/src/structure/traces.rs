//! Runs of sessions that only spans tell of: a trace is a run. What was said to the main agent starts it, else the trace's
//! root does.

use super::runs::is_trigger;
use crate::draft::Draft;
use rustc_hash::FxHashMap;
use unspool_model::flow::NONE;
use unspool_model::{EventFlags, Run, Status, StepKind, Sym};

/// Gives the steps of a main agent their runs; false when somebody nearer than spans tells what was said to it.
pub(crate) fn runs(draft: &mut Draft<'_>, agent: usize) -> bool {
    let steps = draft.timeline[agent].clone();
    let trace = |n: u32| {
        let event = draft.steps[n as usize].first_event as usize;
        draft.spans.node(event).map(|node| node.trace)
    };
    let traces: Vec<Option<Sym>> = steps.iter().map(|n| trace(*n)).collect();
    let all = || steps.iter().copied().zip(traces.iter().copied());
    let other = |(n, trace): (u32, Option<Sym>)| {
        trace.is_none() && draft.steps[n as usize].kind == StepKind::UserMessage
    };
    if traces.iter().all(Option::is_none) || all().any(other) {
        return false;
    }
    // What starts each trace's first run.
    let mut first: FxHashMap<Sym, (u8, u32)> = FxHashMap::default();
    for (n, trace) in all() {
        let Some(trace) = trace else { continue };
        let is_root = draft.steps[n as usize].flags.has(EventFlags::TRIGGER);
        let rank = if is_trigger(draft, n) { 0 } else { 2 - u8::from(is_root) };
        let slot = first.entry(trace).or_insert((rank, n));
        if rank < slot.0 {
            *slot = (rank, n);
        }
    }
    let mut current: FxHashMap<Sym, u32> = FxHashMap::default();
    let mut last = NONE;
    for (n, trace) in steps.iter().copied().zip(traces) {
        if let Some(trace) = trace {
            let begins = is_trigger(draft, n);
            let known = current.get(&trace).copied();
            last = match known {
                Some(run) if !begins || draft.runs[run as usize].trigger == n => run,
                _ => {
                    let trigger = if known.is_some() { n } else { first.get(&trace).map_or(n, |(_, n)| *n) };
                    draft.runs.push(Run { trigger, status: Status::Unknown, ..Run::default() });
                    u32::try_from(draft.runs.len() - 1).unwrap_or(NONE)
                }
            };
            current.insert(trace, last);
        }
        draft.steps[n as usize].run = last;
    }
    true
}
