//! A script in the words of Anthropic Messages.

use super::render::{Event, Turn, digits_id, part_id};
use super::script::{Block, Usage};
use serde_json::{Value, json};

pub(super) fn whole(turn: &Turn<'_>) -> Value {
    let blocks = turn.script.blocks.iter().enumerate();
    let content: Vec<Value> = blocks
        .map(|(n, block)| {
            let mut opened = opening(n, block);
            if let Some(words) = block.words() {
                opened[if block.text.is_some() { "text" } else { "thinking" }] = words.into();
            } else {
                opened["input"] = block.input.clone();
            }
            if block.thinking.is_some() {
                opened["signature"] = digits_id("sig").into();
            }
            opened
        })
        .collect();
    let mut message = message(turn);
    message["content"] = content.into();
    message["stop_reason"] = stop(turn).into();
    message["usage"] = usage(&turn.script.usage, turn.script.usage.output);
    message
}

pub(super) fn events(turn: &Turn<'_>) -> Vec<Event> {
    let mut start = message(turn);
    start["usage"] = usage(&turn.script.usage, 1);
    let mut events = vec![event(&json!({"type": "message_start", "message": start}))];
    for (n, block) in turn.script.blocks.iter().enumerate() {
        let opened = opening(n, block);
        events.push(event(&json!({"type": "content_block_start", "index": n, "content_block": opened})));
        let delta = |delta: Value| event(&json!({"type": "content_block_delta", "index": n, "delta": delta}));
        let text = block.words().unwrap_or_else(|| block.arguments());
        let has_input =
            block.tool.is_none() || block.input.as_object().is_some_and(|input| !input.is_empty());
        if block.tool.is_some() {
            events.push(delta(json!({"type": "input_json_delta", "partial_json": ""})));
        }
        for piece in block.cut(&text).into_iter().filter(|_| has_input) {
            events.push(delta(if block.text.is_some() {
                json!({"type": "text_delta", "text": piece})
            } else if block.thinking.is_some() {
                json!({"type": "thinking_delta", "thinking": piece})
            } else {
                json!({"type": "input_json_delta", "partial_json": piece})
            }));
        }
        if block.thinking.is_some() {
            events.push(delta(json!({"type": "signature_delta", "signature": digits_id("sig")})));
        }
        events.push(event(&json!({"type": "content_block_stop", "index": n})));
    }
    let ended = json!({"stop_reason": stop(turn), "stop_sequence": null});
    let output = json!({"output_tokens": turn.script.usage.output});
    events.push(event(&json!({"type": "message_delta", "delta": ended, "usage": output})));
    events.push(event(&json!({"type": "message_stop"})));
    events
}

pub(super) fn ping() -> Event {
    event(&json!({"type": "ping"}))
}

pub(super) fn error_event() -> Event {
    event(&error("overloaded_error", "Overloaded"))
}

pub(super) fn refusal(status: u16) -> Value {
    match status {
        429 => error("rate_limit_error", "This would exceed your rate limit"),
        529 => error("overloaded_error", "Overloaded"),
        404 => error("not_found_error", "Not found"),
        _ => error("invalid_request_error", "messages: at least one is needed"),
    }
}

fn error(kind: &str, message: &str) -> Value {
    json!({"type": "error", "error": {"type": kind, "message": message}})
}

fn event(data: &Value) -> Event {
    let name = data["type"].as_str().unwrap_or_default();
    format!("event: {name}\ndata: {data}\n\n").into()
}

fn message(turn: &Turn<'_>) -> Value {
    json!({
        "id": digits_id("msg"), "type": "message", "role": "assistant", "model": turn.model, "content": [],
        "stop_reason": null, "stop_sequence": null, "usage": null,
    })
}

fn opening(n: usize, block: &Block) -> Value {
    match &block.tool {
        Some(name) => json!({"type": "tool_use", "id": part_id("toolu", n), "name": name, "input": {}}),
        None if block.thinking.is_some() => json!({"type": "thinking", "thinking": "", "signature": ""}),
        None => json!({"type": "text", "text": ""}),
    }
}

fn stop(turn: &Turn<'_>) -> &'static str {
    if turn.calls_tools() { "tool_use" } else { "end_turn" }
}

fn usage(usage: &Usage, output: u64) -> Value {
    json!({
        "input_tokens": usage.input, "cache_creation_input_tokens": usage.cache_write,
        "cache_read_input_tokens": usage.cache_read, "output_tokens": output,
    })
}
