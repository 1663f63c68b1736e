//! How agents and runs ended. Never from a stop reason: it is null on finished agents.
//!
//! In order: what a source states (a hook, a notification, a result, a workflow) if the agent did nothing after it, then the last
//! step. An answer that asks for nothing more ends the work; an error or an interruption in last place fails it; anything
//! else is unfinished, which means running while its last record is fresh and unknown after that.

use crate::agents::stated;
use crate::draft::Draft;
use crate::steps::StepDraft;
use crate::structure::stated_runs::StatedRun;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use unspool_model::{AttrName, EventFlags, EventKind, KeyKind, Role, Status, StepKind, Sym, Timestamp};

pub(crate) fn judge(draft: &mut Draft<'_>) {
    let statements = statements(draft);
    for agent in 0..draft.agents.len() {
        let steps: Vec<u32> = draft.timeline[agent].clone();
        let own = || steps.iter().map(|n| &draft.steps[*n as usize]);
        let started = own().fold(Timestamp::NONE, |at, step| at.earlier(step.started));
        let ended = own().fold(Timestamp::NONE, |at, step| at.later(step.ended.later(step.started)));
        let active = own().filter(|step| !matches!(step.kind, StepKind::AgentStop | StepKind::AgentStart));
        let last_began = active.map(|step| step.started).max().unwrap_or_default();
        let stated = statements.get(&agent).filter(|(at, _)| !at.is_some() || last_began <= *at);
        let status = stated.map_or_else(|| by_last_step(draft, &steps), |(_, status)| *status);
        let agent = &mut draft.agents[agent];
        agent.started = started;
        agent.ended = ended;
        agent.status = status;
    }
    // What a run's main agent did in it, in order.
    let mut of_run: Vec<Vec<u32>> = vec![Vec::new(); draft.runs.len()];
    for (agent, timeline) in draft.timeline.iter().enumerate() {
        for n in timeline {
            let run = draft.steps[*n as usize].run;
            let is_main = draft
                .runs
                .get(run as usize)
                .is_some_and(|run| draft.steps[run.trigger as usize].agent as usize == agent);
            if is_main {
                of_run[run as usize].push(*n);
            }
        }
    }
    for (run, steps) in of_run.iter().enumerate() {
        let status = match draft.stated_runs.get(run) {
            Some(StatedRun { status: Some(stated), .. }) => *stated,
            // Its source will say when it ends; until then, its last step does not.
            Some(StatedRun { is_open: true, .. }) => unfinished(draft, last_moment(draft, steps)),
            _ => by_last_step(draft, steps),
        };
        draft.runs[run].status = status;
    }
    sum_up_stated(draft);
}

/// An agent whose runs its source names ended as they did: one that failed fails it, and it is complete when all are.
fn sum_up_stated(draft: &mut Draft<'_>) {
    let mut of_agent: BTreeMap<u32, Vec<Status>> = BTreeMap::new();
    for run in draft.runs.iter().take(draft.stated_runs.len()) {
        of_agent.entry(draft.steps[run.trigger as usize].agent).or_default().push(run.status);
    }
    for (agent, runs) in of_agent {
        let order = [Status::Failed, Status::Running, Status::Unknown, Status::Completed];
        let worst = order.into_iter().find(|status| runs.contains(status));
        draft.agents[agent as usize].status = worst.unwrap_or_default();
    }
}

/// The latest that results, notifications, stops and notes about it say about each agent they speak of.
fn statements(draft: &Draft<'_>) -> FxHashMap<usize, (Timestamp, Status)> {
    let mut by_id: FxHashMap<Sym, usize> = FxHashMap::default();
    let mut by_call: FxHashMap<Sym, usize> = FxHashMap::default();
    for (n, agent) in draft.agents.iter().enumerate() {
        by_id.insert(agent.native_id, n);
        let calls = agent.continued_by.iter().copied().chain(agent.spawn.map(|spawn| spawn.step));
        by_call.extend(calls.map(|step| (draft.steps[step as usize].tool_use, n)));
    }
    let mut latest: FxHashMap<usize, (Timestamp, Status)> = FxHashMap::default();
    for at in 0..draft.group.events.len() {
        let event = draft.event(at);
        let word = || draft.attr_text(at, AttrName::Status).and_then(|word| stated(draft.text(word)));
        let call = || draft.key(at, KeyKind::ToolUse, Role::Refers).and_then(|id| by_call.get(&id).copied());
        let (agent, status) = match event.kind {
            EventKind::AgentStop => {
                (Some(draft.event_agent[at] as usize), word().or(Some(Status::Completed)))
            }
            // What is noted about it, as when the workflow it was part of had ended.
            EventKind::AgentInfo => (Some(draft.event_agent[at] as usize), word()),
            // An agent's span is over when it is written.
            EventKind::AgentStart if draft.spans.makes_agent(at) && draft.spans.own(at).is_some() => {
                (Some(draft.event_agent[at] as usize), word())
            }
            EventKind::AgentReturn => {
                let id = draft.key(at, KeyKind::Task, Role::Refers);
                (id.and_then(|id| by_id.get(&id).copied()).or_else(call), word())
            }
            // The call failed or was cut off while it waited for the agent.
            EventKind::ToolResult if event.flags.has(EventFlags::ERROR) => {
                (call(), word().or(Some(Status::Failed)))
            }
            EventKind::ToolResult => (call(), word()),
            _ => continue,
        };
        if let (Some(agent), Some(status)) = (agent, status) {
            let said = draft.over(at);
            let slot = latest.entry(agent).or_insert((said, status));
            if said >= slot.0 {
                *slot = (said, status);
            }
        }
    }
    latest
}

fn last_moment(draft: &Draft<'_>, steps: &[u32]) -> Timestamp {
    let steps = steps.iter().map(|n| &draft.steps[*n as usize]);
    steps.fold(Timestamp::NONE, |last, step| last.later(step.ended.later(step.started)))
}

/// What is not finished runs while its last record is fresh; later, nothing says what became of it.
fn unfinished(draft: &Draft<'_>, last_at: Timestamp) -> Status {
    let age_ms = draft.corpus.as_of.ms_since(last_at);
    let fresh = age_ms.is_some_and(|ms| (0..=draft.table.running_window_ms).contains(&ms));
    if fresh { Status::Running } else { Status::Unknown }
}

fn is_for_the_client(draft: &Draft<'_>, step: &StepDraft) -> bool {
    draft.attr_text(step.first_event as usize, AttrName::Purpose).is_some()
}

fn by_last_step(draft: &Draft<'_>, steps: &[u32]) -> Status {
    let mut verdict = Status::Unknown;
    let mut root = None;
    for n in steps {
        let step = &draft.steps[*n as usize];
        let has = |flag| step.flags.has(flag);
        verdict = match step.kind {
            StepKind::ModelCall if has(EventFlags::API_ERROR) => Status::Failed,
            StepKind::ModelCall if has(EventFlags::INTERRUPTED) => Status::Unknown,
            // The root of a trace is over when it is written, and speaks for everything in it.
            _ if has(EventFlags::TRIGGER) && has(EventFlags::WHOLE) => {
                root = root.or(Some(if step.is_error { Status::Failed } else { Status::Completed }));
                verdict
            }
            StepKind::ModelCall if has(EventFlags::HAS_TEXT) && !has(EventFlags::HAS_TOOL_USE) => {
                Status::Completed
            }
            // What a client asked for itself, and was answered.
            StepKind::ModelCall | StepKind::System
                if has(EventFlags::WHOLE)
                    && !has(EventFlags::API_ERROR)
                    && is_for_the_client(draft, step) =>
            {
                Status::Completed
            }
            StepKind::ModelCall => Status::Unknown,
            StepKind::ToolCall if has(EventFlags::INTERRUPTED) || has(EventFlags::DENIED) => Status::Failed,
            StepKind::ToolCall => Status::Unknown,
            StepKind::UserMessage if has(EventFlags::INTERRUPTED) => Status::Failed,
            StepKind::UserMessage
                if has(EventFlags::META) || has(EventFlags::COMMAND) || has(EventFlags::COMPACT_SUMMARY) =>
            {
                verdict
            }
            StepKind::UserMessage => Status::Unknown,
            StepKind::System if has(EventFlags::API_ERROR) => Status::Failed,
            StepKind::AgentStop => Status::Completed,
            StepKind::Hook if has(EventFlags::TURN_END) => Status::Completed,
            _ => verdict,
        };
    }
    let verdict = root.unwrap_or(verdict);
    if verdict == Status::Unknown { unfinished(draft, last_moment(draft, steps)) } else { verdict }
}
