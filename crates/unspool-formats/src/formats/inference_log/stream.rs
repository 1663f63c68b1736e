//! Streamed responses, put together again: server-sent events, JSON events one after another, or a list of pieces.
//!
//! Tool calls arrive in pieces: id and name first, then their input in fragments of JSON. A piece may come for a block
//! whose start was lost. Tokens come at the start and grow until the end.

use super::answer::{Answer, Call, error_text, owned};
use crate::json::{Json, Kind, Malformed};
use std::collections::BTreeMap;

/// A response in the making.
#[derive(Default)]
pub(super) struct Assembly {
    answer: Answer,
    /// Blocks by their index, in order.
    blocks: BTreeMap<i64, Block>,
    /// The last event of a complete stream was seen.
    ended: bool,
    seen: bool,
}

#[derive(Default)]
struct Block {
    text: String,
    call: Option<Call>,
    thinking: bool,
}

/// Reads server-sent events: `data:` lines, several of which make one event.
pub(super) fn events(answer: &mut Answer, text: &str) {
    let mut assembly = Assembly::default();
    let mut data = String::new();
    for line in text.lines().chain([""]) {
        if let Some(rest) = line.strip_prefix("data:") {
            if !data.is_empty() {
                data.push('\n');
            }
            data.push_str(rest.strip_prefix(' ').unwrap_or(rest));
        } else if line.trim().is_empty() && !data.is_empty() {
            assembly.data(&data);
            data.clear();
        }
        // Recorders that keep only `data:` lines leave no blank ones between them.
        if !data.is_empty() && Json::new(data.as_bytes()).skip().is_ok() {
            assembly.data(&data);
            data.clear();
        }
    }
    assembly.finish(answer);
}

/// Reads JSON events that follow each other without anything between them.
pub(super) fn values(answer: &mut Answer, bytes: &[u8]) {
    let mut assembly = Assembly::default();
    let mut json = Json::new(bytes);
    while let Ok(raw) = json.raw() {
        assembly.chunk(raw);
    }
    assembly.finish(answer);
}

/// Whether a JSON object is an event of a stream rather than a whole response.
pub(super) fn is_event(raw: &[u8]) -> bool {
    let mut found = false;
    let _ = Json::new(raw).object(|json, key| {
        match key {
            b"type" => {
                let kind = owned(json)?;
                found |= kind == "message_start" || kind.starts_with("response.");
            }
            b"object" => found |= owned(json)? == "chat.completion.chunk",
            _ => json.skip()?,
        }
        Ok(())
    });
    found
}

impl Assembly {
    fn data(&mut self, data: &str) {
        if data.trim() == "[DONE]" {
            self.ended = true;
        } else {
            self.event(data.as_bytes());
        }
    }

    /// One piece of a recorded list: an event, or a wrapper around one.
    pub(super) fn chunk(&mut self, raw: &[u8]) {
        let mut inner = None;
        let _ = Json::new(raw).object(|json, key| {
            match key {
                b"data" | b"response.completed" => inner = Some(json.raw()?),
                _ => json.skip()?,
            }
            Ok(())
        });
        match inner.map(|raw| (raw, Json::new(raw).kind())) {
            Some((raw, Ok(Kind::String))) => {
                let text = Json::new(raw).string().ok().flatten().map(|text| text.decode().into_owned());
                self.data(&text.unwrap_or_default());
            }
            Some((raw, Ok(Kind::Object))) => self.event(raw),
            _ => self.event(raw),
        }
    }

    fn event(&mut self, raw: &[u8]) {
        let mut event = Event::default();
        let mut json = Json::new(raw);
        if json.kind() != Ok(Kind::Object) {
            return;
        }
        // What was understood before a torn end counts, but the stream did not end there.
        let whole = json.object(|json, key| event.field(json, key)).is_ok();
        self.seen = true;
        self.apply(&event, raw);
        self.ended &= whole;
    }

    fn apply(&mut self, event: &Event<'_>, raw: &[u8]) {
        match event.kind.as_str() {
            "message_start" => {
                if let Some(message) = event.message {
                    self.answer.body(message);
                    self.answer.texts.clear();
                }
            }
            "content_block_start" => {
                if let Some(start) = event.content_block {
                    let mut read = Answer::default();
                    let _ = read.item(&mut Json::new(start));
                    let call = read.calls.pop().map(|call| Call { input: String::new(), ..call });
                    let thinking = memchr::memmem::find(start, b"thinking\"").is_some() && call.is_none();
                    let text = read.texts.pop().unwrap_or_default();
                    self.blocks.insert(event.index, Block { text, call, thinking });
                }
            }
            "content_block_delta" => self.delta(event.index, event.delta),
            "message_delta" => {
                if let Some(delta) = event.delta {
                    self.answer.body(delta);
                }
                if let Some(usage) = event.usage {
                    let _ = self.answer.tokens.read(&mut Json::new(usage));
                }
            }
            "message_stop" => self.ended = true,
            "error" | "response.failed" | "response.error" => {
                let raw = event.error.or(event.response).unwrap_or(raw);
                self.answer.error = error_text(raw);
                self.ended = true;
            }
            "response.created" | "response.in_progress" => {
                if let Some(response) = event.response {
                    self.answer.body(response);
                }
            }
            "response.completed" | "response.incomplete" | "response.done" => {
                if let Some(response) = event.response {
                    let mut whole = Answer::default();
                    whole.body(response);
                    // The last event repeats everything, unless a recorder cut it short.
                    if whole.texts.is_empty() && whole.calls.is_empty() {
                        self.answer.body(response);
                    } else {
                        self.answer = whole;
                        self.blocks.clear();
                    }
                }
                self.ended = true;
            }
            "response.output_item.added" | "response.output_item.done" => {
                if let Some(item) = event.item {
                    let mut read = Answer::default();
                    let _ = read.item(&mut Json::new(item));
                    let text = read.texts.concat();
                    self.blocks.insert(event.output_index, Block { text, call: read.calls.pop(), thinking: false });
                }
            }
            "response.output_text.delta" => {
                let text = event.delta.and_then(|raw| Json::new(raw).string().ok().flatten());
                if let Some(text) = text {
                    self.blocks.entry(event.output_index).or_default().text.push_str(&text.decode());
                }
            }
            "response.function_call_arguments.delta" | "response.custom_tool_call_input.delta" => {
                let text = event.delta.and_then(|raw| Json::new(raw).string().ok().flatten());
                if let (Some(text), Some(block)) = (text, self.blocks.get_mut(&event.output_index)) {
                    block.call.get_or_insert_default().input.push_str(&text.decode());
                }
            }
            _ => self.chat(event, raw),
        }
    }

    /// A piece of one content block.
    fn delta(&mut self, index: i64, delta: Option<&[u8]>) {
        let Some(delta) = delta else { return };
        let block = self.blocks.entry(index).or_default();
        let _ = Json::new(delta).object(|json, key| {
            match key {
                b"text" => block.text.push_str(&owned(json)?),
                b"partial_json" => {
                    let piece = owned(json)?;
                    block.call.get_or_insert_default().input.push_str(&piece);
                }
                _ => json.skip()?,
            }
            Ok(())
        });
    }

    /// A piece of a chat completion.
    fn chat(&mut self, event: &Event<'_>, raw: &[u8]) {
        if event.choices.is_none() && event.usage.is_none() {
            return;
        }
        let mut head = Answer::default();
        let _ = Json::new(raw).object(|json, key| {
            match key {
                b"id" => head.id = owned(json)?,
                b"model" => head.model = owned(json)?,
                b"usage" => self.answer.tokens.read(json)?,
                _ => json.skip()?,
            }
            Ok(())
        });
        if self.answer.id.is_empty() {
            (self.answer.id, self.answer.model) = (head.id, head.model);
        }
        let Some(choices) = event.choices else { return };
        let _ = Json::new(choices).array(|json| {
            if json.kind()? != Kind::Object {
                return json.skip();
            }
            json.object(|json, key| {
                match key {
                    b"finish_reason" => {
                        let reason = owned(json)?;
                        if !reason.is_empty() {
                            self.answer.stop = reason;
                            self.ended = true;
                        }
                    }
                    b"delta" if json.kind()? == Kind::Object => self.chat_delta(json)?,
                    _ => json.skip()?,
                }
                Ok(())
            })
        });
    }

    fn chat_delta(&mut self, json: &mut Json<'_>) -> Result<(), Malformed> {
        json.object(|json, key| {
            match key {
                b"content" => {
                    let text = owned(json)?;
                    self.blocks.entry(-1).or_default().text.push_str(&text);
                }
                b"tool_calls" if json.kind()? == Kind::Array => json.array(|json| self.chat_call(json))?,
                _ => json.skip()?,
            }
            Ok(())
        })
    }

    fn chat_call(&mut self, json: &mut Json<'_>) -> Result<(), Malformed> {
        if json.kind()? != Kind::Object {
            return json.skip();
        }
        let (mut index, mut piece) = (0, Call::default());
        json.object(|json, key| {
            match key {
                b"index" => index = json.integer()?.unwrap_or(0),
                b"id" => piece.id = owned(json)?,
                b"function" if json.kind()? == Kind::Object => json.object(|json, key| {
                    match key {
                        b"name" => piece.name = owned(json)?,
                        b"arguments" => piece.input = owned(json)?,
                        _ => json.skip()?,
                    }
                    Ok(())
                })?,
                _ => json.skip()?,
            }
            Ok(())
        })?;
        let call = self.blocks.entry(index).or_default().call.get_or_insert_default();
        for (slot, value) in [(&mut call.id, piece.id), (&mut call.name, piece.name)] {
            if slot.is_empty() {
                *slot = value;
            }
        }
        call.input.push_str(&piece.input);
        Ok(())
    }

    /// Puts the blocks in order into the answer.
    pub(super) fn finish(mut self, answer: &mut Answer) {
        for (_, block) in std::mem::take(&mut self.blocks) {
            if !block.thinking {
                self.answer.say(block.text);
            }
            self.answer.calls.extend(block.call);
        }
        self.answer.interrupted = self.seen && !self.ended;
        *answer = self.answer;
    }
}

/// The fields of an event, whatever API's.
#[derive(Default)]
struct Event<'a> {
    kind: String,
    index: i64,
    output_index: i64,
    message: Option<&'a [u8]>,
    content_block: Option<&'a [u8]>,
    delta: Option<&'a [u8]>,
    usage: Option<&'a [u8]>,
    response: Option<&'a [u8]>,
    item: Option<&'a [u8]>,
    choices: Option<&'a [u8]>,
    error: Option<&'a [u8]>,
}

impl<'a> Event<'a> {
    fn field(&mut self, json: &mut Json<'a>, key: &[u8]) -> Result<(), Malformed> {
        let slot = match key {
            b"type" => {
                self.kind = owned(json)?;
                return Ok(());
            }
            b"index" => {
                self.index = json.integer()?.unwrap_or(0);
                return Ok(());
            }
            b"output_index" => {
                self.output_index = json.integer()?.unwrap_or(0);
                return Ok(());
            }
            b"message" => &mut self.message,
            b"content_block" => &mut self.content_block,
            b"delta" => &mut self.delta,
            b"usage" => &mut self.usage,
            b"response" => &mut self.response,
            b"item" => &mut self.item,
            b"choices" => &mut self.choices,
            b"error" => &mut self.error,
            _ => return json.skip(),
        };
        *slot = Some(json.raw()?).filter(|raw| *raw != b"null");
        Ok(())
    }
}
