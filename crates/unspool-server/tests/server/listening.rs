//! The live stream: what is told, how it goes on, and how it ends.

use crate::asking::{Asked, put};
use crate::running::Running;
use crate::upload::hook_lines;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::Duration;
use unspool_server::Notice;
use unspool_testkit::{Shape, generate};

/// Nothing takes so long that is not broken.
const PATIENCE: Duration = Duration::from_secs(20);

struct Listening {
    lines: BufReader<TcpStream>,
    head: String,
}

#[derive(Debug)]
struct Event {
    name: String,
    id: u64,
    data: Value,
}

impl Listening {
    fn to(running: &Running, path: &str, last: Option<u64>) -> Listening {
        let mut stream = TcpStream::connect(running.http).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let resume = last.map(|id| format!("Last-Event-ID: {id}\r\n")).unwrap_or_default();
        let host = running.http;
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\nAccept-Encoding: gzip\r\n{resume}\r\n")
            .unwrap();
        let mut lines = BufReader::new(stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert!(lines.read_line(&mut head).unwrap() > 0, "{head}");
        }
        Listening { lines, head }
    }

    /// The next event; none at the end of the stream. Lengths of chunks and comments are passed over.
    fn next(&mut self) -> Option<Event> {
        let mut event = Event { name: String::new(), id: 0, data: Value::Null };
        loop {
            let mut line = String::new();
            if self.lines.read_line(&mut line).unwrap() == 0 || line == "0\r\n" {
                return None;
            }
            match line.trim_end().split_once(": ") {
                Some(("event", name)) => event.name = name.into(),
                Some(("id", id)) => event.id = id.parse().unwrap(),
                Some(("data", data)) => event.data = serde_json::from_str(data).unwrap(),
                // An event ends with an empty line of its own; chunks end with one, too.
                _ if line == "\n" && !event.name.is_empty() => return Some(event),
                _ => {}
            }
        }
    }

    fn expect(&mut self, name: &str) -> Event {
        let event = self.next().unwrap();
        assert_eq!(event.name, name, "{event:?}");
        event
    }
}

#[test]
fn a_listener_hears_of_every_session_and_can_go_on_where_it_stopped() {
    let running = Running::start();
    let mut listening = Listening::to(&running, "/api/v1/live", None);
    assert!(listening.head.contains("text/event-stream"));
    let ready = listening.expect("ready");
    put(&running, &generate(Shape::default(), 1));
    let first = listening.expect("change");
    assert!(first.id > ready.id && first.data["sequence"] == first.id);
    assert!(first.data["session"]["steps"].as_u64().unwrap() > 0);
    assert!(first.data["steps"].as_array().unwrap().is_empty());
    drop(listening);

    put(&running, &generate(Shape::default(), 2));
    let mut again = Listening::to(&running, "/api/v1/live", Some(ready.id));
    again.expect("ready");
    assert_eq!(again.expect("change").id, first.id);
    let mut last = again.expect("change");
    while last.id < running.app.engine.changes().last() {
        last = again.expect("change");
    }
    assert_ne!(last.data["session_id"], first.data["session_id"]);
}

#[test]
fn a_change_tells_its_steps_up_to_a_limit() {
    for (count, told) in [(1000, 1000), (1100, 0)] {
        let running = Running::start();
        let mut listening = Listening::to(&running, "/api/v1/live?steps=true", None);
        listening.expect("ready");
        assert_eq!(running.post("/v1/ingest?name=e.jsonl", hook_lines(count)).status, 200);
        let change = listening.expect("change").data;
        assert_eq!((&change["step_count"], &change["whole"]), (&json!(count), &json!(true)));
        assert_eq!(change["step_ids"].as_array().unwrap().len(), count);
        assert_eq!(change["steps"].as_array().unwrap().len(), told);
    }
}

#[test]
fn a_listener_of_one_session_gets_its_steps_and_no_others() {
    let asked = Asked::new();
    let path = format!("/api/v1/live?session={}", asked.id);
    let mut listening = Listening::to(&asked.running, &path, None);
    listening.expect("ready");
    put(&asked.running, &generate(Shape::default(), 2));
    let native = &asked.labelled.sessions[0].native_ids[0];
    let line = format!(
        "{{\"type\":\"user\",\"sessionId\":\"{native}\",\"uuid\":\"u-last\",\"timestamp\":\"2026-10-01T00:00:00Z\",\
         \"message\":{{\"role\":\"user\",\"content\":\"one thing more\"}}}}\n"
    );
    let answer = asked.running.request("POST", "/v1/ingest?name=more.jsonl", &[], line.as_bytes());
    assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.body));
    let change = listening.expect("change");
    assert_eq!(change.data["session_id"], asked.id.as_str());
    let steps = change.data["steps"].as_array().unwrap();
    assert!(steps.iter().any(|step| step["preview"] == "one thing more"), "{change:?}");
    assert_eq!(steps.len() as u64, change.data["step_count"].as_u64().unwrap());
}

#[test]
fn who_missed_changes_is_told_to_look_again() {
    let running = Running::start();
    put(&running, &generate(Shape::default(), 1));
    for (n, path, last_event) in [(2, "/api/v1/live", Some(1)), (3, "/api/v1/live?since=1", None)] {
        let last = running.app.engine.changes().last();
        let mut late = Listening::to(&running, path, last_event);
        assert_eq!(late.expect("reset").id, last);
        put(&running, &generate(Shape::default(), n));
        assert!(late.expect("change").id > last);
    }
    let unknown = running.app.engine.changes().last() + 5;
    Listening::to(&running, "/api/v1/live", Some(unknown)).expect("reset");
}

#[test]
fn a_stream_ends_when_the_server_does() {
    let running = Running::start();
    let mut listening = Listening::to(&running, "/api/v1/live", None);
    listening.expect("ready");
    drop(running);
    assert!(listening.next().is_none());
}

#[test]
fn notices_are_told_under_their_own_name() {
    let asked = Asked::new();
    let path = format!("/api/v1/live?session={}", asked.id);
    let mut listening = Listening::to(&asked.running, &path, None);
    listening.expect("ready");
    let notice = |session: &str, n: u64| Notice {
        name: "thoughtflow.artifacts",
        session: session.into(),
        data: n.into(),
    };
    asked.running.app.notices.tell(notice("somebody else", 1));
    asked.running.app.notices.tell(notice(&asked.labelled.sessions[0].native_ids[0], 2));
    assert_eq!(listening.expect("thoughtflow.artifacts").data, 2);
}
