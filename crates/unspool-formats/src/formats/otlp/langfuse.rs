//! A trace as Langfuse exports it: `{trace, observations}`, or a trace object with its observations inside.
//!
//! What Langfuse keeps in columns becomes the attributes its own instrumentation would have written, and the attributes it
//! puts away in `metadata` come back, so that the dialects read both.

use super::emit::emit;
use super::json::{attributes, each, id, scope};
use super::object::moment;
use super::span::{Origin, Span};
use super::value::Value;
use crate::json::{Json, Kind, Malformed, RawStr};
use crate::sink::Sink;
use std::borrow::Cow;

/// What a trace says about all its observations.
#[derive(Clone, Copy, Default)]
struct Trace<'a> {
    id: RawStr<'a>,
    name: RawStr<'a>,
    session: RawStr<'a>,
}

/// Reads one text: a trace, or a list of them.
pub(super) fn read(json: &mut Json<'_>, out: &mut Sink<'_>) -> Result<(), Malformed> {
    match json.kind()? {
        Kind::Array => each(json, |json| object(json, out)),
        _ => object(json, out),
    }
}

fn object(json: &mut Json<'_>, out: &mut Sink<'_>) -> Result<(), Malformed> {
    let mut trace = Trace::default();
    let mut holds = false;
    // The trace may stand behind its observations.
    let _ = json.clone().object(|json, key| {
        holds |= key == b"observations";
        match key {
            b"trace" if json.kind()? == Kind::Object => json.object(|json, key| fact(json, key, &mut trace)),
            _ => fact(json, key, &mut trace),
        }
    });
    if !holds {
        return observation(json, &Trace::default(), out);
    }
    json.object(|json, key| match key {
        b"observations" => each(json, |json| observation(json, &trace, out)),
        _ => json.skip(),
    })
}

fn fact<'a>(json: &mut Json<'a>, key: &[u8], trace: &mut Trace<'a>) -> Result<(), Malformed> {
    let slot = match key {
        b"id" => &mut trace.id,
        b"name" => &mut trace.name,
        b"sessionId" => &mut trace.session,
        _ => return json.skip(),
    };
    *slot = json.string()?.unwrap_or_default();
    Ok(())
}

/// Columns that keep their meaning, and the attributes they stand for.
fn column(key: &[u8]) -> Option<&'static [u8]> {
    Some(match key {
        b"type" => b"langfuse.observation.type",
        b"model" => b"langfuse.observation.model.name",
        b"usageDetails" => b"langfuse.observation.usage_details",
        b"level" => b"langfuse.observation.level",
        b"statusMessage" => b"langfuse.observation.status_message",
        b"input" => b"langfuse.observation.input",
        b"output" => b"langfuse.observation.output",
        _ => return None,
    })
}

fn observation<'a>(json: &mut Json<'a>, trace: &Trace<'a>, out: &mut Sink<'_>) -> Result<(), Malformed> {
    let start = json.mark();
    let mut span = Span::default();
    let mut metadata: Option<Value<'a>> = None;
    json.object(|json, key| {
        match key {
            b"id" => id(json, 8, &mut span.id)?,
            b"traceId" => id(json, 16, &mut span.trace)?,
            b"parentObservationId" => id(json, 8, &mut span.parent)?,
            b"name" => span.name = json.string()?.unwrap_or_default().decode(),
            b"startTime" => span.start = moment(json)?,
            b"endTime" => span.end = moment(json)?,
            b"metadata" => metadata = Value::read(json)?,
            b"sessionId" => {
                if let Some(session) = json.string()?.filter(|session| !session.is_empty()) {
                    span.attrs.push(b"langfuse.session.id", Value::Text(session));
                }
            }
            _ => match column(key) {
                Some(name) => {
                    let value = Value::read(json)?.filter(|value| !value.is_empty());
                    if let Some(value) = value {
                        span.failed |= key == b"level" && value.text() == "ERROR";
                        span.attrs.push(name, value);
                    }
                }
                None => json.skip()?,
            },
        }
        Ok(())
    })?;
    out.part(json.since(start));
    finish(span, metadata, trace, out);
    Ok(())
}

fn finish<'a>(mut span: Span<'a>, metadata: Option<Value<'a>>, trace: &Trace<'a>, out: &mut Sink<'_>) {
    if span.trace.is_empty() {
        super::span::push_id(&trace.id.decode(), 16, &mut span.trace);
    }
    for (name, value) in [(&b"langfuse.session.id"[..], trace.session), (b"langfuse.trace.name", trace.name)]
    {
        if !value.is_empty() {
            span.attrs.push(name, Value::Text(value));
        }
    }
    // Attributes lie in an object, or in JSON in a string.
    let json: Cow<'_, [u8]> = metadata.map(|value| value.json()).unwrap_or_default();
    let mut origin = Origin::default();
    with_metadata(span, &mut origin, &json, out);
}

fn with_metadata<'a>(mut span: Span<'a>, origin: &mut Origin<'a>, json: &'a [u8], out: &mut Sink<'_>) {
    let mut reader = Json::new(json);
    if reader.kind() == Ok(Kind::Object) {
        let _ = reader.object(|json, key| match key {
            b"attributes" => attributes(json, &mut span.attrs),
            b"resourceAttributes" => attributes(json, &mut origin.resource),
            b"scope" => scope(json, &mut origin.scope),
            _ => json.skip(),
        });
    }
    emit(&mut span, origin, out);
}
