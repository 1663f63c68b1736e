//! What a span means, in one set of words for all dialects.
//!
//! In: a span. Out: its role and the facts its dialects know. Of several dialects on one span the first in the order of
//! [`super::dialects`] that states a fact is believed.

use super::dialects::DIALECTS;
use super::moment::Moment;
use super::names;
use super::span::{Attrs, Origin, Span};
use super::talk::Talk;
use super::value::Value;
use crate::sink::Sink;
use std::borrow::Cow;
use unspool_model::{Code, EventKind};

pub(crate) use crate::tokens::Tokens;

/// What a span is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SpanRole {
    /// An agent at work.
    Agent,
    /// A loop of calls that is an agent when nothing around it is.
    Umbrella,
    Model,
    /// A piece of a model call; its tokens are the call's.
    ModelPart,
    Tool,
    Retrieval,
    Embedding,
    Memory,
    Router,
    Guardrail,
    Hook,
    /// Work of another sort, also workflows and turns.
    Work,
}

/// Text that a span may hold.
pub(crate) type Text<'a> = Option<Cow<'a, str>>;

/// What is known about a span.
#[derive(Default)]
pub(crate) struct Reading<'a> {
    pub(crate) role: Option<SpanRole>,
    /// A span that Unspool wrote itself: what its step is, or `AgentInfo` for an agent at work.
    pub(crate) told: Option<EventKind>,
    /// What the span is a moment of, where it is only that.
    pub(crate) moment: Option<Moment>,
    /// The dialect that states the role.
    pub(crate) dialect: &'static str,
    /// A name for people that is better than the span's.
    pub(crate) label: Text<'a>,
    pub(crate) session: Text<'a>,
    pub(crate) title: Text<'a>,
    pub(crate) agent_name: Text<'a>,
    /// An instance of an agent, not a definition.
    pub(crate) agent_id: Text<'a>,
    pub(crate) parent_agent: Text<'a>,
    pub(crate) workflow_run: Text<'a>,
    pub(crate) prompt_id: Text<'a>,
    pub(crate) model: Text<'a>,
    pub(crate) response_id: Text<'a>,
    pub(crate) request_id: Text<'a>,
    pub(crate) finish: Text<'a>,
    pub(crate) tool_name: Text<'a>,
    pub(crate) tool_call_id: Text<'a>,
    pub(crate) tool_input: Text<'a>,
    pub(crate) tool_output: Text<'a>,
    pub(crate) handoff_to: Text<'a>,
    pub(crate) error: Text<'a>,
    pub(crate) denied: bool,
    pub(crate) input: Option<Talk>,
    pub(crate) output: Option<Talk>,
    pub(crate) tokens: Tokens,
}

impl<'a> Reading<'a> {
    pub(crate) fn of(span: &Span<'a>, origin: &Origin<'a>) -> Reading<'a> {
        let mut reading = Reading::default();
        for dialect in DIALECTS.iter().filter(|dialect| (dialect.speaks)(span, origin)) {
            if reading.role.is_none() {
                reading.role = (dialect.role)(span, origin);
                reading.dialect = dialect.name;
            }
            (dialect.facts)(span, &mut reading);
        }
        let common = ["session.id", "sessionId", "thread_id", "conversation.id"];
        put(&mut reading.session, || span.attrs.text(&common).or_else(|| origin.resource.text(&common[..1])));
        put(&mut reading.error, || {
            let attribute = span.attrs.text(&["exception.message", "error.message"]);
            attribute.or_else(|| span.exception.as_ref().map(Value::text))
        });
        put(&mut reading.error, || {
            span.status_message.map(crate::json::RawStr::decode).filter(|_| span.failed)
        });
        put(&mut reading.error, || span.attrs.text(&["error.type"]).filter(|_| span.failed));
        if reading.role.is_none() {
            reading.role = Some(by_facts(&reading));
        }
        // What happens to an agent is written as if it were one.
        reading.moment = Moment::of(span);
        if reading.moment.is_some() && matches!(reading.role, Some(SpanRole::Agent | SpanRole::Umbrella)) {
            reading.role = Some(SpanRole::Work);
        }
        if let (Some(_), Some(output)) = (&reading.moment, &mut reading.output) {
            output.join_pieces();
        }
        reading.agent_name = reading.agent_name.take().and_then(names::readable);
        reading
    }
}

/// Says what lay too deep in attributes to be read.
pub(crate) fn report_cuts<'t>(
    attrs: &Attrs<'_>,
    talks: impl IntoIterator<Item = &'t Talk>,
    out: &mut Sink<'_>,
) {
    for _ in 0..attrs.cut() {
        out.issue(Code::LimitReached, "max_value_levels");
    }
    for _ in 0..talks.into_iter().map(Talk::cut).sum() {
        out.issue(Code::LimitReached, "max_message_levels");
    }
}

/// What a span is when no dialect says so: what it has tells.
fn by_facts(reading: &Reading<'_>) -> SpanRole {
    if reading.tool_name.is_some() || reading.tool_call_id.is_some() {
        SpanRole::Tool
    } else if reading.model.is_some() && reading.agent_name.is_none() {
        SpanRole::Model
    } else {
        SpanRole::Work
    }
}

/// Sets a fact that is not known yet.
pub(crate) fn put<'a>(slot: &mut Text<'a>, value: impl FnOnce() -> Text<'a>) {
    if slot.is_none() {
        *slot = value().filter(|text| !text.trim().is_empty());
    }
}

/// Sets tokens that are not known yet, all together: a mixture of two countings would be none.
pub(crate) fn put_tokens(slot: &mut Tokens, tokens: Tokens) {
    if slot.is_empty() {
        *slot = tokens;
    }
}
