//! What a client asks a model for besides its work: titles, topics, the paths in a command, whether there is quota left.
//!
//! Known by their path, by a header, or by words of their prompts. Old and new wordings stand side by side.

use super::request::Request;
use crate::json::RawStr;

/// Words of a system prompt that give a helper away.
const BY_SYSTEM: [(&str, &str); 10] = [
    ("new conversation topic", "topic"),
    ("write a 5-10 word title", "title"),
    ("in under 50 characters", "title"),
    ("concise title", "title"),
    ("session title", "title"),
    ("any file paths that this command reads or modifies", "path_extraction"),
    ("policy_spec", "command_prefix"),
    ("verb in gerund form", "status_word"),
    ("tasked with summarizing conversations", "compaction"),
    ("tasked with summarising conversations", "compaction"),
];

/// Words that open the last message of a request for a summary of the whole conversation.
const COMPACTION: [&str; 2] = [
    "Your task is to create a detailed summary of",
    "CRITICAL: Respond with TEXT ONLY. Do NOT call any tools.",
];

/// Words in the only message of a request that give a helper away.
const BY_MESSAGE: [(&str, &str); 4] = [
    ("any file paths that this command reads or modifies", "path_extraction"),
    ("write a 5-10 word title", "title"),
    ("in under 50 characters", "title"),
    ("<policy_spec>", "command_prefix"),
];

/// What a request is for, when it is not the agent's work.
pub(super) fn purpose(path: &str, class: &str, request: &Request<'_>) -> Option<&'static str> {
    if path.contains("count_tokens") || path.contains("input_tokens") {
        return Some("count_tokens");
    }
    if class == "compaction" {
        return Some("compaction");
    }
    let last: Vec<_> = request.words().map(RawStr::decode).collect();
    if last.iter().any(|text| COMPACTION.iter().any(|words| text.trim_start().starts_with(words))) {
        return Some("compaction");
    }
    if request.messages <= 1
        && request.max_tokens == Some(1)
        && last.iter().any(|text| text.trim() == "quota")
    {
        return Some("quota");
    }
    // Work is done with tools; what has none and says one of these is a helper.
    if !request.has_tools {
        let found = |table: &[(&str, &'static str)], texts: &[std::borrow::Cow<'_, str>]| {
            let says = |words: &str| texts.iter().any(|text| text.contains(words));
            table.iter().find(|(words, _)| says(words)).map(|(_, purpose)| *purpose)
        };
        let found = found(&BY_SYSTEM, &request.system)
            .or_else(|| found(&BY_MESSAGE, &last).filter(|_| request.messages <= 2));
        if found.is_some() {
            return found;
        }
    }
    (class == "auxiliary").then_some("auxiliary")
}

/// The command a helper was asked about.
pub(super) fn command(text: &str) -> Option<&str> {
    let rest = text.trim_start().strip_prefix("Command:")?;
    let end = rest.find("\nOutput:").unwrap_or(rest.len());
    Some(rest[..end].trim()).filter(|command| !command.is_empty())
}
