//! Colours and errors on a terminal. Streams that are no terminal get plain text.

use anstyle::{AnsiColor, Style};
use std::io::{IsTerminal, Write};
use unicode_width::UnicodeWidthStr;

pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const DIM: Style = Style::new().dimmed();
pub(crate) const RED: Style = AnsiColor::Red.on_default();
pub(crate) const YELLOW: Style = AnsiColor::Yellow.on_default();
pub(crate) const GREEN: Style = AnsiColor::Green.on_default();
pub(crate) const CYAN: Style = AnsiColor::Cyan.on_default();
pub(crate) const PLAIN: Style = Style::new();

/// Text in a style.
pub(crate) fn paint(style: Style, text: &str) -> String {
    if style == PLAIN { text.to_string() } else { format!("{style}{text}{style:#}") }
}

/// How many things a text may have meant are listed.
const SHOWN_CANDIDATES: usize = 8;

/// An error line with what may have been meant and a hint, on standard error.
pub(crate) fn error_line(message: &str, candidates: &[String], hint: Option<&str>) {
    let mut err = anstream::stderr().lock();
    let _ = writeln!(err, "{}: {}", paint(RED.bold(), "error"), plain(message));
    for candidate in candidates.iter().take(SHOWN_CANDIDATES) {
        let _ = writeln!(err, "  {}", plain(candidate));
    }
    if candidates.len() > SHOWN_CANDIDATES {
        let _ = writeln!(err, "  … and {} more", candidates.len() - SHOWN_CANDIDATES);
    }
    if let Some(hint) = hint {
        let _ = writeln!(err, "{}: {hint}", paint(CYAN, "hint"));
    }
}

/// A note on standard error.
pub(crate) fn note(message: &str) {
    let _ = writeln!(anstream::stderr().lock(), "{}: {}", paint(YELLOW, "note"), plain(message));
}

/// The narrowest screen that is drawn for; below it, lines wrap.
const MIN_COLUMNS: usize = 40;
/// The width of a tree that goes to a file or a program: its figures stand at the right edge.
const PIPED_COLUMNS: usize = 120;

/// The width of a terminal that does not say how wide it is.
const USUAL_COLUMNS: usize = 80;

/// How many columns the reader has: `COLUMNS` if set, else those of the terminal; `None` when the output goes elsewhere.
pub(crate) fn columns() -> Option<usize> {
    let set = std::env::var("COLUMNS").ok().and_then(|text| text.trim().parse::<usize>().ok());
    let columns = set.filter(|columns| *columns > 0).or_else(|| {
        let out = std::io::stdout();
        let size = || terminal_size::terminal_size_of(&out).map(|(width, _)| width.0.into());
        out.is_terminal().then(|| size().unwrap_or(USUAL_COLUMNS))
    })?;
    Some(columns.max(MIN_COLUMNS))
}

/// The width to draw to.
pub(crate) fn width() -> usize {
    columns().unwrap_or(PIPED_COLUMNS).min(240)
}

/// How many columns a text takes: two for most East Asian characters and emoji, none for combining marks.
pub(crate) fn text_width(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.width() }
}

/// Text from records without control characters, which could move the cursor or change colours.
pub(crate) fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() || is_direction(c) { ' ' } else { c }).collect()
}

/// Marks that turn the direction of text around.
fn is_direction(c: char) -> bool {
    matches!(c, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

/// The text cut to a number of columns, with an ellipsis when cut.
pub(crate) fn cut(text: &str, max: usize) -> String {
    let mut text = plain(text);
    if text_width(&text) <= max {
        return text;
    }
    let room = max.saturating_sub(1);
    text.truncate(fitting(&text, room));
    text.push('…');
    text
}

/// How many bytes of the text fit into this many columns. Never ends inside a joined emoji.
fn fitting(text: &str, columns: usize) -> usize {
    let ascii = text.bytes().take(columns + 1).take_while(u8::is_ascii).count();
    if ascii > columns {
        return columns;
    }
    let ends = text.char_indices().map(|(at, character)| at + character.len_utf8());
    let fits = ends.take_while(|end| text_width(&text[..*end]) <= columns).last().unwrap_or(0);
    let mut fitting = &text[..fits];
    while let Some(start) = fitting.strip_suffix(JOINER) {
        fitting = &start[..start.char_indices().next_back().map_or(0, |(at, _)| at)];
    }
    fitting.len()
}

/// Makes one emoji of several.
const JOINER: char = '\u{200D}';

/// Sentences with ` · ` between them, broken into lines that fit.
pub(crate) fn lines_of(parts: &[String], columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for part in parts {
        match lines.last_mut() {
            Some(line) if text_width(line) + 3 + text_width(part) <= columns => {
                line.push_str(" · ");
                line.push_str(part);
            }
            _ => lines.push(part.clone()),
        }
    }
    lines
}

/// Text broken between words into lines that fit; a word that is too long is cut.
pub(crate) fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if text_width(line) + 1 + text_width(word) <= columns => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(cut(word, columns)),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::{cut, lines_of, text_width, wrapped};

    #[test]
    fn width_is_what_a_terminal_shows() {
        assert_eq!(text_width("abc"), 3);
        assert_eq!(text_width("日本語"), 6);
        assert_eq!(text_width("e\u{301}"), 1);
        assert_eq!(text_width("👩\u{200D}👩\u{200D}👧"), 2);
        assert_eq!(text_width("❤\u{FE0F}"), 2);
    }

    #[test]
    fn what_is_cut_fits() {
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(cut("abcd", 3), "ab…");
        assert_eq!(cut("日本語", 6), "日本語");
        assert_eq!(cut("日本語", 5), "日本…");
        assert_eq!(cut("日本語", 4), "日…", "half a character is none");
        assert_eq!(cut("ae\u{301}b", 2), "a…");
        assert_eq!(cut("e\u{301}bc", 2), "e\u{301}…", "a mark stays with its letter");
        for max in 0..12 {
            for text in [
                "a👩\u{200D}👩\u{200D}👧b👩\u{200D}👧",
                "❤\u{FE0F}❤\u{FE0F}❤\u{FE0F}",
                "修复结账总额",
                "a\tb\u{202E}c",
            ] {
                let short = cut(text, max);
                assert!(text_width(&short) <= max.max(1), "{max}: {short}");
                assert!(!short.contains("\u{200D}…"), "{max}: {short}");
            }
        }
    }

    #[test]
    fn text_is_broken_between_words() {
        assert_eq!(wrapped("one two  three four", 9), ["one two", "three", "four"]);
        assert_eq!(wrapped("overlong x", 5), ["over…", "x"]);
        assert!(wrapped("", 5).is_empty());
    }

    #[test]
    fn sentences_are_broken_between() {
        let parts = ["one", "two", "three"].map(String::from);
        assert_eq!(lines_of(&parts, 9), ["one · two", "three"]);
        assert_eq!(lines_of(&parts, 2), ["one", "two", "three"]);
    }
}
