//! The record log: what was received, in order, for ever. Everything else can be made again from it.
//!
//! In: entries, from any number of threads. Out: receipts once they are on the disk, the same bytes by position or in order, and
//! plain words about whatever is damaged. Never here: what the bytes mean, threads of its own, the clock.
//!
//! Bytes on the disk are described in `docs/store.md`.

mod append;
mod blocks;
mod compact;
mod dropped;
mod frame;
mod open;
mod read;
mod recover;
mod report;
mod segment;
mod write;

pub use append::Packing;
pub use compact::Compacted;
pub use read::{Scan, Scanned};
pub use report::{Damage, DamageKind, Recovery};

use crate::files::Files;
use append::Queue;
use dropped::Dropped;
use read::Cache;
use recover::Placed;
use segment::SegmentName;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use unspool_model::Timestamp;
use write::Writer;

/// One record as received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The stream it came in: a file, an upload, a connection.
    pub stream: String,
    /// Where in the stream: an offset or an ordinal, whichever the source counts in.
    pub offset: u64,
    /// When it was received. Kept and given back; nothing in the log depends on it, so clocks may jump.
    pub received: Timestamp,
    /// Its bytes, exactly.
    pub bytes: Vec<u8>,
}

/// An entry by reference.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EntryRef<'a> {
    stream: &'a str,
    offset: u64,
    received: Timestamp,
    bytes: &'a [u8],
}

/// What an append is answered with: all its records are on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// Position of its first record; the others follow.
    pub first: u64,
    /// How many records it had.
    pub count: u64,
}

impl Receipt {
    /// The position behind its last record.
    pub fn end(&self) -> u64 {
        self.first + self.count
    }
}

/// Sizes the log keeps to.
#[derive(Clone, Copy, Debug)]
pub struct LogOptions {
    /// A segment that has grown to this is followed by another.
    pub segment_bytes: u64,
    /// So is one whose blocks, before they are compressed, have.
    pub segment_block_bytes: u64,
    /// And one with more blocks when nothing happens for a while: knowing them again takes memory.
    pub resting_blocks: u32,
    /// A frame that has grown to this, before it is compressed, is followed by another.
    pub frame_bytes: usize,
    /// No record may be larger: `max_log_record_bytes`.
    pub max_record_bytes: usize,
    /// Frames that were read stay in memory up to this many bytes.
    pub cache_bytes: usize,
    /// How hard zstd tries, and how hard when there is no time for it.
    pub level: i32,
    /// See `level`.
    pub quick_level: i32,
    /// The next record's position is at least this. Whoever has seen records beyond the end of a damaged log says so here, and
    /// their positions are not given out again.
    pub next_at_least: u64,
}

impl Default for LogOptions {
    fn default() -> LogOptions {
        LogOptions {
            segment_bytes: 64 << 20,
            segment_block_bytes: 256 << 20,
            resting_blocks: 1 << 16,
            frame_bytes: 1 << 20,
            max_record_bytes: 256 << 20,
            cache_bytes: 32 << 20,
            level: 5,
            quick_level: 1,
            next_at_least: 0,
        }
    }
}

/// The log. All of it may be used from many threads at once.
pub struct Log {
    files: Arc<dyn Files>,
    options: LogOptions,
    segments: Mutex<Vec<Segment>>,
    queue: Mutex<Queue>,
    answered: Condvar,
    writer: Mutex<Writer>,
    cache: Mutex<Cache>,
    dropped: Mutex<Arc<Dropped>>,
}

/// A segment as far as it is acknowledged.
struct Segment {
    name: SegmentName,
    /// Where its frames lie, once somebody asked.
    frames: Option<Arc<Vec<Placed>>>,
    /// Its length; of the last one, as far as it is acknowledged.
    bytes: u64,
}

/// How much the log holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogSize {
    /// Files.
    pub segments: u64,
    /// Bytes on the disk.
    pub bytes: u64,
    /// Records, also those that are damaged, without those that were dropped.
    pub records: u64,
}

impl Log {
    /// The position behind the last acknowledged record.
    pub fn end(&self) -> u64 {
        held(&self.queue).end
    }

    /// The position of the first record that has not been dropped.
    pub fn start(&self) -> u64 {
        held(&self.segments).first().map_or_else(|| self.end(), |segment| segment.name.first)
    }

    /// How much it holds.
    pub fn size(&self) -> LogSize {
        let segments = held(&self.segments);
        let bytes = segments.iter().map(|segment| segment.bytes).sum();
        let count = segments.len() as u64;
        drop(segments);
        let positions = self.start()..self.end();
        let dropped = self.dropped().count(&positions);
        let records = positions.end.saturating_sub(positions.start).saturating_sub(dropped);
        LogSize { segments: count, bytes, records }
    }

    fn dropped(&self) -> Arc<Dropped> {
        Arc::clone(&held(&self.dropped))
    }

    /// Deletes the segments all of whose records lie before that position, and says how much went. The segment that is being
    /// written stays.
    pub fn drop_before(&self, position: u64) -> Result<LogSize, crate::LogError> {
        let mut dropped = LogSize::default();
        let mut segments = held(&self.segments);
        while segments.get(1).is_some_and(|next| next.name.first <= position) {
            let first = &segments[0];
            let records = segments[1].name.first - first.name.first;
            let name = first.name.show();
            self.files.remove(&name).map_err(|source| crate::LogError::Io {
                doing: "remove",
                name,
                source,
            })?;
            dropped = LogSize {
                segments: dropped.segments + 1,
                bytes: dropped.bytes + first.bytes,
                records: dropped.records + records,
            };
            segments.remove(0);
        }
        Ok(dropped)
    }
}

/// Takes a lock. What a thread that died left behind is sound: every change is made in one step.
fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
