//! What came back, in any of the three APIs' spellings.

use super::envelope::Given;
use super::stream;
use super::usage::Reported;
use crate::chat::Call;
use crate::json::{Json, Kind, Malformed, RawStr};
use std::borrow::Cow;

/// A model's answer.
#[derive(Default, Debug)]
pub(super) struct Answer {
    pub(super) id: String,
    pub(super) model: String,
    pub(super) stop: String,
    pub(super) texts: Vec<String>,
    pub(super) calls: Vec<Call>,
    pub(super) tokens: Reported,
    pub(super) error: Option<String>,
    /// There was a stream and it ended before its last event.
    pub(super) interrupted: bool,
    /// Events of a stream that are not whole, though others follow them.
    pub(super) torn: usize,
    /// Something was recorded as the response.
    pub(super) present: bool,
    /// A field of another type than it should have.
    pub(super) odd: Option<&'static str>,
    /// A limit that cost a part of it.
    pub(super) limit: Option<&'static str>,
    /// How many items lie around the one being read.
    depth: usize,
}

/// Items in items. No API has more than a few; what lies deeper is not read. Named so in notices.
const MAX_ANSWER_LEVELS: usize = 16;

/// Errors in errors; the words of the last that is read count. Named so in notices.
const MAX_ERROR_LEVELS: usize = 16;

impl Answer {
    /// Reads a response in whatever form it was recorded.
    pub(super) fn read(given: &Given<'_>) -> Answer {
        let mut answer = Answer::default();
        match given {
            Given::Nothing => return answer,
            Given::Body(raw) => answer.body(raw),
            Given::Text(text) => answer.text(&text.decode()),
            Given::Chunks(raw) => answer.chunks(raw),
        }
        answer.present = true;
        if !answer.says_something() {
            answer.odd = answer.odd.or(Some("response"));
            answer.error = unread(given);
        }
        answer
    }

    fn says_something(&self) -> bool {
        let empty =
            self.id.is_empty() && self.texts.is_empty() && self.calls.is_empty() && self.stop.is_empty();
        !empty || self.error.is_some() || self.tokens.known() || self.tokens.only_total()
    }

    fn text(&mut self, text: &str) {
        let start = text.trim_start();
        if start.starts_with('{') {
            if Json::new(start.as_bytes()).skip().is_ok() && !stream::is_event(start.as_bytes()) {
                self.body(start.as_bytes());
            } else {
                stream::values(self, start.as_bytes());
            }
        } else {
            stream::events(self, text);
        }
    }

    fn chunks(&mut self, raw: &[u8]) {
        let mut text = String::new();
        let mut objects = stream::Assembly::default();
        let _ = Json::new(raw).array(|json| {
            match json.kind()? {
                Kind::String => text.push_str(&json.string()?.map(RawStr::decode).unwrap_or_default()),
                Kind::Object => objects.chunk(json.raw()?),
                _ => json.skip()?,
            }
            Ok(())
        });
        if text.is_empty() {
            objects.finish(self);
        } else {
            self.text(&text);
        }
    }

    /// A body: an Anthropic message, a chat completion, a response object, or an error.
    pub(super) fn body(&mut self, raw: &[u8]) {
        let mut json = Json::new(raw);
        if json.kind() == Ok(Kind::Object) {
            let _ = json.object(|json, key| self.field(json, key));
        }
    }

    fn field(&mut self, json: &mut Json<'_>, key: &[u8]) -> Result<(), Malformed> {
        match key {
            b"id" => self.id = owned(json)?,
            b"model" => self.model = owned(json)?,
            b"stop_reason" => self.stop = owned(json)?,
            b"status" if self.stop.is_empty() => self.stop = owned(json)?,
            b"usage" => {
                if !matches!(json.kind()?, Kind::Object | Kind::Null) {
                    self.odd = Some("usage");
                }
                self.tokens.read(json)?;
            }
            b"content" => {
                if !matches!(json.kind()?, Kind::Array | Kind::String | Kind::Null) {
                    self.odd = Some("content");
                }
                self.blocks(json)?;
            }
            b"choices" if json.kind()? == Kind::Array => json.array(|json| self.choice(json))?,
            b"output" if json.kind()? == Kind::Array => json.array(|json| self.item(json))?,
            b"error" => self.error = error_text(json.raw()?, &mut self.limit),
            // Some loggers keep what they could not parse.
            b"raw_preview" => json.skip()?,
            _ => json.skip()?,
        }
        Ok(())
    }

    fn blocks(&mut self, json: &mut Json<'_>) -> Result<(), Malformed> {
        match json.kind()? {
            Kind::String => {
                let text = owned(json)?;
                self.say(text);
            }
            Kind::Array => {
                json.array(|json| if json.kind()? == Kind::Object { self.item(json) } else { json.skip() })?;
            }
            _ => json.skip()?,
        }
        Ok(())
    }

    fn choice(&mut self, json: &mut Json<'_>) -> Result<(), Malformed> {
        if json.kind()? != Kind::Object {
            return json.skip();
        }
        json.object(|json, key| {
            match key {
                b"finish_reason" => self.stop = owned(json)?,
                b"message" if json.kind()? == Kind::Object => self.item(json)?,
                b"text" => {
                    let text = owned(json)?;
                    self.say(text);
                }
                _ => json.skip()?,
            }
            Ok(())
        })
    }

    /// A block, a message or an output item.
    pub(super) fn item(&mut self, json: &mut Json<'_>) -> Result<(), Malformed> {
        if json.kind()? != Kind::Object {
            return json.skip();
        }
        if self.depth == MAX_ANSWER_LEVELS {
            self.limit = Some("max_answer_levels");
            return json.skip();
        }
        self.depth += 1;
        let read = self.item_fields(json);
        self.depth -= 1;
        read
    }

    fn item_fields(&mut self, json: &mut Json<'_>) -> Result<(), Malformed> {
        let (mut kind, mut text, mut call, mut call_id) =
            (String::new(), String::new(), Call::default(), String::new());
        let mut content = None;
        json.object(|json, key| {
            match key {
                b"type" => kind = owned(json)?,
                b"text" | b"refusal" => text = owned(json)?,
                b"content" => content = Some(json.raw()?),
                b"id" => call.id = owned(json)?,
                b"call_id" => call_id = owned(json)?,
                b"name" => call.name = owned(json)?,
                b"input" | b"arguments" => call.input = json_text(json.raw()?),
                b"function" | b"custom" if json.kind()? == Kind::Object => json.object(|json, key| {
                    match key {
                        b"name" => call.name = owned(json)?,
                        b"arguments" | b"input" => call.input = json_text(json.raw()?),
                        _ => json.skip()?,
                    }
                    Ok(())
                })?,
                b"tool_calls" if json.kind()? == Kind::Array => json.array(|json| self.item(json))?,
                _ => json.skip()?,
            }
            Ok(())
        })?;
        // What the API's own tools returned is no part of what the model said.
        if let Some(content) = content.filter(|_| !kind.ends_with("tool_result")) {
            self.blocks(&mut Json::new(content))?;
        }
        let is_call =
            matches!(kind.as_str(), "tool_use" | "server_tool_use" | "mcp_tool_use" | "function" | "custom")
                || kind.ends_with("_call");
        if is_call {
            if !call_id.is_empty() {
                call.id = call_id;
            }
            if call.name.is_empty() {
                call.name = kind;
            }
            self.calls.push(call);
        } else if !text.is_empty() && !kind.contains("thinking") && !kind.contains("reasoning") {
            self.say(text);
        }
        Ok(())
    }

    pub(super) fn say(&mut self, text: String) {
        if !text.is_empty() {
            self.texts.push(text);
        }
    }
}

/// Words that came instead of an answer, such as a gateway's page. They count only where the request failed.
fn unread(given: &Given<'_>) -> Option<String> {
    let Given::Text(text) = given else { return None };
    let text = text.decode();
    let words = text.split(['<', '>']).map(str::trim).find(|words| words.contains(' '));
    Some(words.unwrap_or(text.trim()).to_string()).filter(|text| !text.is_empty())
}

pub(super) fn owned(json: &mut Json<'_>) -> Result<String, Malformed> {
    Ok(json.string()?.map(RawStr::decode).unwrap_or_default().into_owned())
}

/// JSON as it is, or out of the string it was written into.
pub(super) fn json_text(raw: &[u8]) -> String {
    if raw.first() == Some(&b'"') {
        return Json::new(raw).string().ok().flatten().map(RawStr::decode).unwrap_or_default().into_owned();
    }
    String::from_utf8_lossy(raw).into_owned()
}

/// The words of an error: a string, or the message of an object. Gateways wrap errors into each other; a limit that is
/// reached is named.
pub(super) fn error_text(raw: &[u8], limit: &mut Option<&'static str>) -> Option<String> {
    let said = |text: String| Some(text).filter(|text| !text.is_empty());
    let (mut raw, mut around) = (raw, String::new());
    for _ in 0..MAX_ERROR_LEVELS {
        let mut json = Json::new(raw);
        match json.kind().ok()? {
            Kind::String => return json.string().ok().flatten().map(RawStr::decode).map(Cow::into_owned),
            Kind::Object => {}
            Kind::Bool if raw == b"true" => return Some("error".into()),
            _ => return said(around),
        }
        let (mut message, mut kind, mut inner) = (String::new(), String::new(), None);
        let _ = json.object(|json, key| {
            match key {
                b"message" => message = owned(json)?,
                b"type" | b"code" => kind = owned(json)?,
                b"error" => inner = Some(json.raw()?),
                _ => json.skip()?,
            }
            Ok(())
        });
        let text = [message, kind, "error".to_string()].into_iter().find(|text| !text.is_empty());
        around = text.unwrap_or_default();
        match inner {
            Some(inner) => raw = inner,
            None => return said(around),
        }
    }
    *limit = Some("max_error_levels");
    said(around)
}

#[cfg(test)]
mod tests {
    use super::{Answer, error_text};
    use crate::formats::inference_log::envelope::Given;

    #[test]
    fn bottomless_answers_end_and_are_noted() {
        for open in [r#"{"content":["#, r#"{"tool_calls":["#] {
            let deep = r#"{"content":["#.to_string() + &open.repeat(100_000) + &"]}".repeat(100_001);
            assert_eq!(
                Answer::read(&Given::Body(deep.as_bytes())).limit,
                Some("max_answer_levels"),
                "{open}"
            );
        }
        let deep = r#"{"error":"#.repeat(100_000) + "1" + &"}".repeat(100_000);
        let mut limit = None;
        assert_eq!(error_text(deep.as_bytes(), &mut limit).as_deref(), Some("error"));
        assert_eq!(limit, Some("max_error_levels"));
    }

    #[test]
    fn errors_in_every_wrapping() {
        let text = |raw: &str| {
            let mut limit = None;
            let text = error_text(raw.as_bytes(), &mut limit);
            assert_eq!(limit, None, "{raw}");
            text
        };
        assert_eq!(text(r#""no""#).as_deref(), Some("no"));
        assert_eq!(
            text(r#"{"type":"error","error":{"type":"overloaded_error","message":"busy"}}"#).as_deref(),
            Some("busy")
        );
        assert_eq!(text(r#"{"error":{"code":"quota"}}"#).as_deref(), Some("quota"));
        assert_eq!(text(r#"{"message":"outer","error":null}"#).as_deref(), Some("outer"));
        assert_eq!(text("true").as_deref(), Some("error"));
        assert_eq!(text("7"), None);
    }
}
