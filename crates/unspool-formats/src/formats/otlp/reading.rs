//! What a span means, in one set of words for all dialects.
//!
//! In: a span. Out: its role and the facts its dialects know. Of several dialects on one span the first in the order of
//! [`super::dialects`] that states a fact is believed.

use super::dialects::DIALECTS;
use super::span::{Attrs, Origin, Span};
use super::talk::Talk;
use super::value::Value;
use crate::sink::Sink;
use std::borrow::Cow;
use unspool_model::{Code, Usage};

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

/// Tokens as a source counts them.
#[derive(Clone, Copy, Default, Debug, PartialEq)]
pub(crate) struct Tokens {
    pub(crate) input: Option<u64>,
    pub(crate) output: Option<u64>,
    pub(crate) total: Option<u64>,
    pub(crate) cache_read: Option<u64>,
    pub(crate) cache_write: Option<u64>,
    pub(crate) cache_write_long: Option<u64>,
    pub(crate) reasoning: Option<u64>,
    /// `input` leaves cached tokens out.
    pub(crate) input_is_uncached: bool,
}

impl Tokens {
    pub(crate) fn is_empty(&self) -> bool {
        self.input.is_none() && self.output.is_none() && self.total.is_none()
    }

    /// Five buckets that do not overlap. Input that is smaller than what it should include leaves it out for certain, and so does
    /// output when only with the thinking beside it the sum comes out.
    pub(crate) fn usage(&self) -> Option<Usage> {
        if self.is_empty() {
            return None;
        }
        let output = self.output.unwrap_or(0);
        let input = self.input.unwrap_or_else(|| self.total.unwrap_or(0).saturating_sub(output));
        let (cache_read, cache_write) = (self.cache_read.unwrap_or(0), self.cache_write.unwrap_or(0));
        let cached = cache_read.saturating_add(cache_write);
        let uncached =
            if self.input_is_uncached { input } else { input.checked_sub(cached).unwrap_or(input) };
        let reasoning = self.reasoning.unwrap_or(0);
        let without_reasoning = uncached.saturating_add(cached).saturating_add(output);
        let is_beside = self.total == Some(without_reasoning.saturating_add(reasoning));
        Some(Usage {
            input: uncached,
            cache_read,
            cache_write,
            cache_write_long: self.cache_write_long.unwrap_or(0).min(cache_write),
            // Thinking is part of the output wherever it fits in.
            output: output.checked_sub(reasoning).filter(|_| !is_beside).unwrap_or(output),
            reasoning,
        })
    }

    /// Tokens of the stated sum that no part of it tells of.
    pub(crate) fn unsplit(&self) -> u64 {
        let told = self.usage().map_or(0, |usage| usage.total());
        self.total.map_or(0, |total| total.saturating_sub(told))
    }
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
        put(&mut reading.error, || span.status_message.map(crate::json::RawStr::decode).filter(|_| span.failed));
        put(&mut reading.error, || span.attrs.text(&["error.type"]).filter(|_| span.failed));
        if reading.role.is_none() {
            reading.role = Some(by_facts(&reading));
        }
        reading
    }
}

/// Says what lay too deep in attributes to be read.
pub(crate) fn report_cuts<'t>(attrs: &Attrs<'_>, talks: impl IntoIterator<Item = &'t Talk>, out: &mut Sink<'_>) {
    for _ in 0..attrs.iter().map(|(_, value)| value.cut()).sum() {
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

#[cfg(test)]
mod tests {
    use super::Tokens;
    use unspool_model::Usage;

    #[test]
    fn buckets_never_overlap() {
        let inclusive = Tokens { input: Some(100), cache_read: Some(80), output: Some(9), ..Tokens::default() };
        let usage = Usage { input: 20, cache_read: 80, output: 9, ..Usage::default() };
        assert_eq!(inclusive.usage(), Some(usage));
        let exclusive = Tokens { input_is_uncached: true, ..inclusive };
        assert_eq!(exclusive.usage().map(|usage| usage.input), Some(100));
        let impossible = Tokens { input: Some(10), ..inclusive };
        assert_eq!(impossible.usage().map(|usage| usage.input), Some(10), "10 cannot include 80");
        let thinking = Tokens { output: Some(9), reasoning: Some(4), ..Tokens::default() };
        assert_eq!(thinking.usage().map(|usage| (usage.output, usage.reasoning)), Some((5, 4)));
        assert_eq!(Tokens::default().usage(), None);
    }

    #[test]
    fn what_a_sum_says_beyond_its_parts_is_not_lost() {
        let parts = Tokens { input: Some(5), output: Some(9), total: Some(20), ..Tokens::default() };
        assert_eq!((parts.unsplit(), parts.usage().map(|usage| usage.total())), (6, Some(14)));
        let beside = Tokens { reasoning: Some(6), ..parts };
        assert_eq!(beside.unsplit(), 0);
        assert_eq!(beside.usage().map(|usage| (usage.output, usage.reasoning)), Some((9, 6)));
        let inside = Tokens { total: Some(14), ..beside };
        assert_eq!(inside.usage().map(|usage| (usage.output, usage.reasoning)), Some((3, 6)));
        let cached = Tokens { input: Some(5), cache_read: Some(9), total: Some(14), ..Tokens::default() };
        assert_eq!(Tokens { input_is_uncached: true, ..cached }.unsplit(), 0);
    }
}
