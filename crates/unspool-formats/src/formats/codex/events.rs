//! Events as a person was shown them. Most repeat items; counts of tokens, ends of tools and of agents stand only here.

use super::items::agent_return;
use super::state::{FROM_COMPLETED_ITEM, FROM_EVENT, State};
use crate::chat::{self, Outcome, texts};
use crate::exits;
use crate::object::{Object, moment};
use crate::sink::Sink;
use std::borrow::Cow;
use unspool_model::{AttrName, Code, EventFlags, EventKind, KeyKind, LinkSource, Role, Timestamp, Usage};

pub(in crate::formats) fn event(state: &mut State, event: &Object<'_>, at: Timestamp, out: &mut Sink<'_>) {
    let kind = event.text("type");
    match kind.as_ref() {
        "task_started" | "turn_started" => {
            state.turn_id(&event.text("turn_id"), event.get("started_at").and_then(moment));
        }
        "user_message" => {
            let message = texts(event.get("message"));
            // Old files mark what was put into the conversation.
            let told = !matches!(event.text("kind").as_ref(), "environment_context" | "user_instructions");
            if told {
                state.message(&message, EventFlags::none(), FROM_EVENT, at, out);
            }
        }
        "agent_message" => state.answer(&texts(event.get("message")), FROM_EVENT, at, out),
        "item_completed" => completed_item(state, &event.object("item"), at, out),
        "token_count" => count(state, &event.object("info"), at, out),
        "turn.completed" => {
            if let Some(usage) = event.get("usage") {
                state.count_turn(usage_of(&Object::of(usage)), at, out);
            }
        }
        "context_compacted" => state.compacted(FROM_EVENT, at, out),
        "turn_aborted" => {
            state.head("").open(EventKind::UserMessage, at, out);
            out.flag(EventFlags::INTERRUPTED).text(AttrName::Preview, &event.text("reason"));
        }
        "error" | "stream_error" => {
            state.head("").open(EventKind::System, at, out);
            let text = event.text("message");
            let text = if text.is_empty() { event.object("error").text("message") } else { text };
            out.name(&kind).flag(EventFlags::API_ERROR).text(AttrName::ErrorText, &chat::shown(&text));
        }
        "entered_review_mode" | "exited_review_mode" | "undo_completed" | "thread_rolled_back" => {
            state.head("").open(EventKind::System, at, out);
            let text = event.first_text(&["user_facing_hint", "message", "prompt"]);
            out.name(&kind).text(AttrName::Preview, &chat::shown(&text));
        }
        "thread_name_updated" => {
            state.head("").open(EventKind::SessionInfo, at, out);
            out.text(AttrName::Title, &chat::shown(&event.text("thread_name"))).int(AttrName::TitleRank, 3);
        }
        "session_configured" => state.name_session(&event.text("session_id"), &event.text("model"), at, out),
        "guardian_assessment" => guardian(state, event, at, out),
        "collab_agent_spawn_end" => {
            state.head("").open(EventKind::SpawnLink, at, out);
            out.source(LinkSource::Result).key(KeyKind::ToolUse, Role::Refers, &event.text("call_id"));
            out.key(KeyKind::Agent, Role::Provides, &event.text("new_thread_id"));
            out.text(AttrName::AgentType, &event.text("new_agent_role"));
            out.text(AttrName::AgentName, &event.text("new_agent_nickname"));
            out.text(AttrName::Model, &event.text("model"));
        }
        "collab_close_end" => {
            state.head("").open(EventKind::Context, at, out);
            agent_return(state, &event.text("receiver_thread_id"), event.get("status"), at, out);
            out.flag(EventFlags::COPY);
        }
        "exec_command_end"
        | "patch_apply_end"
        | "mcp_tool_call_end"
        | "web_search_end"
        | "image_generation_end"
        | "view_image_tool_call"
        | "dynamic_tool_call_response" => tool_end(state, &kind, event, at, out),
        "dynamic_tool_call_request" => {
            state.head("").open(EventKind::ToolCall, at, out);
            out.name(&event.text("tool")).key(KeyKind::ToolUse, Role::Provides, &event.text("callId"));
            chat::call_facts(event.get("arguments"), out);
        }
        other if KNOWN.contains(&other) || other.ends_with("_delta") || other.ends_with("_begin") => {}
        other => {
            let shown = if other.is_empty() { "(none)" } else { other };
            out.issue(Code::UnknownType, &format!("event_msg/{shown}"));
        }
    }
}

/// Events that say nothing a step needs.
const KNOWN: [&str; 26] = [
    "task_complete",
    "turn_complete",
    "agent_reasoning",
    "agent_reasoning_raw_content",
    "agent_reasoning_section_break",
    "item_started",
    "thread_settings_applied",
    "thread_goal_updated",
    "account/rateLimits/updated",
    "codex/event/raw_item",
    "collab_agent_interaction_end",
    "collab_waiting_end",
    "collab_resume_end",
    "sub_agent_activity",
    "shutdown_complete",
    "background_event",
    "deprecation_notice",
    "warning",
    "turn_diff",
    "plan_update",
    "exec_approval_request",
    "apply_patch_approval_request",
    "request_user_input",
    "elicitation_request",
    "mcp_startup_complete",
    "get_history_entry_response",
];

/// What a person sent through the terminal interface.
pub(in crate::formats) fn operation(state: &mut State, op: &Object<'_>, at: Timestamp, out: &mut Sink<'_>) {
    if matches!(op.text("type").as_ref(), "user_input" | "user_turn") {
        let message = texts(op.get("items"));
        state.message(&message, EventFlags::none(), FROM_EVENT, at, out);
    }
}

/// Files that number their lines tell messages as completed items.
fn completed_item(state: &mut State, item: &Object<'_>, at: Timestamp, out: &mut Sink<'_>) {
    let said = match item.get("content") {
        Some(content) => capital_texts(content),
        None => texts(item.get("text")),
    };
    match item.text("type").as_ref() {
        "UserMessage" => state.message(&said, EventFlags::none(), FROM_COMPLETED_ITEM, at, out),
        "AgentMessage" => state.answer(&said, FROM_COMPLETED_ITEM, at, out),
        _ => {}
    }
}

/// Texts of blocks whose types are spelt like `Text`.
fn capital_texts(content: &[u8]) -> Vec<Cow<'_, str>> {
    let blocks = crate::object::elements(content).into_iter().map(Object::of);
    blocks.map(|block| block.text("text")).filter(|text| !text.is_empty()).collect()
}

fn count(state: &mut State, info: &Object<'_>, at: Timestamp, out: &mut Sink<'_>) {
    let part = |key: &str| info.get(key).map(|usage| usage_of(&Object::of(usage)));
    let last = part("last_token_usage").or_else(|| {
        info.has("prompt").then(|| Usage {
            input: info.count("prompt"),
            output: info.count("completion"),
            ..Usage::default()
        })
    });
    if last.is_some() || info.has("total_token_usage") {
        state.count(part("total_token_usage"), last, at, out);
    }
}

/// Input counts what was cached, output counts reasoning; the buckets must not overlap.
pub(super) fn usage_of(usage: &Object<'_>) -> Usage {
    let count = |name| usage.count(name);
    Usage::of_inclusive(
        count("input_tokens"),
        count("cached_input_tokens"),
        count("cache_write_input_tokens"),
        count("output_tokens"),
        count("reasoning_output_tokens"),
    )
}

fn guardian(state: &State, event: &Object<'_>, at: Timestamp, out: &mut Sink<'_>) {
    if event.text("status") == "in_progress" {
        return;
    }
    state.head("").open(EventKind::Guardrail, at, out);
    out.name("guardian").text(AttrName::Preview, &chat::shown(&event.first_text(&["rationale", "status"])));
    if event.text("status") == "denied" {
        out.flag(EventFlags::DENIED);
    }
}

/// The end of a tool: of one an item asked for, or of one nobody else tells of.
fn tool_end(state: &State, kind: &str, event: &Object<'_>, at: Timestamp, out: &mut Sink<'_>) {
    let id = event.text("call_id");
    let invocation = event.object("invocation");
    let name = match kind {
        "exec_command_end" if event.text("source") == "user_shell" => "user_shell".to_string(),
        "exec_command_end" => "exec_command".to_string(),
        "patch_apply_end" => "apply_patch".to_string(),
        "mcp_tool_call_end" => format!("mcp__{}__{}", invocation.text("server"), invocation.text("tool")),
        "dynamic_tool_call_response" => event.text("tool").into_owned(),
        "view_image_tool_call" => "view_image".to_string(),
        other => other.strip_suffix("_end").unwrap_or(other).to_string(),
    };
    let duration = event.object("duration");
    let ms = duration
        .int("secs")
        .map(|s| s.saturating_mul(1000).saturating_add(duration.int("nanos").unwrap_or(0) / 1_000_000));
    let began = ms.map_or(at, |ms| at.plus_ms(ms.saturating_neg()));
    state.head("").open(EventKind::ToolCall, began, out);
    out.flag(EventFlags::START_INFERRED);
    out.name(&name).key(KeyKind::ToolUse, Role::Provides, &id);
    chat::call_facts(event.get("invocation").and(invocation.get("arguments")), out);
    let mcp = event.object("result");
    let failed = event.get("success") == Some(b"false")
        || exits::failed(exits::of_object(event))
        || mcp.has("Err")
        || mcp.object("Ok").is("isError");
    let text = event.first_text(&["stderr", "error", "aggregated_output", "formatted_output"]);
    chat::result(&id, &Outcome { failed, text, duration_ms: ms, ..Outcome::default() }, at, out);
    state.mark(out);
}
