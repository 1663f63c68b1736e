//! Spans that Unspool wrote: the steps and agents of a flow, told again.
//!
//! In: a span, its reading and what it was. Out: one event for the step or the agent, one for every call a model asked for by
//! id, one for every edge or spawn the export tells of. Never here: span keys; who encloses whom says nothing here, as every
//! step lies in the span of its agent, and its place in the tree is told.

use super::emit::{call_facts, model};
use super::reading::Reading;
use super::span::{Attrs, Origin, Span};
use super::talk::Talk;
use super::value::Value;
use crate::prose::preview;
use crate::sink::Sink;
use unspool_model::{AttrName, EventFlags, EventKind, KeyKind, Role, Timestamp};

pub(super) fn emit(
    span: &Span<'_>,
    origin: &Origin<'_>,
    reading: &Reading<'_>,
    kind: EventKind,
    out: &mut Sink<'_>,
) {
    let attrs = &span.attrs;
    out.begin(kind, moments(span).0);
    out.key(KeyKind::Session, Role::Refers, reading.session.as_deref().unwrap_or_default());
    let is_about = matches!(kind, EventKind::AgentInfo | EventKind::AgentStart | EventKind::AgentStop);
    let role = if is_about { Role::Provides } else { Role::Refers };
    key(KeyKind::Agent, role, attrs, "gen_ai.agent.id", out);
    key(KeyKind::Run, Role::Refers, attrs, "unspool.run.id", out);
    if is(attrs, "unspool.agent.main") {
        out.flag(EventFlags::MAIN_AGENT);
    }
    if kind == EventKind::AgentInfo {
        agent(attrs, out);
    } else {
        step(span, origin, reading, kind, out);
    }
    for link in &span.links {
        if link.attrs.get("unspool.edge.from").is_some() {
            told_link(
                &link.attrs,
                ["unspool.edge.from", "unspool.edge.rule", "unspool.edge.confidence"],
                out,
            );
        }
    }
    out.end();
}

fn is(attrs: &Attrs<'_>, name: &str) -> bool {
    attrs.get(name).is_some_and(|value| value.text() == "true")
}

fn key(kind: KeyKind, role: Role, attrs: &Attrs<'_>, name: &str, out: &mut Sink<'_>) {
    out.key(kind, role, attrs.text(&[name]).as_deref().unwrap_or_default());
}

fn text(to: AttrName, attrs: &Attrs<'_>, name: &str, out: &mut Sink<'_>) {
    out.text(to, attrs.text(&[name]).as_deref().unwrap_or_default());
}

/// What is known of an agent, of its session if it is a main agent, and how it was started.
fn agent(attrs: &Attrs<'_>, out: &mut Sink<'_>) {
    text(AttrName::AgentType, attrs, "unspool.agent.type", out);
    text(AttrName::AgentName, attrs, "gen_ai.agent.description", out);
    text(AttrName::Model, attrs, "unspool.agent.model", out);
    text(AttrName::Cwd, attrs, "unspool.session.cwd", out);
    text(AttrName::Title, attrs, "unspool.session.title", out);
    if attrs.get("unspool.spawn.step.id").is_some() {
        told_link(attrs, ["unspool.spawn.step.id", "unspool.spawn.rule", "unspool.spawn.confidence"], out);
    }
}

fn step(span: &Span<'_>, origin: &Origin<'_>, reading: &Reading<'_>, kind: EventKind, out: &mut Sink<'_>) {
    let attrs = &span.attrs;
    key(KeyKind::Told, Role::Provides, attrs, "unspool.step.id", out);
    key(KeyKind::Told, Role::Refers, attrs, "unspool.parent.id", out);
    key(KeyKind::Step, Role::Provides, attrs, "unspool.step.native_id", out);
    times(span, kind, out);
    for (name, flag) in [
        ("unspool.meta", EventFlags::META),
        ("unspool.async", EventFlags::ASYNC),
        ("unspool.started_at_estimated", EventFlags::START_INFERRED),
    ] {
        if is(attrs, name) {
            out.flag(flag);
        }
    }
    if span.failed {
        out.flag(if kind == EventKind::ModelCall { EventFlags::API_ERROR } else { EventFlags::ERROR });
        if out.wants_text() {
            out.text(AttrName::ErrorText, &preview(reading.error.as_deref().unwrap_or_default()));
        }
    }
    if let Some(mut usage) = reading.tokens.usage() {
        usage.cache_write_long = attrs.count(&["unspool.usage.cache_write_long"]).unwrap_or(0);
        out.usage(usage);
    }
    let name = attrs.text(&["unspool.step.name"]).unwrap_or_default();
    match kind {
        EventKind::ModelCall => {
            model(span, origin, reading, out);
            calls(span, reading, out);
        }
        EventKind::ToolCall => {
            out.name(&name);
            key(KeyKind::ToolUse, Role::Provides, attrs, "gen_ai.tool.call.id", out);
            if out.wants_text() {
                text(AttrName::Summary, attrs, "unspool.preview", out);
            }
            call_facts(reading.tool_input.as_deref().unwrap_or_default(), out);
        }
        _ => {
            out.name(&name);
            text(AttrName::Model, attrs, "unspool.step.model", out);
            said(attrs, kind, out);
        }
    }
}

/// When it began and ended. A span cannot end before it begins; a step can, where clocks differ.
fn moments(span: &Span<'_>) -> (Timestamp, Timestamp) {
    if is(&span.attrs, "unspool.ends_first") { (span.end, span.start) } else { (span.start, span.end) }
}

/// A step whose end is another moment than its start is told whole; so is a call, unless it is still open.
fn times(span: &Span<'_>, kind: EventKind, out: &mut Sink<'_>) {
    let is_call = matches!(kind, EventKind::ModelCall | EventKind::ToolCall);
    let (start, end) = moments(span);
    if is(&span.attrs, "unspool.pending") {
        if kind != EventKind::ToolCall {
            out.flag(EventFlags::BEGUN);
        }
    } else if is_call || start != end {
        out.flag(EventFlags::WHOLE);
        if let Some(ns) = end.ns() {
            out.int(AttrName::EndedAt, ns);
        }
    }
}

/// The first words of a message, or of what some work was about.
fn said(attrs: &Attrs<'_>, kind: EventKind, out: &mut Sink<'_>) {
    let Some(words) = attrs.text(&["unspool.preview"]) else { return };
    out.flag(EventFlags::HAS_TEXT);
    if kind == EventKind::UserMessage {
        out.message_preview(&words);
    } else if out.wants_text() {
        out.text(AttrName::Preview, &words);
    }
}

/// The calls a model asked for by id; their own spans say the rest.
fn calls(span: &Span<'_>, reading: &Reading<'_>, out: &mut Sink<'_>) {
    for call in reading.output.iter().flat_map(Talk::calls).filter(|call| !call.id.is_empty()) {
        out.begin(EventKind::ToolCall, span.end).name(&call.name);
        out.key(KeyKind::ToolUse, Role::Provides, &call.id);
    }
}

/// An edge or a spawn: the step it leads from, its kind, its rule and how much it is believed.
fn told_link(attrs: &Attrs<'_>, [from, rule, confidence]: [&str; 3], out: &mut Sink<'_>) {
    out.begin(EventKind::ToldLink, Timestamp::NONE);
    key(KeyKind::Told, Role::Refers, attrs, from, out);
    key(KeyKind::ToolUse, Role::Refers, attrs, "unspool.edge.tool_use_id", out);
    if is(attrs, "unspool.edge.is_error") {
        out.flag(EventFlags::ERROR);
    }
    text(AttrName::EdgeKind, attrs, "unspool.edge.kind", out);
    text(AttrName::LinkRule, attrs, rule, out);
    let share: f64 = attrs.get(confidence).map(Value::text).and_then(|text| text.parse().ok()).unwrap_or(1.0);
    let ten_thousandths = format!("{:.0}", share.clamp(0.0, 1.0) * 10_000.0);
    out.int(AttrName::LinkConfidence, ten_thousandths.parse().unwrap_or(10_000));
}
