//! Other witnesses of a generated session: what a proxy would have recorded, what hooks would have reported and what spans
//! would have measured, made from its transcripts.
//!
//! In: the files of a session. Out: a traffic log, a hook trace and OTLP spans that tell of the same things by the same ids. Newer
//! clients name the calling agent in headers and payloads; without them only the words of a request say whose it is.

use crate::tree::Tree;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use unspool_model::Timestamp;

/// Whether requests say who calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Callers {
    /// In headers, and only what transcripts tell of as a model call was recorded.
    Named,
    /// Nowhere; requests that failed and requests for a summary were recorded, too.
    Unnamed,
}

/// One recorded request with its response, and whose it really was.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// When the request was sent.
    pub asked: Timestamp,
    /// The agent's own id; none for the main agent of a session.
    pub agent: Option<String>,
    /// How many messages the request holds.
    pub messages: usize,
    /// Whether there was an answer.
    pub answered: bool,
    /// The exchange as a proxy writes it.
    pub entry: Value,
}

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
    /// A resumed file repeats it: it is said again and happened once.
    repeated: bool,
}

/// What a proxy would have recorded of the session: one exchange for every model call.
pub fn traffic(tree: &Tree) -> Vec<u8> {
    let exchanges = exchanges(tree, Callers::Named);
    exchanges.iter().flat_map(|exchange| format!("{}\n", exchange.entry).into_bytes()).collect()
}

/// The exchanges of a session in the order they were asked for.
pub fn exchanges(tree: &Tree, callers: Callers) -> Vec<Exchange> {
    let mut calls = calls(&lines(tree), callers);
    calls.sort_by(|a, b| (a.asked, &a.id).cmp(&(b.asked, &b.id)));
    calls.into_iter().map(|call| exchange(call, callers)).collect()
}

fn exchange(call: Call, callers: Callers) -> Exchange {
    let mut headers = json!({});
    if callers == Callers::Named {
        headers["x-claude-code-session-id"] = json!(call.session);
        if let Some(agent) = &call.agent {
            headers["x-claude-code-agent-id"] = json!(agent);
        }
    }
    let system = if call.agent.is_none() {
        "You are Claude Code, Anthropic's official CLI for Claude."
    } else {
        "You are an agent for Claude Code, Anthropic's official CLI for Claude."
    };
    let length = call.answered.ms_since(call.asked).unwrap_or(0).max(0);
    let messages = call.history.len();
    let mut entry = json!({
        "timestamp": call.asked.to_string(), "path": "/v1/messages", "headers": headers,
        "body": {"model": call.model, "system": system, "messages": call.history, "tools": [{"name": "Bash"}]},
    });
    let answered = !call.id.is_empty();
    entry["response"] = if answered {
        json!({"status": 200, "duration_ms": length, "headers": {"request-id": call.request}, "body": {
            "id": call.id, "type": "message", "role": "assistant", "model": call.model,
            "content": call.content, "usage": call.usage,
        }})
    } else {
        let error = json!({"type": "overloaded_error", "message": "Overloaded"});
        json!({"status": 529, "duration_ms": length, "body": {"type": "error", "error": error}})
    };
    Exchange { asked: call.asked, agent: call.agent, messages, answered, entry }
}

/// What hooks would have reported: each prompt of the main agent, and each tool before and after it ran.
pub fn hooks(tree: &Tree) -> Vec<u8> {
    let mut events: Vec<(Timestamp, Value)> = Vec::new();
    let mut seen: BTreeSet<String> = BTreeSet::new();
    let mut names: BTreeMap<String, Value> = BTreeMap::new();
    for line in lines(tree).into_iter().filter(|line| !line.repeated) {
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
    for call in calls(&lines, Callers::Named) {
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
            let repeated = !seen.insert((uuid, agent.clone().unwrap_or_default()));
            let at = text("timestamp").and_then(|at| Timestamp::parse(&at)).unwrap_or_default();
            lines.push(Line { session, agent, at, entry, repeated });
        }
    }
    lines
}

/// What an agent's requests hold so far.
#[derive(Default)]
struct Talk {
    messages: Vec<Value>,
    /// The API message each of them is, if it is one.
    ids: Vec<String>,
    reached: Timestamp,
    /// What they held before they were compacted.
    before: Vec<Value>,
}

impl Talk {
    /// Adds to the last message if it is the same one, as a client does: one message for each answer, and one for all that
    /// is said between two answers.
    fn say(&mut self, role: &str, id: &str, content: &Value) {
        let blocks = match content {
            Value::Array(blocks) => blocks.clone(),
            Value::String(text) => vec![json!({"type": "text", "text": text})],
            _ => Vec::new(),
        };
        let known = match role {
            "assistant" => self.ids.iter().rposition(|known| known == id),
            _ => self.ids.len().checked_sub(1).filter(|last| self.ids[*last].is_empty()),
        };
        if let Some(before) = known.and_then(|at| self.messages[at]["content"].as_array_mut()) {
            before.extend(blocks);
        } else {
            self.messages.push(json!({"role": role, "content": blocks}));
            self.ids.push(id.to_string());
        }
    }

    /// The request whose answer is the summary that this line carries.
    fn summary(&mut self, line: &Line) -> Call {
        let mut history = std::mem::take(&mut self.before);
        let request = "Your task is to create a detailed summary of the conversation so far.";
        history.push(json!({"role": "user", "content": request}));
        let text = line.entry["message"]["content"].as_str().unwrap_or_default();
        let summary = text.split_once("Summary:").map(|(_, summary)| summary).unwrap_or_default();
        let id = format!("msg_{}", line.entry["uuid"].as_str().unwrap_or_default());
        let text = format!("<analysis>All of it.</analysis>\n<summary>{summary}\n</summary>");
        let content = vec![json!({"type": "text", "text": text})];
        Call { history, content, ..self.call(line, &id, json!("claude-opus-4-6")) }
    }

    fn call(&self, line: &Line, id: &str, model: Value) -> Call {
        Call {
            session: line.session.clone(),
            agent: line.agent.clone(),
            history: self.messages.clone(),
            asked: if self.reached.is_some() { self.reached } else { line.at },
            answered: line.at,
            id: id.to_string(),
            model,
            content: Vec::new(),
            usage: BTreeMap::new(),
            request: line.entry["requestId"].clone(),
        }
    }
}

fn calls(lines: &[Line], callers: Callers) -> Vec<Call> {
    let all = callers == Callers::Unnamed;
    let mut calls: Vec<Call> = Vec::new();
    let mut index: BTreeMap<String, usize> = BTreeMap::new();
    let mut talks: BTreeMap<(String, Option<String>), Talk> = BTreeMap::new();
    for line in lines {
        let message = &line.entry["message"];
        let talk = talks.entry((line.session.clone(), line.agent.clone())).or_default();
        let id = message["id"].as_str().unwrap_or_default();
        match line.entry["type"].as_str() {
            Some("system") if line.entry["subtype"] == "compact_boundary" => {
                let before = std::mem::take(talk);
                *talk = Talk { reached: before.reached, before: before.messages, ..Talk::default() };
            }
            Some("attachment") if all && line.entry["attachment"]["type"] == "queued_command" => {
                talk.say("user", "", &line.entry["attachment"]["prompt"]);
                talk.reached = talk.reached.later(line.at);
            }
            // Told by what it wrote, below.
            Some("user" | "assistant")
                if all && line.agent.as_ref().is_some_and(|id| id.starts_with("acompact-")) => {}
            Some("user") if message["content"].is_string() || message["content"].is_array() => {
                if all && !line.repeated && line.entry["isCompactSummary"] == true {
                    calls.push(talk.summary(line));
                }
                talk.say("user", "", &message["content"]);
                talk.reached = talk.reached.later(line.at);
            }
            // The client writes such lines where a request failed, and never sends them.
            Some("assistant") if message["model"] == "<synthetic>" && (!all || line.repeated) => {}
            Some("assistant") if message["model"] == "<synthetic>" => {
                calls.push(talk.call(line, "", json!("claude-opus-4-6")));
                talk.reached = talk.reached.later(line.at);
            }
            Some("assistant") if !id.is_empty() => {
                if !line.repeated {
                    let at = *index.entry(id.to_string()).or_insert_with(|| {
                        calls.push(talk.call(line, id, message["model"].clone()));
                        calls.len() - 1
                    });
                    let call = &mut calls[at];
                    call.answered = call.answered.later(line.at);
                    call.content.extend(message["content"].as_array().cloned().unwrap_or_default());
                    merge(&mut call.usage, &message["usage"]);
                }
                talk.say("assistant", id, &message["content"]);
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
