//! An exchange as it is kept: docs/proxy.md says what each field is.

use super::redact::{hide, redact};
use super::unpack::unpack;
use axum::http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use axum::http::{HeaderName, HeaderValue};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::time::{Duration, SystemTime};
use unspool_model::Timestamp;
use unspool_proxy::{Body, BothWays, Cut, Failure, Response, Secrets, Sent, Way, Went};
use unspool_redact::Masker;

/// What is said of a body of pairs of names and values.
const FORM: &str = "application/x-www-form-urlencoded";

/// Writes envelopes.
#[derive(Default)]
pub(super) struct Writer {
    /// Masks what looks like a secret in bodies, if that is wanted.
    pub(super) masker: Option<Masker>,
    /// Bodies that could not be unpacked.
    pub(super) still_packed: u64,
}

impl Writer {
    /// A request that has been sent.
    pub(super) fn sent(&mut self, sent: &Sent, out: &mut Vec<u8>) {
        self.open(sent, out);
        out.push(b'}');
    }

    /// An exchange that is over.
    pub(super) fn ended(
        &mut self,
        sent: &Sent,
        response: Option<&Response>,
        failure: Option<&Failure>,
        out: &mut Vec<u8>,
    ) {
        self.open(sent, out);
        if let Some(response) = response {
            self.response(sent, response, out);
        }
        if let Some(Failure { sort, message, at }) = failure {
            out.extend_from_slice(b",\"error\":{");
            field(out, "type", sort);
            out.push(b',');
            field(out, "message", message);
            out.extend_from_slice(b"},");
            field(out, "ended_at", &moment(sent.received, *at).to_string());
        }
        out.push(b'}');
    }

    fn open(&mut self, sent: &Sent, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"unspool\":\"exchange\",");
        field(out, "exchange", &sent.exchange);
        out.push(b',');
        field(out, "upstream", &sent.upstream);
        if let Some(socket) = &sent.socket {
            out.push(b',');
            field(out, "socket", socket);
        }
        if let Some(run) = &sent.run {
            out.push(b',');
            field(out, "run", run);
        }
        out.extend_from_slice(b",\"request\":{");
        field(out, "timestamp", &moment(sent.received, Duration::ZERO).to_string());
        out.push(b',');
        field(out, "method", sent.method.as_str());
        out.push(b',');
        field(out, "path", &sent.path);
        headers(out, "headers", &sent.headers);
        self.body(out, &sent.body, &sent.headers, &sent.secrets);
        out.push(b'}');
    }

    fn response(&mut self, sent: &Sent, response: &Response, out: &mut Vec<u8>) {
        out.extend_from_slice(b",\"response\":{");
        field(out, "timestamp", &moment(sent.received, response.ended_at).to_string());
        if let Some(status) = response.status {
            let head = format!(",\"status\":{},\"head_ms\":{}", status.as_u16(), ms(response.head_at));
            out.extend_from_slice(head.as_bytes());
            headers(out, "headers", &response.headers);
        }
        let lengths = self.body(out, &response.body, &response.headers, &sent.secrets);
        arrived(out, &response.body, &lengths);
        if !response.trailers.is_empty() {
            headers(out, "trailers", &response.trailers);
        }
        if let Some(cut) = response.cut {
            out.push(b',');
            let why = match cut {
                Cut::Client => "client",
                Cut::Upstream => "upstream",
                Cut::Silence => "silence",
                Cut::Stopped => "stopped",
            };
            field(out, "cut", why);
        }
        if let Some(went) = &response.socket {
            socket(out, went);
        }
        out.push(b'}');
    }

    /// Writes a body in the form that fits it; gives the length of each piece as it is kept.
    fn body(
        &mut self,
        out: &mut Vec<u8>,
        body: &Body,
        headers: &[(HeaderName, HeaderValue)],
        secrets: &Secrets,
    ) -> Vec<usize> {
        let mut lengths: Vec<usize> = body.pieces.iter().map(|piece| piece.len).collect();
        let mut bytes = Cow::Borrowed(body.bytes.as_slice());
        let said = |wanted: &HeaderName| {
            let found = headers.iter().find(|(name, _)| name == wanted);
            found.and_then(|(_, value)| value.to_str().ok()).map(str::trim)
        };
        let packing = said(&CONTENT_ENCODING);
        let packing = packing.filter(|packing| !packing.is_empty() && *packing != "identity");
        let mut is_packed = false;
        if let Some(packing) = packing.filter(|_| !body.bytes.is_empty()) {
            out.push(b',');
            field(out, "encoding", packing);
            if let Some((unpacked, each)) = unpack(&packing.to_ascii_lowercase(), body.each_piece()) {
                (bytes, lengths) = (Cow::Owned(unpacked), each);
            } else {
                self.still_packed += 1;
                is_packed = true;
            }
        }
        if let Some(safe) = hide(secrets, &bytes) {
            bytes = Cow::Owned(safe);
        }
        let kind = said(&CONTENT_TYPE).and_then(|kind| kind.get(..FORM.len()));
        let is_form = kind.is_some_and(|kind| kind.eq_ignore_ascii_case(FORM));
        if let Some(safe) = self.masker.as_mut().and_then(|masker| redact(masker, &bytes, is_form)) {
            bytes = Cow::Owned(safe);
        }
        write_body(out, &bytes, is_packed);
        if body.left_out > 0 {
            out.extend_from_slice(format!(",\"left_out_bytes\":{}", body.left_out).as_bytes());
        }
        lengths
    }
}

fn write_body(out: &mut Vec<u8>, bytes: &[u8], is_packed: bool) {
    if bytes.is_empty() {
        return;
    }
    let text = std::str::from_utf8(bytes).ok().filter(|_| !is_packed);
    let is_object = bytes.trim_ascii_start().starts_with(b"{");
    match text {
        Some(text) if is_object && serde_json::from_str::<&RawValue>(text).is_ok() => {
            out.extend_from_slice(b",\"body\":");
            // Line ends stand between the parts of JSON only, never in them; an envelope is one line.
            out.extend(bytes.iter().map(|byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { *byte }));
        }
        Some(text) => {
            out.push(b',');
            field(out, "text", text);
        }
        None => {
            out.push(b',');
            field(out, "base64", &STANDARD.encode(bytes));
        }
    }
}

/// When the pieces came, and how many bytes of what is kept each was.
fn arrived(out: &mut Vec<u8>, body: &Body, lengths: &[usize]) {
    if body.pieces.is_empty() {
        return;
    }
    out.extend_from_slice(b",\"arrived\":[");
    for (n, (piece, length)) in body.pieces.iter().zip(lengths).enumerate() {
        let comma = if n > 0 { "," } else { "" };
        out.extend_from_slice(format!("{comma}[{length},{}]", ms(piece.at)).as_bytes());
    }
    out.push(b']');
}

/// What went each way after both sides had agreed to speak another protocol.
fn socket(out: &mut Vec<u8>, went: &BothWays) {
    let each = Way::ALL.iter().zip(went).map(|(way, Went { bytes, messages, unread })| {
        format!("\"{}\":{{\"bytes\":{bytes},\"messages\":{messages},\"unread\":{unread}}}", way.name())
    });
    let each: Vec<String> = each.collect();
    out.extend_from_slice(format!(",\"socket\":{{{}}}", each.join(",")).as_bytes());
}

fn headers(out: &mut Vec<u8>, name: &str, headers: &[(HeaderName, HeaderValue)]) {
    out.push(b',');
    string(out, name);
    out.extend_from_slice(b":[");
    for (n, (name, value)) in headers.iter().enumerate() {
        if n > 0 {
            out.push(b',');
        }
        out.push(b'[');
        string(out, name.as_str());
        out.push(b',');
        string(out, &String::from_utf8_lossy(value.as_bytes()));
        out.push(b']');
    }
    out.push(b']');
}

fn field(out: &mut Vec<u8>, name: &str, value: &str) {
    string(out, name);
    out.push(b':');
    string(out, value);
}

fn string(out: &mut Vec<u8>, text: &str) {
    // Writing a string into memory does not fail.
    drop(serde_json::to_writer(out, text));
}

/// Tenths of a millisecond are enough to send it again as it came.
fn ms(since: Duration) -> String {
    let tenths = since.as_micros() / 100;
    format!("{}.{}", tenths / 10, tenths % 10)
}

fn moment(received: SystemTime, later: Duration) -> Timestamp {
    let since = received.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default() + later;
    Timestamp::from_ns(i64::try_from(since.as_nanos()).unwrap_or(i64::MAX))
}
