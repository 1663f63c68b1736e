//! OTLP that is good in parts: what is good is kept and shown, the rest is counted and said, over every way it can come.

use crate::overload::Export;
use crate::running::{Answer, Running};
use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceResponse;
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
use prost::Message;
use serde_json::{Value, json};

const SPAN: &str =
    r#"{"traceId":"5b8efff798038103d269b633813fc60c","spanId":"d000000000000001","name":"work"}"#;
const LOG: &str = r#"{"timeUnixNano":"1767348002000000000","attributes":[{"key":"event.name","value":{"stringValue":"user_prompt"}},{"key":"session.id","value":{"stringValue":"s"}}]}"#;

fn post(server: &Running, path: &str, media: &str, body: &[u8]) -> Answer {
    let answer = server.request("POST", path, &[("Content-Type", media)], body);
    assert_eq!(answer.status, 200, "{path}: {}", String::from_utf8_lossy(&answer.body));
    answer
}

fn json(server: &Running, path: &str, body: &str) -> Value {
    post(server, path, "application/json", body.as_bytes()).json()
}

/// What became of the records of a source: seen, stored and rejected.
fn receipt(server: &Running, source: &str) -> [u64; 3] {
    server.app.engine.settle();
    let receipts = server.get("/api/v1/receipts").json();
    let of_source = receipts["sources"].as_array().unwrap().iter().find(|one| one["source"] == source);
    let of_source = of_source.unwrap();
    ["seen", "stored", "rejected"].map(|name| of_source[name].as_u64().unwrap())
}

#[test]
fn what_is_no_span_is_counted_and_said_in_json() {
    let server = Running::start();
    let spans = format!(r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":["x",5,{SPAN}]}}]}}]}}"#);
    let answer = json(&server, "/v1/traces", &spans);
    assert_eq!(answer["partialSuccess"]["rejectedSpans"], "2");
    let why = answer["partialSuccess"]["errorMessage"].as_str().unwrap();
    assert!(why.starts_with("not_an_object: "), "{why}");
    assert_eq!(receipt(&server, "otlp-http"), [3, 1, 2]);

    let answer = json(&server, "/v1/traces", r#"{"resourceSpans":["q"]}"#);
    assert_eq!(answer["partialSuccess"]["rejectedSpans"], "1");
    let logs = format!(r#"{{"resourceLogs":[{{"scopeLogs":[{{"logRecords":[{LOG},7]}}]}}]}}"#);
    let answer = json(&server, "/v1/logs", &logs);
    assert_eq!(answer["partialSuccess"]["rejectedLogRecords"], "1");
    assert_eq!(receipt(&server, "otlp-http"), [6, 2, 4]);
    let issues = server.get("/api/v1/issues?source=otlp-http").json().to_string();
    assert!(issues.contains("not_an_object"), "{issues}");
}

/// A request with a span that can be read, one that ends in the middle of its first field, and another that can be read.
fn torn() -> Vec<u8> {
    let span =
        |n: u8| Span { trace_id: vec![1; 16], span_id: vec![n; 8], name: "work".into(), ..Span::default() };
    let scope = ScopeSpans { spans: vec![span(1), span(2), span(3)], ..ScopeSpans::default() };
    let resource = ResourceSpans { scope_spans: vec![scope], ..ResourceSpans::default() };
    let mut bytes = ExportTraceServiceRequest { resource_spans: vec![resource] }.encode_to_vec();
    let second = span(2).encode_to_vec();
    let at = bytes.windows(second.len()).position(|some| some == second).unwrap();
    // The length of the first field.
    bytes[at + 1] = 99;
    bytes
}

#[test]
fn a_span_that_is_none_is_counted_and_said_in_protobuf_and_over_grpc() {
    let server = Running::start();
    let answer = post(&server, "/v1/traces", "application/x-protobuf", &torn());
    let said = ExportTraceServiceResponse::decode(answer.body.as_slice()).unwrap().partial_success.unwrap();
    assert_eq!(said.rejected_spans, 1);
    assert!(said.error_message.starts_with("not_protobuf: "), "{}", said.error_message);
    assert_eq!(receipt(&server, "otlp-http"), [3, 2, 1]);

    let answer = Export::of(&torn()).send(&server);
    assert_eq!(answer.status, 0);
    let said = ExportTraceServiceResponse::decode(answer.body.as_slice()).unwrap().partial_success.unwrap();
    assert_eq!(said.rejected_spans, 1);
    assert!(said.error_message.starts_with("not_protobuf: "), "{}", said.error_message);
    let logs = Export { method: "logs.v1.LogsService/Export", ..Export::of(&torn()) }.send(&server);
    let said = ExportLogsServiceResponse::decode(logs.body.as_slice()).unwrap().partial_success.unwrap();
    assert_eq!(said.rejected_log_records, 1);
    // The others are known already.
    assert_eq!(receipt(&server, "otlp-grpc")[0], 6);
}

/// Ids that are missing, all zeros, or too short or long, and good ones behind them.
fn bad_ids() -> Vec<Span> {
    let span = |trace: Vec<u8>, id: Vec<u8>, name: &str| Span {
        trace_id: trace,
        span_id: id,
        name: name.into(),
        start_time_unix_nano: 1_767_348_000_000_000_000,
        end_time_unix_nano: 1_767_348_001_000_000_000,
        ..Span::default()
    };
    vec![
        span(vec![], vec![], "no ids"),
        span(vec![0; 16], vec![1; 8], "a trace of zeros"),
        span(vec![1; 16], vec![0; 8], "a span of zeros"),
        span(vec![1; 15], vec![1; 8], "a short trace"),
        span(vec![1; 16], vec![1; 9], "a long span"),
        span(vec![1; 16], vec![1; 8], "good"),
    ]
}

fn request(spans: Vec<Span>) -> Vec<u8> {
    let scope = ScopeSpans { spans, ..ScopeSpans::default() };
    let resource = ResourceSpans { scope_spans: vec![scope], ..ResourceSpans::default() };
    ExportTraceServiceRequest { resource_spans: vec![resource] }.encode_to_vec()
}

#[test]
fn a_span_with_bad_ids_is_kept_counted_and_said_over_every_way() {
    let server = Running::start();
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat();
    let spans = bad_ids()
        .into_iter()
        .map(|span| json!({"traceId": hex(&span.trace_id), "spanId": hex(&span.span_id), "name": span.name}));
    let spans: Vec<Value> = spans.chain([json!({"name": "neither"})]).collect();
    let body = json!({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]});
    let answer = json(&server, "/v1/traces", &body.to_string());
    // In JSON an id may be any text: two that are bad in bytes are names here.
    assert_eq!(answer["partialSuccess"]["rejectedSpans"], "4");
    let why = answer["partialSuccess"]["errorMessage"].as_str().unwrap();
    assert!(why.starts_with("span_id_bad: "), "{why}");
    assert_eq!(receipt(&server, "otlp-http"), [7, 3, 4]);

    let said = |bytes: &[u8]| ExportTraceServiceResponse::decode(bytes).unwrap().partial_success.unwrap();
    let answer = post(&server, "/v1/traces", "application/x-protobuf", &request(bad_ids()));
    let told = said(&answer.body);
    assert_eq!(told.rejected_spans, 5);
    assert!(told.error_message.starts_with("span_id_bad: "), "{}", told.error_message);
    let answer = Export::of(&request(bad_ids())).send(&server);
    assert_eq!((answer.status, said(&answer.body).rejected_spans), (0, 5));
    assert_eq!(receipt(&server, "otlp-grpc")[0], 6);
    let issues = server.get("/api/v1/issues?code=span_id_bad").json().to_string();
    assert!(issues.contains("span_id_bad"), "{issues}");
    // A log record needs no ids: where they are none, it belongs to no trace.
    let log = LOG.replacen('{', r#"{"traceId":"12","spanId":"0000000000000000","#, 1);
    let logs = format!(r#"{{"resourceLogs":[{{"scopeLogs":[{{"logRecords":[{log}]}}]}}]}}"#);
    assert_eq!(json(&server, "/v1/logs", &logs), json!({}));
}

#[test]
fn a_request_without_anything_is_fine_in_every_form() {
    let server = Running::start();
    for path in ["/v1/traces", "/v1/logs"] {
        for body in ["{}", " { }\n"] {
            assert_eq!(json(&server, path, body), json!({}), "{path} {body}");
        }
        assert!(post(&server, path, "application/x-protobuf", b"").body.is_empty());
        let no_json = server.request("POST", path, &[("Content-Type", "application/json")], b"");
        assert_eq!(no_json.status, 400);
    }
    assert_eq!(Export::of(b"").send(&server).status, 0);
    assert_eq!(server.app.engine.log().end(), 0);
}
