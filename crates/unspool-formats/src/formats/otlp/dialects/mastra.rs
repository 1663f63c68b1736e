//! Mastra: `mastra.*` with `GenAI` attributes, and the older `agent.<method>.{argument,result}` with `componentName`.

use super::super::reading::{Reading, SpanRole, Tokens, put, put_tokens};
use super::super::span::{Span, family};
use super::super::talk::{Speaker, Talk};
use super::Dialect;
use crate::json::{Json, Kind};

pub(super) const DIALECT: Dialect = Dialect {
    name: "mastra",
    speaks: |span, _| span.attrs.has(family::MASTRA),
    role: |span, _| {
        if let Some(kind) = span.attrs.text(&["mastra.span.type"]) {
            return Some(match kind.to_ascii_lowercase().as_str() {
                "agent_run" => SpanRole::Agent,
                "model_generation" | "llm_generation" => SpanRole::Model,
                "model_step" | "model_chunk" | "model_inference" | "llm_step" | "llm_chunk" => {
                    SpanRole::ModelPart
                }
                "tool_call" | "mcp_tool_call" | "provider_tool_call" => SpanRole::Tool,
                "rag_embedding" => SpanRole::Embedding,
                _ => SpanRole::Work,
            });
        }
        span.attrs.get("componentName")?;
        Some(if WORKING.contains(&span.name.as_ref()) { SpanRole::Agent } else { SpanRole::Work })
    },
    facts,
};

/// Methods of the older shape that do an agent's work; the others prepare it.
const WORKING: &[&str] = &[
    "agent.stream",
    "agent.streamLegacy",
    "agent.streamObject",
    "agent.generate",
    "agent.generateLegacy",
    "agent.generateObject",
];

fn facts<'a>(span: &Span<'a>, reading: &mut Reading<'a>) {
    let attrs = &span.attrs;
    put(&mut reading.session, || attrs.text(&["mastra.metadata.threadId", "mastra.metadata.sessionId"]));
    if reading.role == Some(SpanRole::Agent) {
        put(&mut reading.agent_name, || attrs.text(&["componentName", "mastra.entity.name"]));
    }
    let own = |suffix: &str| {
        let kind = attrs.text(&["mastra.span.type"]);
        let prefix = kind.map_or_else(|| span.name.to_string(), |kind| format!("mastra.{kind}"));
        attrs.any(&[format!("{prefix}.{suffix}").as_str()]).copied()
    };
    if reading.role == Some(SpanRole::Work) {
        return;
    }
    if reading.input.is_none() {
        let input = own("input").or_else(|| own("argument.0"));
        reading.input = input.map(|value| Talk::read(&value.json(), Speaker::User));
    }
    let output = own("output").or_else(|| own("result"));
    let Some(output) = output.map(|value| value.json()) else { return };
    put_tokens(&mut reading.tokens, usage(&output));
    if reading.output.is_none() {
        reading.output = Some(Talk::read(&output, Speaker::Assistant));
    }
}

/// `usage` of a result.
fn usage(result: &[u8]) -> Tokens {
    let mut tokens = Tokens::default();
    let mut json = Json::new(result);
    if json.kind() != Ok(Kind::Object) {
        return tokens;
    }
    let _ = json.object(|json, key| {
        if key != b"usage" || json.kind()? != Kind::Object {
            return json.skip();
        }
        json.object(|json, key| {
            let count = |number: Option<i64>| number.and_then(|number| u64::try_from(number).ok());
            match key {
                b"promptTokens" | b"inputTokens" => tokens.input = count(json.integer()?),
                b"completionTokens" | b"outputTokens" => tokens.output = count(json.integer()?),
                b"totalTokens" => tokens.total = count(json.integer()?),
                b"cachedInputTokens" => tokens.cache_read = count(json.integer()?),
                b"reasoningTokens" => tokens.reasoning = count(json.integer()?),
                _ => json.skip()?,
            }
            Ok(())
        })
    });
    tokens
}
