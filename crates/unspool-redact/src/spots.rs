//! Where rules may look, and what they find there.
//!
//! In: bytes that may be JSON, lines of JSON, lines with JSON in them, other text or none. Out: what is to be masked. A rule sees one string of JSON at
//! a time, as it is meant, without escapes; or one number; or what stands on one line of other text. So a match never crosses the end of a
//! string, and takes escapes whole or not at all.

use crate::rules::Rules;
use serde::de::IgnoredAny;
use std::borrow::Cow;
use std::ops::Range;

/// Something to be masked.
#[derive(Debug)]
pub(crate) struct Hit {
    pub(crate) rule: usize,
    pub(crate) range: Range<usize>,
    /// A number of JSON: what stands in its place is a string.
    pub(crate) is_number: bool,
}

/// Everything that rules find, in order.
pub(crate) fn find(rules: &Rules, bytes: &[u8]) -> Vec<Hit> {
    let mut spots = Spots { rules, bytes, hits: Vec::new() };
    let mut at = 0;
    // Whether a value may go on over many lines. Where one did not end well, it is not tried again for each line of it.
    let mut is_laid_out = true;
    while let Some(blank) = bytes[at..].iter().position(|byte| !byte.is_ascii_whitespace()) {
        at += blank;
        if is_laid_out && matches!(bytes[at], b'{' | b'[') {
            if let Some(length) = json_length(&bytes[at..]) {
                spots.json(at..at + length);
                at += length;
                continue;
            }
            is_laid_out = false;
        }
        let end =
            bytes[at..].iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |length| at + length);
        spots.line(at..end);
        at = end;
    }
    spots.hits
}

/// How many bytes the JSON takes that begins here; all of them where it is cut off.
fn json_length(bytes: &[u8]) -> Option<usize> {
    let mut values = serde_json::Deserializer::from_slice(bytes).into_iter::<IgnoredAny>();
    match values.next()? {
        Ok(_) => Some(values.byte_offset()),
        Err(error) => error.is_eof().then_some(bytes.len()),
    }
}

struct Spots<'a> {
    rules: &'a Rules,
    bytes: &'a [u8],
    hits: Vec<Hit>,
}

impl Spots<'_> {
    /// Looks into the strings and numbers of JSON.
    fn json(&mut self, range: Range<usize>) {
        let mut at = range.start;
        while at < range.end {
            let first = self.bytes[at];
            if first == b'"' {
                let end = string_end(&self.bytes[..range.end], at + 1);
                self.string(at + 1..end);
                at = end + 1;
            } else if first == b'-' || first.is_ascii_digit() {
                let is_part = |byte: &&u8| byte.is_ascii_digit() || b"+-.eE".contains(*byte);
                let length = self.bytes[at..range.end].iter().take_while(is_part).count();
                self.number(at..at + length);
                at += length;
            } else {
                at += 1;
            }
        }
    }

    fn number(&mut self, range: Range<usize>) {
        let text = std::str::from_utf8(&self.bytes[range.clone()]).unwrap_or_default();
        if let Some(found) = self.rules.find(text).first() {
            self.hits.push(Hit { rule: found.rule, range, is_number: true });
        }
    }

    fn string(&mut self, range: Range<usize>) {
        let raw = &self.bytes[range.clone()];
        let found = self.rules.find(&meant(raw));
        let mut places = Places::new(raw);
        for one in found {
            let place = places.of(one.range.start)..places.of(one.range.end);
            let range = range.start + place.start..range.start + place.end;
            self.hits.push(Hit { rule: one.rule, range, is_number: false });
        }
    }

    /// A line that is no JSON may have some in it, as that of an event stream or a log.
    fn line(&mut self, range: Range<usize>) {
        let line = &self.bytes[range.clone()];
        let mut opens: Vec<usize> =
            [b'{', b'['].iter().filter_map(|open| line.iter().position(|byte| byte == open)).collect();
        opens.sort_unstable();
        let inside = opens.into_iter().find_map(|open| Some((open, json_length(&line[open..])?)));
        let Some((open, length)) = inside else { return self.plain(range) };
        let json = range.start + open..range.start + open + length;
        self.plain(range.start..json.start);
        self.json(json.clone());
        self.plain(json.end..range.end);
    }

    /// Looks into text between bytes that are none. Quotes and backslashes stay, because JSON that is broken may be read as far as it goes.
    fn plain(&mut self, range: Range<usize>) {
        let mut at = range.start;
        for chunk in self.bytes[range].utf8_chunks() {
            for run in chunk.valid().split_inclusive(|c: char| c.is_control() && c != '\t') {
                for one in self.rules.find(run.trim_end_matches(|c: char| c.is_control() && c != '\t')) {
                    let mut start = at + one.range.start;
                    for part in run[one.range].split_inclusive(['"', '\\']) {
                        let kept = usize::from(part.ends_with(['"', '\\']));
                        let range = start..start + part.len() - kept;
                        start += part.len();
                        if !range.is_empty() {
                            self.hits.push(Hit { rule: one.rule, range, is_number: false });
                        }
                    }
                }
                at += run.len();
            }
            at += chunk.invalid().len();
        }
    }
}

/// Where a string ends that goes on from there.
fn string_end(bytes: &[u8], mut at: usize) -> usize {
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return at,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// A part of a string as it is written: bytes that stand for themselves, or one character that is written another way.
enum Unit<'a> {
    Same(&'a str),
    Other { written: usize, meant: char },
}

/// Takes a string apart.
struct Units<'a> {
    chunks: std::str::Utf8Chunks<'a>,
    valid: &'a str,
    invalid: usize,
}

fn units(raw: &[u8]) -> Units<'_> {
    Units { chunks: raw.utf8_chunks(), valid: "", invalid: 0 }
}

impl<'a> Iterator for Units<'a> {
    type Item = Unit<'a>;

    fn next(&mut self) -> Option<Unit<'a>> {
        while self.valid.is_empty() {
            if self.invalid > 0 {
                let written = std::mem::take(&mut self.invalid);
                return Some(Unit::Other { written, meant: char::REPLACEMENT_CHARACTER });
            }
            let chunk = self.chunks.next()?;
            (self.valid, self.invalid) = (chunk.valid(), chunk.invalid().len());
        }
        let unit = match self.valid.find('\\') {
            Some(0) => {
                let (written, meant) = escape(self.valid.as_bytes());
                Unit::Other { written, meant }
            }
            Some(length) => Unit::Same(&self.valid[..length]),
            None => Unit::Same(self.valid),
        };
        self.valid = self.valid.get(unit.written()..).unwrap_or_default();
        Some(unit)
    }
}

impl Unit<'_> {
    fn written(&self) -> usize {
        match self {
            Unit::Same(text) => text.len(),
            Unit::Other { written, .. } => *written,
        }
    }

    fn meant(&self) -> usize {
        match self {
            Unit::Same(text) => text.len(),
            Unit::Other { meant, .. } => meant.len_utf8(),
        }
    }
}

/// An escape: how many bytes it takes, and what it means.
fn escape(raw: &[u8]) -> (usize, char) {
    let code = |at: usize| {
        let digits = raw.get(at..at + 6)?.strip_prefix(b"\\u")?;
        u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    };
    let simple = match raw.get(1) {
        Some(b'n') => '\n',
        Some(b't') => '\t',
        Some(b'r') => '\r',
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'u') => {
            let Some(first) = code(0) else { return (raw.len().min(6), char::REPLACEMENT_CHARACTER) };
            if (0xd800..0xdc00).contains(&first)
                && let Some(second) = code(6).filter(|second| (0xdc00..0xe000).contains(second))
            {
                let both = 0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00);
                return (12, char::from_u32(both).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            return (6, char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER));
        }
        Some(other) if other.is_ascii() => char::from(*other),
        // Cut off, or no JSON.
        _ => return (1, '\\'),
    };
    (2, simple)
}

/// A string without its escapes.
fn meant(raw: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(raw)
        && !raw.contains(&b'\\')
    {
        return Cow::Borrowed(text);
    }
    let mut text = String::with_capacity(raw.len());
    for unit in units(raw) {
        match unit {
            Unit::Same(same) => text.push_str(same),
            Unit::Other { meant, .. } => text.push(meant),
        }
    }
    Cow::Owned(text)
}

/// From places in a string as it is meant to places in it as it is written. They are asked for in order.
struct Places<'a> {
    units: Units<'a>,
    now: Option<Unit<'a>>,
    /// Where the unit of now begins.
    written: usize,
    meant: usize,
}

impl<'a> Places<'a> {
    fn new(raw: &'a [u8]) -> Places<'a> {
        let mut units = units(raw);
        Places { now: units.next(), units, written: 0, meant: 0 }
    }

    fn of(&mut self, place: usize) -> usize {
        while let Some(unit) = &self.now
            && self.meant + unit.meant() <= place
        {
            self.written += unit.written();
            self.meant += unit.meant();
            self.now = self.units.next();
        }
        // Matches begin and end between characters: there is no other way to be inside a unit than in one that is written as it is meant.
        self.written + place.saturating_sub(self.meant)
    }
}
