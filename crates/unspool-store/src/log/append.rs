//! Appending from many threads with one write and one sync for all that wait.
//!
//! In: entries. Out: receipts. Whoever comes while nobody writes becomes the writer for all who wait; those who come
//! meanwhile are the next group. No thread of its own, and nobody waits longer than for two groups.

use super::{Entry, EntryRef, Log, LogOptions, Receipt, held};
use crate::LogError;
use rustc_hash::FxHashMap;
use std::sync::{Arc, PoisonError};

#[derive(Default)]
pub(crate) struct Queue {
    waiting: Vec<Append>,
    answers: FxHashMap<u64, Result<Receipt, LogError>>,
    next_ticket: u64,
    somebody_writes: bool,
    /// The position behind the last acknowledged record.
    pub(crate) end: u64,
}

/// Entries that are to be appended.
struct Append {
    ticket: u64,
    entries: Arc<[Entry]>,
    packing: Packing,
}

/// How much time there is to make entries small.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// As much as it takes.
    Dense,
    /// Little: more comes than can be made small. They stay so until their segment is written anew.
    Quick,
}

impl Log {
    /// Appends entries and returns when all of them are on the disk. On an error none of them is acknowledged; those before
    /// stay, and the next append starts afresh.
    pub fn append(&self, entries: impl Into<Arc<[Entry]>>) -> Result<Receipt, LogError> {
        self.append_packed(entries, Packing::Dense)
    }

    /// The same, with little time when that is said.
    pub fn append_packed(
        &self,
        entries: impl Into<Arc<[Entry]>>,
        packing: Packing,
    ) -> Result<Receipt, LogError> {
        let entries: Arc<[Entry]> = entries.into();
        let limit = self.options.max_record_bytes;
        if let Some(bytes) = entries.iter().map(|entry| entry.bytes.len()).find(|bytes| *bytes > limit) {
            return Err(LogError::TooLarge { bytes, limit });
        }
        let mut queue = held(&self.queue);
        let ticket = queue.next_ticket;
        queue.next_ticket += 1;
        queue.waiting.push(Append { ticket, entries, packing });
        loop {
            if let Some(answer) = queue.answers.remove(&ticket) {
                return answer;
            }
            if queue.somebody_writes {
                queue = self.answered.wait(queue).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            queue.somebody_writes = true;
            let group = std::mem::take(&mut queue.waiting);
            let first = queue.end;
            drop(queue);
            let written = self.write_group(&group, first);
            queue = held(&self.queue);
            queue.somebody_writes = false;
            queue.answer(&group, &written);
            self.answered.notify_all();
        }
    }

    /// How many appends wait for the next write.
    pub fn waiting(&self) -> usize {
        held(&self.queue).waiting.len()
    }

    fn write_group(&self, group: &[Append], first: u64) -> Result<(), LogError> {
        let entries = group.iter().flat_map(|append| append.entries.iter()).map(|entry| EntryRef {
            stream: &entry.stream,
            offset: entry.offset,
            received: entry.received,
            bytes: &entry.bytes,
        });
        let is_quick = group.iter().any(|append| append.packing == Packing::Quick);
        let level = if is_quick { self.options.quick_level } else { self.options.level };
        let options = LogOptions { level, ..self.options };
        held(&self.writer).write(entries, first, &*self.files, &options, &self.segments)
    }
}

impl Queue {
    pub(crate) fn from(end: u64) -> Queue {
        Queue { end, ..Queue::default() }
    }

    fn answer(&mut self, group: &[Append], written: &Result<(), LogError>) {
        for Append { ticket, entries, .. } in group {
            let answer = match written {
                Ok(()) => {
                    let receipt = Receipt { first: self.end, count: entries.len() as u64 };
                    self.end = receipt.end();
                    Ok(receipt)
                }
                Err(error) => Err(error.share()),
            };
            self.answers.insert(*ticket, answer);
        }
    }
}
