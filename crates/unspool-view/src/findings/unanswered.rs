//! Tool calls that never got an answer.

use super::session::Session;
use super::tools::Role;
use super::{Finder, Finding};
use unspool_model::{Status, StepKind};

pub(super) const FINDER: Finder = Finder {
    code: "unanswered_call",
    sentence: "A tool was called, nothing says that it answered, and the run is not under way any more.",
    find,
};

fn find(session: &Session<'_>) -> Vec<Finding> {
    let flow = session.flow;
    let mut found = Vec::new();
    for (n, step) in (0_u32..).zip(&flow.steps) {
        let running = flow.runs.get(step.run as usize).map(|run| run.status) == Some(Status::Running)
            || flow.agents.get(step.agent as usize).map(|agent| agent.status) == Some(Status::Running);
        if step.kind == StepKind::ToolCall && step.pending && !running && is_last_word(session, n) {
            let given = session.given_text(n);
            let title = match session.role(n) {
                Role::Ask => format!("{} waits for a person who never answered: {given}", session.name(n)),
                _ => format!("{} never answered: {given}", session.name(n)),
            };
            let title = title.trim_end_matches([' ', ':']).to_string();
            found.push(Finding { title, steps: vec![n], cost: session.own(n) });
        }
    }
    found
}

/// Whether its agent hung there: where it went on, the answer is only not recorded, and where a sub-agent was done, the call was
/// its answer. Of a call whose agent was done, `unused_agent` tells.
fn is_last_word(session: &Session<'_>, call: u32) -> bool {
    let step = session.step(call);
    let agent = session.flow.agents.get(step.agent as usize);
    let is_done = agent.is_some_and(|agent| agent.status == Status::Completed);
    let started_agent = session.flow.agents.iter().any(|agent| {
        let over = matches!(agent.status, Status::Completed | Status::Failed);
        over && agent.spawn.is_some_and(|spawn| spawn.step == call)
    });
    let timeline = session.timelines.get(step.agent as usize).map_or(&[][..], Vec::as_slice);
    let place = timeline.iter().position(|n| *n == call).unwrap_or(0);
    let goes_on = timeline[place..].iter().any(|n| session.step(*n).kind == StepKind::ModelCall);
    !is_done && !started_agent && !goes_on
}
