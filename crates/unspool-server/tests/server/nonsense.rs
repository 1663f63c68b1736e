//! Bodies that nobody meant: whatever comes, there is an answer of a known form, and the server goes on.

use crate::overload::{Export, span};
use crate::running::Running;

/// Numbers that look random and are the same every time.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 8).unwrap() % end.max(1)
    }

    /// A body with a few bytes changed, cut, doubled or swapped.
    fn spoiled(&mut self, body: &[u8]) -> Vec<u8> {
        let mut body = body.to_vec();
        for _ in 0..=self.below(4) {
            let at = self.below(body.len());
            match self.below(4) {
                0 => body.truncate(at),
                1 => body.extend_from_within(at..),
                2 if !body.is_empty() => body[at] = u8::try_from(self.below(256)).unwrap(),
                _ => body.rotate_left(at),
            }
        }
        body
    }
}

const HOOK: &[u8] = br#"{"session_id":"s","hook_event_name":"PreToolUse","tool_name":"Bash","tool_use_id":"t","tool_input":{"a":[1,2,{"b":null}]}}"#;
const FLOW: &[u8] = br#"{"type":"step.started","session_id":"s","run_id":"r","step_id":"1","label":"tool_call","depends_on":["0"],"payload":{"name":"x"},"timestamp":1763200000000}"#;
const LINK: &[u8] = br#"{"action":"add","from":"t","to":"s0123","kind":"data","who":"ada","note":"n"}"#;
const FORM: &[u8] = b"--edge\r\nContent-Disposition: form-data; name=\"f\"; filename=\"a.jsonl\"\r\n\r\n{\"session_id\":\"s\",\"hook_event_name\":\"Stop\"}\r\n--edge--\r\n";
const SPANS: &[u8] = br#"{"resourceSpans":[{"resource":{"attributes":[{"key":"a","value":{"stringValue":"b"}}]},"scopeSpans":[{"scope":{"name":"n"},"spans":[{"traceId":"5b8efff798038103d269b633813fc60c","spanId":"d000000000000001","name":"work","startTimeUnixNano":"1767348000000000000"}]}]}]}"#;
const LOGS: &[u8] = br#"{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"timeUnixNano":"1767348002000000000","body":{"stringValue":"b"},"attributes":[{"key":"session.id","value":{"stringValue":"s"}}]},7]}]}]}"#;

/// What a path takes in a form of its body, before it is spoiled. A new way in needs a body here.
fn sample(path: &str, media: &str) -> Vec<u8> {
    match (path, media) {
        (_, "application/x-protobuf") => span(7),
        (_, "multipart/form-data") => FORM.into(),
        ("/v1/traces", _) => SPANS.into(),
        ("/v1/logs", _) => LOGS.into(),
        ("/v1/hooks" | "/v1/ingest", _) => HOOK.into(),
        (_, _) if path.starts_with("/v1/thoughtflow/") => FLOW.into(),
        (_, _) if path.ends_with("/links") => LINK.into(),
        _ => Vec::new(),
    }
}

#[test]
fn spoiled_bodies_get_an_answer_of_a_known_form() {
    let server = Running::start();
    let mut numbers = Numbers(0x5eed_1234_5678_9abc);
    let description = server.get("/api/v1/openapi.json").json();
    let mut tried = 0;
    for (path, item) in description["paths"].as_object().unwrap() {
        // What is sent is all that has a body.
        let methods =
            item.as_object().unwrap().keys().filter(|method| !["get", "delete"].contains(&method.as_str()));
        for method in methods {
            let media = item[method]["requestBody"]["content"].as_object();
            assert!(media.is_some_and(|media| !media.is_empty()), "{path} says nothing about its body");
            for media in media.unwrap().keys() {
                let body = sample(path, media);
                assert!(!body.is_empty(), "{path} takes {media}, and there is no sample of it");
                nonsense(&server, &mut numbers, path, media, &body);
                tried += 1;
            }
        }
    }
    assert!(tried > 15, "only {tried} ways in were found");
    assert_eq!(server.get("/api/v1/health").json()["status"], "ok");
}

/// Sends spoiled bodies, plain and packed.
fn nonsense(server: &Running, numbers: &mut Numbers, path: &str, media: &str, body: &[u8]) {
    let path = path.replace(['{', '}'], "");
    let media = if media == "multipart/form-data" { "multipart/form-data; boundary=edge" } else { media };
    let is_otlp = path == "/v1/traces" || path == "/v1/logs";
    let packed = zstd::encode_all(body, 1).unwrap();
    for n in 0..60 {
        let kind = ("Content-Type", media);
        let (headers, body) = match n % 3 {
            0 => (vec![kind, ("Content-Encoding", "zstd")], numbers.spoiled(&packed)),
            _ => (vec![kind], numbers.spoiled(body)),
        };
        let answer = server.request("POST", &path, &headers, &body);
        match answer.status {
            200 if media.ends_with("protobuf") => {}
            200 => drop(answer.json()),
            400 | 413 | 415 if is_otlp => assert!(!answer.body.is_empty()),
            400 | 404 | 409 | 413 | 415 => assert!(!answer.error().is_empty()),
            other => assert_eq!(other, 200, "{path} {media}: {}", String::from_utf8_lossy(&body)),
        }
    }
}

#[test]
fn spoiled_messages_over_grpc_get_a_status() {
    let server = Running::start();
    let mut numbers = Numbers(0x5eed_1234_5678_9abc);
    let packed = zstd::encode_all(span(7).as_slice(), 1).unwrap();
    for method in ["trace.v1.TraceService/Export", "logs.v1.LogsService/Export"] {
        for n in 0..60 {
            let (packing, message) = match n % 3 {
                0 => (Some("zstd"), numbers.spoiled(&packed)),
                _ => (None, numbers.spoiled(&span(7))),
            };
            let status = Export { method, packing, ..Export::of(&message) }.send(&server).status;
            assert!([0, 3, 8].contains(&status), "{method} {status}: {message:?}");
        }
    }
    assert_eq!(server.get("/api/v1/health").json()["status"], "ok");
}

#[test]
fn a_path_that_is_no_text_is_refused_in_the_form_of_all_errors() {
    let server = Running::start();
    let description = server.get("/api/v1/openapi.json").json();
    let mut tried = 0;
    for (path, item) in description["paths"].as_object().unwrap() {
        for method in item.as_object().unwrap().keys().filter(|_| path.contains('{')) {
            // Each name of the path alone, and all of them.
            let places = path.matches('{').count();
            for wrong in 0..=places {
                let mut place = 0;
                let parts = path.split('/').map(|part| {
                    let Some((name, ending)) = part.strip_prefix('{').and_then(|part| part.split_once('}'))
                    else {
                        return part.to_string();
                    };
                    place += 1;
                    if wrong == places || wrong + 1 == place {
                        format!("%ff{ending}")
                    } else {
                        name.to_string()
                    }
                });
                let asked = parts.collect::<Vec<_>>().join("/");
                let answer = server.request(&method.to_uppercase(), &asked, &[], b"{}");
                assert_eq!((answer.status, answer.error().as_str()), (400, "bad_path"), "{method} {asked}");
                tried += 1;
            }
        }
    }
    assert!(tried > 60, "only {tried} paths were tried");
    for path in ["/thoughtflow/%ff.json", "/%ff", "/api/v1/%c3%28"] {
        assert_eq!(server.get(path).error(), "bad_path", "{path}");
    }
    assert_eq!(server.app.refusals.all(), [("bad_path", tried + 3)]);
}

#[test]
fn names_of_sessions_in_paths_may_be_anything() {
    let server = Running::start();
    for name in ["%2e%2e", "..%2f..%2fetc", "%F0%9F%A6%80", "a%20b", "%25", &"s".repeat(2000)] {
        let begun = server.post(&format!("/v1/thoughtflow/sessions/{name}/runs"), "{}");
        assert_eq!(begun.status, 200, "{name}: {}", String::from_utf8_lossy(&begun.body));
        let path = format!("/v1/thoughtflow/sessions/{name}/complete");
        let answer = server.post(&path, "{}");
        assert_eq!(answer.status, 200, "{name}: {}", String::from_utf8_lossy(&answer.body));
        let url = answer.json()["url_d2"].as_str().unwrap().to_string();
        let path = url.strip_prefix(&format!("http://{}", server.http)).unwrap();
        assert_eq!(server.get(path).status, 200, "{name}");
    }
    let inside = std::fs::read_dir(server.folder.path().join("artifacts")).unwrap().count();
    assert_eq!(inside, 12, "each has two files, in that folder");
}
