//! The next byte of a kind, which in JSON is mostly a few bytes away: a word of eight is looked at at once, and only what is not among the
//! first of them is left to a search that is made for long ways.

use memchr::{memchr, memchr2};

/// Bytes that are looked at by the word.
const NEAR_BYTES: usize = 24;
const WORD_BYTES: usize = 8;

/// The next quote or backslash.
pub(super) fn quote_or_backslash(bytes: &[u8]) -> Option<usize> {
    near(bytes, |word| holds(word, b'"') | holds(word, b'\\'))
        .or_else(|| far(bytes, |rest| memchr2(b'"', b'\\', rest)))
}

/// The next backslash.
pub(super) fn backslash(bytes: &[u8]) -> Option<usize> {
    near(bytes, |word| holds(word, b'\\')).or_else(|| far(bytes, |rest| memchr(b'\\', rest)))
}

fn near(bytes: &[u8], find: impl Fn(u64) -> u64) -> Option<usize> {
    let near = bytes.get(..NEAR_BYTES)?;
    let words = near.chunks_exact(WORD_BYTES).map(|word| word.try_into().map_or(0, u64::from_le_bytes));
    let (n, found) = words.map(find).enumerate().find(|(_, found)| *found != 0)?;
    Some(n * WORD_BYTES + found.trailing_zeros() as usize / 8)
}

fn far(bytes: &[u8], find: impl Fn(&[u8]) -> Option<usize>) -> Option<usize> {
    match bytes.get(NEAR_BYTES..) {
        Some(rest) => find(rest).map(|at| NEAR_BYTES + at),
        None => find(bytes),
    }
}

/// The lowest bit set is the top one of the first byte that equals this one; those above it may be wrong.
fn holds(word: u64, byte: u8) -> u64 {
    const ONES: u64 = u64::from_le_bytes([1; WORD_BYTES]);
    const TOPS: u64 = u64::from_le_bytes([0x80; WORD_BYTES]);
    let differs = word ^ (ONES * u64::from(byte));
    differs.wrapping_sub(ONES) & !differs & TOPS
}

#[cfg(test)]
mod tests {
    use super::{backslash, quote_or_backslash};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_is_the_first_there_is(bytes in proptest::collection::vec(prop_oneof![
            8 => any::<u8>(), 8 => Just(b'a'), 1 => Just(b'"'), 1 => Just(b'\\'), 1 => Just(b'!'), 1 => Just(b']'),
        ], 0..70)) {
            let first = |wanted: &[u8]| bytes.iter().position(|byte| wanted.contains(byte));
            prop_assert_eq!(quote_or_backslash(&bytes), first(b"\"\\"));
            prop_assert_eq!(backslash(&bytes), first(b"\\"));
        }
    }
}
