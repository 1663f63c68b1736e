//! The same part of a file, read again by an agent that has it in its context already.

use super::session::{Given, Session};
use super::tools::{Role, file_name};
use super::{Finder, Finding};
use rustc_hash::FxHashMap;
use unspool_model::StepKind;

pub(super) const FINDER: Finder = Finder {
    code: "re_read",
    sentence: "An agent read the same part of a file again, without a change to it or a compaction in between.",
    find,
};

fn find(session: &Session<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for timeline in &session.timelines {
        let mut open: FxHashMap<Given, Vec<u32>> = FxHashMap::default();
        for n in timeline.iter().copied() {
            let step = session.step(n);
            match step.kind {
                StepKind::Compaction => close(session, &mut open, |_| true, &mut found),
                StepKind::ToolCall => match session.role(n) {
                    Role::Write => {
                        let written = session.given_text(n);
                        close(session, &mut open, |path| is_of(written, path), &mut found);
                    }
                    // A command may change any file, and names those it is about, more or less.
                    Role::Shell | Role::Spawn | Role::Other => {
                        let command = session.given_text(n);
                        close(session, &mut open, |path| may_touch(command, path), &mut found);
                    }
                    Role::Read if !step.is_error => {
                        if let Some(given) = session.given(n) {
                            open.entry(given).or_default().push(n);
                        }
                    }
                    _ => {}
                },
                _ => {}
            }
        }
        close(session, &mut open, |_| true, &mut found);
    }
    found
}

/// Whether a written path is the one that was read; a patch names its files anywhere in its text.
fn is_of(written: &str, path: &str) -> bool {
    written.is_empty() || file_name(written) == file_name(path) || written.contains(file_name(path))
}

/// Commands that rewrite many files without naming them.
const SWEEPING: &[&str] =
    &["git ", "fmt", "prettier", "--fix", "sed -i", "generate", "build", "install", "checkout", "…"];

fn may_touch(command: &str, path: &str) -> bool {
    command.is_empty()
        || command.contains(file_name(path))
        || SWEEPING.iter().any(|word| command.contains(word))
}

fn close(
    session: &Session<'_>,
    open: &mut FxHashMap<Given, Vec<u32>>,
    is_changed: impl Fn(&str) -> bool,
    found: &mut Vec<Finding>,
) {
    let path = |calls: &[u32]| calls.first().map_or("", |call| session.given_text(*call));
    let mut closed: Vec<Vec<u32>> =
        open.extract_if(|_, calls| is_changed(path(calls))).map(|(_, calls)| calls).collect();
    closed.retain(|calls| calls.len() > 1);
    closed.sort_unstable();
    found.extend(closed.into_iter().map(|calls| Finding {
        title: format!(
            "{} was read {} times by one agent without a change in between",
            path(&calls),
            calls.len()
        ),
        cost: session.cost_of_calls(&calls[1..]),
        steps: calls,
    }));
}
