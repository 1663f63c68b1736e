//! What was acknowledged and is not derived yet: in the order of the log, counted in bytes.

use super::decode::{Decoded, decode};
use super::entries::Place;
use super::{held, streams};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};
use unspool_model::Timestamp;
use unspool_store::Entry;

/// One acknowledged entry.
pub(crate) struct Waiting {
    pub(crate) position: u64,
    pub(crate) place: Place,
    /// The stream's name in the log.
    pub(crate) stream: String,
    pub(crate) received: Timestamp,
    pub(crate) bytes: u64,
    /// Bytes it takes while it waits.
    pub(crate) room: u64,
    pub(crate) read: Reading,
}

impl Waiting {
    /// Its records; none when they are to be read from the log.
    pub(crate) fn decoded(&mut self) -> Option<Decoded> {
        match std::mem::replace(&mut self.read, Reading::FromLog) {
            Reading::Done(decoded) => Some(*decoded),
            Reading::AtHand(entries, n) => {
                let sort = streams::Sort::of(&self.stream);
                decode(sort, &entries.get(n)?.bytes).map(|read| read.named(sort, self.position))
            }
            Reading::FromLog => None,
        }
    }
}

/// How far an entry's records have been read.
pub(crate) enum Reading {
    /// Somebody has read them.
    Done(Box<Decoded>),
    /// Its bytes are one of these.
    AtHand(Arc<[Entry]>, usize),
    /// Its bytes are in the log.
    FromLog,
}

impl Reading {
    pub(crate) fn done(decoded: Option<Decoded>) -> Reading {
        decoded.map_or(Reading::FromLog, |decoded| Reading::Done(Box::new(decoded)))
    }
}

pub(crate) struct Queue {
    state: Mutex<State>,
    changed: Condvar,
    max_bytes: u64,
}

struct State {
    waiting: BTreeMap<u64, Waiting>,
    /// The position the deriver wants next.
    next: u64,
    /// Everything before this position is shown; not known before what the last process left was looked at.
    shown: Option<u64>,
    bytes: u64,
    /// Bytes that somebody is about to add.
    promised: u64,
    /// When the oldest of what is not shown was received.
    oldest: Timestamp,
    /// Whoever pulls has something else to do.
    interrupted: bool,
}

impl Queue {
    pub(crate) fn new(next: u64, max_bytes: u64) -> Queue {
        let state = State {
            waiting: BTreeMap::new(),
            next,
            shown: None,
            bytes: 0,
            promised: 0,
            oldest: Timestamp::NONE,
            interrupted: false,
        };
        Queue { state: Mutex::new(state), changed: Condvar::new(), max_bytes }
    }

    /// Room for so many bytes, if there is; what is larger than all the room is let in alone.
    pub(crate) fn promise(&self, bytes: u64) -> bool {
        let mut state = held(&self.state);
        let fits = state.has_room(bytes, self.max_bytes);
        if fits {
            state.promised += bytes;
        }
        fits
    }

    /// Whether there is room for so many bytes at this moment.
    pub(crate) fn has_room(&self, bytes: u64) -> bool {
        held(&self.state).has_room(bytes, self.max_bytes)
    }

    /// Waits for room.
    pub(crate) fn promise_when_there_is_room(&self, bytes: u64, stopping: &AtomicBool) -> bool {
        loop {
            if self.promise(bytes) {
                return true;
            }
            if stopping.load(Ordering::Acquire) {
                return false;
            }
            let state = held(&self.state);
            drop(self.changed.wait_timeout(state, Duration::from_millis(50)));
        }
    }

    /// Gives room back that was promised and is not needed.
    pub(crate) fn release(&self, bytes: u64) {
        let mut state = held(&self.state);
        state.promised = state.promised.saturating_sub(bytes);
    }

    /// Adds what was acknowledged, in room that was promised.
    pub(crate) fn push(&self, entries: Vec<Waiting>) {
        let mut state = held(&self.state);
        for entry in entries {
            state.promised = state.promised.saturating_sub(entry.room);
            if entry.position < state.next {
                continue;
            }
            state.bytes += entry.room;
            state.oldest = if state.oldest.is_some() { state.oldest } else { entry.received };
            state.waiting.insert(entry.position, entry);
        }
        drop(state);
        self.changed.notify_all();
    }

    /// What comes next in the order of the log, up to so many bytes; waits when there is nothing, at most so long.
    pub(crate) fn pull(&self, most: u64, patience: Duration, stopping: &AtomicBool) -> Vec<Waiting> {
        let mut state = held(&self.state);
        state.drop_passed();
        if !state.is_ready() && !state.interrupted && !stopping.load(Ordering::Acquire) {
            let waited = self.changed.wait_timeout_while(state, patience, |state| {
                !state.is_ready() && !state.interrupted && !stopping.load(Ordering::Acquire)
            });
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        state.interrupted = false;
        let mut pulled = Vec::new();
        let mut bytes = 0;
        while state.is_ready() && bytes < most {
            let next = state.next;
            let Some(entry) = state.waiting.remove(&next) else { break };
            bytes += entry.bytes;
            state.next += 1;
            pulled.push(entry);
        }
        pulled
    }

    /// Everything before this position is shown now; so many bytes wait no more.
    pub(crate) fn shown(&self, position: u64, bytes: u64, oldest: Timestamp) {
        let mut state = held(&self.state);
        state.bytes = state.bytes.saturating_sub(bytes);
        state.shown = state.shown.max(Some(position));
        let next = state.waiting.values().next().map_or(Timestamp::NONE, |entry| entry.received);
        state.oldest = oldest.earlier(next);
        drop(state);
        self.changed.notify_all();
    }

    /// The last process left something that has been waiting since then.
    pub(crate) fn left_since(&self, received: Timestamp) {
        held(&self.state).oldest = received;
    }

    /// Skips positions the log has lost.
    pub(crate) fn skip_to(&self, position: u64) {
        let mut state = held(&self.state);
        state.next = state.next.max(position);
    }

    /// Whether there is something to pull.
    pub(crate) fn is_ready(&self) -> bool {
        held(&self.state).is_ready()
    }

    /// Whether what the last process left is shown, and nothing waits.
    pub(crate) fn is_idle(&self) -> bool {
        let state = held(&self.state);
        state.shown.is_some() && state.waiting.is_empty() && state.bytes == 0
    }

    /// The position the deriver wants next.
    pub(crate) fn next(&self) -> u64 {
        held(&self.state).next
    }

    /// Bytes that what waits takes, and since when.
    pub(crate) fn waiting(&self) -> (u64, Option<Timestamp>) {
        let state = held(&self.state);
        (state.bytes, Some(state.oldest).filter(|oldest| oldest.is_some()))
    }

    /// Everything before this position is shown.
    pub(crate) fn shown_before(&self) -> u64 {
        held(&self.state).shown.unwrap_or(0)
    }

    /// Waits until everything before this position is shown, at most so long. Whether it is.
    pub(crate) fn settle(&self, position: u64, patience: Duration, stopping: &AtomicBool) -> bool {
        let until = Instant::now() + patience;
        let mut state = held(&self.state);
        while state.shown < Some(position) && !stopping.load(Ordering::Acquire) && Instant::now() < until {
            let waited = self.changed.wait_timeout(state, patience.min(Duration::from_millis(50)));
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        state.shown >= Some(position)
    }

    /// Lets whoever pulls look up, though nothing may have come.
    pub(crate) fn interrupt(&self) {
        held(&self.state).interrupted = true;
        self.changed.notify_all();
    }

    pub(crate) fn wake(&self) {
        drop(held(&self.state));
        self.changed.notify_all();
    }
}

impl State {
    fn has_room(&self, bytes: u64, max_bytes: u64) -> bool {
        let taken = self.bytes + self.promised;
        taken == 0 || taken + bytes <= max_bytes
    }

    /// Lets go of what was acknowledged while the log was read at the start, and read from there.
    fn drop_passed(&mut self) {
        while let Some(entry) = self.waiting.first_entry().filter(|entry| *entry.key() < self.next) {
            self.bytes = self.bytes.saturating_sub(entry.remove().room);
        }
    }

    fn is_ready(&self) -> bool {
        self.waiting.first_key_value().is_some_and(|(position, _)| *position == self.next)
    }
}
