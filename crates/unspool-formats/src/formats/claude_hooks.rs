//! Claude Code hook events: payloads one per line or one per file, flat or with the payload nested as `stdin`
//! (an object, or JSON in a string).

use super::claude_code::markup::{emit_returns, message_flags, shown_text};
use super::claude_code::tool::{ToolInput, ToolOutcome};
use crate::fields::Oddities;
use crate::format::{Descriptor, Format, Framing, Reader, Rejected, Scope, Sniff, rejection, stem};
use crate::json::{Json, Kind, Malformed, RawStr};
use crate::list::{elements, is_list, read_each};
use crate::prose::preview;
use crate::sink::Sink;
use memchr::memmem;
use std::borrow::Cow;
use unspool_model::prompt::{text_hash, without_reminders};
use unspool_model::{AttrName, Code, EventFlags, EventKind, KeyKind, LinkSource, Role, Timestamp, Witness};

pub(crate) struct Hooks;

static DESCRIPTOR: Descriptor = Descriptor {
    id: "claude-code-hooks",
    title: "Claude Code hook events",
    evidence: "Payloads captured from Claude Code 2.0.76 and 2.1.278 to 2.1.284, and a published trace logger; checked November 2026",
    witness: Witness::Notice,
    in_order: true,
};

/// How many lines of the head are looked at.
const SNIFF_LINES: usize = 16;

#[derive(Default)]
struct Fields<'a> {
    event: Option<RawStr<'a>>,
    at: Option<RawStr<'a>>,
    session: Option<RawStr<'a>>,
    transcript: Option<RawStr<'a>>,
    cwd: Option<RawStr<'a>>,
    agent: Option<RawStr<'a>>,
    agent_type: Option<RawStr<'a>>,
    tool: Option<RawStr<'a>>,
    tool_use: Option<RawStr<'a>>,
    input: Option<&'a [u8]>,
    response: Option<&'a [u8]>,
    prompt: Option<RawStr<'a>>,
    prompt_id: Option<RawStr<'a>>,
    duration_ms: Option<i64>,
    error: Option<RawStr<'a>>,
    message: Option<RawStr<'a>>,
    last_answer: Option<RawStr<'a>>,
    detail: Option<RawStr<'a>>,
    interrupt: Option<bool>,
    epoch: Option<&'a [u8]>,
    stdin: Option<&'a [u8]>,
    oddities: Oddities<'a>,
}

impl Format for Hooks {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn sniff(&self, _name: &str, head: &[u8]) -> Sniff {
        // Most streams are no hooks, and that can be seen without reading them.
        if memmem::find(head, b"hook_event_name").is_none() && memmem::find(head, b"\"event\"").is_none() {
            return Sniff::NO;
        }
        if is_list(head) {
            let payloads = elements(head, SNIFF_LINES);
            let score = payloads.into_iter().map(payload_score).max().unwrap_or(0);
            return Sniff { score, framing: Framing::Whole };
        }
        // A payload on a line of its own may stand after lines that are none.
        let lines = head.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
        let complete = |line: &&[u8]| {
            let mut json = Json::new(line);
            json.skip().and_then(|()| json.end()).is_ok()
        };
        let by_line = lines.take(SNIFF_LINES).filter(complete).map(payload_score).max().unwrap_or(0);
        if by_line > 0 {
            return Sniff { score: by_line, framing: Framing::Lines };
        }
        // A pretty-printed payload spreads over lines; a first line cut by the head's end is still a line.
        let one_line = !head.contains(&b'\n');
        Sniff { score: payload_score(head), framing: if one_line { Framing::Lines } else { Framing::Whole } }
    }

    fn scope(&self, name: &str) -> Scope {
        // Payloads have no time of their own; loggers that write one per file number them.
        Scope { order: name.rsplit(['/', '\\']).next().unwrap_or(name).to_string(), ..Scope::default() }
    }

    fn record_type(&self, record: &[u8]) -> String {
        let mut fields = Fields::default();
        let _ = fields.read(&mut Json::new(record));
        text_of(fields.event).into_owned()
    }

    fn open(&self) -> Box<dyn Reader> {
        Box::new(Hooks)
    }
}

impl Reader for Hooks {
    fn read(&mut self, record: &[u8], out: &mut Sink<'_>) -> Result<(), Rejected> {
        if is_list(record) {
            return read_each(record, out, read_payload);
        }
        read_payload(record, out)
    }
}

fn read_payload(record: &[u8], out: &mut Sink<'_>) -> Result<(), Rejected> {
    let mut fields = Fields::default();
    let mut json = Json::new(record);
    fields.read(&mut json).and_then(|()| json.end()).map_err(|error| rejection(error, record))?;
    // The nested payload never overwrites what the logger itself wrote.
    let nested = fields.stdin.map(Json::new);
    let decoded = nested.and_then(|mut json| match json.kind() {
        Ok(Kind::Object) => fields.stdin.map(Cow::Borrowed),
        Ok(Kind::String) => {
            json.string().ok().flatten().map(|text| Cow::Owned(text.decode().into_owned().into_bytes()))
        }
        _ => None,
    });
    let Some(decoded) = decoded else {
        emit(&fields, out);
        return Ok(());
    };
    let mut inner = Fields::default();
    if inner.read(&mut Json::new(&decoded)).is_err() {
        out.issue(Code::WrongType, "stdin");
    }
    fields.oddities.report(out);
    inner.under(&fields);
    emit(&inner, out);
    Ok(())
}

fn payload_score(text: &[u8]) -> u8 {
    let mut score = 0;
    let _ = Json::new(text).object(|json, key| {
        match key {
            b"hook_event_name" => score = 95,
            b"event" => {
                let named = json.string()?.is_some_and(|name| known_event(name.raw));
                score = score.max(if named { 80 } else { 0 });
                return Ok(());
            }
            // The payload may be nested, as an object or as JSON in a string.
            b"stdin" => {
                let raw = json.raw();
                // A long one is cut off where the head ends: what there is of it says as much.
                let nested = raw.or_else(|error| rest_of(text, b"\"stdin\"").ok_or(error))?;
                let named = memmem::find(nested, b"hook_event_name").is_some();
                score = score.max(if named { 90 } else { 0 });
                return raw.map(drop);
            }
            _ => {}
        }
        json.skip()
    });
    score
}

/// What stands behind the first of these.
fn rest_of<'t>(text: &'t [u8], key: &[u8]) -> Option<&'t [u8]> {
    memmem::find(text, key).map(|at| &text[at + key.len()..])
}

fn known_event(name: &[u8]) -> bool {
    const NAMES: &[&[u8]] = &[
        b"SessionStart",
        b"SessionEnd",
        b"Setup",
        b"UserPromptSubmit",
        b"UserPromptExpansion",
        b"PreToolUse",
        b"PostToolUse",
        b"PostToolUseFailure",
        b"PostToolBatch",
        b"PermissionRequest",
        b"PermissionDenied",
        b"Notification",
        b"SubagentStart",
        b"SubagentStop",
        b"Stop",
        b"StopFailure",
        b"PreCompact",
        b"PostCompact",
        b"TaskCreated",
        b"TaskCompleted",
        b"TeammateIdle",
        b"WorktreeCreate",
        b"WorktreeRemove",
        b"ConfigChange",
        b"InstructionsLoaded",
        b"CwdChanged",
        b"FileChanged",
        b"Elicitation",
        b"ElicitationResult",
        b"MessageDisplay",
    ];
    NAMES.contains(&name)
}

impl<'a> Fields<'a> {
    fn read(&mut self, json: &mut Json<'a>) -> Result<(), Malformed> {
        json.object(|json, key| {
            let odd = &mut self.oddities;
            match key {
                b"hook_event_name" => odd.text(json, key, &mut self.event),
                b"event" if self.event.is_none() => odd.text(json, key, &mut self.event),
                b"ts" | b"timestamp" | b"received_at" => match json.kind()? {
                    Kind::String => odd.text(json, key, &mut self.at),
                    _ => odd.raw(json, key, &mut self.epoch),
                },
                b"session_id" => odd.text(json, key, &mut self.session),
                b"transcript_path" => odd.text(json, key, &mut self.transcript),
                b"cwd" => odd.text(json, key, &mut self.cwd),
                b"agent_id" => odd.text(json, key, &mut self.agent),
                b"agent_type" => odd.text(json, key, &mut self.agent_type),
                b"tool_name" => odd.text(json, key, &mut self.tool),
                b"tool_use_id" => odd.text(json, key, &mut self.tool_use),
                b"tool_input" => odd.raw(json, key, &mut self.input),
                b"tool_response" => odd.raw(json, key, &mut self.response),
                b"prompt" => odd.text(json, key, &mut self.prompt),
                b"prompt_id" => odd.text(json, key, &mut self.prompt_id),
                b"duration_ms" => odd.integer(json, key, &mut self.duration_ms),
                b"error" => odd.text(json, key, &mut self.error),
                b"message" => odd.text(json, key, &mut self.message),
                b"last_assistant_message" => odd.text(json, key, &mut self.last_answer),
                b"source" | b"reason" | b"trigger" | b"compact_trigger" | b"notification_type" => {
                    odd.text(json, key, &mut self.detail)
                }
                b"is_interrupt" => odd.boolean(json, key, &mut self.interrupt),
                b"stdin" => odd.raw(json, key, &mut self.stdin),
                _ => json.skip(),
            }
        })
    }

    /// Lays the logger's own fields over the payload's.
    fn under(&mut self, logger: &Fields<'a>) {
        fn over<T: Copy>(slot: &mut Option<T>, upper: Option<T>) {
            if upper.is_some() {
                *slot = upper;
            }
        }
        over(&mut self.event, logger.event);
        over(&mut self.at, logger.at);
        over(&mut self.epoch, logger.epoch);
        over(&mut self.session, logger.session);
        over(&mut self.transcript, logger.transcript);
        over(&mut self.cwd, logger.cwd);
        over(&mut self.agent, logger.agent);
        over(&mut self.agent_type, logger.agent_type);
        over(&mut self.tool, logger.tool);
        over(&mut self.tool_use, logger.tool_use);
        over(&mut self.input, logger.input);
        over(&mut self.response, logger.response);
        over(&mut self.prompt, logger.prompt);
        over(&mut self.prompt_id, logger.prompt_id);
        over(&mut self.duration_ms, logger.duration_ms);
        over(&mut self.error, logger.error);
        over(&mut self.message, logger.message);
        over(&mut self.last_answer, logger.last_answer);
        over(&mut self.detail, logger.detail);
        over(&mut self.interrupt, logger.interrupt);
    }
}

fn emit(fields: &Fields<'_>, out: &mut Sink<'_>) {
    fields.oddities.report(out);
    let at = time(fields, out);
    let event = text_of(fields.event);
    let call = text_of(fields.tool_use);
    match event.as_ref() {
        "UserPromptSubmit" => user_prompt(fields, at, out),
        "PreToolUse" if !call.is_empty() => {
            head(fields, EventKind::ToolCall, at, out);
            out.name(&text_of(fields.tool)).key(KeyKind::ToolUse, Role::Provides, &call);
            let input = ToolInput::read(fields.input.unwrap_or_default(), out);
            input.facts(out);
        }
        "PostToolUse" | "PostToolUseFailure" if !call.is_empty() => tool_result(fields, &call, at, out),
        "SubagentStart" if fields.agent.is_some() => {
            head(fields, EventKind::AgentStart, at, out);
            agent_facts(fields, out);
        }
        "SubagentStop" if fields.agent.is_some() => {
            head(fields, EventKind::AgentStop, at, out);
            agent_facts(fields, out);
            if let Some(hash) = fields.last_answer.and_then(|text| text_hash(&text.decode())) {
                out.key(KeyKind::AnswerHash, Role::Provides, &hash);
            }
        }
        _ => {
            if !known_event(event.as_bytes()) {
                out.issue(Code::UnknownType, &format!("hook/{event}"));
            }
            head(fields, EventKind::Hook, at, out);
            out.name(&event);
            if event == "Stop" {
                out.flag(EventFlags::TURN_END);
            }
            if out.wants_text() {
                let said = fields.message.or(fields.detail);
                out.text(AttrName::Preview, &said.map(|t| preview(&t.decode_start(512))).unwrap_or_default());
            }
        }
    }
    out.end();
}

fn text_of(value: Option<RawStr<'_>>) -> Cow<'_, str> {
    value.map(RawStr::decode).unwrap_or_default()
}

fn time(fields: &Fields<'_>, out: &mut Sink<'_>) -> Timestamp {
    if let Some(text) = fields.at {
        return super::claude_code::time(Some(text), out);
    }
    // Loggers that write numbers write seconds (with a fraction) or milliseconds since the epoch.
    let number =
        fields.epoch.and_then(|raw| std::str::from_utf8(raw).ok()).and_then(|text| text.parse::<f64>().ok());
    match number {
        Some(value) if value.is_finite() && value.abs() < 1e15 => {
            let ms = if value.abs() < 1e11 { value * 1000.0 } else { value };
            #[expect(clippy::cast_possible_truncation, reason = "bounded by the guard above")]
            Timestamp::from_ms(ms as i64)
        }
        _ => Timestamp::NONE,
    }
}

fn head(fields: &Fields<'_>, kind: EventKind, at: Timestamp, out: &mut Sink<'_>) {
    out.begin(kind, at);
    let session = text_of(fields.session);
    let transcript = text_of(fields.transcript);
    let session = if session.is_empty() { stem(&transcript) } else { &session };
    if session.is_empty() {
        out.identity_needs_name();
    }
    out.key(KeyKind::Session, Role::Refers, session);
    if let Some(agent) = fields.agent {
        let role = if matches!(kind, EventKind::AgentStart | EventKind::AgentStop) {
            Role::Provides
        } else {
            Role::Refers
        };
        out.key(KeyKind::Agent, role, &agent.decode());
    }
    out.surroundings(&text_of(fields.cwd), "");
}

fn agent_facts(fields: &Fields<'_>, out: &mut Sink<'_>) {
    let kind = text_of(fields.agent_type);
    out.name(&kind).text(AttrName::AgentType, &kind);
}

fn user_prompt(fields: &Fields<'_>, at: Timestamp, out: &mut Sink<'_>) {
    head(fields, EventKind::UserMessage, at, out);
    if let Some(prompt) = fields.prompt_id {
        out.key(KeyKind::Prompt, Role::Provides, &prompt.decode());
    }
    let text = text_of(fields.prompt);
    out.flag(message_flags(&text));
    if !without_reminders(&text).trim().is_empty() {
        out.flag(EventFlags::HAS_TEXT);
    }
    if let Some(hash) = text_hash(&text) {
        out.key(KeyKind::PromptHash, Role::Provides, &hash);
    }
    out.message_preview(&shown_text(&text));
    emit_returns(&text, "", false, at, out);
}

fn tool_result(fields: &Fields<'_>, call: &str, at: Timestamp, out: &mut Sink<'_>) {
    let mut outcome = ToolOutcome::default();
    let mut odd = Oddities::default();
    if let Some(raw) = fields.response
        && outcome.read(&mut Json::new(raw), b"tool_response", &mut odd).is_err()
    {
        outcome = ToolOutcome::default();
    }
    odd.report(out);
    // A hook measures the call itself; an agent's own duration is the agent's.
    outcome.duration_ms = fields.duration_ms;
    let failed = fields.event.is_some_and(|event| event.raw == b"PostToolUseFailure");
    head(fields, EventKind::ToolResult, at, out);
    out.name(&text_of(fields.tool));
    outcome.result_facts(call, None, failed, out);
    if failed && out.wants_text() {
        let why = fields.error.map(|text| preview(&text.decode_start(512))).unwrap_or_default();
        out.text(AttrName::ErrorText, &why);
    }
    if fields.interrupt == Some(true) {
        out.flag(EventFlags::INTERRUPTED);
    }
    outcome.emit_links(call, None, LinkSource::Hook, at, out);
}
