//! `POST /v1/hooks`: events of Claude Code, with the moment they came.

use crate::running::{Running, now};
use serde_json::Value;

const EVENT: &str = r#"{"session_id":"s-1","hook_event_name":"PreToolUse","tool_name":"Bash","tool_use_id":"toolu_1","tool_input":{"command":"ls"}}"#;

fn kept(server: &Running, position: u64) -> String {
    String::from_utf8(server.app.engine.log().read(position).unwrap().unwrap().bytes).unwrap()
}

#[test]
fn an_event_is_kept_with_the_moment_it_came() {
    let server = Running::start();
    let answer = server.post("/v1/hooks", EVENT);
    assert_eq!((answer.status, answer.body.as_slice()), (200, b"{}".as_slice()));
    assert_eq!(kept(&server, 0), format!("{{\"received_at\":\"{}\",\"stdin\":{EVENT}}}\n", now()));
    assert_eq!(server.sessions(), ["s-1"]);
    let flow = server.get("/api/v1/sessions/s-1").json();
    assert_eq!(flow["steps"][0]["started_at"], now().to_string(), "{flow}");
    assert_eq!(flow["formats"], serde_json::json!(["claude-code-hooks"]), "{flow}");
}

#[test]
fn an_event_with_a_moment_is_kept_as_it_came() {
    let server = Running::start();
    let wrapped = format!("{{\"received_at\":\"2026-11-15T11:00:00Z\",\"stdin\":{EVENT}}}\n");
    assert_eq!(server.post("/v1/hooks", &wrapped).status, 200);
    assert_eq!(kept(&server, 0), wrapped);
    // The same event again is the same record.
    assert_eq!(server.post("/v1/hooks", &wrapped).status, 200);
    assert_eq!(server.records(), (1, 1, 0));
}

#[test]
fn lines_lists_and_pretty_printed_events_are_read() {
    let pretty = serde_json::to_string_pretty(&serde_json::from_str::<Value>(EVENT).unwrap()).unwrap();
    let other = EVENT.replace("toolu_1", "toolu_2");
    for (body, records) in [
        (pretty, 1),
        (format!("{EVENT}\n{other}\n"), 2),
        (format!("[{EVENT},{other}]"), 2),
        (format!("{EVENT}{other}"), 2),
    ] {
        let server = Running::start();
        assert_eq!(server.post("/v1/hooks", &body).status, 200, "{body}");
        assert_eq!(server.records(), (records, 0, 0), "{body}");
        assert_eq!(kept(&server, 0).matches("received_at").count() as u64, records);
    }
}

#[test]
fn a_broken_line_behind_an_event_is_kept_and_told() {
    let server = Running::start();
    let answer = server.post("/v1/hooks", format!("{EVENT}\n{{\"torn\": "));
    assert_eq!((answer.status, &answer.json()["rejected"]), (200, &1.into()));
    assert!(kept(&server, 0).ends_with("{\"torn\":\n"));
}

#[test]
fn what_is_no_event_is_refused() {
    let server = Running::start();
    for body in ["", "hello", "{}", "[]", "{\"a\":1}", &"[".repeat(100_000)] {
        let answer = server.post("/v1/hooks", body);
        assert_eq!((answer.status, answer.error().as_str()), (400, "no_hook_event"), "{body:.20}");
    }
    assert_eq!(server.app.engine.log().end(), 0);
}

/// What tools return is often longer than what formats are told apart by.
#[test]
fn long_events_are_kept_too() {
    let server = Running::start();
    for (n, bytes) in [(1, 60_000), (2, 70_000), (3, 500_000)] {
        let event = serde_json::json!({
            "session_id": "long", "hook_event_name": "PostToolUse", "tool_name": "Read", "tool_use_id": format!("toolu_{n}"),
            "tool_input": {"file_path": "a.txt"}, "tool_response": {"content": "word ".repeat(bytes / 5)},
        });
        let answer = server.post("/v1/hooks", event.to_string());
        assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.body));
    }
    server.app.engine.settle();
    let health = server.get("/api/v1/health").json();
    assert_eq!((&health["records_stored"], &health["records_rejected"]), (&3.into(), &0.into()));
}
