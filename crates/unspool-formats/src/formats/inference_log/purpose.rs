//! What a client asks a model for besides its work: titles, topics, the paths in a command, whether there is quota left.
//!
//! Known by their path, by a header, or by words of their prompts. Old and new wordings stand side by side.

use super::request::Request;
use crate::json::RawStr;
use unspool_model::RequestKind;

/// Words of a system prompt that give a helper away.
const BY_SYSTEM: [(&str, RequestKind); 10] = [
    ("new conversation topic", RequestKind::Topic),
    ("write a 5-10 word title", RequestKind::Title),
    ("in under 50 characters", RequestKind::Title),
    ("concise title", RequestKind::Title),
    ("session title", RequestKind::Title),
    ("any file paths that this command reads or modifies", RequestKind::PathExtraction),
    ("policy_spec", RequestKind::CommandPrefix),
    ("verb in gerund form", RequestKind::StatusWord),
    ("tasked with summarizing conversations", RequestKind::Compaction),
    ("tasked with summarising conversations", RequestKind::Compaction),
];

/// Words that open the last message of a request for a summary of the whole conversation.
const COMPACTION: [&str; 2] = [
    "Your task is to create a detailed summary of",
    "CRITICAL: Respond with TEXT ONLY. Do NOT call any tools.",
];

/// Words in the only message of a request that give a helper away.
const BY_MESSAGE: [(&str, RequestKind); 4] = [
    ("any file paths that this command reads or modifies", RequestKind::PathExtraction),
    ("write a 5-10 word title", RequestKind::Title),
    ("in under 50 characters", RequestKind::Title),
    ("<policy_spec>", RequestKind::CommandPrefix),
];

/// What a request is for, when it is not the agent's work.
pub(super) fn purpose(path: &str, class: &str, request: &Request<'_>) -> Option<RequestKind> {
    if path.contains("count_tokens") || path.contains("input_tokens") {
        return Some(RequestKind::CountTokens);
    }
    if request.is_warm_up {
        return Some(RequestKind::WarmUp);
    }
    if class == "compaction" {
        return Some(RequestKind::Compaction);
    }
    let last: Vec<_> = request.words().map(RawStr::decode).collect();
    if last.iter().any(|text| COMPACTION.iter().any(|words| text.trim_start().starts_with(words))) {
        return Some(RequestKind::Compaction);
    }
    if request.messages <= 1
        && request.max_tokens == Some(1)
        && last.iter().any(|text| text.trim() == "quota")
    {
        return Some(RequestKind::Quota);
    }
    // Work is done with tools; what has none and says one of these is a helper.
    if !request.has_tools {
        let found = |table: &[(&str, RequestKind)], texts: &[std::borrow::Cow<'_, str>]| {
            let says = |words: &str| texts.iter().any(|text| text.contains(words));
            table.iter().find(|(words, _)| says(words)).map(|(_, purpose)| *purpose)
        };
        let found = found(&BY_SYSTEM, &request.system)
            .or_else(|| found(&BY_MESSAGE, &last).filter(|_| request.messages <= 2));
        if found.is_some() {
            return found;
        }
    }
    (class == "auxiliary").then_some(RequestKind::Auxiliary)
}

/// The command a helper was asked about.
pub(super) fn command(text: &str) -> Option<&str> {
    let rest = text.trim_start().strip_prefix("Command:")?;
    let end = rest.find("\nOutput:").unwrap_or(rest.len());
    Some(rest[..end].trim()).filter(|command| !command.is_empty())
}
