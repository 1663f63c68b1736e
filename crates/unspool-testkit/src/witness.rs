//! Other witnesses of a generated session: what a proxy would have recorded, what hooks would have reported and what spans
//! would have measured, made from its transcripts.
//!
//! In: the files of a session. Out: a traffic log, a hook trace and OTLP spans that tell of the same things by the same ids. Agents
//! are named in headers and payloads, as newer clients do.

use crate::tree::Tree;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use unspool_model::Timestamp;

/// One model call, put together from its lines.
struct Call {
    session: String,
    agent: Option<String>,
    /// Everything the model was given.
    history: Vec<Value>,
    asked: Timestamp,
    answered: Timestamp,
    id: String,
    model: Value,
    content: Vec<Value>,
    usage: BTreeMap<String, Value>,
    request: Value,
}

/// One line of a transcript with what it belongs to.
struct Line {
    session: String,
    agent: Option<String>,
    at: Timestamp,
    entry: Value,
}

/// What a proxy would have recorded of the session: one exchange for every model call.
pub fn traffic(tree: &Tree) -> Vec<u8> {
    let mut calls = calls(&lines(tree));
    calls.sort_by(|a, b| (a.asked, &a.id).cmp(&(b.asked, &b.id)));
    let mut bytes = Vec::new();
    for call in calls {
        let mut headers = json!({"x-claude-code-session-id": call.session});
        if let Some(agent) = &call.agent {
            headers["x-claude-code-agent-id"] = json!(agent);
        }
        let length = call.answered.ms_since(call.asked).unwrap_or(0);
        let line = json!({
            "timestamp": call.asked.to_string(), "path": "/v1/messages", "headers": headers,
            "body": {"model": call.model, "messages": call.history, "tools": [{"name": "Bash"}]},
            "response": {"status": 200, "duration_ms": length, "headers": {"request-id": call.request}, "body": {
                "id": call.id, "type": "message", "role": "assistant", "model": call.model,
                "content": call.content, "usage": call.usage,
            }},
        });
        bytes.extend_from_slice(line.to_string().as_bytes());
        bytes.push(b'\n');
    }
    bytes
}

/// What hooks would have reported: each prompt of the main agent, and each tool before and after it ran.
pub fn hooks(tree: &Tree) -> Vec<u8> {
    let mut events: Vec<(Timestamp, Value)> = Vec::new();
    let mut seen: BTreeSet<String> = BTreeSet::new();
    let mut names: BTreeMap<String, Value> = BTreeMap::new();
    for line in lines(tree) {
        let agent = line.agent.clone().map_or(Value::Null, Value::from);
        let base = |event: &str| json!({"session_id": line.session, "agent_id": agent, "hook_event_name": event, "received_at": line.at.to_string()});
        for block in line.entry["message"]["content"].as_array().into_iter().flatten() {
            let (kind, id) = match block["type"].as_str() {
                Some("tool_use") => ("call", block["id"].as_str().unwrap_or_default()),
                Some("tool_result") => ("result", block["tool_use_id"].as_str().unwrap_or_default()),
                _ => continue,
            };
            if !seen.insert(format!("{kind} {id}")) {
                continue;
            }
            let mut event = base(if kind == "call" { "PreToolUse" } else { "PostToolUse" });
            event["tool_use_id"] = json!(id);
            if kind == "call" {
                names.insert(id.to_string(), block["name"].clone());
                event["tool_input"] = block["input"].clone();
            } else {
                event["tool_response"] = line.entry["toolUseResult"].clone();
                if block["is_error"] == true {
                    event["hook_event_name"] = json!("PostToolUseFailure");
                }
            }
            event["tool_name"] = names.get(id).cloned().unwrap_or_default();
            events.push((line.at, event));
        }
    }
    events.sort_by(|a, b| (a.0, a.1["tool_use_id"].as_str()).cmp(&(b.0, b.1["tool_use_id"].as_str())));
    let mut bytes = Vec::new();
    for (_, event) in events {
        bytes.extend_from_slice(event.to_string().as_bytes());
        bytes.push(b'\n');
    }
    bytes
}

/// What the client's own spans would have measured: each model call and each tool call.
pub fn spans(tree: &Tree) -> Vec<u8> {
    let lines = lines(tree);
    let mut spans: Vec<Value> = Vec::new();
    let mut add = |session: &str,
                   agent: Option<&str>,
                   name: &str,
                   from: Timestamp,
                   to: Timestamp,
                   facts: Value| {
        let mut attributes = vec![attribute("session.id", &json!(session))];
        attributes.extend(agent.map(|agent| attribute("agent_id", &json!(agent))));
        attributes
            .extend(facts.as_object().into_iter().flatten().map(|(name, value)| attribute(name, value)));
        let nanoseconds = |at: Timestamp| at.ns().unwrap_or(0).to_string();
        let number = spans.len() + 1;
        spans.push(json!({
            "traceId": format!("{:032x}", 1), "spanId": format!("{number:016x}"), "name": name, "kind": 1,
            "startTimeUnixNano": nanoseconds(from), "endTimeUnixNano": nanoseconds(to), "attributes": attributes,
        }));
    };
    for call in calls(&lines) {
        let facts = json!({
            "model": call.model, "request_id": call.request,
            "input_tokens": call.usage.get("input_tokens"), "output_tokens": call.usage.get("output_tokens"),
            "cache_read_tokens": call.usage.get("cache_read_input_tokens"),
            "cache_creation_tokens": call.usage.get("cache_creation_input_tokens"),
        });
        add(
            &call.session,
            call.agent.as_deref(),
            "claude_code.llm_request",
            call.asked,
            call.answered,
            facts,
        );
    }
    let mut open: BTreeMap<String, (&Line, Value)> = BTreeMap::new();
    for line in &lines {
        for block in line.entry["message"]["content"].as_array().into_iter().flatten() {
            if let ("tool_use", Some(id)) = (block["type"].as_str().unwrap_or_default(), block["id"].as_str())
            {
                open.entry(id.to_string()).or_insert((line, block["name"].clone()));
            }
            if let Some((call, name)) = block["tool_use_id"].as_str().and_then(|id| open.remove(id)) {
                let facts = json!({"tool_name": name, "tool_use_id": block["tool_use_id"]});
                add(&call.session, call.agent.as_deref(), "claude_code.tool", call.at, line.at, facts);
            }
        }
    }
    let mut bytes = json!({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}).to_string().into_bytes();
    bytes.push(b'\n');
    bytes
}

fn attribute(name: &str, value: &Value) -> Value {
    let value = match value {
        Value::Number(number) => json!({"intValue": number.to_string()}),
        other => json!({"stringValue": other.as_str().unwrap_or_default()}),
    };
    json!({"key": name, "value": value})
}

fn lines(tree: &Tree) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut seen: BTreeSet<(String, String)> = BTreeSet::new();
    for (path, bytes) in &tree.files {
        let stem = path.rsplit('/').next().unwrap_or_default().trim_end_matches(".jsonl");
        let of_name = stem.strip_prefix("agent-").map(str::to_string);
        for text in bytes.split(|byte| *byte == b'\n') {
            let Ok(entry) = serde_json::from_slice::<Value>(text) else { continue };
            let text = |field: &str| entry[field].as_str().map(str::to_string);
            let (Some(uuid), Some(session)) = (text("uuid"), text("sessionId")) else { continue };
            let agent = text("agentId").or_else(|| of_name.clone());
            // A resumed file repeats records; they happened once.
            if !seen.insert((uuid, agent.clone().unwrap_or_default())) {
                continue;
            }
            let at = text("timestamp").and_then(|at| Timestamp::parse(&at)).unwrap_or_default();
            lines.push(Line { session, agent, at, entry });
        }
    }
    lines
}

fn calls(lines: &[Line]) -> Vec<Call> {
    let mut calls: Vec<Call> = Vec::new();
    let mut index: BTreeMap<String, usize> = BTreeMap::new();
    let mut histories: BTreeMap<(String, Option<String>), (Vec<Value>, Timestamp)> = BTreeMap::new();
    for line in lines {
        let message = &line.entry["message"];
        let key = (line.session.clone(), line.agent.clone());
        let (history, reached) = histories.entry(key).or_default();
        match line.entry["type"].as_str() {
            Some("system") if line.entry["subtype"] == "compact_boundary" => history.clear(),
            Some("user") if message["content"].is_string() || message["content"].is_array() => {
                history.push(json!({"role": "user", "content": message["content"]}));
                *reached = reached.later(line.at);
            }
            Some("assistant") if message["model"] != "<synthetic>" && message["id"].is_string() => {
                let id = message["id"].as_str().unwrap_or_default().to_string();
                let content = message["content"].as_array().cloned().unwrap_or_default();
                let at = *index.entry(id.clone()).or_insert_with(|| {
                    calls.push(Call {
                        session: line.session.clone(),
                        agent: line.agent.clone(),
                        history: history.clone(),
                        asked: if reached.is_some() { *reached } else { line.at },
                        answered: line.at,
                        id,
                        model: message["model"].clone(),
                        content: Vec::new(),
                        usage: BTreeMap::new(),
                        request: line.entry["requestId"].clone(),
                    });
                    calls.len() - 1
                });
                let call = &mut calls[at];
                call.answered = call.answered.later(line.at);
                call.content.extend(content.iter().cloned());
                merge(&mut call.usage, &message["usage"]);
                history.push(json!({"role": "assistant", "content": content}));
            }
            _ => {}
        }
    }
    calls
}

/// The larger of each number: early lines hold placeholders.
fn merge(usage: &mut BTreeMap<String, Value>, other: &Value) {
    for (name, value) in other.as_object().into_iter().flatten() {
        let slot = usage.entry(name.clone()).or_insert_with(|| value.clone());
        if value.as_u64() > slot.as_u64() {
            *slot = value.clone();
        }
    }
}
