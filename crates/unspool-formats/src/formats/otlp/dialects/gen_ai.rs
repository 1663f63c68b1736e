//! The OpenTelemetry `GenAI` conventions, before and after 1.37: `gen_ai.*`.

use super::super::reading::{Reading, SpanRole, Text, Tokens, put, put_tokens};
use super::super::span::{Span, family};
use super::super::talk::{Speaker, Talk};
use super::super::value::Value;
use super::{Dialect, after};
use crate::json::{Json, Kind};
use std::borrow::Cow;

pub(super) const DIALECT: Dialect = Dialect {
    name: "gen-ai",
    speaks: |span, _| span.attrs.has(family::GEN_AI),
    role: |span, _| span.attrs.get("gen_ai.operation.name").and_then(|name| operation(&name.text())),
    facts,
};

fn operation(name: &str) -> Option<SpanRole> {
    Some(match name {
        "chat" | "generate_content" | "text_completion" | "completion" | "generate" | "model_inference"
        | "llm_request" | "message" | "response" | "responses" => SpanRole::Model,
        "embeddings" | "embedding" => SpanRole::Embedding,
        "retrieval" => SpanRole::Retrieval,
        "execute_tool" => SpanRole::Tool,
        "invoke_agent" | "agent_step" | "agent_run" => SpanRole::Agent,
        "invoke_workflow" | "create_agent" | "plan" | "workflow_step" | "chain" => SpanRole::Work,
        memory if memory.contains("memory") => SpanRole::Memory,
        _ => return None,
    })
}

fn facts<'a>(span: &Span<'a>, reading: &mut Reading<'a>) {
    let attrs = &span.attrs;
    put(&mut reading.session, || attrs.text(&["gen_ai.conversation.id", "gen_ai.thread.id"]));
    put(&mut reading.agent_name, || {
        // An agent of Koog has an id and no name; what it follows has one.
        let stated = attrs.text(&["gen_ai.agent.name", "koog.agent.strategy.name"]);
        stated.or_else(|| {
            let named = reading.role == Some(SpanRole::Agent);
            after(&span.name, &["invoke_agent ", "agent_step "])
                .filter(|_| named)
                .map(|name| name.to_string().into())
        })
    });
    put(&mut reading.model, || attrs.text(&["gen_ai.response.model", "gen_ai.request.model"]));
    put(&mut reading.response_id, || attrs.text(&["gen_ai.response.id"]));
    put(&mut reading.finish, || attrs.get("gen_ai.response.finish_reasons").and_then(finish_reason));
    if attrs.has(family::GEN_AI_TOOL) {
        put(&mut reading.tool_name, || attrs.text(&["gen_ai.tool.name"]));
        put(&mut reading.tool_call_id, || attrs.text(&["gen_ai.tool.call.id"]));
        put(&mut reading.tool_input, || attrs.text(&["gen_ai.tool.call.arguments", "gen_ai.tool.input"]));
        put(&mut reading.tool_output, || attrs.text(&["gen_ai.tool.call.result", "gen_ai.tool.output"]));
    }
    put(&mut reading.handoff_to, || attrs.text(&["gen_ai.agent.handoff.target.name"]));
    if reading.input.is_none() {
        let input = attrs.any(&["gen_ai.input.messages", "gen_ai.prompt", "gen_ai.retrieval.query.text"]);
        reading.input = input.map(|value| Talk::read(&value.json(), Speaker::User));
    }
    if reading.output.is_none() {
        let output = attrs.any(&["gen_ai.output.messages", "gen_ai.completion"]);
        reading.output = output.map(|value| Talk::read(&value.json(), Speaker::Assistant));
    }
    put_tokens(&mut reading.tokens, tokens(span));
}

/// Input includes what the cache served, by the specification.
pub(crate) fn tokens(span: &Span<'_>) -> Tokens {
    let attrs = &span.attrs;
    if !attrs.has(family::GEN_AI_USAGE) {
        return Tokens::default();
    }
    Tokens {
        input: attrs.count(&["gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens"]),
        output: attrs.count(&["gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens"]),
        total: attrs.count(&["gen_ai.usage.total_tokens", "llm.usage.total_tokens"]),
        cache_read: attrs.count(&[
            "gen_ai.usage.cache_read.input_tokens",
            "gen_ai.usage.cache_read_input_tokens",
            "gen_ai.usage.cache_read_tokens",
        ]),
        cache_write: attrs.count(&[
            "gen_ai.usage.cache_creation.input_tokens",
            "gen_ai.usage.cache_creation_input_tokens",
            "gen_ai.usage.cache_write_tokens",
        ]),
        reasoning: attrs.count(&[
            "gen_ai.usage.reasoning.output_tokens",
            "gen_ai.usage.reasoning_tokens",
            "gen_ai.usage.details.reasoning_tokens",
        ]),
        ..Tokens::default()
    }
}

/// The first reason of a list, of JSON in a string, or the bare word.
fn finish_reason<'a>(value: &Value<'a>) -> Text<'a> {
    if let Some(word) = value.first_word() {
        return Some(word);
    }
    let json = value.json();
    let mut first = None;
    let mut reader = Json::new(&json);
    match reader.kind() {
        Ok(Kind::Array) => {
            let _ = reader.array(|json| {
                let word = json.string()?.map(|word| word.decode().into_owned());
                first = first.take().or(word);
                Ok(())
            });
            first.map(Cow::Owned)
        }
        Ok(Kind::String) => reader.string().ok().flatten().map(|word| word.decode().into_owned().into()),
        _ => Some(value.text()),
    }
}
