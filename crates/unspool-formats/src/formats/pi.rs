//! pi and `OpenClaw`: `sessions/…/<time>_<session>.jsonl`, a tree of entries that name the entry they follow.
//!
//! Branches are ordinary: a prompt that follows an earlier entry than the last goes on from there.

use crate::chat::{self, Head, Outcome, matching_lines, score};
use crate::exits;
use crate::format::{Descriptor, Format, Framing, Reader, Rejected, Sniff, rejection, stem};
use crate::object::Object;
use crate::sink::Sink;
use memchr::memmem;
use std::collections::BTreeSet;
use unspool_model::{AttrName, Code, EventFlags, EventKind, KeyKind, Role, Timestamp, Usage, Witness};

pub(crate) struct Pi;

static DESCRIPTOR: Descriptor = Descriptor {
    id: "pi-session",
    title: "pi session",
    evidence: "Public session files of pi (version 3 of its format) and OpenClaw of 2026, with branches and a compaction; no sub-agents \
               seen; checked November 2026",
    witness: Witness::Transcript,
    in_order: true,
};

impl Format for Pi {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn sniff(&self, _name: &str, head: &[u8]) -> Sniff {
        let has = |needle: &[u8]| memmem::find(head, needle).is_some();
        let mine = has(b"\"parentId\"") || has(b"\"session\"");
        let test = |line: &Object<'_>| {
            let role = line.object("message").text("role");
            match line.text("type").as_ref() {
                "session" => line.has("id") && line.has("version") && line.has("timestamp"),
                "message" => line.has("parentId") && matches!(role.as_ref(), "toolResult" | "bashExecution"),
                "model_change" | "thinking_level_change" => line.has("id"),
                "compaction" => line.has("firstKeptEntryId"),
                _ => false,
            }
        };
        // Messages alone look like other agents' too; a session says so in its first lines.
        let (own, all) = if mine { matching_lines(head, test) } else { (0, 0) };
        Sniff { score: score((own.min(all), all), 80, 96), framing: Framing::Lines }
    }

    fn record_type(&self, record: &[u8]) -> String {
        let line = Object::of(record);
        let (kind, role) = (line.text("type"), line.object("message").text("role"));
        if role.is_empty() { kind.into_owned() } else { format!("{kind}/{role}") }
    }

    fn open(&self) -> Box<dyn Reader> {
        Box::new(State::default())
    }
}

#[derive(Default)]
struct State {
    session: String,
    model: String,
    known: BTreeSet<String>,
}

impl Reader for State {
    fn read(&mut self, record: &[u8], out: &mut Sink<'_>) -> Result<(), Rejected> {
        let line = Object::read(record).map_err(|error| rejection(error, record))?;
        let at = line.time("timestamp", out);
        let kind = line.text("type");
        if kind == "session" {
            self.session = line.text("id").into_owned();
            Head { session: &self.session, ..Head::default() }.open(EventKind::SessionInfo, at, out);
            let fork = line.text("parentSession");
            let fork = stem(&fork).rsplit('_').next().unwrap_or_default();
            out.key(KeyKind::ForkedFrom, Role::Refers, fork).surroundings(&line.text("cwd"), "");
            return Ok(());
        }
        // Ids are short and mean something only in their session.
        let scoped = |id: &str| if id.is_empty() { String::new() } else { format!("{}/{id}", self.session) };
        let (uuid, parent) = (scoped(&line.text("id")), scoped(&line.text("parentId")));
        let parent = if self.known.contains(&parent) { parent } else { String::new() };
        self.known.insert(uuid.clone());
        let session = self.session.clone();
        let head = Head { session: &session, uuid: &uuid, parent: &parent, ..Head::default() };
        self.entry(&kind, &line, &head, at, out);
        Ok(())
    }
}

impl State {
    fn entry(&mut self, kind: &str, line: &Object<'_>, head: &Head<'_>, at: Timestamp, out: &mut Sink<'_>) {
        match kind {
            "message" => self.message(&line.object("message"), head, at, out),
            "compaction" => {
                head.open(EventKind::Compaction, at, out);
            }
            "branch_summary" => {
                head.open(EventKind::System, at, out);
                out.name(kind).text(AttrName::Preview, &chat::shown(&line.text("summary")));
            }
            "custom_message" => {
                head.open(EventKind::UserMessage, at, out);
                out.flag(EventFlags::META);
                chat::prompt(&chat::texts(line.get("content")), out);
            }
            "session_info" => {
                head.open(EventKind::SessionInfo, at, out);
                out.text(AttrName::Title, &chat::shown(&line.text("name"))).int(AttrName::TitleRank, 3);
            }
            "model_change" => {
                self.model = line.text("modelId").into_owned();
                head.open(EventKind::Context, at, out);
            }
            "thinking_level_change" | "custom" | "label" => head.open(EventKind::Context, at, out),
            other => {
                out.issue(Code::UnknownType, if other.is_empty() { "(none)" } else { other });
                head.open(EventKind::Context, at, out);
            }
        }
    }

    fn message(&mut self, message: &Object<'_>, head: &Head<'_>, at: Timestamp, out: &mut Sink<'_>) {
        match message.text("role").as_ref() {
            "user" => {
                head.open(EventKind::UserMessage, at, out);
                chat::prompt(&chat::texts(message.get("content")), out);
            }
            "assistant" => self.answer(message, head, at, out),
            "toolResult" => {
                head.open(EventKind::ToolResult, at, out);
                out.name(&message.text("toolName"));
                let text = chat::texts(message.get("content")).into_iter().next().unwrap_or_default();
                let outcome = Outcome { failed: message.is("isError"), text, ..Outcome::default() };
                chat::result_facts(&message.text("toolCallId"), &outcome, out);
            }
            // A command a person ran beside the agent.
            "bashExecution" => {
                head.open(EventKind::ToolCall, at, out);
                out.name("bash").key(KeyKind::ToolUse, Role::Provides, head.uuid);
                out.text(AttrName::Summary, &chat::shown(&message.text("command")));
                let failed = exits::failed(exits::of_object(message)) || message.is("cancelled");
                let text = message.text("output");
                chat::result(head.uuid, &Outcome { failed, text, ..Outcome::default() }, at, out);
            }
            "system" | "custom" | "branchSummary" | "compactionSummary" => {
                head.open(EventKind::Context, at, out);
            }
            other => {
                out.issue(Code::UnknownType, &format!("message/{other}"));
                head.open(EventKind::Context, at, out);
            }
        }
    }

    fn answer(&mut self, message: &Object<'_>, head: &Head<'_>, at: Timestamp, out: &mut Sink<'_>) {
        let model = message.text("model");
        if !model.is_empty() {
            self.model = model.into_owned();
        }
        let id = message.text("responseId");
        head.open(EventKind::ModelCall, at, out);
        out.name(&self.model).key(
            KeyKind::Message,
            Role::Provides,
            if id.is_empty() { head.uuid } else { &id },
        );
        chat::answer(&chat::texts(message.get("content")), false, out);
        match message.text("stopReason").as_ref() {
            "error" => {
                out.flag(EventFlags::API_ERROR);
                out.text(AttrName::ErrorText, &chat::shown(&message.text("errorMessage")));
            }
            "aborted" => _ = out.flag(EventFlags::INTERRUPTED),
            _ => {}
        }
        if let Some(usage) = message.get("usage").map(Object::of) {
            let reasoning = usage.count("reasoning");
            out.usage(Usage {
                input: usage.count("input"),
                cache_read: usage.count("cacheRead"),
                cache_write: usage.count("cacheWrite"),
                cache_write_long: 0,
                output: usage.count("output").saturating_sub(reasoning),
                reasoning,
            });
        }
        let blocks = message.list("content").into_iter().map(Object::of);
        let calls: Vec<_> = blocks.filter(|block| block.text("type") == "toolCall").collect();
        if !calls.is_empty() {
            out.flag(EventFlags::HAS_TOOL_USE);
        }
        for call in calls {
            chat::call(&call.text("id"), &call.text("name"), call.get("arguments"), at, out);
        }
    }
}
