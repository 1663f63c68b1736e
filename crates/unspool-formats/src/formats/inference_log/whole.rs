//! Recorded exchanges whole: what was sent and what came back, byte for byte where the log has the bytes, and when.
//!
//! In: the bytes of a record of recorded traffic. Out: its exchange, to be sent or answered again. Never here: what it means.

mod fields;

use super::envelope::instant;
use super::looks::Looks;
use crate::json::{Json, Kind, Malformed};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use fields::{bytes, headers, number, path_of, status, text};
use unspool_model::Timestamp;

/// One request and what came back.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WholeExchange {
    /// The log's own id of it. A log may have an exchange twice: when it began, and when it was over.
    pub id: Option<String>,
    /// When the request was sent.
    pub sent: Timestamp,
    /// `POST` and the like, where the log has it.
    pub method: Option<String>,
    /// Path and query, where the log has them.
    pub path: Option<String>,
    /// Names and values; secrets masked by whoever wrote the log.
    pub headers: Vec<(String, String)>,
    /// What was sent.
    pub body: Vec<u8>,
    /// What came back, if anything did.
    pub answer: Option<WholeAnswer>,
    /// Why nothing, or not everything, came back.
    pub error: Option<String>,
}

/// What came back.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WholeAnswer {
    /// The status, where the log has it.
    pub status: Option<u16>,
    /// Names and values.
    pub headers: Vec<(String, String)>,
    /// The body, unpacked.
    pub body: Vec<u8>,
    /// When its first line came, in milliseconds from the request, where the log says so.
    pub head_ms: Option<f64>,
    /// How the body came.
    pub arrived: Vec<Arrived>,
    /// The log says when each piece came. Otherwise all came when the answer had ended.
    pub has_times: bool,
    /// The answer has no end.
    pub is_cut: bool,
    /// So many bytes at its end are not in the log.
    pub left_out_bytes: u64,
}

/// A piece of a body.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arrived {
    /// Where it ends in the body.
    pub end: usize,
    /// Milliseconds from the request.
    pub at_ms: f64,
}

/// The APIs whose requests and errors have a known form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WireApi {
    /// Anthropic Messages, and the counting of its tokens.
    Messages,
    /// `OpenAI` Chat Completions.
    Chat,
    /// `OpenAI` Responses.
    Responses,
}

impl WireApi {
    /// The API of a path, whatever stands before it.
    pub fn of_path(path: &str) -> Option<WireApi> {
        let path = path.split('?').next().unwrap_or_default().trim_end_matches('/');
        let ends = [
            ("/messages", WireApi::Messages),
            ("/messages/count_tokens", WireApi::Messages),
            ("/chat/completions", WireApi::Chat),
            ("/responses", WireApi::Responses),
        ];
        ends.into_iter().find(|(end, _)| path.ends_with(end)).map(|(_, api)| api)
    }

    /// Where its requests usually go.
    pub fn usual_path(self) -> &'static str {
        match self {
            WireApi::Messages => "/v1/messages",
            WireApi::Chat => "/v1/chat/completions",
            WireApi::Responses => "/v1/responses",
        }
    }
}

impl WholeExchange {
    /// The exchange in a record; nothing when it has no request. One without a body says what was asked for by its method and path.
    pub fn read(record: &[u8]) -> Option<WholeExchange> {
        if !Looks::at(record).exchange() {
            return None;
        }
        let mut read = Reading::default();
        let mut json = Json::new(record);
        json.object(|json, key| read.field(json, key)).ok()?;
        read.finish()
    }

    /// What it was sent with: what the log says, or else what is usual with or without a body.
    pub fn method(&self) -> &str {
        self.method.as_deref().unwrap_or(if self.body.is_empty() { "GET" } else { "POST" })
    }

    /// Whether it only asked for another protocol to be spoken: what was said then are exchanges of their own.
    pub fn is_handshake(&self) -> bool {
        let upgrades = || self.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("upgrade"));
        match &self.answer {
            Some(answer) => answer.status == Some(101),
            None => self.body.is_empty() && upgrades(),
        }
    }

    /// The API that was asked: by its path, or else by what was said.
    pub fn api(&self) -> Option<WireApi> {
        if let Some(path) = &self.path {
            return WireApi::of_path(path);
        }
        let has = |bytes: &[u8], word: &str| memchr::memmem::find(bytes, word.as_bytes()).is_some();
        let answer = self.answer.as_ref().map(|answer| answer.body.as_slice()).unwrap_or_default();
        if has(&self.body, "\"input\"") && !has(&self.body, "\"messages\"") {
            Some(WireApi::Responses)
        } else if has(answer, "\"choices\"") {
            Some(WireApi::Chat)
        } else {
            Some(WireApi::Messages)
        }
    }
}

/// An exchange in the making.
#[derive(Default)]
struct Reading {
    exchange: WholeExchange,
    answer: Option<WholeAnswer>,
    ended: Timestamp,
    duration_ms: Option<f64>,
    /// Bytes and moments of pieces, as the log has them.
    pieces: Vec<(Option<usize>, Option<f64>)>,
    has_body: bool,
}

impl Reading {
    /// A field of the envelope.
    fn field(&mut self, json: &mut Json<'_>, key: &[u8]) -> Result<(), Malformed> {
        match key {
            b"request" if json.kind()? == Kind::Object => {
                let raw = json.raw()?;
                let mut is_body = false;
                Json::new(raw).object(|json, key| match key {
                    b"messages" | b"input" | b"contents" => {
                        is_body = true;
                        json.skip()
                    }
                    _ => self.request_field(json, key),
                })?;
                if is_body {
                    self.take_body(raw.to_vec());
                }
                Ok(())
            }
            b"response" => self.response(json),
            b"response_body" | b"responseBody" => {
                let body = bytes(json)?;
                self.answer().body = body.unwrap_or_default();
                Ok(())
            }
            b"response_status" | b"status" | b"status_code" | b"statusCode" => {
                self.answer().status = status(json)?;
                Ok(())
            }
            b"exchange" | b"request_id" | b"requestId" | b"id" | b"hash" | b"custom_id" => {
                let id = text(json)?;
                let first = key == b"exchange" || self.exchange.id.is_none();
                if first {
                    self.exchange.id = id;
                }
                Ok(())
            }
            b"error" => {
                let raw = json.raw()?;
                self.exchange.error = (raw != b"null").then(|| String::from_utf8_lossy(raw).into_owned());
                Ok(())
            }
            b"ended_at" | b"completed_at" => {
                self.ended = instant(json.raw()?);
                Ok(())
            }
            b"duration_ms" | b"durationMs" | b"latency_ms" => {
                self.duration_ms = number(json.raw()?);
                Ok(())
            }
            b"time" if json.kind()? == Kind::Number => {
                let raw = json.raw()?;
                self.exchange.sent = instant(raw).earlier(self.exchange.sent);
                if !instant(raw).is_some() {
                    self.duration_ms = number(raw);
                }
                Ok(())
            }
            _ => self.request_field(json, key),
        }
    }

    /// A field that the request has, wherever it stands.
    fn request_field(&mut self, json: &mut Json<'_>, key: &[u8]) -> Result<(), Malformed> {
        match key {
            b"timestamp" | b"time" | b"ts" | b"started_at" | b"created_at" | b"startedDateTime" => {
                self.exchange.sent = instant(json.raw()?).earlier(self.exchange.sent);
            }
            b"method" => self.exchange.method = text(json)?,
            b"path" | b"url" | b"endpoint" => {
                let place = text(json)?.map(|place| path_of(&place));
                self.exchange.path = self.exchange.path.take().or(place);
            }
            b"headers" | b"request_headers" => self.exchange.headers = headers(json)?,
            b"body" | b"request_body" | b"requestBody" | b"text" => {
                if let Some(body) = bytes(json)? {
                    self.take_body(body);
                }
            }
            b"base64" => {
                let text = text(json)?.unwrap_or_default();
                self.take_body(STANDARD.decode(text).unwrap_or_default());
            }
            b"postData" if json.kind()? == Kind::Object => {
                json.object(|json, key| match key {
                    b"text" => self.request_field(json, b"body"),
                    _ => json.skip(),
                })?;
            }
            _ => json.skip()?,
        }
        Ok(())
    }

    fn take_body(&mut self, body: Vec<u8>) {
        self.exchange.body = body;
        self.has_body = true;
    }

    fn answer(&mut self) -> &mut WholeAnswer {
        self.answer.get_or_insert_default()
    }

    fn response(&mut self, json: &mut Json<'_>) -> Result<(), Malformed> {
        match json.kind()? {
            Kind::Null => return json.skip(),
            Kind::Array => return self.chunks(json),
            Kind::Object => {}
            _ => {
                let body = bytes(json)?;
                self.answer().body = body.unwrap_or_default();
                return Ok(());
            }
        }
        let raw = json.raw()?;
        let (mut is_body, mut is_wrapped) = (false, false);
        Json::new(raw).object(|json, key| {
            match key {
                b"content" if json.kind()? == Kind::Object => {
                    is_wrapped = true;
                    return self.exported(json);
                }
                b"content" | b"choices" | b"output" | b"usage" | b"stop_reason" => is_body = true,
                b"body" | b"base64" | b"chunks" | b"headers" => is_wrapped = true,
                b"body_raw" | b"raw" | b"text" => is_wrapped |= json.kind()? == Kind::String,
                // A response of an API has a status in words.
                b"status" | b"status_code" | b"statusCode" => is_wrapped |= json.kind()? == Kind::Number,
                _ => {}
            }
            self.response_field(json, key)
        })?;
        if is_body && !is_wrapped {
            self.answer().body = raw.to_vec();
        }
        self.answer();
        Ok(())
    }

    fn response_field(&mut self, json: &mut Json<'_>, key: &[u8]) -> Result<(), Malformed> {
        match key {
            b"body_raw" | b"raw" | b"text" if json.kind()? != Kind::String => json.skip()?,
            b"body" | b"body_raw" | b"raw" | b"text" => {
                // A body that is a list is one of pieces.
                if json.kind()? == Kind::Array {
                    return self.chunks(json);
                }
                if let Some(body) = bytes(json)? {
                    self.answer().body = body;
                }
            }
            b"base64" => {
                let text = text(json)?.unwrap_or_default();
                self.answer().body = STANDARD.decode(text).unwrap_or_default();
            }
            b"chunks" | b"events" => self.chunks(json)?,
            b"chunkTimings" if json.kind()? == Kind::Array => {
                // Milliseconds between one piece and the next.
                let mut at = 0.0;
                let mut n = 0;
                json.array(|json| {
                    at += number(json.raw()?).unwrap_or(0.0).max(0.0);
                    self.piece(n).1 = Some(at);
                    n += 1;
                    Ok(())
                })?;
            }
            b"arrived" if json.kind()? == Kind::Array => self.arrived(json)?,
            b"status" | b"status_code" | b"statusCode" => self.answer().status = status(json)?,
            b"headers" => self.answer().headers = headers(json)?,
            b"head_ms" => self.answer().head_ms = number(json.raw()?),
            b"timestamp" => self.ended = instant(json.raw()?),
            b"duration_ms" | b"durationMs" | b"latency_ms" => self.duration_ms = number(json.raw()?),
            b"cut" => self.answer().is_cut = json.kind()? == Kind::String && text(json)?.is_some(),
            b"left_out_bytes" => {
                let bytes = json.integer()?.unwrap_or(0);
                self.answer().left_out_bytes = u64::try_from(bytes).unwrap_or(0);
            }
            _ => json.skip()?,
        }
        Ok(())
    }

    /// A body as browsers export it.
    fn exported(&mut self, json: &mut Json<'_>) -> Result<(), Malformed> {
        let (mut body, mut is_base64) = (None, false);
        json.object(|json, key| {
            match key {
                b"text" => body = bytes(json)?,
                b"encoding" => is_base64 = text(json)?.as_deref() == Some("base64"),
                _ => json.skip()?,
            }
            Ok(())
        })?;
        let body = body.unwrap_or_default();
        self.answer().body = if is_base64 { STANDARD.decode(&body).unwrap_or(body) } else { body };
        Ok(())
    }

    /// Pieces of a stream: text as it came, or events as JSON, which get back the form they came in.
    fn chunks(&mut self, json: &mut Json<'_>) -> Result<(), Malformed> {
        if json.kind()? != Kind::Array {
            return json.skip();
        }
        let mut n = 0;
        json.array(|json| {
            let is_event = json.kind()? == Kind::Object;
            let piece = bytes(json)?.unwrap_or_default();
            let body = &mut self.answer().body;
            if is_event {
                body.extend_from_slice(b"data: ");
                body.extend_from_slice(&piece);
                body.extend_from_slice(b"\n\n");
            } else {
                body.extend_from_slice(&piece);
            }
            let end = body.len();
            self.piece(n).0 = Some(end);
            n += 1;
            Ok(())
        })
    }

    fn piece(&mut self, n: usize) -> &mut (Option<usize>, Option<f64>) {
        if self.pieces.len() <= n {
            self.pieces.resize(n + 1, (None, None));
        }
        &mut self.pieces[n]
    }

    /// Pairs of bytes and milliseconds.
    fn arrived(&mut self, json: &mut Json<'_>) -> Result<(), Malformed> {
        let (mut end, mut n) = (0_usize, 0);
        json.array(|json| {
            if json.kind()? != Kind::Array {
                return json.skip();
            }
            let mut pair = [None; 2];
            let mut slots = pair.iter_mut();
            json.array(|json| {
                let value = number(json.raw()?);
                if let Some(slot) = slots.next() {
                    *slot = value;
                }
                Ok(())
            })?;
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count of bytes")]
            let bytes = pair[0].unwrap_or(0.0).max(0.0) as usize;
            end = end.saturating_add(bytes);
            *self.piece(n) = (Some(end), pair[1]);
            n += 1;
            Ok(())
        })
    }

    /// Puts pieces and times together.
    fn finish(mut self) -> Option<WholeExchange> {
        let says_what = self.exchange.method.is_some() && self.exchange.path.is_some();
        if !self.has_body && !says_what {
            return None;
        }
        if let Some(answer) = &mut self.answer {
            let length = answer.body.len();
            answer.has_times = !self.pieces.is_empty() && self.pieces.iter().all(|(_, at)| at.is_some());
            let over = self
                .duration_ms
                .or_else(|| between_ms(self.exchange.sent, self.ended))
                .unwrap_or(0.0)
                .max(0.0);
            let pieces = self.pieces.iter().filter_map(|(end, at)| {
                Some(Arrived { end: (*end)?.min(length), at_ms: at.unwrap_or(over).max(0.0) })
            });
            answer.arrived = pieces.collect();
            if answer.arrived.last().is_none_or(|last| last.end < length) {
                answer.arrived.push(Arrived { end: length, at_ms: over });
            }
        }
        self.exchange.answer =
            self.answer.filter(|answer| answer.status.is_some() || !answer.body.is_empty());
        Some(self.exchange)
    }
}

fn between_ms(start: Timestamp, end: Timestamp) -> Option<f64> {
    #[expect(clippy::cast_precision_loss, reason = "lengths of minutes, in nanoseconds")]
    let between = |(start, end): (i64, i64)| end.saturating_sub(start) as f64 / 1e6;
    start.ns().zip(end.ns()).map(between)
}

#[cfg(test)]
mod tests;
