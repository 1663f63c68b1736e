//! A span, whichever way a source writes it: ids as text, times, attributes, links, exceptions.
//!
//! Never here: what attributes mean; that is the dialects' affair.

use super::value::Value;
use crate::json::RawStr;
use std::borrow::Cow;
use std::fmt::Write as _;
use unspool_model::Timestamp;

/// One span, reused for the next one so that nothing is allocated twice.
#[derive(Default)]
pub(crate) struct Span<'a> {
    pub(crate) trace: String,
    pub(crate) id: String,
    /// Empty for a root.
    pub(crate) parent: String,
    pub(crate) name: Cow<'a, str>,
    pub(crate) start: Timestamp,
    pub(crate) end: Timestamp,
    pub(crate) failed: bool,
    pub(crate) status_message: Option<RawStr<'a>>,
    pub(crate) attrs: Attrs<'a>,
    pub(crate) links: Vec<Link<'a>>,
    /// Message of the first exception.
    pub(crate) exception: Option<Value<'a>>,
    /// Room for a text that is needed for a moment.
    pub(crate) scratch: String,
}

/// Another span that a span names.
#[derive(Default)]
pub(crate) struct Link<'a> {
    pub(crate) trace: String,
    pub(crate) id: String,
    pub(crate) attrs: Attrs<'a>,
}

impl Span<'_> {
    /// Makes room for the next span.
    pub(crate) fn clear(&mut self) {
        self.trace.clear();
        self.id.clear();
        self.parent.clear();
        self.links.clear();
        self.attrs.clear();
        self.name = Cow::Borrowed("");
        (self.start, self.end) = (Timestamp::NONE, Timestamp::NONE);
        self.failed = false;
        self.status_message = None;
        self.exception = None;
    }

    /// Whether anything can say where it belongs: a trace and an id of its own.
    pub(crate) fn has_ids(&self) -> bool {
        !self.trace.is_empty() && !self.id.is_empty()
    }
}

/// Where spans come from: the resource and the instrumentation.
#[derive(Default)]
pub(crate) struct Origin<'a> {
    pub(crate) resource: Attrs<'a>,
    pub(crate) scope: Cow<'a, str>,
}

/// Attributes in the order of the source; of equal keys, the last counts.
#[derive(Default)]
pub(crate) struct Attrs<'a> {
    list: Vec<(&'a [u8], Value<'a>)>,
    families: u32,
    /// A bit for every key that is there, which others may share, so that most questions need no search.
    marks: u64,
    /// Whether a value may have values inside it that lie too deep.
    is_deep: bool,
}

/// Families of attributes, told apart by the first part of a key. They say which dialects a span may speak.
pub(crate) mod family {
    pub(crate) const GEN_AI: u32 = 1;
    pub(crate) const OPENINFERENCE: u32 = 1 << 1;
    pub(crate) const TRACELOOP: u32 = 1 << 2;
    pub(crate) const VERCEL: u32 = 1 << 3;
    pub(crate) const MASTRA: u32 = 1 << 4;
    pub(crate) const LANGFUSE: u32 = 1 << 5;
    pub(crate) const AGENTMARK: u32 = 1 << 6;
    pub(crate) const PYDANTIC: u32 = 1 << 7;
    /// A graph that the source drew itself.
    pub(crate) const GRAPH: u32 = 1 << 8;
    pub(crate) const UNSPOOL: u32 = 1 << 9;
    pub(crate) const OTHER: u32 = 1 << 10;
    /// Tokens of a call, in the words of the conventions.
    pub(crate) const GEN_AI_USAGE: u32 = 1 << 11;
    /// A tool, in the words of the conventions.
    pub(crate) const GEN_AI_TOOL: u32 = 1 << 12;
}

fn family_of(key: &[u8]) -> u32 {
    // The most frequent first.
    if let Some(rest) = key.strip_prefix(b"gen_ai.") {
        return match rest {
            [b'p', b'r', b'o', b'm', b'p', b't', b'.', ..] => family::GEN_AI | family::TRACELOOP,
            [b'u', b's', b'a', b'g', b'e', b'.', ..] => family::GEN_AI | family::GEN_AI_USAGE,
            [b't', b'o', b'o', b'l', b'.', ..] => family::GEN_AI | family::GEN_AI_TOOL,
            _ if rest.starts_with(b"completion.") => family::GEN_AI | family::TRACELOOP,
            _ => family::GEN_AI,
        };
    }
    let first = key.iter().position(|byte| *byte == b'.').map_or(key, |dot| &key[..dot]);
    match first {
        b"gen_ai" => family::GEN_AI,
        b"llm" if key == b"llm.usage.total_tokens" => family::OPENINFERENCE | family::GEN_AI_USAGE,
        b"llm" if key == b"llm.request.type" => family::OPENINFERENCE | family::TRACELOOP,
        b"openinference" | b"llm" | b"input" | b"output" | b"embedding" | b"retrieval" | b"reranker" => {
            family::OPENINFERENCE
        }
        b"traceloop" => family::TRACELOOP,
        b"ai" | b"operation" => family::VERCEL,
        b"mastra" | b"componentName" => family::MASTRA,
        b"langfuse" => family::LANGFUSE,
        b"agentmark" => family::AGENTMARK,
        b"unspool" => family::UNSPOOL,
        b"graph" | b"graphNodeId" => family::GRAPH,
        b"pydantic_ai" | b"logfire" | b"final_result" | b"all_messages_events" => family::PYDANTIC,
        _ => family::OTHER,
    }
}

impl<'a> Attrs<'a> {
    pub(crate) fn clear(&mut self) {
        self.list.clear();
        self.families = 0;
        self.marks = 0;
        self.is_deep = false;
    }

    pub(crate) fn push(&mut self, key: &'a [u8], value: Value<'a>) {
        self.families |= family_of(key);
        self.marks |= mark(key);
        self.is_deep |= value.may_be_deep();
        self.list.push((key, value));
    }

    /// Whether a family of attributes is there.
    pub(crate) fn has(&self, family: u32) -> bool {
        self.families & family != 0
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Value<'a>> {
        let key = key.as_bytes();
        if self.marks & mark(key) == 0 {
            return None;
        }
        self.list.iter().rev().find(|(own, _)| *own == key).map(|(_, value)| value)
    }

    /// The first of these that says something.
    pub(crate) fn any(&self, keys: &[&str]) -> Option<&Value<'a>> {
        keys.iter().find_map(|key| self.get(key).filter(|value| !value.is_empty()))
    }

    /// The first of these that says something, as text.
    pub(crate) fn text(&self, keys: &[&str]) -> Option<Cow<'a, str>> {
        self.any(keys).map(Value::text).filter(|text| !text.is_empty())
    }

    /// The first of these that is a count.
    pub(crate) fn count(&self, keys: &[&str]) -> Option<u64> {
        keys.iter().find_map(|key| self.get(key).and_then(Value::count))
    }

    /// How many values lie too deep to be read.
    pub(crate) fn cut(&self) -> usize {
        if self.is_deep { self.list.iter().map(|(_, value)| value.cut()).sum() } else { 0 }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &(&'a [u8], Value<'a>)> {
        self.list.iter()
    }
}

fn mark(key: &[u8]) -> u64 {
    let byte = |at: usize| key.get(at).map_or(0, |byte| usize::from(*byte));
    1 << ((key.len() ^ (byte(key.len().wrapping_sub(3)) << 1) ^ (byte(key.len() / 2) << 3)) & 63)
}

/// Writes bytes as lower-case hexadecimal digits.
fn push_hex(bytes: &[u8], out: &mut String) {
    const AT_A_TIME: usize = 16;
    for piece in bytes.chunks(AT_A_TIME) {
        let mut digits = [0; 2 * AT_A_TIME];
        for (pair, byte) in digits.chunks_exact_mut(2).zip(piece) {
            pair.copy_from_slice(&HEX[usize::from(*byte)]);
        }
        out.push_str(std::str::from_utf8(&digits[..2 * piece.len()]).unwrap_or_default());
    }
}

/// The two digits of every byte.
static HEX: [[u8; 2]; 256] = {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut pairs = [[0; 2]; 256];
    let mut byte = 0;
    while byte < 256 {
        pairs[byte] = [DIGITS[byte >> 4], DIGITS[byte & 15]];
        byte += 1;
    }
    pairs
};

/// An id in bytes. All zeros mean none.
pub(crate) fn push_bytes_id(bytes: &[u8], out: &mut String) {
    out.clear();
    if bytes.iter().any(|byte| *byte != 0) {
        push_hex(bytes, out);
    }
}

/// An id of `len` bytes as sources write it: digits, base64, or something of their own. All zeros mean none.
pub(crate) fn push_id(text: &str, len: usize, out: &mut String) {
    let text = text.trim().trim_start_matches("0x");
    out.clear();
    if text.bytes().all(|byte| byte == b'0') {
        return;
    }
    let is_hex = text.len() == 2 * len && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_hex {
        out.extend(text.chars().map(|digit| digit.to_ascii_lowercase()));
    } else if let Some(bytes) = from_base64(text, len) {
        push_hex(&bytes, out);
    } else {
        out.push_str(text);
    }
}

/// An id written as one whole number of up to 128 bits; its digits never pass through a float.
pub(crate) fn push_number_id(digits: &[u8], len: usize, out: &mut String) {
    out.clear();
    let digits = std::str::from_utf8(digits).unwrap_or_default();
    match digits.parse::<u128>() {
        Ok(0) => {}
        Ok(number) if len == 8 => _ = write!(out, "{number:016x}"),
        Ok(number) => _ = write!(out, "{number:032x}"),
        Err(_) => out.push_str(digits),
    }
}

/// Exactly `len` bytes in base64 with its padding, or nothing.
fn from_base64(text: &str, len: usize) -> Option<Vec<u8>> {
    if text.len() != len.div_ceil(3) * 4 || !text.ends_with('=') {
        return None;
    }
    let (mut bits, mut have) = (0_u32, 0);
    let mut bytes = Vec::with_capacity(len);
    for character in text.trim_end_matches('=').bytes() {
        let value = match character {
            b'A'..=b'Z' => character - b'A',
            b'a'..=b'z' => character - b'a' + 26,
            b'0'..=b'9' => character - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        bits = (bits << 6) | u32::from(value);
        have += 6;
        if have >= 8 {
            have -= 8;
            bytes.push(u8::try_from((bits >> have) & 0xFF).ok()?);
        }
    }
    (bytes.len() == len).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::{push_id, push_number_id};

    fn id(text: &str, len: usize) -> String {
        let mut out = String::new();
        push_id(text, len, &mut out);
        out
    }

    #[test]
    fn ids_in_every_writing() {
        assert_eq!(id("A1B2C3D4E5F60718", 8), "a1b2c3d4e5f60718");
        assert_eq!(id("aQzz2qvtrKY=", 8), "690cf3daabedaca6");
        assert_eq!(id("test-trace-id", 16), "test-trace-id");
        assert_eq!(id("0000000000000000", 8), "");
        assert_eq!(id("0x00ff00ff00ff00ff", 8), "00ff00ff00ff00ff");
        let mut out = String::new();
        push_number_id(b"340282366920938463463374607431768211455", 16, &mut out);
        assert_eq!(out, "f".repeat(32));
        push_number_id(b"255", 8, &mut out);
        assert_eq!(out, "00000000000000ff");
    }
}
