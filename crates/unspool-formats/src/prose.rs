//! Text of messages: what a person sees first of it, and the tags in it.

use memchr::memmem;
use unspool_model::prompt::without_reminders;
use unspool_model::without_codes;

/// The longest preview, in characters.
pub(crate) const PREVIEW_CHARS: usize = 160;

/// Bytes to decode for a preview, so that reminders at the front can be cut off first.
pub(crate) const PREVIEW_SOURCE_BYTES: usize = 2048;

/// The first words on one line, without what is meant for a terminal.
pub(crate) fn preview(text: &str) -> String {
    let text = without_reminders(text);
    let text = without_codes(&text);
    let mut out = String::new();
    let mut chars = 0;
    for word in text.split_whitespace() {
        if chars > 0 {
            out.push(' ');
            chars += 1;
        }
        for character in word.chars() {
            if chars >= PREVIEW_CHARS {
                out.push('…');
                return out;
            }
            out.push(character);
            chars += 1;
        }
    }
    out
}

/// The value of the first `<tag>…</tag>` in the text, trimmed.
pub(crate) fn tag<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let (open, close) = (format!("<{name}>"), format!("</{name}>"));
    let start = memmem::find(text.as_bytes(), open.as_bytes())? + open.len();
    let end = memmem::find(&text.as_bytes()[start..], close.as_bytes())?;
    Some(text[start..start + end].trim())
}

/// The value of `name="…"` in an opening tag.
pub(crate) fn attribute<'a>(opening_tag: &'a str, name: &str) -> Option<&'a str> {
    let needle = format!("{name}=\"");
    let start = opening_tag.find(&needle)? + needle.len();
    let end = opening_tag[start..].find('"')?;
    Some(&opening_tag[start..start + end])
}

#[cfg(test)]
mod tests {
    use super::{PREVIEW_CHARS, attribute, preview, tag};

    #[test]
    fn previews_are_one_bounded_line() {
        assert_eq!(preview(" a\n b\t\u{7}c "), "a b c");
        assert_eq!(preview("\u{1b}[1m\u{1b}[31mFAIL\u{1b}[0m src/a.rs"), "FAIL src/a.rs");
        assert_eq!(preview(&"é".repeat(500)).chars().count(), PREVIEW_CHARS + 1);
    }

    #[test]
    fn tags_and_attributes() {
        assert_eq!(tag("<a>\n x </a>", "a"), Some("x"));
        assert_eq!(tag("<a>x", "a"), None);
        assert_eq!(attribute("<m id=\"7\" c=\"\">", "id"), Some("7"));
    }
}
