//! A set of steps, one bit each.
//!
//! In: tests of single steps. Out: sets that can be joined, cut and counted. Never here: what a step is.

/// Some of the steps of a flow.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Selection {
    words: Vec<u64>,
    steps: usize,
}

const BITS: usize = u64::BITS as usize;

impl Selection {
    /// None of so many steps.
    pub fn none(steps: usize) -> Selection {
        Selection { words: vec![0; steps.div_ceil(BITS)], steps }
    }

    /// All of so many steps.
    pub fn all(steps: usize) -> Selection {
        let mut all = Selection { words: vec![u64::MAX; steps.div_ceil(BITS)], steps };
        if let Some(last) = all.words.last_mut()
            && steps % BITS > 0
        {
            *last = (1 << (steps % BITS)) - 1;
        }
        all
    }

    /// How many steps there are to choose from.
    pub fn steps(&self) -> usize {
        self.steps
    }

    /// Whether a step is in it.
    pub fn has(&self, step: usize) -> bool {
        self.words.get(step / BITS).is_some_and(|word| word & (1 << (step % BITS)) != 0)
    }

    /// Puts a step in; one that does not exist is left out.
    pub fn add(&mut self, step: usize) {
        if step < self.steps {
            self.words[step / BITS] |= 1 << (step % BITS);
        }
    }

    /// How many steps are in it.
    pub fn count(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Whether no step is in it.
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|word| *word == 0)
    }

    /// The steps in it, in order.
    pub fn iter(&self) -> impl Iterator<Item = usize> {
        self.words.iter().enumerate().flat_map(|(n, word)| Bits(*word).map(move |bit| n * BITS + bit))
    }

    /// Those of its steps that pass a test.
    #[must_use]
    pub fn filter(&self, mut test: impl FnMut(usize) -> bool) -> Selection {
        let mut kept = Selection::none(self.steps);
        for (n, word) in self.words.iter().enumerate() {
            let mut passed = 0;
            for bit in Bits(*word) {
                passed |= u64::from(test(n * BITS + bit)) << bit;
            }
            kept.words[n] = passed;
        }
        kept
    }

    /// The steps that are in both.
    #[must_use]
    pub fn and(&self, other: &Selection) -> Selection {
        self.zip(other, |a, b| a & b)
    }

    /// The steps that are in one of the two.
    #[must_use]
    pub fn or(&self, other: &Selection) -> Selection {
        self.zip(other, |a, b| a | b)
    }

    /// The steps that are not in the other.
    #[must_use]
    pub fn without(&self, other: &Selection) -> Selection {
        self.zip(other, |a, b| a & !b)
    }

    fn zip(&self, other: &Selection, join: impl Fn(u64, u64) -> u64) -> Selection {
        let words = self.words.iter().zip(other.words.iter().chain(std::iter::repeat(&0)));
        Selection { words: words.map(|(a, b)| join(*a, *b)).collect(), steps: self.steps }
    }
}

/// The positions of the bits that are set.
struct Bits(u64);

impl Iterator for Bits {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let bit = self.0.trailing_zeros();
        self.0 &= self.0.wrapping_sub(1);
        (bit < u64::BITS).then_some(bit as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::Selection;

    #[test]
    fn sets_are_what_their_steps_are() {
        for steps in [0, 1, 63, 64, 65, 200] {
            let all = Selection::all(steps);
            assert_eq!(all.count(), steps);
            assert_eq!(all.iter().collect::<Vec<_>>(), (0..steps).collect::<Vec<_>>());
            let even = all.filter(|n| n % 2 == 0);
            let odd = all.without(&even);
            assert!(odd.iter().all(|n| n % 2 == 1) && odd.and(&even).is_empty());
            assert_eq!(odd.or(&even), all);
            assert!(!all.has(steps));
        }
    }
}
