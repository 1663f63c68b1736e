//! How wide text is, without a font: by a table for the usual sans-serif letters, and in columns for terminals.
//!
//! In: text. Out: widths, and text cut to a width with an ellipsis. Never here: a font file.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Thousandths of the font size for the characters from space to tilde in Helvetica and its likes.
const ASCII: [u16; 95] = [
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556, 556, 556,
    556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667, 611, 778, 722, 278,
    500, 667, 556, 833, 722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469,
    556, 333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556, 556, 556, 333, 500,
    278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
];
/// Letters of other alphabets.
const USUAL: u16 = 600;
/// Characters as wide as high.
const WIDE: u16 = 1100;

fn thousandths(character: char) -> u16 {
    let at = (character as usize).checked_sub(0x20);
    match at.and_then(|at| ASCII.get(at)) {
        Some(width) => *width,
        None => match character.width() {
            Some(0) | None => 0,
            Some(1) => USUAL,
            Some(_) => WIDE,
        },
    }
}

/// Width in the unit of the font size.
pub(crate) fn text_width(text: &str, font_size: f64) -> f64 {
    let sum: u32 =
        text.chars().map(|character| u32::from(thousandths(character))).fold(0, u32::saturating_add);
    f64::from(sum) / 1000.0 * font_size
}

/// The text cut to a width, with an ellipsis when cut.
pub(crate) fn cut_to(text: &str, font_size: f64, room: f64) -> String {
    let ellipsis = text_width("…", font_size);
    let mut width = 0.0;
    let mut end = 0;
    for (at, character) in text.char_indices() {
        width += f64::from(thousandths(character)) / 1000.0 * font_size;
        if width <= room - ellipsis {
            end = at + character.len_utf8();
        }
        if width > room {
            return format!("{}…", whole(&text[..end]).trim_end());
        }
    }
    text.to_string()
}

/// Without half of a joined character at the end.
fn whole(text: &str) -> &str {
    text.trim_end_matches('\u{200D}')
}

/// Columns of a terminal: two for most East Asian characters and emoji, none for combining marks.
pub(crate) fn columns(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.width() }
}

/// How many characters may stand in one column.
const MOST_MARKS: usize = 16;

/// The text cut to a number of columns, with an ellipsis when cut.
pub(crate) fn cut_to_columns(text: &str, room: usize, ellipsis: &str) -> String {
    if columns(text) <= room {
        return text.to_string();
    }
    let room = room.saturating_sub(columns(ellipsis));
    // Marks that take no room could go on for ever, and every beginning is measured anew: joined characters have a width of their own.
    let most = room.saturating_add(1).saturating_mul(MOST_MARKS);
    let mut end = 0;
    for (at, character) in text.char_indices().take(most) {
        let next = at + character.len_utf8();
        if columns(&text[..next]) > room {
            break;
        }
        end = next;
    }
    format!("{}{ellipsis}", whole(&text[..end]).trim_end())
}

/// Text in one line, without characters that could move a cursor, turn directions around or break a document.
pub(crate) fn plain(text: &str) -> String {
    let mut line = String::with_capacity(text.len().min(4096));
    for character in text.chars() {
        let is_blank = character.is_whitespace() || character.is_control() || is_direction(character);
        match is_blank {
            true if line.ends_with(' ') || line.is_empty() => {}
            true => line.push(' '),
            false => line.push(character),
        }
    }
    line.truncate(line.trim_end().len());
    line
}

/// Marks that turn the direction of text around.
fn is_direction(character: char) -> bool {
    matches!(character, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' | '\u{200E}' | '\u{200F}' | '\u{061C}')
}

#[cfg(test)]
mod tests {
    use super::{columns, cut_to, cut_to_columns, plain, text_width};

    #[test]
    fn what_is_cut_fits() {
        for text in [
            "a usual label that is long",
            "修复结账总额的很长标题",
            "👩\u{200D}👩\u{200D}👧👩\u{200D}👧 go",
            "",
        ] {
            for room in 1u16..40 {
                assert!(
                    text_width(&cut_to(text, 12.0, f64::from(room) + 8.0), 12.0) <= f64::from(room) + 8.0
                );
                let columns = columns(&cut_to_columns(text, room.into(), "…"));
                assert!(columns <= usize::from(room), "{text} {room}");
            }
        }
    }

    #[test]
    fn marks_without_end_are_cut() {
        let marks = format!("a{}b", "\u{301}".repeat(100_000));
        assert!(super::cut_to_columns(&marks, 1, "").len() < 1_000);
        assert_eq!(super::cut_to_columns("äöüß", 3, "…"), "äö…");
    }

    #[test]
    fn plain_text_is_one_line() {
        assert_eq!(plain(" a\n\tb\u{1b}[31m\u{202E}c\0 "), "a b [31m c");
    }
}
