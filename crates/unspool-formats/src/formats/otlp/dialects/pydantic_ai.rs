//! Pydantic AI: `GenAI` attributes without an operation on agent and tool spans.

use super::super::reading::{Reading, SpanRole, put};
use super::super::span::{Span, family};
use super::super::talk::{Speaker, Talk};
use super::{Dialect, after};

pub(super) const DIALECT: Dialect = Dialect {
    name: "pydantic-ai",
    speaks: |span, origin| span.attrs.has(family::PYDANTIC) || origin.scope == "pydantic-ai",
    role: |span, _| {
        if span.attrs.get("gen_ai.operation.name").is_some() {
            return None;
        }
        let is_agent =
            span.attrs.any(&["pydantic_ai.all_messages", "all_messages_events", "final_result"]).is_some()
                || span.name == "agent run"
                || (span.attrs.get("agent_name").is_some() && span.attrs.get("gen_ai.tool.name").is_none());
        let is_tool =
            after(&span.name, &["running tool: "]).is_some() || span.attrs.get("gen_ai.tool.name").is_some();
        match (is_tool, is_agent) {
            (true, _) => Some(SpanRole::Tool),
            (_, true) => Some(SpanRole::Agent),
            _ => None,
        }
    },
    facts,
};

fn facts<'a>(span: &Span<'a>, reading: &mut Reading<'a>) {
    let attrs = &span.attrs;
    put(&mut reading.agent_name, || attrs.text(&["gen_ai.agent.name", "agent_name"]));
    put(&mut reading.tool_name, || {
        after(&span.name, &["running tool: "]).map(|name| name.to_string().into())
    });
    put(&mut reading.tool_input, || attrs.text(&["tool_arguments"]));
    put(&mut reading.tool_output, || attrs.text(&["tool_response"]));
    let said = |keys: &[&str], speaker| attrs.any(keys).map(|value| Talk::read(&value.json(), speaker));
    if reading.role == Some(SpanRole::Agent) {
        let all = said(&["pydantic_ai.all_messages", "all_messages_events"], Speaker::User);
        if let Some(all) = all.filter(|_| reading.input.is_none()) {
            // The whole conversation of the run; its first words are what was asked.
            let asked = all.0.iter().find(|message| message.speaker == Speaker::User).cloned();
            reading.input = asked.map(|asked| Talk(vec![asked]));
        }
        if reading.output.is_none() {
            reading.output = said(&["final_result"], Speaker::Assistant);
        }
    } else if reading.output.is_none() {
        // Up to 1.36: what was said lies in `events`, each with its place in the conversation.
        if let Some(all) = said(&["events"], Speaker::User) {
            let answer = all.0.iter().rev().find(|message| message.speaker == Speaker::Assistant).cloned();
            reading.output = answer.map(|answer| Talk(vec![answer]));
        }
    }
}
