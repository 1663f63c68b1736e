//! Tokens as sources count them, and the buckets they fall into.

use unspool_model::Usage;

/// Tokens as a source counts them.
#[derive(Clone, Copy, Default, Debug, PartialEq)]
pub(crate) struct Tokens {
    pub(crate) input: Option<u64>,
    pub(crate) output: Option<u64>,
    pub(crate) total: Option<u64>,
    pub(crate) cache_read: Option<u64>,
    pub(crate) cache_write: Option<u64>,
    pub(crate) cache_write_long: Option<u64>,
    pub(crate) reasoning: Option<u64>,
    /// `input` leaves cached tokens out.
    pub(crate) input_is_uncached: bool,
}

impl Tokens {
    pub(crate) fn is_empty(&self) -> bool {
        self.input.is_none() && self.output.is_none() && self.total.is_none()
    }

    /// Five buckets that do not overlap. Input that is smaller than what it should include leaves it out for certain, and so does
    /// output when only with the thinking beside it the sum comes out.
    pub(crate) fn usage(&self) -> Option<Usage> {
        if self.is_empty() {
            return None;
        }
        let output = self.output.unwrap_or(0);
        let input = self.input.unwrap_or_else(|| self.total.unwrap_or(0).saturating_sub(output));
        let (cache_read, cache_write) = (self.cache_read.unwrap_or(0), self.cache_write.unwrap_or(0));
        let cached = cache_read.saturating_add(cache_write);
        let uncached =
            if self.input_is_uncached { input } else { input.checked_sub(cached).unwrap_or(input) };
        let reasoning = self.reasoning.unwrap_or(0);
        let without_reasoning = uncached.saturating_add(cached).saturating_add(output);
        let is_beside = self.total == Some(without_reasoning.saturating_add(reasoning));
        Some(Usage {
            input: uncached,
            cache_read,
            cache_write,
            cache_write_long: self.cache_write_long.unwrap_or(0).min(cache_write),
            // Thinking is part of the output wherever it fits in.
            output: output.checked_sub(reasoning).filter(|_| !is_beside).unwrap_or(output),
            reasoning,
        })
    }

    /// Tokens of the stated sum that no part of it tells of.
    pub(crate) fn unsplit(&self) -> u64 {
        let told = self.usage().map_or(0, |usage| usage.total());
        self.total.map_or(0, |total| total.saturating_sub(told))
    }
}

#[cfg(test)]
mod tests {
    use super::Tokens;
    use unspool_model::Usage;

    #[test]
    fn buckets_never_overlap() {
        let inclusive =
            Tokens { input: Some(100), cache_read: Some(80), output: Some(9), ..Tokens::default() };
        let usage = Usage { input: 20, cache_read: 80, output: 9, ..Usage::default() };
        assert_eq!(inclusive.usage(), Some(usage));
        let exclusive = Tokens { input_is_uncached: true, ..inclusive };
        assert_eq!(exclusive.usage().map(|usage| usage.input), Some(100));
        let impossible = Tokens { input: Some(10), ..inclusive };
        assert_eq!(impossible.usage().map(|usage| usage.input), Some(10), "10 cannot include 80");
        let thinking = Tokens { output: Some(9), reasoning: Some(4), ..Tokens::default() };
        assert_eq!(thinking.usage().map(|usage| (usage.output, usage.reasoning)), Some((5, 4)));
        assert_eq!(Tokens::default().usage(), None);
    }

    #[test]
    fn what_a_sum_says_beyond_its_parts_is_not_lost() {
        let parts = Tokens { input: Some(5), output: Some(9), total: Some(20), ..Tokens::default() };
        assert_eq!((parts.unsplit(), parts.usage().map(|usage| usage.total())), (6, Some(14)));
        let beside = Tokens { reasoning: Some(6), ..parts };
        assert_eq!(beside.unsplit(), 0);
        assert_eq!(beside.usage().map(|usage| (usage.output, usage.reasoning)), Some((9, 6)));
        let inside = Tokens { total: Some(14), ..beside };
        assert_eq!(inside.usage().map(|usage| (usage.output, usage.reasoning)), Some((3, 6)));
        let cached = Tokens { input: Some(5), cache_read: Some(9), total: Some(14), ..Tokens::default() };
        assert_eq!(Tokens { input_is_uncached: true, ..cached }.unsplit(), 0);
    }
}
