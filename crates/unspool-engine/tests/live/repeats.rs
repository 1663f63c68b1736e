//! What is said again and again, as by requests that repeat their history, takes room once and is found where it was said first.

use crate::same::open;
use crate::texts::{compare, part};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::Path;
use unspool_engine::live::{Arrival, Engine};
use unspool_store::Question;
use unspool_testkit::Random;

/// About as hard to compress as source code.
fn words(random: &mut Random, count: usize) -> String {
    let mut text = String::new();
    for _ in 0..count {
        let word = if random.below(2) == 0 { random.below(500) * 7_919 } else { random.below(1 << 40) };
        let _ = write!(text, "{word:x} ");
    }
    text
}

/// A conversation of so many turns, as what is asked each time and what is answered.
fn conversation(turns: usize) -> Vec<(String, String)> {
    let mut random = Random::new(600);
    let turn = |n| {
        let asked = format!("asked{n} {}", words(&mut random, 40));
        (asked, format!("answered{n} {}", words(&mut random, 15)))
    };
    (0..turns).map(turn).collect()
}

/// The messages of a request, in all but the last of which everything was said before.
fn messages(said: &[(String, String)], content: impl Fn(&str) -> Value) -> Vec<Value> {
    let message = |role: &str, text: &str| json!({"role": role, "content": content(text)});
    let mut all: Vec<Value> = said
        .iter()
        .flat_map(|(asked, answered)| [message("user", asked), message("assistant", answered)])
        .collect();
    all.pop();
    all
}

/// Requests and their answers, a line each.
fn traffic(said: &[(String, String)]) -> Vec<Arrival> {
    let mut offset = 0;
    let lines = (1..=said.len()).map(|turn| {
        let answer = json!([{"type": "text", "text": said[turn - 1].1}]);
        let line = json!({
            "timestamp": format!("2026-01-01T{:02}:{:02}:00Z", turn / 60, turn % 60),
            "path": "/v1/messages",
            "request": {"model": "claude-sonnet-4-5", "messages": messages(&said[..turn], |text| json!([{"type": "text", "text": text}]))},
            "response": {"id": format!("msg_{turn}"), "type": "message", "role": "assistant", "model": "claude-sonnet-4-5",
                "content": answer, "usage": {"input_tokens": 10, "output_tokens": 5}},
        });
        let line = format!("{line}\n").into_bytes();
        offset += line.len();
        part("traffic.jsonl", offset - line.len(), &line)
    });
    lines.collect()
}

/// Spans that quote what the model was told, in a body each.
fn spans(said: &[(String, String)]) -> Vec<Arrival> {
    let span = |turn: usize| {
        let start = 1_767_348_000_000_000_000 + turn as u64 * 1_000_000_000;
        let text = |key: &str, value: String| json!({"key": key, "value": {"stringValue": value}});
        let told = messages(&said[..turn], |text| json!([{"type": "text", "content": text}]));
        let span = json!({
            "traceId": format!("{:032x}", 7), "spanId": format!("{turn:016x}"), "name": "chat", "startTimeUnixNano": start.to_string(),
            "endTimeUnixNano": (start + 500_000).to_string(),
            "attributes": [
                text("gen_ai.operation.name", "chat".into()), text("gen_ai.request.model", "gpt-5".into()),
                text("gen_ai.input.messages", Value::from(told).to_string()),
                text("gen_ai.output.messages", json!([{"role": "assistant", "parts": [{"type": "text", "content": said[turn - 1].1}]}]).to_string()),
            ],
        });
        let bytes = json!({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}).to_string().into_bytes();
        Arrival::Body { source: "otlp-http".into(), name: "traces.json".into(), bytes }
    };
    (1..=said.len()).map(span).collect()
}

fn bytes_of(arrival: &Arrival) -> u64 {
    match arrival {
        Arrival::Part(part) => part.bytes.len() as u64,
        Arrival::Body { bytes, .. } => bytes.len() as u64,
    }
}

fn bytes_in(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let size = |entry: std::fs::DirEntry| {
        let about = entry.metadata().unwrap();
        if about.is_dir() { bytes_in(&entry.path()) } else { about.len() }
    };
    entries.map(size).sum()
}

fn first_hit(engine: &Engine, typed: &str) -> (usize, String) {
    let found = engine.search(typed, &Question::default()).unwrap();
    assert_eq!(found.sessions.len(), 1, "{typed}");
    let hits = &found.sessions[0].hits;
    (hits.len(), hits[0].snippet.hit.clone())
}

/// Takes everything; gives what was received and what lies on the disk for it, with everything derived.
fn taken(arrivals: Vec<Arrival>) -> (u64, u64) {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(folder.path());
    let mut raw = 0;
    for arrival in arrivals {
        raw += bytes_of(&arrival);
        engine.take(arrival).unwrap();
    }
    engine.settle();
    engine.settle_texts();
    for typed in ["asked0", "answered7", "asked119"] {
        assert_eq!(first_hit(&engine, typed).1, typed);
    }
    drop(engine);
    (raw, bytes_in(folder.path()))
}

#[test]
fn traffic_that_repeats_its_history_takes_what_it_adds() {
    let said = conversation(300);
    let (short, (raw, long)) = (taken(traffic(&said[..150])).1, taken(traffic(&said)));
    assert!(raw > 20_000_000 && long * 10 < raw, "{long} of {raw} bytes");
    assert!(long * 10 < short * 25, "{short} bytes for half the turns, {long} for all");
}

#[test]
fn spans_that_repeat_their_history_take_what_they_add() {
    let said = conversation(300);
    let (short, (raw, long)) = (taken(spans(&said[..150])).1, taken(spans(&said)));
    assert!(raw > 20_000_000 && long * 10 < raw, "{long} of {raw} bytes");
    assert!(long * 10 < short * 25, "{short} bytes for half the turns, {long} for all");
}

/// A line of a transcript.
fn line(file: usize, n: usize, text: &str) -> String {
    let message = json!({
        "type": "user", "sessionId": "many", "uuid": format!("{file}-{n}"), "version": "2.1.0", "cwd": "/w",
        "timestamp": format!("2026-01-01T0{file}:{:02}:{:02}Z", n / 60 % 60, n % 60),
        "message": {"role": "user", "content": text},
    });
    format!("{message}\n")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4, failure_persistence: None, ..ProptestConfig::default() })]

    /// Several files of one large session grow in turn, and what stands in one is said again in others.
    #[test]
    fn what_is_said_again_is_found(seed in 0_u64..1_000_000) {
        let mut random = Random::new(seed);
        let pool: Vec<String> = (0..60).map(|n| {
            let count = 500 + random.below(2_000);
            format!("only{n} {}", words(&mut random, count))
        }).collect();
        let folder = tempfile::tempdir().unwrap();
        let mut engine = open(folder.path());
        let mut lengths = [0; 3];
        for n in 0..200 {
            let file = random.below(3);
            let text = if random.below(4) == 0 { "again" } else { &pool[random.below(pool.len())] };
            let line = line(file, n, text);
            engine.take(part(&format!("{file}/many.jsonl"), lengths[file], line.as_bytes())).unwrap();
            lengths[file] += line.len();
            if n % 70 == 69 {
                compare(&engine, &mut random);
            }
            if random.below(60) == 0 {
                drop(engine);
                engine = open(folder.path());
            }
        }
        compare(&engine, &mut random);
        prop_assert_eq!(engine.sessions(&Question::default()).unwrap().sessions.len(), 1);
    }
}
