//! Words in all sessions, over HTTP.

use crate::running::Running;
use serde_json::{Value, json};
use unspool_engine::live::{Arrival, Part};

/// A server with two sessions.
fn server() -> Running {
    let running = Running::start();
    for (session, day, texts) in [
        ("first", 1, ["fix the Rounding error", "in the coupon code"]),
        ("second", 2, ["another rounding, no coupon", "an error (of rounding)"]),
    ] {
        let line = |(n, text): (usize, &&str)| {
            let record = json!({
                "type": "user", "sessionId": session, "uuid": format!("{session}-{n}"), "version": "2.1.0", "cwd": "/w",
                "timestamp": format!("2026-01-0{day}T00:00:0{n}Z"), "message": {"role": "user", "content": text},
            });
            format!("{record}\n")
        };
        let bytes = texts.iter().enumerate().map(line).collect::<String>().into_bytes();
        let part =
            Arrival::Part(Part { path: format!("{session}.jsonl"), offset: 0, bytes, checkpoint: None });
        running.app.engine.take(part).unwrap();
    }
    running.app.engine.settle();
    running.app.engine.settle_texts();
    running
}

fn natives(sessions: &Value, of: impl Fn(&Value) -> &Value) -> Vec<&str> {
    let list = sessions["sessions"].as_array().unwrap();
    list.iter().map(|one| of(one)["native_ids"][0].as_str().unwrap()).collect()
}

#[test]
fn words_phrases_and_beginnings_are_found() {
    let running = server();
    for (query, expected) in [
        ("rounding", vec!["second", "first"]),
        ("ROUND*", vec!["second", "first"]),
        ("rounding+coupon+fix", vec!["first"]),
        ("%22rounding+error%22", vec!["first"]),
        ("%28of", vec!["second"]),
        ("round", vec![]),
        ("rounding&until=2026-01-02T00:00:00Z", vec!["first"]),
        ("rounding&limit=1", vec!["second"]),
    ] {
        let found = running.get(&format!("/api/v1/search?q={query}")).json();
        assert_eq!(natives(&found, |one| &one["session"]), expected, "{query}");
        let list = running.get(&format!("/api/v1/sessions?q={query}")).json();
        assert_eq!(natives(&list, |one| one), expected, "{query}");
        assert_eq!((&found["unsearched_sessions"], &list["unsearched_sessions"]), (&json!(0), &json!(0)));
        assert_eq!(found["matching"], list["matching"]);
    }
    let found = running.get("/api/v1/search?q=%22rounding+error%22+=%3E").json();
    assert_eq!(found["ignored"], json!(["=>"]));
    let hit = &found["sessions"][0]["hits"][0];
    assert_eq!([&hit["before"], &hit["hit"], &hit["after"]], ["fix the ", "Rounding error", ""]);
    let (session, step) = (&found["sessions"][0]["session"]["id"], hit["step"].as_str().unwrap());
    let detail = running.get(&format!("/api/v1/sessions/{}/steps/{step}", session.as_str().unwrap()));
    assert_eq!(detail.status, 200);
    assert_eq!(running.get("/api/v1/health").json()["index_lag_ms"], 0);
}

#[test]
fn whatever_is_typed_gets_an_answer() {
    let running = server();
    for query in
        ["%22", "*", "%00", "a%20AND", "NEAR(a,b)", "%27;--", "-a", "^a", "x:y", "%F0%9F%98%80", "+%22+*%22*"]
    {
        let answer = running.get(&format!("/api/v1/search?q={query}"));
        assert_eq!(answer.status, 200, "{query}: {}", String::from_utf8_lossy(&answer.body));
    }
    assert_eq!(running.get("/api/v1/search").error(), "bad_parameter");
    assert_eq!(running.get(&format!("/api/v1/search?q={}", "a".repeat(2000))).error(), "bad_parameter");
    assert_eq!(running.get(&format!("/api/v1/sessions?q={}", "a".repeat(2000))).error(), "bad_parameter");
}
