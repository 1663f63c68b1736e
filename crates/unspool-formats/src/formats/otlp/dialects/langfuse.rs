//! Langfuse: `langfuse.*`. Its type of an observation overrides every other role; its numbers come last, because they are
//! derived from the others'.

use super::super::reading::{Reading, SpanRole, Tokens, put, put_tokens};
use super::super::span::{Span, family};
use super::super::talk::{Speaker, Talk};
use super::Dialect;
use crate::json::Json;

pub(super) const OVERRIDE: Dialect = Dialect {
    name: "langfuse",
    speaks: |span, _| span.attrs.has(family::LANGFUSE),
    role: |span, _| {
        let kind = span.attrs.text(&["langfuse.observation.type"])?;
        Some(match kind.to_ascii_lowercase().as_str() {
            // Early SDKs say "generation" for whatever a wrapper traced, and "span" for generations.
            "generation" if has_model(span) || !has_other_role(span) => SpanRole::Model,
            "embedding" => SpanRole::Embedding,
            // An agent that is made does nothing yet; its work lies in the span that invokes it.
            "agent" if span.attrs.text(&["gen_ai.operation.name"]).as_deref() == Some("create_agent") => {
                return None;
            }
            "agent" => SpanRole::Agent,
            "tool" => SpanRole::Tool,
            "retriever" => SpanRole::Retrieval,
            "guardrail" | "evaluator" => SpanRole::Guardrail,
            "chain" => SpanRole::Work,
            _ => return None,
        })
    },
    facts: |span, reading| {
        put(&mut reading.session, || span.attrs.text(&["langfuse.session.id"]));
        put(&mut reading.title, || span.attrs.text(&["langfuse.trace.name"]));
    },
};

fn has_model(span: &Span<'_>) -> bool {
    span.attrs.any(&["langfuse.observation.model.name", "gen_ai.response.model", "llm.model_name"]).is_some()
        && span.attrs.text(&["ai.operationId"]).is_none_or(|operation| operation.contains(".do"))
}

fn has_other_role(span: &Span<'_>) -> bool {
    span.attrs
        .any(&["openinference.span.kind", "gen_ai.operation.name", "ai.operationId", "mastra.span.type"])
        .is_some()
}

pub(super) const REST: Dialect = Dialect {
    name: "langfuse",
    speaks: |span, _| span.attrs.has(family::LANGFUSE),
    role: |_, _| None,
    facts,
};

fn facts<'a>(span: &Span<'a>, reading: &mut Reading<'a>) {
    let attrs = &span.attrs;
    put(&mut reading.model, || attrs.text(&["langfuse.observation.model.name"]));
    match reading.role {
        Some(SpanRole::Agent) => put(&mut reading.agent_name, || Some(span.name.clone())),
        Some(SpanRole::Tool) => {
            put(&mut reading.tool_input, || attrs.text(&["langfuse.observation.input"]));
            put(&mut reading.tool_output, || attrs.text(&["langfuse.observation.output"]));
        }
        None if reading.model.is_some() => reading.role = Some(SpanRole::Model),
        _ => {}
    }
    put(&mut reading.error, || {
        let failed = attrs.text(&["langfuse.observation.level"]).is_some_and(|level| level == "ERROR");
        attrs.text(&["langfuse.observation.status_message"]).filter(|_| failed)
    });
    if let Some(details) = attrs.get("langfuse.observation.usage_details") {
        put_tokens(&mut reading.tokens, usage_details(&details.json()));
    }
    let said = |key: &str, speaker| attrs.any(&[key]).map(|value| Talk::read(&value.json(), speaker));
    if reading.input.is_none() {
        reading.input = said("langfuse.observation.input", Speaker::User);
    }
    if reading.output.is_none() {
        reading.output = said("langfuse.observation.output", Speaker::Assistant);
    }
}

/// Input leaves cached tokens out, unless the details are copied from `OpenInference`, where they are part of it.
fn usage_details(json: &[u8]) -> Tokens {
    let mut tokens = Tokens { input_is_uncached: true, ..Tokens::default() };
    let _ = Json::new(json).object(|json, key| {
        let count = json.integer()?.and_then(|number| u64::try_from(number).ok());
        match key {
            b"input" | b"prompt_tokens" | b"input_tokens" => tokens.input = count,
            b"output" | b"completion_tokens" | b"output_tokens" => tokens.output = count,
            b"total" => tokens.total = count,
            b"cache_read_input_tokens" | b"input_cached_tokens" | b"input_cache_read" => {
                tokens.cache_read = count;
            }
            b"prompt_details.cache_read" => {
                tokens.cache_read = count;
                tokens.input_is_uncached = false;
            }
            b"cache_creation_input_tokens" | b"input_cache_creation" | b"input_cache_creation_5m" => {
                tokens.cache_write = Some(tokens.cache_write.unwrap_or(0) + count.unwrap_or(0));
            }
            b"input_cache_creation_1h" => {
                tokens.cache_write = Some(tokens.cache_write.unwrap_or(0) + count.unwrap_or(0));
                tokens.cache_write_long = count;
            }
            b"output_reasoning" | b"output_reasoning_tokens" | b"completion_details.reasoning" => {
                tokens.reasoning = count;
            }
            _ => {}
        }
        Ok(())
    });
    // Where nobody counted, all of them are there and 0.
    if tokens.usage().is_some_and(|usage| usage.is_zero()) { Tokens::default() } else { tokens }
}
