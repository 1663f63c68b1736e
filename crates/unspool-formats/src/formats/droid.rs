//! Factory Droid: session files (`sessions/…/<session>.jsonl`) and the stream that `droid exec --output-format stream-json` prints.

use crate::chat::{self, Head, Outcome, matching_lines, score};
use crate::exits;
use crate::format::{Descriptor, Format, Framing, Reader, Rejected, Sniff, rejection};
use crate::object::{Object, elements};
use crate::sink::Sink;
use memchr::memmem;
use unspool_model::{AttrName, Code, EventFlags, EventKind, KeyKind, Role, Timestamp, Usage, Witness};

pub(crate) struct Droid;

static DESCRIPTOR: Descriptor = Descriptor {
    id: "droid",
    title: "Factory Droid session",
    evidence: "Small public files of 0.81, both shapes; tokens only at the end of a stream, no sub-agents seen; checked November 2026",
    witness: Witness::Transcript,
    in_order: true,
};

impl Format for Droid {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn sniff(&self, _name: &str, head: &[u8]) -> Sniff {
        let has = |needle: &[u8]| memmem::find(head, needle).is_some();
        if !(has(b"\"session_start\"") || has(b"\"session_id\"") || has(b"\"sessionId\"")) {
            return Sniff::NO;
        }
        let stream = |line: &Object<'_>| line.has("session_id") || line.has("sessionId");
        let test = |line: &Object<'_>| match line.text("type").as_ref() {
            "session_start" => line.has("id") && !line.has("data"),
            "message" if stream(line) => line.has("role") && line.has("text"),
            "tool_call" => stream(line) && (line.has("toolName") || line.has("toolId")),
            "tool_result" => stream(line) && (line.has("toolCallId") || line.has("toolId")),
            "completion" => stream(line) && line.has("finalText"),
            _ => false,
        };
        Sniff { score: score(matching_lines(head, test), 80, 96), framing: Framing::Lines }
    }

    fn record_type(&self, record: &[u8]) -> String {
        let line = Object::of(record);
        let role = line.object("message").text("role");
        let role = if role.is_empty() { line.text("role") } else { role };
        let kind = line.text("type");
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
    /// The last model call, which the end of a stream tells the tokens and words of.
    call: String,
    calls: u32,
    asked: bool,
}

impl Reader for State {
    fn read(&mut self, record: &[u8], out: &mut Sink<'_>) -> Result<(), Rejected> {
        let line = Object::read(record).map_err(|error| rejection(error, record))?;
        let at = line.time("timestamp", out);
        let session = line.first_text(&["session_id", "sessionId"]);
        if !session.is_empty() {
            self.session = session.into_owned();
        }
        let session = self.session.clone();
        let head = Head { session: &session, ..Head::default() };
        let kind = line.text("type");
        match kind.as_ref() {
            "session_start" => {
                self.session = line.text("id").into_owned();
                Head { session: &self.session, ..head }.open(EventKind::SessionInfo, at, out);
                let title = line.first_text(&["sessionTitle", "title"]);
                out.text(AttrName::Title, &chat::shown(&title)).int(AttrName::TitleRank, 2);
                out.surroundings(&line.text("cwd"), &line.text("version"));
            }
            "message" if line.has("message") => self.stored(&line, &head, at, out),
            "message" => self.streamed(&line, &head, at, out),
            "system" => {
                self.model = line.text("model").into_owned();
                head.open(EventKind::SessionInfo, at, out);
                out.surroundings(&line.text("cwd"), "");
            }
            "tool_call" => {
                if !self.asked {
                    self.next_call("");
                }
                self.asked = true;
                self.call_event(&head, at, out);
                out.flag(EventFlags::HAS_TOOL_USE);
                let name = line.first_text(&["toolName", "toolId"]);
                let id = line.first_text(&["toolCallId", "id"]);
                chat::call(&id, &name, line.get("parameters"), at, out);
            }
            "tool_result" => {
                let id = line.first_text(&["toolCallId", "id"]);
                head.open(EventKind::ToolResult, at, out);
                let failed = line.is("isError") || exits::failed(exits::of_object(&line.object("value")));
                let text = line.text("value");
                chat::result_facts(&id, &Outcome { failed, text, ..Outcome::default() }, out);
                self.call.clear();
                self.asked = false;
            }
            "completion" => self.completion(&line, &head, at, out),
            "error" => {
                head.open(EventKind::System, at, out);
                out.name("error").flag(EventFlags::API_ERROR);
                out.text(AttrName::ErrorText, &chat::shown(&line.text("message")));
            }
            other => out.issue(Code::UnknownType, if other.is_empty() { "(none)" } else { other }),
        }
        Ok(())
    }
}

impl State {
    fn next_call(&mut self, id: &str) {
        self.calls += 1;
        self.call = if id.is_empty() { format!("{}/{}", self.session, self.calls) } else { id.to_string() };
        self.asked = false;
    }

    fn call_event(&self, head: &Head<'_>, at: Timestamp, out: &mut Sink<'_>) {
        head.open(EventKind::ModelCall, at, out);
        out.name(&self.model).key(KeyKind::Message, Role::Provides, &self.call);
    }

    /// A message of a session file: an answer's calls and a user's results are blocks of it. Ids mean something only in
    /// their session.
    fn stored(&mut self, line: &Object<'_>, head: &Head<'_>, at: Timestamp, out: &mut Sink<'_>) {
        let uuid = format!("{}/{}", self.session, line.text("id"));
        let message = line.object("message");
        let content = message.get("content");
        let texts = chat::texts(content);
        let head = Head { uuid: &uuid, ..*head };
        let blocks: Vec<_> = content.map(elements).unwrap_or_default().into_iter().map(Object::of).collect();
        let of = |kind: &str| blocks.iter().filter(|block| block.text("type") == kind).collect::<Vec<_>>();
        let scoped = |id: &str| format!("{}/{id}", self.session);
        if message.text("role") == "assistant" {
            head.open(EventKind::ModelCall, at, out);
            out.name(&message.text("model")).key(KeyKind::Message, Role::Provides, &uuid);
            chat::answer(&texts, false, out);
            let calls = of("tool_use");
            if !calls.is_empty() {
                out.flag(EventFlags::HAS_TOOL_USE);
            }
            for call in calls {
                chat::call(&scoped(&call.text("id")), &call.text("name"), call.get("input"), at, out);
            }
            return;
        }
        let results = of("tool_result");
        if results.is_empty() || !texts.is_empty() {
            head.open(EventKind::UserMessage, at, out);
            chat::prompt(&texts, out);
        }
        for (n, result) in results.into_iter().enumerate() {
            if n == 0 && texts.is_empty() {
                head.open(EventKind::ToolResult, at, out);
            } else {
                out.begin(EventKind::ToolResult, at);
            }
            let text = chat::texts(result.get("content")).into_iter().next().unwrap_or_default();
            let failed = result.is("is_error") || text.starts_with("Error:");
            let outcome = Outcome { failed, text, ..Outcome::default() };
            chat::result_facts(&scoped(&result.text("tool_use_id")), &outcome, out);
        }
    }

    fn streamed(&mut self, line: &Object<'_>, head: &Head<'_>, at: Timestamp, out: &mut Sink<'_>) {
        let texts = chat::texts(line.get("text"));
        if line.text("role") == "assistant" {
            self.next_call(&line.text("id"));
            self.call_event(head, at, out);
            chat::answer(&texts, false, out);
        } else {
            self.call.clear();
            self.asked = false;
            head.open(EventKind::UserMessage, at, out);
            chat::prompt(&texts, out);
        }
    }

    fn completion(&mut self, line: &Object<'_>, head: &Head<'_>, at: Timestamp, out: &mut Sink<'_>) {
        if self.call.is_empty() {
            self.next_call("");
        }
        self.call_event(head, at, out);
        chat::answer(&chat::texts(line.get("finalText")), false, out);
        if let Some(usage) = line.get("usage").map(Object::of) {
            out.usage(Usage {
                input: usage.count("input_tokens"),
                cache_read: usage.count("cache_read_input_tokens"),
                cache_write: usage.count("cache_creation_input_tokens"),
                output: usage.count("output_tokens"),
                ..Usage::default()
            });
        }
    }
}
