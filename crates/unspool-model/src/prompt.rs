//! What counts as the same prompt.

use std::borrow::Cow;
use xxhash_rust::xxh3::xxh3_64;

/// A hash of the text that survives what clients add and remove around it: reminders and outer white space.
pub fn text_hash(text: &str) -> Option<String> {
    let kept = without_reminders(text);
    let kept = kept.trim();
    (!kept.is_empty()).then(|| format!("{:016x}", xxh3_64(kept.as_bytes())))
}

/// A small hash of what a tool was given, to tell whether it was given the same again.
pub fn input_hash(input: &[u8]) -> u32 {
    let hash = xxh3_64(input.trim_ascii());
    u32::try_from((hash ^ (hash >> 32)) & u64::from(u32::MAX)).unwrap_or(0)
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

#[cfg(test)]
mod tests {
    use super::text_hash;

    #[test]
    fn reminders_and_outer_space_do_not_make_another_prompt() {
        let plain = text_hash("Find the bug.");
        assert_eq!(text_hash("  Find the bug.\n"), plain);
        assert_eq!(text_hash("<system-reminder>be kind</system-reminder>\nFind the bug."), plain);
        assert_eq!(text_hash("Find the bug.<system-reminder>torn"), plain);
        assert_ne!(text_hash("Find the  bug."), plain, "inner white space is content");
        assert_eq!(text_hash("<system-reminder>x</system-reminder>"), None);
    }
}
