//! `OpenLLMetry` (Traceloop): `traceloop.*`, numbered `gen_ai.prompt.N.*` and `gen_ai.completion.N.*`, `llm.*`.

use super::super::reading::{Reading, SpanRole, put, put_tokens};
use super::super::span::{Span, family};
use super::super::talk::{Numbered, Speaker, Talk};
use super::{Dialect, gen_ai_tokens};

pub(super) const DIALECT: Dialect = Dialect {
    name: "openllmetry",
    speaks: |span, _| span.attrs.has(family::TRACELOOP),
    role: |span, _| {
        let attrs = &span.attrs;
        if let Some(kind) = attrs.text(&["traceloop.span.kind"]) {
            return Some(match kind.to_ascii_lowercase().as_str() {
                "agent" => SpanRole::Agent,
                "tool" => SpanRole::Tool,
                "llm" => SpanRole::Model,
                _ => SpanRole::Work,
            });
        }
        Some(match attrs.text(&["llm.request.type"])?.as_ref() {
            "chat" | "completion" => SpanRole::Model,
            "embedding" => SpanRole::Embedding,
            "rerank" => SpanRole::Retrieval,
            _ => return None,
        })
    },
    facts,
};

fn facts<'a>(span: &Span<'a>, reading: &mut Reading<'a>) {
    let attrs = &span.attrs;
    if attrs.has(family::TRACELOOP) {
        let property = |name: &str| format!("traceloop.association.properties.{name}");
        put(&mut reading.session, || {
            ["session_id", "session.id", "chat_id", "thread_id", "conversation_id"]
                .iter()
                .find_map(|name| attrs.text(&[property(name).as_str()]))
        });
        let entity = || attrs.text(&["traceloop.entity.name"]).or_else(|| bare_name(&span.name));
        match reading.role {
            Some(SpanRole::Agent) => put(&mut reading.agent_name, entity),
            Some(SpanRole::Tool) => {
                put(&mut reading.tool_name, entity);
                put(&mut reading.tool_input, || attrs.text(&["traceloop.entity.input"]));
                put(&mut reading.tool_output, || attrs.text(&["traceloop.entity.output"]));
            }
            Some(SpanRole::Work) | None => put(&mut reading.label, || bare_name(&span.name)),
            Some(_) => {}
        }
    }
    put(&mut reading.finish, || attrs.text(&["llm.response.finish_reason", "llm.response.stop_reason"]));
    put_tokens(&mut reading.tokens, gen_ai_tokens(span));
    let (mut input, mut output) = (Numbered::default(), Numbered::default());
    for (key, value) in attrs.iter() {
        let text = || value.text().into_owned();
        if let Some(path) = key.strip_prefix(b"gen_ai.prompt.") {
            input.take(&String::from_utf8_lossy(path), &text);
        } else if let Some(path) = key.strip_prefix(b"gen_ai.completion.") {
            output.take(&String::from_utf8_lossy(path), &text);
        }
    }
    let entity = |key: &str, speaker| attrs.any(&[key]).map(|value| Talk::read(&value.json(), speaker));
    let (input, output) = (input.talk(), output.talk());
    if reading.input.is_none() {
        let talk =
            if input.0.is_empty() { entity("traceloop.entity.input", Speaker::User) } else { Some(input) };
        reading.input = talk;
    }
    if let Some(last) = output.0.last() {
        put(&mut reading.finish, || Some(last.finish.clone().into()));
    }
    if reading.output.is_none() {
        let entity = || entity("traceloop.entity.output", Speaker::Assistant);
        reading.output = if output.0.is_empty() { entity() } else { Some(output) };
    }
}

/// `researcher.agent` is the researcher.
fn bare_name(name: &str) -> super::super::reading::Text<'static> {
    let (bare, suffix) = name.rsplit_once('.')?;
    matches!(suffix, "agent" | "tool" | "task" | "workflow").then(|| bare.to_string().into())
}
