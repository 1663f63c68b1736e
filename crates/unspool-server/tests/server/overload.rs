//! More than it can take: refused in the words of each protocol, with a bound on what waits, and nothing acknowledged is lost.

use crate::running::Running;
use axum::http::Request;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
use prost::Message;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

/// A request with one span of its own.
pub(crate) fn span(n: u32) -> Vec<u8> {
    request(Span {
        trace_id: vec![1; 16],
        span_id: u64::from(n + 1).to_be_bytes().to_vec(),
        name: format!("call {n}"),
        start_time_unix_nano: 1_767_348_000_000_000_000,
        end_time_unix_nano: 1_767_348_001_000_000_000,
        ..Span::default()
    })
}

fn request(span: Span) -> Vec<u8> {
    let scope = ScopeSpans { spans: vec![span], ..ScopeSpans::default() };
    let resource = ResourceSpans { scope_spans: vec![scope], ..ResourceSpans::default() };
    ExportTraceServiceRequest { resource_spans: vec![resource] }.encode_to_vec()
}

/// A request of more than 60,000 bytes that packs well.
pub(crate) fn large_span() -> Vec<u8> {
    let name = "call ".repeat(13_000);
    request(Span { trace_id: vec![2; 16], span_id: vec![2; 8], name, ..Span::default() })
}

/// What is sent over gRPC.
pub(crate) struct Export<'a> {
    pub(crate) message: &'a [u8],
    pub(crate) method: &'a str,
    /// Who sends it.
    pub(crate) token: Option<&'a str>,
    /// How the message is packed.
    pub(crate) packing: Option<&'a str>,
    /// So many bytes are sent, and then nothing more.
    pub(crate) cut_at: Option<usize>,
}

/// What was answered.
pub(crate) struct Exported {
    pub(crate) status: u32,
    pub(crate) message: String,
    pub(crate) retry_after: Option<String>,
    /// The message of the answer.
    pub(crate) body: Vec<u8>,
}

impl<'a> Export<'a> {
    /// Spans, as they are.
    pub(crate) fn of(message: &'a [u8]) -> Export<'a> {
        Export { message, method: "trace.v1.TraceService/Export", token: None, packing: None, cut_at: None }
    }

    pub(crate) fn send(&self, server: &Running) -> Exported {
        self.try_send(server).unwrap()
    }

    /// Nothing when the connection ended before the answer.
    pub(crate) fn try_send(&self, server: &Running) -> Option<Exported> {
        let method = format!("opentelemetry.proto.collector.{}", self.method);
        let mut request = Request::post(format!("http://{}/{method}", server.grpc))
            .header("content-type", "application/grpc")
            .header("te", "trailers");
        if let Some(token) = self.token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        if let Some(packing) = self.packing {
            request = request.header("grpc-encoding", packing);
        }
        let length = u32::try_from(self.message.len()).unwrap().to_be_bytes();
        let mut framed = [&[u8::from(self.packing.is_some())], &length[..], self.message].concat();
        framed.truncate(self.cut_at.unwrap_or(usize::MAX));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let stream = tokio::net::TcpStream::connect(server.grpc).await.unwrap();
            let (mut client, connection) = h2::client::handshake(stream).await.unwrap();
            tokio::spawn(connection);
            let (answer, mut body) = client.send_request(request.body(()).unwrap(), false).unwrap();
            body.send_data(framed.into(), self.cut_at.is_none()).unwrap();
            let mut answer = answer.await.ok()?;
            let mut said = answer.headers().clone();
            let mut body = Vec::new();
            while let Some(data) = answer.body_mut().data().await {
                body.extend(data.unwrap());
            }
            said.extend(answer.body_mut().trailers().await.unwrap().unwrap_or_default());
            let text = |name: &str| said.get(name).map(|value| value.to_str().unwrap().to_string());
            Some(Exported {
                status: text("grpc-status").unwrap().parse().unwrap(),
                message: text("grpc-message").unwrap_or_default().replace("%20", " ").replace("%60", "`"),
                retry_after: text("retry-after"),
                body: body.split_off(body.len().min(5)),
            })
        })
    }
}

/// Exports over gRPC; the status and the metadata `retry-after`.
fn export(server: &Running, message: &[u8]) -> (u32, Option<String>) {
    export_packed(server, message, None)
}

/// The same, of a message that may be packed.
fn export_packed(server: &Running, message: &[u8], packing: Option<&str>) -> (u32, Option<String>) {
    let exported = Export { packing, ..Export::of(message) }.send(server);
    (exported.status, exported.retry_after)
}

#[test]
fn too_much_is_refused_and_nothing_acknowledged_is_lost() {
    let limit = 3_000;
    let folder = Arc::new(tempfile::tempdir().unwrap());
    let server = Running::start_options(folder, |options| options.max_pending_bytes = limit, |_| {});
    let protobuf = [("Content-Type", "application/x-protobuf")];
    let post = |n: u32| server.request("POST", "/v1/traces", &protobuf, &span(n));
    assert_eq!(post(0).status, 200);
    assert_eq!(server.records(), (1, 0, 0));

    // Whoever holds the index of families holds up everything that is derived.
    let stall = rusqlite::Connection::open(server.folder.path().join("families.db")).unwrap();
    stall.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let mut kept = 1;
    let refused = loop {
        let answer = post(kept);
        if answer.status != 200 {
            break answer;
        }
        kept += 1;
        assert!(server.app.engine.health().pending_bytes <= limit);
        assert!(kept < 1_000, "nothing was ever refused");
    };
    assert_eq!(refused.status, 429);
    assert!(refused.head.to_lowercase().contains("retry-after: 1"), "{}", refused.head);
    // Field 1 of the status is the code: 8, resource exhausted.
    assert_eq!(refused.body[..2], [8, 8]);
    assert!(String::from_utf8_lossy(&refused.body).contains("max_pending_bytes"));
    assert_eq!(export(&server, &span(kept)), (8, Some("1".into())));
    assert_eq!(server.app.engine.health().refused, 2);
    assert!(kept > 5);

    stall.execute_batch("ROLLBACK").unwrap();
    assert_eq!(server.records(), (u64::from(kept), 0, 0));
    assert_eq!(export(&server, &span(kept)), (0, None));
    assert_eq!(post(kept + 1).status, 200);
    assert_eq!(server.records(), (u64::from(kept) + 2, 0, 0));
    assert_eq!(server.app.engine.health().pending_bytes, 0);
}

/// A file of more than 60,000 bytes.
pub(crate) fn events() -> String {
    let line = r#"{"session_id":"s1","hook_event_name":"SessionStart","cwd":"/src"}"#;
    format!("{line}\n").repeat(1_000)
}

/// Sends 60,000 bytes of a file, and not the rest.
pub(crate) fn begin_slowly(server: &Running, body: &str) -> TcpStream {
    let mut slow = TcpStream::connect(server.http).unwrap();
    let head = format!(
        "POST /v1/ingest?name=e.jsonl HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
        server.http,
        body.len()
    );
    slow.write_all(head.as_bytes()).unwrap();
    slow.write_all(&body.as_bytes()[..60_000]).unwrap();
    slow
}

#[test]
fn requests_that_are_being_read_share_a_bound() {
    let server = Running::start_with(|app| app.limits.reading_bytes = 100_000);
    let body = events();
    let mut slow = begin_slowly(&server, &body);
    let refused = loop {
        let answer = server.post("/v1/ingest?name=e.jsonl", &body);
        if answer.status != 200 {
            break answer;
        }
    };
    assert_eq!((refused.status, refused.error().as_str()), (429, "busy"));
    assert!(refused.json()["error"]["message"].as_str().unwrap().contains("max_reading_bytes"));
    assert!(refused.head.to_lowercase().contains("retry-after: 1"), "{}", refused.head);
    let told = ["/api/v1/health", "/api/v1/receipts"].map(|path| server.get(path).json()["refused"].clone());
    assert_eq!(told, [1, 1]);
    let metrics = String::from_utf8(server.get("/metrics").body).unwrap();
    assert!(metrics.contains("\nunspool_refused_total 1\n"), "{metrics}");
    slow.write_all(&body.as_bytes()[60_000..]).unwrap();
    let mut answer = String::new();
    slow.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert_eq!(server.post("/v1/ingest?name=e.jsonl", &body).status, 200, "there is room again");
}

#[test]
fn requests_over_grpc_share_it_too() {
    let server = Running::start_with(|app| app.limits.reading_bytes = 100_000);
    let large = large_span();
    let packed = gzip(&large);
    assert!(packed.len() < 1_000);
    let packed_export = || export_packed(&server, &packed, Some("gzip"));
    assert_eq!((export(&server, &large), packed_export()), ((0, None), (0, None)), "it is alone");

    let body = events();
    let mut slow = begin_slowly(&server, &body);
    let refused = (8, Some("1".to_string()));
    while export(&server, &large).0 == 0 {}
    assert_eq!(export(&server, &large), refused);
    assert_eq!(packed_export(), refused, "it is small as it is sent, but not as it is read");
    assert_eq!(export(&server, &span(7)), (0, None), "there is room for a small one");
    let counted = server.app.refusals.all();
    assert!(counted.iter().any(|(code, count)| *code == "busy" && *count >= 3), "{counted:?}");

    slow.write_all(&body.as_bytes()[60_000..]).unwrap();
    let mut answer = String::new();
    slow.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert_eq!((export(&server, &large), packed_export()), ((0, None), (0, None)), "there is room again");
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(bytes).unwrap();
    packer.finish().unwrap()
}

#[test]
fn requests_over_grpc_have_the_limits_of_others_and_are_counted_when_refused() {
    let server = Running::start_with(|app| {
        app.limits.body_bytes = 50_000;
        app.limits.unpacked_bytes = 60_000;
    });
    let counted = |code: &str| {
        server.app.refusals.all().iter().find(|(name, _)| *name == code).map_or(0, |(_, count)| *count)
    };
    let large = large_span();
    let plain = Export::of(&large).send(&server);
    assert_eq!((plain.status, plain.retry_after), (8, None));
    assert!(plain.message.contains("`max_body_bytes`"), "{}", plain.message);
    assert_eq!(counted("too_large"), 1);
    let packed = gzip(&large);
    let bomb = Export { packing: Some("gzip"), ..Export::of(&packed) }.send(&server);
    assert_eq!(bomb.status, 8);
    assert!(bomb.message.contains("`max_unpacked_bytes`"), "{}", bomb.message);
    assert_eq!(counted("too_large"), 2);

    assert_eq!(Export::of(b"no spans").send(&server).status, 3);
    assert_eq!(counted("no_otlp"), 1);
    assert_eq!(Export { packing: Some("gzip"), ..Export::of(b"no gzip") }.send(&server).status, 3);
    assert_eq!(counted("bad_encoding"), 1);
    assert_eq!(Export { packing: Some("br"), ..Export::of(b"") }.send(&server).status, 12);
    assert_eq!(counted("unknown_encoding"), 1);
    assert_eq!(
        Export { method: "metrics.v1.MetricsService/Export", ..Export::of(b"") }.send(&server).status,
        12
    );
    assert_eq!(counted("no_such_path"), 1);
    let nothing = Export::of(b"").send(&server);
    assert_eq!((nothing.status, nothing.body.len()), (0, 0));
    assert_eq!(server.app.engine.log().end(), 0);
}

#[test]
fn who_asks_before_sending_too_much_is_not_told_to_go_on() {
    let server = Running::start();
    for path in ["/v1/ingest", "/v1/traces", "/v1/hooks", "/v1/thoughtflow/sessions"] {
        let mut asking = TcpStream::connect(server.http).unwrap();
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: 100000000000\r\n\
             Expect: 100-continue\r\n\r\n",
            server.http
        );
        asking.write_all(head.as_bytes()).unwrap();
        let mut answer = [0; 12];
        asking.read_exact(&mut answer).unwrap();
        assert_eq!(std::str::from_utf8(&answer).unwrap(), "HTTP/1.1 413", "{path}");
    }
    assert_eq!(server.app.refusals.all(), [("too_large", 4)]);
}

#[test]
fn who_asks_before_sending_is_refused_before_sending() {
    let limit = 3_000;
    let folder = Arc::new(tempfile::tempdir().unwrap());
    let server = Running::start_options(folder, |options| options.max_pending_bytes = limit, |_| {});
    let mut asking = TcpStream::connect(server.http).unwrap();
    let stall = rusqlite::Connection::open(server.folder.path().join("families.db")).unwrap();
    stall.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let protobuf = [("Content-Type", "application/x-protobuf")];
    assert_eq!(server.request("POST", "/v1/traces", &protobuf, &span(0)).status, 200);
    let head = format!(
        "POST /v1/traces HTTP/1.1\r\nHost: {}\r\nContent-Type: application/x-protobuf\r\nContent-Length: {limit}\r\n\
         Expect: 100-continue\r\n\r\n",
        server.http
    );
    asking.write_all(head.as_bytes()).unwrap();
    let mut answer = [0; 12];
    asking.read_exact(&mut answer).unwrap();
    assert_eq!(std::str::from_utf8(&answer).unwrap(), "HTTP/1.1 429");
    stall.execute_batch("ROLLBACK").unwrap();
}
