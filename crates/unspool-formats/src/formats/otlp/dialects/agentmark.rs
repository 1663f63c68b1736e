//! `AgentMark` and its traces of the Claude Agent SDK: `agentmark.*` beside `GenAI` attributes.

use super::super::reading::{Reading, SpanRole, put};
use super::super::span::{Span, family};
use super::super::talk::{Speaker, Talk};
use super::Dialect;

pub(super) const DIALECT: Dialect = Dialect {
    name: "agentmark",
    speaks: |span, origin| span.attrs.has(family::AGENTMARK) || origin.scope == "agentmark",
    role: |span, _| {
        let kind = span.attrs.text(&["agentmark.span.kind"]);
        if let Some(kind) = kind {
            return Some(match kind.as_ref() {
                "agent" => SpanRole::Agent,
                "llm" => SpanRole::Model,
                "tool" => SpanRole::Tool,
                "retrieval" => SpanRole::Retrieval,
                "embedding" => SpanRole::Embedding,
                "guardrail" => SpanRole::Guardrail,
                "router" => SpanRole::Router,
                "memory" => SpanRole::Memory,
                _ => SpanRole::Work,
            });
        }
        match span.name.as_ref() {
            "gen_ai.llm.turn" | "gen_ai.session" => Some(SpanRole::Model),
            "gen_ai.subagent" => Some(SpanRole::Agent),
            "gen_ai.conversation" => Some(SpanRole::Work),
            name if name.starts_with("gen_ai.tool.call") => Some(SpanRole::Tool),
            _ => None,
        }
    },
    facts: |span, reading| {
        put(&mut reading.title, || span.attrs.text(&["agentmark.trace_name"]));
        facts(span, reading);
    },
};

fn facts<'a>(span: &Span<'a>, reading: &mut Reading<'a>) {
    let attrs = &span.attrs;
    put(&mut reading.session, || attrs.text(&["agentmark.session_id", "agentmark.metadata.session_id"]));
    let said = |keys: &[&str], speaker| attrs.any(keys).map(|value| Talk::read(&value.json(), speaker));
    if reading.input.is_none() {
        let keys = ["gen_ai.request.input", "agentmark.request.input", "agentmark.input"];
        reading.input = said(&keys, Speaker::User);
    }
    if reading.output.is_none() {
        let keys = ["gen_ai.response.output", "agentmark.response.output", "agentmark.output"];
        reading.output = said(&keys, Speaker::Assistant);
    }
}
