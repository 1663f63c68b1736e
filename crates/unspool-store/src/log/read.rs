//! Reading records back, by position and in order.
//!
//! In: positions. Out: entries exactly as they were appended, or what is damaged. Only acknowledged records are seen.

use super::dropped::Dropped;
use super::frame::{Frame, Unreadable};
use super::recover::{Care, Placed, walk};
use super::report::{Damage, DamageKind, Recovery};
use super::segment::{FRAME_HEAD_BYTES, SegmentName, body_sum};
use super::{Entry, Log, held};
use crate::LogError;
use crate::files::Reading;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Frames that were read lately, and the file read last.
#[derive(Default)]
pub(crate) struct Cache {
    frames: FxHashMap<(u64, usize), (Arc<Frame>, u64)>,
    bytes: usize,
    uses: u64,
    file: Option<(u64, Box<dyn Reading>)>,
}

impl Cache {
    pub(super) fn clear(&mut self) {
        *self = Cache::default();
    }

    fn get(&mut self, key: (u64, usize)) -> Option<Arc<Frame>> {
        self.uses += 1;
        let (frame, used) = self.frames.get_mut(&key)?;
        *used = self.uses;
        Some(Arc::clone(frame))
    }

    fn put(&mut self, key: (u64, usize), frame: &Arc<Frame>, limit: usize) {
        self.bytes += frame.weight();
        // Two threads may have read the same.
        if let Some((same, _)) = self.frames.insert(key, (Arc::clone(frame), self.uses)) {
            self.bytes -= same.weight();
        }
        while self.bytes > limit && self.frames.len() > 1 {
            let oldest = self.frames.iter().min_by_key(|(_, (_, used))| *used).map(|(key, _)| *key);
            let Some((frame, _)) = oldest.and_then(|key| self.frames.remove(&key)) else { break };
            self.bytes -= frame.weight();
        }
    }
}

/// A segment to read from.
#[derive(Clone)]
pub(super) struct Indexed {
    pub(super) name: SegmentName,
    pub(super) frames: Arc<Vec<Placed>>,
}

/// What a scan comes upon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scanned {
    /// A record and its position.
    Record(u64, Entry),
    /// Records that cannot be given back.
    Lost(Damage),
}

impl Log {
    /// Nothing happens for a while: the frames that were read lately, and other memory, are let go.
    pub fn rest(&self) {
        *held(&self.cache) = Cache::default();
        held(&self.writer).rest(&self.options);
    }

    /// The record at that position; `None` before the first, behind the last and where it was dropped.
    pub fn read(&self, position: u64) -> Result<Option<Entry>, LogError> {
        let Some((segment, n, frame)) = self.frame_at(position)? else { return Ok(None) };
        self.entry(&segment, &frame, n, position).map(Some)
    }

    /// The stream of a record, whose bytes are not read.
    pub fn stream_at(&self, position: u64) -> Result<Option<String>, LogError> {
        let Some((segment, n, frame)) = self.frame_at(position)? else { return Ok(None) };
        frame.stream(segment.within(n, position), position).map(|name| Some(name.to_string()))
    }

    /// The frame of a record and where it is; none when it was dropped or there is none yet.
    fn frame_at(&self, position: u64) -> Result<Option<(Indexed, usize, Arc<Frame>)>, LogError> {
        if position >= self.end() || self.dropped().contains(position) {
            return Ok(None);
        }
        let Some(segment) = self.segment_of(position)? else { return Ok(None) };
        let Some(n) = segment.frame_of(position) else {
            return Err(LogError::Damaged { position, why: format!("{} is damaged", segment.name.show()) });
        };
        let frame = self.frame(&segment, n).map_err(|why| why.of_record(position))?;
        Ok(Some((segment, n, frame)))
    }

    /// All records from that position on, in order, up to the last that is acknowledged now.
    pub fn scan(&self, from: u64) -> Scan<'_> {
        let dropped = self.dropped();
        let next = dropped.kept_from(from.max(self.start()));
        Scan { log: self, next, end: self.end(), frame: None, dropped }
    }

    /// Reads everything and lists what is damaged.
    pub fn check(&self) -> Result<Vec<Damage>, LogError> {
        let mut damages = Vec::new();
        for (name, limit) in self.names() {
            let mut file = self.files.open(&name.show()).map_err(|source| unreadable(&name, source))?;
            let limit = if limit == u64::MAX { self.end() } else { limit };
            damages.extend(walk(&mut *file, &name, limit, Care::Bodies)?.damages);
        }
        // What was dropped may be missing.
        let dropped = self.dropped();
        damages.retain(|damage| !damage.is_loss() || !dropped.covers(&damage.positions));
        for found in self.scan(0) {
            match found? {
                Scanned::Lost(damage) if damage.kind == DamageKind::Record => damages.push(damage),
                _ => {}
            }
        }
        Ok(damages)
    }

    /// Looks for damage in the segments that nobody writes to, one after the other, and in those in which opening the log found some for the
    /// records that need it. It is asked before each whether to go on.
    pub fn look_through(
        &self,
        opened: &Recovery,
        mut go_on: impl FnMut() -> bool,
        mut found: impl FnMut(Vec<Damage>),
    ) -> Result<(), LogError> {
        let mut names = self.names();
        // The last one was looked at when the log was opened, or has been written since. Then it was said what is damaged, and not what that takes with it.
        let is_damaged = |name: &SegmentName| opened.damages.iter().any(|one| one.segment == name.show());
        if names.last().is_some_and(|(name, _)| !is_damaged(name)) {
            names.pop();
        }
        for (name, limit) in names {
            if !go_on() {
                return Ok(());
            }
            match self.damages_of(&name, limit) {
                Ok(damages) if damages.is_empty() => {}
                Ok(damages) => found(damages),
                // It was dropped or written anew meanwhile.
                Err(_) if !self.names().iter().any(|(known, _)| *known == name) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// What is damaged in a segment, with the records that need what is.
    fn damages_of(&self, name: &SegmentName, limit: u64) -> Result<Vec<Damage>, LogError> {
        let limit = limit.min(self.end());
        let mut file = self.files.open(&name.show()).map_err(|source| unreadable(name, source))?;
        let mut damages = walk(&mut *file, name, limit, Care::Bodies)?.damages;
        if damages.is_empty() {
            return Ok(damages);
        }
        let dropped = self.dropped();
        damages.retain(|damage| !damage.is_loss() || !dropped.covers(&damage.positions));
        for found in self.scan(name.first) {
            match found? {
                Scanned::Record(position, _) if position >= limit => break,
                Scanned::Lost(damage) if damage.positions.start >= limit => break,
                Scanned::Lost(damage) if damage.kind == DamageKind::Record => damages.push(damage),
                _ => {}
            }
        }
        Ok(damages)
    }

    /// The segments, and where the records of each end.
    pub(super) fn names(&self) -> Vec<(SegmentName, u64)> {
        let segments = held(&self.segments);
        let limits = segments.iter().skip(1).map(|next| next.name.first).chain([u64::MAX]);
        segments.iter().zip(limits).map(|(segment, limit)| (segment.name.clone(), limit)).collect()
    }

    /// The segment that holds, or should hold, that record.
    pub(super) fn segment_of(&self, position: u64) -> Result<Option<Indexed>, LogError> {
        let mut segments = held(&self.segments);
        let behind = segments.partition_point(|segment| segment.name.first <= position);
        let limit = segments.get(behind).map_or(u64::MAX, |next| next.name.first);
        let Some(segment) = behind.checked_sub(1).and_then(|n| segments.get_mut(n)) else { return Ok(None) };
        let frames = if let Some(frames) = &segment.frames {
            Arc::clone(frames)
        } else {
            let name = &segment.name;
            let mut file = self.files.open(&name.show()).map_err(|source| unreadable(name, source))?;
            let walked = walk(&mut *file, name, limit, Care::Heads)?;
            Arc::clone(segment.frames.insert(Arc::new(walked.frames)))
        };
        Ok(Some(Indexed { name: segment.name.clone(), frames }))
    }

    fn frame(&self, segment: &Indexed, n: usize) -> Result<Arc<Frame>, Unreadable> {
        let key = (segment.name.sequence, n);
        let mut cache = held(&self.cache);
        if let Some(frame) = cache.get(key) {
            return Ok(frame);
        }
        let damaged = || Unreadable::Damaged(format!("a frame of {} is damaged", segment.name.show()));
        let placed = segment.frames.get(n).ok_or_else(damaged)?;
        let file = cache.file.take().filter(|(sequence, _)| *sequence == segment.name.sequence);
        // Others may read meanwhile.
        drop(cache);
        let mut file = match file {
            Some((_, file)) => file,
            None => self.files.open(&segment.name.show()).map_err(|source| segment.io(source))?,
        };
        let mut body = vec![0; placed.head.body_bytes as usize];
        file.read_at(placed.offset + FRAME_HEAD_BYTES as u64, &mut body)
            .map_err(|source| segment.io(source))?;
        if body_sum(&body, segment.name.salt) != placed.head.body_sum {
            return Err(damaged());
        }
        let frame = Arc::new(Frame::read(&placed.head, &body).ok_or_else(damaged)?);
        let mut cache = held(&self.cache);
        cache.file = Some((segment.name.sequence, file));
        cache.put(key, &frame, self.options.cache_bytes);
        Ok(frame)
    }

    fn entry(&self, segment: &Indexed, frame: &Frame, n: usize, position: u64) -> Result<Entry, LogError> {
        let within = segment.within(n, position);
        // Blocks of one record mostly lie side by side.
        let mut last: Option<(usize, Arc<Frame>)> = None;
        frame.entry(within, position, &mut |number| {
            let (n, within) = segment.block_of(number).ok_or_else(|| {
                Unreadable::Damaged(format!("a frame it needs in {} is damaged", segment.name.show()))
            })?;
            let frame = match &last {
                Some((known, frame)) if *known == n => Arc::clone(frame),
                _ => self.frame(segment, n)?,
            };
            last = Some((n, Arc::clone(&frame)));
            Ok((frame, within))
        })
    }
}

impl Indexed {
    /// The place of a record among those of its frame.
    fn within(&self, n: usize, position: u64) -> usize {
        let first = self.frames.get(n).map_or(position, |placed| placed.head.first);
        usize::try_from(position - first).unwrap_or(usize::MAX)
    }

    fn frame_of(&self, position: u64) -> Option<usize> {
        let n = self.frames.partition_point(|placed| placed.head.end() <= position);
        self.frames.get(n).is_some_and(|placed| placed.head.first <= position).then_some(n)
    }

    fn block_of(&self, number: u32) -> Option<(usize, usize)> {
        let n = self.frames.partition_point(|placed| placed.head.first_block <= number).checked_sub(1)?;
        let head = &self.frames.get(n)?.head;
        // Frames without blocks of their own share their first number with the one behind them.
        let within = number - head.first_block;
        (within < head.blocks).then_some((n, within as usize))
    }

    fn io(&self, source: std::io::Error) -> Unreadable {
        if source.kind() == std::io::ErrorKind::UnexpectedEof {
            return Unreadable::Damaged(format!("{} ends too early", self.name.show()));
        }
        Unreadable::Io(unreadable(&self.name, source))
    }
}

fn unreadable(name: &SegmentName, source: std::io::Error) -> LogError {
    LogError::Io { doing: "read", name: name.show(), source }
}

/// Records in order. Damage is an item like any other, and the scan goes on behind it; an error ends it.
pub struct Scan<'a> {
    log: &'a Log,
    next: u64,
    end: u64,
    frame: Option<(Indexed, usize, Arc<Frame>)>,
    dropped: Arc<Dropped>,
}

impl Scan<'_> {
    fn step(&mut self) -> Result<Scanned, LogError> {
        let position = self.next;
        let known = self.frame.take().filter(|(segment, n, _)| segment.frame_of(position) == Some(*n));
        let (segment, n, frame) = if let Some(known) = known {
            known
        } else {
            let segment = self.log.segment_of(position)?;
            let Some(segment) = segment else {
                return Ok(self.lost("the log", DamageKind::Missing, self.end));
            };
            let Some(n) = segment.frame_of(position) else {
                let behind =
                    segment.frames.iter().map(|placed| placed.head.first).find(|first| *first > position);
                let limit =
                    self.log.names().into_iter().map(|(name, _)| name.first).find(|first| *first > position);
                let end = behind.or(limit).unwrap_or(self.end).min(self.end);
                return Ok(self.lost(&segment.name.show(), DamageKind::Missing, end));
            };
            match self.log.frame(&segment, n) {
                Ok(frame) => (segment, n, frame),
                Err(Unreadable::Io(error)) => return Err(error),
                Err(Unreadable::Damaged(_)) => {
                    let end = segment.frames.get(n).map_or(position + 1, |placed| placed.head.end());
                    return Ok(self.lost(&segment.name.show(), DamageKind::Frame, end.min(self.end)));
                }
            }
        };
        let found = match self.log.entry(&segment, &frame, n, position) {
            Ok(entry) => Scanned::Record(position, entry),
            Err(LogError::Damaged { .. }) => {
                return Ok(self.lost(&segment.name.show(), DamageKind::Record, position + 1));
            }
            Err(error) => return Err(error),
        };
        self.frame = Some((segment, n, frame));
        self.next += 1;
        Ok(found)
    }

    fn lost(&mut self, segment: &str, kind: DamageKind, end: u64) -> Scanned {
        let positions = self.next..end.max(self.next + 1);
        self.next = positions.end;
        Scanned::Lost(Damage { segment: segment.into(), kind, offset: 0, bytes: 0, positions })
    }
}

impl Iterator for Scan<'_> {
    type Item = Result<Scanned, LogError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.next >= self.end {
            return None;
        }
        let step = self.step();
        self.next = self.dropped.kept_from(self.next);
        if step.is_err() {
            self.next = self.end;
        }
        Some(step)
    }
}
