//! The strings of a JSON text.
//!
//! In: the bytes between the quotes. Out: text, whatever they are; only as much as is asked for. Never here: structure.

use super::near;
use std::borrow::Cow;

/// A string between its quotes, escapes and all.
#[derive(Clone, Copy, Debug, Default)]
pub struct RawStr<'a> {
    /// The bytes between the quotes.
    pub raw: &'a [u8],
    pub(super) escaped: bool,
}

impl<'a> RawStr<'a> {
    /// A text that is written as it is, without escapes.
    pub(crate) fn plain(raw: &'a [u8]) -> RawStr<'a> {
        RawStr { raw, escaped: false }
    }

    /// The text with escapes resolved; invalid UTF-8 and lone surrogates become replacement characters.
    pub fn decode(self) -> Cow<'a, str> {
        if self.escaped {
            return Cow::Owned(unescape(self.raw, usize::MAX));
        }
        std::str::from_utf8(self.raw).map_or_else(|_| String::from_utf8_lossy(self.raw), Cow::Borrowed)
    }

    /// At least the first `max` bytes of the text (more by at most one escape), never cut inside a character.
    pub fn decode_start(self, max: usize) -> Cow<'a, str> {
        if self.raw.len() <= max {
            return self.decode();
        }
        if self.escaped {
            return Cow::Owned(unescape(self.raw, max));
        }
        let mut end = max;
        while end < self.raw.len() && self.raw[end] & 0xC0 == 0x80 {
            end += 1;
        }
        String::from_utf8_lossy(&self.raw[..end])
    }

    /// Whether the text is empty.
    pub fn is_empty(self) -> bool {
        self.raw.is_empty()
    }
}

fn unescape(raw: &[u8], max: usize) -> String {
    let mut out: Vec<u8> = Vec::with_capacity(raw.len().min(max.saturating_add(8)));
    let mut rest = raw;
    while out.len() < max {
        let Some(found) = near::backslash(rest) else { break };
        out.extend_from_slice(&rest[..found]);
        rest = &rest[found + 1..];
        let Some((escape, tail)) = rest.split_first() else { break };
        rest = tail;
        match escape {
            b'n' => out.push(b'\n'),
            b't' => out.push(b'\t'),
            b'r' => out.push(b'\r'),
            b'b' => out.push(8),
            b'f' => out.push(12),
            b'u' => rest = push_unicode(&mut out, rest),
            other => out.push(*other),
        }
    }
    if out.len() < max {
        out.extend_from_slice(rest);
    }
    String::from_utf8(out).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// Reads the four digits after `\u` (and the low half of a surrogate pair) and returns what follows.
fn push_unicode<'a>(out: &mut Vec<u8>, rest: &'a [u8]) -> &'a [u8] {
    let Some(high) = hex4(rest) else {
        out.extend_from_slice("\u{FFFD}".as_bytes());
        return rest;
    };
    let mut rest = &rest[4..];
    let mut code = u32::from(high);
    if (0xD800..0xDC00).contains(&high)
        && rest.starts_with(b"\\u")
        && let Some(low) = hex4(&rest[2..])
        && (0xDC00..0xE000).contains(&low)
    {
        code = 0x10000 + ((u32::from(high) - 0xD800) << 10) + (u32::from(low) - 0xDC00);
        rest = &rest[6..];
    }
    let character = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
    out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
    rest
}

fn hex4(rest: &[u8]) -> Option<u16> {
    let digits = std::str::from_utf8(rest.get(..4)?).ok()?;
    digits.bytes().all(|b| b.is_ascii_hexdigit()).then(|| u16::from_str_radix(digits, 16).ok())?
}

#[cfg(test)]
mod tests {
    use crate::json::Json;

    #[test]
    fn escapes_and_surrogates() {
        let mut json = Json::new(br#""a\"\\\/\n\u00e4\ud83d\ude00\ud800""#);
        let text = json.string().unwrap().unwrap();
        assert_eq!(text.decode(), "a\"\\/\nä😀\u{FFFD}");
        assert_eq!(text.decode_start(2), "a\"");
    }
}
