//! Gemini CLI: `tmp/<project>/chats/session-*.jsonl`, older ones as one JSON text.
//!
//! The log is a series of upserts: a message that is written again under its id is the same step once more. What a rewind
//! takes back still happened and its tokens were spent, so the steps stay and the rewind is a step of its own.

use crate::chat::{self, Head, Outcome, matching_lines, score};
use crate::exits;
use crate::format::{Descriptor, Format, Framing, Reader, Rejected, Scope, Sniff, folder, rejection, stem};
use crate::json::{Json, Kind};
use crate::object::{Object, elements};
use crate::sink::Sink;
use memchr::memmem;
use std::borrow::Cow;
use std::collections::BTreeSet;
use unspool_model::{AttrName, Code, EventFlags, EventKind, KeyKind, Role, Timestamp, Usage, Witness};

pub(crate) struct Gemini;

static DESCRIPTOR: Descriptor = Descriptor {
    id: "gemini-cli",
    title: "Gemini CLI chat",
    evidence: "Public chat logs of 2025 and 2026, also before 0.40 (one JSON text); sub-agents as the tool's source has them; checked \
               November 2026",
    witness: Witness::Transcript,
    in_order: true,
};

impl Format for Gemini {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn sniff(&self, _name: &str, head: &[u8]) -> Sniff {
        let has = |needle: &[u8]| memmem::find(head, needle).is_some();
        if !(has(b"\"gemini\"") || has(b"\"projectHash\"") || has(b"\"$set\"")) {
            return Sniff::NO;
        }
        // A text that goes over several lines is no log, though its lines may be messages.
        let first = head.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).find(|line| !line.is_empty());
        if first.is_none_or(|line| line.len() > 1 && !line.starts_with(b"{}")) {
            let score = score(matching_lines(head, is_line), 60, 96);
            if score > 0 {
                return Sniff { score, framing: Framing::Lines };
            }
        }
        let names = Object::names(head);
        let named = |name: &[u8]| names.contains(&name);
        let session = named(b"messages") && named(b"projectHash");
        let older = named(b"history") && has(b"\"gemini\"") && has(b"\"parts\"");
        Sniff { score: if session || older { 80 } else { 0 }, framing: Framing::Whole }
    }

    fn scope(&self, name: &str) -> Scope {
        // A sub-agent's file lies in a folder named after its parent's session.
        if folder(name, 2) == "chats" {
            let agent = stem(name).to_string();
            return Scope { session: folder(name, 1).to_string(), agent, ..Scope::default() };
        }
        Scope::default()
    }

    fn record_type(&self, record: &[u8]) -> String {
        let line = Object::of(record);
        let kind = line.first_text(&["type", "role"]);
        match line.fields().next() {
            Some((key, _)) if kind.is_empty() && key.starts_with(b"$") => {
                String::from_utf8_lossy(key).into_owned()
            }
            _ if kind.is_empty() => "session".into(),
            _ => kind.into_owned(),
        }
    }

    fn open(&self) -> Box<dyn Reader> {
        Box::new(State::default())
    }
}

fn is_line(line: &Object<'_>) -> bool {
    let kind = line.text("type");
    let message = matches!(kind.as_ref(), "user" | "gemini" | "info" | "error" | "warning");
    line.has("$set")
        || line.has("$rewindTo")
        || (line.has("sessionId") && line.has("projectHash"))
        || (message && line.has("id") && line.has("content") && !line.has("uuid"))
}

#[derive(Default)]
struct State {
    session: String,
    agent: String,
    model: String,
    known: BTreeSet<String>,
    /// Messages of the conversation as it stands.
    live: Vec<String>,
    /// The message a rewind went back to, until the next prompt.
    back_to: Option<String>,
    unnamed: u32,
    /// Somebody has said something.
    spoken: bool,
}

impl Reader for State {
    fn read(&mut self, record: &[u8], out: &mut Sink<'_>) -> Result<(), Rejected> {
        let whole =
            memmem::find(record, b"\"messages\"").is_some() || memmem::find(record, b"\"history\"").is_some();
        if whole && !record.trim_ascii_start().starts_with(b"{\"$") && is_session(&Object::of(record)) {
            return self.text(record, out);
        }
        let line = Object::read(record).map_err(|error| rejection(error, record))?;
        if let Some(set) = line.get("$set").map(Object::of) {
            self.update(&set, out);
        } else if line.has("$rewindTo") {
            self.rewind(&line.text("$rewindTo"), out);
        } else if line.has("type") {
            self.message(&line, out);
        } else if line.has("sessionId") {
            self.begin(&line, out);
        } else {
            out.issue(Code::UnknownType, "(none)");
        }
        Ok(())
    }
}

/// Whether an object is a session, not one of its messages. Its own fields may stand before or behind the messages.
fn is_session(object: &Object<'_>) -> bool {
    !object.has("type") && !object.has("role")
}

impl State {
    /// A session as one text; each message is a record.
    fn text(&mut self, text: &[u8], out: &mut Sink<'_>) -> Result<(), Rejected> {
        self.begin(&Object::of(text), out);
        let mut json = Json::new(text);
        json.object(|json, key| {
            if !matches!(key, b"messages" | b"history") || json.kind()? != Kind::Array {
                return json.skip();
            }
            json.array(|json| {
                let raw = json.raw()?;
                out.part(raw);
                self.message(&Object::of(raw), out);
                Ok(())
            })
        })
        .and_then(|()| json.end())
        .map_err(|error| rejection(error, text))
    }

    fn begin(&mut self, line: &Object<'_>, out: &mut Sink<'_>) {
        let at = line.time(if line.has("startTime") { "startTime" } else { "start_time" }, out);
        self.session = line.text("sessionId").into_owned();
        let stream = out.stream();
        let is_agent = line.text("kind") == "subagent" || !stream.agent.is_empty();
        if is_agent {
            self.agent = self.session.clone();
        }
        self.model = line.object("meta").text("model").into_owned();
        self.head("").open(if is_agent { EventKind::AgentInfo } else { EventKind::SessionInfo }, at, out);
        if is_agent {
            // Found by the folder's name, which is the parent's session.
            out.key_sym(KeyKind::ForkedFrom, Role::Refers, stream.session);
        }
        title(line, out);
    }

    fn head<'a>(&'a self, uuid: &'a str) -> Head<'a> {
        Head { session: &self.session, agent: &self.agent, uuid, ..Head::default() }
    }

    fn update(&mut self, set: &Object<'_>, out: &mut Sink<'_>) {
        if set.has("summary") {
            self.head("").open(EventKind::SessionInfo, Timestamp::NONE, out);
            title(set, out);
        }
        if let Some(messages) = set.get("messages") {
            self.replace(&elements(messages), out);
        }
    }

    /// The list replaces the conversation; what is known of it stays one step. Unknown messages open a file that goes on from
    /// another. After something was said, they are the summary that a compaction left, and history under new ids.
    fn replace(&mut self, messages: &[&[u8]], out: &mut Sink<'_>) {
        self.live.clear();
        let messages: Vec<Object<'_>> = messages.iter().map(|raw| Object::of(raw)).collect();
        let unknown = messages.iter().find(|message| !self.known.contains(message.text("id").as_ref()));
        let Some(unknown) = unknown.filter(|_| self.spoken) else {
            for message in &messages {
                self.message(message, out);
            }
            return;
        };
        let at = unknown.time("timestamp", out);
        self.head("").open(EventKind::Compaction, at, out);
        for message in &messages {
            let id = message.text("id").into_owned();
            self.known.insert(id.clone());
            self.live.push(id);
        }
    }

    fn rewind(&mut self, target: &str, out: &mut Sink<'_>) {
        let at = self.live.iter().position(|id| id == target).unwrap_or(self.live.len());
        self.live.truncate(at);
        self.back_to = Some(self.live.last().cloned().unwrap_or_default());
        self.head("").open(EventKind::System, Timestamp::NONE, out);
        out.name("rewind");
    }

    fn message(&mut self, message: &Object<'_>, out: &mut Sink<'_>) {
        let at = message.time(if message.has("ts") { "ts" } else { "timestamp" }, out);
        let mut id = message.text("id").into_owned();
        if id.is_empty() {
            out.identity_needs_place();
            id = format!("{}/{}", self.session, self.unnamed);
            self.unnamed += 1;
        }
        let again = !self.known.insert(id.clone());
        // What is written again is mostly what was written last.
        if !again || !self.live.iter().rev().any(|live| *live == id) {
            self.live.push(id.clone());
        }
        let kind = message.first_text(&["type", "role"]);
        match kind.as_ref() {
            "user" if !again => self.user(message, &id, at, out),
            "gemini" | "model" => self.answer(message, &id, at, out),
            "error" if !again => {
                self.head(&id).open(EventKind::System, at, out);
                let text = chat::texts(message.get("content")).concat();
                out.name("error").flag(EventFlags::API_ERROR).text(AttrName::ErrorText, &chat::shown(&text));
            }
            "info" | "warning" if !again => {
                let text = chat::texts(message.get("content")).concat();
                if text.trim() == "Request cancelled." {
                    self.head(&id).open(EventKind::UserMessage, at, out);
                    out.flag(EventFlags::INTERRUPTED).text(AttrName::Preview, &text);
                } else if !text.trim().is_empty() {
                    self.head(&id).open(EventKind::System, at, out);
                    out.name(&kind).text(AttrName::Preview, &chat::shown(&text));
                }
            }
            _ if again => {}
            other => out.issue(Code::UnknownType, if other.is_empty() { "(none)" } else { other }),
        }
    }

    fn user(&mut self, message: &Object<'_>, id: &str, at: Timestamp, out: &mut Sink<'_>) {
        let shown =
            message.get("displayContent").or_else(|| message.get("content")).or_else(|| message.get("parts"));
        let texts = chat::texts(shown);
        if texts.is_empty() && shown.is_some_and(|raw| memmem::find(raw, b"\"functionResponse\"").is_some()) {
            // What tools answered stands with their calls.
            return;
        }
        let first = texts.first().map(|text| text.trim_start()).unwrap_or_default();
        if first.starts_with("<session_context>") {
            return;
        }
        self.spoken = true;
        let parent = self.back_to.take().unwrap_or_default();
        Head { parent: &parent, ..self.head(id) }.open(EventKind::UserMessage, at, out);
        if first.starts_with('/') || first.starts_with('?') {
            out.flag(EventFlags::SLASH);
        }
        if first.starts_with("I ran the following shell command:") {
            out.flag(EventFlags::COMMAND);
        }
        chat::prompt(&texts, out);
    }

    fn answer(&mut self, message: &Object<'_>, id: &str, at: Timestamp, out: &mut Sink<'_>) {
        let model = message.text("model");
        if !model.is_empty() {
            self.model = model.into_owned();
        }
        self.head(id).open(EventKind::ModelCall, at, out);
        out.name(&self.model).key(KeyKind::Message, Role::Provides, id);
        let texts = chat::texts(message.get("content").or_else(|| message.get("parts")));
        chat::answer(&texts, !self.agent.is_empty(), out);
        let calls = message.list("toolCalls");
        if !calls.is_empty() {
            out.flag(EventFlags::HAS_TOOL_USE);
        }
        if let Some(tokens) = message.get("tokens").map(Object::of) {
            let cache_read = tokens.count("cached");
            out.usage(Usage {
                input: tokens.count("input").saturating_sub(cache_read) + tokens.count("tool"),
                cache_read,
                output: tokens.count("output"),
                reasoning: tokens.count("thoughts"),
                ..Usage::default()
            });
        }
        for call in calls {
            tool_call(&Object::of(call), at, out);
        }
    }
}

fn title(fields: &Object<'_>, out: &mut Sink<'_>) {
    let summary = fields.text("summary");
    if !summary.is_empty() {
        out.text(AttrName::Title, &chat::shown(&summary)).int(AttrName::TitleRank, 2);
    }
}

/// A call with what became of it. A message is written again when its calls have ended.
fn tool_call(call: &Object<'_>, asked: Timestamp, out: &mut Sink<'_>) {
    let (id, status) = (call.text("id"), call.text("status"));
    let at = call.time("timestamp", out);
    chat::call(&id, &call.text("name"), call.get("args"), asked, out);
    // A command that failed is a call that succeeded, to this client.
    let exited_badly =
        call.text("name") == "run_shell_command" && exits::failed(exits::in_tail(&response(call)));
    let failed = exited_badly || matches!(status.as_ref(), "error" | "cancelled" | "failed");
    if failed || status == "success" {
        let text = call.text("resultDisplay");
        let text = if text.is_empty() { response(call) } else { text };
        let outcome = Outcome { failed, text, status: status.clone(), duration_ms: None };
        chat::result(&id, &outcome, at, out);
        if status == "cancelled" {
            out.flag(EventFlags::DENIED);
        }
    }
    chat::spawned(&id, &call.text("agentId"), at, out);
}

fn response<'a>(call: &Object<'a>) -> Cow<'a, str> {
    let first = call.list("result").into_iter().next().map(Object::of).unwrap_or_default();
    first.object("functionResponse").object("response").first_text(&["error", "output"])
}
