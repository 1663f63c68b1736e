//! Tokens as the three APIs report them, in disjoint buckets.

use crate::json::{Json, Kind, Malformed};
use crate::tokens::Tokens;
use unspool_model::Usage;

/// What a response says about tokens, before it is known which API speaks.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Reported {
    tokens: Tokens,
    cache_write_short: Option<u64>,
    /// The part of the input that came from a cache; the input includes it.
    cached_within: Option<u64>,
}

impl Reported {
    pub(super) fn read(&mut self, json: &mut Json<'_>) -> Result<(), Malformed> {
        if json.kind()? != Kind::Object {
            return json.skip();
        }
        json.object(|json, key| {
            let tokens = &mut self.tokens;
            match key {
                b"input_tokens" | b"prompt_tokens" => tokens.input = count(json)?.or(tokens.input),
                b"output_tokens" | b"completion_tokens" => tokens.output = count(json)?.or(tokens.output),
                b"cache_read_input_tokens" => tokens.cache_read = count(json)?.or(tokens.cache_read),
                b"cache_creation_input_tokens" => tokens.cache_write = count(json)?.or(tokens.cache_write),
                b"total_tokens" => tokens.total = count(json)?.or(tokens.total),
                b"cache_creation"
                | b"prompt_tokens_details"
                | b"input_tokens_details"
                | b"completion_tokens_details"
                | b"output_tokens_details"
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
            b"ephemeral_5m_input_tokens" => self.cache_write_short = count(json)?,
            b"ephemeral_1h_input_tokens" => self.tokens.cache_write_long = count(json)?,
            b"cached_tokens" => self.cached_within = count(json)?.or(self.cached_within),
            b"reasoning_tokens" | b"thinking_tokens" => self.tokens.reasoning = count(json)?,
            _ => json.skip()?,
        }
        Ok(())
    }

    /// Whether anything was said.
    pub(super) fn known(&self) -> bool {
        self.tokens.input.is_some() || self.tokens.output.is_some()
    }

    /// Whether only a sum was said, which no bucket can take.
    pub(super) fn only_total(&self) -> bool {
        !self.known() && self.tokens.total.is_some()
    }

    pub(super) fn usage(&self) -> Option<Usage> {
        if !self.known() {
            return None;
        }
        let Tokens { cache_read, cache_write, cache_write_long, .. } = self.tokens;
        let by_length = self.cache_write_short.unwrap_or(0).saturating_add(cache_write_long.unwrap_or(0));
        let tokens = Tokens {
            cache_read: cache_read.max(self.cached_within),
            cache_write: cache_write.max(Some(by_length)),
            input_is_uncached: self.cached_within.unwrap_or(0) == 0,
            ..self.tokens
        };
        tokens.usage()
    }
}

fn count(json: &mut Json<'_>) -> Result<Option<u64>, Malformed> {
    Ok(json.integer()?.and_then(|n| u64::try_from(n).ok()))
}

#[cfg(test)]
mod tests {
    use super::Reported;
    use crate::json::Json;
    use unspool_model::Usage;

    fn usage(text: &str) -> Option<Usage> {
        let mut tokens = Reported::default();
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
            usage(
                r#"{"input_tokens":10,"cache_read_input_tokens":90,"output_tokens":8,"output_tokens_details":{"thinking_tokens":3}}"#
            ),
            expected
        );
        assert_eq!(
            usage(
                r#"{"prompt_tokens":100,"prompt_tokens_details":{"cached_tokens":90},"completion_tokens":8,"completion_tokens_details":{"reasoning_tokens":3},"total_tokens":108}"#
            ),
            expected
        );
        assert_eq!(
            usage(
                r#"{"input_tokens":100,"input_tokens_details":{"cached_tokens":90},"output_tokens":8,"output_tokens_details":{"reasoning_tokens":3}}"#
            ),
            expected
        );
        assert_eq!(
            usage(
                r#"{"prompt_tokens":107,"prompt_tokens_details":{"cached_tokens":90},"cache_creation_input_tokens":7,"completion_tokens":8,"completion_tokens_details":{"reasoning_tokens":3}}"#
            ),
            expected.map(|usage| Usage { cache_write: 7, ..usage }),
            "input that includes what was read from a cache includes what was written to it"
        );
        assert_eq!(usage(r#"{"total_tokens":108}"#), None);
    }
}
