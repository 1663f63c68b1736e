//! A segment: one file of the log. Its name says its place, its head says its version, frames follow.
//!
//! In: bytes and names. Out: heads, and frames told from damage. Never here: files. A segment refers to nothing outside itself, so it can
//! be lost, moved or deleted alone.

use crate::bytes::Taker;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// The last version of the log that this program writes and reads.
pub(crate) const VERSION: u16 = 1;

const SEGMENT_MAGIC: &[u8; 8] = b"unspool\n";
const FRAME_MAGIC: &[u8; 4] = b"UFr1";

/// Bytes before the first frame.
pub(crate) const SEGMENT_HEAD_BYTES: usize = 16;

/// Bytes before a frame's body.
pub(crate) const FRAME_HEAD_BYTES: usize = 48;

/// What a segment's name says. The salt goes into every checksum, so that bytes inside a record never pass for a frame.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SegmentName {
    /// Its place among segments.
    pub(crate) sequence: u64,
    /// Position of its first record.
    pub(crate) first: u64,
    pub(crate) salt: u64,
}

const NAME_START: &str = "records-";
const NAME_END: &str = ".log";

impl SegmentName {
    pub(crate) fn show(&self) -> String {
        format!("{NAME_START}{:010}-{:020}-{:016x}{NAME_END}", self.sequence, self.first, self.salt)
    }

    pub(crate) fn parse(name: &str) -> Option<SegmentName> {
        let mut parts = name.strip_prefix(NAME_START)?.strip_suffix(NAME_END)?.split('-');
        let sequence = parts.next()?.parse().ok()?;
        let first = parts.next()?.parse().ok()?;
        let salt = u64::from_str_radix(parts.next()?, 16).ok()?;
        parts.next().is_none().then_some(SegmentName { sequence, first, salt })
    }
}

/// The bytes a segment begins with.
pub(crate) fn segment_head() -> [u8; SEGMENT_HEAD_BYTES] {
    let mut head = [0; SEGMENT_HEAD_BYTES];
    head[..8].copy_from_slice(SEGMENT_MAGIC);
    head[8..10].copy_from_slice(&VERSION.to_le_bytes());
    head
}

/// The version a segment's head states; `None` when it is no head.
pub(crate) fn segment_version(head: &[u8]) -> Option<u16> {
    let mut taker = Taker::new(head);
    if taker.take(SEGMENT_MAGIC.len())? != SEGMENT_MAGIC {
        return None;
    }
    taker.u16()
}

/// What a frame's head says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameHead {
    /// Bytes of the compressed body.
    pub(crate) body_bytes: u32,
    /// Bytes of the body before it was compressed.
    pub(crate) raw_bytes: u32,
    /// Position of its first record.
    pub(crate) first: u64,
    /// How many records it holds.
    pub(crate) records: u32,
    /// Number of its first block in the segment.
    pub(crate) first_block: u32,
    /// How many blocks it holds.
    pub(crate) blocks: u32,
    /// Checksum of the compressed body.
    pub(crate) body_sum: u64,
}

impl FrameHead {
    /// The position behind its last record.
    pub(crate) fn end(&self) -> u64 {
        self.first.saturating_add(u64::from(self.records))
    }

    /// The length of the whole frame.
    pub(crate) fn frame_bytes(&self) -> u64 {
        FRAME_HEAD_BYTES as u64 + u64::from(self.body_bytes)
    }

    pub(crate) fn write(&self, salt: u64, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(FRAME_MAGIC);
        out.extend_from_slice(&self.body_bytes.to_le_bytes());
        out.extend_from_slice(&self.raw_bytes.to_le_bytes());
        out.extend_from_slice(&self.first.to_le_bytes());
        out.extend_from_slice(&self.records.to_le_bytes());
        out.extend_from_slice(&self.first_block.to_le_bytes());
        out.extend_from_slice(&self.blocks.to_le_bytes());
        out.extend_from_slice(&self.body_sum.to_le_bytes());
        let sum = xxh3_64_with_seed(&out[start..], salt);
        out.extend_from_slice(&sum.to_le_bytes());
    }

    /// The head at the start of these bytes; `None` when there is none or it is damaged.
    pub(crate) fn read(bytes: &[u8], salt: u64) -> Option<FrameHead> {
        let (head, sum) = bytes.get(..FRAME_HEAD_BYTES)?.split_at(FRAME_HEAD_BYTES - 8);
        if xxh3_64_with_seed(head, salt).to_le_bytes() != sum {
            return None;
        }
        let mut taker = Taker::new(head);
        if taker.take(FRAME_MAGIC.len())? != FRAME_MAGIC {
            return None;
        }
        Some(FrameHead {
            body_bytes: taker.u32()?,
            raw_bytes: taker.u32()?,
            first: taker.u64()?,
            records: taker.u32()?,
            first_block: taker.u32()?,
            blocks: taker.u32()?,
            body_sum: taker.u64()?,
        })
    }

    /// Where in these bytes the next undamaged head begins.
    pub(crate) fn find(bytes: &[u8], salt: u64) -> Option<usize> {
        let places = bytes.windows(FRAME_MAGIC.len()).enumerate();
        let mut places = places.filter(|(_, window)| window == FRAME_MAGIC).map(|(at, _)| at);
        places.find(|at| FrameHead::read(&bytes[*at..], salt).is_some())
    }
}

/// The checksum of a body.
pub(crate) fn body_sum(body: &[u8], salt: u64) -> u64 {
    xxh3_64_with_seed(body, salt)
}

#[cfg(test)]
mod tests {
    use super::{FRAME_HEAD_BYTES, FrameHead, SegmentName, segment_head, segment_version};

    #[test]
    fn names_and_heads_come_back() {
        let name = SegmentName { sequence: 3, first: u64::MAX, salt: 0xabc };
        assert_eq!(SegmentName::parse(&name.show()), Some(name));
        for other in ["records-1-2.log", "records-1-2-3-4.log", "lock", "records-x-2-3.log"] {
            assert_eq!(SegmentName::parse(other), None, "{other}");
        }
        assert_eq!(segment_version(&segment_head()), Some(1));
    }

    #[test]
    fn a_head_is_found_behind_noise_and_only_with_its_salt() {
        let head = FrameHead {
            body_bytes: 5,
            raw_bytes: 9,
            first: 7,
            records: 2,
            first_block: 1,
            blocks: 4,
            body_sum: 8,
        };
        let mut bytes = b"noise UFr1 noise".to_vec();
        let at = bytes.len();
        head.write(11, &mut bytes);
        assert_eq!(bytes.len(), at + FRAME_HEAD_BYTES);
        assert_eq!(FrameHead::find(&bytes, 11), Some(at));
        assert_eq!(FrameHead::read(&bytes[at..], 11), Some(head));
        assert_eq!(FrameHead::find(&bytes, 12), None);
    }
}
