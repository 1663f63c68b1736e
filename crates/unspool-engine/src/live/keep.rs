//! Going on: after a crash, after a full disk, after a damaged database.
//!
//! In: what the log holds and how far the store and the index of families have come. Out: the same as if nothing had happened. Whatever fails
//! half-way is thrown away and derived again from the log, which is the only thing believed.

use super::derive::Deriver;
use super::entries::Place;
use super::hot::Hot;
use super::queue::{Reading, Waiting};
use super::{held, repair};
use rustc_hash::FxHashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use unspool_model::{Code, Id};
use unspool_store::{GroundError, Question, Scanned};

/// Bytes of entries that are derived together.
const ROUND_BYTES: u64 = 4 << 20;
/// How long to wait before trying again what the disk refused.
const RETRY: Duration = Duration::from_secs(1);
/// How often the end of the process is looked for meanwhile.
const GLANCE: Duration = Duration::from_millis(20);

impl Deriver {
    /// Says since when what the last process left has been waiting.
    pub(super) fn say_what_was_left(&self) {
        let known = self.ground.store().standing().map_or(0, |standing| standing.through);
        let mut left = self.shared.log.scan(known.min(self.families.through()));
        let first = left.find_map(|found| match found {
            Ok(Scanned::Record(_, entry)) => Some(entry.received),
            _ => None,
        });
        if let Some(received) = first {
            self.shared.queue.left_since(received);
        }
    }

    /// Derives what the last process left. False when the process has to end before that is done.
    pub(super) fn catch_up(&mut self) -> bool {
        let end = self.first_end;
        if let Err(error) = self.derive_again(end)
            && !self.start_over_until_it_works(error, end)
        {
            return false;
        }
        if self.shared.stopping.load(Ordering::Acquire) && self.placed < end {
            return false;
        }
        self.shared.queue.skip_to(end);
        self.show(end, 0);
        true
    }

    /// The disk refused: what was half done is thrown away and done again from the log, until that works. False when the process has
    /// to end before.
    pub(super) fn start_over_until_it_works(&mut self, error: GroundError, end: u64) -> bool {
        let mut failed = error;
        loop {
            let hint = failed.hint().map(|hint| format!("; {hint}")).unwrap_or_default();
            *held(&self.shared.broken) = Some(format!("{failed}{hint}"));
            // Nobody else has to wait meanwhile; starting over does it again.
            drop(self.families.take_back());
            if !self.rest(RETRY) {
                return false;
            }
            match self.start_over(&failed).and_then(|()| self.derive_again(end)) {
                Ok(()) => {
                    *held(&self.shared.broken) = None;
                    return self.placed >= end;
                }
                Err(error) => failed = error,
            }
        }
    }

    /// Waits a while; false when the process is to end.
    pub(super) fn rest(&self, time: Duration) -> bool {
        let until = Instant::now() + time;
        while Instant::now() < until {
            if self.shared.stopping.load(Ordering::Acquire) {
                return false;
            }
            std::thread::sleep(GLANCE);
        }
        true
    }

    fn start_over(&mut self, failed: &GroundError) -> Result<(), GroundError> {
        // That files have been read so far is true whatever becomes of the rest: it is in the log.
        let read = self.backlog.drain(..).flat_map(|waiting| waiting.place.checkpoints);
        self.checkpoints.extend(read);
        self.hot = Hot::default();
        self.files.clear();
        self.growing.clear();
        self.gone.clear();
        self.noted = false;
        if let Some(found) = failed.damage() {
            self.replace_databases(found)?;
        }
        self.families.take_back()?;
        self.numbers = self.families.counts(None)?;
        self.version = self.version.max(self.ground.store().standing()?.version);
        Ok(())
    }

    /// Puts new databases in the place of damaged ones.
    fn replace_databases(&mut self, found: (&str, &str)) -> Result<(), GroundError> {
        let options = &self.shared.options;
        let files = self.shared.ahead.hold();
        let opened = repair::replace(options, Some(found).filter(|(name, _)| self.shared.may_replace(name)))?;
        drop(files);
        for words in opened.notices {
            self.shared.say(Code::DatabaseRemade, words);
        }
        // Families may have other numbers from now on.
        self.shared.snapshots.clear();
        self.ground.replace_store(opened.store);
        self.families = opened.families;
        let again = repair::open(options)?;
        *held(&self.shared.reader) = again.store;
        *held(&self.shared.families) = again.families;
        Ok(())
    }

    /// Places and derives everything that the store or the index of families do not know, up to a position.
    fn derive_again(&mut self, end: u64) -> Result<(), GroundError> {
        let known = self.ground.store().standing()?.through.min(self.families.through());
        self.placed = known.min(end);
        let log = Arc::clone(&self.shared.log);
        let mut bytes = 0;
        for found in log.scan(self.placed) {
            let (position, entry) = match found? {
                Scanned::Record(position, _) if position >= end => break,
                Scanned::Record(position, entry) => (position, entry),
                Scanned::Lost(damage) => {
                    self.shared.say_damaged(&[damage]);
                    continue;
                }
            };
            if self.shared.stopping.load(Ordering::Acquire) {
                return self.place_and_derive(true);
            }
            bytes += entry.bytes.len() as u64;
            self.backlog.push_back(Waiting {
                position,
                place: Place { offset: entry.offset, checkpoints: Vec::new() },
                stream: entry.stream,
                received: entry.received,
                bytes: entry.bytes.len() as u64,
                room: 0,
                read: Reading::FromLog,
            });
            if bytes >= ROUND_BYTES {
                self.place_and_derive(true)?;
                self.hot.fit(self.shared.options.max_hot_bytes);
                bytes = 0;
            }
        }
        self.place_and_derive(true)?;
        self.placed = self.placed.max(end);
        self.gone = self.ghosts()?;
        self.derive(true)
    }

    /// Sessions in the store that no family came to: a crash came between the word that they are no more and the commit of it.
    fn ghosts(&self) -> Result<Vec<Id>, GroundError> {
        let known: FxHashSet<Id> = self.families.all_sessions()?.into_iter().collect();
        let mut ghosts = Vec::new();
        let mut question = Question { limit: 1000, ..Question::default() };
        loop {
            let page = self.ground.store().sessions(&question)?;
            ghosts.extend(page.sessions.iter().map(|row| row.id).filter(|id| !known.contains(id)));
            question.after = page.next;
            if question.after.is_none() {
                return Ok(ghosts);
            }
        }
    }
}
