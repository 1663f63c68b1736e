//! Senders that do not go on, and the end of the server: nobody is waited for without end, and what is under way is finished.

use crate::overload::{Export, begin_slowly, events, large_span, span};
use crate::running::Running;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};
use unspool_testkit::PATIENCE;

/// A short while, and one that nobody waits for.
const SHORT: Duration = Duration::from_millis(300);
const LONG: Duration = Duration::from_secs(600);

/// All that is answered, to the end of the connection.
fn heard(mut stream: TcpStream) -> String {
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut answer = Vec::new();
    if let Err(error) = stream.read_to_end(&mut answer) {
        // The system says so when bytes came behind the end.
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    }
    String::from_utf8(answer).unwrap()
}

fn counted(server: &Running, code: &str) -> u64 {
    server.app.refusals.all().iter().find(|(name, _)| *name == code).map_or(0, |(_, count)| *count)
}

#[test]
fn a_body_that_does_not_go_on_is_refused_and_its_room_is_free() {
    let server = Running::start_with(|app| {
        app.limits.reading_bytes = 100_000;
        app.times.body_silence = SHORT;
    });
    let body = events();
    let answer = heard(begin_slowly(&server, &body));
    assert!(answer.starts_with("HTTP/1.1 408") && answer.contains("`max_body_silence_s`"), "{answer}");
    assert_eq!(counted(&server, "too_slow"), 1);
    let other = begin_slowly(&server, &body);
    assert_eq!(server.post("/v1/hooks", r#"{"session_id":"s","hook_event_name":"Stop"}"#).status, 200);
    assert!(heard(other).starts_with("HTTP/1.1 408"));
    assert_eq!(server.post("/v1/ingest?name=e.jsonl", &body).status, 200, "there is room again");
}

#[test]
fn who_is_silent_makes_room_for_others_when_there_is_none() {
    let server = Running::start_with(|app| {
        app.limits.reading_bytes = 100_000;
        app.times.body_silence = LONG;
        app.times.body_silence_when_full = SHORT;
    });
    let body = events();
    let silent = begin_slowly(&server, &body);
    let from = Instant::now();
    let mut refused = 0;
    // Whether the silent one came first is seen when the other is refused.
    while refused == 0 || server.post("/v1/ingest?name=e.jsonl", &body).status != 200 {
        refused += u64::from(server.post("/v1/ingest?name=e.jsonl", &body).status == 429);
        assert!(from.elapsed() < PATIENCE, "there was never room");
    }
    let answer = heard(silent);
    assert!(answer.contains("408") && answer.contains("`max_body_silence_when_full_s`"), "{answer}");
}

#[test]
fn a_message_over_grpc_that_does_not_go_on_is_refused() {
    let server = Running::start_with(|app| app.times.body_silence = SHORT);
    let large = large_span();
    let refused = Export { cut_at: Some(30_000), ..Export::of(&large) }.send(&server);
    assert_eq!(refused.status, 4);
    assert!(refused.message.contains("`max_body_silence_s`"), "{}", refused.message);
    assert_eq!(counted(&server, "too_slow"), 1);
    assert_eq!(Export::of(&span(1)).send(&server).status, 0);
}

#[test]
fn who_does_not_say_what_he_wants_is_not_waited_for() {
    let server = Running::start_with(|app| app.times.head = SHORT);
    for said in ["", "P", "PRI * HTTP/2.0\r\n", "GET /api/v1/health HTTP/1.1\r\nHost: loc"] {
        for address in [server.http, server.grpc] {
            let mut slow = TcpStream::connect(address).unwrap();
            slow.write_all(said.as_bytes()).unwrap();
            let answer = heard(slow);
            assert!(!answer.contains("200"), "{said}: {answer}");
        }
    }
    // Also behind an answer.
    let mut slow = TcpStream::connect(server.http).unwrap();
    write!(slow, "GET /api/v1/health HTTP/1.1\r\nHost: {}\r\n\r\nGET", server.http).unwrap();
    assert!(heard(slow).starts_with("HTTP/1.1 200"));
}

#[test]
fn what_is_under_way_is_finished_at_the_end() {
    let server = Running::start_with(|app| app.times.drain = LONG);
    let body = events();
    let mut slow = begin_slowly(&server, &body);
    // It is under way when the server has read of it.
    while server.app.reading_bytes() == 0 {
        std::thread::sleep(Duration::from_millis(1));
    }
    server.tell_to_stop();
    // Nobody else comes in.
    let from = Instant::now();
    while TcpStream::connect(server.http).is_ok() {
        assert!(from.elapsed() < PATIENCE, "it still listens");
        std::thread::sleep(Duration::from_millis(1));
    }
    slow.write_all(&body.as_bytes()[60_000..]).unwrap();
    assert!(heard(slow).starts_with("HTTP/1.1 200"));
    server.wait();
    assert_eq!(server.sessions(), ["s1"]);
}

#[test]
fn what_does_not_finish_is_not_waited_for_at_the_end() {
    let server = Running::start_with(|app| {
        app.times.drain = SHORT;
        app.times.body_silence = LONG;
    });
    assert_eq!(server.post("/v1/ingest?name=e.jsonl", events()).status, 200);
    let slow = begin_slowly(&server, &events());
    let mut no_head = TcpStream::connect(server.http).unwrap();
    no_head.write_all(b"GET / HTTP").unwrap();
    let large = large_span();
    let message = Export { cut_at: Some(30_000), ..Export::of(&large) };
    std::thread::scope(|scope| {
        let grpc = scope.spawn(|| message.try_send(&server));
        while server.app.reading_bytes() < 60_000 + 30_000 {
            std::thread::sleep(Duration::from_millis(1));
        }
        server.tell_to_stop();
        server.wait();
        assert!(grpc.join().unwrap().is_none(), "it was acknowledged");
    });
    assert!(!heard(slow).contains("200"));
    assert_eq!(server.sessions(), ["s1"], "what was acknowledged is there");
}
