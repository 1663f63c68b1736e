//! The same part of a file, read again by an agent that has it in its context already.

use super::session::{Given, Session};
use super::tools::{Role, file_name};
use super::{Basis, Finder, Finding};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use unspool_model::{Lines, StepKind, Sym};

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
                    let reads = open.of_file(file_name(given));
                    let closed = match session.flow.lines_of(n).filter(|_| !given.ends_with('…')) {
                        Some(lines) => reads.add_lines(session, n, step.preview, lines),
                        None => reads.add(session, n, read),
                    };
                    found.extend(findings(session, closed));
                }
                _ => {}
            }
        }
        found.extend(findings(session, open.take_all()));
    }
    found
}

/// Reads of files of one name since they may last have changed.
#[derive(Default)]
struct Reads {
    /// By the input, where that does not say which lines.
    same: FxHashMap<Given, Vec<u32>>,
    /// By path and first line: none of these lies within another, so that the last lines are in order, too.
    parts: FxHashMap<Sym, BTreeMap<u32, Part>>,
}

/// Lines of a file and the calls that read them or some of them, the one that read them all first.
struct Part {
    last: u32,
    calls: Vec<u32>,
}

impl Reads {
    /// Adds a read; gives those that are over, because it does not continue them.
    fn add(&mut self, session: &Session<'_>, call: u32, read: Given) -> Vec<Vec<u32>> {
        let same = self.same.entry(read).or_default();
        let is_new = same.last().is_some_and(|last| !session.is_later(call, *last));
        let closed = if is_new { vec![std::mem::take(same)] } else { Vec::new() };
        same.push(call);
        closed
    }

    /// Adds a read of some lines, to one that read them all if there is any; gives those that are over.
    fn add_lines(&mut self, session: &Session<'_>, call: u32, path: Sym, lines: Lines) -> Vec<Vec<u32>> {
        let parts = self.parts.entry(path).or_default();
        if let Some((_, part)) = parts.range_mut(..=lines.first).next_back()
            && part.last >= lines.last
            && part.calls.first().is_some_and(|first| session.is_later(call, *first))
        {
            part.calls.push(call);
            return Vec::new();
        }
        // It takes the place of those that lie within it, and of one that it lies within and does not continue.
        let around = parts.range(..=lines.first).next_back().filter(|(_, part)| part.last >= lines.last);
        let within = parts.range(lines.first..).take_while(|(_, part)| part.last <= lines.last);
        let over: Vec<u32> = around.into_iter().chain(within).map(|(first, _)| *first).collect();
        let closed = over.iter().filter_map(|first| parts.remove(first)).map(|part| part.calls).collect();
        parts.insert(lines.first, Part { last: lines.last, calls: vec![call] });
        closed
    }

    fn into_calls(self) -> impl Iterator<Item = Vec<u32>> {
        let parts = self.parts.into_values().flat_map(BTreeMap::into_values).map(|part| part.calls);
        self.same.into_values().chain(parts)
    }
}

/// Reads since a change, by the file's name, and these by their length, so that the names in a text are found in one walk over it.
#[derive(Default)]
struct Open<'a> {
    by_length: BTreeMap<usize, FxHashMap<&'a str, Reads>>,
}

impl<'a> Open<'a> {
    fn of_file(&mut self, name: &'a str) -> &mut Reads {
        self.by_length.entry(name.len()).or_default().entry(name).or_default()
    }

    fn take_all(&mut self) -> Vec<Vec<u32>> {
        let files = std::mem::take(&mut self.by_length).into_values().flat_map(FxHashMap::into_values);
        files.flat_map(Reads::into_calls).collect()
    }

    fn take_named_in(&mut self, text: &str) -> Vec<Vec<u32>> {
        let mut taken = Vec::new();
        for (length, names) in &mut self.by_length {
            for start in 0..=text.len() {
                let name = text.get(start..start.saturating_add(*length));
                taken.extend(name.and_then(|name| names.remove(name)));
            }
        }
        self.by_length.retain(|_, names| !names.is_empty());
        taken.into_iter().flat_map(Reads::into_calls).collect()
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

fn findings(session: &Session<'_>, mut closed: Vec<Vec<u32>>) -> Vec<Finding> {
    closed.sort_unstable();
    closed.into_iter().filter_map(|calls| finding(session, calls)).collect()
}

fn finding(session: &Session<'_>, calls: Vec<u32>) -> Option<Finding> {
    let first = *calls.first().filter(|_| calls.len() > 1)?;
    let path = session.given_text(first);
    let lines: Vec<Lines> = calls.iter().filter_map(|call| session.flow.lines_of(*call)).collect();
    let title = match lines.split_first() {
        Some((all, parts)) if parts.iter().any(|part| part != all) => {
            format!(
                "{path}: {} had been read, and one agent read {} again without a change in between",
                shown(&[*all]),
                shown(parts)
            )
        }
        _ => format!("{path} was read {} times by one agent without a change in between", calls.len()),
    };
    Some(Finding { title, cost: session.cost_of_calls(&calls[1..]), steps: calls })
}

/// `lines 1–2000`, `lines 5–9, 20–40 and 3 more parts`.
fn shown(parts: &[Lines]) -> String {
    let named: Vec<String> =
        parts.iter().take(SHOWN_PARTS).map(|part| format!("{}–{}", part.first, part.last)).collect();
    let more = match parts.len().saturating_sub(SHOWN_PARTS) {
        0 => String::new(),
        1 => " and 1 more part".into(),
        more => format!(" and {more} more parts"),
    };
    format!("lines {}{more}", named.join(", "))
}

/// Parts of a file that are named; the rest is counted.
const SHOWN_PARTS: usize = 4;
