//! The summary that a compacted conversation goes on from, found on both sides: in the answer that wrote it and in the
//! message that carries it.

use xxhash_rust::xxh3::xxh3_64;

/// How a message begins that carries the summary of a conversation.
const CARRIES: &str = "This session is being continued from a previous conversation that ran out of context";

/// Where the carried summary begins, old wording and new.
const BEGINS: [&str; 2] = ["The conversation is summarized below:", "Summary:"];

/// What clients write behind it.
const ENDS: [&str; 3] = [
    "Please continue the conversation",
    "If you need specific details from before compaction",
    "Continue the conversation from where it left off",
];

/// A summary is compared by its first letters and digits, this many.
const COMPARED: usize = 2000;

/// Shorter ones tell nothing apart.
const SHORTEST: usize = 40;

/// The summary a message carries.
pub(super) fn carried(text: &str) -> Option<&str> {
    let start = memchr::memmem::find(text.as_bytes(), CARRIES.as_bytes())? + CARRIES.len();
    let rest = &text[start..];
    let start = BEGINS.iter().filter_map(|words| rest.find(words).map(|at| at + words.len())).min()?;
    let rest = &rest[start..];
    let end = ENDS.iter().filter_map(|words| rest.find(words)).min().unwrap_or(rest.len());
    Some(rest[..end].trim().trim_end_matches('.').trim_end())
}

/// The hash of the summary a message carries.
pub(super) fn carried_hash(text: &str) -> Option<u64> {
    carried(text).and_then(|summary| hash(core(summary)))
}

/// Hashes of the summaries an answer may hold: what its tags enclose, and the whole of it.
pub(super) fn written_hashes(text: &str) -> impl Iterator<Item = u64> {
    let (inner, whole) = (hash(core(text)), hash(text));
    inner.into_iter().chain(whole.filter(|_| whole != inner))
}

/// The summary itself, without the analysis before it.
fn core(text: &str) -> &str {
    let text = match (text.find("<summary>"), text.find("\nSummary:")) {
        (Some(at), _) => &text[at + "<summary>".len()..],
        (None, Some(at)) => &text[at + "\nSummary:".len()..],
        (None, None) => text.strip_prefix("Summary:").unwrap_or(text),
    };
    &text[..text.find("</summary>").unwrap_or(text.len())]
}

fn hash(text: &str) -> Option<u64> {
    let kept: String = text.chars().filter(|c| c.is_alphanumeric()).take(COMPARED).collect();
    (kept.chars().count() >= SHORTEST).then(|| xxh3_64(kept.to_lowercase().as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::{carried, carried_hash, written_hashes};

    const BODY: &str = "1. Primary Request and Intent:\n   Implement the sixth task of the third milestone";

    #[test]
    fn both_wordings_are_cut_out() {
        let old = "This session is being continued from a previous conversation that ran out of context. The \
                   conversation is summarized below:\nS\nPlease continue the conversation from where we left it off.";
        assert_eq!(carried(old), Some("S"));
        assert_eq!(carried("Summary: nothing"), None);
    }

    #[test]
    fn the_answer_and_the_message_meet() {
        let message = format!(
            "This session is being continued from a previous conversation that ran out of context. The summary below \
             covers it.\n\nSummary:\n{BODY}\nIf you need specific details from before compaction, read it."
        );
        let answer = format!("<analysis>\nwords\n</analysis>\n\n<summary>\n{BODY}\n</summary>");
        let hash = carried_hash(&message);
        assert!(hash.is_some());
        assert!(written_hashes(&answer).any(|written| Some(written) == hash));
        let old = format!(
            "This session is being continued from a previous conversation that ran out of context. The conversation \
             is summarized below:\nAnalysis:\nwords\n\nSummary:\n{BODY}."
        );
        assert_eq!(carried_hash(&old), hash);
    }
}
