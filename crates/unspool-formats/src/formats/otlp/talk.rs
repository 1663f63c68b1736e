//! What was said to a model and what it answered, in any of the ways frameworks write messages down.
//!
//! In: JSON of any shape, or messages spread over numbered attributes. Out: the new input, the answer's text, the calls
//! it asks for, the results that are new. Never here: which attribute holds them.

use crate::chat::Call;
use crate::json::{Json, Kind, Malformed, RawStr};
use std::collections::BTreeMap;

/// Who speaks.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) enum Speaker {
    #[default]
    Unknown,
    System,
    User,
    Assistant,
    Tool,
}

/// One message.
#[derive(Clone, Default, Debug, PartialEq)]
pub(crate) struct Message {
    pub(crate) speaker: Speaker,
    pub(crate) text: String,
    pub(crate) calls: Vec<Call>,
    /// Calls this message brings results of.
    pub(crate) results: Vec<String>,
    pub(crate) finish: String,
    /// Values in it that lie too deep to be read.
    pub(crate) cut: usize,
}

/// Messages in order.
#[derive(Clone, Default, Debug, PartialEq)]
pub(crate) struct Talk(pub(crate) Vec<Message>);

impl Talk {
    /// Messages in JSON of any shape; a bare text is a message of `speaker`, and so are messages that name nobody.
    pub(crate) fn read(json: &[u8], speaker: Speaker) -> Talk {
        let mut talk = Talk::default();
        let start = json.iter().find(|byte| !byte.is_ascii_whitespace());
        if matches!(start, Some(b'[' | b'{' | b'"')) && well_formed(json) {
            let _ = talk.value(&mut Json::new(json), 0);
        } else {
            talk.script(speaker, &String::from_utf8_lossy(json));
        }
        for message in &mut talk.0 {
            if message.speaker == Speaker::Unknown {
                message.speaker = speaker;
            }
        }
        talk.0.retain(|message| {
            let says_something = !message.text.trim().is_empty();
            says_something || !message.calls.is_empty() || !message.results.is_empty() || message.cut > 0
        });
        talk
    }

    /// What came after the last answer: the new part of an input that repeats all history.
    pub(crate) fn news(&self) -> &[Message] {
        let last = self.0.iter().rposition(|message| message.speaker == Speaker::Assistant);
        &self.0[last.map_or(0, |last| last + 1)..]
    }

    /// The last new thing a user said.
    pub(crate) fn prompt(&self) -> Option<&str> {
        let news = self.news().iter().rev();
        news.filter(|message| message.speaker == Speaker::User && message.results.is_empty())
            .map(|message| message.text.as_str())
            .find(|text| !text.trim().is_empty())
    }

    /// The last thing an assistant said.
    pub(crate) fn answer(&self) -> Option<&str> {
        let answers = self.0.iter().rev().filter(|message| message.speaker == Speaker::Assistant);
        answers.map(|message| message.text.as_str()).find(|text| !text.trim().is_empty())
    }

    /// Makes one answer of the pieces it was streamed in.
    pub(crate) fn join_pieces(&mut self) {
        let is_piece = |message: &Message| {
            message.speaker == Speaker::Assistant && message.calls.is_empty() && message.results.is_empty()
        };
        if self.0.len() > 1 && self.0.iter().all(is_piece) {
            let rest: String = self.0.drain(1..).map(|message| message.text).collect();
            self.0[0].text.push_str(&rest);
        }
    }

    /// The calls that were asked for.
    pub(crate) fn calls(&self) -> impl Iterator<Item = &Call> {
        self.0.iter().flat_map(|message| &message.calls)
    }

    /// How many values lie too deep to be read.
    pub(crate) fn cut(&self) -> usize {
        self.0.iter().map(|message| message.cut).sum()
    }

    /// A bare text, or messages written one under the other, each behind its speaker: `system: …`, `user: …`.
    fn script(&mut self, by: Speaker, text: &str) {
        let said_by = |line: &str| {
            let (word, _) = line.split_once(": ")?;
            Some(speaker(word.as_bytes())).filter(|found| *found != Speaker::Unknown)
        };
        // A text of one speaker may well begin with such a word; a system's words and a user's do not come together by chance.
        let is_script = text.starts_with("system: ") && text.contains("\nuser: ");
        if !is_script {
            return self.say(by, text);
        }
        for line in text.split_inclusive('\n') {
            match (said_by(line), self.0.last_mut()) {
                (None, Some(last)) => last.text.push_str(line),
                (found, _) => {
                    let words = line.split_once(": ").map_or(line, |(_, words)| words);
                    self.say(found.unwrap_or(by), words);
                }
            }
        }
    }

    fn say(&mut self, speaker: Speaker, text: &str) {
        self.0.push(Message { speaker, text: text.to_string(), ..Message::default() });
    }

    fn value(&mut self, json: &mut Json<'_>, depth: usize) -> Result<(), Malformed> {
        match json.kind()? {
            Kind::Array | Kind::Object | Kind::String if depth > MAX_MESSAGE_LEVELS => {
                self.0.push(Message { cut: 1, ..Message::default() });
                json.skip()
            }
            Kind::Array => json.array(|json| self.value(json, depth + 1)),
            Kind::Object => {
                let raw = json.raw()?;
                self.object(raw, depth)
            }
            Kind::String => {
                if let Some(text) = json.string()? {
                    self.text(text, depth);
                }
                Ok(())
            }
            _ => json.skip(),
        }
    }

    /// A text that may itself be JSON.
    fn text(&mut self, text: RawStr<'_>, depth: usize) {
        let text = text.decode();
        if text.trim_start().starts_with(['{', '[']) && well_formed(text.as_bytes()) {
            let _ = self.value(&mut Json::new(text.as_bytes()), depth + 1);
        } else {
            self.say(Speaker::Unknown, &text);
        }
    }

    fn object(&mut self, raw: &[u8], depth: usize) -> Result<(), Malformed> {
        if is_message(raw) {
            let mut message = Message::default();
            message.object(raw, depth)?;
            self.0.push(message);
            return Ok(());
        }
        // Something that holds messages or a text, under one of the usual names.
        let mut best: Option<(usize, &[u8])> = None;
        Json::new(raw).object(|json, key| {
            let value = json.raw()?;
            let rank = HOLDERS.iter().position(|name| name.as_bytes() == key);
            let says = !matches!(value, b"null" | b"\"\"" | b"[]" | b"{}");
            if let Some(rank) = rank.filter(|rank| says && best.is_none_or(|(other, _)| *rank < other)) {
                best = Some((rank, value));
            }
            Ok(())
        })?;
        match best {
            Some((_, value)) => self.value(&mut Json::new(value), depth + 1),
            None => Ok(()),
        }
    }
}

/// Lists, objects and texts that are JSON, around what was said. Named so in notices.
const MAX_MESSAGE_LEVELS: usize = 12;

/// Where frameworks put messages or texts in an object, the best first.
const HOLDERS: &[&str] = &[
    "messages",
    "choices",
    "candidates",
    "message",
    "generations",
    "new_message",
    "contents",
    "content",
    "parts",
    "prompt",
    "input",
    "task",
    "question",
    "query",
    "text",
    "output_text",
    "output",
    "answer",
    "result",
    "response",
    "final_output",
    "final_result",
    "kwargs",
    "raw",
    "data",
];

fn well_formed(json: &[u8]) -> bool {
    let mut whole = Json::new(json);
    whole.skip().and_then(|()| whole.end()).is_ok()
}

/// Whether an object is a message: it names its speaker, or is a part of an answer.
fn is_message(raw: &[u8]) -> bool {
    let (mut speaker, mut part) = (false, false);
    let _ = Json::new(raw).object(|json, key| {
        match key {
            b"role" => speaker = json.kind()? == Kind::String,
            b"type" => {
                let word = json.string()?.map(|word| word.raw).unwrap_or_default();
                part |= matches!(word, b"human" | b"ai" | b"system" | b"tool") || block_kind(word).is_some();
                return Ok(());
            }
            b"tool_calls" | b"toolCalls" | b"toolCallId" => part = true,
            _ => {}
        }
        json.skip()
    });
    speaker || part
}

#[derive(Clone, Copy, PartialEq)]
enum Block {
    Text,
    Call,
    Result,
    Thought,
}

fn block_kind(word: &[u8]) -> Option<Block> {
    Some(match word {
        b"text" | b"input_text" | b"output_text" => Block::Text,
        b"tool_call" | b"tool-call" | b"tool_use" | b"function_call" | b"server_tool_call" | b"toolCall" => {
            Block::Call
        }
        b"tool_call_response"
        | b"tool-result"
        | b"tool_result"
        | b"function_call_output"
        | b"server_tool_call_response" => Block::Result,
        b"reasoning" | b"thinking" | b"redacted_thinking" => Block::Thought,
        _ => return None,
    })
}

fn speaker(word: &[u8]) -> Speaker {
    match word {
        b"user" | b"human" => Speaker::User,
        b"assistant" | b"ai" | b"model" | b"chatbot" => Speaker::Assistant,
        b"system" | b"developer" => Speaker::System,
        b"tool" | b"function" | b"tool-response" => Speaker::Tool,
        _ => Speaker::Unknown,
    }
}

/// The fields of a message or of a block of one.
#[derive(Default)]
struct Fields<'a> {
    kind: Option<RawStr<'a>>,
    role: Option<RawStr<'a>>,
    id: Option<RawStr<'a>>,
    call_id: Option<RawStr<'a>>,
    name: Option<RawStr<'a>>,
    text: Option<RawStr<'a>>,
    finish: Option<RawStr<'a>>,
    input: Option<&'a [u8]>,
    function: Option<&'a [u8]>,
    content: Vec<&'a [u8]>,
    calls: Option<&'a [u8]>,
    /// `LangChain` keeps a provider's own fields here.
    provider: Option<&'a [u8]>,
}

impl<'a> Fields<'a> {
    fn read(raw: &'a [u8]) -> Fields<'a> {
        let mut fields = Fields::default();
        let _ = Json::new(raw).object(|json, key| {
            match key {
                b"type" => fields.kind = json.string()?,
                b"role" => fields.role = json.string()?,
                b"id" => fields.id = json.string()?,
                b"tool_call_id" | b"toolCallId" | b"tool_use_id" | b"call_id" => {
                    fields.call_id = json.string()?;
                }
                b"name" | b"toolName" | b"tool_name" => fields.name = json.string()?,
                b"finish_reason" | b"finishReason" | b"stop_reason" => fields.finish = json.string()?,
                b"arguments" | b"args" | b"input" => fields.input = Some(json.raw()?),
                b"function" | b"functionCall" | b"function_call" => fields.function = Some(json.raw()?),
                b"tool_calls" | b"toolCalls" => fields.calls = Some(json.raw()?),
                b"additional_kwargs" => fields.provider = Some(json.raw()?),
                b"text" => fields.text = json.string()?,
                b"content" | b"parts" | b"contents" | b"message" | b"kwargs" => {
                    fields.content.push(json.raw()?);
                }
                _ => json.skip()?,
            }
            Ok(())
        });
        fields
    }
}

impl Message {
    fn object(&mut self, raw: &[u8], depth: usize) -> Result<(), Malformed> {
        if depth > MAX_MESSAGE_LEVELS {
            self.cut += 1;
            return Ok(());
        }
        let fields = Fields::read(raw);
        let kind = fields.kind.map(|kind| kind.raw).unwrap_or_default();
        let word = fields.role.map_or(kind, |role| role.raw);
        if self.speaker == Speaker::Unknown {
            self.speaker = speaker(word);
        }
        if let Some(finish) = fields.finish.filter(|_| self.finish.is_empty()) {
            self.finish = finish.decode().into_owned();
        }
        let id = || fields.call_id.or(fields.id).map(|id| id.decode().trim().to_string()).unwrap_or_default();
        match block_kind(kind) {
            Some(Block::Thought) => return Ok(()),
            Some(Block::Call) => {
                self.call(&fields, id());
                return Ok(());
            }
            Some(Block::Result) => {
                if self.speaker == Speaker::Unknown {
                    self.speaker = Speaker::Tool;
                }
                self.results.push(id());
                return Ok(());
            }
            Some(Block::Text) | None => {}
        }
        if self.speaker == Speaker::Tool && fields.call_id.is_some() {
            self.results.push(id());
        }
        if let Some(text) = fields.text {
            self.add(&text.decode());
        }
        for content in &fields.content {
            self.content(&mut Json::new(content), depth + 1)?;
        }
        let by_provider = || Fields::read(fields.provider?).calls;
        let is_told = |calls: &&[u8]| !matches!(*calls, b"[]" | b"null");
        if let Some(calls) = fields.calls.filter(is_told).or_else(by_provider) {
            let mut calls = Json::new(calls);
            if calls.kind()? == Kind::Array {
                calls.array(|json| {
                    let raw = json.raw()?;
                    if Json::new(raw).kind()? == Kind::Object {
                        let call = Fields::read(raw);
                        let id = call.call_id.or(call.id).map(|id| id.decode().trim().to_string());
                        self.call(&call, id.unwrap_or_default());
                    }
                    Ok(())
                })?;
            }
        } else if let Some(function) = fields.function {
            self.call(&Fields { function: Some(function), ..Fields::default() }, String::new());
        }
        Ok(())
    }

    fn content(&mut self, json: &mut Json<'_>, depth: usize) -> Result<(), Malformed> {
        match json.kind()? {
            Kind::Array | Kind::Object | Kind::String if depth > MAX_MESSAGE_LEVELS => {
                self.cut += 1;
                json.skip()
            }
            Kind::String => {
                if let Some(text) = json.string()? {
                    self.add(&text.decode());
                }
                Ok(())
            }
            Kind::Array => json.array(|json| self.content(json, depth + 1)),
            Kind::Object => self.object(json.raw()?, depth),
            _ => json.skip(),
        }
    }

    fn call(&mut self, fields: &Fields<'_>, id: String) {
        let inner = fields.function.map(Fields::read).unwrap_or_default();
        let name = fields.name.or(inner.name).map(|name| name.decode().into_owned()).unwrap_or_default();
        let raw = fields.input.or(inner.input).unwrap_or_default();
        // Arguments may be JSON in a string.
        let input = match Json::new(raw).string() {
            Ok(Some(text)) => text.decode().into_owned(),
            _ => String::from_utf8_lossy(raw).into_owned(),
        };
        let id =
            if id.is_empty() { inner.id.map(|id| id.decode().into_owned()).unwrap_or_default() } else { id };
        if !name.is_empty() || !id.is_empty() {
            self.calls.push(Call { id, name, input });
        }
    }

    fn add(&mut self, text: &str) {
        if !self.text.is_empty() && !text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(text);
    }
}

/// Messages spread over numbered attributes: `0.message.role`, `0.message.tool_calls.1.tool_call.id`, …
#[derive(Default)]
pub(crate) struct Numbered(BTreeMap<u32, (Message, BTreeMap<u32, Call>)>);

impl Numbered {
    /// Takes one attribute; `path` is what follows the common prefix.
    pub(crate) fn take(&mut self, path: &str, value: &dyn Fn() -> String) {
        let Some((number, field)) = path.split_once('.') else { return };
        let Ok(number) = number.parse() else { return };
        let field = field.strip_prefix("message.").unwrap_or(field);
        let (message, calls) = self.0.entry(number).or_default();
        match field {
            "role" => message.speaker = speaker(value().as_bytes()),
            "content" => {
                let text = value();
                // Content of several blocks is JSON.
                if text.starts_with("[{") && well_formed(text.as_bytes()) {
                    let _ = message.content(&mut Json::new(text.as_bytes()), 0);
                } else {
                    message.add(&text);
                }
            }
            "finish_reason" => message.finish = value(),
            "tool_call_id" => message.results.push(value()),
            _ => {
                if field.starts_with("contents.") && field.ends_with(".message_content.text") {
                    message.add(&value());
                }
                let Some(path) = field.strip_prefix("tool_calls.") else { return };
                let Some((number, field)) = path.split_once('.') else { return };
                let Ok(number) = number.parse() else { return };
                let call = calls.entry(number).or_default();
                match field.strip_prefix("tool_call.").unwrap_or(field) {
                    "id" => call.id = value().trim().to_string(),
                    "name" | "function.name" => call.name = value(),
                    "arguments" | "function.arguments" => call.input = value(),
                    _ => {}
                }
            }
        }
    }

    pub(crate) fn talk(self) -> Talk {
        let messages = self.0.into_values().map(|(mut message, calls)| {
            message.calls.extend(calls.into_values());
            message
        });
        Talk(messages.collect())
    }
}

#[cfg(test)]
mod tests;
