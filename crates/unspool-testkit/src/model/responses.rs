//! A script in the words of `OpenAI` Responses.

use super::chat;
use super::render::{Event, Turn, digits_id, part_id};
use super::script::Block;
use serde_json::{Value, json};

pub(super) fn whole(turn: &Turn<'_>) -> Value {
    let blocks = turn.script.blocks.iter().enumerate();
    let mut answer = envelope(turn, "completed");
    answer["output"] = blocks.map(|(n, block)| item(n, block, "completed")).collect();
    let usage = &turn.script.usage;
    let input = usage.input + usage.cache_read + usage.cache_write;
    answer["usage"] = json!({
        "input_tokens": input, "input_tokens_details": {"cached_tokens": usage.cache_read},
        "output_tokens": usage.output, "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": input + usage.output,
    });
    answer
}

/// Events in the making: each has its number.
#[derive(Default)]
struct Numbered {
    events: Vec<Event>,
}

impl Numbered {
    fn push(&mut self, name: &str, mut data: Value) {
        data["type"] = name.into();
        data["sequence_number"] = self.events.len().into();
        self.events.push(format!("event: {name}\ndata: {data}\n\n").into());
    }
}

pub(super) fn events(turn: &Turn<'_>) -> Vec<Event> {
    let mut out = Numbered::default();
    let begun = envelope(turn, "in_progress");
    out.push("response.created", json!({"response": begun}));
    out.push("response.in_progress", json!({"response": begun}));
    for (n, block) in turn.script.blocks.iter().enumerate() {
        let place = json!({"item_id": item_id(n, block), "output_index": n});
        let opened = emptied(item(n, block, "in_progress"), block);
        out.push("response.output_item.added", json!({"output_index": n, "item": opened}));
        match &block.tool {
            Some(_) => arguments(&mut out, block, &place),
            None => words(&mut out, block, &place),
        }
        let done = item(n, block, "completed");
        out.push("response.output_item.done", json!({"output_index": n, "item": done}));
    }
    out.push("response.completed", json!({"response": whole(turn)}));
    out.events
}

fn arguments(out: &mut Numbered, block: &Block, place: &Value) {
    let text = block.arguments();
    for piece in block.cut(&text) {
        out.push("response.function_call_arguments.delta", with(place, json!({"delta": piece})));
    }
    out.push("response.function_call_arguments.done", with(place, json!({"arguments": text})));
}

fn words(out: &mut Numbered, block: &Block, place: &Value) {
    let text = block.words().unwrap_or_default();
    let (begin, grow, full, end, index, part) = if block.thinking.is_some() {
        let part = |text: &str| json!({"type": "summary_text", "text": text});
        (
            "response.reasoning_summary_part.added",
            "response.reasoning_summary_text.delta",
            "response.reasoning_summary_text.done",
            "response.reasoning_summary_part.done",
            json!({"summary_index": 0}),
            part as fn(&str) -> Value,
        )
    } else {
        (
            "response.content_part.added",
            "response.output_text.delta",
            "response.output_text.done",
            "response.content_part.done",
            json!({"content_index": 0}),
            output_text as fn(&str) -> Value,
        )
    };
    let place = with(place, index);
    out.push(begin, with(&place, json!({"part": part("")})));
    for piece in block.cut(&text) {
        out.push(grow, with(&place, json!({"delta": piece})));
    }
    out.push(full, with(&place, json!({"text": text})));
    out.push(end, with(&place, json!({"part": part(&text)})));
}

fn output_text(text: &str) -> Value {
    json!({"type": "output_text", "text": text, "annotations": [], "logprobs": []})
}

pub(super) fn ping() -> Event {
    chat::ping()
}

pub(super) fn error_event() -> Event {
    let data = json!({
        "type": "error", "code": "server_error", "message": "The server is overloaded", "param": null,
        "sequence_number": 0,
    });
    format!("event: error\ndata: {data}\n\n").into()
}

fn with(place: &Value, more: Value) -> Value {
    let mut all = place.clone();
    if let (Some(all), Value::Object(more)) = (all.as_object_mut(), more) {
        all.extend(more);
    }
    all
}

fn envelope(turn: &Turn<'_>, status: &str) -> Value {
    json!({
        "id": digits_id("resp"), "object": "response", "created_at": 1_767_348_000, "status": status, "error": null,
        "incomplete_details": null, "instructions": null, "metadata": {}, "model": turn.model, "output": [],
        "parallel_tool_calls": true, "temperature": 1.0, "tool_choice": "auto", "tools": [], "top_p": 1.0,
        "usage": null,
    })
}

fn item_id(n: usize, block: &Block) -> String {
    part_id(
        if block.tool.is_some() {
            "fc"
        } else if block.thinking.is_some() {
            "rs"
        } else {
            "msg"
        },
        n,
    )
}

fn item(n: usize, block: &Block, status: &str) -> Value {
    let id = item_id(n, block);
    let words = block.words().unwrap_or_default();
    match &block.tool {
        Some(name) => json!({
            "id": id, "type": "function_call", "status": status, "call_id": part_id("call", n), "name": name,
            "arguments": block.arguments(),
        }),
        None if block.thinking.is_some() => {
            json!({"id": id, "type": "reasoning", "summary": [{"type": "summary_text", "text": words}]})
        }
        None => json!({
            "id": id, "type": "message", "role": "assistant", "status": status, "content": [output_text(&words)],
        }),
    }
}

/// An item as it is when it begins.
fn emptied(mut item: Value, block: &Block) -> Value {
    if block.tool.is_some() {
        item["arguments"] = "".into();
    } else {
        item[if block.thinking.is_some() { "summary" } else { "content" }] = json!([]);
    }
    item
}
