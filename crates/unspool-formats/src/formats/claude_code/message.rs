//! `message` of user and assistant lines: an API message, whole or one block of it.

use crate::fields::Oddities;
use crate::json::{Json, Kind, Malformed, RawStr};
use unspool_model::Usage;

/// An API message as far as it matters.
#[derive(Default)]
pub(super) struct Message<'a> {
    present: bool,
    has_content: bool,
    pub id: Option<RawStr<'a>>,
    pub model: Option<RawStr<'a>>,
    pub stop_reason: Option<RawStr<'a>>,
    pub blocks: Vec<Block<'a>>,
    pub usage: Option<RawUsage>,
}

/// One content block. A string content is one text block.
#[derive(Default)]
pub(super) struct Block<'a> {
    pub kind: BlockKind,
    pub text: Option<RawStr<'a>>,
    pub id: Option<RawStr<'a>>,
    pub name: Option<RawStr<'a>>,
    pub input: Option<&'a [u8]>,
    pub tool_use: Option<RawStr<'a>>,
    pub content: Option<&'a [u8]>,
    pub is_error: Option<bool>,
}

/// The kinds of blocks that mean something different here.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum BlockKind {
    Text,
    ToolUse,
    ToolResult,
    /// Thinking, images, documents, and what comes next.
    #[default]
    Other,
}

impl<'a> Message<'a> {
    pub(super) fn read(
        &mut self,
        json: &mut Json<'a>,
        key: &'a [u8],
        odd: &mut Oddities<'a>,
    ) -> Result<(), Malformed> {
        if self.present {
            odd.duplicate(key);
            *self = Message::default();
        }
        self.present = true;
        match json.kind()? {
            Kind::Object => {}
            Kind::Null => return json.skip(),
            _ => {
                odd.wrong_type(key);
                return json.skip();
            }
        }
        json.object(|json, key| match key {
            b"id" => odd.text(json, key, &mut self.id),
            b"model" => odd.text(json, key, &mut self.model),
            b"stop_reason" => odd.text(json, key, &mut self.stop_reason),
            b"usage" => odd.object(json, key, &mut self.usage, RawUsage::field),
            b"content" => self.read_content(json, key, odd),
            _ => json.skip(),
        })
    }

    fn read_content(
        &mut self,
        json: &mut Json<'a>,
        key: &'a [u8],
        odd: &mut Oddities<'a>,
    ) -> Result<(), Malformed> {
        if self.has_content {
            odd.duplicate(key);
            self.blocks.clear();
        }
        self.has_content = true;
        match json.kind()? {
            Kind::String => {
                let text = json.string()?;
                self.blocks.push(Block { kind: BlockKind::Text, text, ..Block::default() });
                Ok(())
            }
            Kind::Array => json.array(|json| match json.kind()? {
                Kind::Object => {
                    self.blocks.push(Block::read(json, odd)?);
                    Ok(())
                }
                Kind::String => {
                    let text = json.string()?;
                    self.blocks.push(Block { kind: BlockKind::Text, text, ..Block::default() });
                    Ok(())
                }
                _ => {
                    odd.wrong_type(key);
                    json.skip()
                }
            }),
            Kind::Null => json.skip(),
            _ => {
                odd.wrong_type(key);
                json.skip()
            }
        }
    }
}

/// Usage as the API writes it. Numbers, each given once.
#[derive(Default, Clone, Copy)]
pub(super) struct RawUsage {
    input: Option<i64>,
    output: Option<i64>,
    cache_read: Option<i64>,
    cache_write: Option<i64>,
    by_age: Option<CacheWrites>,
    of_output: Option<OutputDetails>,
}

#[derive(Default, Clone, Copy)]
struct CacheWrites {
    long: Option<i64>,
    short: Option<i64>,
}

#[derive(Default, Clone, Copy)]
struct OutputDetails {
    thinking: Option<i64>,
}

impl RawUsage {
    fn field<'a>(
        odd: &mut Oddities<'a>,
        json: &mut Json<'a>,
        key: &'a [u8],
        usage: &mut RawUsage,
    ) -> Result<(), Malformed> {
        match key {
            b"input_tokens" => tokens(json, key, odd, &mut usage.input),
            b"output_tokens" => tokens(json, key, odd, &mut usage.output),
            b"cache_read_input_tokens" => tokens(json, key, odd, &mut usage.cache_read),
            b"cache_creation_input_tokens" => tokens(json, key, odd, &mut usage.cache_write),
            b"cache_creation" => odd.object(json, key, &mut usage.by_age, |odd, json, key, to| match key {
                b"ephemeral_1h_input_tokens" => tokens(json, key, odd, &mut to.long),
                b"ephemeral_5m_input_tokens" => tokens(json, key, odd, &mut to.short),
                _ => json.skip(),
            }),
            b"output_tokens_details" => {
                odd.object(json, key, &mut usage.of_output, |odd, json, key, to| match key {
                    b"thinking_tokens" => tokens(json, key, odd, &mut to.thinking),
                    _ => json.skip(),
                })
            }
            _ => json.skip(),
        }
    }

    /// Disjoint buckets. `output_tokens` includes thinking; nested cache figures are a breakdown that some versions
    /// report while the total is 0.
    pub(super) fn buckets(self) -> Usage {
        let count = |n: Option<i64>| n.and_then(|n| u64::try_from(n).ok()).unwrap_or(0);
        let by_age = self.by_age.unwrap_or_default();
        let (output, long) = (count(self.output), count(by_age.long));
        let reasoning = count(self.of_output.unwrap_or_default().thinking).min(output);
        Usage {
            input: count(self.input),
            cache_read: count(self.cache_read),
            cache_write: count(self.cache_write).max(count(by_age.short) + long),
            cache_write_long: long,
            output: output - reasoning,
            reasoning,
        }
    }
}

/// A count that is no whole number from 0 up is left out and named.
fn tokens<'a>(
    json: &mut Json<'a>,
    key: &'a [u8],
    odd: &mut Oddities<'a>,
    slot: &mut Option<i64>,
) -> Result<(), Malformed> {
    odd.integer(json, key, slot)?;
    if slot.is_some_and(|count| count < 0) {
        odd.wrong_type(key);
    }
    Ok(())
}

impl<'a> Block<'a> {
    fn read(json: &mut Json<'a>, odd: &mut Oddities<'a>) -> Result<Block<'a>, Malformed> {
        let mut block = Block::default();
        let mut kind = None;
        json.object(|json, key| match key {
            b"type" => odd.text(json, key, &mut kind),
            b"text" => odd.text(json, key, &mut block.text),
            b"id" => odd.text(json, key, &mut block.id),
            b"name" => odd.text(json, key, &mut block.name),
            b"input" => odd.raw(json, key, &mut block.input),
            b"tool_use_id" => odd.text(json, key, &mut block.tool_use),
            b"content" => odd.raw(json, key, &mut block.content),
            b"is_error" => odd.boolean(json, key, &mut block.is_error),
            _ => json.skip(),
        })?;
        block.kind = match kind.map(|kind| kind.raw) {
            Some(b"text") => BlockKind::Text,
            Some(b"tool_use" | b"server_tool_use" | b"mcp_tool_use") => BlockKind::ToolUse,
            Some(b"tool_result" | b"web_search_tool_result" | b"mcp_tool_result") => BlockKind::ToolResult,
            _ => BlockKind::Other,
        };
        Ok(block)
    }
}
