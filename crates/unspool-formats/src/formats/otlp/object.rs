//! A span as one JSON object in the words of an SDK or a tool: snake or camel case, ids in a `context`, times in any unit,
//! children inside their parent.
//!
//! In: lists of such objects, or objects that hold lists. Out: events, one record per span. Never here: which format it is.

use super::emit::emit;
use super::json::{attributes, each, event, id, is_error, link, scope, status};
use super::span::{Origin, Span};
use super::value::Value;
use crate::json::{Json, Kind, Malformed, RawStr};
use crate::sink::Sink;
use unspool_model::{Code, Timestamp};

/// Reads a span, a list of spans, or an object that holds one.
pub(super) fn read(json: &mut Json<'_>, out: &mut Sink<'_>) -> Result<(), Malformed> {
    value(json, 0, out)
}

/// Lists and objects around a list of spans. Named so in notices.
const MAX_SPAN_LIST_LEVELS: usize = 4;

fn value(json: &mut Json<'_>, depth: usize, out: &mut Sink<'_>) -> Result<(), Malformed> {
    match json.kind()? {
        Kind::Array | Kind::Object if depth > MAX_SPAN_LIST_LEVELS => {
            out.issue(Code::LimitReached, "max_span_list_levels");
            json.skip()
        }
        Kind::Array => json.array(|json| value(json, depth + 1, out)),
        Kind::Object if is_span(json.clone()) => {
            let start = json.mark();
            let mut pieces = Pieces::default();
            pieces.read(json)?;
            tree(json.since(start), pieces, out);
            Ok(())
        }
        Kind::Object => json.object(|json, key| match key {
            b"spans" | b"data" | b"traces" | b"trace" => value(json, depth + 1, out),
            _ => json.skip(),
        }),
        _ => json.skip(),
    }
}

/// Whether an object bears ids of a span. Keys up to the first that decides are enough.
pub(super) fn is_span(mut json: Json<'_>) -> bool {
    let (mut own, mut holds) = (false, false);
    let _ = json.object(|json, key| {
        own |= matches!(key, b"span_id" | b"spanId" | b"spanContext" | b"_spanContext");
        own |= key == b"context" && json.kind()? == Kind::Object;
        holds |= matches!(key, b"spans" | b"observations");
        if own || holds { Err(Malformed { at: 0, ended: false }) } else { json.skip() }
    });
    own && !holds
}

/// What an object says, before it is told what it lies in.
#[derive(Default)]
struct Pieces<'a> {
    span: Span<'a>,
    origin: Origin<'a>,
    /// An id that is one only when nothing better is named.
    spare_id: String,
    kind: Option<RawStr<'a>>,
    duration_ns: Option<i64>,
    /// What lies in it; read already, unless it lies too deep.
    children: Vec<(&'a [u8], Option<Pieces<'a>>)>,
    level: usize,
}

/// How many levels are read at a time. Deeper ones are read again from where they begin.
const LEVELS_AT_A_TIME: usize = 32;

/// Levels of spans in each other. What lies deeper is left out: every level costs a look at all below it. Named so in notices.
const MAX_SPAN_LEVELS: usize = 1024;

/// A span and all below it, each under the ids of what it lies in. Without recursion: trees may be deep.
fn tree<'a>(raw: &'a [u8], pieces: Pieces<'a>, out: &mut Sink<'_>) {
    let mut open = vec![(raw, pieces, String::new(), String::new(), 1)];
    while let Some((raw, mut pieces, trace, parent, level)) = open.pop() {
        let span = &mut pieces.span;
        if span.trace.is_empty() {
            span.trace = trace;
        }
        if span.parent.is_empty() {
            span.parent = parent;
        }
        if span.id.is_empty() {
            span.id = std::mem::take(&mut pieces.spare_id);
        }
        if let Some(ns) = pieces.duration_ns.filter(|_| !span.end.is_some())
            && let Some(start) = span.start.ns()
        {
            span.end = Timestamp::from_ns(start.saturating_add(ns));
        }
        if let Some(kind) = pieces.kind.filter(|_| span.attrs.get("openinference.span.kind").is_none()) {
            span.attrs.push(b"openinference.span.kind", Value::Text(kind));
        }
        out.part(raw);
        emit(&mut pieces.span, &pieces.origin, out);
        if level == MAX_SPAN_LEVELS && !pieces.children.is_empty() {
            out.issue(Code::LimitReached, "max_span_levels");
            continue;
        }
        for (child, inner) in pieces.children.into_iter().rev() {
            let inner = inner.unwrap_or_else(|| {
                let mut inner = Pieces::default();
                // It was read over before, so that it is whole.
                let _ = inner.read(&mut Json::new(child));
                inner
            });
            open.push((child, inner, pieces.span.trace.clone(), pieces.span.id.clone(), level + 1));
        }
    }
}

impl<'a> Pieces<'a> {
    fn read(&mut self, json: &mut Json<'a>) -> Result<(), Malformed> {
        json.object(|json, key| self.field(json, key))
    }

    fn field(&mut self, json: &mut Json<'a>, key: &'a [u8]) -> Result<(), Malformed> {
        let span = &mut self.span;
        match key {
            b"trace_id" | b"traceId" => id(json, 16, &mut span.trace),
            b"span_id" | b"spanId" => id(json, 8, &mut span.id),
            b"id" => id(json, 8, &mut self.spare_id),
            b"context" | b"spanContext" | b"_spanContext" => context(json, &mut span.trace, &mut span.id),
            b"parent_span_id" | b"parentSpanId" | b"parent_id" | b"parentId" => id(json, 8, &mut span.parent),
            b"parent" | b"parentSpanContext" => match json.kind()? {
                Kind::Object => context(json, &mut String::new(), &mut span.parent),
                _ => id(json, 8, &mut span.parent),
            },
            b"name" | b"span_name" => {
                span.name = json.string()?.unwrap_or_default().decode();
                Ok(())
            }
            b"start_time" | b"startTime" | b"timestamp" | b"startTimeUnixNano" | b"start_time_unix_nano" => {
                let at = moment(json)?;
                span.start = if span.start.is_some() { span.start } else { at };
                Ok(())
            }
            b"end_time" | b"endTime" | b"endTimeUnixNano" | b"end_time_unix_nano" => {
                span.end = moment(json)?;
                Ok(())
            }
            b"duration" | b"_duration" => {
                self.duration_ns = duration_ns(json)?;
                Ok(())
            }
            b"attributes" | b"span_attributes" => attributes(json, &mut span.attrs),
            b"status" => status(json, span),
            b"status_code" | b"statusCode" => {
                span.failed = is_error(json.raw()?);
                Ok(())
            }
            b"status_message" | b"statusMessage" => {
                span.status_message = json.string()?;
                Ok(())
            }
            b"span_kind" | b"spanKind" => {
                self.kind = json.string()?;
                Ok(())
            }
            b"events" | b"span_events" => each(json, |json| event(json, span)),
            b"links" => each(json, |json| link(json, span)),
            b"scope" | b"instrumentation_scope" | b"instrumentationScope" | b"instrumentationLibrary" => {
                scope(json, &mut self.origin.scope)
            }
            b"scope_name" => {
                self.origin.scope = json.string()?.unwrap_or_default().decode();
                Ok(())
            }
            b"resource_attributes" => attributes(json, &mut self.origin.resource),
            b"resource" if json.kind()? == Kind::Object => json.object(|json, key| match key {
                b"attributes" | b"_attributes" => attributes(json, &mut self.origin.resource),
                _ => json.skip(),
            }),
            b"child_spans" | b"children" => each(json, |json| {
                if self.level == LEVELS_AT_A_TIME {
                    self.children.push((json.raw()?, None));
                    return Ok(());
                }
                let start = json.mark();
                let mut inner = Pieces { level: self.level + 1, ..Pieces::default() };
                inner.read(json)?;
                self.children.push((json.since(start), Some(inner)));
                Ok(())
            }),
            _ => json.skip(),
        }
    }
}

fn context(json: &mut Json<'_>, trace: &mut String, own: &mut String) -> Result<(), Malformed> {
    if json.kind()? != Kind::Object {
        return json.skip();
    }
    json.object(|json, key| match key {
        b"trace_id" | b"traceId" => id(json, 16, trace),
        b"span_id" | b"spanId" => id(json, 8, own),
        _ => json.skip(),
    })
}

/// A moment as text, as `[seconds, nanoseconds]`, or as a number of seconds, milli-, micro- or nanoseconds: its size tells.
pub(super) fn moment(json: &mut Json<'_>) -> Result<Timestamp, Malformed> {
    Ok(match json.kind()? {
        // A span without a time says 0.
        Kind::String | Kind::Number => {
            crate::object::moment(json.raw()?).filter(|at| at.ns() > Some(0)).unwrap_or_default()
        }
        Kind::Array => pair_ns(json)?.map_or(Timestamp::NONE, Timestamp::from_ns),
        _ => json.skip().map(|()| Timestamp::NONE)?,
    })
}

/// `[seconds, nanoseconds]`.
fn pair_ns(json: &mut Json<'_>) -> Result<Option<i64>, Malformed> {
    let mut parts = Vec::new();
    json.array(|json| {
        parts.push(json.integer()?);
        Ok(())
    })?;
    Ok(match parts.as_slice() {
        [Some(seconds), Some(ns)] => seconds.checked_mul(1_000_000_000).and_then(|all| all.checked_add(*ns)),
        _ => None,
    })
}

/// A duration as `PT1M2.5S`, or as `[seconds, nanoseconds]`.
fn duration_ns(json: &mut Json<'_>) -> Result<Option<i64>, Malformed> {
    match json.kind()? {
        Kind::Array => pair_ns(json),
        Kind::String => Ok(json.string()?.and_then(|text| iso_duration_ns(&text.decode()))),
        _ => json.skip().map(|()| None),
    }
}

fn iso_duration_ns(text: &str) -> Option<i64> {
    let mut rest = text.strip_prefix("PT")?;
    let mut sum = 0_i64;
    while let Some(end) = rest.find(|c: char| c.is_ascii_alphabetic()) {
        let (amount, unit) = (&rest[..end], rest.as_bytes()[end]);
        let seconds = match unit {
            b'H' => 3600,
            b'M' => 60,
            b'S' => 1,
            _ => return None,
        };
        let (whole, fraction) = amount.split_once('.').unwrap_or((amount, ""));
        let digits: String = fraction.chars().chain("000000000".chars()).take(9).collect();
        let ns = whole.parse::<i64>().ok()?.checked_mul(1_000_000_000)?.checked_add(digits.parse().ok()?)?;
        sum = sum.checked_add(ns.checked_mul(seconds)?)?;
        rest = &rest[end + 1..];
    }
    Some(sum)
}

#[cfg(test)]
mod tests {
    use super::{MAX_SPAN_LEVELS, MAX_SPAN_LIST_LEVELS, iso_duration_ns, moment};
    use crate::json::Json;
    use crate::{Decoder, Detail, best};
    use unspool_model::{Batch, Code, KeyKind};

    fn read(text: &str) -> Batch {
        let mut batch = Batch::default();
        let (format, sniff) = best("spans.json", text.as_bytes()).unwrap();
        let mut decoder = Decoder::new(&mut batch, format, sniff, "spans.json", Detail::Full);
        decoder.push(text.as_bytes());
        decoder.finish();
        batch
    }

    #[test]
    fn trees_are_read_to_a_depth_that_has_a_name() {
        let levels = 3 * MAX_SPAN_LEVELS;
        let open = r#"{"trace_id":"t1","span_id":"s1","start_time":1767348000,"child_spans":["#;
        let batch = read(&(open.repeat(levels) + &"]}".repeat(levels)));
        assert_eq!(batch.records.len(), MAX_SPAN_LEVELS);
        assert_eq!(batch.issues.iter().filter(|issue| issue.code == Code::LimitReached).count(), 1);
    }

    #[test]
    fn lists_of_spans_in_too_many_lists_are_noted() {
        let span = r#"{"trace_id":"t1","span_id":"s1","start_time":1767348000}"#;
        let nested = |levels: usize| format!("{}{span}{}", "[".repeat(levels), "]".repeat(levels));
        let near = read(&format!("[{span},{}]", nested(MAX_SPAN_LIST_LEVELS - 1)));
        assert_eq!((near.records.len(), near.issues.iter().count()), (2, 0));
        let far = read(&format!("[{span},{}]", nested(MAX_SPAN_LIST_LEVELS)));
        let noted: Vec<_> = far.issues.iter().map(|issue| (issue.code, far.text.get(issue.detail))).collect();
        assert_eq!((far.records.len(), noted), (1, vec![(Code::LimitReached, "max_span_list_levels")]));
    }

    #[test]
    fn every_link_of_a_span_is_kept() {
        let links: Vec<String> =
            (0..300).map(|n| format!(r#"{{"trace_id":"t2","span_id":"l{n}"}}"#)).collect();
        let links = links.join(",");
        let batch = read(&format!(
            r#"[{{"trace_id":"t1","span_id":"s1","start_time":1767348000,"links":[{links}]}}]"#
        ));
        assert_eq!(batch.keys.iter().filter(|key| key.kind == KeyKind::SpanLink).count(), 300);
    }

    #[test]
    fn moments_in_every_unit() {
        for text in [
            "\"2026-01-02T10:00:00.5Z\"",
            "1767348000.5",
            "1767348000500",
            "1767348000500000",
            "1767348000500000000",
            "[1767348000,500000000]",
            "\"1767348000500000000\"",
        ] {
            let at = moment(&mut Json::new(text.as_bytes())).unwrap();
            assert_eq!(at.ns(), Some(1_767_348_000_500_000_000), "{text}");
        }
    }

    #[test]
    fn durations() {
        assert_eq!(iso_duration_ns("PT1M2.5S"), Some(62_500_000_000));
        assert_eq!(iso_duration_ns("PT0S"), Some(0));
        assert_eq!(iso_duration_ns("P1D"), None);
    }
}
