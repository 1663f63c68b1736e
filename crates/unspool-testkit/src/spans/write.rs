//! Spans as exporters write them: OTLP in JSON, one export per line, and in protobuf.

use super::{SpanData, SpanValue};
use serde_json::json;

/// Exports of up to `batch` spans, one per line.
pub fn as_json(spans: &[SpanData], batch: usize) -> Vec<u8> {
    let mut out = Vec::new();
    for part in spans.chunks(batch.max(1)) {
        let spans: Vec<_> = part.iter().map(span_json).collect();
        let line = json!({"resourceSpans": [{
            "resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "desk"}}]},
            "scopeSpans": [{"scope": {"name": "desk.tracer"}, "spans": spans}],
        }]});
        out.extend_from_slice(line.to_string().as_bytes());
        out.push(b'\n');
    }
    out
}

fn span_json(span: &SpanData) -> serde_json::Value {
    let attributes: Vec<_> =
        span.attributes.iter().map(|(key, value)| json!({"key": key, "value": any(value)})).collect();
    json!({
        "traceId": span.trace, "spanId": span.id, "parentSpanId": span.parent, "name": span.name, "kind": 1,
        "startTimeUnixNano": span.start_ns.to_string(), "endTimeUnixNano": span.end_ns.to_string(),
        "attributes": attributes, "status": {},
    })
}

fn any(value: &SpanValue) -> serde_json::Value {
    match value {
        SpanValue::Text(text) => json!({"stringValue": text}),
        SpanValue::Int(number) => json!({"intValue": number.to_string()}),
        SpanValue::List(items) => {
            let values: Vec<_> = items.iter().map(|item| json!({"stringValue": item})).collect();
            json!({"arrayValue": {"values": values}})
        }
    }
}

/// One export of all spans. Exports may be put behind each other: together they are one.
pub fn as_protobuf(spans: &[SpanData]) -> Vec<u8> {
    let mut items = Vec::new();
    for span in spans {
        piece(2, &span_bytes(span), &mut items);
    }
    let mut scope = Vec::new();
    piece(1, &text(1, "desk.tracer"), &mut scope);
    scope.extend_from_slice(&items);
    let mut resource = Vec::new();
    piece(1, &attribute(1, "service.name", &SpanValue::Text("desk".into())), &mut resource);
    piece(2, &scope, &mut resource);
    let mut out = Vec::new();
    piece(1, &resource, &mut out);
    out
}

fn span_bytes(span: &SpanData) -> Vec<u8> {
    let mut out = Vec::new();
    piece(1, &from_hex(&span.trace), &mut out);
    piece(2, &from_hex(&span.id), &mut out);
    if !span.parent.is_empty() {
        piece(4, &from_hex(&span.parent), &mut out);
    }
    piece(5, span.name.as_bytes(), &mut out);
    fixed(7, span.start_ns, &mut out);
    fixed(8, span.end_ns, &mut out);
    for (key, value) in &span.attributes {
        out.extend_from_slice(&attribute(9, key, value));
    }
    out
}

fn attribute(field: u64, key: &str, value: &SpanValue) -> Vec<u8> {
    let mut pair = text(1, key);
    piece(2, &any_bytes(value), &mut pair);
    let mut out = Vec::new();
    piece(field, &pair, &mut out);
    out
}

fn any_bytes(value: &SpanValue) -> Vec<u8> {
    let mut out = Vec::new();
    match value {
        SpanValue::Text(words) => piece(1, words.as_bytes(), &mut out),
        SpanValue::Int(number) => {
            varint(3 << 3, &mut out);
            varint(number.cast_unsigned(), &mut out);
        }
        SpanValue::List(items) => {
            let mut list = Vec::new();
            for item in items {
                piece(1, &text(1, item), &mut list);
            }
            piece(5, &list, &mut out);
        }
    }
    out
}

fn text(field: u64, words: &str) -> Vec<u8> {
    let mut out = Vec::new();
    piece(field, words.as_bytes(), &mut out);
    out
}

fn piece(field: u64, bytes: &[u8], out: &mut Vec<u8>) {
    varint(field << 3 | 2, out);
    varint(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

fn fixed(field: u64, number: u64, out: &mut Vec<u8>) {
    varint(field << 3 | 1, out);
    out.extend_from_slice(&number.to_le_bytes());
}

fn varint(mut number: u64, out: &mut Vec<u8>) {
    while number > 0x7F {
        out.push(u8::try_from(number & 0x7F).unwrap_or(0) | 0x80);
        number >>= 7;
    }
    out.push(u8::try_from(number).unwrap_or(0));
}

fn from_hex(digits: &str) -> Vec<u8> {
    let pairs = digits.as_bytes().chunks(2);
    pairs.filter_map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
}
