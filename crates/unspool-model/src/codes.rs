//! What tells a terminal about colours, titles and where to write, and does not belong into anything that is called something.

use std::borrow::Cow;

const ESCAPE: char = '\u{1b}';
const BELL: char = '\u{7}';
/// The same as an escape and `\`, in one character.
const STRING_END: char = '\u{9c}';

/// The text without what is meant for a terminal and without characters that cannot be seen. Line ends and tabs stay.
pub fn without_codes(text: &str) -> Cow<'_, str> {
    if !may_have_codes(text) {
        return Cow::Borrowed(text);
    }
    let Some(first) = text.find(is_code) else { return Cow::Borrowed(text) };
    let mut kept = String::with_capacity(text.len());
    kept.push_str(&text[..first]);
    let mut rest = &text[first..];
    while let Some(letter) = rest.chars().next() {
        let after = &rest[letter.len_utf8()..];
        rest = match letter {
            ESCAPE => after_escape(after),
            '\u{9b}' => after_sequence(after),
            '\u{90}' | '\u{98}' | '\u{9d}' | '\u{9e}' | '\u{9f}' => after_string(after),
            _ if is_code(letter) => after,
            _ => {
                let end = after.find(is_code).unwrap_or(after.len());
                kept.push(letter);
                kept.push_str(&after[..end]);
                &after[end..]
            }
        };
    }
    Cow::Owned(kept)
}

/// Looks at bytes without stopping, which is many at a time: nearly no text has any.
fn may_have_codes(text: &str) -> bool {
    let may = |byte: u8| byte < b' ' && !matches!(byte, b'\n' | b'\r' | b'\t') || matches!(byte, 0x7f | 0xc2);
    text.bytes().fold(false, |seen, byte| seen | may(byte))
}

fn is_code(letter: char) -> bool {
    letter.is_control() && !matches!(letter, '\n' | '\r' | '\t')
}

/// What follows an escape and what belongs to it.
fn after_escape(text: &str) -> &str {
    match text.chars().next() {
        Some('[') => after_sequence(&text[1..]),
        Some(']' | 'P' | 'X' | '^' | '_') => after_string(&text[1..]),
        Some(' '..='/') => one_of(text.trim_start_matches(|c| matches!(c, ' '..='/')), '0'..='~'),
        _ => one_of(text, '0'..='~'),
    }
}

/// Behind the numbers of a sequence and the letter that ends it.
fn after_sequence(text: &str) -> &str {
    let text = text.trim_start_matches(|c| matches!(c, '0'..='?'));
    one_of(text.trim_start_matches(|c| matches!(c, ' '..='/')), '@'..='~')
}

fn one_of(text: &str, letters: std::ops::RangeInclusive<char>) -> &str {
    text.strip_prefix(|c| letters.contains(&c)).unwrap_or(text)
}

/// Behind a string for the terminal. One that has no end goes as far as its line.
fn after_string(text: &str) -> &str {
    let Some(end) = text.find(['\n', BELL, ESCAPE, STRING_END]) else { return "" };
    let rest = &text[end..];
    ["\u{1b}\\", "\u{7}", "\u{9c}"].iter().find_map(|mark| rest.strip_prefix(mark)).unwrap_or(rest)
}

#[cfg(test)]
mod tests {
    use super::without_codes;

    #[test]
    fn what_is_for_a_terminal_goes() {
        for (text, kept) in [
            ("\u{1b}[32m✓\u{1b}[0m done", "✓ done"),
            ("\u{1b}[38;5;196mred\u{1b}[1;4K", "red"),
            ("\u{1b}]0;a title\u{7}said", "said"),
            ("see \u{1b}]8;;https://a.example\u{1b}\\here\u{1b}]8;;\u{1b}\\.", "see here."),
            ("\u{1b}(Bplain\u{1b}7\u{1b}M", "plain"),
            ("\u{9b}31mshort\u{9d}0;t\u{9c}!", "short!"),
            ("a\0b\u{8}c\u{7f}d\u{85}e", "abcde"),
            ("two\r\n\tlines", "two\r\n\tlines"),
            ("[31m] stays, é too", "[31m] stays, é too"),
        ] {
            assert_eq!(without_codes(text), kept);
        }
    }

    #[test]
    fn what_is_torn_takes_no_more_than_its_line() {
        for (text, kept) in [
            ("cut \u{1b}", "cut "),
            ("cut \u{1b}[38;5", "cut "),
            ("\u{1b}]0;no end\nthe next line", "\nthe next line"),
            ("\u{1b}[31é", "é"),
            ("\u{1b}\u{1b}[1mtwice", "twice"),
            ("\u{1b}]0;a\u{1b}[1mb", "b"),
        ] {
            assert_eq!(without_codes(text), kept);
        }
    }
}
