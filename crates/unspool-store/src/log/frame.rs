//! A frame: some records and the blocks they brought, compressed together, with a checksum.
//!
//! In: entries. Out: the bytes of a frame, and the entries again. Never here: files.

use super::blocks::{BlockIndex, NewBlocks};
use super::segment::{FrameHead, body_sum};
use super::{Entry, EntryRef};
use crate::LogError;
use crate::bytes::{Taker, put_bytes, put_number, put_signed};
use std::ops::Range;
use std::sync::Arc;
use unspool_model::Timestamp;
use xxhash_rust::xxh3::xxh3_64;

/// Records smaller than this are not cut.
const WHOLE_BELOW: usize = 192;

/// Lists of blocks are never deeper: with at least four to a list, this is more than the largest record has.
const MAX_DEPTH: u32 = 16;

/// No frame holds more than this before it is compressed.
const MAX_RAW_BYTES: u32 = 1 << 30;

/// A frame being made.
#[derive(Default)]
pub(crate) struct FrameBuilder {
    streams: Vec<String>,
    records: Vec<u8>,
    count: u32,
    last_received: i64,
    blocks: NewBlocks,
}

impl FrameBuilder {
    /// Bytes so far, before they are compressed.
    pub(crate) fn raw_bytes(&self) -> usize {
        self.records.len() + self.blocks.contents.len()
    }

    pub(crate) fn add(&mut self, entry: EntryRef<'_>, index: &mut BlockIndex) {
        let known = self.streams.iter().rposition(|stream| stream == entry.stream);
        let stream = known.unwrap_or_else(|| {
            self.streams.push(entry.stream.to_string());
            self.streams.len() - 1
        });
        let received = entry.received.ns().unwrap_or(i64::MIN);
        let out = &mut self.records;
        put_number(out, stream as u64);
        put_number(out, entry.offset);
        put_signed(out, received.wrapping_sub(self.last_received));
        put_number(out, entry.bytes.len() as u64);
        out.extend_from_slice(&record_sum(entry.bytes).to_le_bytes());
        if entry.bytes.len() < WHOLE_BELOW {
            put_number(out, 0);
            out.extend_from_slice(entry.bytes);
        } else {
            let listed = index.list(entry.bytes, &mut self.blocks);
            put_number(out, u64::from(listed.depth));
            put_number(out, listed.numbers.len() as u64);
            listed.numbers.iter().for_each(|number| put_number(out, u64::from(*number)));
        }
        self.last_received = received;
        self.count += 1;
    }

    /// The frame's head, and the bytes of all of it behind those already in `out`.
    pub(crate) fn finish(
        self,
        first: u64,
        first_block: u32,
        salt: u64,
        pack: impl FnOnce(&[u8]) -> std::io::Result<Vec<u8>>,
        out: &mut Vec<u8>,
    ) -> std::io::Result<FrameHead> {
        let mut raw = Vec::with_capacity(self.raw_bytes() + self.blocks.directory.len() + 64);
        put_number(&mut raw, self.streams.len() as u64);
        self.streams.iter().for_each(|stream| put_bytes(&mut raw, stream.as_bytes()));
        raw.extend_from_slice(&self.records);
        raw.extend_from_slice(&self.blocks.directory);
        raw.extend_from_slice(&self.blocks.contents);
        let body = pack(&raw)?;
        let size = |bytes: usize| u32::try_from(bytes).map_err(|_| std::io::ErrorKind::FileTooLarge);
        let head = FrameHead {
            body_bytes: size(body.len())?,
            raw_bytes: size(raw.len())?,
            first,
            records: self.count,
            first_block,
            blocks: self.blocks.count,
            body_sum: body_sum(&body, salt),
        };
        head.write(salt, out);
        out.extend_from_slice(&body);
        Ok(head)
    }
}

/// A frame that was read.
pub(crate) struct Frame {
    raw: Vec<u8>,
    streams: Vec<String>,
    records: Vec<Stored>,
    blocks: Vec<(Range<usize>, bool)>,
}

struct Stored {
    stream: usize,
    offset: u64,
    received: Timestamp,
    len: usize,
    sum: u32,
    content: Content,
}

enum Content {
    Whole(Range<usize>),
    Blocks { depth: u32, numbers: Vec<u32> },
}

impl Frame {
    /// Bytes it takes in memory, about.
    pub(crate) fn weight(&self) -> usize {
        self.raw.len() + self.blocks.len() * 32 + self.records.len() * 96
    }

    /// Reads a frame whose body has the right checksum; `None` when it does not hold what its head says.
    pub(crate) fn read(head: &FrameHead, body: &[u8]) -> Option<Frame> {
        if head.raw_bytes > MAX_RAW_BYTES {
            return None;
        }
        let raw = zstd::bulk::decompress(body, head.raw_bytes as usize).ok()?;
        let mut taker = Taker::new(&raw);
        let stream_count = taker.length().filter(|count| *count <= taker.left())?;
        let streams: Option<Vec<String>> =
            (0..stream_count).map(|_| String::from_utf8(taker.bytes()?.to_vec()).ok()).collect();
        let mut last_received = 0;
        let records: Option<Vec<Stored>> =
            (0..head.records).map(|_| stored(&mut taker, raw.len(), &mut last_received)).collect();
        let lens: Option<Vec<u64>> = (0..head.blocks).map(|_| taker.number()).collect();
        let mut at = raw.len() - taker.left();
        let blocks: Option<Vec<(Range<usize>, bool)>> = lens?
            .into_iter()
            .map(|len| {
                let start = at;
                at = at.checked_add(usize::try_from(len >> 1).ok()?).filter(|end| *end <= raw.len())?;
                Some((start..at, len & 1 == 1))
            })
            .collect();
        let (streams, records, blocks) = (streams?, records?, blocks?);
        Some(Frame { raw, streams, records, blocks })
    }

    /// A block's content, and whether it is a list of blocks.
    pub(crate) fn block(&self, n: usize) -> Option<(&[u8], bool)> {
        let (range, is_list) = self.blocks.get(n)?;
        Some((self.raw.get(range.clone())?, *is_list))
    }

    /// The stream of the `n`th record.
    pub(crate) fn stream(&self, n: usize, position: u64) -> Result<&str, LogError> {
        let named = self.streams.get(self.stored(n, position)?.stream);
        Ok(named.ok_or_else(|| LogError::Damaged { position, why: "its stream has no name".into() })?)
    }

    fn stored(&self, n: usize, position: u64) -> Result<&Stored, LogError> {
        let why = || "its frame does not hold it".into();
        self.records.get(n).ok_or_else(|| LogError::Damaged { position, why: why() })
    }

    /// The `n`th record, with the blocks it needs from wherever they lie.
    pub(crate) fn entry(&self, n: usize, position: u64, fetch: &mut Fetch<'_>) -> Result<Entry, LogError> {
        let (stored, stream) = (self.stored(n, position)?, self.stream(n, position)?);
        let damaged = |why: &str| LogError::Damaged { position, why: why.into() };
        let mut bytes = Vec::with_capacity(stored.len.min(self.raw.len()));
        match &stored.content {
            Content::Whole(range) => bytes.extend_from_slice(self.raw.get(range.clone()).unwrap_or_default()),
            Content::Blocks { depth, numbers } => {
                for number in numbers {
                    expand(*number, *depth, stored.len, &mut bytes, fetch)
                        .map_err(|why| why.of_record(position))?;
                }
            }
        }
        if bytes.len() != stored.len || record_sum(&bytes) != stored.sum {
            return Err(damaged("its bytes are not those that were stored"));
        }
        Ok(Entry { stream: stream.into(), offset: stored.offset, received: stored.received, bytes })
    }
}

/// Where a block lies: its frame, and its place among the blocks of that.
pub(crate) type Fetch<'a> = dyn FnMut(u32) -> Result<(Arc<Frame>, usize), Unreadable> + 'a;

/// Why a block could not be read.
pub(crate) enum Unreadable {
    Damaged(String),
    Io(LogError),
}

impl Unreadable {
    pub(crate) fn of_record(self, position: u64) -> LogError {
        match self {
            Unreadable::Damaged(why) => LogError::Damaged { position, why },
            Unreadable::Io(error) => error,
        }
    }
}

fn stored(taker: &mut Taker<'_>, raw_bytes: usize, last_received: &mut i64) -> Option<Stored> {
    let stream = taker.length()?;
    let offset = taker.number()?;
    *last_received = last_received.wrapping_add(taker.signed()?);
    let len = taker.length()?;
    let sum = taker.u32()?;
    let content = match taker.small()? {
        0 => {
            let start = raw_bytes - taker.left();
            taker.take(len)?;
            Content::Whole(start..start + len)
        }
        depth if depth > MAX_DEPTH => return None,
        depth => {
            let count = taker.length().filter(|count| *count <= taker.left())?;
            let numbers: Option<Vec<u32>> = (0..count).map(|_| taker.small()).collect();
            Content::Blocks { depth, numbers: numbers? }
        }
    };
    Some(Stored { stream, offset, received: Timestamp::from_ns(*last_received), len, sum, content })
}

/// Appends what a block stands for: never more than the record's length, and never deeper than the record says.
fn expand(
    number: u32,
    depth: u32,
    len: usize,
    bytes: &mut Vec<u8>,
    fetch: &mut Fetch<'_>,
) -> Result<(), Unreadable> {
    let damaged = |why: &str| Unreadable::Damaged(why.into());
    let (frame, n) = fetch(number)?;
    let (content, is_list) = frame.block(n).ok_or_else(|| damaged("a block it needs is not in its frame"))?;
    if is_list != (depth > 1) {
        return Err(damaged("a block is not of the sort its list says"));
    }
    if !is_list {
        if bytes.len() + content.len() > len {
            return Err(damaged("its blocks are longer than it is"));
        }
        bytes.extend_from_slice(content);
        return Ok(());
    }
    let mut taker = Taker::new(content);
    while taker.left() > 0 {
        let below = taker.small().ok_or_else(|| damaged("a list of blocks is damaged"))?;
        expand(below, depth - 1, len, bytes, fetch)?;
    }
    Ok(())
}

fn record_sum(bytes: &[u8]) -> u32 {
    let [a, b, c, d, ..] = xxh3_64(bytes).to_le_bytes();
    u32::from_le_bytes([a, b, c, d])
}

#[cfg(test)]
mod tests {
    use super::{Frame, FrameBuilder, Unreadable};
    use crate::log::EntryRef;
    use crate::log::blocks::BlockIndex;
    use crate::log::segment::{FRAME_HEAD_BYTES, FrameHead};
    use proptest::prelude::*;
    use std::sync::Arc;
    use unspool_model::Timestamp;

    fn entries_of(frame: Frame, count: u32) -> Vec<Option<Vec<u8>>> {
        let frame = Arc::new(frame);
        let read = |n: u32| {
            let mut fetch = |number: u32| {
                Ok((
                    Arc::clone(&frame),
                    usize::try_from(number).map_err(|_| Unreadable::Damaged(String::new()))?,
                ))
            };
            frame.entry(n as usize, u64::from(n), &mut fetch).ok().map(|entry| entry.bytes)
        };
        (0..count).map(read).collect()
    }

    fn built(records: &[Vec<u8>]) -> (FrameHead, Vec<u8>) {
        let mut builder = FrameBuilder::default();
        let mut index = BlockIndex::default();
        for bytes in records {
            let entry = EntryRef { stream: "s", offset: 3, received: Timestamp::NONE, bytes };
            builder.add(entry, &mut index);
        }
        let mut out = Vec::new();
        let head = builder.finish(0, 0, 1, |raw| zstd::bulk::compress(raw, 3), &mut out).unwrap();
        (head, out.split_off(FRAME_HEAD_BYTES))
    }

    proptest! {
        #[test]
        fn records_come_back(records in proptest::collection::vec(proptest::collection::vec(0..9_u8, 0..3000), 0..8)) {
            let (head, body) = built(&records);
            let found = entries_of(Frame::read(&head, &body).unwrap(), head.records);
            prop_assert_eq!(found, records.into_iter().map(Some).collect::<Vec<_>>());
        }

        /// Even with a checksum that fits, a body that is not ours does no harm.
        #[test]
        fn no_body_can_harm(changes in proptest::collection::vec((any::<u16>(), any::<u8>()), 1..6), cut: u16) {
            let records: Vec<Vec<u8>> = (0..6_u8).map(|n| (0..2000_u16).map(|k| k.to_le_bytes()[0].wrapping_mul(n)).collect()).collect();
            let (head, body) = built(&records);
            let mut raw = zstd::bulk::decompress(&body, head.raw_bytes as usize).unwrap();
            for (at, change) in changes {
                let at = usize::from(at) % raw.len();
                raw[at] ^= change;
            }
            raw.truncate(raw.len() - usize::from(cut) % 40);
            let body = zstd::bulk::compress(&raw, 1).unwrap();
            if let Some(frame) = Frame::read(&head, &body) {
                for (found, known) in entries_of(frame, head.records).into_iter().zip(&records) {
                    prop_assert!(found.is_none_or(|found| found == *known), "a record is itself or nothing");
                }
            }
        }
    }
}
