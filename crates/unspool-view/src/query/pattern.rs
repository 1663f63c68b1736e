//! Finding words in text, whatever their case, with `*` for any letters and `?` for one.
//!
//! In: a value as it was typed, and a text. Out: whether and where it stands there. Never here: which text is looked at.

use super::ast::Value;
use std::ops::Range;

/// A value made ready for looking.
#[derive(Clone, Debug)]
pub struct Pattern {
    /// What stands between the `*`.
    segments: Vec<Segment>,
}

/// Letters in a row; `None` stands for any one.
#[derive(Clone, Debug)]
struct Segment {
    letters: Vec<Option<char>>,
    /// The letters as bytes and which of them is the rarest, when all are ASCII.
    bytes: Option<(Vec<u8>, usize)>,
}

impl Pattern {
    /// From a value; in quotes, `*` and `?` are letters.
    pub fn new(value: &Value) -> Pattern {
        let segments = if value.is_literal() {
            vec![Segment::new(value.text().chars().map(|letter| Some(fold(letter))).collect())]
        } else {
            let letters = |part: &str| part.chars().map(|c| (c != '?').then(|| fold(c))).collect();
            value.text().split('*').map(|part| Segment::new(letters(part))).collect()
        };
        Pattern { segments }
    }

    /// Whether it has letters that JSON may write in more than one way.
    pub fn has_odd_letters(&self) -> bool {
        let mut letters = self.segments.iter().flat_map(|segment| &segment.letters);
        letters.any(|letter| letter.is_some_and(|c| !c.is_ascii() || c.is_control() || "\"\\/".contains(c)))
    }

    /// Whether the whole text is this.
    pub fn is(&self, text: &str) -> bool {
        let [first, middle @ .., last] = self.segments.as_slice() else {
            return self.segments.first().is_some_and(|only| only.at(text, 0) == Some(text.len()));
        };
        let Some(mut from) = first.at(text, 0) else { return false };
        for segment in middle {
            match segment.find(text, from) {
                Some(found) => from = found.end,
                None => return false,
            }
        }
        let tail = text.char_indices().rev().map(|(at, _)| at);
        let start = std::iter::once(text.len()).chain(tail).nth(last.letters.len());
        start.is_some_and(|start| start >= from && last.at(text, start) == Some(text.len()))
    }

    /// Where it first stands in the text.
    pub fn find(&self, text: &str) -> Option<Range<usize>> {
        let mut found: Option<Range<usize>> = None;
        for segment in &self.segments {
            let from = found.as_ref().map_or(0, |found| found.end);
            let next = segment.find(text, from)?;
            // A `*` at the edge adds nothing to what is shown.
            found = Some(match found {
                Some(found) if found.start < found.end => found.start..next.end,
                _ => next,
            });
        }
        found
    }
}

impl Segment {
    fn new(letters: Vec<Option<char>>) -> Segment {
        let byte = |letter: &Option<char>| letter.and_then(|c| u8::try_from(c).ok()).filter(u8::is_ascii);
        let bytes: Option<Vec<u8>> = letters.iter().map(byte).collect();
        let bytes = bytes.filter(|bytes| !bytes.is_empty());
        let bytes = bytes.map(|bytes| {
            let rarest = (0..bytes.len()).max_by_key(|n| rarity(bytes[*n])).unwrap_or(0);
            (bytes, rarest)
        });
        Segment { letters, bytes }
    }

    /// Where it ends when it stands at this place.
    fn at(&self, text: &str, start: usize) -> Option<usize> {
        if let Some((bytes, _)) = &self.bytes {
            let end = start + bytes.len();
            return text.as_bytes().get(start..end)?.eq_ignore_ascii_case(bytes).then_some(end);
        }
        let mut end = start;
        let mut rest = text.get(start..)?.chars();
        for wanted in &self.letters {
            let letter = rest.next()?;
            if wanted.is_some_and(|wanted| wanted != fold(letter)) {
                return None;
            }
            end += letter.len_utf8();
        }
        Some(end)
    }

    /// Where it first stands at or after this place.
    fn find(&self, text: &str, from: usize) -> Option<Range<usize>> {
        let Some((bytes, rarest)) = &self.bytes else {
            let places = text.get(from..)?.char_indices().map(|(at, _)| from + at);
            let mut places = places.chain(std::iter::once(text.len()));
            return places.find_map(|start| Some(start..self.at(text, start)?));
        };
        let hay = text.as_bytes();
        let (lower, upper) = (bytes[*rarest], bytes[*rarest].to_ascii_uppercase());
        let mut seen = from + rarest;
        loop {
            let rest = hay.get(seen..)?;
            let hit = if lower == upper {
                memchr::memchr(lower, rest)?
            } else {
                memchr::memchr2(lower, upper, rest)?
            };
            let start = seen + hit - rarest;
            if let Some(end) = self.at(text, start) {
                return Some(start..end);
            }
            seen += hit + 1;
        }
    }
}

/// One letter for one letter, so that places in the text stay what they are.
pub(crate) fn fold(letter: char) -> char {
    if letter.is_ascii() {
        letter.to_ascii_lowercase()
    } else {
        letter.to_lowercase().next().unwrap_or(letter)
    }
}

/// How seldom a letter is in what agents write: common letters come first.
pub(crate) fn rarity(byte: u8) -> usize {
    const COMMON: &[u8] = b" etaoinsrhldcumpfg.-_/wybvk\"0123,'x:456789jqz";
    COMMON.iter().position(|common| *common == byte).unwrap_or(COMMON.len())
}

#[cfg(test)]
mod tests {
    use super::Pattern;
    use crate::query::ast::Value;

    fn is(pattern: &str, text: &str) -> bool {
        Pattern::new(&Value::typed(pattern)).is(text)
    }

    fn found(pattern: &str, text: &str) -> Option<String> {
        Pattern::new(&Value::typed(pattern)).find(text).map(|range| text[range].to_string())
    }

    #[test]
    fn whole_texts() {
        for (pattern, text) in [
            ("bash", "Bash"),
            ("b*", "Bash"),
            ("*sh", "Bash"),
            ("b??h", "Bash"),
            ("*", ""),
            ("a*b*c", "aXbYc"),
            ("ÄRGER", "ärger"),
            ("*opus*", "claude-Opus-4"),
            ("mcp__*__read?", "mcp__fs__readX"),
        ] {
            assert!(is(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in
            [("bash", "Bashful"), ("b*", "abc"), ("ab*ba", "aba"), ("?", ""), ("a?c", "ac"), ("*x", "xy")]
        {
            assert!(!is(pattern, text), "{pattern} {text}");
        }
    }

    #[test]
    fn places_in_texts() {
        assert_eq!(found("error", "An ERROR here").as_deref(), Some("ERROR"));
        assert_eq!(found("e*h", "an ERROR here").as_deref(), Some("ERROR h"));
        assert_eq!(found("*err*", "an ERROR").as_deref(), Some("ERR"));
        assert_eq!(found("straße", "Die STRAßE").as_deref(), Some("STRAßE"));
        assert_eq!(found("日?語", "の日本語で").as_deref(), Some("日本語"));
        assert_eq!(found("x", "abc"), None);
        let quoted = Pattern::new(&Value::quoted("a*"));
        assert!(quoted.find("ab").is_none() && quoted.is("A*"));
    }
}
