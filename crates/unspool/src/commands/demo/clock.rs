//! The times of the demo's files, moved so that they lie in the hours before now.
//!
//! In: a text and how many seconds to move by. Out: the same text with other times. Never here: the clock.

use unspool_model::Timestamp;

/// 2026-10-12T12:00:00Z, in seconds: the moment the files are written for. Their sessions lie in the hours before it; the live one begins
/// with it.
pub(super) const WRITTEN_FOR_S: i64 = 1_791_806_400;

/// What lies further away from that moment is no time of the demo, but a number or a date somebody talks of.
const REACH_MS: i64 = 86_400_000;
const NS_PER_SECOND: i64 = 1_000_000_000;

/// The text with every time in it moved: RFC 3339 in UTC, and seconds, milliseconds and nanoseconds since 1970.
pub(super) fn shifted(text: &str, seconds: i64) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(|letter: char| letter.is_ascii_alphanumeric()) {
        let (between, from) = rest.split_at(start);
        let (word, behind) = from.split_at(from.find(|letter| !in_word(letter)).unwrap_or(from.len()));
        out.push_str(between);
        match moved(word, seconds) {
            Some(word) => out.push_str(&word),
            None => out.push_str(word),
        }
        rest = behind;
    }
    out.push_str(rest);
    out
}

fn in_word(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | ':' | '.')
}

/// A word that is a time of the demo, moved.
fn moved(word: &str, seconds: i64) -> Option<String> {
    if word.ends_with('Z') {
        let at = Timestamp::parse(word).filter(|at| is_of_the_demo(*at))?;
        return Some(at.plus_ms(seconds * 1000).to_string());
    }
    let per_second = match word.len() {
        10 => 1,
        13 => 1_000,
        19 => NS_PER_SECOND,
        _ => return None,
    };
    let number: i64 = word.parse().ok()?;
    let ns = number.checked_mul(NS_PER_SECOND / per_second)?;
    is_of_the_demo(Timestamp::from_ns(ns)).then(|| (number + seconds * per_second).to_string())
}

fn is_of_the_demo(at: Timestamp) -> bool {
    at.ms_since(Timestamp::from_ms(WRITTEN_FOR_S * 1000)).is_some_and(|ms| ms.abs() <= REACH_MS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_moment_is_what_it_says() {
        assert_eq!(Timestamp::from_ms(WRITTEN_FOR_S * 1000).to_string(), "2026-10-12T12:00:00.000Z");
    }

    #[test]
    fn times_in_all_spellings_are_moved() {
        let moved = |text: &str| shifted(text, 3_661);
        assert_eq!(moved(r#"{"a":"2026-10-12T09:30:05.400Z"}"#), r#"{"a":"2026-10-12T10:31:06.400Z"}"#);
        assert_eq!(moved(r#"{"a":"2026-10-12T23:30:05Z"}"#), r#"{"a":"2026-10-13T00:31:06.000Z"}"#);
        assert_eq!(moved(r#"{"ns":"1791806400000000001"}"#), r#"{"ns":"1791810061000000001"}"#);
        assert_eq!(moved(r#"{"ms":1791806400123,"s":1791806400}"#), r#"{"ms":1791810061123,"s":1791810061}"#);
        assert_eq!(shifted("2026-10-12T00:00:00.000Z", -1), "2026-10-11T23:59:59.000Z");
    }

    #[test]
    fn everything_else_stays() {
        for text in [
            "",
            "größer — als Z",
            r#""id":"d0d0d0d0-0000-4000-8000-000000000035""#,
            r#""seven":"1784300000000000000","three":1700000000000,"order":"48213""#,
            "2020-01-01T00:00:00Z",
            "call_1791806400 2026-10-12",
        ] {
            assert_eq!(shifted(text, 3_661), text);
        }
    }

    #[test]
    fn there_and_back_again() {
        for (path, text) in crate::commands::demo::files::all() {
            let there = shifted(text, 3_661);
            assert_eq!(there == text, path.ends_with(".meta.json"), "{path}");
            assert_eq!(shifted(&there, -3_661), text, "{path}");
        }
    }
}
