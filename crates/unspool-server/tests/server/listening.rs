//! The live stream: what is told, how it goes on, and how it ends.

use crate::asking::{Asked, put};
use crate::guard::guarded;
use crate::running::{Running, now};
use crate::upload::hook_lines;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use unspool_server::{Notice, Scope};
use unspool_testkit::{PATIENCE, Shape, generate};

/// Nothing takes so long that is not broken.
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
        Listening::with(running, path, &last.map(|id| format!("Last-Event-ID: {id}\r\n")).unwrap_or_default())
    }

    /// With some more lines of a head.
    fn with(running: &Running, path: &str, more: &str) -> Listening {
        let mut stream = TcpStream::connect(running.http).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let host = running.http;
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\nAccept-Encoding: gzip\r\n{more}\r\n").unwrap();
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
        let reset = late.expect("reset");
        assert_eq!((reset.id, &reset.data["sequence"]), (last, &json!(last)));
        // What was missed is told as it is now: nothing has to be asked for.
        let list = running.get("/api/v1/sessions?sort=ended&order=desc").json();
        assert_eq!(reset.data["sessions"], list["sessions"]);
        assert_eq!(reset.data["left_out"], 0);
        put(&running, &generate(Shape::default(), n));
        assert!(late.expect("change").id > last);
    }
    let unknown = running.app.engine.changes().last() + 5;
    Listening::to(&running, "/api/v1/live", Some(unknown)).expect("reset");
    let id = running.get("/api/v1/sessions").json()["sessions"][0]["id"].clone();
    let path = format!("/api/v1/live?session={}", id.as_str().unwrap());
    let reset = Listening::to(&running, &path, Some(1)).expect("reset").data;
    assert_eq!(reset["sessions"].as_array().unwrap().len(), 1);
    assert_eq!((&reset["sessions"][0]["id"], &reset["left_out"]), (&id, &json!(0)));
}

#[test]
fn a_reset_tells_of_so_many_sessions_and_counts_the_others() {
    let running = Running::start();
    let line = |n: usize| {
        format!(
            "{{\"received_at\":\"2026-10-01T00:{:02}:{:02}Z\",\"stdin\":{{\"hook_event_name\":\"Stop\",\"session_id\":\"s{n}\"}}}}\n",
            n / 60,
            n % 60
        )
    };
    let lines: String = (0..103).map(line).collect();
    assert_eq!(running.post("/v1/ingest?name=e.jsonl", lines).status, 200);
    running.app.engine.settle();
    let reset = Listening::to(&running, "/api/v1/live", Some(1)).expect("reset").data;
    assert_eq!((reset["sessions"].as_array().unwrap().len(), &reset["left_out"]), (100, &json!(3)));
    assert_eq!(reset["sessions"][0]["native_ids"], json!(["s102"]));
}

/// A client that keeps a graph by what it is told has the same as one that asks again.
#[test]
fn edges_and_agents_that_are_different_are_told() {
    let asked = Asked::new();
    let path = format!("/api/v1/sessions/{}", asked.id);
    let before = asked.running.get(&path).json();
    let steps = before["steps"].as_array().unwrap();
    let (first, last) = (&steps[0]["id"], &steps[steps.len() - 1]["id"]);
    let mut edges = Edges::of(&before);
    let mut listening = Listening::to(&asked.running, &format!("/api/v1/live?session={}", asked.id), None);
    listening.expect("ready");
    let say = |action: &str, from: &Value| {
        let wanted = json!({"action": action, "from": from, "to": last, "kind": "data", "who": "ada"});
        let answer = asked.running.post(&format!("{path}/links"), wanted.to_string());
        assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.body));
    };
    let mut told = |edges: &mut Edges| {
        let change = listening.expect("change").data;
        assert_eq!(change["whole"], false, "{change}");
        edges.follow(&change);
        assert_eq!(*edges, Edges::of(&asked.running.get(&path).json()), "{change}");
        change
    };
    for from in [first, &steps[1]["id"]] {
        say("add", from);
        let change = told(&mut edges);
        assert_eq!((&change["edge_count"], &change["step_count"]), (&json!(1), &json!(0)), "{change}");
        assert_eq!((&change["edges"][0]["from"], &change["edges"][0]["to"]), (from, last));
        assert_eq!(change["others"], json!(["links"]));
    }
    say("remove", first);
    let change = told(&mut edges);
    assert_eq!((&change["edges_removed"][0]["from"], &change["edge_count"]), (first, &json!(1)));
    // Records that come tell of edges and agents, too.
    let native = &asked.labelled.sessions[0].native_ids[0];
    let line = format!(
        "{{\"type\":\"user\",\"sessionId\":\"{native}\",\"uuid\":\"u-last\",\"timestamp\":\"2026-10-01T00:00:00Z\",\
         \"message\":{{\"role\":\"user\",\"content\":\"one thing more\"}}}}\n"
    );
    assert_eq!(asked.running.post("/v1/ingest?name=more.jsonl", line).status, 200);
    let change = told(&mut edges);
    let agents = asked.running.get(&path).json();
    let is_agent = |id: &Value| agents["agents"].as_array().unwrap().iter().any(|agent| agent["id"] == *id);
    assert!(change["agent_ids"].as_array().unwrap().iter().all(is_agent), "{change}");
    assert!(change["step_count"].as_u64().unwrap() > 0);
}

/// Edges by their ends and kind, as texts.
#[derive(Debug, PartialEq)]
struct Edges(std::collections::BTreeMap<String, Vec<String>>);

impl Edges {
    fn ends(edge: &Value) -> String {
        format!("{} {} {}", edge["from"], edge["to"], edge["kind"])
    }

    fn of(session: &Value) -> Edges {
        let mut edges = Edges(std::collections::BTreeMap::new());
        for edge in session["edges"].as_array().unwrap() {
            edges.0.entry(Edges::ends(edge)).or_default().push(edge.to_string());
        }
        edges
    }

    fn follow(&mut self, change: &Value) {
        for edge in change["edges_removed"].as_array().unwrap() {
            self.0.remove(&Edges::ends(edge)).unwrap();
        }
        self.0.extend(Edges::of(change).0);
    }
}

#[test]
fn nothing_is_held_for_a_reader_that_does_not_read() {
    // More than are kept, in so many rounds.
    let (rounds, each) = (16, 1000);
    let running = Running::start();
    let mut silent = Listening::to(&running, "/api/v1/live", None);
    let mut sound = Listening::to(&running, "/api/v1/live", None);
    sound.expect("ready");
    let mut last = 0;
    for round in 0..rounds {
        let line = |n: usize| {
            format!(
                "{{\"session_id\":\"s{round}-{n}\",\"hook_event_name\":\"SessionStart\",\"cwd\":\"/src\"}}\n"
            )
        };
        let lines: String = (0..each).map(line).collect();
        assert_eq!(running.post("/v1/ingest?name=e.jsonl", lines).status, 200);
        for _ in 0..each {
            last = sound.expect("change").id;
        }
    }
    assert_eq!(last, running.app.engine.changes().last());
    silent.expect("ready");
    let mut told = 0;
    let reset = loop {
        let event = silent.next().unwrap();
        if event.name == "reset" {
            break event;
        }
        told += 1;
    };
    assert!(told < rounds * each - 8192, "{told} changes waited for it");
    assert_eq!((reset.id, &reset.data["sequence"]), (last, &json!(last)));
    // It hears what follows.
    put(&running, &generate(Shape::default(), 1));
    assert!(silent.expect("change").id > last);
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

#[test]
fn who_listens_with_a_revoked_token_hears_nothing_more() {
    let (running, tokens) = guarded();
    let made = [(); 2].map(|()| tokens.create(Scope::Read, "", now()).unwrap());
    let [mut revoked, mut kept] = made.each_ref().map(|made| {
        let head = format!("Authorization: Bearer {}\r\n", made.text);
        Listening::with(&running, "/api/v1/live", &head)
    });
    revoked.expect("ready");
    kept.expect("ready");
    put(&running, &generate(Shape::default(), 1));
    let first = revoked.expect("change").id;
    assert_eq!(kept.expect("change").id, first);
    running.app.engine.settle();
    let before = running.app.engine.changes().last();

    assert!(tokens.revoke(&made[0].token.id).unwrap());
    put(&running, &generate(Shape::default(), 2));
    while let Some(event) = revoked.next() {
        assert!(event.id <= before, "{event:?}");
    }
    let mut last = first;
    while last <= before {
        last = kept.expect("change").id;
    }

    // Where nothing is told, the stream ends, too.
    assert!(tokens.revoke(&made[1].token.id).unwrap());
    running.app.engine.settle();
    while let Some(event) = kept.next() {
        assert!(event.id <= running.app.engine.changes().last());
    }
}
