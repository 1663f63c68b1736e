//! The same part of a file, read again by an agent that has it in its context already.

use super::session::{Given, Session};
use super::tools::{Role, file_name};
use super::{Basis, Finder, Finding};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use unspool_model::StepKind;

pub(super) const FINDER: Finder = Finder {
    code: "re_read",
    sentence: "An agent read the same part of a file again in one run, without a change to it or a compaction in between.",
    rests_on: Basis::Order,
    find,
};

fn find(session: &Session<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for timeline in &session.timelines {
        let mut open = Open::default();
        for n in timeline.iter().copied() {
            let step = session.step(n);
            let given = session.given_text(n);
            match (step.kind, session.role(n)) {
                (StepKind::Compaction, _) => found.extend(findings(session, open.take_all())),
                // A patch names its files anywhere in its text.
                (StepKind::ToolCall, Role::Write) => {
                    let read = if given.is_empty() { open.take_all() } else { open.take_named_in(given) };
                    found.extend(findings(session, read));
                }
                // A command may change any file, and names those it is about, more or less.
                (StepKind::ToolCall, Role::Shell | Role::Spawn | Role::Other) => {
                    let read = if is_sweeping(given) { open.take_all() } else { open.take_named_in(given) };
                    found.extend(findings(session, read));
                }
                (StepKind::ToolCall, Role::Read) if !step.is_error => {
                    let Some(read) = session.given(n) else { continue };
                    let same = open.entry(file_name(given), read);
                    if same.last().is_some_and(|last| !session.is_later(n, *last)) {
                        found.extend(finding(session, std::mem::take(same)));
                    }
                    same.push(n);
                }
                _ => {}
            }
        }
        found.extend(findings(session, open.take_all()));
    }
    found
}

/// Reads of each part of a file since it may last have changed.
type Reads = FxHashMap<Given, Vec<u32>>;

/// Reads since a change, by the file's name, and these by their length, so that the names in a text are found in one walk over it.
#[derive(Default)]
struct Open<'a> {
    by_length: BTreeMap<usize, FxHashMap<&'a str, Reads>>,
}

impl<'a> Open<'a> {
    fn entry(&mut self, name: &'a str, read: Given) -> &mut Vec<u32> {
        let names = self.by_length.entry(name.len()).or_default();
        names.entry(name).or_default().entry(read).or_default()
    }

    fn take_all(&mut self) -> Vec<Reads> {
        std::mem::take(&mut self.by_length).into_values().flat_map(FxHashMap::into_values).collect()
    }

    fn take_named_in(&mut self, text: &str) -> Vec<Reads> {
        let mut taken = Vec::new();
        for (length, names) in &mut self.by_length {
            for start in 0..=text.len() {
                let name = text.get(start..start.saturating_add(*length));
                taken.extend(name.and_then(|name| names.remove(name)));
            }
        }
        self.by_length.retain(|_, names| !names.is_empty());
        taken
    }
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

fn is_sweeping(command: &str) -> bool {
    command.is_empty() || SWEEPING.iter().any(|words| command.contains(words))
}

fn findings(session: &Session<'_>, reads: Vec<Reads>) -> Vec<Finding> {
    let mut closed: Vec<Vec<u32>> = reads.into_iter().flat_map(Reads::into_values).collect();
    closed.sort_unstable();
    closed.into_iter().filter_map(|calls| finding(session, calls)).collect()
}

fn finding(session: &Session<'_>, calls: Vec<u32>) -> Option<Finding> {
    let first = *calls.first().filter(|_| calls.len() > 1)?;
    let path = session.given_text(first);
    let title = format!("{path} was read {} times by one agent without a change in between", calls.len());
    Some(Finding { title, cost: session.cost_of_calls(&calls[1..]), steps: calls })
}
