//! What the engine has to say about itself: what it found, mended and lost.
//!
//! In: plain words, with a code where they are an issue. Out: the same, for whoever asks how it stands or what is odd; and how many
//! records are lost. Never here: what is odd in records.

use super::past::{Past, PastIssue};
use super::{Engine, Shared, held};
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use unspool_model::{Code, Id};
use unspool_store::{Damage, DamageKind, Recovery};

/// Notices kept; the last says that there are more: `max_notices`.
const MAX_NOTICES: usize = 100;
const MORE: &str = "more was found than `max_notices` (100): `unspool db check` lists everything";

/// Something the engine says about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// Which issue it is; none when it is merely worth knowing.
    pub code: Option<Code>,
    /// In plain words.
    pub words: String,
    /// The session it is about, if it is about one.
    pub session: Option<Id>,
}

impl Notice {
    pub(crate) fn new(code: Code, words: impl Into<String>) -> Notice {
        Notice { code: Some(code), words: words.into(), session: None }
    }

    /// Damage of the log.
    fn of(damage: &Damage) -> Notice {
        let is_tail = damage.kind == DamageKind::Tail && !damage.is_loss();
        let code = if is_tail { Code::LogTailCut } else { Code::LogDamaged };
        Notice::new(code, damage.to_string())
    }
}

/// All of them, and what they say is lost.
pub(crate) struct Notices {
    kept: Mutex<Vec<Notice>>,
    past: Past,
    said: AtomicU64,
    lost: Mutex<Lost>,
    /// Ids of sessions of which records are lost, their own and those that sources gave them.
    sessions: Mutex<BTreeSet<String>>,
}

impl Notices {
    /// What opening the log found, and what earlier processes told of.
    pub(crate) fn of(recovery: &Recovery, past: Past) -> Notices {
        let notices = Notices {
            kept: Mutex::default(),
            past,
            said: AtomicU64::new(0),
            lost: Mutex::default(),
            sessions: Mutex::default(),
        };
        for damage in &recovery.damages {
            held(&notices.lost).add(&damage.positions);
            notices.say(Notice::of(damage));
        }
        for words in &recovery.left_as_is {
            notices.say(Notice::new(Code::LogDamaged, words));
        }
        for file in &recovery.kept_aside {
            let words = format!("bytes that belong to no record were put aside in {file}");
            notices.say(Notice::new(Code::LogTailCut, words));
        }
        notices
    }

    /// Keeps what nobody has said yet.
    pub(crate) fn say(&self, notice: Notice) {
        let mut kept = held(&self.kept);
        if kept.iter().any(|known| known.words == notice.words) {
            return;
        }
        self.past.remember(&notice);
        if kept.len() < MAX_NOTICES {
            kept.push(notice);
        } else if let Some(last) = kept.last_mut() {
            *last = Notice { code: None, words: MORE.into(), session: None };
        }
        self.said.fetch_add(1, Ordering::Relaxed);
    }

    /// Says something else in the place of what was said, because that is over.
    pub(crate) fn reword(&self, said: &[&str], notice: Notice) {
        let mut kept = held(&self.kept);
        let is_it = |known: &Notice| said.contains(&known.words.as_str());
        let Some(first) = kept.iter().position(is_it) else { return };
        self.past.reword(said, &notice);
        kept[first] = notice;
        kept.retain(|known| !is_it(known));
        self.said.fetch_add(1, Ordering::Relaxed);
    }

    /// Nothing else is to be done: what later processes are to know is written, if the disk refused it before.
    pub(crate) fn rest(&self) {
        self.past.write_what_is_owed();
    }

    /// Records that are lost, so far.
    pub(crate) fn lost(&self) -> Vec<Range<u64>> {
        held(&self.lost).ranges.clone()
    }

    /// Takes note of sessions of which records are lost.
    pub(crate) fn lose_of(&self, ids: impl IntoIterator<Item = String>) {
        held(&self.sessions).extend(ids);
    }
}

/// Positions that are lost, in order and apart from each other.
#[derive(Default)]
struct Lost {
    ranges: Vec<Range<u64>>,
}

impl Lost {
    fn count(&self) -> u64 {
        self.ranges.iter().map(|range| range.end - range.start).sum()
    }

    /// Adds some; whether any of them was not known.
    fn add(&mut self, range: &Range<u64>) -> bool {
        if range.is_empty() {
            return false;
        }
        let (before, mut all) = (self.count(), range.clone());
        self.ranges.retain(|known| {
            let is_apart = known.end < range.start || known.start > range.end;
            if !is_apart {
                all = all.start.min(known.start)..all.end.max(known.end);
            }
            is_apart
        });
        let at = self.ranges.partition_point(|known| known.start < all.start);
        self.ranges.insert(at, all);
        self.count() > before
    }
}

impl Shared {
    /// Says that something is odd here.
    pub(crate) fn say(&self, code: Code, words: impl Into<String>) {
        self.notices.say(Notice::new(code, words));
    }

    /// Says something that is worth knowing.
    pub(crate) fn mention(&self, words: String) {
        self.notices.say(Notice { code: None, words, session: None });
    }

    /// Says what is damaged in the log; what is lost with it goes from what is shown.
    pub(crate) fn say_damaged(&self, damages: &[Damage]) {
        let mut lost = Vec::new();
        for damage in damages {
            let is_new = held(&self.notices.lost).add(&damage.positions);
            if is_new || !damage.is_loss() {
                self.notices.say(Notice::of(damage));
            }
            lost.extend(is_new.then(|| damage.positions.clone()));
        }
        self.go_on_without(lost);
    }

    /// Says which entries of the log cannot be read, once for each; they go from what is shown.
    pub(crate) fn notice_damaged(&self, positions: &[u64]) {
        let mut lost: Vec<Range<u64>> = Vec::new();
        for position in positions {
            if !held(&self.notices.lost).add(&(*position..position + 1)) {
                continue;
            }
            match lost.last_mut() {
                Some(last) if last.end == *position => last.end += 1,
                _ => lost.push(*position..position + 1),
            }
        }
        for Range { start, end } in &lost {
            let words = match end - start {
                1 => format!("record {start} of the log is damaged and lost; nothing is shown of it"),
                count => format!(
                    "{count} records of the log, from {start} to {}, are damaged and lost; nothing is shown of them",
                    end - 1
                ),
            };
            self.say(Code::LogDamaged, words);
        }
        self.go_on_without(lost);
    }
}

impl Engine {
    /// Adds plain words to what is said about how it stands.
    pub(crate) fn mention(&self, words: String) {
        self.shared.mention(words);
    }

    /// What was found and mended, in plain words: at the start and since.
    pub fn notices(&self) -> Vec<String> {
        held(&self.shared.notices.kept).iter().map(|notice| notice.words.clone()).collect()
    }

    /// Those of them that are issues.
    pub fn own_issues(&self) -> Vec<Notice> {
        held(&self.shared.notices.kept).iter().filter(|notice| notice.code.is_some()).cloned().collect()
    }

    /// Issues that earlier processes told of, and this one has not.
    pub fn past_issues(&self) -> Vec<PastIssue> {
        self.shared.notices.past.without(&held(&self.shared.notices.kept))
    }

    /// Another number whenever there is more to say.
    pub fn said(&self) -> u64 {
        self.shared.notices.said.load(Ordering::Relaxed)
    }

    /// Acknowledged records that are known to be lost.
    pub fn lost_records(&self) -> u64 {
        held(&self.shared.notices.lost).count()
    }

    /// Whether records are lost of a session of that id, its own or one that a source gave it.
    pub fn is_lost(&self, session: &str) -> bool {
        held(&self.shared.notices.sessions).contains(session)
    }
}

#[cfg(test)]
mod tests {
    use super::Lost;

    #[test]
    fn what_is_lost_is_counted_once() {
        let mut lost = Lost::default();
        assert!(lost.add(&(10..20)) && lost.add(&(30..31)) && lost.add(&(0..5)));
        assert!(!lost.add(&(12..15)) && !lost.add(&(7..7)));
        assert!(lost.add(&(20..22)) && lost.add(&(4..11)));
        assert_eq!(lost.ranges, [0..22, 30..31]);
        assert_eq!(lost.count(), 23);
    }
}
