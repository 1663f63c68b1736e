//! Unspool's own spans: `unspool.*` says what a step was in the flow it was exported from, and whose.

use super::super::reading::SpanRole;
use super::super::span::family;
use super::Dialect;
use unspool_model::EventKind;

pub(super) const DIALECT: Dialect = Dialect {
    name: "unspool",
    speaks: |span, _| span.attrs.has(family::UNSPOOL),
    role: |span, _| {
        Some(match span.attrs.text(&["unspool.step.kind"])?.as_ref() {
            "model_call" => SpanRole::Model,
            "tool_call" => SpanRole::Tool,
            _ => return None,
        })
    },
    facts: |span, reading| {
        let kind = span.attrs.text(&["unspool.step.kind"]);
        let is_turn = || span.attrs.get("unspool.agent.id").is_some();
        reading.told = match kind {
            Some(kind) => Some(event_kind(&kind)),
            None => is_turn().then_some(EventKind::AgentInfo),
        };
    },
};

/// What a word of an export stands for; one of a newer version is work like other work.
fn event_kind(word: &str) -> EventKind {
    match word {
        "user_message" => EventKind::UserMessage,
        "model_call" => EventKind::ModelCall,
        "tool_call" => EventKind::ToolCall,
        "agent_start" => EventKind::AgentStart,
        "agent_stop" => EventKind::AgentStop,
        "compaction" => EventKind::Compaction,
        "system" => EventKind::System,
        "hook" => EventKind::Hook,
        "retrieval" => EventKind::Retrieval,
        "embedding" => EventKind::Embedding,
        "memory" => EventKind::Memory,
        "router" => EventKind::Router,
        "guardrail" => EventKind::Guardrail,
        _ => EventKind::Generic,
    }
}
