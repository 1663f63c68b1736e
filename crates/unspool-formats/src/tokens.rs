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

    /// Five buckets that do not overlap. Input that is smaller than what it should include leaves it out for certain.
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
        Some(Usage {
            input: uncached,
            cache_read,
            cache_write,
            cache_write_long: self.cache_write_long.unwrap_or(0).min(cache_write),
            // Thinking is part of the output wherever it fits in.
            output: output.checked_sub(reasoning).unwrap_or(output),
            reasoning,
        })
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
}
