//! `OpenInference`: `openinference.span.kind`, `llm.*`, `input.value`, `output.value`.

use super::super::reading::{Reading, SpanRole, Tokens, put, put_tokens};
use super::super::span::{Span, family};
use super::super::talk::{Numbered, Speaker, Talk};
use super::{Dialect, after};

pub(super) const DIALECT: Dialect = Dialect {
    name: "openinference",
    speaks: |span, _| span.attrs.has(family::OPENINFERENCE),
    role: |span, _| {
        let kind = span.attrs.text(&["openinference.span.kind"])?;
        Some(match kind.to_ascii_uppercase().as_str() {
            "LLM" => SpanRole::Model,
            "EMBEDDING" => SpanRole::Embedding,
            "RETRIEVER" | "RERANKER" => SpanRole::Retrieval,
            "TOOL" => SpanRole::Tool,
            "AGENT" => SpanRole::Agent,
            "GUARDRAIL" | "EVALUATOR" => SpanRole::Guardrail,
            "CHAIN" | "PROMPT" => SpanRole::Work,
            _ => return None,
        })
    },
    facts,
};

fn facts<'a>(span: &Span<'a>, reading: &mut Reading<'a>) {
    let attrs = &span.attrs;
    let (agent, tool) = (reading.role == Some(SpanRole::Agent), reading.role == Some(SpanRole::Tool));
    put(&mut reading.agent_name, || {
        let stated = attrs.text(&["agent.name"]).or_else(|| attrs.text(&["graph.node.id"]).filter(|_| agent));
        stated.or_else(|| {
            let bracket = after(&span.name, &["agent_run ["]).and_then(|rest| rest.strip_suffix(']'));
            bracket.filter(|_| agent).map(|name| name.to_string().into())
        })
    });
    put(&mut reading.model, || {
        attrs.text(&["llm.model_name", "embedding.model_name", "reranker.model_name"])
    });
    put(&mut reading.finish, || attrs.text(&["llm.finish_reason"]));
    put(&mut reading.tool_name, || attrs.text(&["tool.name"]));
    put(&mut reading.tool_call_id, || attrs.text(&["tool.id", "tool_call.id"]));
    if tool {
        put(&mut reading.tool_input, || attrs.text(&["input.value", "tool.parameters"]));
        put(&mut reading.tool_output, || attrs.text(&["output.value"]));
    }
    put_tokens(
        &mut reading.tokens,
        Tokens {
            input: attrs.count(&["llm.token_count.prompt"]),
            output: attrs.count(&["llm.token_count.completion"]),
            total: attrs.count(&["llm.token_count.total"]),
            cache_read: attrs.count(&["llm.token_count.prompt_details.cache_read"]),
            cache_write: attrs.count(&["llm.token_count.prompt_details.cache_write"]),
            reasoning: attrs.count(&["llm.token_count.completion_details.reasoning"]),
            ..Tokens::default()
        },
    );
    let (mut input, mut output) = (Numbered::default(), Numbered::default());
    for (key, value) in attrs.iter() {
        let text = || value.text().into_owned();
        if let Some(path) = key.strip_prefix(b"llm.input_messages.") {
            input.take(&String::from_utf8_lossy(path), &text);
        } else if let Some(path) = key.strip_prefix(b"llm.output_messages.") {
            output.take(&String::from_utf8_lossy(path), &text);
        }
    }
    let (input, output) = (input.talk(), output.talk());
    let said = |talk: Talk, keys: &[&str], speaker| {
        if !talk.0.is_empty() {
            return Some(talk);
        }
        attrs.any(keys).map(|value| Talk::read(&value.json(), speaker))
    };
    if reading.input.is_none() && !tool {
        reading.input = said(input, &["input.value"], Speaker::User);
    }
    if reading.output.is_none() && !tool {
        reading.output = said(output, &["output.value"], Speaker::Assistant);
    }
}
