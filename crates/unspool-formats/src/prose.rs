//! Text of messages: what counts as the same prompt, and what a person sees first of it.

use std::borrow::Cow;
use xxhash_rust::xxh3::xxh3_128;

/// The longest preview, in characters.
pub const PREVIEW_CHARS: usize = 160;

/// Bytes to decode for a preview, so that reminders at the front can be cut off first.
pub const PREVIEW_SOURCE_BYTES: usize = 2048;

/// A hash of the text that survives what clients add and remove around it: reminders and outer white space.
pub fn text_hash(text: &str) -> Option<String> {
    let kept = without_reminders(text);
    let kept = kept.trim();
    (!kept.is_empty()).then(|| format!("{:032x}", xxh3_128(kept.as_bytes())))
}

/// The text without `<system-reminder>` blocks.
pub fn without_reminders(text: &str) -> Cow<'_, str> {
    without_blocks(text, "<system-reminder>", "</system-reminder>")
}

fn without_blocks<'a>(text: &'a str, open: &str, close: &str) -> Cow<'a, str> {
    if !text.contains(open) {
        return Cow::Borrowed(text);
    }
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(open) {
        kept.push_str(&rest[..start]);
        match rest[start..].find(close) {
            Some(end) => rest = &rest[start + end + close.len()..],
            None => return Cow::Owned(kept),
        }
    }
    kept.push_str(rest);
    Cow::Owned(kept)
}

/// The first words on one line.
pub fn preview(text: &str) -> String {
    let text = without_reminders(text);
    let mut out = String::new();
    let mut chars = 0;
    for word in text.split_whitespace() {
        if chars > 0 {
            out.push(' ');
            chars += 1;
        }
        for character in word.chars().filter(|c| !c.is_control()) {
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
pub fn tag<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let (open, close) = (format!("<{name}>"), format!("</{name}>"));
    let start = text.find(&open)? + open.len();
    let end = text[start..].find(&close)?;
    Some(text[start..start + end].trim())
}

/// The value of `name="…"` in an opening tag.
pub fn attribute<'a>(opening_tag: &'a str, name: &str) -> Option<&'a str> {
    let needle = format!("{name}=\"");
    let start = opening_tag.find(&needle)? + needle.len();
    let end = opening_tag[start..].find('"')?;
    Some(&opening_tag[start..start + end])
}

#[cfg(test)]
mod tests {
    use super::{PREVIEW_CHARS, attribute, preview, tag, text_hash};

    #[test]
    fn reminders_and_outer_space_do_not_make_another_prompt() {
        let plain = text_hash("Find the bug.");
        assert_eq!(text_hash("  Find the bug.\n"), plain);
        assert_eq!(text_hash("<system-reminder>be kind</system-reminder>\nFind the bug."), plain);
        assert_eq!(text_hash("Find the bug.<system-reminder>torn"), plain);
        assert_ne!(text_hash("Find the  bug."), plain, "inner white space is content");
        assert_eq!(text_hash("<system-reminder>x</system-reminder>"), None);
    }

    #[test]
    fn previews_are_one_bounded_line() {
        assert_eq!(preview(" a\n b\t\u{7}c "), "a b c");
        assert_eq!(preview(&"é".repeat(500)).chars().count(), PREVIEW_CHARS + 1);
    }

    #[test]
    fn tags_and_attributes() {
        assert_eq!(tag("<a>\n x </a>", "a"), Some("x"));
        assert_eq!(tag("<a>x", "a"), None);
        assert_eq!(attribute("<m id=\"7\" c=\"\">", "id"), Some("7"));
    }
}
