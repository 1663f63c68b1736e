//! OTLP in JSON: ids as hexadecimal digits, 64-bit numbers as text.

use super::{AnyValue, Attribute, FAILED, KIND, Link, SCOPE, SessionSpans, Span};
use serde::Serialize;
use std::fmt::Write as _;

/// A file of traces.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TracesDoc<R> {
    resource_spans: R,
}

impl<R> TracesDoc<R> {
    /// The whole file; `resource_spans` may be a list or something that is written like one.
    pub fn new(resource_spans: R) -> TracesDoc<R> {
        TracesDoc { resource_spans }
    }
}

/// The spans of a session as an element of a file of traces.
pub fn traces_doc(session: &SessionSpans) -> impl Serialize + use<> {
    ResourceSpansDoc {
        resource: ResourceDoc { attributes: attributes(&session.resource) },
        scope_spans: [ScopeSpansDoc {
            scope: ScopeDoc { name: SCOPE },
            spans: session.spans.iter().map(span).collect(),
        }],
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ResourceSpansDoc {
    resource: ResourceDoc,
    scope_spans: [ScopeSpansDoc; 1],
}

#[derive(Serialize)]
struct ResourceDoc {
    attributes: Vec<KeyValueDoc>,
}

#[derive(Serialize)]
struct ScopeSpansDoc {
    scope: ScopeDoc,
    spans: Vec<SpanDoc>,
}

#[derive(Serialize)]
struct ScopeDoc {
    name: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SpanDoc {
    trace_id: String,
    span_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_span_id: Option<String>,
    name: String,
    kind: u8,
    start_time_unix_nano: String,
    end_time_unix_nano: String,
    attributes: Vec<KeyValueDoc>,
    links: Vec<LinkDoc>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<StatusDoc>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LinkDoc {
    trace_id: String,
    span_id: String,
    attributes: Vec<KeyValueDoc>,
}

#[derive(Serialize)]
struct StatusDoc {
    code: u8,
    #[serde(skip_serializing_if = "String::is_empty")]
    message: String,
}

#[derive(Serialize)]
struct KeyValueDoc {
    key: &'static str,
    value: AnyValueDoc,
}

#[derive(Serialize)]
enum AnyValueDoc {
    #[serde(rename = "stringValue")]
    Text(String),
    #[serde(rename = "intValue")]
    Int(String),
    #[serde(rename = "doubleValue")]
    Double(f64),
    #[serde(rename = "boolValue")]
    Bool(bool),
}

fn span(span: &Span) -> SpanDoc {
    SpanDoc {
        trace_id: hex(&span.trace),
        span_id: hex(&span.id),
        parent_span_id: span.parent.map(|parent| hex(&parent)),
        name: span.name.clone(),
        kind: KIND,
        start_time_unix_nano: span.start_ns.to_string(),
        end_time_unix_nano: span.end_ns.to_string(),
        attributes: attributes(&span.attributes),
        links: span.links.iter().map(link).collect(),
        status: span.error.clone().map(|message| StatusDoc { code: FAILED, message }),
    }
}

fn link(link: &Link) -> LinkDoc {
    LinkDoc { trace_id: hex(&link.trace), span_id: hex(&link.id), attributes: attributes(&link.attributes) }
}

fn attributes(all: &[Attribute]) -> Vec<KeyValueDoc> {
    let value = |value: &AnyValue| match value {
        AnyValue::Text(text) => AnyValueDoc::Text(text.clone()),
        AnyValue::Int(number) => AnyValueDoc::Int(number.to_string()),
        AnyValue::Double(number) => AnyValueDoc::Double(*number),
        AnyValue::Bool(yes) => AnyValueDoc::Bool(*yes),
    };
    all.iter().map(|(key, any)| KeyValueDoc { key, value: value(any) }).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
