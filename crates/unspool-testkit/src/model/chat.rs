//! A script in the words of `OpenAI` Chat Completions.

use super::render::{Event, Turn, digits_id, part_id};
use super::script::{Block, Usage};
use serde_json::{Value, json};

pub(super) fn whole(turn: &Turn<'_>) -> Value {
    let blocks = &turn.script.blocks;
    let text: String = blocks.iter().filter(|block| block.text.is_some()).filter_map(Block::words).collect();
    let calls = blocks.iter().enumerate().filter_map(|(n, block)| {
        let name = block.tool.as_ref()?;
        let function = json!({"name": name, "arguments": block.arguments()});
        Some(json!({"id": part_id("call", n), "type": "function", "function": function}))
    });
    let calls = calls.collect();
    let mut message = json!({"role": "assistant", "content": text, "refusal": null});
    if turn.calls_tools() {
        message["tool_calls"] = Value::Array(calls);
    }
    let choice = json!({"index": 0, "message": message, "logprobs": null, "finish_reason": stop(turn)});
    let mut answer = envelope(turn, "chat.completion");
    answer["choices"] = json!([choice]);
    answer["usage"] = usage(&turn.script.usage);
    answer
}

pub(super) fn events(turn: &Turn<'_>) -> Vec<Event> {
    let chunk = |delta: Value, stop: Value| {
        let mut chunk = envelope(turn, "chat.completion.chunk");
        chunk["choices"] = json!([{"index": 0, "delta": delta, "logprobs": null, "finish_reason": stop}]);
        if turn.wants_usage {
            chunk["usage"] = Value::Null;
        }
        event(&chunk)
    };
    let begin = json!({"role": "assistant", "content": "", "refusal": null});
    let mut events = vec![chunk(begin, Value::Null)];
    let mut call = 0;
    for (n, block) in turn.script.blocks.iter().enumerate() {
        if block.text.is_some() {
            let words = block.words().unwrap_or_default();
            events.extend(
                block.cut(&words).into_iter().map(|piece| chunk(json!({"content": piece}), Value::Null)),
            );
        } else if let Some(name) = &block.tool {
            let function = json!({"name": name, "arguments": ""});
            let opened =
                json!({"index": call, "id": part_id("call", n), "type": "function", "function": function});
            events.push(chunk(json!({"tool_calls": [opened]}), Value::Null));
            for piece in block.cut(&block.arguments()) {
                let grown = json!({"index": call, "function": {"arguments": piece}});
                events.push(chunk(json!({"tool_calls": [grown]}), Value::Null));
            }
            call += 1;
        }
    }
    events.push(chunk(json!({}), stop(turn).into()));
    if turn.wants_usage {
        let mut last = envelope(turn, "chat.completion.chunk");
        last["choices"] = json!([]);
        last["usage"] = usage(&turn.script.usage);
        events.push(event(&last));
    }
    events.push("data: [DONE]\n\n".into());
    events
}

pub(super) fn ping() -> Event {
    ": waiting\n\n".into()
}

pub(super) fn error_event() -> Event {
    event(&refusal(500))
}

pub(super) fn refusal(status: u16) -> Value {
    let (kind, code, message) = match status {
        429 => ("requests", json!("rate_limit_exceeded"), "Rate limit reached"),
        500 | 529 => ("server_error", Value::Null, "The server is overloaded"),
        404 => ("invalid_request_error", json!("unknown_url"), "Unknown request URL"),
        _ => ("invalid_request_error", Value::Null, "messages: at least one is needed"),
    };
    json!({"error": {"message": message, "type": kind, "param": null, "code": code}})
}

fn event(data: &Value) -> Event {
    format!("data: {data}\n\n").into()
}

fn envelope(turn: &Turn<'_>, object: &str) -> Value {
    json!({
        "id": digits_id("chatcmpl"), "object": object, "created": 1_767_348_000, "model": turn.model,
        "service_tier": "default", "system_fingerprint": "fp_made_up",
    })
}

fn stop(turn: &Turn<'_>) -> &'static str {
    if turn.calls_tools() { "tool_calls" } else { "stop" }
}

fn usage(usage: &Usage) -> Value {
    let prompt = usage.input + usage.cache_read + usage.cache_write;
    json!({
        "prompt_tokens": prompt, "completion_tokens": usage.output, "total_tokens": prompt + usage.output,
        "prompt_tokens_details": {"cached_tokens": usage.cache_read, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 0, "audio_tokens": 0},
    })
}
