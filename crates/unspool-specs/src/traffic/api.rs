//! Requests, responses and streams as the three APIs spell them.

use super::{Exchange, Message, Part, object};
use serde_json::{Value, json};
use std::fmt::Write as _;

#[derive(Clone, Copy)]
pub(crate) enum Api {
    Anthropic,
    Chat,
    Responses,
}

impl Api {
    pub(crate) fn named(name: &str) -> Result<Api, String> {
        match name {
            "anthropic" => Ok(Api::Anthropic),
            "chat" => Ok(Api::Chat),
            "responses" => Ok(Api::Responses),
            other => Err(format!("no API is called {other}; there are anthropic, chat and responses")),
        }
    }

    pub(crate) fn path(self) -> &'static str {
        match self {
            Api::Anthropic => "v1/messages",
            Api::Chat => "v1/chat/completions",
            Api::Responses => "v1/responses",
        }
    }

    pub(crate) fn request(self, exchange: &Exchange) -> Value {
        let system = exchange.text("system").map(Value::from);
        let model = exchange.pair("model").cloned().or_else(|| Some("claude-sonnet-4-5".into()));
        let max_tokens = exchange.pair("max").cloned();
        let tools = (exchange.text("tools") != Some("none")).then(|| json!([{"name": "Bash"}]));
        let user = exchange.pair("user").cloned();
        match self {
            Api::Anthropic => object([
                ("model", model),
                ("system", system.map(|text| json!([{"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}]))),
                ("messages", Some(exchange.history.iter().map(anthropic).collect())),
                ("tools", tools),
                ("metadata", user.map(|user| json!({"user_id": user}))),
                ("max_tokens", max_tokens),
            ]),
            Api::Chat => {
                let first = system.map(|text| json!({"role": "system", "content": text}));
                let messages = first.into_iter().chain(exchange.history.iter().flat_map(chat)).collect();
                object([("model", model), ("messages", Some(messages)), ("tools", tools), ("user", user)])
            }
            Api::Responses => object([
                ("model", model),
                ("instructions", system),
                ("input", Some(exchange.history.iter().flat_map(items).collect())),
                ("tools", tools),
                ("user", user),
                ("previous_response_id", exchange.pair("previous").cloned()),
            ]),
        }
    }

    pub(crate) fn response(self, exchange: &Exchange) -> Value {
        let model = exchange.text("model").unwrap_or("claude-sonnet-4-5");
        let (id, usage) = (exchange.id.clone(), self.usage(exchange));
        let asks = exchange.answer.iter().any(|part| matches!(part, Part::Call { .. }));
        match self {
            Api::Anthropic => object([
                ("id", id.map(Value::from)),
                ("type", Some("message".into())),
                ("role", Some("assistant".into())),
                ("model", Some(model.into())),
                ("content", Some(exchange.answer.iter().map(block).collect())),
                ("stop_reason", Some(if asks { "tool_use" } else { "end_turn" }.into())),
                ("usage", Some(usage)),
            ]),
            Api::Chat => {
                let said = Message { by_model: true, parts: exchange.answer.clone() };
                let message = chat(&said).into_iter().next();
                let reason = if asks { "tool_calls" } else { "stop" };
                let choice = json!({"index": 0, "message": message, "finish_reason": reason});
                json!({"id": id, "object": "chat.completion", "model": model, "choices": [choice], "usage": usage})
            }
            Api::Responses => {
                let said = Message { by_model: true, parts: exchange.answer.clone() };
                let output: Vec<Value> = items(&said);
                json!({"id": id, "object": "response", "status": "completed", "model": model, "output": output, "usage": usage})
            }
        }
    }

    /// The response as server-sent events.
    pub(crate) fn stream(self, exchange: &Exchange) -> String {
        let events = match self {
            Api::Anthropic => anthropic_events(exchange, &self.response(exchange)),
            Api::Chat => chat_events(exchange, &self.response(exchange)),
            Api::Responses => {
                let whole = self.response(exchange);
                let start = json!({"id": whole["id"], "model": whole["model"], "output": []});
                vec![
                    json!({"type": "response.created", "response": start}),
                    json!({"type": "response.completed", "response": whole}),
                ]
            }
        };
        let last = if exchange.torn { events.len() - 1 } else { events.len() };
        let named =
            |event: &Value| event["type"].as_str().map(|kind| format!("event: {kind}\n")).unwrap_or_default();
        let mut text = String::new();
        for event in &events[..last] {
            let _ = write!(text, "{}data: {event}\n\n", named(event));
        }
        if matches!(self, Api::Chat) && !exchange.torn {
            text.push_str("data: [DONE]\n\n");
        }
        text
    }

    fn usage(self, exchange: &Exchange) -> Value {
        let [input, output, read, write, think] =
            ["in", "out", "read", "write", "think"].map(|name| exchange.count(name));
        match self {
            Api::Anthropic => json!({
                "input_tokens": input, "output_tokens": output + think, "cache_read_input_tokens": read,
                "cache_creation_input_tokens": write, "output_tokens_details": {"thinking_tokens": think},
            }),
            Api::Chat => json!({
                "prompt_tokens": input + read, "completion_tokens": output + think,
                "total_tokens": input + read + output + think,
                "prompt_tokens_details": {"cached_tokens": read},
                "completion_tokens_details": {"reasoning_tokens": think},
            }),
            Api::Responses => json!({
                "input_tokens": input + read, "output_tokens": output + think,
                "input_tokens_details": {"cached_tokens": read},
                "output_tokens_details": {"reasoning_tokens": think},
            }),
        }
    }
}

fn anthropic(message: &Message) -> Value {
    let role = if message.by_model { "assistant" } else { "user" };
    // A single text is a string, as clients write it.
    let content = match message.parts.as_slice() {
        [Part::Text(text)] if !message.by_model => Value::from(text.as_str()),
        parts => parts.iter().map(block).collect(),
    };
    json!({"role": role, "content": content})
}

fn block(part: &Part) -> Value {
    match part {
        Part::Text(text) => json!({"type": "text", "text": text}),
        Part::Call { id, name, input } => json!({"type": "tool_use", "id": id, "name": name, "input": input}),
        Part::Result { id, text } => {
            json!({"type": "tool_result", "tool_use_id": id, "content": [{"type": "text", "text": text}]})
        }
    }
}

fn chat(message: &Message) -> Vec<Value> {
    let texts: Vec<&str> = message
        .parts
        .iter()
        .filter_map(|part| match part {
            Part::Text(text) => Some(text.as_str()),
            _ => None,
        })
        .collect();
    if message.by_model {
        let calls: Vec<Value> = message.parts.iter().filter_map(|part| match part {
            Part::Call { id, name, input } => {
                Some(json!({"id": id, "type": "function", "function": {"name": name, "arguments": input.to_string()}}))
            }
            _ => None,
        }).collect();
        let content = if texts.is_empty() { Value::Null } else { texts.concat().into() };
        let calls = (!calls.is_empty()).then(|| Value::from(calls));
        return vec![object([
            ("role", Some("assistant".into())),
            ("content", Some(content)),
            ("tool_calls", calls),
        ])];
    }
    message
        .parts
        .iter()
        .map(|part| match part {
            Part::Result { id, text } => json!({"role": "tool", "tool_call_id": id, "content": text}),
            Part::Text(text) => json!({"role": "user", "content": text}),
            Part::Call { .. } => Value::Null,
        })
        .collect()
}

fn items(message: &Message) -> Vec<Value> {
    let (role, kind) = if message.by_model { ("assistant", "output_text") } else { ("user", "input_text") };
    message
        .parts
        .iter()
        .map(|part| match part {
            Part::Text(text) => {
                json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]})
            }
            Part::Call { id, name, input } => {
                json!({"type": "function_call", "call_id": id, "name": name, "arguments": input.to_string()})
            }
            Part::Result { id, text } => {
                json!({"type": "function_call_output", "call_id": id, "output": text})
            }
        })
        .collect()
}

fn anthropic_events(exchange: &Exchange, whole: &Value) -> Vec<Value> {
    let mut start = whole.clone();
    start["content"] = json!([]);
    start["stop_reason"] = Value::Null;
    start["usage"]["output_tokens"] = json!(1);
    let mut events = vec![json!({"type": "message_start", "message": start})];
    for (n, part) in exchange.answer.iter().enumerate() {
        let (open, pieces) = match part {
            Part::Text(text) => (
                json!({"type": "text", "text": ""}),
                halves(text).map(|half| json!({"type": "text_delta", "text": half})),
            ),
            Part::Call { id, name, input } => (
                json!({"type": "tool_use", "id": id, "name": name, "input": {}}),
                halves(&input.to_string())
                    .map(|half| json!({"type": "input_json_delta", "partial_json": half})),
            ),
            Part::Result { .. } => continue,
        };
        events.push(json!({"type": "content_block_start", "index": n, "content_block": open}));
        events.extend(pieces.map(|delta| json!({"type": "content_block_delta", "index": n, "delta": delta})));
        events.push(json!({"type": "content_block_stop", "index": n}));
    }
    let usage = json!({"output_tokens": whole["usage"]["output_tokens"]});
    events.push(
        json!({"type": "message_delta", "delta": {"stop_reason": whole["stop_reason"]}, "usage": usage}),
    );
    events.push(json!({"type": "message_stop"}));
    events
}

fn chat_events(exchange: &Exchange, whole: &Value) -> Vec<Value> {
    let chunk = |delta: Value, reason: Value| {
        json!({"id": whole["id"], "object": "chat.completion.chunk", "model": whole["model"],
               "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})
    };
    let mut events = Vec::new();
    let mut calls = 0;
    for part in &exchange.answer {
        match part {
            Part::Text(text) => {
                events.extend(halves(text).map(|half| chunk(json!({"content": half}), Value::Null)));
            }
            Part::Call { id, name, input } => {
                let [first, second] = halves(&input.to_string());
                let open = json!({"index": calls, "id": id, "function": {"name": name, "arguments": first}});
                let rest = json!({"index": calls, "function": {"arguments": second}});
                events.extend([open, rest].map(|call| chunk(json!({"tool_calls": [call]}), Value::Null)));
                calls += 1;
            }
            Part::Result { .. } => {}
        }
    }
    events.push(chunk(json!({}), whole["choices"][0]["finish_reason"].clone()));
    events.push(
        json!({"id": whole["id"], "object": "chat.completion.chunk", "choices": [], "usage": whole["usage"]}),
    );
    events
}

/// A text in two pieces, as a stream brings it.
fn halves(text: &str) -> [String; 2] {
    let middle = text.char_indices().nth(text.chars().count() / 2).map_or(text.len(), |(at, _)| at);
    [text[..middle].to_string(), text[middle..].to_string()]
}
