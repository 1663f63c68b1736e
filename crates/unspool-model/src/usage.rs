//! Tokens in five buckets that never overlap.

/// Tokens of one model call, or a sum of them. The five buckets are disjoint: their sum is everything that was
/// processed.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Usage {
    /// Input that was neither read from nor written to a cache.
    pub input: u64,
    /// Input served from a prompt cache.
    pub cache_read: u64,
    /// Input written to a prompt cache.
    pub cache_write: u64,
    /// The part of `cache_write` kept for an hour, which costs more. A breakdown, not a sixth bucket.
    pub cache_write_long: u64,
    /// Visible output.
    pub output: u64,
    /// Output spent on thinking.
    pub reasoning: u64,
}

impl Usage {
    /// From counts of an API whose input includes what was cached and whose output includes thinking.
    pub fn of_inclusive(input: u64, cache_read: u64, cache_write: u64, output: u64, reasoning: u64) -> Usage {
        Usage {
            input: input.saturating_sub(cache_read + cache_write),
            cache_read,
            cache_write,
            cache_write_long: 0,
            output: output.saturating_sub(reasoning),
            reasoning,
        }
    }

    /// The five buckets by name.
    pub fn buckets(&self) -> [(&'static str, u64); 5] {
        [
            ("input", self.input),
            ("cache_read", self.cache_read),
            ("cache_write", self.cache_write),
            ("output", self.output),
            ("reasoning", self.reasoning),
        ]
    }

    /// Everything processed.
    pub fn total(&self) -> u64 {
        self.input + self.cache_read + self.cache_write + self.output + self.reasoning
    }

    /// Whether nothing was processed.
    pub fn is_zero(&self) -> bool {
        self.total() == 0
    }

    /// Adds another call's tokens.
    pub fn add(&mut self, other: &Usage) {
        self.input += other.input;
        self.cache_read += other.cache_read;
        self.cache_write += other.cache_write;
        self.cache_write_long += other.cache_write_long;
        self.output += other.output;
        self.reasoning += other.reasoning;
    }

    /// Whether another sort of witness says the same. A source that does not tell thinking from visible output, or does
    /// not break down what it wrote to the cache, agrees with one that does.
    pub fn agrees_with(&self, other: &Usage) -> bool {
        let sums = |usage: &Usage| {
            (usage.input, usage.cache_read, usage.cache_write, usage.output + usage.reasoning)
        };
        sums(self) == sums(other)
    }

    /// Merges another witness of the *same* call: a stream's early lines hold placeholders, so the larger value
    /// of each field is the final one. Visible output and thinking are compared by their sum, because a line
    /// without the thinking breakdown reports both as output.
    pub fn merge_witness(&mut self, other: &Usage) {
        let all_output = (self.output + self.reasoning).max(other.output + other.reasoning);
        self.reasoning = self.reasoning.max(other.reasoning);
        self.output = all_output.saturating_sub(self.reasoning);
        self.input = self.input.max(other.input);
        self.cache_read = self.cache_read.max(other.cache_read);
        self.cache_write = self.cache_write.max(other.cache_write);
        self.cache_write_long = self.cache_write_long.max(other.cache_write_long);
    }
}

/// Tokens of one call as they lie in a batch: half the size. A call with more than four billion tokens of a sort counts
/// as four billion.
#[derive(Clone, Copy, Debug)]
pub struct PackedUsage([u32; 6]);

impl From<Usage> for PackedUsage {
    fn from(usage: Usage) -> PackedUsage {
        let parts = [
            usage.input,
            usage.cache_read,
            usage.cache_write,
            usage.cache_write_long,
            usage.output,
            usage.reasoning,
        ];
        PackedUsage(parts.map(|n| u32::try_from(n).unwrap_or(u32::MAX)))
    }
}

impl From<PackedUsage> for Usage {
    fn from(packed: PackedUsage) -> Usage {
        let [input, cache_read, cache_write, cache_write_long, output, reasoning] = packed.0.map(u64::from);
        Usage { input, cache_read, cache_write, cache_write_long, output, reasoning }
    }
}

#[cfg(test)]
mod tests {
    use super::Usage;

    #[test]
    fn witnesses_of_one_call_take_the_maximum_and_stay_disjoint() {
        let mut first = Usage { input: 3, output: 1, ..Usage::default() };
        first.merge_witness(&Usage { input: 3, output: 242, reasoning: 127, ..Usage::default() });
        first.merge_witness(&Usage { input: 3, output: 369, ..Usage::default() });
        assert_eq!((first.output, first.reasoning), (242, 127));
    }
}
