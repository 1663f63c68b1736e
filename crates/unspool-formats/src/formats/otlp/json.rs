//! `ExportTraceServiceRequest` and `ExportLogsServiceRequest` as JSON: an object, a list of them, or one per line.
//!
//! Ids in hexadecimal digits or base64, enumerations as words or numbers, numbers as numbers or strings, names in camel or
//! snake case. Every span or log record is a record of its own.

use super::emit::emit;
use super::logs::{LogRecord, emit_log};
use super::span::{Attrs, Link, Origin, Span, push_id};
use super::value::Value;
use crate::json::{Json, Kind, Malformed};
use crate::sink::Sink;
use std::borrow::Cow;
use unspool_model::{Code, Timestamp};

/// Reads one text: an export, or a list of them.
pub(super) fn read(json: &mut Json<'_>, out: &mut Sink<'_>) -> Result<(), Malformed> {
    let mut reader = Reader { span: Span::default(), origin: Origin::default() };
    match json.kind()? {
        Kind::Array => records(json, out, |json, out| reader.export(json, out)),
        _ => reader.export(json, out),
    }
}

struct Reader<'a> {
    span: Span<'a>,
    origin: Origin<'a>,
}

impl<'a> Reader<'a> {
    fn export(&mut self, json: &mut Json<'a>, out: &mut Sink<'_>) -> Result<(), Malformed> {
        json.object(|json, key| match key {
            b"resourceSpans" | b"resource_spans" | b"resourceLogs" | b"resource_logs" => {
                records(json, out, |json, out| self.resource(json, out))
            }
            _ => json.skip(),
        })
    }

    fn resource(&mut self, json: &mut Json<'a>, out: &mut Sink<'_>) -> Result<(), Malformed> {
        self.origin = Origin::default();
        let mut known = false;
        let ahead = json.clone();
        json.object(|json, key| match key {
            b"resource" => {
                known = true;
                resource(json, &mut self.origin.resource)
            }
            b"scopeSpans"
            | b"scope_spans"
            | b"instrumentationLibrarySpans"
            | b"scopeLogs"
            | b"scope_logs" => {
                if !std::mem::replace(&mut known, true) {
                    // The resource may stand behind what it holds.
                    let _ = ahead.clone().object(|json, key| match key {
                        b"resource" => resource(json, &mut self.origin.resource),
                        _ => json.skip(),
                    });
                }
                records(json, out, |json, out| self.scope(json, out))
            }
            _ => json.skip(),
        })
    }

    fn scope(&mut self, json: &mut Json<'a>, out: &mut Sink<'_>) -> Result<(), Malformed> {
        self.origin.scope = Cow::Borrowed("");
        let mut known = false;
        let ahead = json.clone();
        json.object(|json, key| match key {
            b"scope" | b"instrumentationLibrary" => {
                known = true;
                scope(json, &mut self.origin.scope)
            }
            b"spans" | b"logRecords" | b"log_records" => {
                if !std::mem::replace(&mut known, true) {
                    let _ = ahead.clone().object(|json, key| match key {
                        b"scope" | b"instrumentationLibrary" => scope(json, &mut self.origin.scope),
                        _ => json.skip(),
                    });
                }
                let logs = key != b"spans";
                records(json, out, |json, out| if logs { self.log(json, out) } else { self.span(json, out) })
            }
            _ => json.skip(),
        })
    }

    fn span(&mut self, json: &mut Json<'a>, out: &mut Sink<'_>) -> Result<(), Malformed> {
        let start = json.mark();
        let span = &mut self.span;
        span.clear();
        json.object(|json, key| {
            match key {
                b"traceId" | b"trace_id" => id(json, 16, &mut span.trace)?,
                b"spanId" | b"span_id" => id(json, 8, &mut span.id)?,
                b"parentSpanId" | b"parent_span_id" => id(json, 8, &mut span.parent)?,
                b"name" => span.name = json.string()?.unwrap_or_default().decode(),
                b"startTimeUnixNano" | b"start_time_unix_nano" => span.start = nanoseconds(json)?,
                b"endTimeUnixNano" | b"end_time_unix_nano" => span.end = nanoseconds(json)?,
                b"attributes" => attributes(json, &mut span.attrs)?,
                b"status" => status(json, span)?,
                b"events" => each(json, |json| event(json, span))?,
                b"links" => each(json, |json| link(json, span))?,
                _ => json.skip()?,
            }
            Ok(())
        })?;
        out.part(json.since(start));
        if self.span.has_ids() {
            emit(&mut self.span, &self.origin, out);
        } else {
            out.reject_part(Code::SpanIdBad);
        }
        Ok(())
    }

    fn log(&mut self, json: &mut Json<'a>, out: &mut Sink<'_>) -> Result<(), Malformed> {
        let start = json.mark();
        let mut log = LogRecord::default();
        json.object(|json, key| {
            match key {
                b"timeUnixNano" | b"time_unix_nano" => log.at = nanoseconds(json)?,
                b"observedTimeUnixNano" | b"observed_time_unix_nano" => log.observed = nanoseconds(json)?,
                b"traceId" | b"trace_id" => id(json, 16, &mut log.trace)?,
                b"spanId" | b"span_id" => id(json, 8, &mut log.span)?,
                b"eventName" | b"event_name" => log.name = json.string()?.map(crate::json::RawStr::decode),
                b"body" => log.body = Value::read_otlp(json)?,
                b"attributes" => attributes(json, &mut log.attrs)?,
                _ => json.skip()?,
            }
            Ok(())
        })?;
        out.part(json.since(start));
        emit_log(&log, &self.origin, out);
        Ok(())
    }
}

/// Calls `item` for every object of a list that records lie in. Anything else there is a record that cannot be read; nothing at all is an empty list.
fn records<'a, 'b>(
    json: &mut Json<'a>,
    out: &mut Sink<'b>,
    mut item: impl FnMut(&mut Json<'a>, &mut Sink<'b>) -> Result<(), Malformed>,
) -> Result<(), Malformed> {
    match json.kind()? {
        Kind::Array => json.array(|json| match json.kind()? {
            Kind::Object => item(json, out),
            _ => reject(json, out),
        }),
        Kind::Null => json.skip(),
        _ => reject(json, out),
    }
}

fn reject(json: &mut Json<'_>, out: &mut Sink<'_>) -> Result<(), Malformed> {
    let start = json.mark();
    json.skip()?;
    out.part(json.since(start));
    out.reject_part(Code::NotAnObject);
    Ok(())
}

/// Calls `item` for every object of a list; anything else is passed over.
pub(super) fn each<'a>(
    json: &mut Json<'a>,
    mut item: impl FnMut(&mut Json<'a>) -> Result<(), Malformed>,
) -> Result<(), Malformed> {
    if json.kind()? != Kind::Array {
        return json.skip();
    }
    json.array(|json| if json.kind()? == Kind::Object { item(json) } else { json.skip() })
}

fn resource<'a>(json: &mut Json<'a>, attrs: &mut Attrs<'a>) -> Result<(), Malformed> {
    if json.kind()? != Kind::Object {
        return json.skip();
    }
    json.object(|json, key| if key == b"attributes" { attributes(json, attrs) } else { json.skip() })
}

pub(super) fn scope<'a>(json: &mut Json<'a>, slot: &mut Cow<'a, str>) -> Result<(), Malformed> {
    if json.kind()? != Kind::Object {
        return json.skip();
    }
    json.object(|json, key| {
        if key == b"name" {
            *slot = json.string()?.unwrap_or_default().decode();
            return Ok(());
        }
        json.skip()
    })
}

/// An id as a string or as one whole number.
pub(super) fn id(json: &mut Json<'_>, len: usize, slot: &mut String) -> Result<(), Malformed> {
    match json.kind()? {
        Kind::String => push_id(&json.string()?.unwrap_or_default().decode(), len, slot),
        Kind::Number => super::span::push_number_id(json.raw()?, len, slot),
        _ => json.skip()?,
    }
    Ok(())
}

/// Nanoseconds since the epoch, as a number or a string; 0 is no time.
pub(super) fn nanoseconds(json: &mut Json<'_>) -> Result<Timestamp, Malformed> {
    let text = match json.kind()? {
        Kind::String => json.string()?.unwrap_or_default().raw,
        Kind::Number => json.raw()?,
        _ => return json.skip().map(|()| Timestamp::NONE),
    };
    let ns = std::str::from_utf8(text).ok().and_then(|text| text.trim().parse::<i64>().ok());
    Ok(ns.filter(|ns| *ns > 0).map_or(Timestamp::NONE, Timestamp::from_ns))
}

/// Attributes as a list of keys and values, or as a plain object.
pub(super) fn attributes<'a>(json: &mut Json<'a>, attrs: &mut Attrs<'a>) -> Result<(), Malformed> {
    if json.kind()? == Kind::Object {
        return json.object(|json, key| {
            if let Some(value) = Value::read(json)? {
                attrs.push(key, value);
            }
            Ok(())
        });
    }
    each(json, |json| {
        let (mut name, mut value) = (None, None);
        json.object(|json, key| {
            match key {
                b"key" => name = json.string()?,
                b"value" => value = Value::read_otlp(json)?,
                _ => json.skip()?,
            }
            Ok(())
        })?;
        if let (Some(name), Some(value)) = (name, value) {
            attrs.push(name.raw, value);
        }
        Ok(())
    })
}

pub(super) fn status<'a>(json: &mut Json<'a>, span: &mut Span<'a>) -> Result<(), Malformed> {
    if json.kind()? != Kind::Object {
        span.failed = is_error(json.raw()?);
        return Ok(());
    }
    json.object(|json, key| {
        match key {
            b"code" | b"status_code" | b"statusCode" => span.failed = is_error(json.raw()?),
            b"message" | b"description" => span.status_message = json.string()?,
            _ => json.skip()?,
        }
        Ok(())
    })
}

pub(super) fn is_error(code: &[u8]) -> bool {
    matches!(code, b"2" | b"\"2\"" | b"\"STATUS_CODE_ERROR\"" | b"\"ERROR\"" | b"\"Error\"" | b"\"error\"")
}

pub(super) fn event<'a>(json: &mut Json<'a>, span: &mut Span<'a>) -> Result<(), Malformed> {
    let mut attrs = Attrs::default();
    json.object(|json, key| {
        if key == b"attributes" {
            return attributes(json, &mut attrs);
        }
        json.skip()
    })?;
    if span.exception.is_none() {
        span.exception = attrs.any(&["exception.message", "exception.type"]).copied();
    }
    Ok(())
}

pub(super) fn link<'a>(json: &mut Json<'a>, span: &mut Span<'a>) -> Result<(), Malformed> {
    let mut link = Link::default();
    json.object(|json, key| match key {
        b"traceId" | b"trace_id" => id(json, 16, &mut link.trace),
        b"spanId" | b"span_id" => id(json, 8, &mut link.id),
        b"attributes" => attributes(json, &mut link.attrs),
        b"context" | b"spanContext" if json.kind()? == Kind::Object => json.object(|json, key| match key {
            b"traceId" | b"trace_id" => id(json, 16, &mut link.trace),
            b"spanId" | b"span_id" => id(json, 8, &mut link.id),
            _ => json.skip(),
        }),
        _ => json.skip(),
    })?;
    if !link.id.is_empty() {
        span.links.push(link);
    }
    Ok(())
}
