//! Calls that had not been answered when the record of their agent ends.
//!
//! This speaks of what is not there, so that much must be: a record without holes that holds the answer of every other call.

use super::session::Session;
use super::tools::Role;
use super::{Basis, Finder, Finding};
use crate::duration::duration;
use rustc_hash::FxHashSet;
use unspool_model::{Agent, Status, Step, StepKind};

pub(super) const FINDER: Finder = Finder {
    code: "unanswered_call",
    sentence: "The record of an agent ends before a tool answered, and holds the answers of all its other calls.",
    rests_on: Basis::Absence,
    find,
};

fn find(session: &Session<'_>) -> Vec<Finding> {
    let flow = session.flow;
    let is_over = |agent: &&Agent| matches!(agent.status, Status::Completed | Status::Failed);
    // An agent that ended did answer the call that started it.
    let ended: FxHashSet<u32> =
        flow.agents.iter().filter(is_over).filter_map(|agent| agent.spawn.map(|spawn| spawn.step)).collect();
    let mut found = Vec::new();
    for (agent, timeline) in flow.agents.iter().zip(&session.timelines) {
        // The last call of a completed agent is its answer.
        if matches!(agent.status, Status::Running | Status::Completed) {
            continue;
        }
        let begin = timeline.iter().rposition(|n| !is_last_word(session.step(*n))).map_or(0, |n| n + 1);
        let (before, end) = timeline.split_at(begin);
        // After anything but an answer of the model, the calls are not its last ones or nobody says who asked for them.
        let asked = before.last().is_some_and(|n| session.step(*n).kind == StepKind::ModelCall);
        let Some(answers) = Answers::of(session, timeline).filter(|_| asked) else { continue };
        if before.iter().any(|n| is_open(session.step(*n))) {
            continue;
        }
        for call in end.iter().copied().filter(|n| is_open(session.step(*n)) && !ended.contains(n)) {
            let run = flow.runs.get(session.step(call).run as usize).map(|run| run.status);
            if run != Some(Status::Running) {
                found.push(finding(session, call, &answers));
            }
        }
    }
    found
}

/// A call, answered or not, or what a hook said of it: nothing that goes on from its answer.
fn is_last_word(step: &Step) -> bool {
    step.kind == StepKind::Hook || (step.kind == StepKind::ToolCall && !step.name.is_empty())
}

fn is_open(step: &Step) -> bool {
    step.kind == StepKind::ToolCall && step.pending
}

/// The answered calls of an agent: that answers are recorded at all.
struct Answers {
    count: usize,
    /// The one that was answered last.
    last: u32,
}

impl Answers {
    fn of(session: &Session<'_>, timeline: &[u32]) -> Option<Answers> {
        let is_answered = |n: &u32| {
            let step = session.step(*n);
            step.kind == StepKind::ToolCall && !step.pending && step.ended.is_some()
        };
        let answered = || timeline.iter().copied().filter(is_answered);
        let last = answered().max_by_key(|n| session.step(*n).ended)?;
        Some(Answers { count: answered().count(), last })
    }
}

fn finding(session: &Session<'_>, call: u32, answers: &Answers) -> Finding {
    let (name, given) = (session.name(call), session.given_text(call));
    let who = match session.role(call) {
        Role::Ask => format!("a person answered {name}"),
        _ => format!("{name} answered"),
    };
    let since = session.step(call).started.ms_since(session.step(answers.last).ended);
    let since =
        since.filter(|ms| *ms >= 0).map(|ms| format!("called {} after the last answer; ", duration(ms)));
    let others = match answers.count {
        1 => "the agent's other call was answered".to_string(),
        count => format!("the agent's {count} other calls were answered"),
    };
    let title = format!("The record ends before {who} ({}{others}): {given}", since.unwrap_or_default());
    let title = title.trim_end_matches([' ', ':']).to_string();
    Finding { title, steps: vec![call], cost: session.own(call) }
}
