//! The same part of a file, read again by an agent that has it in its context already.

use super::session::{Given, Session};
use super::tools::{Role, file_name};
use super::{Finder, Finding};
use rustc_hash::FxHashMap;
use unspool_model::StepKind;

pub(super) const FINDER: Finder = Finder {
    code: "re_read",
    sentence: "An agent read the same part of a file again in one run, without a change to it or a compaction in between.",
    find,
};

fn find(session: &Session<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for timeline in &session.timelines {
        let mut open: FxHashMap<Given, Vec<u32>> = FxHashMap::default();
        for n in timeline.iter().copied() {
            let step = session.step(n);
            let given = session.given_text(n);
            match (step.kind, session.role(n)) {
                (StepKind::Compaction, _) => close(session, &mut open, |_| true, &mut found),
                (StepKind::ToolCall, Role::Write) => {
                    close(session, &mut open, |path| is_of(given, path), &mut found);
                }
                // A command may change any file, and names those it is about, more or less.
                (StepKind::ToolCall, Role::Shell | Role::Spawn | Role::Other) => {
                    close(session, &mut open, |path| may_touch(given, path), &mut found);
                }
                (StepKind::ToolCall, Role::Read) if !step.is_error => {
                    let Some(given) = session.given(n) else { continue };
                    let same = open.entry(given).or_default();
                    if same.last().is_some_and(|last| !session.is_later(n, *last)) {
                        found.extend(finding(session, std::mem::take(same)));
                    }
                    same.push(n);
                }
                _ => {}
            }
        }
        close(session, &mut open, |_| true, &mut found);
    }
    found
}

/// Whether a written path is the one that was read; a patch names its files anywhere in its text.
fn is_of(written: &str, path: &str) -> bool {
    written.is_empty() || written.contains(file_name(path))
}

/// Commands that rewrite files without naming them, and commands that are cut.
const SWEEPING: &[&str] = &[
    "git checkout",
    "git pull",
    "git merge",
    "git rebase",
    "git reset",
    "git stash",
    "git switch",
    "git restore",
    "git apply",
    "fmt",
    "format",
    "prettier",
    "--fix",
    "sed -i",
    "generate",
    "…",
];

fn may_touch(command: &str, path: &str) -> bool {
    command.is_empty()
        || command.contains(file_name(path))
        || SWEEPING.iter().any(|words| command.contains(words))
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
    closed.sort_unstable();
    found.extend(closed.into_iter().filter_map(|calls| finding(session, calls)));
}

fn finding(session: &Session<'_>, calls: Vec<u32>) -> Option<Finding> {
    let first = *calls.first().filter(|_| calls.len() > 1)?;
    let path = session.given_text(first);
    let title = format!("{path} was read {} times by one agent without a change in between", calls.len());
    Some(Finding { title, cost: session.cost_of_calls(&calls[1..]), steps: calls })
}
