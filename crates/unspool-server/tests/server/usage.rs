//! Tokens per caller, model and window.

use crate::asking::Asked;
use crate::running::{Running, now};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use unspool_model::Timestamp;

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

#[test]
fn each_key_has_its_own_tokens_whichever_header_or_parameter_it_came_in() {
    let running = Running::start();
    let exchange = |n: usize, path: &str, header: (&str, &str)| {
        format!(
            "{{\"unspool\":\"exchange\",\"exchange\":\"p-{n}\",\"upstream\":\"api\",\"request\":{{\"timestamp\":\"2026-01-02T10:00:0{n}Z\",\
             \"method\":\"POST\",\"path\":\"{path}\",\"headers\":[[\"{}\",\"{}\"]],\"body\":{{\"model\":\"m\",\"messages\":[{{\"role\":\"user\",\
             \"content\":\"Say {n}\"}}]}}}},\"response\":{{\"timestamp\":\"2026-01-02T10:00:0{n}Z\",\"status\":200,\"headers\":[],\"body\":{{\
             \"id\":\"r{n}\",\"model\":\"m\",\"choices\":[{{\"index\":0,\"message\":{{\"role\":\"assistant\",\"content\":\"{n}\"}},\
             \"finish_reason\":\"stop\"}}],\"usage\":{{\"prompt_tokens\":10,\"completion_tokens\":{n}}}}}}}}}\n",
            header.0, header.1
        )
    };
    let lines = [
        exchange(1, "/v1/chat/completions", ("x-goog-api-key", "masked:aa")),
        exchange(2, "/v1/chat/completions", ("ocp-apim-subscription-key", "masked:bb")),
        exchange(3, "/v1/chat/completions?key=masked:aa", ("idempotency-key", "masked:cc")),
    ];
    assert_eq!(running.post("/v1/ingest?name=traffic.jsonl", lines.concat()).status, 200);
    assert_eq!(running.sessions().len(), 2);
    let usage = running.get("/api/v1/usage?since=2026-01-01T00:00:00Z").json();
    let windows = usage["windows"].as_array().unwrap().iter();
    let rows: Vec<_> =
        windows.map(|window| (window["key"].as_str(), window["usage"]["output"].as_u64())).collect();
    assert_eq!(rows, [(Some("masked:bb"), Some(2)), (Some("masked:aa"), Some(4))], "{usage}");
}

/// Milliseconds that have passed on the clock of the test below.
static PASSED_MS: AtomicI64 = AtomicI64::new(0);

fn moving() -> Timestamp {
    now().plus_ms(PASSED_MS.load(Ordering::Relaxed))
}

#[test]
fn an_answer_that_time_changes_is_known_by_its_bytes() {
    let folder = Arc::new(tempfile::tempdir().unwrap());
    let running = Running::start_options(folder, |options| options.now = moving, |_| {});
    let line = "{\"type\":\"assistant\",\"sessionId\":\"s\",\"uuid\":\"a\",\"timestamp\":\"2026-11-15T11:30:00Z\",\"message\":{\"id\":\"m\",\
        \"role\":\"assistant\",\"model\":\"claude-sonnet-4-5\",\"content\":[{\"type\":\"text\",\"text\":\"yes\"}],\
        \"usage\":{\"input_tokens\":10,\"output_tokens\":7}}}\n";
    assert_eq!(running.post("/v1/ingest?name=s.jsonl", line).status, 200);
    assert_eq!(running.sessions(), ["s"]);
    let paths = ["/api/v1/usage?hours=5", "/api/v1/sessions/s/graph?after=2h"];
    let first = paths.map(|path| running.get(path));
    assert_eq!(first[0].json()["windows"][0]["open"], true);
    assert_eq!(first[1].json()["nodes"].as_array().map(Vec::len), Some(1));
    let again = |n: usize| {
        let tag = first[n].header("etag").unwrap();
        running.request("GET", paths[n], &[("If-None-Match", &tag)], b"")
    };
    assert_eq!([again(0).status, again(1).status], [304, 304]);
    PASSED_MS.store(6 * 3_600_000, Ordering::Relaxed);
    let [usage, graph] = [again(0), again(1)];
    assert_eq!([usage.status, graph.status], [200, 200]);
    assert_eq!(usage.json()["windows"][0]["open"], false);
    assert_eq!(graph.json()["nodes"].as_array().map(Vec::len), Some(0));
}
