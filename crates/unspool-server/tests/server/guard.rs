//! Who may come in, from outside: names, origins, tokens and scopes, in the shape of the protocol that is spoken.

use crate::overload::Export;
use crate::running::{Answer, Running, now};
use std::io::{Read as _, Write as _};
use std::sync::Arc;
use std::time::{Duration, Instant};
use unspool_engine::live::{Engine, Options};
use unspool_server::{Access, Addresses, App, Scope, ServeError, Server, Tokens};

const EVENT: &[u8] = br#"{"session_id":"s-1","hook_event_name":"Stop"}"#;

pub(crate) fn guarded() -> (Running, Tokens) {
    let server = Running::start_with(|app| app.access.require_token = true);
    let tokens = Tokens::of(server.folder.path());
    (server, tokens)
}

fn with_token(server: &Running, method: &str, path: &str, token: &str, body: &[u8]) -> Answer {
    server.request(method, path, &[("Authorization", &format!("Bearer {token}"))], body)
}

#[test]
fn foreign_names_and_pages_are_refused_and_nothing_is_kept() {
    let server = Running::start();
    for (header, value, code) in [
        ("Host", "evil.example", "foreign_host"),
        ("Host", "evil.example:4680", "foreign_host"),
        ("Host", "", "foreign_host"),
        ("Origin", "http://evil.example", "foreign_origin"),
        ("Origin", "null", "foreign_origin"),
    ] {
        for (method, path) in
            [("POST", "/v1/hooks"), ("POST", "/v1/ingest"), ("GET", "/api/v1/health"), ("GET", "/")]
        {
            let answer = server.request(method, path, &[(header, value)], EVENT);
            assert_eq!(
                (answer.status, answer.error().as_str()),
                (403, code),
                "{method} {path} {header}: {value}"
            );
        }
    }
    assert_eq!(server.app.engine.log().end(), 0);
    let origin = format!("http://{}", server.http);
    assert_eq!(server.request("POST", "/v1/hooks", &[("Origin", &origin)], EVENT).status, 200);
    let port = server.http.port();
    assert_eq!(
        server.request("POST", "/v1/hooks", &[("Host", &format!("localhost:{port}"))], EVENT).status,
        200
    );
}

#[test]
fn a_name_can_be_allowed() {
    let server = Running::start_with(|app| app.access.hosts = vec!["box.lan".into()]);
    let headers = [("Host", "Box.Lan"), ("Origin", "https://box.lan")];
    assert_eq!(server.request("GET", "/api/v1/health", &headers, b"").status, 200);
}

#[test]
fn a_token_opens_what_its_scope_says() {
    let (server, tokens) = guarded();
    let made = |scope: Scope| tokens.create(scope, "", now()).unwrap().text;
    let [ingest, read, admin] = Scope::ALL.map(made);
    for (method, path, body, allowed) in [
        ("POST", "/v1/hooks", EVENT, [true, false, true]),
        ("GET", "/api/v1/health", b"".as_slice(), [false, true, true]),
        ("GET", "/api/v1/sessions", b"".as_slice(), [false, true, true]),
    ] {
        for (token, allowed) in [&ingest, &read, &admin].into_iter().zip(allowed) {
            let answer = with_token(&server, method, path, token, body);
            if allowed {
                assert_eq!(answer.status, 200, "{path}");
            } else {
                assert_eq!((answer.status, answer.error().as_str()), (403, "wrong_scope"), "{path}");
            }
        }
        let none = server.request(method, path, &[], body);
        assert_eq!((none.status, none.error().as_str()), (401, "no_token"));
        assert!(none.head.to_lowercase().contains("www-authenticate: bearer"), "{}", none.head);
        let last = if admin.ends_with('0') { '1' } else { '0' };
        let changed = format!("{}{last}", &admin[..admin.len() - 1]);
        for wrong in ["x", "unspool_00000000_00", &changed, &format!("{admin}0")] {
            let answer = with_token(&server, method, path, wrong, body);
            assert_eq!((answer.status, answer.error().as_str()), (401, "bad_token"));
        }
    }
    // Only what was allowed is kept: the events of two tokens.
    assert_eq!(server.app.engine.log().end(), 2);
}

#[test]
fn a_revoked_token_is_worthless_at_once() {
    let (server, tokens) = guarded();
    let made = tokens.create(Scope::Read, "", now()).unwrap();
    assert_eq!(with_token(&server, "GET", "/api/v1/health", &made.text, b"").status, 200);
    assert!(tokens.revoke(&made.token.id).unwrap());
    assert_eq!(with_token(&server, "GET", "/api/v1/health", &made.text, b"").status, 401);
}

#[test]
fn a_token_is_hashed_once_and_then_remembered() {
    let (server, tokens) = guarded();
    let token = tokens.create(Scope::Read, "", now()).unwrap().text;
    let ask = || {
        let start = Instant::now();
        assert_eq!(with_token(&server, "GET", "/api/v1/health", &token, b"").status, 200);
        start.elapsed()
    };
    let first = ask();
    let fastest = (0..20).map(|_| ask()).min().unwrap();
    assert!(fastest < first && fastest < Duration::from_millis(10), "{first:?} {fastest:?}");
}

#[test]
fn otlp_is_refused_in_its_own_words() {
    let (server, _) = guarded();
    let json = server.request("POST", "/v1/traces", &[("Content-Type", "application/json")], b"{}");
    assert_eq!((json.status, &json.json()["code"]), (401, &16.into()));
    assert!(json.json()["message"].as_str().unwrap().contains("token"));
    let headers = [("Content-Type", "application/x-protobuf"), ("Host", "evil.example")];
    let protobuf = server.request("POST", "/v1/logs", &headers, b"");
    assert_eq!(protobuf.status, 403);
    assert!(protobuf.head.contains("application/x-protobuf"), "{}", protobuf.head);
    // Field 1 is the code: 7, permission denied.
    assert_eq!(protobuf.body[..2], [8, 7]);
}

/// Exports nothing over gRPC, and gives back the status.
fn export(server: &Running, token: Option<&str>) -> u32 {
    Export { token, ..Export::of(b"") }.send(server).status
}

#[test]
fn grpc_asks_for_a_token_too() {
    let (server, tokens) = guarded();
    let [ingest, read, _] = Scope::ALL.map(|scope| tokens.create(scope, "", now()).unwrap().text);
    let (ok, denied, unauthenticated) = (0, 7, 16);
    assert_eq!(export(&server, None), unauthenticated);
    assert_eq!(export(&server, Some("x")), unauthenticated);
    assert_eq!(export(&server, Some(&read)), denied);
    assert_eq!(server.app.refusals.all(), [("bad_token", 1), ("no_token", 1), ("wrong_scope", 1)]);
    assert_eq!(export(&server, Some(&ingest)), ok);
    assert_eq!(export(&Running::start(), None), ok);
}

/// A page can have a browser send the bytes of gRPC to this machine, as text and without asking first.
#[test]
fn grpc_is_not_for_pages_of_other_sites() {
    let server = Running::start();
    let send = |kind: &str, host: &str, more: &str| {
        let mut stream = std::net::TcpStream::connect(server.grpc).unwrap();
        let path = "/opentelemetry.proto.collector.trace.v1.TraceService/Export";
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: {kind}\r\n{more}Content-Length: 5\r\nConnection: close\r\n\r\n"
        );
        stream.write_all(&[head.as_bytes(), &[0; 5]].concat()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let status = answer.lines().find_map(|line| line.strip_prefix("grpc-status: ")).map(String::from);
        status.unwrap_or_default()
    };
    let (own, grpc) = (server.grpc.to_string(), "application/grpc+proto");
    let (denied, unimplemented) = ("7", "12");
    assert_eq!(send("text/plain", &own, ""), unimplemented);
    assert_eq!(send("application/grpcx", &own, ""), unimplemented);
    assert_eq!(send(grpc, "evil.example", ""), denied);
    assert_eq!(send(grpc, &own, "Origin: http://evil.example\r\n"), denied);
    assert_eq!(server.app.refusals.all(), [("foreign_host", 1), ("foreign_origin", 1), ("no_grpc", 2)]);
    assert_eq!(send(grpc, &own, ""), "", "taken: its status comes behind the message");
}

fn bind(access: Access, address: &str, token: bool) -> Result<(), ServeError> {
    let folder = tempfile::tempdir().unwrap();
    if token {
        Tokens::of(folder.path()).create(Scope::Admin, "", now()).unwrap();
    }
    let mut app = App::new(Engine::open(Options::new(folder.path(), now)).unwrap());
    app.access = access;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let addresses = Addresses { http: address.into(), grpc: "127.0.0.1:0".into() };
    runtime.block_on(Server::bind(Arc::new(app), &addresses)).map(|_| ())
}

#[test]
fn beyond_this_machine_a_token_is_needed_or_somebody_said_that_none_is() {
    let unguarded = bind(Access::default(), "0.0.0.0:0", false);
    assert!(matches!(unguarded, Err(ServeError::Unguarded { .. })), "{unguarded:?}");
    bind(Access::default(), "0.0.0.0:0", true).unwrap();
    bind(Access { allow_unauthenticated: true, ..Access::default() }, "0.0.0.0:0", false).unwrap();
    bind(Access::default(), "127.0.0.1:0", false).unwrap();
}

#[test]
fn too_many_headers_are_refused() {
    let server = Running::start();
    let names: Vec<String> = (0..150).map(|n| format!("X-{n}")).collect();
    let headers: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "1")).collect();
    assert_eq!(server.request("GET", "/api/v1/health", &headers, b"").status, 431);
}

#[test]
#[cfg(unix)]
fn only_their_owner_reads_the_files() {
    use std::os::unix::fs::PermissionsExt;
    let (server, tokens) = guarded();
    let token = tokens.create(Scope::Ingest, "", now()).unwrap().text;
    assert_eq!(with_token(&server, "POST", "/v1/hooks", &token, EVENT).status, 200);
    server.app.engine.settle();
    let mut folders = vec![server.folder.path().to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let mode = path.metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o077, 0, "{}: {mode:o}", path.display());
            if path.is_dir() {
                folders.push(path);
            }
        }
    }
}
