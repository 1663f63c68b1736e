//! Tokens as the three APIs report them, in disjoint buckets.

use crate::json::{Json, Kind, Malformed};
use unspool_model::Usage;

/// What a response says about tokens, before it is known which API speaks.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Tokens {
    input: Option<u64>,
    output: Option<u64>,
    cache_read: Option<u64>,
    cache_write: Option<u64>,
    cache_write_short: u64,
    cache_write_long: u64,
    /// The part of the input that came from a cache; the input includes it.
    cached_within: Option<u64>,
    reasoning: u64,
    total: Option<u64>,
}

impl Tokens {
    pub(super) fn read(&mut self, json: &mut Json<'_>) -> Result<(), Malformed> {
        if json.kind()? != Kind::Object {
            return json.skip();
        }
        json.object(|json, key| {
            match key {
                b"input_tokens" | b"prompt_tokens" => self.input = count(json)?.or(self.input),
                b"output_tokens" | b"completion_tokens" => self.output = count(json)?.or(self.output),
                b"cache_read_input_tokens" => self.cache_read = count(json)?.or(self.cache_read),
                b"cache_creation_input_tokens" => self.cache_write = count(json)?.or(self.cache_write),
                b"total_tokens" => self.total = count(json)?.or(self.total),
                b"cache_creation" | b"prompt_tokens_details" | b"input_tokens_details"
                | b"completion_tokens_details" | b"output_tokens_details"
                    if json.kind()? == Kind::Object =>
                {
                    json.object(|json, key| self.detail(json, key))?;
                }
                _ => json.skip()?,
            }
            Ok(())
        })
    }

    fn detail(&mut self, json: &mut Json<'_>, key: &[u8]) -> Result<(), Malformed> {
        match key {
            b"ephemeral_5m_input_tokens" => self.cache_write_short = count(json)?.unwrap_or(0),
            b"ephemeral_1h_input_tokens" => self.cache_write_long = count(json)?.unwrap_or(0),
            b"cached_tokens" => self.cached_within = count(json)?.or(self.cached_within),
            b"reasoning_tokens" | b"thinking_tokens" => self.reasoning = count(json)?.unwrap_or(0),
            _ => json.skip()?,
        }
        Ok(())
    }

    /// Whether anything was said.
    pub(super) fn known(&self) -> bool {
        self.input.is_some() || self.output.is_some()
    }

    /// Whether only a sum was said, which no bucket can take.
    pub(super) fn only_total(&self) -> bool {
        !self.known() && self.total.is_some()
    }

    pub(super) fn usage(&self) -> Option<Usage> {
        if !self.known() {
            return None;
        }
        let cached = self.cached_within.unwrap_or(0);
        let output = self.output.unwrap_or(0);
        let reasoning = self.reasoning.min(output);
        let write = self.cache_write.unwrap_or(0).max(self.cache_write_short + self.cache_write_long);
        Some(Usage {
            input: self.input.unwrap_or(0).saturating_sub(cached),
            cache_read: self.cache_read.unwrap_or(0).max(cached),
            cache_write: write,
            cache_write_long: self.cache_write_long,
            output: output - reasoning,
            reasoning,
        })
    }
}

fn count(json: &mut Json<'_>) -> Result<Option<u64>, Malformed> {
    Ok(json.integer()?.and_then(|n| u64::try_from(n).ok()))
}

#[cfg(test)]
mod tests {
    use super::Tokens;
    use crate::json::Json;
    use unspool_model::Usage;

    fn usage(text: &str) -> Option<Usage> {
        let mut tokens = Tokens::default();
        tokens.read(&mut Json::new(text.as_bytes())).ok()?;
        tokens.usage()
    }

    #[test]
    fn three_dialects_give_disjoint_buckets() {
        let expected = Some(Usage {
            input: 10,
            cache_read: 90,
            cache_write: 0,
            cache_write_long: 0,
            output: 5,
            reasoning: 3,
        });
        assert_eq!(
            usage(r#"{"input_tokens":10,"cache_read_input_tokens":90,"output_tokens":8,"output_tokens_details":{"thinking_tokens":3}}"#),
            expected
        );
        assert_eq!(
            usage(r#"{"prompt_tokens":100,"prompt_tokens_details":{"cached_tokens":90},"completion_tokens":8,"completion_tokens_details":{"reasoning_tokens":3},"total_tokens":108}"#),
            expected
        );
        assert_eq!(
            usage(r#"{"input_tokens":100,"input_tokens_details":{"cached_tokens":90},"output_tokens":8,"output_tokens_details":{"reasoning_tokens":3}}"#),
            expected
        );
        assert_eq!(usage(r#"{"total_tokens":108}"#), None);
    }
}
