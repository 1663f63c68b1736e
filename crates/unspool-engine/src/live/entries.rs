//! Taking things in: read, kept, acknowledged, in this order.

use super::decode::{Counted, Decoded, decode};
use super::queue::{Reading, Waiting};
use super::{Shared, streams};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use unspool_store::rows::Checkpoint;
use unspool_store::{Entry, LogError, Packing, Receipt};

/// Bodies that come many at a time wait in memory while no more bytes than this wait.
const MAX_AT_HAND_BYTES: u64 = 4 << 20;
/// One that waits in the log alone takes about so many bytes until its turn comes.
const WAITING_BYTES: u64 = 512;

/// Something that arrived.
#[derive(Clone, Debug)]
pub enum Arrival {
    /// All of something: a request, an upload, a hook's event.
    Body {
        /// Who sent it (`otlp-http`).
        source: String,
        /// What it is called; its ending may help to tell its format.
        name: String,
        /// Its bytes, unpacked.
        bytes: Vec<u8>,
    },
    /// The next part of a file.
    Part(Part),
}

/// A part of a file.
#[derive(Clone, Debug)]
pub struct Part {
    /// The file.
    pub path: String,
    /// Where in it the part begins.
    pub offset: u64,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// What lets the source be read on behind it.
    pub checkpoint: Option<Checkpoint>,
}

/// Where something lies in its stream.
#[derive(Clone, Debug, Default)]
pub(crate) struct Place {
    pub(crate) offset: u64,
    pub(crate) checkpoints: Vec<Checkpoint>,
}

/// A receipt: everything is on the disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    /// Its position in the log.
    pub position: u64,
    /// What was read; nothing for parts of files, which are read later.
    pub counted: Counted,
}

/// Why something was not taken in. Nothing of it was kept.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// No format knows it.
    #[error("no known format: {name}")]
    Unknown {
        /// What it was called.
        name: String,
    },
    /// Too much is waiting.
    #[error("more than `max_pending_bytes` ({limit}) wait to be derived")]
    Busy {
        /// How much may wait.
        limit: u64,
    },
    /// The process is about to end.
    #[error("the server is shutting down")]
    Stopping,
    /// The disk.
    #[error(transparent)]
    Log(#[from] LogError),
}

impl Shared {
    pub(crate) fn take(&self, arrival: Arrival) -> Result<Taken, Refused> {
        if self.stopping.load(Ordering::Acquire) {
            return Err(Refused::Stopping);
        }
        match arrival {
            Arrival::Body { source, name, bytes } => self.body(&source, &name, bytes),
            Arrival::Part(part) => {
                let positions = self.parts(vec![part], Vec::new())?;
                Ok(Taken { position: positions.first, counted: Counted::default() })
            }
        }
    }

    /// Keeps parts of files, all with one write; waits for room. When much waits already, as when a folder is read for the first time, they are
    /// packed quickly. More checkpoints may be kept with the last of them.
    pub(crate) fn parts(&self, parts: Vec<Part>, more: Vec<Checkpoint>) -> Result<Receipt, Refused> {
        let room = parts.iter().map(|part| part.bytes.len() as u64).sum();
        if !self.queue.promise_when_there_is_room(room, &self.stopping) {
            return Err(Refused::Stopping);
        }
        let received = (self.options.now)();
        let mut waiting: Vec<Waiting> = Vec::with_capacity(parts.len());
        let mut entries: Vec<Entry> = Vec::with_capacity(parts.len());
        for Part { path, offset, bytes, checkpoint } in parts {
            let stream = streams::file(&path);
            waiting.push(Waiting {
                position: 0,
                place: Place { offset, checkpoints: checkpoint.into_iter().collect() },
                stream: stream.clone(),
                received,
                bytes: bytes.len() as u64,
                room: bytes.len() as u64,
                // A file that begins is read here, where there are many threads; one that goes on, when its turn comes.
                read: if offset == 0 {
                    Reading::done(decode(streams::Sort::File { path: &path }, &bytes))
                } else {
                    Reading::FromLog
                },
            });
            entries.push(Entry { stream, offset, received, bytes });
        }
        if let Some(last) = waiting.last_mut() {
            last.place.checkpoints.extend(more);
        }
        let appended = self.append(entries, packing(self.is_behind()));
        let receipt = appended.inspect_err(|_| self.queue.release(room))?;
        for (position, one) in (receipt.first..).zip(&mut waiting) {
            one.position = position;
        }
        self.queue.push(waiting);
        Ok(receipt)
    }

    /// Whether so much waits that what comes waits in the log alone.
    pub(crate) fn is_behind(&self) -> bool {
        self.queue.waiting().0 >= MAX_AT_HAND_BYTES
    }

    /// Keeps bodies of one source and name that some format is known to know, all with one write; waits for room. When much waits already,
    /// they are packed quickly, and read from the log when their turn comes: until then they take next to no room.
    pub(crate) fn bodies(&self, source: &str, name: &str, bodies: Vec<Vec<u8>>) -> Result<Receipt, Refused> {
        let is_behind = self.is_behind();
        let taken = |bytes: &[u8]| if is_behind { WAITING_BYTES } else { bytes.len() as u64 };
        let room = bodies.iter().map(|bytes| taken(bytes)).sum();
        if !self.queue.promise_when_there_is_room(room, &self.stopping) {
            return Err(Refused::Stopping);
        }
        let (stream, received) = (streams::body(source, name), (self.options.now)());
        let entry = |bytes| Entry { stream: stream.clone(), offset: 0, received, bytes };
        let entries: Arc<[Entry]> = bodies.into_iter().map(entry).collect();
        let appended = self.append(Arc::clone(&entries), packing(is_behind));
        let receipt = appended.inspect_err(|_| self.queue.release(room))?;
        let waiting =
            (receipt.first..).zip(entries.iter().enumerate()).map(|(position, (n, entry))| Waiting {
                position,
                place: Place::default(),
                stream: stream.clone(),
                received,
                bytes: entry.bytes.len() as u64,
                room: taken(&entry.bytes),
                read: if is_behind { Reading::FromLog } else { Reading::AtHand(Arc::clone(&entries), n) },
            });
        self.queue.push(waiting.collect());
        Ok(receipt)
    }

    fn body(&self, source: &str, name: &str, bytes: Vec<u8>) -> Result<Taken, Refused> {
        let room = bytes.len() as u64;
        if !self.queue.promise(room) {
            return Err(self.busy());
        }
        let stream = streams::body(source, name);
        let Some(decoded) = decode(streams::Sort::of(&stream), &bytes) else {
            self.queue.release(room);
            return Err(Refused::Unknown { name: name.into() });
        };
        self.keep(stream, Place::default(), bytes, Some(decoded))
    }

    /// Refuses what is going to arrive when there is no room for so many bytes, before anybody reads them.
    pub(crate) fn refuse_when_full(&self, bytes: u64) -> Result<(), Refused> {
        if self.queue.has_room(bytes) { Ok(()) } else { Err(self.busy()) }
    }

    fn busy(&self) -> Refused {
        self.refused.fetch_add(1, Ordering::Relaxed);
        Refused::Busy { limit: self.options.max_pending_bytes }
    }

    /// Appends to the log, and takes note of whether the disk takes it.
    fn append(&self, entries: impl Into<Arc<[Entry]>>, packing: Packing) -> Result<Receipt, LogError> {
        let appended = self.log.append_packed(entries, packing);
        match &appended {
            Ok(_) => self.takes(),
            Err(error @ LogError::Io { doing, source, .. }) => {
                let hint = error.hint().map(|hint| format!("; {hint}")).unwrap_or_default();
                // Without the name of the file, which is another one with every try.
                self.refuses(&format!("could not {doing} the record log: {source}"), &hint);
            }
            Err(_) => {}
        }
        appended
    }

    fn keep(
        &self,
        stream: String,
        place: Place,
        bytes: Vec<u8>,
        decoded: Option<Decoded>,
    ) -> Result<Taken, Refused> {
        let (room, received) = (bytes.len() as u64, (self.options.now)());
        let entry = Entry { stream: stream.clone(), offset: place.offset, received, bytes };
        let receipt = self.append([entry], Packing::Dense).inspect_err(|_| self.queue.release(room))?;
        let position = receipt.first;
        let decoded = decoded.map(|decoded| decoded.named(streams::Sort::of(&stream), position));
        let counted = decoded.as_ref().map(|decoded| decoded.counted.clone()).unwrap_or_default();
        self.queue.push(vec![Waiting {
            position,
            place,
            stream,
            received,
            bytes: room,
            room,
            read: Reading::done(decoded),
        }]);
        Ok(Taken { position, counted })
    }
}

/// How much time there is for what comes, when that much waits or not.
fn packing(is_behind: bool) -> Packing {
    if is_behind { Packing::Quick } else { Packing::Dense }
}
