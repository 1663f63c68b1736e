//! A flow as OpenTelemetry spans in the words of the `GenAI` conventions.
//!
//! In: a flow. Out: a span for each agent in each run and for each step, as OTLP in JSON or protobuf. Never here: sending.
//!
//! A run is a trace. An agent's span holds those of its steps; it lies in the span of the call that started it. Calls and
//! results meet by id, as the conventions have it; every other edge is a link that says its kind, rule and confidence.

mod json;
mod protobuf;
mod spans;

pub use json::{TracesDoc, traces_doc};
pub use protobuf::encode;
pub use spans::spans;

/// A value of an attribute.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum AnyValue {
    Text(String),
    Int(i64),
    Double(f64),
    Bool(bool),
}

/// An attribute.
type Attribute = (&'static str, AnyValue);

/// The spans of one session.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct SessionSpans {
    resource: Vec<Attribute>,
    spans: Vec<Span>,
}

#[derive(Clone, PartialEq, Debug, Default)]
struct Span {
    trace: [u8; 16],
    id: [u8; 8],
    parent: Option<[u8; 8]>,
    name: String,
    start_ns: u64,
    end_ns: u64,
    attributes: Vec<Attribute>,
    links: Vec<Link>,
    /// Why it failed, if it did.
    error: Option<String>,
}

/// A relation to a span that is neither around this one nor in it.
#[derive(Clone, PartialEq, Debug)]
struct Link {
    trace: [u8; 16],
    id: [u8; 8],
    attributes: Vec<Attribute>,
}

/// The instrumentation that made the spans, as they name it.
const SCOPE: &str = "unspool";
/// `SPAN_KIND_INTERNAL`.
const KIND: u8 = 1;
/// `STATUS_CODE_ERROR`.
const FAILED: u8 = 2;
