//! How agents and runs ended. Never from a stop reason: it is null on finished agents.
//!
//! In order: what a source states (a hook, a notification, a result), then the last step. An answer that asks
//! for nothing more ends the work; an error or an interruption in last place fails it; anything else is
//! unfinished, which means running while its last record is fresh and unknown after that.

use crate::agents::stated;
use crate::draft::Draft;
use unspool_model::flow::NONE;
use unspool_model::{AttrName, EventFlags, EventKind, KeyKind, Role, Status, StepKind, Sym, Timestamp};

pub(crate) fn judge(draft: &mut Draft<'_>) {
    take_statements(draft);
    for agent in 0..draft.agents.len() {
        let steps: Vec<u32> = draft.timeline[agent].clone();
        let times = steps.iter().map(|n| &draft.steps[*n as usize]);
        let started = times.clone().fold(Timestamp::NONE, |at, step| at.earlier(step.started));
        let ended = times.fold(Timestamp::NONE, |at, step| at.later(step.ended.later(step.started)));
        let by_steps = by_last_step(draft, &steps);
        let draft_agent = &mut draft.agents[agent];
        draft_agent.started = started;
        draft_agent.ended = ended;
        draft_agent.status = draft_agent.stated_status.unwrap_or(by_steps);
    }
    for run in 0..draft.runs.len() {
        let main = draft.steps[draft.runs[run].trigger as usize].agent as usize;
        let own: Vec<u32> = draft.timeline[main]
            .iter()
            .copied()
            .filter(|n| draft.steps[*n as usize].run == u32::try_from(run).unwrap_or(NONE))
            .collect();
        draft.runs[run].status = by_last_step(draft, &own);
    }
}

/// What results, notifications and stops say about the agents they speak of.
fn take_statements(draft: &mut Draft<'_>) {
    for at in 0..draft.group.events.len() {
        let event = draft.event(at);
        let status = draft.attr_text(at, AttrName::Status).and_then(|word| stated(draft.text(word)));
        let (agent, status) = match event.kind {
            EventKind::AgentStop => {
                (Some(draft.event_agent[at] as usize), status.or(Some(Status::Completed)))
            }
            EventKind::AgentReturn => {
                let id = draft.key(at, KeyKind::Task, Role::Refers).unwrap_or_default();
                let call = draft.key(at, KeyKind::ToolUse, Role::Refers).unwrap_or_default();
                (agent_of(draft, id, call), status)
            }
            EventKind::ToolResult => {
                let call = draft.key(at, KeyKind::ToolUse, Role::Refers).unwrap_or_default();
                (agent_of(draft, Sym::EMPTY, call), status)
            }
            _ => (None, None),
        };
        if let (Some(agent), Some(status)) = (agent, status) {
            draft.agents[agent].stated_status = Some(status);
        }
    }
}

fn agent_of(draft: &Draft<'_>, id: Sym, call: Sym) -> Option<usize> {
    draft.agents.iter().position(|agent| {
        let by_call = agent.spawn.is_some_and(|spawn| !call.is_empty() && spawn.tool_use_id == call);
        by_call || (!id.is_empty() && agent.native_id == id)
    })
}

fn by_last_step(draft: &Draft<'_>, steps: &[u32]) -> Status {
    let mut last_at = Timestamp::NONE;
    let mut verdict = Status::Unknown;
    let mut waiting = false;
    for n in steps {
        let step = &draft.steps[*n as usize];
        last_at = last_at.later(step.ended.later(step.started));
        match step.kind {
            StepKind::ModelCall => {
                waiting = step.flags.has(EventFlags::HAS_TOOL_USE);
                verdict = if waiting || !step.flags.has(EventFlags::HAS_TEXT) {
                    Status::Unknown
                } else {
                    Status::Completed
                };
            }
            StepKind::ToolCall => {
                waiting = step.result_event == NONE || !step.flags.has(EventFlags::DENIED);
                verdict = if step.flags.has(EventFlags::INTERRUPTED) || step.flags.has(EventFlags::DENIED) {
                    Status::Failed
                } else {
                    Status::Unknown
                };
            }
            StepKind::UserMessage if step.flags.has(EventFlags::INTERRUPTED) => verdict = Status::Failed,
            StepKind::UserMessage
                if step.flags.has(EventFlags::META) || step.flags.has(EventFlags::COMMAND) => {}
            StepKind::UserMessage => verdict = Status::Unknown,
            StepKind::System if step.flags.has(EventFlags::API_ERROR) => verdict = Status::Failed,
            StepKind::AgentStop => verdict = Status::Completed,
            _ => {}
        }
    }
    let _ = waiting;
    let as_of = draft.corpus.as_of;
    let fresh = as_of.ms_since(last_at).is_some_and(|ms| ms <= draft.corpus.table.running_window_ms);
    if verdict == Status::Unknown && fresh { Status::Running } else { verdict }
}
