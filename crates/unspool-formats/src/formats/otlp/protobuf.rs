//! `ExportTraceServiceRequest` and `ExportLogsServiceRequest` in protobuf: one message, or several with their lengths before
//! them as a collector's file exporter writes them.
//!
//! Every span or log record is a record of its own, in its own bytes.

use super::emit::emit;
use super::logs::{LogRecord, emit_log};
use super::span::{Attrs, Link, Origin, Span, push_bytes_id};
use super::value::Value;
use super::wire::{Field, Wire, pair};
use crate::json::RawStr;
use crate::sink::Sink;
use std::borrow::Cow;
use unspool_model::{Code, Timestamp};

/// Reads a piece of a file: a field of an export, or an export with its length before it. False when it ends in the middle
/// of something or is no such message.
pub(super) fn read(piece: &[u8], out: &mut Sink<'_>) -> bool {
    let mut reader = Reader { span: Span::default(), origin: Origin::default() };
    // No field has the number 0, so that a small first byte begins a length.
    let is_framed = piece.first().is_some_and(|byte| *byte < 8);
    let message = if is_framed { piece.get(4..).unwrap_or_default() } else { piece };
    let announced = piece.first_chunk::<4>().map_or(0, |head| u32::from_be_bytes(*head) as usize);
    let is_whole = !is_framed || announced == message.len();
    reader.export(message, out) && is_whole
}

/// Field 1, a piece of bytes.
const TAG_OF_FIRST: u8 = 0x0A;

/// How sure it is that these first bytes are such a message; they may be cut anywhere.
pub(super) fn looks_like(head: &[u8]) -> bool {
    let message = if framed_head(head) { &head[4..] } else { head };
    let mut wire = Wire::new(message);
    let Some((1, Field::Bytes(resource))) = wire.next() else { return false };
    let mut found = false;
    let mut wire = Wire::new(resource);
    while let Some((number, field)) = wire.next() {
        match (number, field) {
            (1, Field::Bytes(resource)) => {
                if !(resource.is_empty() || matches!(Wire::new(resource).next(), Some((1..=3, _)))) {
                    return false;
                }
            }
            (2, Field::Bytes(scope)) => {
                let mut items = Wire::new(scope);
                while let Some((number, field)) = items.next() {
                    match (number, field) {
                        (1 | 3, Field::Bytes(_)) => {}
                        (2, Field::Bytes(item)) => return is_item(item),
                        _ => return false,
                    }
                }
                found = true;
            }
            (3, Field::Bytes(_)) => {}
            _ => return false,
        }
    }
    found
}

fn framed_head(head: &[u8]) -> bool {
    head.first() == Some(&0) && head.get(4) == Some(&TAG_OF_FIRST)
}

/// Whether a piece is a span or a log record: ids have their length, times their type. One whose ids have not is known by all of its fields.
fn is_item(item: &[u8]) -> bool {
    match Wire::new(item).next() {
        Some((1, Field::Bytes(trace))) => trace.len() == 16 || item.len() < 20 || is_span(item),
        Some((1 | 11, Field::Fixed64(_))) => true,
        Some((2, Field::Bytes(span))) => span.len() == 8 || is_span(item),
        Some(_) => is_span(item),
        None => false,
    }
}

/// Whether every field is one that a span has, and one of them a time.
fn is_span(item: &[u8]) -> bool {
    let mut is_timed = false;
    let mut wire = Wire::new(item);
    while let Some((number, field)) = wire.next() {
        match (number, field) {
            (1..=5 | 9 | 11 | 13 | 15, Field::Bytes(_)) | (6 | 10 | 12 | 14, Field::Varint(_)) => {}
            (7 | 8, Field::Fixed64(_)) => is_timed = true,
            (16, _) => {}
            _ => return false,
        }
    }
    is_timed
}

struct Reader<'a> {
    span: Span<'a>,
    origin: Origin<'a>,
}

impl<'a> Reader<'a> {
    fn export(&mut self, message: &'a [u8], out: &mut Sink<'_>) -> bool {
        let mut wire = Wire::new(message);
        let mut whole = true;
        while let Some((number, field)) = wire.next() {
            if let (1, Field::Bytes(resource)) = (number, field) {
                whole &= self.resource(resource, out);
            }
        }
        whole && !wire.torn
    }

    fn resource(&mut self, message: &'a [u8], out: &mut Sink<'_>) -> bool {
        self.origin = Origin::default();
        let mut ahead = Wire::new(message);
        while let Some((number, field)) = ahead.next() {
            if let (1, Field::Bytes(resource)) = (number, field) {
                attributes_of(resource, 1, &mut self.origin.resource);
                break;
            }
        }
        let mut wire = Wire::new(message);
        let mut whole = true;
        while let Some((number, field)) = wire.next() {
            if let (2, Field::Bytes(scope)) = (number, field) {
                whole &= self.scope(scope, wire.torn, out);
            }
        }
        whole && !wire.torn
    }

    fn scope(&mut self, message: &'a [u8], torn: bool, out: &mut Sink<'_>) -> bool {
        self.origin.scope = Cow::Borrowed("");
        let mut wire = Wire::new(message);
        while let Some((number, field)) = wire.next() {
            match (number, field) {
                (1, Field::Bytes(scope)) => {
                    if let Some((1, Field::Bytes(name))) = Wire::new(scope).next() {
                        self.origin.scope = RawStr::plain(name).decode();
                    }
                }
                // The last piece of a torn message is torn itself.
                (2, Field::Bytes(_)) if wire.torn => return false,
                (2, Field::Bytes(item)) if !self.item(item, out) => {
                    out.part(item);
                    out.reject_part(Code::NotProtobuf);
                }
                _ => {}
            }
        }
        !wire.torn && !torn
    }

    /// A span or a log record; what it is shows in the type of its first field.
    fn item(&mut self, item: &'a [u8], out: &mut Sink<'_>) -> bool {
        let is_log = matches!(Wire::new(item).next(), Some((1 | 11, Field::Fixed64(_))));
        if is_log { self.log(item, out) } else { self.span(item, out) }
    }

    fn span(&mut self, item: &'a [u8], out: &mut Sink<'_>) -> bool {
        let span = &mut self.span;
        span.clear();
        let mut wire = Wire::new(item);
        while let Some((number, field)) = wire.next() {
            match (number, field) {
                // Of any other length it is no id.
                (1, Field::Bytes(id)) if id.len() == 16 => push_bytes_id(id, &mut span.trace),
                (2, Field::Bytes(id)) if id.len() == 8 => push_bytes_id(id, &mut span.id),
                (4, Field::Bytes(id)) => push_bytes_id(id, &mut span.parent),
                (5, Field::Bytes(name)) => span.name = RawStr::plain(name).decode(),
                (7, Field::Fixed64(ns)) => span.start = time(ns),
                (8, Field::Fixed64(ns)) => span.end = time(ns),
                (9, Field::Bytes(attribute)) => push(attribute, &mut span.attrs),
                (11, Field::Bytes(event)) if span.exception.is_none() => {
                    let mut attrs = Attrs::default();
                    attributes_of(event, 3, &mut attrs);
                    span.exception = attrs.any(&["exception.message", "exception.type"]).copied();
                }
                (13, Field::Bytes(link)) => {
                    let mut own = Link::default();
                    let mut wire = Wire::new(link);
                    while let Some((number, field)) = wire.next() {
                        match (number, field) {
                            (1, Field::Bytes(bytes)) => push_bytes_id(bytes, &mut own.trace),
                            (2, Field::Bytes(bytes)) => push_bytes_id(bytes, &mut own.id),
                            (4, Field::Bytes(attribute)) => push(attribute, &mut own.attrs),
                            _ => {}
                        }
                    }
                    span.links.push(own);
                }
                (15, Field::Bytes(status)) => {
                    let mut wire = Wire::new(status);
                    while let Some((number, field)) = wire.next() {
                        match (number, field) {
                            (2, Field::Bytes(text)) => span.status_message = Some(RawStr::plain(text)),
                            (3, Field::Varint(code)) => span.failed = code == 2,
                            _ => {}
                        }
                    }
                }
                _ => {}
            }
        }
        if wire.torn {
            return false;
        }
        out.part(item);
        if self.span.has_ids() {
            emit(&mut self.span, &self.origin, out);
        } else {
            out.reject_part(Code::SpanIdBad);
        }
        true
    }

    fn log(&mut self, item: &'a [u8], out: &mut Sink<'_>) -> bool {
        let mut log = LogRecord::default();
        let mut wire = Wire::new(item);
        while let Some((number, field)) = wire.next() {
            match (number, field) {
                (1, Field::Fixed64(ns)) => log.at = time(ns),
                (11, Field::Fixed64(ns)) => log.observed = time(ns),
                (5, Field::Bytes(body)) => log.body = Value::read_proto(body),
                (6, Field::Bytes(attribute)) => push(attribute, &mut log.attrs),
                (9, Field::Bytes(id)) => push_bytes_id(id, &mut log.trace),
                (10, Field::Bytes(id)) => push_bytes_id(id, &mut log.span),
                (12, Field::Bytes(name)) => log.name = Some(RawStr::plain(name).decode()),
                _ => {}
            }
        }
        if wire.torn {
            return false;
        }
        out.part(item);
        emit_log(&log, &self.origin, out);
        true
    }
}

fn time(ns: u64) -> Timestamp {
    i64::try_from(ns).ok().filter(|ns| *ns > 0).map_or(Timestamp::NONE, Timestamp::from_ns)
}

fn push<'a>(attribute: &'a [u8], attrs: &mut Attrs<'a>) {
    let (key, value) = pair(attribute);
    if let Some(value) = Value::read_proto(value) {
        attrs.push(key, value);
    }
}

/// The attributes of a message that holds them in this field.
fn attributes_of<'a>(message: &'a [u8], wanted: u64, attrs: &mut Attrs<'a>) {
    let mut wire = Wire::new(message);
    while let Some((number, field)) = wire.next() {
        if let Field::Bytes(attribute) = field
            && number == wanted
        {
            push(attribute, attrs);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Decoder, Detail, best};
    use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
    use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
    use opentelemetry_proto::tonic::common::v1::{
        AnyValue, ArrayValue, InstrumentationScope, KeyValue, KeyValueList,
    };
    use opentelemetry_proto::tonic::resource::v1::Resource;
    use opentelemetry_proto::tonic::trace::v1::span::{Event, Link};
    use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span, Status};
    use proptest::prelude::*;
    use prost::Message;
    use unspool_model::Batch;

    const KEYS: &[&str] = &[
        "gen_ai.operation.name",
        "gen_ai.usage.input_tokens",
        "gen_ai.usage.output_tokens",
        "gen_ai.tool.call.id",
        "gen_ai.response.finish_reasons",
        "gen_ai.input.messages",
        "openinference.span.kind",
        "session.id",
    ];
    const WORDS: &[&str] = &["chat", "execute_tool", "invoke_agent", "LLM", "ä \"quoted\" \\ word\n", ""];

    fn any_value() -> impl Strategy<Value = AnyValue> {
        let leaf = prop_oneof![
            prop::sample::select(WORDS).prop_map(|word| Any::StringValue(word.into())),
            any::<i64>().prop_map(Any::IntValue),
            (0_i64..5000).prop_map(Any::IntValue),
            any::<bool>().prop_map(Any::BoolValue),
            (-1e6..1e6).prop_map(Any::DoubleValue),
        ];
        let value = leaf.prop_recursive(3, 12, 4, |inner| {
            let wrapped = inner.prop_map(|value| AnyValue { value: Some(value) });
            prop_oneof![
                prop::collection::vec(wrapped.clone(), 0..4)
                    .prop_map(|values| Any::ArrayValue(ArrayValue { values })),
                prop::collection::vec(wrapped, 0..4).prop_map(|values| {
                    let names = ["role", "content", "parts", "type"];
                    let pair = |(name, value): (&str, _)| KeyValue {
                        key: name.into(),
                        value: Some(value),
                        ..KeyValue::default()
                    };
                    Any::KvlistValue(KeyValueList {
                        values: names.into_iter().zip(values).map(pair).collect(),
                    })
                }),
            ]
        });
        value.prop_map(|value| AnyValue { value: Some(value) })
    }

    fn attributes() -> impl Strategy<Value = Vec<KeyValue>> {
        let one = (prop::sample::select(KEYS), any_value());
        prop::collection::vec(one, 0..6).prop_map(|pairs| {
            let pair = |(key, value): (&str, AnyValue)| KeyValue {
                key: key.into(),
                value: Some(value),
                ..KeyValue::default()
            };
            pairs.into_iter().map(pair).collect()
        })
    }

    fn span() -> impl Strategy<Value = Span> {
        let ids = (any::<[u8; 16]>(), any::<[u8; 8]>(), prop::option::of(any::<[u8; 8]>()));
        let times = (0_u64..4_000_000_000_000_000_000, 0_u64..1_000_000_000_000);
        (ids, times, prop::sample::select(WORDS), attributes(), 0_i32..3, any::<bool>()).prop_map(
            |((trace, own, parent), (start, took), name, attributes, code, extras)| Span {
                trace_id: trace.to_vec(),
                span_id: own.to_vec(),
                parent_span_id: parent.map(|id| id.to_vec()).unwrap_or_default(),
                name: name.into(),
                kind: 1,
                start_time_unix_nano: start,
                end_time_unix_nano: start + took,
                attributes: attributes.clone(),
                events: if extras { vec![Event { attributes, ..Event::default() }] } else { Vec::new() },
                links: if extras {
                    vec![Link { trace_id: trace.to_vec(), span_id: own.to_vec(), ..Link::default() }]
                } else {
                    Vec::new()
                },
                status: Some(Status { code, message: name.into() }),
                ..Span::default()
            },
        )
    }

    fn export(spans: Vec<Span>, resource: Vec<KeyValue>) -> ExportTraceServiceRequest {
        let scope = InstrumentationScope { name: "pydantic-ai".into(), ..InstrumentationScope::default() };
        let scope_spans = vec![ScopeSpans { scope: Some(scope), spans, ..ScopeSpans::default() }];
        let resource = Some(Resource { attributes: resource, ..Resource::default() });
        let resource_spans = vec![ResourceSpans { resource, scope_spans, ..ResourceSpans::default() }];
        ExportTraceServiceRequest { resource_spans }
    }

    /// Events without the places of their records.
    fn events(bytes: &[u8]) -> Vec<String> {
        let mut batch = Batch::default();
        let Some((format, sniff)) = best("spans", bytes) else { return Vec::new() };
        let mut decoder = Decoder::new(&mut batch, format, sniff, "spans", Detail::Full);
        decoder.push(bytes);
        decoder.finish();
        let text = |sym| batch.text.get(sym).to_string();
        let draw = |event: &unspool_model::Event| {
            let keys = batch.keys_of(event).iter();
            let keys: Vec<_> = keys.map(|key| format!("{:?} {:?}", { key.kind }, text(key.value))).collect();
            let attrs = batch.attrs_of(event).iter();
            let attrs: Vec<_> = attrs
                .map(|attr| {
                    let value =
                        if attr.name.is_text() { text(attr.sym()) } else { attr.number().to_string() };
                    format!("{:?} {value}", attr.name)
                })
                .collect();
            let (at, flags, usage) = (event.at, event.flags, batch.usage(event));
            format!("{:?} {} {at:?} {flags:?} {keys:?} {attrs:?} {usage:?}", event.kind, text(event.name))
        };
        batch.events.iter().map(draw).collect()
    }

    proptest! {
        #[test]
        fn the_reference_encodings_of_one_export_say_the_same(
            spans in prop::collection::vec(span(), 1..5),
            resource in attributes(),
        ) {
            let count = spans.len();
            let export = export(spans, resource);
            let json = serde_json::to_vec(&export).expect("an export is JSON");
            let from_protobuf = events(&export.encode_to_vec());
            prop_assert!(from_protobuf.len() >= count, "no span is lost");
            prop_assert_eq!(from_protobuf, events(&json));
        }
    }
}
