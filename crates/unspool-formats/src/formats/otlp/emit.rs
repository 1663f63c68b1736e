//! From what is known about a span to events with keys: one event for the span, one for every new result it was given,
//! one for what was said to it, one for every call it asks for.

use super::graph;
use super::moment::{Moment, is_group};
use super::names::shortened;
use super::reading::{Reading, SpanRole, report_cuts};
use super::span::{Origin, Span};
use super::talk::Talk;
use super::told;
use crate::formats::claude_code::tool::ToolInput;
use crate::prose::preview;
use crate::sink::Sink;
use std::borrow::Cow;
use unspool_model::prompt::text_hash;
use unspool_model::{AttrName, Code, EventFlags, EventKind, KeyKind, Role, Timestamp};

/// Emits the events of one span. Its record must be open.
pub(crate) fn emit(span: &mut Span<'_>, origin: &Origin<'_>, out: &mut Sink<'_>) {
    let mut scratch = std::mem::take(&mut span.scratch);
    events(span, origin, &mut scratch, out);
    span.scratch = scratch;
}

fn events(span: &Span<'_>, origin: &Origin<'_>, scratch: &mut String, out: &mut Sink<'_>) {
    let reading = Reading::of(span, origin);
    report_cuts(&span.attrs, reading.input.iter().chain(&reading.output), out);
    if let Some(kind) = reading.told {
        told::emit(span, origin, &reading, kind, out);
        return;
    }
    let role = reading.role.unwrap_or(SpanRole::Work);
    let mut head = Head { span, reading: &reading, done: false };
    let moment = reading.moment.as_ref();
    let (kind, flags) = match moment {
        Some(moment) => moment.witnesses(role, kind_of(role)),
        None => (kind_of(role), EventFlags::WHOLE),
    };
    if role == SpanRole::Model {
        results(&mut head, out);
    }
    if !flags.has(EventFlags::MOMENT) {
        prompt(&mut head, role, out);
    }
    let failed =
        span.failed || reading.error.is_some() || moment.is_some_and(|moment| moment.word == "error");
    out.begin(kind, span.start).flag(flags);
    head.keys(out);
    places(span, &reading, scratch, out);
    if let Some(moment) = moment.filter(|_| Moment::has_course(role)) {
        let key_role = if flags.has(EventFlags::BEGUN) { Role::Provides } else { Role::Refers };
        out.key(KeyKind::Course, key_role, own_key(&span.trace, &moment.path, scratch));
        out.text(AttrName::Status, &moment.word);
    }
    if let Some(ns) = span.end.ns().filter(|_| moment.is_none() && !is_group(span)) {
        out.int(AttrName::EndedAt, ns);
    }
    if failed {
        out.flag(if role == SpanRole::Model { EventFlags::API_ERROR } else { EventFlags::ERROR });
        if out.wants_text() {
            out.text(AttrName::ErrorText, &preview(reading.error.as_deref().unwrap_or_default()));
        }
    }
    if reading.agent_name.is_some() || reading.agent_id.is_some() {
        out.flag(EventFlags::NAMES_AGENT);
    }
    if reading.denied {
        out.flag(EventFlags::DENIED);
    }
    // Only of a model call it says something that it took no tokens.
    if role != SpanRole::ModelPart
        && let Some(usage) =
            reading.tokens.usage().filter(|usage| role == SpanRole::Model || !usage.is_zero())
    {
        out.usage(usage);
    }
    if role == SpanRole::Model && reading.tokens.unsplit() > 0 {
        out.issue(Code::UsageUnsplit, "");
    }
    // Where nobody named a trace it bears its root's name, which says nothing new.
    if let Some(title) =
        reading.title.as_deref().filter(|title| span.parent.is_empty() && *title != span.name)
    {
        out.text(AttrName::Title, title).int(AttrName::TitleRank, TITLE_RANK);
    }
    graph::place(span, out);
    match role {
        SpanRole::Model => model(span, origin, &reading, out),
        SpanRole::Tool => tool(span, &reading, out),
        SpanRole::Agent | SpanRole::Umbrella => agent(span, &reading, role, failed, out),
        _ => work(span, &reading, out),
    }
    if role == SpanRole::Model {
        calls(span, &reading, out);
    }
    out.end();
}

/// Where a span stands: its own id, what it lies in, what it links to.
fn places(span: &Span<'_>, reading: &Reading<'_>, scratch: &mut String, out: &mut Sink<'_>) {
    if !span.id.is_empty() {
        out.key(KeyKind::Span, Role::Provides, own_key(&span.trace, &span.id, scratch));
    }
    if span.parent.is_empty() {
        out.flag(EventFlags::TRIGGER);
    } else {
        out.key(KeyKind::Span, Role::Refers, own_key(&span.trace, &span.parent, scratch));
    }
    for link in &span.links {
        out.key(KeyKind::SpanLink, Role::Refers, own_key(&link.trace, &link.id, scratch));
    }
    if let Some(parent) = &reading.parent_agent {
        out.key(KeyKind::ParentAgent, Role::Refers, parent);
    }
    if let Some(run) = &reading.workflow_run {
        out.key(KeyKind::WorkflowRun, Role::Refers, run);
    }
}

/// A trace's name says less than a title somebody gave, and more than nothing.
const TITLE_RANK: i64 = 0;

/// The keys that every record needs once, on its first event.
struct Head<'r, 'a> {
    span: &'r Span<'a>,
    reading: &'r Reading<'a>,
    done: bool,
}

impl Head<'_, '_> {
    fn keys(&mut self, out: &mut Sink<'_>) {
        out.key(KeyKind::Trace, Role::Refers, &self.span.trace);
        if std::mem::replace(&mut self.done, true) {
            return;
        }
        if let Some(session) = &self.reading.session {
            out.key(KeyKind::Session, Role::Refers, session);
        }
        if let Some(agent) = &self.reading.agent_id {
            out.key(KeyKind::Agent, Role::Refers, agent);
        }
    }
}

/// A span's id is its own only in its trace.
fn own_key<'s>(trace: &str, span: &str, scratch: &'s mut String) -> &'s str {
    scratch.clear();
    scratch.push_str(trace);
    scratch.push('/');
    scratch.push_str(span);
    scratch
}

fn kind_of(role: SpanRole) -> EventKind {
    match role {
        SpanRole::Agent | SpanRole::Umbrella => EventKind::AgentStart,
        SpanRole::Model => EventKind::ModelCall,
        SpanRole::Tool => EventKind::ToolCall,
        SpanRole::Retrieval => EventKind::Retrieval,
        SpanRole::Embedding => EventKind::Embedding,
        SpanRole::Memory => EventKind::Memory,
        SpanRole::Router => EventKind::Router,
        SpanRole::Guardrail => EventKind::Guardrail,
        SpanRole::Hook => EventKind::Hook,
        SpanRole::ModelPart | SpanRole::Work => EventKind::Generic,
    }
}

/// Results that are new in a model's input.
fn results(head: &mut Head<'_, '_>, out: &mut Sink<'_>) {
    let Some(input) = &head.reading.input else { return };
    for id in input.news().iter().flat_map(|message| &message.results).filter(|id| !id.is_empty()) {
        out.begin(EventKind::ToolResult, head.span.start).flag(EventFlags::COPY);
        head.keys(out);
        out.key(KeyKind::ToolUse, Role::Refers, id);
    }
}

/// What was said to an agent, or to a model that nothing but itself may stand for. The linker keeps what it needs.
fn prompt(head: &mut Head<'_, '_>, role: SpanRole, out: &mut Sink<'_>) {
    let is_agent = matches!(role, SpanRole::Agent | SpanRole::Umbrella);
    let is_turn = role == SpanRole::Work && head.reading.prompt_id.is_some();
    let may_speak = matches!(role, SpanRole::Model | SpanRole::Work) && head.reading.input.is_some();
    if !is_agent && !may_speak {
        return;
    }
    let Some(text) = head.reading.input.as_ref().and_then(|input| input.prompt()) else { return };
    let Some(hash) = text_hash(text) else { return };
    out.begin(EventKind::UserMessage, head.span.start).flag(EventFlags::HAS_TEXT);
    head.keys(out);
    if !is_agent && !is_turn {
        out.flag(EventFlags::IMPLIED);
    }
    out.key(KeyKind::PromptHash, Role::Provides, &hash);
    if let Some(prompt) = &head.reading.prompt_id {
        out.key(KeyKind::Prompt, Role::Provides, prompt);
    }
    let shown = preview(first_bytes(text));
    // What was said to the root of a trace is a title; of the others, a few of each trace do.
    if head.span.parent.is_empty() {
        out.text(AttrName::Preview, &shown);
    } else {
        out.message_preview(&shown);
    }
}

pub(super) fn model(span: &Span<'_>, origin: &Origin<'_>, reading: &Reading<'_>, out: &mut Sink<'_>) {
    out.name(reading.model.as_deref().unwrap_or_default());
    out.text(AttrName::Instrument, if origin.scope.is_empty() { reading.dialect } else { &origin.scope });
    // Should the call turn out to be done by another one inside it.
    out.text(AttrName::Summary, &span.name);
    let response = reading.response_id.as_deref().unwrap_or_default();
    // Claude Code writes the id of the request where others write that of the answer.
    let is_request = response.starts_with("req_");
    if !is_request {
        out.key(KeyKind::Message, Role::Provides, response);
    }
    let request = reading.request_id.as_deref().or(Some(response).filter(|_| is_request));
    out.key(KeyKind::Request, Role::Provides, request.unwrap_or_default());
    if let Some(finish) = &reading.finish {
        out.text(AttrName::StopReason, finish);
    }
    let Some(output) = &reading.output else { return };
    if let Some(hash) = calls_hash(output) {
        out.flag(EventFlags::HAS_TOOL_USE).key(KeyKind::CallsHash, Role::Provides, &hash);
    }
    if let Some(text) = output.answer() {
        out.flag(EventFlags::HAS_TEXT);
        if let Some(hash) = text_hash(text) {
            out.key(KeyKind::AnswerHash, Role::Provides, &hash);
        }
        if out.wants_text() {
            out.text(AttrName::Preview, &preview(first_bytes(text)));
        }
    }
}

fn tool(span: &Span<'_>, reading: &Reading<'_>, out: &mut Sink<'_>) {
    let from_name =
        ["execute_tool ", "running tool: ", "tool "].iter().find_map(|start| span.name.strip_prefix(start));
    let from_moment = reading.moment.as_ref().map(Moment::name);
    let name = reading.tool_name.as_deref().or(from_moment).or(from_name).unwrap_or(&span.name);
    out.name(name);
    out.key(KeyKind::ToolUse, Role::Provides, reading.tool_call_id.as_deref().unwrap_or_default().trim());
    call_facts(reading.tool_input.as_deref().unwrap_or_default(), out);
    if let Some(hash) = reading.tool_output.as_deref().and_then(text_hash) {
        out.key(KeyKind::AnswerHash, Role::Provides, &hash);
    }
    handoff(name, reading, out);
}

/// Whom a call hands over to, when it says so.
fn handoff(name: &str, reading: &Reading<'_>, out: &mut Sink<'_>) {
    let by_name = ["transfer_to_", "handoff_to_", "hand_off_to_", "transfer to ", "handoff to ", "handoff: "]
        .iter()
        .find_map(|start| {
            Some(name.split_at_checked(start.len())?).filter(|(own, _)| own.eq_ignore_ascii_case(start))
        })
        .map(|(_, target)| target);
    if let Some(target) = reading.handoff_to.as_deref().or(by_name) {
        out.text(AttrName::Handoff, target);
    }
}

fn agent(span: &Span<'_>, reading: &Reading<'_>, role: SpanRole, failed: bool, out: &mut Sink<'_>) {
    let name = reading.agent_name.as_deref().map_or_else(|| shortened(&span.name), Cow::Borrowed);
    out.name(&name).text(AttrName::AgentType, &name);
    out.text(AttrName::Status, if failed { "failed" } else { "completed" });
    if role == SpanRole::Umbrella {
        out.flag(EventFlags::UMBRELLA);
        out.text(AttrName::Model, reading.model.as_deref().unwrap_or_default());
    }
    let Some(text) = reading.output.as_ref().and_then(|output| output.answer()) else { return };
    if let Some(hash) = text_hash(text) {
        out.key(KeyKind::AnswerHash, Role::Provides, &hash);
    }
}

fn work(span: &Span<'_>, reading: &Reading<'_>, out: &mut Sink<'_>) {
    out.name(reading.label.as_deref().unwrap_or(&span.name));
    handoff(&span.name, reading, out);
    // What was looked for is worth a line; a wrapper's input is somebody's prompt.
    let looks_up = !matches!(reading.role, Some(SpanRole::Work | SpanRole::ModelPart) | None);
    if out.wants_text()
        && looks_up
        && let Some(text) = reading.input.as_ref().and_then(|input| input.prompt())
    {
        out.text(AttrName::Preview, &preview(first_bytes(text)));
    }
}

/// The calls a model asks for. Where a span tells of the call, too, both become one step by its id.
fn calls(span: &Span<'_>, reading: &Reading<'_>, out: &mut Sink<'_>) {
    let at = if span.end.is_some() { span.end } else { Timestamp::NONE };
    for call in reading.output.iter().flat_map(Talk::calls) {
        out.begin(EventKind::ToolCall, at).name(&call.name);
        out.key(KeyKind::Trace, Role::Refers, &span.trace);
        out.key(KeyKind::ToolUse, Role::Provides, &call.id);
        call_facts(&call.input, out);
    }
}

/// What an answer asks for, however its instrument writes inputs.
fn calls_hash(output: &Talk) -> Option<String> {
    let words = output.calls().flat_map(|call| call.name.chars().chain(call.input.chars()));
    text_hash(&words.filter(|character| character.is_alphanumeric()).collect::<String>())
}

/// What a call is for, as its input says.
pub(super) fn call_facts(input: &str, out: &mut Sink<'_>) {
    let known = ToolInput::read(input.as_bytes(), out);
    known.facts(out);
    if !known.has_subject() && !matches!(input, "{}" | "null" | "[]") && out.wants_text() {
        out.text(AttrName::Summary, &preview(first_bytes(input)));
    }
}

/// Enough of a text for a preview.
fn first_bytes(text: &str) -> &str {
    const SOURCE_BYTES: usize = 2048;
    let mut end = text.len().min(SOURCE_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
