//! The tags Claude Code writes into message text: notifications of background work and messages of teammates.

use crate::prose::{PREVIEW_SOURCE_BYTES, attribute, preview, tag};
use crate::sink::Sink;
use memchr::memchr;
use unspool_model::prompt::text_hash;
use unspool_model::{AttrName, EventFlags, EventKind, KeyKind, LinkSource, Role, Timestamp};

const NOTIFICATION: &str = "<task-notification>";
const NOTIFICATION_END: &str = "</task-notification>";
const TEAMMATE: &str = "<teammate-message";
const TEAMMATE_END: &str = "</teammate-message>";

/// What the text of a user message turns out to be.
pub(crate) fn message_flags(text: &str) -> EventFlags {
    let mut flags = EventFlags::none();
    let start = text.trim_start();
    flags.set_if(opens_with(text, NOTIFICATION), EventFlags::NOTIFICATION);
    flags.set_if(opens_with(text, TEAMMATE), EventFlags::TEAMMATE);
    flags.set_if(start.starts_with("[Request interrupted by user"), EventFlags::INTERRUPTED);
    let command = ["<local-command-", "<bash-input>", "<bash-stdout>", "<bash-stderr>"];
    flags.set_if(command.iter().any(|tag| start.starts_with(tag)), EventFlags::COMMAND);
    flags.set_if(start.starts_with("<command-"), EventFlags::SLASH);
    flags
}

/// Whether a text is what the harness writes: it opens with the tag, or with one line and then the tag. A person who
/// writes about the tag is not the harness.
fn opens_with(text: &str, tag: &str) -> bool {
    let start = text.trim_start();
    let after_line = || {
        let end = memchr(b'\n', start.as_bytes())?;
        Some(start[..end].ends_with(':') && start[end + 1..].trim_start().starts_with(tag))
    };
    start.starts_with(tag) || after_line().unwrap_or(false)
}

/// The text inside a message wrapped by a team, and the summary on the wrapper.
pub(crate) fn unwrap_teammate(text: &str) -> Option<(&str, &str)> {
    if !opens_with(text, TEAMMATE) {
        return None;
    }
    let start = text.find(TEAMMATE)?;
    let open_end = start + text[start..].find('>')?;
    let opening = &text[start..open_end];
    let inner = &text[open_end + 1..];
    let inner = inner.find(TEAMMATE_END).map_or(inner, |end| &inner[..end]);
    Some((inner, attribute(opening, "summary").unwrap_or_default()))
}

/// What a person would want to see of a message: the command they typed rather than the tags around it.
pub(crate) fn shown_text(text: &str) -> String {
    // What an editor adds is not what the person said.
    if text.trim_start().starts_with("<ide_") {
        return String::new();
    }
    if let Some(command) = tag(text, "command-name") {
        return preview(&format!("{command} {}", tag(text, "command-args").unwrap_or_default()));
    }
    if let Some(summary) = tag(text, "summary").filter(|_| opens_with(text, NOTIFICATION)) {
        return preview(summary);
    }
    match unwrap_teammate(text) {
        Some((inner, _)) => preview(inner),
        None => preview(cut(text, PREVIEW_SOURCE_BYTES * 4)),
    }
}

fn cut(text: &str, max: usize) -> &str {
    let mut end = max.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Emits what every notification and teammate message in the text reports. `copy`: the same text also arrives
/// as a message.
pub(crate) fn emit_returns(text: &str, team: &str, copy: bool, at: Timestamp, out: &mut Sink<'_>) {
    let mut rest = if opens_with(text, NOTIFICATION) { text } else { "" };
    while let Some(start) = rest.find(NOTIFICATION) {
        let body = &rest[start + NOTIFICATION.len()..];
        let end = body.find(NOTIFICATION_END).unwrap_or(body.len());
        emit_notification(&body[..end], copy, at, out);
        rest = &body[end..];
    }
    let mut rest = if opens_with(text, TEAMMATE) { text } else { "" };
    while let Some(start) = rest.find(TEAMMATE) {
        let message = &rest[start..];
        let open_end = message.find('>').map_or(message.len(), |at| at + 1);
        // A message that nothing ends goes on to the next one.
        let body = &message[open_end..];
        let end = body.find(TEAMMATE_END).or_else(|| body.find(TEAMMATE)).unwrap_or(body.len());
        if let Some(name) = attribute(&message[..open_end], "teammate_id") {
            let full = if team.is_empty() { name.to_string() } else { format!("{name}@{team}") };
            out.begin(EventKind::AgentReturn, at).source(LinkSource::Teammate);
            out.key(KeyKind::Teammate, Role::Refers, &full);
            if let Some(hash) = text_hash(&body[..end]) {
                out.key(KeyKind::AnswerHash, Role::Provides, &hash);
            }
        }
        rest = &body[end..];
    }
}

fn emit_notification(body: &str, copy: bool, at: Timestamp, out: &mut Sink<'_>) {
    let (task, call) =
        (tag(body, "task-id").unwrap_or_default(), tag(body, "tool-use-id").unwrap_or_default());
    out.begin(EventKind::AgentReturn, at).source(LinkSource::Notification);
    if copy {
        out.flag(EventFlags::COPY);
    }
    out.key(KeyKind::Task, Role::Refers, task).key(KeyKind::ToolUse, Role::Refers, call);
    out.text(AttrName::Status, tag(body, "status").unwrap_or_default());
    if let Some(hash) = tag(body, "result").and_then(text_hash) {
        out.key(KeyKind::AnswerHash, Role::Provides, &hash);
    }
    if !task.is_empty() && !call.is_empty() {
        out.begin(EventKind::SpawnLink, at).source(LinkSource::Notification);
        out.key(KeyKind::ToolUse, Role::Refers, call).key(KeyKind::Agent, Role::Provides, task);
    }
}

#[cfg(test)]
mod tests {
    use super::unwrap_teammate;

    #[test]
    fn teammate_wrapper_comes_off() {
        let text = "<teammate-message teammate_id=\"lead\" summary=\"Do it\">\nBuild.\n</teammate-message>";
        assert_eq!(unwrap_teammate(text), Some(("\nBuild.\n", "Do it")));
        assert_eq!(unwrap_teammate("<teammate-message x"), None);
        assert_eq!(unwrap_teammate("plain"), None);
    }
}
