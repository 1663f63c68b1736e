//! Which words of a text follow each other, as a filter.
//!
//! In: the words of a text, one after the other. Out: a few bits for each pair of neighbours, so that most texts without a phrase are known without
//! reading them. A filter may take a pair for one that is there; it never misses one. What it says is kept, so no number here may change without
//! another `TEXTS_VERSION`.

/// A word as a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct WordHash(u64);

impl WordHash {
    /// Of a word of at most sixteen bytes: those bytes, the first one lowest, with zeros behind them.
    pub(super) fn of_short(bytes: u128) -> WordHash {
        let [low, high] = halves(bytes);
        WordHash(mixed(low ^ 0x9e37_79b9_7f4a_7c15, high ^ 0xc2b2_ae3d_27d4_eb4f))
    }

    /// Of any word.
    pub(super) fn of(word: &str) -> WordHash {
        let parts = word.as_bytes().chunks(16).map(|part| {
            let mut sixteen = [0; 16];
            sixteen.iter_mut().zip(part).for_each(|(to, from)| *to = *from);
            WordHash::of_short(u128::from_le_bytes(sixteen))
        });
        parts.reduce(|all, part| WordHash(Pair::of(all, part).0)).unwrap_or(WordHash(0))
    }

    pub(super) fn number(self) -> u64 {
        self.0
    }
}

/// Two words that follow each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pair(u64);

impl Pair {
    pub(super) fn of(first: WordHash, second: WordHash) -> Pair {
        Pair(mixed(first.0 ^ 0x1656_67b1_9e37_79f9, second.0 ^ 0x27d4_eb2f_1656_67c5))
    }

    /// Its bits in a filter of so many, which are a power of two and at most `MAX_BITS`.
    fn places(self, bits: usize) -> [usize; 3] {
        [0, 21, 42].map(|shift| usize::try_from((self.0 >> shift) & LARGEST).unwrap_or(0) & (bits - 1))
    }
}

const MIN_BITS: usize = 64;
const MAX_BITS: usize = 1 << 21;
const LARGEST: u64 = (1 << 21) - 1;

/// The pairs of a text that is being read.
#[derive(Default)]
pub(super) struct Pairs {
    /// As many as a power of two, or none.
    bits: Vec<u64>,
    last: Option<WordHash>,
}

impl Pairs {
    /// Makes room for the words of a text of so many bytes, unless there is some.
    pub(super) fn expect(&mut self, text: usize) {
        if self.bits.is_empty() {
            // More than half of them stay free whatever the text says, but for one of letters that are words by themselves.
            let bits = text.saturating_mul(2).clamp(MIN_BITS, MAX_BITS).next_power_of_two();
            self.bits.resize(bits / 64, 0);
        }
    }

    pub(super) fn add(&mut self, word: WordHash) {
        let bits = self.bits.len() * 64;
        if let Some(last) = self.last.replace(word)
            && bits > 0
        {
            for place in Pair::of(last, word).places(bits) {
                self.bits[place / 64] |= 1 << (place % 64);
            }
        }
    }

    /// The filter, as small as it can be with at least half of its bits free; there are no pairs then.
    pub(super) fn take(&mut self) -> PairFilter {
        self.last = None;
        let bits = &mut self.bits;
        while bits.len() > MIN_BITS / 64 {
            let (front, back) = bits.split_at(bits.len() / 2);
            let set: u32 = front.iter().zip(back).map(|(a, b)| (a | b).count_ones()).sum();
            if set as usize > front.len() * 32 {
                break;
            }
            let half = front.len();
            for n in 0..half {
                bits[n] |= bits[half + n];
            }
            bits.truncate(half);
        }
        PairFilter(std::mem::take(bits).into_iter().flat_map(u64::to_le_bytes).collect())
    }
}

/// What is kept of the pairs of a text.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PairFilter(Vec<u8>);

impl PairFilter {
    /// As bytes.
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    /// Whether a text with such a filter may have all of these. What is no filter says nothing.
    pub fn may_have(filter: &[u8], pairs: &[Pair]) -> bool {
        let bits = filter.len() * 8;
        if !(MIN_BITS..=MAX_BITS).contains(&bits) || !bits.is_power_of_two() {
            return true;
        }
        let is_set = |place: usize| filter[place / 8] & (1 << (place % 8)) != 0;
        pairs.iter().all(|pair| pair.places(bits).into_iter().all(is_set))
    }
}

fn halves(number: u128) -> [u64; 2] {
    let (low, high) = (number & u128::from(u64::MAX), number >> 64);
    [low, high].map(|half| u64::try_from(half).unwrap_or(0))
}

/// Every bit of both in every bit of one.
fn mixed(a: u64, b: u64) -> u64 {
    let [low, high] = halves(u128::from(a) * u128::from(b));
    low ^ high
}

#[cfg(test)]
mod tests {
    use super::super::words::{Terms, each_word};
    use super::{Pair, PairFilter, Pairs, WordHash};
    use proptest::prelude::*;

    fn filter(text: &str) -> Vec<u8> {
        let mut pairs = Pairs::default();
        pairs.expect(text.len());
        each_word(text, |word| pairs.add(WordHash::of(word)));
        pairs.take().into_bytes()
    }

    fn numbered(count: usize, apart: usize) -> Vec<String> {
        (0..count).map(|n| format!("word{}", n * apart)).collect()
    }

    #[test]
    fn few_pairs_are_taken_for_what_they_are_not() {
        let filter = filter(&numbered(10_000, 1).join(" "));
        assert!(filter.len() <= 10_000, "{} bytes for 10,000 pairs", filter.len());
        let strange = numbered(10_000, 7);
        let strange: Vec<WordHash> = strange.iter().map(|word| WordHash::of(word)).collect();
        let wrong =
            strange.windows(2).filter(|two| PairFilter::may_have(&filter, &[Pair::of(two[0], two[1])]));
        let wrong = wrong.count();
        assert!(wrong < 1_250, "{wrong} of 10,000");
        let backwards = numbered(10_000, 1).into_iter().rev().collect::<Vec<_>>();
        let backwards: Vec<WordHash> = backwards.iter().map(|word| WordHash::of(word)).collect();
        let wrong =
            backwards.windows(2).filter(|two| PairFilter::may_have(&filter, &[Pair::of(two[0], two[1])]));
        assert!(wrong.count() < 1_250, "order counts");
    }

    #[test]
    fn what_is_no_filter_says_nothing() {
        let pair = Pair::of(WordHash::of("a"), WordHash::of("b"));
        for bytes in [0, 1, 7, 9, 24, 1 << 19] {
            assert!(PairFilter::may_have(&vec![0; bytes], &[pair]), "{bytes}");
        }
        assert!(!PairFilter::may_have(&[0; 8], &[pair]));
        assert!(PairFilter::may_have(&[0; 8], &[]));
    }

    #[test]
    fn numbers_that_are_kept_stay_what_they_are() {
        let short = u128::from_le_bytes(*b"panicked\0\0\0\0\0\0\0\0");
        assert_eq!(WordHash::of("panicked"), WordHash::of_short(short));
        let pair = Pair::of(WordHash::of("panicked"), WordHash::of("a-word-of-more-than-sixteen-bytes"));
        assert_eq!(pair.places(1 << 16), [30658, 658, 22864]);
    }

    proptest! {
        #[test]
        fn no_phrase_that_stands_in_a_text_is_missed(
            text in "([aAbB日本é.,\n\0 ]|foo|Bar|K|ẞ|a{60,70}){0,60}",
            from in 0_usize..200,
            length in 1_usize..40,
            open in any::<bool>(),
        ) {
            let phrase: String = text.chars().skip(from).take(length).filter(|c| *c != '\0').collect();
            let typed = format!("\"{phrase}\"{}", if open { "*" } else { "" });
            let filter = filter(&text);
            for term in Terms::of(&typed).terms {
                if term.find(&text).is_some() {
                    prop_assert!(PairFilter::may_have(&filter, &term.pairs()), "{:?} in {:?}", typed, text);
                }
            }
        }
    }
}
