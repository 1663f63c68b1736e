//! The tags Claude Code writes into message text: notifications of background work and messages of teammates.

use crate::prose::{PREVIEW_SOURCE_BYTES, attribute, preview, tag};
use crate::sink::Sink;
use unspool_model::prompt::text_hash;
use unspool_model::{AttrName, EventFlags, EventKind, KeyKind, Role, Timestamp};

const NOTIFICATION: &str = "<task-notification>";
const NOTIFICATION_END: &str = "</task-notification>";
const TEAMMATE: &str = "<teammate-message";
const TEAMMATE_END: &str = "</teammate-message>";

/// What the text of a user message turns out to be.
pub(crate) fn message_flags(text: &str) -> EventFlags {
    let mut flags = EventFlags::none();
    let start = text.trim_start();
    flags.set_if(text.contains(NOTIFICATION), EventFlags::NOTIFICATION);
    flags.set_if(text.contains(TEAMMATE), EventFlags::TEAMMATE);
    flags.set_if(start.starts_with("[Request interrupted by user"), EventFlags::INTERRUPTED);
    let command = ["<local-command-", "<bash-input>", "<bash-stdout>", "<bash-stderr>"];
    flags.set_if(command.iter().any(|tag| start.starts_with(tag)), EventFlags::COMMAND);
    flags.set_if(start.starts_with("<command-"), EventFlags::SLASH);
    flags
}

/// The text inside a message wrapped by a team, and the summary on the wrapper.
pub(crate) fn unwrap_teammate(text: &str) -> Option<(&str, &str)> {
    let start = text.find(TEAMMATE)?;
    let open_end = start + text[start..].find('>')?;
    let opening = &text[start..open_end];
    let inner = &text[open_end + 1..];
    let inner = inner.find(TEAMMATE_END).map_or(inner, |end| &inner[..end]);
    Some((inner, attribute(opening, "summary").unwrap_or_default()))
}

/// What a person would want to see of a message: the command they typed rather than the tags around it.
pub(crate) fn shown_text(text: &str) -> String {
    if let Some(command) = tag(text, "command-name") {
        return preview(&format!("{command} {}", tag(text, "command-args").unwrap_or_default()));
    }
    if let Some(summary) = tag(text, "summary").filter(|_| text.contains("<task-notification>")) {
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
    let mut rest = text;
    while let Some(start) = rest.find(NOTIFICATION) {
        let body = &rest[start + NOTIFICATION.len()..];
        let end = body.find(NOTIFICATION_END).unwrap_or(body.len());
        emit_notification(&body[..end], copy, at, out);
        rest = &body[end..];
    }
    let mut rest = text;
    while let Some(start) = rest.find(TEAMMATE) {
        let message = &rest[start..];
        let open_end = message.find('>').unwrap_or(message.len());
        if let Some(name) = attribute(&message[..open_end], "teammate_id") {
            let full = if team.is_empty() { name.to_string() } else { format!("{name}@{team}") };
            out.begin(EventKind::AgentReturn, at).name("teammate");
            out.key(KeyKind::Teammate, Role::Refers, &full);
            let said = message.get(open_end + 1..).unwrap_or_default();
            let said = said.find(TEAMMATE_END).map_or(said, |end| &said[..end]);
            if let Some(hash) = text_hash(said) {
                out.key(KeyKind::AnswerHash, Role::Provides, &hash);
            }
        }
        rest = &message[open_end..];
    }
}

fn emit_notification(body: &str, copy: bool, at: Timestamp, out: &mut Sink<'_>) {
    let (task, call) =
        (tag(body, "task-id").unwrap_or_default(), tag(body, "tool-use-id").unwrap_or_default());
    out.begin(EventKind::AgentReturn, at).name("notification");
    if copy {
        out.flag(EventFlags::COPY);
    }
    out.key(KeyKind::Task, Role::Refers, task).key(KeyKind::ToolUse, Role::Refers, call);
    out.text(AttrName::Status, tag(body, "status").unwrap_or_default());
    if let Some(hash) = tag(body, "result").and_then(text_hash) {
        out.key(KeyKind::AnswerHash, Role::Provides, &hash);
    }
    if !task.is_empty() && !call.is_empty() {
        out.begin(EventKind::SpawnLink, at).name("notification");
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
