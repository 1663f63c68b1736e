//! What a step's payload says. Writers choose its fields freely, so every spelling seen is read and none is needed.

use crate::json::{Json, Kind, RawStr};
use crate::prose::PREVIEW_SOURCE_BYTES;
use std::borrow::Cow;

/// The fields of a payload that mean something to a step.
#[derive(Default)]
pub(crate) struct Payload<'a> {
    text: Option<RawStr<'a>>,
    name: Option<RawStr<'a>>,
    model: Option<RawStr<'a>>,
    call: Option<RawStr<'a>>,
    input: Option<&'a [u8]>,
    error: Option<&'a [u8]>,
    failed: bool,
    asks: bool,
}

impl<'a> Payload<'a> {
    /// Reads a payload; one that is no object is its own text, or nothing.
    pub(crate) fn read(raw: Option<&'a [u8]>) -> Payload<'a> {
        let mut payload = Payload::default();
        let Some(raw) = raw else { return payload };
        let mut json = Json::new(raw);
        match json.kind() {
            Ok(Kind::Object) => {}
            Ok(Kind::String) => {
                payload.text = json.string().ok().flatten();
                return payload;
            }
            _ => return payload,
        }
        let _ = json.object(|json, key| {
            match key {
                b"text" | b"content" | b"message" | b"output_text" | b"content_preview" => {
                    first(&mut payload.text, json.string()?);
                }
                b"name" | b"tool" | b"tool_name" => first(&mut payload.name, json.string()?),
                b"model" => payload.model = json.string()?,
                b"call_id" | b"tool_call_id" | b"tool_use_id" => first(&mut payload.call, json.string()?),
                b"args" | b"arguments" | b"input" => {
                    let raw = json.raw()?;
                    payload.input.get_or_insert(raw);
                }
                b"error" => payload.error = Some(json.raw()?),
                b"ok" | b"success" => payload.failed |= json.boolean()? == Some(false),
                b"is_error" => payload.failed |= json.boolean()? == Some(true),
                b"function_calls" | b"tool_calls" => {
                    let list = json.raw()?;
                    payload.asks |= list.first() == Some(&b'[') && list.contains(&b'{');
                }
                _ => json.skip()?,
            }
            Ok(())
        });
        payload
    }

    /// What was said.
    pub(crate) fn text(&self) -> Option<Cow<'a, str>> {
        self.text.filter(|text| !text.is_empty()).map(RawStr::decode)
    }

    /// The tool, or whatever was called.
    pub(crate) fn name(&self) -> Option<Cow<'a, str>> {
        self.name.filter(|name| !name.is_empty()).map(RawStr::decode)
    }

    pub(crate) fn model(&self) -> Option<Cow<'a, str>> {
        self.model.map(RawStr::decode)
    }

    /// The id of the tool call.
    pub(crate) fn call(&self) -> Option<Cow<'a, str>> {
        self.call.filter(|call| !call.is_empty()).map(RawStr::decode)
    }

    /// The first part of what a tool was given, as it is written; a text without its quotes.
    pub(crate) fn input(&self) -> Option<Cow<'a, str>> {
        self.input.map(shown)
    }

    /// Why it failed, if it did; empty when nothing says why.
    pub(crate) fn error(&self) -> Option<Cow<'a, str>> {
        let stated = self.error.filter(|raw| !matches!(*raw, b"null" | b"false" | b"\"\""));
        match stated {
            Some(raw) => Some(reason(raw)),
            None if self.failed => Some(self.text().unwrap_or_default()),
            None => None,
        }
    }

    /// Notes that it failed, whatever it says itself.
    pub(crate) fn fail(&mut self) {
        self.failed = true;
    }

    pub(crate) fn asks_for_tools(&self) -> bool {
        self.asks
    }
}

fn first<'a>(slot: &mut Option<RawStr<'a>>, value: Option<RawStr<'a>>) {
    if slot.is_none() {
        *slot = value;
    }
}

fn shown(raw: &[u8]) -> Cow<'_, str> {
    match Json::new(raw).string() {
        Ok(Some(text)) => text.decode_start(PREVIEW_SOURCE_BYTES),
        _ => String::from_utf8_lossy(raw.get(..PREVIEW_SOURCE_BYTES).unwrap_or(raw)),
    }
}

/// An error may be a text, or an object with a message.
fn reason(raw: &[u8]) -> Cow<'_, str> {
    let mut message = None;
    if raw.first() == Some(&b'{') {
        let _ = Json::new(raw).object(|json, key| {
            if key == b"message" {
                message = json.string()?;
                return Ok(());
            }
            json.skip()
        });
    }
    message.map_or_else(|| shown(raw), RawStr::decode)
}
