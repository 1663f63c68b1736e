//! Cuts a stream of chunks into lines, wherever the chunks were cut.

use memchr::memchr;
use unspool_model::Id;
use xxhash_rust::xxh3::Xxh3;

/// Lines longer than this are kept by their place only. Named `max_record_bytes` in notices.
pub const MAX_RECORD_BYTES: usize = 256 << 20;

/// One line of a stream, without its `\n`.
#[derive(Debug)]
pub struct Line<'a> {
    /// Offset of its first byte in the stream.
    pub offset: u64,
    /// Its length in bytes.
    pub len: u64,
    /// Its bytes; empty when it is too long.
    pub bytes: &'a [u8],
    /// Whether a line end followed.
    pub terminated: bool,
    /// The content's hash when it is too long to hold.
    pub too_long: Option<Id>,
}

/// Holds the unfinished line between chunks.
pub struct LineSplitter {
    carry: Vec<u8>,
    /// Offset of the first byte of the line in progress.
    offset: u64,
    /// Hash and length of a line that has outgrown the limit.
    oversized: Option<(Box<Xxh3>, u64)>,
    max_record_bytes: usize,
}

impl Default for LineSplitter {
    fn default() -> Self {
        LineSplitter::with_limit(MAX_RECORD_BYTES)
    }
}

impl LineSplitter {
    /// A splitter with another limit.
    pub fn with_limit(max_record_bytes: usize) -> LineSplitter {
        LineSplitter { carry: Vec::new(), offset: 0, oversized: None, max_record_bytes }
    }

    /// Takes the next chunk and hands out every line that ends in it.
    pub fn push(&mut self, chunk: &[u8], mut line: impl FnMut(Line<'_>)) {
        let mut rest = chunk;
        while let Some(end) = memchr(b'\n', rest) {
            let (head, tail) = (&rest[..end], &rest[end + 1..]);
            rest = tail;
            if self.carry.is_empty() && self.oversized.is_none() && head.len() <= self.max_record_bytes {
                let len = head.len() as u64;
                line(Line { offset: self.offset, len, bytes: head, terminated: true, too_long: None });
                self.offset += len + 1;
            } else {
                self.hold(head);
                self.release(true, &mut line);
            }
        }
        if !rest.is_empty() {
            self.hold(rest);
        }
    }

    /// Hands out what is left when the stream has ended.
    pub fn finish(&mut self, mut line: impl FnMut(Line<'_>)) {
        if !self.carry.is_empty() || self.oversized.is_some() {
            self.release(false, &mut line);
        }
    }

    fn hold(&mut self, bytes: &[u8]) {
        if let Some((hash, len)) = &mut self.oversized {
            hash.update(bytes);
            *len += bytes.len() as u64;
        } else if self.carry.len() + bytes.len() > self.max_record_bytes {
            let mut hash = Box::new(Xxh3::new());
            hash.update(&self.carry);
            hash.update(bytes);
            self.oversized = Some((hash, (self.carry.len() + bytes.len()) as u64));
            self.carry = Vec::new();
        } else {
            self.carry.extend_from_slice(bytes);
        }
    }

    fn release(&mut self, terminated: bool, line: &mut impl FnMut(Line<'_>)) {
        let offset = self.offset;
        let len = if let Some((hash, len)) = self.oversized.take() {
            let too_long = Some(Id::from_u128(hash.digest128()));
            line(Line { offset, len, bytes: &[], terminated, too_long });
            len
        } else {
            let len = self.carry.len() as u64;
            line(Line { offset, len, bytes: &self.carry, terminated, too_long: None });
            len
        };
        self.carry.clear();
        // One huge line must not keep its memory for the rest of a long stream.
        self.carry.shrink_to(1 << 20);
        self.offset = offset + len + u64::from(terminated);
    }
}

#[cfg(test)]
mod tests {
    use super::LineSplitter;
    use proptest::prelude::*;

    type Seen = Vec<(u64, u64, Vec<u8>, bool, bool)>;

    fn lines(bytes: &[u8], chunk: usize, limit: usize) -> Seen {
        let mut splitter = LineSplitter::with_limit(limit);
        let mut seen = Vec::new();
        let mut take = |line: super::Line<'_>| {
            seen.push((line.offset, line.len, line.bytes.to_vec(), line.terminated, line.too_long.is_some()));
        };
        for piece in bytes.chunks(chunk.max(1)) {
            splitter.push(piece, &mut take);
        }
        splitter.finish(&mut take);
        seen
    }

    proptest! {
        #[test]
        fn chunking_changes_nothing(
            bytes in prop::collection::vec(prop_oneof![Just(b'\n'), Just(b'a'), any::<u8>()], 0..200),
            chunk in 1_usize..50,
            limit in 1_usize..30,
        ) {
            let whole = lines(&bytes, usize::MAX, limit);
            prop_assert_eq!(&lines(&bytes, chunk, limit), &whole);
            let mut expected_offset = 0;
            for (offset, len, held, terminated, too_long) in &whole {
                prop_assert_eq!(*offset, expected_offset);
                expected_offset += len + u64::from(*terminated);
                let start = usize::try_from(*offset).unwrap();
                let end = start + usize::try_from(*len).unwrap();
                if !too_long {
                    prop_assert_eq!(&bytes[start..end], held.as_slice());
                }
            }
            prop_assert_eq!(expected_offset, bytes.len() as u64);
        }
    }
}
