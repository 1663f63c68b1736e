//! Records as lists of blocks. What occurs again in a segment is stored once.
//!
//! In: bytes of any format. Out: numbers of blocks, and the bytes again. Never here: what the bytes mean.
//!
//! Bytes are cut by content into blocks, and each block is known by its hash. The list of a record's blocks is long when the record
//! repeats a long history, so it is cut by content into blocks, too, and the list of those again, until it is short: a request
//! that repeats a thousand messages and adds two costs the blocks of the two and a few lists.

use crate::bytes::put_number;
use crate::cut;
use rustc_hash::FxHashMap;
use siphasher::sip128::SipHasher13;
use std::hash::{BuildHasher, RandomState};

/// A list of up to that many numbers is short.
const SHORT_LIST: usize = 12;

/// A list of numbers is cut behind about every sixteenth, and never into pieces smaller or larger than these.
const MIN_RUN: usize = 4;
const MAX_RUN: usize = 64;

/// A hash (`SipHash`) with a key that nobody knows. A plain checksum would not do: whoever sends records could make two that share it, and
/// have one stand in for the other. It never leaves the process, so it need not hold against somebody who knows the key.
type BlockHash = u128;

/// Which blocks a segment holds so far.
pub(crate) struct BlockIndex {
    /// How blocks are hashed, and how lists of them are.
    hashers: [SipHasher13; 2],
    known: FxHashMap<BlockHash, u32>,
    /// Bytes of all blocks.
    pub(crate) bytes: u64,
}

/// The blocks of a frame that is being made.
#[derive(Default)]
pub(crate) struct NewBlocks {
    pub(crate) directory: Vec<u8>,
    pub(crate) contents: Vec<u8>,
    pub(crate) count: u32,
}

/// A record as a list of blocks.
pub(crate) struct Listed {
    /// 1 when the numbers are those of its pieces, 2 when those of lists of pieces, and so on.
    pub(crate) depth: u32,
    pub(crate) numbers: Vec<u32>,
}

impl Default for BlockIndex {
    fn default() -> BlockIndex {
        let chance = RandomState::new();
        let hashers =
            [0_u64, 2].map(|n| SipHasher13::new_with_keys(chance.hash_one(n), chance.hash_one(n + 1)));
        BlockIndex { hashers, known: FxHashMap::default(), bytes: 0 }
    }
}

impl BlockIndex {
    /// How many blocks the segment holds.
    pub(crate) fn count(&self) -> u32 {
        u32::try_from(self.known.len()).unwrap_or(u32::MAX)
    }

    /// Lists the blocks of some bytes; those not known yet go into `new`.
    pub(crate) fn list(&mut self, bytes: &[u8], new: &mut NewBlocks) -> Listed {
        let mut numbers: Vec<u32> = cut::pieces(bytes).map(|piece| self.number(piece, false, new)).collect();
        let mut depth = 1;
        let mut text = Vec::new();
        while numbers.len() > SHORT_LIST {
            let runs = runs(&numbers).map(|run| {
                text.clear();
                for number in run {
                    put_number(&mut text, u64::from(*number));
                }
                self.number(&text, true, new)
            });
            numbers = runs.collect();
            depth += 1;
        }
        Listed { depth, numbers }
    }

    fn number(&mut self, content: &[u8], is_list: bool, new: &mut NewBlocks) -> u32 {
        let hash = self.hashers[usize::from(is_list)].hash(content).as_u128();
        let next = self.count();
        *self.known.entry(hash).or_insert_with(|| {
            put_number(&mut new.directory, (content.len() as u64) << 1 | u64::from(is_list));
            new.contents.extend_from_slice(content);
            new.count += 1;
            self.bytes += content.len() as u64;
            next
        })
    }
}

/// Cuts a list of numbers where the numbers say so.
fn runs(numbers: &[u32]) -> impl Iterator<Item = &[u32]> {
    let mut rest = numbers;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let ends_run = |(n, number): (usize, &u32)| {
            n + 1 >= MIN_RUN && number.wrapping_mul(0x9e37_79b9) >> 28 == 0 || n + 1 == MAX_RUN
        };
        let len = rest.iter().enumerate().position(ends_run).map_or(rest.len(), |at| at + 1);
        let (run, behind) = rest.split_at(len);
        rest = behind;
        Some(run)
    })
}

#[cfg(test)]
mod tests {
    use super::{BlockIndex, NewBlocks, SHORT_LIST, runs};

    #[test]
    fn runs_make_up_the_list() {
        let numbers: Vec<u32> = (0..10_000).map(|n: u32| n.wrapping_mul(7) % 911).collect();
        assert_eq!(runs(&numbers).flatten().copied().collect::<Vec<_>>(), numbers);
        assert!(runs(&numbers).count() * 4 <= numbers.len() + 4);
    }

    #[test]
    fn repeating_a_history_with_a_little_more_adds_little() {
        let mut index = BlockIndex::default();
        let mut history: Vec<u8> = Vec::new();
        let mut added = Vec::new();
        for turn in 0..200_u64 {
            for n in 0..200_u64 {
                history.extend_from_slice(
                    (turn * 1000 + n * n).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_string().as_bytes(),
                );
            }
            let mut new = NewBlocks::default();
            let listed = index.list(&history, &mut new);
            assert!(listed.numbers.len() <= SHORT_LIST);
            added.push(new.contents.len());
        }
        let (early, late): (usize, usize) = (added[20..40].iter().sum(), added[180..].iter().sum());
        assert!(late < early * 3 / 2, "{early} bytes for early turns, {late} for late ones");
    }
}
