//! `OpenCode`: an exported session (`opencode export`), or the parts of its messages one per line as recorders write them.
//!
//! A child session is an agent of its parent's session; the `task` tool's metadata names it.

use crate::chat::{self, Head, Outcome, matching_lines, score};
use crate::exits;
use crate::format::{Descriptor, Format, Framing, Reader, Rejected, Sniff, rejection};
use crate::json::{Json, Kind};
use crate::object::Object;
use crate::prose::attribute;
use crate::sink::Sink;
use memchr::memmem;
use unspool_model::{
    AttrName, Code, EventFlags, EventKind, KeyKind, LinkSource, Role, Timestamp, Usage, Witness,
};

pub(crate) struct OpenCode;

static DESCRIPTOR: Descriptor = Descriptor {
    id: "opencode",
    title: "OpenCode session",
    evidence: "Exports as the tool's source has them, and public recordings of message parts of 2026; its database is not read; checked \
               November 2026",
    witness: Witness::Transcript,
    in_order: true,
};

impl Format for OpenCode {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn sniff(&self, _name: &str, head: &[u8]) -> Sniff {
        let has = |needle: &[u8]| memmem::find(head, needle).is_some();
        if has(b"\"_role\"") && has(b"\"_ts\"") {
            let test = |line: &Object<'_>| line.has("_role") && line.has("_ts") && line.has("type");
            return Sniff { score: score(matching_lines(head, test), 60, 96), framing: Framing::Lines };
        }
        let whole = Object::of(head);
        let info = whole.object("info");
        let mine = info.has("id") && (info.has("projectID") || info.has("directory"));
        let messages = Object::names(head).contains(&b"messages".as_slice());
        Sniff { score: if mine && messages { 92 } else { 0 }, framing: Framing::Whole }
    }

    fn record_type(&self, record: &[u8]) -> String {
        let line = Object::of(record);
        let role = line.object("info").text("role");
        if role.is_empty() { line.text("type").into_owned() } else { role.into_owned() }
    }

    fn open(&self) -> Box<dyn Reader> {
        Box::new(State::default())
    }
}

#[derive(Default)]
struct State {
    session: String,
    agent: String,
    model: String,
    calls: u32,
    /// The model call in progress.
    call: String,
}

impl Reader for State {
    fn read(&mut self, record: &[u8], out: &mut Sink<'_>) -> Result<(), Rejected> {
        if memmem::find(record, b"\"_role\"").is_some() {
            let line = Object::read(record).map_err(|error| rejection(error, record))?;
            self.line(&line, out);
            return Ok(());
        }
        let mut json = Json::new(record);
        let mut begun = false;
        json.object(|json, key| match key {
            b"info" if json.kind()? == Kind::Object => {
                self.begin(&Object::next(json)?, out);
                begun = true;
                Ok(())
            }
            b"messages" if json.kind()? == Kind::Array => json.array(|json| {
                let raw = json.raw()?;
                out.part(raw);
                self.message(&Object::of(raw), out);
                Ok(())
            }),
            _ => json.skip(),
        })
        .and_then(|()| json.end())
        .map_err(|error| rejection(error, record))?;
        if !begun {
            out.issue(Code::UnknownType, "(none)");
        }
        Ok(())
    }
}

impl State {
    fn head<'a>(&'a self, uuid: &'a str) -> Head<'a> {
        Head { session: &self.session, agent: &self.agent, uuid, ..Head::default() }
    }

    fn begin(&mut self, info: &Object<'_>, out: &mut Sink<'_>) {
        let at = info.object("time").time("created", out);
        let parent = info.text("parentID");
        self.session = info.text("id").into_owned();
        self.agent = if parent.is_empty() { String::new() } else { self.session.clone() };
        let kind = if parent.is_empty() { EventKind::SessionInfo } else { EventKind::AgentInfo };
        self.head("").open(kind, at, out);
        out.key(KeyKind::ForkedFrom, Role::Refers, &parent).key(KeyKind::ParentAgent, Role::Refers, &parent);
        out.surroundings(&info.text("directory"), &info.text("version"));
        let title = chat::shown(&info.text("title"));
        if parent.is_empty() {
            out.text(AttrName::Title, &title).int(AttrName::TitleRank, 2);
        } else {
            out.text(AttrName::Description, &title);
        }
    }

    fn message(&mut self, message: &Object<'_>, out: &mut Sink<'_>) {
        let info = message.object("info");
        let (id, at) = (info.text("id"), info.object("time").time("created", out));
        let parts: Vec<Object<'_>> = message.list("parts").into_iter().map(Object::of).collect();
        match info.text("role").as_ref() {
            "user" => self.user(&id, &parts, at, out),
            "assistant" => self.assistant(&id, &info, &parts, at, out),
            other => out.issue(Code::UnknownType, if other.is_empty() { "(none)" } else { other }),
        }
    }

    fn user(&self, id: &str, parts: &[Object<'_>], at: Timestamp, out: &mut Sink<'_>) {
        let said = |part: &&Object<'_>| matches!(part.text("type").as_ref(), "text" | "subtask");
        let own: Vec<_> = parts.iter().filter(said).filter(|part| !part.is("synthetic")).collect();
        let texts: Vec<_> = own.iter().map(|part| part.first_text(&["text", "prompt"])).collect();
        if parts.iter().any(|part| part.text("type") == "compaction") {
            self.head(id).open(EventKind::Compaction, at, out);
            return;
        }
        self.head(id).open(EventKind::UserMessage, at, out);
        if own.is_empty() {
            out.flag(EventFlags::META);
        }
        chat::prompt(&texts, out);
        for part in parts.iter().filter(|part| part.is("synthetic")) {
            background_result(&part.text("text"), at, out);
        }
    }

    fn assistant(
        &mut self,
        id: &str,
        info: &Object<'_>,
        parts: &[Object<'_>],
        at: Timestamp,
        out: &mut Sink<'_>,
    ) {
        self.model = info.text("modelID").into_owned();
        let has_steps = parts.iter().any(|part| part.text("type") == "step-finish");
        self.calls = 0;
        self.call = format!("{id}/0");
        self.head(id).open(EventKind::ModelCall, at, out);
        out.name(&self.model).key(KeyKind::Message, Role::Provides, &self.call);
        if let Some(error) = info.get("error").map(Object::of) {
            out.flag(EventFlags::API_ERROR);
            out.text(AttrName::ErrorText, &chat::shown(&error.object("data").text("message")));
        }
        if !has_steps && let Some(tokens) = info.get("tokens").map(Object::of) {
            out.usage(usage_of(&tokens));
        }
        let done = info.object("time").time("completed", out);
        for part in parts {
            self.part(part, id, at, done, out);
        }
    }

    /// One part of an answer.
    fn part(
        &mut self,
        part: &Object<'_>,
        message: &str,
        began: Timestamp,
        ended: Timestamp,
        out: &mut Sink<'_>,
    ) {
        let time = part.object("time");
        let at = time.time("end", out).later(time.time("start", out));
        let at = if at.is_some() { at } else { ended.later(began) };
        match part.text("type").as_ref() {
            "step-start" => {
                self.call = format!("{message}/{}", self.calls);
                self.calls += 1;
            }
            "step-finish" => {
                self.call_event(at, out);
                out.usage(usage_of(&part.object("tokens")));
            }
            "text" => {
                self.call_event(at, out);
                chat::answer(&[part.text("text")], !self.agent.is_empty(), out);
            }
            "tool" => self.tool(part, at, out),
            "reasoning" => self.call_event(at, out),
            "patch" | "snapshot" | "file" | "agent" | "retry" | "subtask" => {}
            "compaction" => _ = out.begin(EventKind::Compaction, at),
            other => out.issue(Code::UnknownType, &format!("part/{other}")),
        }
    }

    fn call_event(&mut self, at: Timestamp, out: &mut Sink<'_>) {
        if self.call.is_empty() {
            self.call = format!("{}0", out.id_prefix());
        }
        self.head("").open(EventKind::ModelCall, at, out);
        out.name(&self.model).key(KeyKind::Message, Role::Provides, &self.call);
    }

    fn tool(&mut self, part: &Object<'_>, at: Timestamp, out: &mut Sink<'_>) {
        let (id, state) = (part.text("callID"), part.object("state"));
        let time = state.object("time");
        let (began, ended) = (time.time("start", out), time.time("end", out));
        self.call_event(if began.is_some() { began } else { at }, out);
        out.flag(EventFlags::HAS_TOOL_USE);
        chat::call(&id, &part.text("tool"), state.get("input"), began, out);
        let refused = state.text("status") == "error";
        let failed = refused || exits::failed(exits::of_object(&state));
        let metadata = state.object("metadata");
        if refused || state.text("status") == "completed" {
            let text = state.first_text(if refused { &["error"] } else { &["output"] });
            let background = metadata.is("background");
            let status = if background { "".into() } else { state.text("status") };
            chat::result(&id, &Outcome { failed, text, status, duration_ms: None }, ended, out);
            if background {
                out.flag(EventFlags::ASYNC);
            }
        }
        chat::spawned(&id, &metadata.text("sessionId"), began, out);
        out.text(AttrName::Model, &metadata.object("model").text("modelID"));
    }

    /// A line that is one part; who spoke and when stand beside it.
    fn line(&mut self, line: &Object<'_>, out: &mut Sink<'_>) {
        let at = line.time("_ts", out);
        let (kind, model) = (line.text("type"), line.text("_model"));
        if !model.is_empty() {
            self.model = model.into_owned();
        }
        if line.text("_role") == "user" {
            match kind.as_ref() {
                "text" => {
                    self.head("").open(EventKind::UserMessage, at, out);
                    chat::prompt(&[line.text("text")], out);
                    out.surroundings(&line.text("_cwd"), "");
                }
                "compaction" => self.head("").open(EventKind::Compaction, at, out),
                _ => {}
            }
            return;
        }
        if kind == "step-start" {
            self.call = format!("{}{}", out.id_prefix(), self.calls);
            self.calls += 1;
            self.call_event(at, out);
        } else {
            self.part(line, "", at, at, out);
        }
        if line.has("_error") && kind == "step-start" {
            out.flag(EventFlags::API_ERROR);
            let error = line.object("_error").object("data");
            out.text(AttrName::ErrorText, &chat::shown(&error.text("message")));
        }
    }
}

/// Buckets do not overlap.
fn usage_of(tokens: &Object<'_>) -> Usage {
    let cache = tokens.object("cache");
    Usage {
        input: tokens.count("input"),
        cache_read: cache.count("read"),
        cache_write: cache.count("write"),
        cache_write_long: 0,
        output: tokens.count("output"),
        reasoning: tokens.count("reasoning"),
    }
}

/// `<task id="…" state="completed">`: the end of a task that ran in the background.
fn background_result(text: &str, at: Timestamp, out: &mut Sink<'_>) {
    let Some(start) = text.find("<task ") else { return };
    let tag = &text[start..];
    let tag = &tag[..tag.find('>').unwrap_or(tag.len())];
    if let Some(id) = attribute(tag, "id") {
        out.flag(EventFlags::NOTIFICATION);
        out.begin(EventKind::AgentReturn, at).source(LinkSource::Notification).key(
            KeyKind::Task,
            Role::Refers,
            id,
        );
        out.text(AttrName::Status, attribute(tag, "state").unwrap_or_default());
    }
}
