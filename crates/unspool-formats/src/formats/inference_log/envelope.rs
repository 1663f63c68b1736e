//! The envelope of an exchange: where request and response lie, when they happened, and what the headers say.

use super::caller::Headers;
use super::looks::OWN;
use crate::json::{Json, Kind, Malformed, RawStr};
use crate::object::moment;
use std::borrow::Cow;
use unspool_model::Timestamp;

/// One request and what came back.
#[derive(Default)]
pub(super) struct Exchange<'a> {
    pub(super) started: Timestamp,
    pub(super) ended: Timestamp,
    pub(super) logged: Timestamp,
    pub(super) duration_ms: Option<f64>,
    pub(super) target: Option<RawStr<'a>>,
    pub(super) status: Option<i64>,
    /// The log's own id of the exchange.
    pub(super) id: Option<RawStr<'a>>,
    /// The id that our own proxy gave it. It records the request first and the whole later.
    pub(super) own: Option<RawStr<'a>>,
    pub(super) is_own: bool,
    /// The route of our own proxy it went by.
    pub(super) upstream: Option<RawStr<'a>>,
    /// The command of `unspool run` it belongs to.
    pub(super) run: Option<RawStr<'a>>,
    pub(super) method: Option<RawStr<'a>>,
    /// Something is said about a response.
    pub(super) responded: bool,
    /// Why the response has no end.
    pub(super) cut: Option<RawStr<'a>>,
    /// What went each way after both sides had agreed to speak another protocol.
    pub(super) socket: Option<[Went; 2]>,
    pub(super) headers: Headers<'a>,
    pub(super) body: Option<Cow<'a, [u8]>>,
    pub(super) answer: Given<'a>,
    pub(super) error: Option<&'a [u8]>,
    /// Spawn calls the log took out of the response.
    pub(super) invocations: Option<&'a [u8]>,
    pub(super) bad_time: Option<&'a [u8]>,
    /// Only its end is stated.
    pub(super) start_inferred: bool,
    /// A field of another type than it should have.
    pub(super) odd: Option<&'static str>,
}

/// What our own proxy counted on one way of a socket.
#[derive(Clone, Copy, Default)]
pub(super) struct Went {
    pub(super) bytes: i64,
    pub(super) messages: i64,
    pub(super) unread: i64,
}

impl Went {
    fn read(json: &mut Json<'_>) -> Result<Went, Malformed> {
        let mut went = Went::default();
        json.object(|json, key| {
            match key {
                b"bytes" => went.bytes = json.integer()?.unwrap_or(0),
                b"messages" => went.messages = json.integer()?.unwrap_or(0),
                b"unread" => went.unread = json.integer()?.unwrap_or(0),
                _ => json.skip()?,
            }
            Ok(())
        })?;
        Ok(went)
    }
}

/// The forms a response is recorded in.
#[derive(Default)]
pub(super) enum Given<'a> {
    #[default]
    Nothing,
    /// A JSON value.
    Body(&'a [u8]),
    /// Text: server-sent events, or JSON in a string.
    Text(RawStr<'a>),
    /// A list of pieces of the stream.
    Chunks(&'a [u8]),
}

impl<'a> Exchange<'a> {
    pub(super) fn read(bytes: &'a [u8]) -> Result<Exchange<'a>, Malformed> {
        let mut read = Exchange::default();
        let mut json = Json::new(bytes);
        json.object(|json, key| read.field(json, key))?;
        json.end()?;
        read.settle();
        Ok(read)
    }

    /// Whether there is a request or a response at all.
    pub(super) fn says_something(&self) -> bool {
        self.is_own
            || self.body.is_some()
            || self.invocations.is_some()
            || !matches!(self.answer, Given::Nothing)
    }

    /// Which API the request speaks, for `inspect`.
    pub(super) fn api_name(&self) -> String {
        let path = self.target.map(RawStr::decode).unwrap_or_default();
        let path = path.split('?').next().unwrap_or_default().trim_end_matches('/');
        let known = ["count_tokens", "chat/completions", "responses", "messages", "embeddings", "models"];
        known.iter().find(|end| path.ends_with(**end)).map_or_else(|| "exchange".into(), ToString::to_string)
    }

    fn field(&mut self, json: &mut Json<'a>, key: &'a [u8]) -> Result<(), Malformed> {
        match key {
            // A small number is no moment but a length.
            b"time" if json.kind()? == Kind::Number => {
                let raw = json.raw()?;
                let at = instant(raw);
                self.started = at.earlier(self.started);
                if !at.is_some() {
                    self.duration_ms = number(raw);
                }
                Ok(())
            }
            b"timestamp" | b"time" | b"ts" | b"started_at" | b"created_at" | b"startedDateTime" => {
                self.started = self.instant(json)?.earlier(self.started);
                Ok(())
            }
            b"logged_at" => {
                self.logged = self.instant(json)?;
                Ok(())
            }
            b"ended_at" | b"completed_at" => {
                self.ended = self.instant(json)?;
                Ok(())
            }
            b"duration_ms" | b"durationMs" | b"latency_ms" => {
                self.duration_ms = number(json.raw()?);
                Ok(())
            }
            b"path" | b"url" | b"endpoint" => {
                let target = json.string()?;
                // A path says as much as a whole address.
                self.target = self.target.or(target);
                Ok(())
            }
            b"headers" | b"request_headers" => {
                self.expect(json, "headers", &[Kind::Object, Kind::Array])?;
                self.headers.read(json)
            }
            b"body" | b"request_body" | b"requestBody" => {
                self.expect(json, "body", &[Kind::Object, Kind::String])?;
                self.body = body(json)?;
                Ok(())
            }
            b"postData" if json.kind()? == Kind::Object => json.object(|json, key| match key {
                b"text" => self.field(json, b"body"),
                _ => json.skip(),
            }),
            b"request" => self.request(json),
            b"response" => self.response(json),
            b"response_body" | b"responseBody" => {
                self.answer = given(json)?;
                Ok(())
            }
            b"response_status" | b"status" | b"status_code" | b"statusCode" => {
                self.status = json.integer()?;
                Ok(())
            }
            b"request_id" | b"requestId" | b"id" | b"hash" | b"custom_id" => {
                self.id = json.string()?.or(self.id);
                Ok(())
            }
            b"unspool" => {
                self.is_own = json.raw()? == OWN;
                Ok(())
            }
            b"exchange" => {
                self.own = json.string()?;
                Ok(())
            }
            b"upstream" => {
                self.upstream = json.string()?;
                Ok(())
            }
            b"run" if self.is_own => {
                self.run = json.string()?;
                Ok(())
            }
            b"method" => {
                self.method = json.string()?;
                Ok(())
            }
            b"error" => {
                let raw = json.raw()?;
                self.error = (raw != b"null").then_some(raw);
                Ok(())
            }
            b"task_invocations" | b"task_tool_invocation" => {
                let raw = json.raw()?;
                self.invocations = (raw.first() == Some(&b'[')).then_some(raw);
                Ok(())
            }
            _ => json.skip(),
        }
    }

    fn request(&mut self, json: &mut Json<'a>) -> Result<(), Malformed> {
        if json.kind()? != Kind::Object {
            return json.skip();
        }
        let mut is_body = false;
        let raw = json.raw_object(|json, key| match key {
            b"messages" | b"input" | b"contents" => {
                is_body = true;
                json.skip()
            }
            b"timestamp" | b"method" | b"url" | b"path" | b"headers" | b"body" | b"postData" => {
                self.field(json, key)
            }
            _ => json.skip(),
        })?;
        if is_body {
            self.body = Some(Cow::Borrowed(raw));
        }
        Ok(())
    }

    /// Notes a field of another type than it should have. What is null is not there.
    fn expect(&mut self, json: &mut Json<'a>, field: &'static str, kinds: &[Kind]) -> Result<(), Malformed> {
        let kind = json.kind()?;
        if kind != Kind::Null && !kinds.contains(&kind) {
            self.odd = Some(field);
        }
        Ok(())
    }

    fn response(&mut self, json: &mut Json<'a>) -> Result<(), Malformed> {
        self.expect(json, "response", &[Kind::Object, Kind::Array, Kind::String])?;
        self.responded = json.kind()? != Kind::Null;
        if json.kind()? != Kind::Object {
            self.answer = given(json)?;
            return Ok(());
        }
        let mut wrapped = Given::Nothing;
        let mut text = Given::Nothing;
        let mut is_body = false;
        let raw = json.raw_object(|json, key| {
            match key {
                b"body" => wrapped = given(json)?,
                b"body_raw" | b"raw" | b"text" => {
                    if json.kind()? == Kind::String {
                        text = given(json)?;
                    } else {
                        json.skip()?;
                    }
                }
                b"chunks" | b"events" => {
                    let raw = json.raw()?;
                    text = Given::Chunks(raw);
                }
                b"status" | b"status_code" | b"statusCode" => self.status = json.integer()?.or(self.status),
                b"timestamp" => self.ended = self.instant(json)?,
                b"duration_ms" | b"durationMs" | b"latency_ms" => self.duration_ms = number(json.raw()?),
                b"headers" => self.headers.read(json)?,
                b"cut" => self.cut = json.string()?,
                b"socket" if json.kind()? == Kind::Object => self.socket(json)?,
                // As browsers export it.
                b"content" if json.kind()? == Kind::Object => json.object(|json, key| {
                    match key {
                        b"text" if json.kind()? == Kind::String => text = given(json)?,
                        _ => json.skip()?,
                    }
                    Ok(())
                })?,
                b"content" | b"choices" | b"output" | b"usage" | b"stop_reason" => {
                    is_body = true;
                    json.skip()?;
                }
                _ => json.skip()?,
            }
            Ok(())
        })?;
        self.answer = match (wrapped, text) {
            (Given::Nothing, Given::Nothing) if is_body => Given::Body(raw),
            (Given::Nothing, text) => text,
            (wrapped, _) => wrapped,
        };
        Ok(())
    }

    fn socket(&mut self, json: &mut Json<'a>) -> Result<(), Malformed> {
        let mut both = [Went::default(); 2];
        json.object(|json, key| {
            match key {
                b"up" if json.kind()? == Kind::Object => both[0] = Went::read(json)?,
                b"down" if json.kind()? == Kind::Object => both[1] = Went::read(json)?,
                _ => json.skip()?,
            }
            Ok(())
        })?;
        self.socket = Some(both);
        Ok(())
    }

    fn instant(&mut self, json: &mut Json<'a>) -> Result<Timestamp, Malformed> {
        let raw = json.raw()?;
        if raw == b"null" {
            return Ok(Timestamp::NONE);
        }
        let at = instant(raw);
        if !at.is_some() {
            self.bad_time = Some(raw);
        }
        Ok(at)
    }

    /// Puts the times in order: begin, end, or what the other and the length say.
    fn settle(&mut self) {
        self.own = self.own.filter(|id| self.is_own && !id.is_empty());
        self.upstream = self.upstream.filter(|_| self.is_own);
        let length = self.duration_ms.filter(|ms| ms.is_finite() && *ms >= 0.0);
        #[expect(
            clippy::cast_possible_truncation,
            reason = "a length in whole milliseconds, bounded by the filter"
        )]
        let length = length.map(|ms| ms.round().min(1e12) as i64);
        if !self.ended.is_some() {
            self.ended = match length {
                Some(ms) if self.started.is_some() => self.started.plus_ms(ms),
                _ => self.logged,
            };
        }
        if !self.started.is_some() {
            self.start_inferred = self.ended.is_some();
            self.started = match length {
                Some(ms) if self.ended.is_some() => self.ended.plus_ms(-ms),
                _ => self.ended,
            };
        }
        if self.ended.is_some() && self.ended < self.started {
            self.ended = self.started;
        }
    }
}

/// A body that is an object, or an object written into a string.
fn body<'a>(json: &mut Json<'a>) -> Result<Option<Cow<'a, [u8]>>, Malformed> {
    Ok(match json.kind()? {
        Kind::Object => Some(Cow::Borrowed(json.raw()?)),
        Kind::String => json.string()?.map(|text| Cow::Owned(text.decode().into_owned().into_bytes())),
        _ => {
            json.skip()?;
            None
        }
    })
}

fn given<'a>(json: &mut Json<'a>) -> Result<Given<'a>, Malformed> {
    Ok(match json.kind()? {
        Kind::Object => Given::Body(json.raw()?),
        Kind::Array => Given::Chunks(json.raw()?),
        Kind::String => json.string()?.map_or(Given::Nothing, Given::Text),
        _ => {
            json.skip()?;
            Given::Nothing
        }
    })
}

fn number(raw: &[u8]) -> Option<f64> {
    std::str::from_utf8(raw).ok()?.trim_matches('"').parse().ok()
}

/// An instant in any of the usual ways. Counted from the epoch, a small number would be before there were logs.
pub(super) fn instant(raw: &[u8]) -> Timestamp {
    const FIRST_NS: i64 = 100_000_000 * 1_000_000_000;
    moment(raw).filter(|at| at.ns() >= Some(FIRST_NS)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::instant;

    #[test]
    fn instants_in_every_unit() {
        let expected = instant(b"\"2026-01-02T10:00:00.250Z\"");
        for text in
            ["1767348000.25", "1767348000250", "1767348000250000", "1767348000250000000", "\"1767348000250\""]
        {
            assert_eq!(instant(text.as_bytes()), expected, "{text}");
        }
        for text in ["true", "0", "-1", "17", "1e300", "\"\"", "\"now\"", "{}"] {
            assert!(!instant(text.as_bytes()).is_some(), "{text}");
        }
    }
}
