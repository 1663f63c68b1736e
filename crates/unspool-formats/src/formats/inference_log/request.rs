//! The body of a request, in any of the three APIs' spellings.

use super::folder;
use super::history::{History, Side, system_hash};
use crate::json::{Json, Kind, Malformed, RawStr};
use std::borrow::Cow;

/// A request as far as it matters.
#[derive(Default)]
pub(super) struct Request<'a> {
    pub(super) model: Option<RawStr<'a>>,
    /// `metadata.user_id` or `user`.
    pub(super) user: Option<RawStr<'a>>,
    /// The response this one goes on from.
    pub(super) previous: Option<RawStr<'a>>,
    pub(super) max_tokens: Option<i64>,
    pub(super) has_tools: bool,
    /// Nothing is to be answered: what comes next is only got ready.
    pub(super) is_warm_up: bool,
    pub(super) system: Vec<Cow<'a, str>>,
    /// The folder that a message about the client's surroundings names.
    context_folder: Option<String>,
    pub(super) history: History,
    /// The last thing the model said and everything said to it since: what this request adds.
    pub(super) tail: Vec<Turn<'a>>,
    /// Calls and results of everything before.
    pub(super) older: Vec<Part<'a>>,
    /// Words of the first message.
    pub(super) first: Vec<RawStr<'a>>,
    /// A field of another type than it should have.
    pub(super) odd: Option<&'static str>,
    /// How many messages there are, of any sort.
    pub(super) messages: usize,
}

/// One message of the tail.
pub(super) struct Turn<'a> {
    pub(super) side: Side,
    pub(super) parts: Vec<Part<'a>>,
    /// The history up to and with it.
    pub(super) history: u64,
}

impl<'a> Turn<'a> {
    /// Its words.
    pub(super) fn words(&self) -> impl Iterator<Item = RawStr<'a>> {
        texts(&self.parts)
    }
}

/// One piece of a message.
pub(super) enum Part<'a> {
    Text(RawStr<'a>),
    Call { id: Option<RawStr<'a>>, name: Option<RawStr<'a>>, input: Input<'a> },
    Result { id: Option<RawStr<'a>>, content: Option<&'a [u8]>, is_error: bool },
    Other(&'a [u8]),
}

/// A call's input: JSON, or JSON written into a string.
#[derive(Clone, Copy, Default)]
pub(super) enum Input<'a> {
    #[default]
    None,
    Json(&'a [u8]),
    Text(RawStr<'a>),
}

impl<'a> Input<'a> {
    pub(super) fn json(self) -> Cow<'a, [u8]> {
        match self {
            Input::None => Cow::Borrowed(b""),
            Input::Json(raw) => Cow::Borrowed(raw),
            Input::Text(text) => match text.decode() {
                Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
                Cow::Owned(text) => Cow::Owned(text.into_bytes()),
            },
        }
    }
}

impl<'a> Request<'a> {
    pub(super) fn read(bytes: &'a [u8]) -> Result<Request<'a>, Malformed> {
        let mut request = Request::default();
        Json::new(bytes).object(|json, key| request.field(json, key))?;
        Ok(request)
    }

    /// The system prompt's hash, without its volatile parts.
    pub(super) fn system_hash(&self) -> Option<u64> {
        system_hash(self.system.iter().map(AsRef::as_ref))
    }

    /// The folder the client says it works in.
    pub(super) fn folder(&self) -> Option<&str> {
        let system = self.system.iter().find_map(|text| folder::in_system(text));
        system.or(self.context_folder.as_deref())
    }

    fn field(&mut self, json: &mut Json<'a>, key: &'a [u8]) -> Result<(), Malformed> {
        match key {
            b"model" => self.model = json.string()?,
            b"messages" if json.kind()? == Kind::Array => json.array(|json| self.message(json))?,
            b"messages" => {
                self.odd = Some("messages");
                json.skip()?;
            }
            b"input" => match json.kind()? {
                Kind::Array => json.array(|json| self.message(json))?,
                Kind::String => {
                    let text = json.string()?;
                    self.turn(Side::User, text.map(Part::Text).into_iter().collect());
                }
                _ => json.skip()?,
            },
            b"prompt" if json.kind()? == Kind::String => {
                let text = json.string()?;
                self.turn(Side::User, text.map(Part::Text).into_iter().collect());
            }
            b"system" | b"instructions" => {
                for part in parts(json)? {
                    if let Part::Text(text) = part {
                        self.system.push(text.decode());
                    }
                }
            }
            b"tools" => self.has_tools = !matches!(json.raw()?, b"[]" | b"null"),
            b"metadata" if json.kind()? == Kind::Object => json.object(|json, key| {
                match key {
                    b"user_id" => self.user = json.string()?,
                    _ => json.skip()?,
                }
                Ok(())
            })?,
            b"user" => self.user = json.string()?.or(self.user),
            b"previous_response_id" => self.previous = json.string()?,
            b"generate" => self.is_warm_up = json.boolean()? == Some(false),
            b"max_tokens" | b"max_output_tokens" => self.max_tokens = json.integer()?,
            _ => json.skip()?,
        }
        Ok(())
    }

    fn message(&mut self, json: &mut Json<'a>) -> Result<(), Malformed> {
        if json.kind()? != Kind::Object {
            self.odd = Some("messages");
            return json.skip();
        }
        self.messages += 1;
        let mut item = Item::default();
        json.object(|json, key| item.field(json, key))?;
        self.odd = self.odd.or(item.odd);
        match item.role.map(|role| role.raw) {
            // Clients put their own notes between the messages; a prompt of the system is no part of the conversation.
            Some(b"system" | b"developer") => {
                let texts = item.content.into_iter().filter_map(|part| match part {
                    Part::Text(text) => Some(text.decode()),
                    _ => None,
                });
                self.system.extend(texts);
            }
            Some(b"assistant" | b"model") => {
                item.content.append(&mut item.calls);
                self.turn(Side::Model, item.content);
            }
            Some(b"tool" | b"function") => {
                let result =
                    Part::Result { id: item.call_id.or(item.id), content: item.raw_content, is_error: false };
                self.turn(Side::User, vec![result]);
            }
            Some(_) => self.turn(Side::User, item.content),
            None => self.item(&item),
        }
        Ok(())
    }

    /// An item of the Responses API that is no message.
    fn item(&mut self, item: &Item<'a>) {
        match item.kind.map(|kind| kind.raw) {
            Some(kind) if kind.ends_with(b"_call_output") => {
                let result = Part::Result { id: item.call_id, content: item.output, is_error: false };
                self.turn(Side::User, vec![result]);
            }
            Some(kind) if kind.ends_with(b"_call") => {
                let call = Part::Call {
                    id: item.call_id.or(item.id),
                    name: item.name.or(item.kind),
                    input: item.input,
                };
                self.turn(Side::Model, vec![call]);
            }
            // Thinking does not count, references only repeat.
            _ => {}
        }
    }

    fn turn(&mut self, side: Side, parts: Vec<Part<'a>>) {
        for part in &parts {
            match part {
                Part::Text(text) => {
                    let text = text.decode();
                    if side == Side::User && self.context_folder.is_none() {
                        self.context_folder = folder::in_context(&text).map(str::to_string);
                    }
                    self.history.text(&text);
                }
                Part::Call { id, name, input } => {
                    let text = |value: &Option<RawStr<'a>>| value.map(RawStr::decode).unwrap_or_default();
                    let id = text(id);
                    // The input matters only where no id tells the call apart.
                    let input = if id.is_empty() { input.json() } else { Cow::Borrowed(&b""[..]) };
                    self.history.call(&id, &text(name), &input);
                }
                // What the API's own tools returned stands inside the answer.
                Part::Result { .. } if side == Side::Model => {}
                Part::Result { id, content, .. } => {
                    let id = id.map(RawStr::decode).unwrap_or_default();
                    self.history.result(&id, content.unwrap_or_default());
                }
                Part::Other(raw) => self.history.other(raw),
            }
        }
        let is_first = self.history.whole().is_none();
        if !self.history.end(side) {
            return;
        }
        if is_first {
            self.first = texts(&parts).collect();
        }
        let after_model = self.tail.last().is_some_and(|turn| turn.side == Side::Model);
        if side == Side::Model && !after_model {
            let parts = self.tail.drain(..).flat_map(|turn| turn.parts);
            self.older.extend(parts.filter(|part| matches!(part, Part::Call { .. } | Part::Result { .. })));
        }
        let history = self.history.whole().unwrap_or(0);
        self.tail.push(Turn { side, parts, history });
    }

    /// What the model said last, as the client tells it.
    pub(super) fn answered(&self) -> impl Iterator<Item = &Part<'a>> {
        self.tail.iter().filter(|turn| turn.side == Side::Model).flat_map(|turn| &turn.parts)
    }

    /// Words said to the model since it last spoke.
    pub(super) fn words(&self) -> impl Iterator<Item = RawStr<'a>> {
        self.tail.iter().filter(|turn| turn.side == Side::User).flat_map(Turn::words)
    }
}

fn texts<'p, 'a>(parts: &'p [Part<'a>]) -> impl Iterator<Item = RawStr<'a>> + 'p {
    parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(*text),
        _ => None,
    })
}

/// A message or item, before it is known which.
#[derive(Default)]
struct Item<'a> {
    role: Option<RawStr<'a>>,
    kind: Option<RawStr<'a>>,
    id: Option<RawStr<'a>>,
    call_id: Option<RawStr<'a>>,
    name: Option<RawStr<'a>>,
    input: Input<'a>,
    output: Option<&'a [u8]>,
    content: Vec<Part<'a>>,
    raw_content: Option<&'a [u8]>,
    calls: Vec<Part<'a>>,
    odd: Option<&'static str>,
}

impl<'a> Item<'a> {
    fn field(&mut self, json: &mut Json<'a>, key: &'a [u8]) -> Result<(), Malformed> {
        match key {
            b"role" => {
                if json.kind()? != Kind::String {
                    self.odd = Some("role");
                }
                self.role = json.string()?;
            }
            b"type" => self.kind = json.string()?,
            b"id" => self.id = json.string()?,
            b"call_id" | b"tool_call_id" => self.call_id = json.string()?,
            b"name" => self.name = json.string()?,
            b"arguments" | b"input" => self.input = input(json)?,
            b"output" => self.output = Some(json.raw()?),
            b"content" => {
                if json.kind()? == Kind::String {
                    let raw = json.raw()?;
                    self.raw_content = Some(raw);
                    self.content = Json::new(raw).string()?.map(Part::Text).into_iter().collect();
                } else {
                    if !matches!(json.kind()?, Kind::Array | Kind::Null) {
                        self.odd = Some("content");
                    }
                    self.content = parts(json)?;
                }
            }
            b"tool_calls" if json.kind()? == Kind::Array => json.array(|json| {
                if json.kind()? != Kind::Object {
                    return json.skip();
                }
                self.calls.push(tool_call(json)?);
                Ok(())
            })?,
            _ => json.skip()?,
        }
        Ok(())
    }
}

/// A call as Chat Completions writes it.
fn tool_call<'a>(json: &mut Json<'a>) -> Result<Part<'a>, Malformed> {
    let (mut id, mut name, mut arguments) = (None, None, Input::None);
    json.object(|json, key| {
        match key {
            b"id" => id = json.string()?,
            b"function" | b"custom" if json.kind()? == Kind::Object => json.object(|json, key| {
                match key {
                    b"name" => name = json.string()?,
                    b"arguments" | b"input" => arguments = input(json)?,
                    _ => json.skip()?,
                }
                Ok(())
            })?,
            _ => json.skip()?,
        }
        Ok(())
    })?;
    Ok(Part::Call { id, name, input: arguments })
}

fn input<'a>(json: &mut Json<'a>) -> Result<Input<'a>, Malformed> {
    Ok(match json.kind()? {
        Kind::String => json.string()?.map_or(Input::None, Input::Text),
        _ => Input::Json(json.raw()?),
    })
}

/// The parts of a content: a string, or a list of blocks.
fn parts<'a>(json: &mut Json<'a>) -> Result<Vec<Part<'a>>, Malformed> {
    let mut parts = Vec::new();
    match json.kind()? {
        Kind::String => parts.extend(json.string()?.map(Part::Text)),
        Kind::Array => json.array(|json| {
            match json.kind()? {
                Kind::Object => parts.extend(block(json)?),
                Kind::String => parts.extend(json.string()?.map(Part::Text)),
                _ => json.skip()?,
            }
            Ok(())
        })?,
        _ => json.skip()?,
    }
    Ok(parts)
}

fn block<'a>(json: &mut Json<'a>) -> Result<Option<Part<'a>>, Malformed> {
    let (mut kind, mut text, mut id, mut name, mut tool_use) = (None, None, None, None, None);
    let (mut arguments, mut content, mut data, mut is_error) = (Input::None, None, None, false);
    json.object(|json, key| {
        match key {
            b"type" => kind = json.string()?,
            b"text" => text = json.string()?,
            b"id" => id = json.string()?,
            b"name" => name = json.string()?,
            b"input" => arguments = input(json)?,
            b"tool_use_id" => tool_use = json.string()?,
            b"content" => content = Some(json.raw()?),
            b"is_error" => is_error = json.boolean()?.unwrap_or(false),
            b"source" | b"image_url" | b"file" | b"file_id" | b"input_audio" => data = Some(json.raw()?),
            _ => json.skip()?,
        }
        Ok(())
    })?;
    Ok(match kind.map(|kind| kind.raw) {
        Some(b"tool_use" | b"server_tool_use" | b"mcp_tool_use") => {
            Some(Part::Call { id, name, input: arguments })
        }
        Some(kind) if kind.ends_with(b"tool_result") => {
            Some(Part::Result { id: tool_use, content, is_error })
        }
        Some(kind) if kind.ends_with(b"thinking") => None,
        Some(b"text" | b"input_text" | b"output_text" | b"refusal") | None => text.map(Part::Text),
        Some(_) => data.map(Part::Other).or(text.map(Part::Text)),
    })
}
