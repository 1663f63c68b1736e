//! What a `ThoughtFlow` source says about a step or a run, and the events that makes.
//!
//! In: labels, moments and payloads, from the log or from the consolidated JSON alike. Out: events whose `Step` and `Run`
//! keys are the same in both, so that the linker makes one step of them.

use super::payload::Payload;
use crate::json::{Json, Kind};
use crate::object::bad_time;
use crate::prose::preview;
use crate::sink::Sink;
use std::borrow::Cow;
use unspool_model::prompt::text_hash;
use unspool_model::{AttrName, Code, EventFlags, EventKind, KeyKind, Role, Timestamp};

/// Where a step stands: ids mean nothing without their run, and runs nothing without their session.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) session: &'a str,
    pub(crate) run: &'a str,
}

impl Place<'_> {
    /// The key of a step of this run, the same in every source.
    pub(crate) fn step(&self, id: &str) -> String {
        format!("{}/{}/{id}", self.session, self.run)
    }

    fn run_key(&self) -> String {
        if self.run.is_empty() { String::new() } else { format!("{}/{}", self.session, self.run) }
    }
}

/// What is told of one step at one place.
#[derive(Default)]
pub(crate) struct Told<'a> {
    pub(crate) id: Cow<'a, str>,
    pub(crate) label: Cow<'a, str>,
    /// Keys of the steps it depends on.
    pub(crate) needs: Vec<String>,
    pub(crate) started: Timestamp,
    pub(crate) ended: Timestamp,
    pub(crate) duration_ms: Option<i64>,
    /// It is told that the step began.
    pub(crate) has_begin: bool,
    /// It is told that the step ended.
    pub(crate) has_end: bool,
    /// The call's own id, when an earlier record named it.
    pub(crate) call: Cow<'a, str>,
    /// What it was given, and what came of it.
    pub(crate) given: Payload<'a>,
    pub(crate) gave: Payload<'a>,
}

/// What kind of step a label means.
pub(crate) fn kind_of(label: &str) -> EventKind {
    match label {
        "user_message" => EventKind::UserMessage,
        "assistant_message" | "assistant_call" => EventKind::ModelCall,
        "tool_call" => EventKind::ToolCall,
        "tool_output" | "tool_error" => EventKind::ToolResult,
        _ if label.starts_with("memory") => EventKind::Memory,
        _ => EventKind::Generic,
    }
}

impl Told<'_> {
    pub(crate) fn emit(&self, place: &Place<'_>, out: &mut Sink<'_>) {
        let kind = kind_of(&self.label);
        let (started, inferred) = self.start();
        let is_timed = started.is_some() && self.ended.is_some();
        match kind {
            EventKind::ToolResult => {
                self.open(EventKind::ToolResult, self.ended.earlier(started), place, out);
                self.outcome(kind, out);
            }
            EventKind::ToolCall if self.has_end && !is_timed => {
                // Without both moments, the call and its end are two things told.
                if self.has_begin {
                    self.open(EventKind::ToolCall, started, place, out);
                    self.input(kind, out);
                }
                self.open(EventKind::ToolResult, self.ended, place, out);
                self.outcome(kind, out);
            }
            _ => {
                let at = if started.is_some() { started } else { self.ended };
                self.open(kind, at, place, out);
                if self.has_end && is_timed {
                    out.flag(EventFlags::WHOLE).int(AttrName::EndedAt, self.ended.ns().unwrap_or_default());
                } else if !self.has_end && kind != EventKind::UserMessage {
                    // A message is complete when it is said.
                    out.flag(EventFlags::BEGUN);
                }
                if inferred {
                    out.flag(EventFlags::START_INFERRED);
                }
                self.input(kind, out);
                self.outcome(kind, out);
            }
        }
        out.end();
    }

    /// When it began, and whether that only follows from its end and length.
    fn start(&self) -> (Timestamp, bool) {
        match self.duration_ms.filter(|ms| *ms >= 0) {
            Some(ms) if !self.started.is_some() && self.ended.is_some() => (self.ended.plus_ms(-ms), true),
            _ => (self.started, false),
        }
    }

    fn open(&self, kind: EventKind, at: Timestamp, place: &Place<'_>, out: &mut Sink<'_>) {
        out.begin(kind, at);
        out.key(KeyKind::Session, Role::Refers, place.session);
        out.key(KeyKind::Run, Role::Refers, &place.run_key());
        out.key(KeyKind::Step, Role::Provides, &place.step(&self.id));
        for need in &self.needs {
            out.key(KeyKind::Step, Role::Refers, need);
        }
        if matches!(kind, EventKind::ToolCall | EventKind::ToolResult) {
            let role = if kind == EventKind::ToolCall { Role::Provides } else { Role::Refers };
            let own = [&self.given, &self.gave].into_iter().find_map(Payload::call);
            out.key(KeyKind::ToolUse, role, own.as_deref().unwrap_or(&self.call));
        }
        let name = match kind {
            EventKind::UserMessage => Cow::Borrowed(""),
            EventKind::ModelCall => self.given.model().or_else(|| self.gave.model()).unwrap_or_default(),
            EventKind::ToolCall | EventKind::ToolResult => self.given.name().unwrap_or_default(),
            _ => self.given.name().unwrap_or(Cow::Borrowed(&self.label)),
        };
        out.name(&name);
        if let Some(ms) = self.duration_ms.filter(|_| self.has_end) {
            out.int(AttrName::DurationMs, ms);
        }
    }

    /// What the step was given.
    fn input(&self, kind: EventKind, out: &mut Sink<'_>) {
        if kind == EventKind::ToolCall {
            if let Some(input) = self.given.input().filter(|_| out.wants_text()) {
                out.text(AttrName::Summary, &preview(&input));
            }
            return;
        }
        let said = [&self.given, &self.gave].into_iter().find_map(Payload::text);
        let Some(said) = said else { return };
        out.flag(EventFlags::HAS_TEXT);
        if kind == EventKind::UserMessage {
            if let Some(hash) = text_hash(&said) {
                out.key(KeyKind::PromptHash, Role::Provides, &hash);
            }
            out.message_preview(&preview(&said));
        } else if out.wants_text() {
            out.text(AttrName::Preview, &preview(&said));
        }
    }

    /// What came of it.
    fn outcome(&self, kind: EventKind, out: &mut Sink<'_>) {
        let (given, gave) = (&self.given, &self.gave);
        if gave.asks_for_tools() || given.asks_for_tools() {
            out.flag(EventFlags::HAS_TOOL_USE);
        }
        let why = gave.error().or_else(|| given.error());
        if why.is_none() && self.label != "tool_error" {
            return;
        }
        let flag = if kind == EventKind::ModelCall { EventFlags::API_ERROR } else { EventFlags::ERROR };
        out.flag(flag);
        if out.wants_text() {
            out.text(AttrName::ErrorText, &preview(&why.unwrap_or_default()));
        }
    }
}

/// What is told of a run at one place.
#[derive(Default)]
pub(crate) struct ToldRun<'a> {
    pub(crate) channel: Cow<'a, str>,
    pub(crate) status: Cow<'a, str>,
    pub(crate) started: Timestamp,
    pub(crate) ended: Timestamp,
    /// It is told that the run ended.
    pub(crate) has_end: bool,
}

impl ToldRun<'_> {
    pub(crate) fn emit(&self, place: &Place<'_>, out: &mut Sink<'_>) {
        let at = if self.started.is_some() { self.started } else { self.ended };
        out.begin(EventKind::Context, at);
        out.key(KeyKind::Session, Role::Refers, place.session);
        out.key(KeyKind::Run, Role::Provides, &place.run_key());
        out.text(AttrName::Channel, &self.channel).text(AttrName::Status, &self.status);
        if self.started.is_some() && self.has_end {
            out.flag(EventFlags::WHOLE);
        } else if !self.has_end {
            out.flag(EventFlags::BEGUN);
        }
        if let Some(ns) = self.ended.ns() {
            out.int(AttrName::EndedAt, ns);
        }
        if matches!(self.status.as_ref(), "aborted" | "canceled" | "cancelled") {
            out.flag(EventFlags::ABORTED);
        }
        out.end();
    }
}

/// A moment in any of the spellings: text, or a number of milliseconds.
pub(crate) fn moment(raw: Option<&[u8]>, out: &mut Sink<'_>) -> Timestamp {
    let Some(raw) = raw else { return Timestamp::NONE };
    let mut json = Json::new(raw);
    let read = match json.kind() {
        Ok(Kind::String) => json.string().ok().flatten().and_then(|text| Timestamp::parse(&text.decode())),
        Ok(Kind::Number) => json.integer().ok().flatten().map(Timestamp::from_ms),
        Ok(Kind::Null) => return Timestamp::NONE,
        _ => None,
    };
    read.unwrap_or_else(|| bad_time(raw, out))
}

/// The keys of the steps a `depends_on` names, a text or a list of texts: steps of the same run.
pub(crate) fn needs(raw: Option<&[u8]>, place: &Place<'_>, out: &mut Sink<'_>) -> Vec<String> {
    let Some(raw) = raw else { return Vec::new() };
    let mut json = Json::new(raw);
    let mut found: Vec<String> = Vec::new();
    let mut wrong = false;
    let mut take = |json: &mut Json<'_>| {
        let named = json.string()?;
        wrong |= named.is_none();
        let key = named.filter(|named| !named.is_empty()).map(|named| place.step(&named.decode()));
        if let Some(key) = key.filter(|key| !found.contains(key)) {
            found.push(key);
        }
        Ok(())
    };
    let _ = match json.kind() {
        Ok(Kind::Array) => json.array(take),
        Ok(Kind::Null) => Ok(()),
        _ => take(&mut json),
    };
    if wrong {
        out.issue(Code::WrongType, "depends_on");
    }
    found
}
