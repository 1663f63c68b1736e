//! Claude Code's own spans: `claude_code.*` by name or `span.type`, with bare attribute names.

use super::super::reading::{Reading, SpanRole, Tokens, put, put_tokens};
use super::super::span::Span;
use super::super::talk::{Speaker, Talk};
use super::Dialect;

pub(super) const DIALECT: Dialect = Dialect {
    name: "claude-code",
    speaks: |span, _| kind(span).is_some(),
    role: |span, _| {
        Some(match kind(span)? {
            "llm_request" => SpanRole::Model,
            "tool" => SpanRole::Tool,
            "hook" => SpanRole::Hook,
            _ => SpanRole::Work,
        })
    },
    facts,
};

/// What follows `claude_code.` in the span's name; newer versions say it in `span.type`.
fn kind<'s>(span: &'s Span<'_>) -> Option<&'s str> {
    span.name.strip_prefix("claude_code.")
}

fn facts<'a>(span: &Span<'a>, reading: &mut Reading<'a>) {
    let attrs = &span.attrs;
    put(&mut reading.agent_id, || attrs.text(&["agent_id"]));
    put(&mut reading.parent_agent, || attrs.text(&["parent_agent_id"]));
    put(&mut reading.workflow_run, || attrs.text(&["workflow.run_id"]));
    put(&mut reading.prompt_id, || attrs.text(&["prompt.id"]));
    match kind(span).unwrap_or_default() {
        "llm_request" => {
            put(&mut reading.model, || {
                attrs.text(&["model", "gen_ai.response.model", "gen_ai.request.model"])
            });
            put(&mut reading.request_id, || attrs.text(&["request_id"]));
            put(&mut reading.finish, || attrs.text(&["stop_reason"]));
            put_tokens(
                &mut reading.tokens,
                Tokens {
                    input: attrs.count(&["input_tokens"]),
                    output: attrs.count(&["output_tokens"]),
                    cache_read: attrs.count(&["cache_read_tokens"]),
                    cache_write: attrs.count(&["cache_creation_tokens"]),
                    input_is_uncached: true,
                    ..Tokens::default()
                },
            );
            put(&mut reading.error, || attrs.text(&["error"]));
        }
        "tool" => {
            put(&mut reading.tool_name, || attrs.text(&["tool_name", "gen_ai.tool.name"]));
            put(&mut reading.tool_call_id, || attrs.text(&["tool_use_id", "gen_ai.tool.call.id"]));
            put(&mut reading.tool_input, || attrs.text(&["tool_input", "full_command", "file_path"]));
            put(&mut reading.error, || attrs.text(&["error"]));
        }
        "interaction" => {
            put(&mut reading.label, || Some("turn".into()));
            let prompt = attrs.any(&["user_prompt"]).filter(|text| text.text() != "<REDACTED>");
            reading.input = prompt.map(|value| Talk::read(&value.json(), Speaker::User));
        }
        "tool.blocked_on_user" => {
            put(&mut reading.label, || Some("waiting for permission".into()));
            reading.denied = attrs.text(&["decision"]).is_some_and(|word| word.starts_with("reject"));
        }
        "tool.execution" => put(&mut reading.label, || Some("execution".into())),
        "hook" => put(&mut reading.label, || attrs.text(&["hook_event", "hook_name"])),
        _ => {}
    }
}
