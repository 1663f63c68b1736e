//! Spans and log events of OpenTelemetry, in every shape and dialect.
//!
//! A *shape* is how a span is written (`json.rs`, `protobuf.rs`, `object.rs`, `langfuse.rs`, `logs.rs`); a *dialect* is what
//! its attributes mean (`dialects/`). Any dialect may come in any shape. `emit.rs` turns both into events.

mod dialects;
mod emit;
mod graph;
mod json;
mod langfuse;
mod logs;
mod moment;
mod names;
mod object;
mod plain;
mod protobuf;
mod reading;
mod span;
mod talk;
mod told;
mod value;
mod wire;

use crate::format::{Descriptor, Format, Framing, Reader, Rejected, Sniff};
use crate::json::{Json, Kind, Malformed};
use crate::sink::Sink;
use unspool_model::{Code, Witness};

pub(crate) use plain::plain;

macro_rules! shapes {
    ($($format:ident $id:literal $title:literal $evidence:literal $sniff:expr, $read:expr;)*) => {$(
        pub(crate) struct $format;

        impl Format for $format {
            fn descriptor(&self) -> &'static Descriptor {
                static DESCRIPTOR: Descriptor = Descriptor {
                    id: $id,
                    title: $title,
                    evidence: $evidence,
                    witness: Witness::Telemetry,
                    in_order: false,
                };
                &DESCRIPTOR
            }

            fn sniff(&self, _name: &str, head: &[u8]) -> Sniff {
                $sniff(head)
            }

            fn record_type(&self, record: &[u8]) -> String {
                record_type(record)
            }

            fn open(&self) -> Box<dyn Reader> {
                Box::new($format)
            }
        }

        impl Reader for $format {
            fn read(&mut self, frame: &[u8], out: &mut Sink<'_>) -> Result<(), Rejected> {
                $read(frame, out)
            }
        }
    )*};
}

shapes! {
    OtlpJson "otlp-json" "OTLP traces, JSON"
        "OTLP 1.9 and exports of four public projects (hexadecimal and base64 ids, lists, lines), checked November 2026"
        |head| sniff(head, &["resourceSpans", "resource_spans"], |seen| seen.has(&["resourceSpans", "resource_spans"])),
        |frame, out| text(frame, out, json::read);
    OtlpLogs "otlp-logs" "OTLP logs, JSON"
        "OTLP 1.9; event names of Claude Code and Codex as their documentation lists them, checked November 2026"
        |head| sniff(head, &["resourceLogs", "resource_logs"], |seen| seen.has(&["resourceLogs", "resource_logs"])),
        |frame, out| text(frame, out, json::read);
    OtlpProtobuf "otlp-protobuf" "OTLP traces and logs, protobuf"
        "OTLP 1.9, held against the crate opentelemetry-proto, checked November 2026"
        |head| Sniff { score: 80 * u8::from(protobuf::looks_like(head)), framing: Framing::Messages },
        binary;
    SpanList "span-list" "List of spans, JSON"
        "Exports of SDKs and evaluation tools as public documentation shows them, checked November 2026"
        |head| sniff(head, &["span_id", "spanId"], |seen| seen.is_span() && !seen.is_tree() && !seen.is_readable() && !seen.is_phoenix()),
        |frame, out| text(frame, out, object::read);
    SpanTree "span-tree" "Tree of spans, JSON"
        "The shape of the TRAIL data set, checked November 2026"
        |head| sniff(head, &["child_spans"], |seen| seen.is_span() && seen.is_tree()),
        |frame, out| text(frame, out, object::read);
    ReadableSpans "readable-spans" "ReadableSpan of OpenTelemetry JS"
        "OpenTelemetry JS 1.x and 2.x, checked November 2026"
        |head| sniff(head, &["panContext"], |seen| seen.is_span() && seen.is_readable() && !seen.is_tree()),
        |frame, out| text(frame, out, object::read);
    PhoenixSpans "phoenix-spans" "Spans of Arize Phoenix"
        "Span lists of Phoenix's client and REST interface as documented, checked November 2026"
        |head| sniff(head, &["span_kind"], |seen| seen.is_span() && seen.is_phoenix() && !seen.is_readable() && !seen.is_tree()),
        |frame, out| text(frame, out, object::read);
    LangfuseTrace "langfuse-trace" "Trace exported from Langfuse"
        "Exports of 23 frameworks published by two projects, checked November 2026"
        |head| sniff(head, &["bservation"], |seen| seen.has(&["observations", "parentObservationId"])),
        |frame, out| text(frame, out, langfuse::read);
}

/// Reads a frame of text; what follows the JSON is no JSON.
fn text<'a>(
    frame: &'a [u8],
    out: &mut Sink<'_>,
    read: fn(&mut Json<'a>, &mut Sink<'_>) -> Result<(), Malformed>,
) -> Result<(), Rejected> {
    let mut json = Json::new(frame);
    let rejected = |error: Malformed| crate::format::rejection(error, frame);
    match json.kind().map_err(rejected)? {
        Kind::Object | Kind::Array => {}
        _ => {
            json.skip().map_err(rejected)?;
            return Err(Rejected { code: Code::NotAnObject, ended: false });
        }
    }
    read(&mut json, out).and_then(|()| json.end()).map_err(rejected)
}

fn binary(frame: &[u8], out: &mut Sink<'_>) -> Result<(), Rejected> {
    let whole = protobuf::read(frame, out);
    if whole { Ok(()) } else { Err(Rejected { code: Code::NotProtobuf, ended: true }) }
}

fn record_type(record: &[u8]) -> String {
    let mut kind = "span";
    let _ = Json::new(record).object(|json, key| {
        if matches!(key, b"timeUnixNano" | b"observedTimeUnixNano" | b"body") {
            kind = "log";
        }
        json.skip()
    });
    kind.into()
}

/// Key names seen in the first object, in the first object of its lists, and in its `context`.
#[derive(Default)]
struct Seen<'a>(Vec<&'a [u8]>);

impl Seen<'_> {
    fn has(&self, names: &[&str]) -> bool {
        self.0.iter().any(|seen| names.iter().any(|name| name.as_bytes() == *seen))
    }

    fn is_span(&self) -> bool {
        let ids = self.has(&["trace_id", "traceId"]) && self.has(&["span_id", "spanId"]);
        let times = [
            "start_time",
            "startTime",
            "timestamp",
            "startTimeUnixNano",
            "start_time_unix_nano",
            "parent_id",
        ];
        ids && self.has(&times) && !self.has(&["resourceSpans", "resourceLogs", "observations"])
    }

    fn is_tree(&self) -> bool {
        self.has(&["child_spans"])
    }

    fn is_readable(&self) -> bool {
        self.has(&["spanContext", "_spanContext", "parentSpanContext"])
    }

    fn is_phoenix(&self) -> bool {
        self.has(&["context"]) && self.has(&["span_kind"]) && self.has(&["parent_id"])
    }
}

/// A claim to JSON whose first object has the right keys. Without one of the `words` it has none.
fn sniff(head: &[u8], words: &[&str], mine: impl Fn(&Seen<'_>) -> bool) -> Sniff {
    if !words.iter().any(|word| memchr::memmem::find(head, word.as_bytes()).is_some()) {
        return Sniff { score: 0, framing: framing(head) };
    }
    let mut seen = Seen::default();
    let _ = look(&mut Json::new(head), 0, &mut seen);
    Sniff { score: if mine(&seen) { 94 } else { 0 }, framing: framing(head) }
}

/// How deep a look goes. Whatever opens a file must not be able to exhaust the stack.
const LOOK_DEPTH: usize = 8;

/// Looks at the first object, and at the first object of each list in it.
fn look<'a>(json: &mut Json<'a>, depth: usize, seen: &mut Seen<'a>) -> Result<(), Malformed> {
    match json.kind()? {
        Kind::Array if depth < LOOK_DEPTH => {
            let mut first = true;
            json.array(
                |json| if std::mem::take(&mut first) { look(json, depth + 1, seen) } else { json.skip() },
            )
        }
        Kind::Object => json.object(|json, key| {
            seen.0.push(key);
            let inner = matches!(
                key,
                b"spans" | b"data" | b"traces" | b"trace" | b"context" | b"spanContext" | b"_spanContext"
            );
            if inner && depth < LOOK_DEPTH { look(json, depth + 1, seen) } else { json.skip() }
        }),
        _ => json.skip(),
    }
}

/// One text per line, unless the first line is no whole text.
fn framing(head: &[u8]) -> Framing {
    let end = memchr::memchr(b'\n', head).unwrap_or(head.len());
    let mut line = Json::new(&head[..end]);
    let whole = line.skip().and_then(|()| line.end()).is_ok();
    if whole || end == head.len() { Framing::Lines } else { Framing::Whole }
}

#[cfg(test)]
mod tests {
    use crate::best;

    #[test]
    fn bottomless_lists_are_no_spans_and_cost_no_stack() {
        let deep = "[".repeat(60_000) + "\"resourceSpans\" \"span_id\" \"child_spans\" \"span_kind\"";
        assert!(best("spans.json", deep.as_bytes()).is_none_or(|(_, sniff)| sniff.score < 90));
    }
}
