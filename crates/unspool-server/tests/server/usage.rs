//! Tokens per caller, model and window.

use crate::asking::Asked;
use crate::running::Running;

#[test]
fn tokens_are_in_windows() {
    let asked = Asked::new();
    let whole = asked.get("").json()["totals"]["usage"]["output"].as_u64().unwrap();
    let usage = asked.running.get("/api/v1/usage?since=2020-01-01T00:00:00Z&hours=5").json();
    let windows = usage["windows"].as_array().unwrap();
    let output: u64 = windows.iter().map(|window| window["usage"]["output"].as_u64().unwrap()).sum();
    assert_eq!((output, usage["looked_into"].as_u64()), (whole, Some(1)));
    assert!(windows.iter().all(|window| window["key"].is_null() && window["open"] == false), "{usage}");
    let later = asked.running.get("/api/v1/usage?since=2100-01-01T00:00:00Z").json();
    assert_eq!(later["windows"].as_array().map(Vec::len), Some(0));
    assert_eq!(asked.running.get("/api/v1/usage?hours=five").error(), "bad_parameter");
}

#[test]
fn usage_counts_calls_of_sessions_that_began_long_before() {
    let running = Running::start();
    let call = |id: &str, at: &str| {
        format!(
            "{{\"type\":\"assistant\",\"sessionId\":\"s\",\"uuid\":\"{id}\",\"timestamp\":\"{at}\",\"message\":{{\"id\":\"m-{id}\",\
             \"role\":\"assistant\",\"model\":\"claude-sonnet-4-5\",\"content\":[{{\"type\":\"text\",\"text\":\"yes\"}}],\
             \"usage\":{{\"input_tokens\":10,\"output_tokens\":7}}}}}}\n"
        )
    };
    let lines = [call("a", "2026-01-02T10:00:00Z"), call("b", "2026-01-09T10:00:00Z")].concat();
    assert_eq!(running.post("/v1/ingest?name=s.jsonl", lines).status, 200);
    assert_eq!(running.sessions().len(), 1);
    let usage = running.get("/api/v1/usage?since=2026-01-08T00:00:00Z").json();
    let windows = usage["windows"].as_array().unwrap();
    assert_eq!((windows.len(), &windows[0]["usage"]["output"]), (1, &serde_json::json!(7)), "{usage}");
}
