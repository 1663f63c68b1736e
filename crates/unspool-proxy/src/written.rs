//! How a text may be written.
//!
//! In: a text. Out: it as it stands in a string of JSON, in JSON inside of JSON, and in a query, by whichever program wrote that.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use std::fmt::Write as _;

/// What a query leaves as it is.
const IN_QUERY: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// What a writer of JSON escapes without need.
struct Manner {
    marks: &'static str,
    /// What is not ASCII, too.
    is_ascii: bool,
    /// Digits above nine are capitals.
    is_upper: bool,
}

const fn manner(marks: &'static str, is_ascii: bool, is_upper: bool) -> Manner {
    Manner { marks, is_ascii, is_upper }
}

const PHP: Manner = manner("", true, false);
/// Go, Gson and the like, .NET, Python, Jackson.
const MANNERS: [Manner; 6] = [
    manner("<>&", false, false),
    manner("<>&='", false, false),
    manner("<>&='", false, true),
    manner("<>&'\"+`", true, true),
    PHP,
    manner("", true, true),
];

/// Whether some writer escapes it.
pub(crate) fn may_be_escaped(byte: u8) -> bool {
    !(byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~'))
}

/// A text, and what it says where it stands in a query.
pub(crate) fn meant(text: &str) -> Vec<String> {
    let decoded = percent_decode_str(text).decode_utf8().ok().filter(|decoded| decoded != text);
    [Some(text.to_string()), decoded.map(Into::into)].into_iter().flatten().collect()
}

/// A text and how else it may be written, each once.
pub(crate) fn written(text: &str) -> Vec<String> {
    let mut all = vec![text.to_string()];
    if !text.bytes().any(may_be_escaped) {
        return all;
    }
    let quoted = quoted(text);
    let mut in_json: Vec<String> = MANNERS.iter().map(|manner| escaped(text, manner)).collect();
    in_json.extend([quoted.replace('/', "\\/"), escaped(text, &PHP).replace('/', "\\/"), quoted]);
    let twice: Vec<String> = in_json.iter().map(|one| self::quoted(one)).collect();
    let in_query = utf8_percent_encode(text, IN_QUERY).to_string();
    all.extend(in_json);
    all.extend(twice);
    all.extend([in_query.replace("%20", "+"), lower_escapes(&in_query), in_query]);
    all.sort();
    all.dedup();
    all
}

/// A text in a string of JSON.
fn quoted(text: &str) -> String {
    let quoted = serde_json::to_string(text).unwrap_or_default();
    let inside = quoted.strip_prefix('"').and_then(|inside| inside.strip_suffix('"'));
    inside.unwrap_or(text).to_string()
}

fn escaped(text: &str, manner: &Manner) -> String {
    let mut all = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() || manner.marks.contains(c) || (manner.is_ascii && !c.is_ascii()) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Writing into a string does not fail.
                let _ =
                    if manner.is_upper { write!(all, "\\u{unit:04X}") } else { write!(all, "\\u{unit:04x}") };
            }
        } else {
            all.extend(matches!(c, '"' | '\\').then_some('\\'));
            all.push(c);
        }
    }
    all
}

/// `%2F` as `%2f`, where all percents are those of escapes.
fn lower_escapes(text: &str) -> String {
    let mut digits = 0;
    let lower = |c: char| {
        let is_digit = digits > 0;
        digits = if c == '%' { 2 } else { usize::saturating_sub(digits, 1) };
        if is_digit { c.to_ascii_lowercase() } else { c }
    };
    text.chars().map(lower).collect()
}

#[cfg(test)]
mod tests {
    use super::{lower_escapes, meant, written};

    #[test]
    fn every_writer_is_known() {
        let of = written("k<'=/+\u{e9}");
        for form in [
            "k<'=/+\u{e9}",
            "k\\u003c'=/+\u{e9}",
            "k\\u003c\\u0027\\u003d/+\u{e9}",
            "k\\u003C\\u0027\\u003D/+\u{e9}",
            "k\\u003C\\u0027=/\\u002B\\u00E9",
            "k<'=\\/+\\u00e9",
            "k<'=\\/+\u{e9}",
            "k<'=\\\\/+\u{e9}",
            "k%3C%27%3D%2F%2B%C3%A9",
            "k%3c%27%3d%2f%2b%c3%a9",
        ] {
            assert!(of.iter().any(|one| one == form), "{form}: {of:?}");
        }
        assert_eq!(written("sk-a_b.c~1"), ["sk-a_b.c~1"], "most keys are written in one way");
        assert_eq!(meant("a%2Fb"), ["a%2Fb", "a/b"]);
        assert_eq!(meant("100%"), ["100%"]);
    }

    #[test]
    fn escapes_are_lowered_and_nothing_else_in_no_more_time_than_it_takes_to_read() {
        assert_eq!(lower_escapes("A%2FB%C3%A9C"), "A%2fB%c3%a9C");
        let text = "%2FA".repeat(1 << 18);
        let began = std::time::Instant::now();
        assert_eq!(lower_escapes(&text), "%2fA".repeat(1 << 18));
        assert!(began.elapsed().as_secs() < 20, "copying all of it for each percent takes minutes");
    }
}
