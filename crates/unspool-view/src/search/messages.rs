//! Texts that are messages: what was said to a model as JSON, as spans quote it.
//!
//! In: a text. Out: whether it is a message, a list of them or a request with one, whole or cut off, and nothing else. Other JSON, such as a tool's answer,
//! is a text as it stands.

use super::texts::string_end;

const ROLES: [&str; 7] = ["user", "assistant", "system", "tool", "model", "developer", "function"];
/// What a request calls its list of messages.
const LISTS: [&str; 4] = ["messages", "contents", "input", "prompt"];
/// What a message calls what it says.
const SAYING: [&str; 4] = ["content", "parts", "tool_calls", "message.content"];

/// An object or a list on the way to a message.
#[derive(Clone, Copy, Default)]
struct Level<'a> {
    is_list: bool,
    /// What has to be a message, or a list of them; but for a request, which is around one.
    is_meant: bool,
    key: &'a str,
    has_role: bool,
    says: bool,
}

impl Level<'_> {
    fn is_message(&self) -> bool {
        !self.is_list && self.is_meant && self.has_role && self.says
    }
}

#[derive(Default)]
struct Looking<'a> {
    /// A request, its list, a message. What lies deeper is that message's affair.
    levels: [Level<'a>; 3],
    depth: usize,
    messages: usize,
}

impl<'a> Looking<'a> {
    fn innermost(&mut self) -> Option<&mut Level<'a>> {
        self.levels.get_mut(self.depth.checked_sub(1)?)
    }

    fn open(&mut self, is_list: bool) {
        let depth = self.depth;
        let is_meant = match self.innermost() {
            None => depth == 0,
            Some(around) if is_list => depth == 1 && LISTS.contains(&around.key),
            Some(around) => around.is_list && around.is_meant,
        };
        self.depth += 1;
        if let Some(level) = self.innermost() {
            *level = Level { is_list, is_meant, ..Level::default() };
        }
    }

    /// False when something is no message that has to be one.
    fn close(&mut self) -> bool {
        let Some(level) = self.innermost().copied() else { return self.leave() };
        self.messages += usize::from(level.is_message());
        let is_request = self.depth == 1 && self.messages > 0;
        let is_fine = level.is_list || !level.is_meant || level.is_message() || is_request;
        is_fine && self.leave()
    }

    fn leave(&mut self) -> bool {
        let above = self.depth.checked_sub(1);
        self.depth = above.unwrap_or(0);
        above.is_some()
    }

    fn string(&mut self, word: &'a str, is_key: bool) {
        let Some(level) = self.innermost().filter(|level| !level.is_list) else { return };
        if is_key {
            level.key = word;
            level.says |= SAYING.contains(&word);
        } else if level.key == "role" {
            level.has_role |= ROLES.contains(&word);
        }
    }
}

/// Whether it is messages. Each is a text of its own then: the next request says it again and adds to it.
pub(super) fn holds_messages(text: &str) -> bool {
    if !text.trim_start().starts_with(['[', '{']) || !text.contains("\"role\"") {
        return false;
    }
    let bytes = text.as_bytes();
    let (mut looking, mut at) = (Looking::default(), 0);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'{' | b'[' => looking.open(*byte == b'['),
            b'}' | b']' => {
                if !looking.close() {
                    return false;
                }
                if looking.depth == 0 {
                    return looking.messages > 0 && text[at + 1..].trim_start().is_empty();
                }
            }
            b'"' => {
                let end = string_end(bytes, at + 1);
                let is_key = text.get(end + 1..).is_some_and(|rest| rest.trim_start().starts_with(':'));
                looking.string(text.get(at + 1..end).unwrap_or(""), is_key);
                at = end;
            }
            _ => {}
        }
        at += 1;
    }
    // Cut off: what is there may be the beginning of a message.
    looking.messages > 0 || looking.levels.iter().take(looking.depth).any(Level::is_message)
}
