//! Which conversation a request goes on from, as hashes.
//!
//! Every message is brought into one normal form (string or blocks, with or without cache marks, reminders and injected
//! system messages) and hashed onto what came before it, part by part, because an answer is one message in some requests and
//! several in others. So a request's whole history is one hash, and the hashes on the way to it are the histories it may go
//! on from: the answered request before it, or an earlier one if that was not recorded.
//!
//! Calls and their results count by their ids, because clients rewrite old results and re-order inputs; thinking does not
//! count, because clients drop it.

use rustc_hash::FxHashSet;
use std::borrow::Cow;
use unspool_model::prompt::without_reminders;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

/// Hashes one message after the other.
#[derive(Default)]
pub(super) struct History {
    /// Hash of all messages so far; 0 = none.
    now: u64,
    /// Hashes on the way, oldest first.
    before: Vec<u64>,
    /// Ids of calls and results seen so far: a message that repeats one is a client's mistake and does not count.
    seen: FxHashSet<u64>,
    message: Normal,
}

/// The normal form of one message, in the making.
#[derive(Default)]
struct Normal {
    /// A hash for each part.
    parts: Vec<u64>,
    ids: Vec<u64>,
}

/// The side of a conversation that speaks. What tools answer is said to the model as users' words are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Side {
    User,
    Model,
}

impl History {
    /// Adds words to the open message.
    pub(super) fn text(&mut self, text: &str) {
        let kept = without_reminders(text);
        let kept = kept.trim();
        if kept.is_empty() {
            return;
        }
        let kept =
            if kept.contains('\r') { Cow::Owned(kept.replace("\r\n", "\n")) } else { Cow::Borrowed(kept) };
        self.message.add(b't', kept.as_bytes());
    }

    /// Adds a call; without an id, its name and input tell it apart.
    pub(super) fn call(&mut self, id: &str, name: &str, input: &[u8]) {
        if id.is_empty() {
            self.message.add(b'n', name.as_bytes());
            self.message.add(b'i', input);
        } else {
            self.message.ids.push(xxh3_64_with_seed(id.as_bytes(), 1));
            self.message.add(b'c', id.as_bytes());
        }
    }

    /// Adds a result; without an id, its content tells it apart.
    pub(super) fn result(&mut self, id: &str, content: &[u8]) {
        if id.is_empty() {
            self.message.add(b'o', content);
        } else {
            self.message.ids.push(xxh3_64_with_seed(id.as_bytes(), 2));
            self.message.add(b'r', id.as_bytes());
        }
    }

    /// Adds an image, a document or what comes next.
    pub(super) fn other(&mut self, raw: &[u8]) {
        self.message.add(b'x', &xxh3_64(raw).to_le_bytes());
    }

    /// Ends the open message. Says whether it counts.
    pub(super) fn end(&mut self, side: Side) -> bool {
        let message = std::mem::take(&mut self.message);
        let repeats = message.ids.iter().any(|id| self.seen.contains(id));
        self.seen.extend(&message.ids);
        let counts = !message.parts.is_empty() && !repeats;
        if counts {
            if self.now != 0 {
                self.before.push(self.now);
            }
            let role = match side {
                Side::User => 1,
                Side::Model => 2,
            };
            for part in &message.parts {
                let seed = self.now.wrapping_mul(4).wrapping_add(role);
                self.now = xxh3_64_with_seed(&part.to_le_bytes(), seed).max(1);
            }
        }
        self.message = message.emptied();
        counts
    }

    /// The whole history; none when no message counts.
    pub(super) fn whole(&self) -> Option<u64> {
        (self.now != 0).then_some(self.now)
    }

    /// The histories this one may go on from, the longest first.
    pub(super) fn earlier(&self) -> impl Iterator<Item = u64> + '_ {
        self.before.iter().rev().copied()
    }

    /// The hash of this history with one more message, if that counts.
    pub(super) fn after(&self, message: impl FnOnce(&mut History)) -> Option<u64> {
        let mut more = History { now: self.now, ..History::default() };
        message(&mut more);
        (more.now != self.now).then_some(more.now)
    }

    /// How many messages count.
    pub(super) fn len(&self) -> usize {
        self.before.len() + usize::from(self.now != 0)
    }
}

impl Normal {
    fn add(&mut self, tag: u8, bytes: &[u8]) {
        self.parts.push(xxh3_64_with_seed(bytes, u64::from(tag)));
    }

    fn emptied(mut self) -> Normal {
        self.parts.clear();
        self.ids.clear();
        self
    }
}

/// The system prompt's hash after cutting what changes from call to call; none when nothing is left.
pub(super) fn system_hash<'t>(blocks: impl Iterator<Item = &'t str>) -> Option<u64> {
    let mut kept = String::new();
    for block in blocks {
        let text = without_reminders(block);
        let lines = text.lines().filter(|line| !line.trim_start().starts_with("x-anthropic-billing-header:"));
        let text = lines.collect::<Vec<_>>().join("\n");
        let text = text.trim();
        // A client's own prompt carries the project's state; which client it is, is what matters.
        let known = MARKERS.iter().find(|marker| text.starts_with(**marker));
        kept.push_str(known.copied().unwrap_or_else(|| stable(text).trim()));
    }
    (!kept.is_empty()).then(|| xxh3_64(kept.as_bytes()))
}

/// Clients that are known by how their system prompt begins.
const MARKERS: [&str; 3] = [
    "You are an interactive CLI tool that helps users with software engineering tasks",
    "You are Claude Code, Anthropic's official CLI for Claude",
    "You are an agent for Claude Code, Anthropic's official CLI for Claude",
];

/// The part before the first thing that changes from call to call.
fn stable(text: &str) -> &str {
    const VOLATILE: [&str; 5] =
        ["<transient_context>", "gitStatus:", "Current branch:", "Main branch", "Recent commits:"];
    let end = VOLATILE.iter().filter_map(|word| text.find(word)).min().unwrap_or(text.len());
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::{History, Side, system_hash};

    fn said(messages: &[(Side, &str)]) -> History {
        let mut history = History::default();
        for (side, text) in messages {
            history.text(text);
            history.end(*side);
        }
        history
    }

    #[test]
    fn a_history_goes_on_from_each_of_its_beginnings() {
        let one = said(&[(Side::User, "a")]);
        let two = said(&[(Side::User, "a"), (Side::Model, "b")]);
        let three = said(&[(Side::User, "a"), (Side::Model, "b"), (Side::User, "c")]);
        let earlier: Vec<u64> = three.earlier().collect();
        assert_eq!(earlier, [two.whole().unwrap_or(0), one.whole().unwrap_or(0)]);
    }

    #[test]
    fn who_speaks_and_what_is_said_matter_and_nothing_else() {
        let plain = said(&[(Side::User, "Do it")]).whole();
        assert_eq!(said(&[(Side::User, " Do it\r\n<system-reminder>x</system-reminder>")]).whole(), plain);
        assert_ne!(said(&[(Side::Model, "Do it")]).whole(), plain);
        assert_ne!(said(&[(Side::User, "Do"), (Side::User, "it")]).whole(), plain);
        assert_eq!(said(&[(Side::User, "<system-reminder>x</system-reminder>")]).whole(), None);
    }

    #[test]
    fn an_answer_is_the_same_in_one_message_or_several() {
        let mut one = said(&[(Side::User, "a")]);
        one.text("I look.");
        one.call("t1", "Read", b"{}");
        one.end(Side::Model);
        let mut two = said(&[(Side::User, "a"), (Side::Model, "I look.")]);
        two.call("t1", "Read", b"{}");
        two.end(Side::Model);
        assert_eq!(one.whole(), two.whole());
    }

    #[test]
    fn a_message_that_repeats_a_call_does_not_count() {
        let mut once = History::default();
        once.call("t1", "Read", b"{}");
        once.end(Side::Model);
        let mut twice = History::default();
        for _ in 0..2 {
            twice.call("t1", "Read", b"{}");
            twice.text("again");
            twice.end(Side::Model);
        }
        assert_eq!((once.len(), twice.len()), (1, 1));
    }

    #[test]
    fn volatile_parts_of_a_system_prompt_do_not_count() {
        let system_hash = |text: &str| system_hash([text].into_iter());
        let same = |a: &str, b: &str| assert_eq!(system_hash(a), system_hash(b));
        same(
            "x-anthropic-billing-header: a=1;\nYou are Claude Code",
            "x-anthropic-billing-header: a=2;\nYou are Claude Code",
        );
        same("Help.\ngitStatus: x", "Help.\ngitStatus: y");
        assert_eq!(system_hash("x-anthropic-billing-header: a=1;"), None);
        assert_ne!(system_hash("Help."), system_hash("Do not help."));
    }
}
