//! Writing frames into the last segment.
//!
//! In: entries. Out: frames on the disk. After any failure the segment is given up and the next write begins another one, so that no
//! byte ever follows one that may not be there. What the failed write left behind lies beyond where the next segment begins
//! and is never read.

use super::blocks::BlockIndex;
use super::frame::FrameBuilder;
use super::recover::Placed;
use super::segment::{SEGMENT_HEAD_BYTES, SegmentName, segment_head};
use super::{EntryRef, LogOptions, Segment, held};
use crate::LogError;
use crate::files::{Appending, Files, append_all};
use crate::packer::Packer;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::sync::{Arc, Mutex};

pub(crate) struct Writer {
    pub(crate) next_sequence: u64,
    open: Option<Open>,
    packer: Packer,
}

/// The segment being written.
struct Open {
    file: Box<dyn Appending>,
    name: SegmentName,
    /// How long it is, all of it on the disk.
    bytes: u64,
    index: BlockIndex,
}

impl Writer {
    pub(crate) fn new(next_sequence: u64) -> Writer {
        Writer { next_sequence, open: None, packer: Packer::default() }
    }

    /// Lets go of memory that is not needed for a while.
    pub(crate) fn rest(&mut self, options: &LogOptions) {
        self.packer.rest();
        self.open = self.open.take().filter(|open| open.index.count() <= options.resting_blocks);
    }

    /// Whether there is a segment to go on in.
    pub(crate) fn is_writing(&self) -> bool {
        self.open.is_some()
    }

    /// Writes entries from that position on, and returns when they are on the disk.
    pub(crate) fn write<'a>(
        &mut self,
        entries: impl Iterator<Item = EntryRef<'a>>,
        first: u64,
        files: &dyn Files,
        options: &LogOptions,
        segments: &Mutex<Vec<Segment>>,
    ) -> Result<(), LogError> {
        let mut entries = entries.peekable();
        if entries.peek().is_none() {
            return Ok(());
        }
        // Taken out: whatever fails below leaves no segment behind to go on in.
        let open = self.open.take().filter(|open| {
            open.bytes < options.segment_bytes && open.index.bytes < options.segment_block_bytes
        });
        let mut open = match open {
            Some(open) => open,
            None => self.begin(first, files, segments)?,
        };
        let sound_bytes = open.bytes;
        match open.frames(entries, first, options, &mut self.packer) {
            Ok(frames) => {
                let mut segments = held(segments);
                if let Some(last) = segments.last_mut() {
                    Arc::make_mut(last.frames.get_or_insert_default()).extend(frames);
                    last.bytes = open.bytes;
                }
                self.open = Some(open);
                Ok(())
            }
            Err(source) => {
                let name = open.name.show();
                drop(open);
                // Tidier when it works; nothing depends on it.
                if sound_bytes > SEGMENT_HEAD_BYTES as u64 {
                    let _ = files.truncate(&name, sound_bytes);
                } else if files.remove(&name).is_ok() {
                    held(segments).pop();
                }
                Err(LogError::Io { doing: "write", name, source })
            }
        }
    }

    fn begin(
        &mut self,
        first: u64,
        files: &dyn Files,
        segments: &Mutex<Vec<Segment>>,
    ) -> Result<Open, LogError> {
        let salt = RandomState::new().build_hasher().finish();
        let name = SegmentName { sequence: self.next_sequence, first, salt };
        // Even if it fails: what is left of it must come before the next one.
        self.next_sequence += 1;
        let shown = name.show();
        let started = files.create(&shown).and_then(|mut file| {
            append_all(&mut *file, &segment_head())?;
            file.sync()?;
            files.sync_folder()?;
            Ok(file)
        });
        let file = started.map_err(|source| {
            let _ = files.remove(&shown);
            LogError::Io { doing: "begin", name: shown.clone(), source }
        })?;
        let bytes = SEGMENT_HEAD_BYTES as u64;
        held(segments).push(Segment { name: name.clone(), frames: Some(Arc::default()), bytes });
        Ok(Open { file, name, bytes, index: BlockIndex::default() })
    }
}

impl Open {
    fn frames<'a>(
        &mut self,
        entries: impl Iterator<Item = EntryRef<'a>>,
        mut first: u64,
        options: &LogOptions,
        packer: &mut Packer,
    ) -> std::io::Result<Vec<Placed>> {
        let mut placed = Vec::new();
        let mut first_block = self.index.count();
        let mut builder = FrameBuilder::default();
        let mut entries = entries.peekable();
        while let Some(entry) = entries.next() {
            builder.add(entry, &mut self.index);
            if entries.peek().is_some() && builder.raw_bytes() < options.frame_bytes {
                continue;
            }
            let mut bytes = Vec::new();
            let built = std::mem::take(&mut builder);
            let pack = |raw: &[u8]| packer.pack(raw, options.level);
            let head = built.finish(first, first_block, self.name.salt, pack, &mut bytes)?;
            append_all(&mut *self.file, &bytes)?;
            placed.push(Placed { offset: self.bytes, head });
            self.bytes += bytes.len() as u64;
            first = head.end();
            first_block = self.index.count();
        }
        self.file.sync()?;
        Ok(placed)
    }
}
