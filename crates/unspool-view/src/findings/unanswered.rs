//! Tool calls that never got an answer.

use super::session::Session;
use super::tools::Role;
use super::{Finder, Finding};
use rustc_hash::FxHashSet;
use unspool_model::{Agent, Status, Step, StepKind};

pub(super) const FINDER: Finder = Finder {
    code: "unanswered_call",
    sentence: "A tool was called, nothing says that it answered, and its agent neither did nor was told anything more.",
    find,
};

fn find(session: &Session<'_>) -> Vec<Finding> {
    let flow = session.flow;
    let is_over = |agent: &&Agent| matches!(agent.status, Status::Completed | Status::Failed);
    // Of a call whose agent is done, `unused_agent` tells.
    let told: FxHashSet<u32> =
        flow.agents.iter().filter(is_over).filter_map(|agent| agent.spawn.map(|spawn| spawn.step)).collect();
    let mut found = Vec::new();
    for (agent, timeline) in flow.agents.iter().zip(&session.timelines) {
        // The last call of a completed agent is its answer.
        if matches!(agent.status, Status::Running | Status::Completed) {
            continue;
        }
        for n in timeline.iter().rev().copied().take_while(|n| !goes_on(session.step(*n))) {
            let step = session.step(n);
            let run = flow.runs.get(step.run as usize).map(|run| run.status);
            let is_open = step.kind == StepKind::ToolCall && step.pending && run != Some(Status::Running);
            if is_open && !told.contains(&n) {
                found.push(finding(session, n));
            }
        }
    }
    found
}

/// Where the agent went on, or somebody told it something, its answer is only not recorded or no longer wanted; and an answer whose call
/// is not known may be the one that is missing.
fn goes_on(step: &Step) -> bool {
    match step.kind {
        StepKind::ModelCall => true,
        StepKind::UserMessage => !step.meta,
        StepKind::ToolCall => step.name.is_empty(),
        _ => false,
    }
}

fn finding(session: &Session<'_>, call: u32) -> Finding {
    let (name, given) = (session.name(call), session.given_text(call));
    let title = match session.role(call) {
        Role::Ask => format!("{name} waits for a person who never answered: {given}"),
        _ => format!("{name} never answered: {given}"),
    };
    let title = title.trim_end_matches([' ', ':']).to_string();
    Finding { title, steps: vec![call], cost: session.own(call) }
}
