//! Runs: from a user input to the last thing it caused.

use crate::draft::Draft;
use crate::structure::stated_runs;
use rustc_hash::FxHashMap;
use unspool_model::flow::NONE;
use unspool_model::{EventFlags, EventKind, KeyKind, Role, Run, Status, StepKind, Sym};

pub(crate) fn build(draft: &mut Draft<'_>) {
    stated_runs::build(draft);
    let reports = reports(draft);
    let mut order: Vec<usize> = (0..draft.agents.len()).collect();
    unspool_model::sort_by_meaning(&mut order, |n| (draft.agents[*n].depth, *n));
    for agent in order {
        match draft.agents[agent].spawn {
            // Everything a sub-agent does belongs to the run that started it.
            Some(spawn) => {
                let run = draft.steps[spawn.step as usize].run;
                for n in draft.timeline[agent].clone() {
                    draft.steps[n as usize].run = run;
                }
            }
            None if !draft.agents[agent].is_main() => {}
            None => {
                // A trace is a run; everything else is told by what was said.
                let by_traces = !draft.spans.is_empty() && super::traces::runs(draft, agent);
                if !by_traces {
                    main_runs(draft, agent, &reports);
                }
            }
        }
    }
    times(draft);
    stated_runs::set_times(draft);
}

/// Whether a step is an input that starts a run: said to the main agent, by somebody.
pub(crate) fn is_trigger(draft: &Draft<'_>, step: u32) -> bool {
    let step = &draft.steps[step as usize];
    let not = [
        EventFlags::META,
        EventFlags::COMPACT_SUMMARY,
        EventFlags::INTERRUPTED,
        EventFlags::NOTIFICATION,
        EventFlags::TEAMMATE,
        EventFlags::COMMAND,
    ];
    // Nothing but reminders: nobody said anything.
    let says_something = step.flags.has(EventFlags::HAS_TEXT);
    step.kind == StepKind::UserMessage && says_something && !not.iter().any(|flag| step.flags.has(*flag))
}

fn main_runs(draft: &mut Draft<'_>, agent: usize, reports: &FxHashMap<u32, u32>) {
    let mut current = NONE;
    for n in draft.timeline[agent].clone() {
        if draft.steps[n as usize].run != NONE {
            // Its source says which run it is of.
            current = draft.steps[n as usize].run;
        } else if is_trigger(draft, n) {
            current = u32::try_from(draft.runs.len()).unwrap_or(NONE);
            draft.runs.push(Run { trigger: n, status: Status::Unknown, ..Run::default() });
        } else if let Some(call) = reports.get(&n)
            && draft.steps[*call as usize].run != NONE
        {
            // The end of background work goes on with the run that started it.
            current = draft.steps[*call as usize].run;
        }
        draft.steps[n as usize].run = current;
    }
}

/// For messages that report the end of background work, the call that started it.
fn reports(draft: &Draft<'_>) -> FxHashMap<u32, u32> {
    let mut spawned: FxHashMap<Sym, u32> = FxHashMap::default();
    let mut calls: FxHashMap<Sym, u32> = FxHashMap::default();
    for agent in &draft.agents {
        if let Some(spawn) = agent.spawn {
            spawned.insert(agent.native_id, spawn.step);
        }
    }
    for (n, step) in draft.steps.iter().enumerate().filter(|(_, step)| step.kind == StepKind::ToolCall) {
        calls.insert(step.tool_use, u32::try_from(n).unwrap_or(NONE));
    }
    let mut reports = FxHashMap::default();
    let mut message = (u32::MAX, NONE);
    for at in 0..draft.group.events.len() {
        let event = draft.event(at);
        match event.kind {
            EventKind::UserMessage => message = (event.record, draft.event_step[at]),
            EventKind::AgentReturn if message.0 == event.record && message.1 != NONE => {
                let key = |kind| draft.key(at, kind, Role::Refers);
                let call = key(KeyKind::ToolUse)
                    .and_then(|id| calls.get(&id).copied())
                    .or_else(|| key(KeyKind::Task).and_then(|id| spawned.get(&id).copied()));
                if let Some(call) = call {
                    reports.entry(message.1).or_insert(call);
                }
            }
            _ => {}
        }
    }
    reports
}

fn times(draft: &mut Draft<'_>) {
    for step in &draft.steps {
        if let Some(run) = draft.runs.get_mut(step.run as usize) {
            run.started = run.started.earlier(step.started);
            run.ended = run.ended.later(step.ended.later(step.started));
        }
    }
    // A run starts with its input, whatever a skewed clock says of what it caused.
    for run in &mut draft.runs {
        let trigger = draft.steps[run.trigger as usize].started;
        if trigger.is_some() {
            run.started = trigger;
        }
    }
}
