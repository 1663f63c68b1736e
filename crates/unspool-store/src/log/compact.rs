//! Taking records out of the log: dropping them, and writing segments anew without them.
//!
//! In: positions nobody needs. Out: room on the disk. Every other record keeps its position and its bytes. A segment that is written anew takes
//! the place of the old one in one step, under the same name.

use super::blocks::BlockIndex;
use super::dropped::Dropped;
use super::frame::FrameBuilder;
use super::recover::Placed;
use super::segment::{SEGMENT_HEAD_BYTES, SegmentName, segment_head};
use super::{Entry, EntryRef, Log, LogSize, Scanned, held};
use crate::LogError;
use crate::files::{Appending, append_all};
use crate::packer::Packer;
use std::io;
use std::ops::Range;
use std::sync::Arc;

/// A segment that is being written anew.
pub(crate) const REWRITE: &str = "rewrite.tmp";

/// What compacting did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compacted {
    /// Segments that were written anew.
    pub segments: u64,
    /// Segments with damage in them, which are left as they are.
    pub damaged: u64,
    /// Segments with dropped records in them that are too few to be worth it.
    pub left: u64,
    /// Bytes that are free now.
    pub bytes: u64,
}

impl Log {
    /// Drops records for good and deletes the segments that hold no others, but for the one that is being written. Says what was deleted.
    /// It is on the disk when this returns.
    pub fn drop_records(&self, positions: &[u64]) -> Result<LogSize, LogError> {
        let end = self.end();
        let known: Vec<u64> = positions.iter().copied().filter(|position| *position < end).collect();
        if !known.is_empty() {
            let mut dropped = held(&self.dropped);
            let with = dropped.with(&known, self.start());
            with.save(&*self.files)?;
            *dropped = Arc::new(with);
        }
        self.drop_empty()
    }

    /// Deletes segments without any record that is wanted.
    fn drop_empty(&self) -> Result<LogSize, LogError> {
        let dropped = self.dropped();
        let mut gone = LogSize::default();
        let mut segments = held(&self.segments);
        let mut n = 0;
        while n + 1 < segments.len() {
            let positions = segments[n].name.first..segments[n + 1].name.first;
            if !dropped.covers(&positions) {
                n += 1;
                continue;
            }
            let name = segments[n].name.show();
            let removed = self.files.remove(&name);
            removed.map_err(|source| LogError::Io { doing: "remove", name, source })?;
            let bytes = segments.remove(n).bytes;
            gone = LogSize { segments: gone.segments + 1, bytes: gone.bytes + bytes, records: gone.records };
            gone.records += positions.end - positions.start;
        }
        Ok(gone)
    }

    /// Writes segments anew in which more than one byte in `one_in` is of dropped records. Nobody else may read meanwhile. The segment that is
    /// being written stays as it is.
    pub fn compact(&mut self, one_in: u64) -> Result<Compacted, LogError> {
        let mut done = Compacted::default();
        let dropped = self.dropped();
        let is_writing = held(&self.writer).is_writing();
        let end = self.end();
        let mut names = self.names();
        if is_writing {
            names.pop();
        }
        for (name, limit) in names {
            let positions = name.first..limit.min(end);
            let (unwanted, all) = self.unwanted_in(&name, &dropped)?;
            if unwanted.saturating_mul(one_in) <= all {
                done.left += u64::from(unwanted > 0);
                continue;
            }
            match self.rewrite(&name, positions)? {
                Some(freed) => {
                    done.segments += 1;
                    done.bytes += freed;
                }
                None => done.damaged += 1,
            }
        }
        Ok(done)
    }

    /// How many bytes of a segment's frames are of dropped records, about, and how many there are. Records of one frame count alike: mostly
    /// they came together.
    fn unwanted_in(&self, name: &SegmentName, dropped: &Dropped) -> Result<(u64, u64), LogError> {
        let segment = self.segment_of(name.first)?;
        let frames = segment.map(|segment| segment.frames).unwrap_or_default();
        let (mut unwanted, mut all) = (0, 0);
        for Placed { head, .. } in frames.iter() {
            let bytes = u64::from(head.body_bytes);
            unwanted += bytes * dropped.count(&(head.first..head.end())) / u64::from(head.records).max(1);
            all += bytes;
        }
        Ok((unwanted, all))
    }

    /// Writes one segment anew; nothing when something in it cannot be read. How many bytes that freed.
    fn rewrite(&self, name: &SegmentName, positions: Range<u64>) -> Result<Option<u64>, LogError> {
        let failed = |source| LogError::Io { doing: "write", name: REWRITE.into(), source };
        drop(self.files.remove(REWRITE));
        let file = self.files.create(REWRITE).map_err(failed)?;
        let mut anew = Anew {
            file,
            salt: name.salt,
            bytes: 0,
            index: BlockIndex::default(),
            placed: Vec::new(),
            packer: Packer::default(),
        };
        anew.begin().map_err(failed)?;
        let mut run: Vec<Entry> = Vec::new();
        let mut first = positions.start;
        let mut weight = 0;
        for found in self.scan(positions.start) {
            let (position, entry) = match found? {
                Scanned::Record(position, _) if position >= positions.end => break,
                Scanned::Record(position, entry) => (position, entry),
                Scanned::Lost(damage) if damage.positions.start >= positions.end => break,
                Scanned::Lost(_) => {
                    drop(self.files.remove(REWRITE));
                    return Ok(None);
                }
            };
            if position != first + run.len() as u64 || weight >= self.options.frame_bytes {
                anew.frame(&run, first, self.options.level).map_err(failed)?;
                run.clear();
                (first, weight) = (position, 0);
            }
            weight += entry.bytes.len();
            run.push(entry);
        }
        anew.frame(&run, first, self.options.level).map_err(failed)?;
        anew.file.sync().map_err(failed)?;
        let (bytes, placed) = (anew.bytes, anew.placed);
        let shown = name.show();
        let moved = self.files.rename(REWRITE, &shown).and_then(|()| self.files.sync_folder());
        moved.map_err(|source| LogError::Io { doing: "replace", name: shown, source })?;
        held(&self.cache).clear();
        let mut segments = held(&self.segments);
        let segment = segments.iter_mut().find(|segment| segment.name == *name);
        let before = segment.map(|segment| {
            segment.frames = Some(Arc::new(placed));
            std::mem::replace(&mut segment.bytes, bytes)
        });
        Ok(Some(before.unwrap_or(bytes).saturating_sub(bytes)))
    }
}

/// The file that is being written.
struct Anew {
    file: Box<dyn Appending>,
    salt: u64,
    bytes: u64,
    index: BlockIndex,
    placed: Vec<Placed>,
    packer: Packer,
}

impl Anew {
    fn begin(&mut self) -> io::Result<()> {
        self.bytes = SEGMENT_HEAD_BYTES as u64;
        append_all(&mut *self.file, &segment_head())
    }

    fn frame(&mut self, entries: &[Entry], first: u64, level: i32) -> io::Result<()> {
        if entries.is_empty() {
            return Ok(());
        }
        let first_block = self.index.count();
        let mut builder = FrameBuilder::default();
        for Entry { stream, offset, received, bytes } in entries {
            let entry = EntryRef { stream, offset: *offset, received: *received, bytes };
            builder.add(entry, &mut self.index);
        }
        let mut bytes = Vec::new();
        let head =
            builder.finish(first, first_block, self.salt, |raw| self.packer.pack(raw, level), &mut bytes)?;
        append_all(&mut *self.file, &bytes)?;
        self.placed.push(Placed { offset: self.bytes, head });
        self.bytes += bytes.len() as u64;
        Ok(())
    }
}
