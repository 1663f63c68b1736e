//! OTLP in protobuf: `TracesData`, which is also what a collector is sent.

use super::{AnyValue, Attribute, FAILED, KIND, Link, SCOPE, SessionSpans, Span};

/// A session as one element of `TracesData`; those of several sessions in a row are a whole file.
pub fn encode(session: &SessionSpans) -> Vec<u8> {
    let mut scope_spans = Message::default();
    scope_spans.bytes(1, &Message::default().with_bytes(1, SCOPE.as_bytes()));
    for span in &session.spans {
        scope_spans.bytes(2, &encode_span(span));
    }
    let mut resource = Message::default();
    attributes(&mut resource, 1, &session.resource);
    let mut resource_spans = Message::default();
    resource_spans.bytes(1, &resource.0);
    resource_spans.bytes(2, &scope_spans.0);
    Message::default().with_bytes(1, &resource_spans.0)
}

fn encode_span(span: &Span) -> Vec<u8> {
    let mut message = Message::default();
    message.bytes(1, &span.trace);
    message.bytes(2, &span.id);
    if let Some(parent) = &span.parent {
        message.bytes(4, parent);
    }
    message.bytes(5, span.name.as_bytes());
    message.varint(6, u64::from(KIND));
    message.fixed(7, span.start_ns);
    message.fixed(8, span.end_ns);
    attributes(&mut message, 9, &span.attributes);
    for link in &span.links {
        message.bytes(13, &encode_link(link));
    }
    if let Some(error) = &span.error {
        let mut status = Message::default();
        if !error.is_empty() {
            status.bytes(2, error.as_bytes());
        }
        status.varint(3, u64::from(FAILED));
        message.bytes(15, &status.0);
    }
    message.0
}

fn encode_link(link: &Link) -> Vec<u8> {
    let mut message = Message::default();
    message.bytes(1, &link.trace);
    message.bytes(2, &link.id);
    attributes(&mut message, 4, &link.attributes);
    message.0
}

fn attributes(message: &mut Message, field: u64, all: &[Attribute]) {
    for (key, value) in all {
        let mut any = Message::default();
        match value {
            AnyValue::Text(text) => any.bytes(1, text.as_bytes()),
            AnyValue::Bool(yes) => any.varint(2, u64::from(*yes)),
            AnyValue::Int(number) => any.varint(3, number.cast_unsigned()),
            AnyValue::Double(number) => any.fixed(4, number.to_bits()),
        }
        let pair = Message::default().with_bytes(1, key.as_bytes());
        let mut pair = Message(pair);
        pair.bytes(2, &any.0);
        message.bytes(field, &pair.0);
    }
}

/// A message under construction.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn raw(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(u8::try_from(value & 0x7f).unwrap_or(0) | 0x80);
            value >>= 7;
        }
        self.0.push(u8::try_from(value).unwrap_or(0));
    }

    fn varint(&mut self, field: u64, value: u64) {
        self.raw(field << 3);
        self.raw(value);
    }

    fn fixed(&mut self, field: u64, value: u64) {
        self.raw(field << 3 | 1);
        self.0.extend(value.to_le_bytes());
    }

    fn bytes(&mut self, field: u64, value: &[u8]) {
        self.raw(field << 3 | 2);
        self.raw(value.len() as u64);
        self.0.extend(value);
    }

    fn with_bytes(mut self, field: u64, value: &[u8]) -> Vec<u8> {
        self.bytes(field, value);
        self.0
    }
}
