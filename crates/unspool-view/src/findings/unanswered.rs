//! Tool calls that never got an answer.

use super::session::Session;
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
        if step.kind == StepKind::ToolCall && step.pending && !running {
            let given = session.given_text(n);
            let title = format!("{} never answered: {given}", session.name(n));
            let title = title.trim_end_matches([' ', ':']).to_string();
            found.push(Finding { title, steps: vec![n], cost: session.own(n) });
        }
    }
    found
}
