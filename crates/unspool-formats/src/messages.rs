//! Cuts a stream of protobuf into pieces, wherever the chunks were cut: the fields of one message, or messages with their
//! lengths before them (four bytes, the highest first).
//!
//! Bytes that are neither are one piece to the end of the stream.

use crate::lines::{Line, MAX_RECORD_BYTES};
use unspool_model::Id;
use xxhash_rust::xxh3::{Xxh3, xxh3_128};

/// Holds the unfinished piece between chunks.
pub(crate) struct MessageSplitter {
    limit: u64,
    carry: Vec<u8>,
    /// Offset of the first byte of the piece in progress.
    offset: u64,
    /// What is known of a piece that is too long to hold: its hash, and its length so far and in all.
    oversized: Option<(Box<Xxh3>, u64, u64)>,
}

/// How long the piece at hand is.
enum Length {
    Known(u64),
    /// More bytes are needed to tell.
    Unknown,
    /// It has no end but the stream's.
    Endless,
}

impl Default for MessageSplitter {
    fn default() -> Self {
        MessageSplitter::with_limit(MAX_RECORD_BYTES)
    }
}

impl MessageSplitter {
    /// A splitter with another limit.
    pub(crate) fn with_limit(max_record_bytes: usize) -> MessageSplitter {
        MessageSplitter { limit: max_record_bytes as u64, carry: Vec::new(), offset: 0, oversized: None }
    }

    /// Takes the next chunk and hands out every piece that ends in it.
    pub(crate) fn push(&mut self, chunk: &[u8], mut piece: impl FnMut(Line<'_>)) {
        let mut rest = self.pass_oversized(chunk, &mut piece);
        let mut held = std::mem::take(&mut self.carry);
        if !held.is_empty() {
            rest = complete(&mut held, rest);
            let done = self.pieces(&held, &mut piece);
            if done < held.len() {
                held.drain(..done);
                self.carry = held;
                return;
            }
        }
        let done = self.pieces(rest, &mut piece);
        self.carry = rest[done..].to_vec();
    }

    /// Hands out every piece that ends in these bytes; gives how many bytes they are.
    fn pieces(&mut self, whole: &[u8], piece: &mut impl FnMut(Line<'_>)) -> usize {
        let mut at = 0;
        loop {
            let left = &whole[at..];
            if left.is_empty() {
                return at;
            }
            let len = match length(left) {
                Length::Known(len) => len,
                Length::Unknown => return at,
                Length::Endless => u64::MAX,
            };
            // Where the chunks were cut must not decide what is too long.
            if len > self.limit && left.len() as u64 > self.limit {
                self.oversized = Some((Box::new(Xxh3::new()), 0, len));
                at = whole.len() - self.pass_oversized(left, piece).len();
                continue;
            }
            let Some(bytes) = usize::try_from(len).ok().and_then(|len| left.get(..len)) else {
                return at;
            };
            piece(Line { offset: self.offset, len, bytes, terminated: true, too_long: None });
            self.offset += len;
            at += bytes.len();
        }
    }

    /// Hands out what is left when the stream has ended.
    pub(crate) fn finish(&mut self, mut piece: impl FnMut(Line<'_>)) {
        if let Some((hash, len, _)) = self.oversized.take() {
            let too_long = Some(Id::from_u128(hash.digest128()));
            piece(Line { offset: self.offset, len, bytes: &[], terminated: false, too_long });
        } else if !self.carry.is_empty() {
            let bytes = std::mem::take(&mut self.carry);
            let len = bytes.len() as u64;
            let too_long = (len > self.limit).then(|| Id::from_u128(xxh3_128(&bytes)));
            let held: &[u8] = if too_long.is_some() { &[] } else { &bytes };
            piece(Line { offset: self.offset, len, bytes: held, terminated: false, too_long });
        }
    }

    /// Passes over a piece that is too long to hold; gives what follows it.
    fn pass_oversized<'c>(&mut self, chunk: &'c [u8], piece: &mut impl FnMut(Line<'_>)) -> &'c [u8] {
        let Some((hash, seen, len)) = &mut self.oversized else { return chunk };
        let missing = usize::try_from(*len - *seen).unwrap_or(usize::MAX).min(chunk.len());
        let (own, rest) = chunk.split_at(missing);
        hash.update(own);
        *seen += own.len() as u64;
        if seen == len {
            let (too_long, len) = (Some(Id::from_u128(hash.digest128())), *len);
            self.oversized = None;
            piece(Line { offset: self.offset, len, bytes: &[], terminated: true, too_long });
            self.offset += len;
        }
        rest
    }
}

/// Adds to a piece what it lacks, as far as it is there, and nothing of the next one; gives what follows.
fn complete<'c>(held: &mut Vec<u8>, mut rest: &'c [u8]) -> &'c [u8] {
    while !rest.is_empty() {
        let missing = match length(held) {
            Length::Known(len) => len.saturating_sub(held.len() as u64),
            Length::Unknown => 1,
            Length::Endless => u64::MAX,
        };
        if missing == 0 {
            break;
        }
        let (own, after) = rest.split_at(usize::try_from(missing).unwrap_or(usize::MAX).min(rest.len()));
        held.extend_from_slice(own);
        rest = after;
    }
    rest
}

fn length(bytes: &[u8]) -> Length {
    // No field has the number 0, so that a small first byte begins a length.
    if bytes.first().is_some_and(|byte| *byte < 8) {
        return match bytes.first_chunk::<4>() {
            Some(head) => Length::Known(4 + u64::from(u32::from_be_bytes(*head))),
            None => Length::Unknown,
        };
    }
    let Some((tag, after_tag)) = varint(bytes) else { return unfinished(bytes) };
    let known = |len: usize| Length::Known(len as u64);
    match tag & 7 {
        0 => match varint(&bytes[after_tag..]) {
            Some((_, len)) => known(after_tag + len),
            None => unfinished(&bytes[after_tag..]),
        },
        1 => known(after_tag + 8),
        2 => match varint(&bytes[after_tag..]) {
            Some((len, header)) => Length::Known((after_tag + header) as u64 + len.min(u64::MAX >> 1)),
            None => unfinished(&bytes[after_tag..]),
        },
        5 => known(after_tag + 4),
        _ => Length::Endless,
    }
}

/// A number that has not ended yet may go on; one of more than ten bytes is none.
fn unfinished(bytes: &[u8]) -> Length {
    if bytes.len() < 10 { Length::Unknown } else { Length::Endless }
}

fn varint(bytes: &[u8]) -> Option<(u64, usize)> {
    let end = bytes.iter().take(10).position(|byte| byte & 0x80 == 0)?;
    let value = bytes[..=end].iter().rev().fold(0_u64, |sum, byte| (sum << 7) | u64::from(byte & 0x7F));
    Some((value, end + 1))
}

#[cfg(test)]
mod tests {
    use super::MessageSplitter;
    use crate::lines::Line;
    use proptest::prelude::*;

    fn pieces(bytes: &[u8], chunk: usize) -> Vec<(u64, Vec<u8>, bool)> {
        let mut splitter = MessageSplitter::with_limit(usize::MAX);
        let mut found = Vec::new();
        for part in bytes.chunks(chunk) {
            splitter.push(part, |line| found.push((line.offset, line.bytes.to_vec(), line.terminated)));
        }
        splitter.finish(|line| found.push((line.offset, line.bytes.to_vec(), line.terminated)));
        found
    }

    #[test]
    fn fields_framed_messages_and_a_torn_end() {
        let found = pieces(b"\x0a\x02hi\x0a\x00\0\0\0\x03\x0a\x01x\x0a\x05ab", 3);
        let bytes: Vec<&[u8]> = found.iter().map(|(_, bytes, _)| bytes.as_slice()).collect();
        assert_eq!(bytes, [&b"\x0a\x02hi"[..], b"\x0a\x00", b"\0\0\0\x03\x0a\x01x", b"\x0a\x05ab"]);
        assert_eq!(found.last().map(|(offset, _, whole)| (*offset, *whole)), Some((13, false)));
    }

    #[test]
    fn an_end_that_is_too_long_and_torn_says_so() {
        let mut splitter = MessageSplitter::with_limit(1);
        let mut found = Vec::new();
        splitter.push(&[218, 128, 128, 128, 128, 0, 128, 128], |line| found.push(line.too_long.is_some()));
        splitter.finish(|line| found.push(line.too_long.is_some()));
        assert_eq!(found, [true]);
    }

    proptest! {
        #[test]
        fn no_byte_is_lost_wherever_chunks_are_cut(bytes in prop::collection::vec(any::<u8>(), 0..200), chunk in 1_usize..9) {
            let whole = pieces(&bytes, usize::MAX);
            let joined: Vec<u8> = whole.iter().flat_map(|(_, bytes, _)| bytes.clone()).collect();
            prop_assert_eq!(joined, bytes.clone());
            prop_assert_eq!(pieces(&bytes, chunk), whole);
        }

        #[test]
        fn what_is_too_long_does_not_hang_on_chunks(
            bytes in prop::collection::vec(any::<u8>(), 0..200),
            chunk in 1_usize..9,
            limit in 1_usize..40,
        ) {
            let cut = |chunk: usize| {
                let mut splitter = MessageSplitter::with_limit(limit);
                let mut found = Vec::new();
                let mut note = |line: Line<'_>| found.push((line.offset, line.len, line.bytes.to_vec(), line.too_long));
                bytes.chunks(chunk).for_each(|part| splitter.push(part, &mut note));
                splitter.finish(&mut note);
                found
            };
            let whole = cut(usize::MAX);
            let covered: u64 = whole.iter().map(|(_, len, ..)| len).sum();
            prop_assert_eq!(covered, bytes.len() as u64);
            prop_assert!(whole.iter().all(|(_, len, _, too_long)| too_long.is_some() == (*len > limit as u64)));
            prop_assert_eq!(cut(chunk), whole);
        }
    }
}
