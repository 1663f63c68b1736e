//! Issues of the engine's own that earlier processes told of.
//!
//! In: issues as they are told. Out: the same in later processes, each with when it was first told. They are lines of a file; whoever cannot read or
//! write it goes on without, because what is still so is told again.

use super::held;
use super::notices::Notice;
use serde_json::{Value, json};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use unspool_model::{Code, Timestamp};
use unspool_store::files::private_file;

const FILE: &str = "issues.jsonl";
/// The last so many are remembered: `max_past_issues`.
const MAX_PAST_ISSUES: usize = 100;
/// For so many days: `max_past_issue_days`.
const MAX_PAST_ISSUE_DAYS: i64 = 30;
const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// All that are remembered.
pub(crate) struct Past {
    path: PathBuf,
    now: fn() -> Timestamp,
    known: Mutex<Vec<PastIssue>>,
    /// How many were too many so far.
    left_out: u64,
    /// The disk refused some of them: all are to be written as soon as it takes them.
    owed: AtomicBool,
}

/// One that an earlier process told of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastIssue {
    /// When it was first told.
    pub at: Timestamp,
    /// Which issue it is.
    pub code: Code,
    /// In plain words.
    pub words: String,
}

impl PastIssue {
    fn read(line: &str) -> Option<PastIssue> {
        let line: Value = serde_json::from_str(line).ok()?;
        let code = Code::ALL.iter().find(|code| Some(code.name()) == line["code"].as_str())?;
        let at = line["at_ns"].as_i64().map_or(Timestamp::NONE, Timestamp::from_ns);
        Some(PastIssue { at, code: *code, words: line["words"].as_str()?.into() })
    }

    fn line(&self) -> String {
        format!("{}\n", json!({"at_ns": self.at.ns(), "code": self.code.name(), "words": self.words}))
    }
}

impl Past {
    /// Those of a folder. What is too old or too much goes.
    pub(crate) fn open(folder: &Path, now: fn() -> Timestamp) -> Past {
        let path = folder.join(FILE);
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let mut known: Vec<PastIssue> = text.lines().filter_map(PastIssue::read).collect();
        let left_before: u64 = text.lines().filter_map(left_out).sum();
        let is_old =
            |one: &PastIssue| now().ms_since(one.at).is_some_and(|age| age > MAX_PAST_ISSUE_DAYS * DAY_MS);
        known.retain(|one| !is_old(one));
        let too_many = known.len().saturating_sub(MAX_PAST_ISSUES);
        known.drain(..too_many);
        // They were older than what is known, and go with the last of it.
        let left_out = if known.is_empty() { 0 } else { left_before + too_many as u64 };
        let lines = text.lines().filter(|line| !line.is_empty()).count();
        if known.len() + usize::from(left_before > 0) < lines || text.is_empty() {
            // If it fails, there is more to read the next time.
            drop(write(&path, left_out, &known));
        }
        Past { path, now, known: Mutex::new(known), left_out, owed: AtomicBool::new(false) }
    }

    /// Remembers an issue that is told, unless it is known. Those of a session are found again with it.
    pub(crate) fn remember(&self, notice: &Notice) {
        let (Some(code), None) = (notice.code, notice.session) else { return };
        let mut known = held(&self.known);
        if known.iter().any(|one| one.words == notice.words) {
            return;
        }
        let one = PastIssue { at: (self.now)(), code, words: notice.words.clone() };
        // A disk that refuses this is mostly what the issue is about; it is told all the same.
        let file = private_file().append(true).create(true).open(&self.path);
        if file.and_then(|mut file| file.write_all(one.line().as_bytes())).is_err() {
            self.owed.store(true, Ordering::Release);
        }
        known.push(one);
        drop(known);
        self.write_what_is_owed();
    }

    /// Writes what the disk refused before, if it takes it by now.
    pub(crate) fn write_what_is_owed(&self) {
        if self.owed.load(Ordering::Acquire) {
            self.write(&held(&self.known));
        }
    }

    fn write(&self, known: &[PastIssue]) {
        let written = write(&self.path, self.left_out, known);
        self.owed.store(written.is_err(), Ordering::Release);
    }

    /// Remembers an issue in other words, because what was told is over.
    pub(crate) fn reword(&self, told: &[&str], notice: &Notice) {
        let mut known = held(&self.known);
        let is_it = |one: &PastIssue| told.contains(&one.words.as_str());
        let Some(first) = known.iter().position(is_it) else { return };
        known[first].words.clone_from(&notice.words);
        known.retain(|one| !is_it(one));
        // If it fails and is not made up for, a later process tells what was told first.
        self.write(&known);
    }

    /// Those that are not among what this process has told, in the order they were told; before them, how many were too many.
    pub(crate) fn without(&self, told: &[Notice]) -> Vec<PastIssue> {
        let is_told = |one: &&PastIssue| told.iter().any(|notice| notice.words == one.words);
        let known = held(&self.known);
        let left_out = (self.left_out > 0).then(|| PastIssue {
            at: known.first().map_or(Timestamp::NONE, |first| first.at),
            code: Code::LimitReached,
            words: format!(
                "older issues that are no longer told, because of `max_past_issues`: {}",
                self.left_out
            ),
        });
        left_out.into_iter().chain(known.iter().filter(|one| !is_told(one)).cloned()).collect()
    }
}

/// How many a line says were too many.
fn left_out(line: &str) -> Option<u64> {
    serde_json::from_str::<Value>(line).ok()?["left_out"].as_u64()
}

/// Also where there are none it has a byte, and with it a place on the disk: an issue fits there when the disk is full.
fn write(path: &Path, left_out: u64, known: &[PastIssue]) -> std::io::Result<()> {
    let new = path.with_extension("new");
    let first = (left_out > 0).then(|| format!("{}\n", json!({ "left_out": left_out })));
    let mut text: String = first.into_iter().chain(known.iter().map(PastIssue::line)).collect();
    if text.is_empty() {
        text.push('\n');
    }
    private_file().write(true).create(true).truncate(true).open(&new)?.write_all(text.as_bytes())?;
    std::fs::rename(new, path)
}

#[cfg(test)]
mod tests {
    use super::{FILE, MAX_PAST_ISSUES, Past};
    use crate::live::notices::Notice;
    use unspool_model::{Code, Timestamp};

    fn now() -> Timestamp {
        Timestamp::from_ms(1_767_348_000_000)
    }

    fn later() -> Timestamp {
        Timestamp::from_ms(1_767_348_000_000 + 31 * super::DAY_MS)
    }

    #[test]
    fn what_was_told_is_remembered_once_for_a_while_and_up_to_a_number() {
        let folder = tempfile::tempdir().unwrap();
        let past = Past::open(folder.path(), now);
        let notice = |n: usize| Notice::new(Code::WriteRefused, format!("refused {n}"));
        for n in [0, 1, 0] {
            past.remember(&notice(n));
        }
        let again = Past::open(folder.path(), now);
        let known = again.without(&[notice(1)]);
        assert_eq!((known.len(), &*known[0].words, known[0].at), (1, "refused 0", now()));
        for n in 0..=MAX_PAST_ISSUES {
            again.remember(&notice(n));
        }
        for _ in 0..2 {
            let known = Past::open(folder.path(), now).without(&[]);
            assert_eq!((known.len(), &*known[1].words), (MAX_PAST_ISSUES + 1, "refused 1"));
            assert_eq!(
                known[0].words,
                "older issues that are no longer told, because of `max_past_issues`: 1"
            );
            assert_eq!((known[0].code, known[0].at), (Code::LimitReached, now()));
        }
        assert_eq!(Past::open(folder.path(), later).without(&[]), []);
        assert_eq!(std::fs::read(folder.path().join(FILE)).unwrap(), b"\n");
    }

    #[test]
    fn what_the_disk_refuses_is_written_as_soon_as_it_takes_it() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("data");
        std::fs::create_dir(&place).unwrap();
        let past = Past::open(&place, now);
        assert_eq!(std::fs::read(place.join(FILE)).unwrap(), b"\n", "there is room for an issue");
        let away = folder.path().join("away");
        std::fs::rename(&place, &away).unwrap();
        past.remember(&Notice::new(Code::WriteRefused, "is refused"));
        past.write_what_is_owed();
        std::fs::rename(&away, &place).unwrap();
        assert_eq!(Past::open(&place, now).without(&[]), []);
        past.write_what_is_owed();
        let known = Past::open(&place, now).without(&[]);
        assert_eq!((known.len(), &*known[0].words), (1, "is refused"));
    }

    #[test]
    fn what_is_over_is_remembered_as_that() {
        let folder = tempfile::tempdir().unwrap();
        let past = Past::open(folder.path(), now);
        let told = |words: &str| Notice::new(Code::WriteRefused, words);
        past.remember(&told("is refused"));
        past.remember(&told("other"));
        past.reword(&["is refused", "was refused before"], &told("was refused"));
        let words = |past: &Past| past.without(&[]).into_iter().map(|one| one.words).collect::<Vec<_>>();
        assert_eq!(words(&past), ["was refused", "other"]);
        assert_eq!(words(&Past::open(folder.path(), now)), ["was refused", "other"]);
    }

    #[test]
    fn a_file_that_is_damaged_costs_no_more_than_its_lines() {
        let folder = tempfile::tempdir().unwrap();
        Past::open(folder.path(), now).remember(&Notice::new(Code::LogDamaged, "damaged"));
        let path = folder.path().join(FILE);
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, format!("{{\"at_ns\":1\n[]\n{text}{{\"code\":\"no_such\",\"words\":\"x\"}}\n"))
            .unwrap();
        assert_eq!(Past::open(folder.path(), now).without(&[]).len(), 1);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text.trim_start());
    }
}
