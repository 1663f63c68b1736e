//! The Vercel AI SDK: `ai.*`. Up to version 4 results are `ai.result.*`, later `ai.response.*`; from version 7 on it speaks
//! the `GenAI` conventions.

use super::super::reading::{Reading, SpanRole, Tokens, put, put_tokens};
use super::super::span::{Span, family};
use super::super::talk::{Message, Speaker, Talk};
use super::Dialect;
use crate::json::Json;
use std::borrow::Cow;

pub(super) const DIALECT: Dialect = Dialect {
    name: "vercel",
    speaks: |span, _| span.attrs.has(family::VERCEL),
    role: |span, _| {
        let operation = operation(span)?;
        let name = operation.strip_prefix("ai.")?;
        if name == "toolCall" {
            return Some(SpanRole::Tool);
        }
        let inner = name.rsplit_once('.').map(|(_, inner)| inner);
        Some(match inner {
            Some("doGenerate" | "doStream") => SpanRole::Model,
            Some("doEmbed") => SpanRole::Embedding,
            _ if name.starts_with("embed") => SpanRole::Work,
            _ if ["generateText", "streamText", "generateObject", "streamObject"].contains(&name) => {
                SpanRole::Umbrella
            }
            _ => SpanRole::Work,
        })
    },
    facts,
};

/// The operation. The function's name is appended to `operation.name`, so only its beginning counts.
fn operation<'a>(span: &Span<'a>) -> Option<Cow<'a, str>> {
    if let Some(id) = span.attrs.text(&["ai.operationId"]) {
        return Some(id);
    }
    let name = span.attrs.text(&["operation.name"])?;
    let first = name.split(' ').next().unwrap_or_default();
    first.starts_with("ai.").then(|| first.to_string().into())
}

fn facts<'a>(span: &Span<'a>, reading: &mut Reading<'a>) {
    let attrs = &span.attrs;
    let metadata = |names: &[&str]| {
        let keys: Vec<String> = names.iter().map(|name| format!("ai.telemetry.metadata.{name}")).collect();
        attrs.text(&keys.iter().map(String::as_str).collect::<Vec<_>>())
    };
    put(&mut reading.session, || {
        metadata(&["session_id", "sessionId", "threadId", "thread_id", "conversationId", "chatId"])
    });
    put(&mut reading.title, || metadata(&["trace_name", "langfuseTraceName"]));
    if reading.role == Some(SpanRole::Umbrella) {
        put(&mut reading.agent_name, || attrs.text(&["ai.telemetry.functionId", "resource.name"]));
    }
    put(&mut reading.tool_name, || attrs.text(&["ai.toolCall.name"]));
    put(&mut reading.tool_call_id, || attrs.text(&["ai.toolCall.id"]));
    put(&mut reading.tool_input, || attrs.text(&["ai.toolCall.args", "ai.toolCall.input"]));
    put(&mut reading.tool_output, || attrs.text(&["ai.toolCall.result", "ai.toolCall.output"]));
    put(&mut reading.model, || attrs.text(&["ai.response.model", "gen_ai.request.model", "ai.model.id"]));
    put(&mut reading.response_id, || attrs.text(&["ai.response.id"]));
    put(&mut reading.finish, || attrs.text(&["ai.response.finishReason", "ai.finishReason"]));
    if reading.input.is_none() {
        let input = attrs.any(&["ai.prompt.messages", "ai.prompt"]);
        reading.input = input.map(|value| Talk::read(&value.json(), Speaker::User));
    }
    if reading.output.is_none() {
        reading.output = answer(span);
    }
    put_tokens(
        &mut reading.tokens,
        Tokens {
            input: attrs.count(&[
                "ai.usage.inputTokens",
                "ai.usage.promptTokens",
                "gen_ai.usage.input_tokens",
            ]),
            output: attrs.count(&[
                "ai.usage.outputTokens",
                "ai.usage.completionTokens",
                "gen_ai.usage.output_tokens",
            ]),
            total: attrs.count(&["ai.usage.totalTokens", "ai.usage.tokens"]),
            cache_read: attrs.count(&["ai.usage.cachedInputTokens"]),
            reasoning: attrs.count(&["ai.usage.reasoningTokens"]).or_else(|| openai_reasoning(span)),
            ..Tokens::default()
        },
    );
}

/// Text, object and calls of the answer.
fn answer(span: &Span<'_>) -> Option<Talk> {
    let attrs = &span.attrs;
    let text = attrs.text(&["ai.response.text", "ai.result.text", "ai.response.object", "ai.result.object"]);
    let calls = attrs.any(&["ai.response.toolCalls", "ai.result.toolCalls"]);
    if text.is_none() && calls.is_none() {
        return None;
    }
    let mut message = Message {
        speaker: Speaker::Assistant,
        text: text.unwrap_or_default().into_owned(),
        ..Message::default()
    };
    if let Some(calls) = calls {
        let message_of = [&b"{\"tool_calls\":"[..], &calls.json(), b"}"].concat();
        let talk = Talk::read(&message_of, Speaker::Assistant);
        message.calls = talk.calls().cloned().collect();
        message.cut = talk.cut();
    }
    Some(Talk(vec![message]))
}

/// Version 4 knows thinking only from the provider.
fn openai_reasoning(span: &Span<'_>) -> Option<u64> {
    let metadata = span.attrs.get("ai.response.providerMetadata")?.json();
    let mut count = None;
    let _ = Json::new(&metadata).object(|json, key| {
        if key != b"openai" {
            return json.skip();
        }
        json.object(|json, key| {
            if key == b"reasoningTokens" {
                count = json.integer()?.and_then(|n| u64::try_from(n).ok());
                return Ok(());
            }
            json.skip()
        })
    });
    count
}
