//! A span or log record of protobuf as JSON, for people and for those who look for words.
//!
//! In: the bytes of a record. Out: its fields by the names OTLP has for them in JSON, attributes as one object with plain values. Never here:
//! what an attribute means. Fields that OTLP does not name are left out; the record's own bytes have them.

use super::span::push_bytes_id;
use super::value::{push_any, push_text};
use super::wire::{Field, Wire, pair};
use crate::json::RawStr;

/// What a field holds.
enum Holds {
    Id,
    Text,
    Number,
    /// A time in nanoseconds: more digits than some readers of JSON keep of a number.
    Time,
    Value,
    /// All fields of the number together are one object.
    Attributes,
    Message(&'static [Known]),
    Messages(&'static [Known]),
}

/// A field that OTLP names.
struct Known(u64, &'static str, Holds);

static SPAN: &[Known] = &[
    Known(1, "traceId", Holds::Id),
    Known(2, "spanId", Holds::Id),
    Known(4, "parentSpanId", Holds::Id),
    Known(3, "traceState", Holds::Text),
    Known(16, "flags", Holds::Number),
    Known(5, "name", Holds::Text),
    Known(6, "kind", Holds::Number),
    Known(7, "startTimeUnixNano", Holds::Time),
    Known(8, "endTimeUnixNano", Holds::Time),
    Known(9, "attributes", Holds::Attributes),
    Known(10, "droppedAttributesCount", Holds::Number),
    Known(11, "events", Holds::Messages(EVENT)),
    Known(12, "droppedEventsCount", Holds::Number),
    Known(13, "links", Holds::Messages(LINK)),
    Known(14, "droppedLinksCount", Holds::Number),
    Known(15, "status", Holds::Message(STATUS)),
];

static EVENT: &[Known] = &[
    Known(1, "timeUnixNano", Holds::Time),
    Known(2, "name", Holds::Text),
    Known(3, "attributes", Holds::Attributes),
    Known(4, "droppedAttributesCount", Holds::Number),
];

static LINK: &[Known] = &[
    Known(1, "traceId", Holds::Id),
    Known(2, "spanId", Holds::Id),
    Known(3, "traceState", Holds::Text),
    Known(4, "attributes", Holds::Attributes),
    Known(5, "droppedAttributesCount", Holds::Number),
    Known(6, "flags", Holds::Number),
];

static STATUS: &[Known] = &[Known(2, "message", Holds::Text), Known(3, "code", Holds::Number)];

static LOG: &[Known] = &[
    Known(1, "timeUnixNano", Holds::Time),
    Known(11, "observedTimeUnixNano", Holds::Time),
    Known(2, "severityNumber", Holds::Number),
    Known(3, "severityText", Holds::Text),
    Known(12, "eventName", Holds::Text),
    Known(5, "body", Holds::Value),
    Known(6, "attributes", Holds::Attributes),
    Known(7, "droppedAttributesCount", Holds::Number),
    Known(8, "flags", Holds::Number),
    Known(9, "traceId", Holds::Id),
    Known(10, "spanId", Holds::Id),
];

/// A record as JSON; `None` when it is neither a span nor a log record in protobuf.
pub(crate) fn plain(record: &[u8]) -> Option<String> {
    let known = match Wire::new(record).next()? {
        (1 | 11, Field::Fixed64(_)) => LOG,
        (1, Field::Bytes(trace)) if trace.len() == 16 => SPAN,
        (2, Field::Bytes(span)) if span.len() == 8 => SPAN,
        _ => return None,
    };
    let mut json = Vec::with_capacity(record.len() * 5 / 4);
    push_message(record, known, &mut json)?;
    String::from_utf8(json).ok()
}

/// `None` when the message is torn.
fn push_message(message: &[u8], known: &[Known], out: &mut Vec<u8>) -> Option<()> {
    let mut fields: Vec<(u64, Field<'_>)> = Vec::new();
    let mut wire = Wire::new(message);
    while let Some(field) = wire.next() {
        fields.push(field);
    }
    if wire.torn {
        return None;
    }
    out.push(b'{');
    let mut is_first = true;
    for Known(number, name, holds) in known {
        let mut of_number = fields.iter().filter(|(found, _)| found == number).map(|(_, field)| field);
        let Some(field) = of_number.clone().next_back() else { continue };
        if !std::mem::replace(&mut is_first, false) {
            out.push(b',');
        }
        push_text(name, out);
        out.push(b':');
        match holds {
            Holds::Attributes => {
                push_all(&mut of_number, (b'{', b'}'), out, |attribute, out| {
                    let (key, value) = pair(attribute);
                    push_text(&RawStr::plain(key).decode(), out);
                    out.push(b':');
                    push_any(value, out);
                    Some(())
                })?;
            }
            Holds::Messages(known) => {
                push_all(&mut of_number, (b'[', b']'), out, |one, out| push_message(one, known, out))?;
            }
            _ => push_field(field, holds, out)?,
        }
    }
    out.push(b'}');
    Some(())
}

fn push_all<'a>(
    fields: &mut dyn Iterator<Item = &Field<'a>>,
    (open, close): (u8, u8),
    out: &mut Vec<u8>,
    push: impl Fn(&'a [u8], &mut Vec<u8>) -> Option<()>,
) -> Option<()> {
    out.push(open);
    let bytes = fields.filter_map(|field| if let Field::Bytes(bytes) = field { Some(*bytes) } else { None });
    for (n, one) in bytes.enumerate() {
        if n > 0 {
            out.push(b',');
        }
        push(one, out)?;
    }
    out.push(close);
    Some(())
}

fn push_field(field: &Field<'_>, holds: &Holds, out: &mut Vec<u8>) -> Option<()> {
    let number = match field {
        Field::Varint(number) | Field::Fixed64(number) => *number,
        Field::Fixed32(number) => u64::from(*number),
        Field::Bytes(_) => 0,
    };
    match (holds, field) {
        (Holds::Time, _) => push_text(&number.to_string(), out),
        (Holds::Id, Field::Bytes(id)) => {
            let mut hex = String::new();
            push_bytes_id(id, &mut hex);
            push_text(&hex, out);
        }
        (Holds::Text, Field::Bytes(text)) => push_text(&RawStr::plain(text).decode(), out),
        (Holds::Value, Field::Bytes(value)) => push_any(value, out),
        (Holds::Message(known), Field::Bytes(message)) => push_message(message, known, out)?,
        _ => out.extend_from_slice(number.to_string().as_bytes()),
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::plain;
    use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
    use opentelemetry_proto::tonic::common::v1::{AnyValue, ArrayValue, KeyValue};
    use opentelemetry_proto::tonic::logs::v1::LogRecord;
    use opentelemetry_proto::tonic::trace::v1::span::{Event, Link};
    use opentelemetry_proto::tonic::trace::v1::{Span, Status};
    use proptest::prelude::*;
    use prost::Message;

    fn value(value: Any) -> AnyValue {
        AnyValue { value: Some(value) }
    }

    fn pair(key: &str, held: Any) -> KeyValue {
        KeyValue { key: key.into(), value: Some(value(held)), ..KeyValue::default() }
    }

    #[test]
    fn a_span_says_what_it_says_in_json() {
        let list = ArrayValue { values: vec![value(Any::StringValue("stop \"now\"\n".into()))] };
        let span = Span {
            trace_id: vec![0xab; 16],
            span_id: vec![0x01; 8],
            name: "chat".into(),
            start_time_unix_nano: 1_790_000_000_123_456_789,
            attributes: vec![
                pair("gen_ai.usage.input_tokens", Any::IntValue(-7)),
                pair("reasons", Any::ArrayValue(list)),
                pair("rate", Any::DoubleValue(0.5)),
                pair("said", Any::StringValue("[\"a\"]".into())),
            ],
            events: vec![Event { name: "exception".into(), ..Event::default() }],
            links: vec![Link { span_id: vec![0x02; 8], ..Link::default() }],
            status: Some(Status { code: 2, message: "too slow".into() }),
            ..Span::default()
        };
        let told: serde_json::Value = serde_json::from_str(&plain(&span.encode_to_vec()).unwrap()).unwrap();
        let expected = serde_json::json!({
            "traceId": "abababababababababababababababab",
            "spanId": "0101010101010101",
            "name": "chat",
            "startTimeUnixNano": "1790000000123456789",
            "attributes": {
                "gen_ai.usage.input_tokens": -7, "reasons": ["stop \"now\"\n"], "rate": 0.5, "said": "[\"a\"]",
            },
            "events": [{"name": "exception"}],
            "links": [{"spanId": "0202020202020202"}],
            "status": {"message": "too slow", "code": 2},
        });
        assert_eq!(told, expected);
    }

    #[test]
    fn a_log_record_says_what_it_says_in_json() {
        let log = LogRecord {
            time_unix_nano: 5,
            event_name: "codex.tool".into(),
            body: Some(value(Any::StringValue("done".into()))),
            attributes: vec![pair("ok", Any::BoolValue(true))],
            ..LogRecord::default()
        };
        let told = plain(&log.encode_to_vec()).unwrap();
        assert_eq!(
            told,
            r#"{"timeUnixNano":"5","eventName":"codex.tool","body":"done","attributes":{"ok":true}}"#
        );
    }

    proptest! {
        #[test]
        fn what_is_torn_or_something_else_is_none_or_whole_json(
            head in prop::sample::select(vec![vec![], vec![0x12, 8, 1, 2, 3, 4, 5, 6, 7, 8], vec![9, 1, 2, 3, 4, 5, 6, 7, 8]]),
            bytes in prop::collection::vec(any::<u8>(), 0..80),
        ) {
            if let Some(told) = plain(&[head, bytes].concat()) {
                prop_assert!(serde_json::from_str::<serde_json::Value>(&told).is_ok(), "{told}");
            }
        }
    }
}
