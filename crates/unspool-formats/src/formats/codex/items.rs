//! Items of a conversation as the model was given them and gave them back.

use super::state::{FROM_ITEM, State};
use crate::chat::{self, Outcome, texts};
use crate::exits;
use crate::object::{Object, string};
use crate::prose::tag;
use crate::sink::Sink;
use std::borrow::Cow;
use unspool_model::{AttrName, Code, EventFlags, EventKind, KeyKind, LinkSource, Role, Timestamp};

pub(super) fn item(state: &mut State, item: &Object<'_>, at: Timestamp, out: &mut Sink<'_>) {
    match item.text("type").as_ref() {
        "message" => message(state, item, at, out),
        "reasoning" => state.part_of_call(at, out),
        "function_call" | "custom_tool_call" if item.has("call_id") => {
            let input = item.get("arguments").or_else(|| item.get("input"));
            tool_call(state, &item.text("call_id"), &full_name(item), input, at, out);
        }
        "local_shell_call" => {
            let id = item.first_text(&["call_id", "id"]);
            tool_call(state, &id, "local_shell", item.get("action"), at, out);
        }
        "tool_search_call" => {
            tool_call(state, &item.text("call_id"), "tool_search", item.get("arguments"), at, out);
        }
        // The provider runs these tools itself; the item is the call and its end.
        "web_search_call" | "image_generation_call" => {
            let name = item.text("type");
            let id = item.first_text(&["call_id", "id"]);
            let name = name.strip_suffix("_call").unwrap_or_default();
            tool_call(state, &id, name, item.get("action"), at, out);
            out.flag(EventFlags::WHOLE);
            state.answered();
        }
        "function_call_output" | "custom_tool_call_output" | "tool_search_output" => {
            output(state, item, at, out);
        }
        // Spellings of files that were written by other hands.
        "tool_call" | "function_call" => {
            let name = item.object("function").text("name");
            let id = state.unnamed_call(&name);
            tool_call(state, &id, &name, item.get("arguments"), at, out);
        }
        "tool_result" | "function_result" => {
            let id = state.unnamed_result(&item.text("name"));
            state.head("").open(EventKind::ToolResult, at, out);
            let failed = exits::failed(exits::of_object(&item.object("result")));
            chat::result_facts(&id, &Outcome { failed, ..Outcome::default() }, out);
            // No id names the call.
            out.flag(EventFlags::RESULT_BY_ORDER);
            state.answered();
        }
        "agent_message" => from_agent(state, item, at, out),
        "ghost_snapshot" | "compaction" | "compaction_summary" | "context_compaction" => {}
        "" if item.has("role") => message(state, item, at, out),
        other => {
            let shown = if other.is_empty() { "(none)" } else { other };
            out.issue(Code::UnknownType, &format!("response_item/{shown}"));
        }
    }
}

/// A tool's name with the server or group it is of.
fn full_name<'a>(item: &Object<'a>) -> Cow<'a, str> {
    let (space, name) = (item.text("namespace"), item.text("name"));
    if space.starts_with("mcp__") && !name.starts_with("mcp__") {
        return Cow::Owned(format!("{}__{name}", space.trim_end_matches('_')));
    }
    name
}

fn message(state: &mut State, item: &Object<'_>, at: Timestamp, out: &mut Sink<'_>) {
    let content = texts(item.get("content").or_else(|| item.get("message")));
    match item.text("role").as_ref() {
        "assistant" => state.answer(&content, FROM_ITEM, at, out),
        "user" => user(state, &content, at, out),
        // Instructions to the model are no step.
        _ => {}
    }
}

/// How messages begin that only tell the model about its surroundings.
const CONTEXT: [&str; 8] = [
    "<environment_context>",
    "<user_instructions>",
    "<turn_aborted>",
    "<permissions instructions>",
    "<collaboration_mode>",
    "<skills_instructions>",
    "<recommended_plugins>",
    "# AGENTS.md instructions",
];

/// What clients put into the conversation in the user's place.
fn user(state: &mut State, content: &[Cow<'_, str>], at: Timestamp, out: &mut Sink<'_>) {
    let first = content.first().map(|text| text.trim_start()).unwrap_or_default();
    if let Some(report) = tag(first, "subagent_notification") {
        let report = Object::of(report.as_bytes());
        state.message(content, EventFlags::NOTIFICATION, FROM_ITEM, at, out);
        let agent = report.first_text(&["agent_id", "thread_id"]);
        agent_return(state, &agent, report.get("status"), at, out);
        return;
    }
    if CONTEXT.iter().any(|start| first.starts_with(start)) {
        return;
    }
    let shell = first.starts_with("<user_shell_command>");
    let flags = if shell { EventFlags::COMMAND } else { EventFlags::none() };
    state.message(content, flags, FROM_ITEM, at, out);
}

fn tool_call(
    state: &mut State,
    id: &str,
    name: &str,
    input: Option<&[u8]>,
    at: Timestamp,
    out: &mut Sink<'_>,
) {
    state.part_of_call(at, out);
    out.flag(EventFlags::HAS_TOOL_USE);
    chat::call(id, name, input, at, out);
    state.mark(out);
    state.asked(id, name);
}

fn output(state: &mut State, item: &Object<'_>, at: Timestamp, out: &mut Sink<'_>) {
    let id = item.text("call_id");
    state.answered();
    state.head("").open(EventKind::ToolResult, at, out);
    let raw = item.get("output");
    // A string, blocks, or an object that holds one of them.
    let inner = raw.map(Object::of).unwrap_or_default();
    let success = inner.get("success").map(|value| value == b"true");
    let said = texts(inner.get("content").or_else(|| inner.get("text")).or(raw));
    let text = said.into_iter().next().unwrap_or_default();
    let failed = success == Some(false) || (success.is_none() && exits::failed(exits::in_head(&text)));
    let why = if failed { exits::complaint(&text) } else { Cow::Borrowed("") };
    chat::result_facts(&id, &Outcome { failed, text: why, ..Outcome::default() }, out);
    let Some(tool) = state.watched.remove(id.as_ref()) else { return };
    let answer = Object::of(text.as_bytes());
    if tool == "spawn_agent" {
        out.flag(EventFlags::ASYNC);
        let agent = answer.first_text(&["agent_id", "thread_id", "id"]);
        let path = answer.text("task_name");
        if agent.is_empty() && !path.is_empty() {
            out.begin(EventKind::SpawnLink, at).source(LinkSource::Teammate).key(
                KeyKind::ToolUse,
                Role::Refers,
                &id,
            );
            out.key(KeyKind::Teammate, Role::Provides, &state.agent_at(&path));
        } else {
            chat::spawned(&id, &agent, at, out);
        }
        out.text(AttrName::AgentName, &answer.text("nickname"));
        state.mark(out);
        return;
    }
    for (agent, status) in answer.object("status").fields() {
        let agent = String::from_utf8_lossy(agent);
        agent_return(state, &agent, Some(status), at, out);
    }
}

/// A message of another agent of the session, by its path.
fn from_agent(state: &mut State, item: &Object<'_>, at: Timestamp, out: &mut Sink<'_>) {
    state.message(&texts(item.get("content")), EventFlags::TEAMMATE, FROM_ITEM, at, out);
    let author = item.text("author");
    if !author.is_empty() {
        out.begin(EventKind::AgentReturn, at).source(LinkSource::Teammate);
        out.key(KeyKind::Teammate, Role::Refers, &state.agent_at(&author));
        state.mark(out);
    }
}

/// What an agent's end, as `"shutdown"` or `{"completed":"…"}`, tells its parent.
pub(super) fn agent_return(
    state: &State,
    agent: &str,
    status: Option<&[u8]>,
    at: Timestamp,
    out: &mut Sink<'_>,
) {
    let Some(status) = status.filter(|_| !agent.is_empty()) else { return };
    let word = match string(status) {
        Some(word) => word.decode().into_owned(),
        None => Object::of(status)
            .fields()
            .next()
            .map_or(String::new(), |(word, _)| String::from_utf8_lossy(word).into_owned()),
    };
    if !matches!(word.as_str(), "completed" | "errored" | "shutdown" | "failed" | "interrupted") {
        return;
    }
    out.begin(EventKind::AgentReturn, at).source(LinkSource::Notification).key(
        KeyKind::Task,
        Role::Refers,
        agent,
    );
    out.text(AttrName::Status, if word == "errored" { "error" } else { &word });
    state.mark(out);
}
