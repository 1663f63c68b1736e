//! Recorded traffic: a failed request says why, and an agent says why its requests belong together.

use super::Unspool;

const OWN: &str = include_str!("../../../../fixtures/inference-log/own-requests/requests.jsonl");
const CAPTURE: &str = include_str!("../../../../fixtures/inference-log/har/capture.har");

#[test]
fn a_recorded_conversation_is_shown_and_explained() {
    let unspool = Unspool::new();
    let file = unspool.write("capture.har", CAPTURE);
    let shown = unspool.ok(&["show", &file]);
    assert!(shown.contains("Bad gateway, try again ✗"), "{shown}");
    let why = unspool.ok(&["explain", &file, "conversation-"]);
    assert!(why.contains("Why its requests belong together"), "{why}");
    assert!(why.contains("conversation-history"), "{why}");
    assert!(why.contains("record 1 of") && why.contains("goes on from"), "{why}");
}

#[test]
fn what_a_request_was_for_is_shown_exported_and_asked_for() {
    let unspool = Unspool::new();
    let file = unspool.write("requests.jsonl", OWN);
    let shown = unspool.ok(&["show", &file]);
    assert!(shown.contains("● [compaction] sonnet-4-5"), "{shown}");
    assert_eq!(shown.matches('[').count(), 1, "other requests stand in agents of that name: {shown}");
    let export: serde_json::Value =
        serde_json::from_str(&unspool.ok(&["export", "--format", "json", &file])).unwrap();
    let steps = export["sessions"][0]["steps"].as_array().unwrap();
    let mut told: Vec<&str> = steps.iter().filter_map(|step| step["request"].as_str()).collect();
    told.sort_unstable();
    assert_eq!(told, ["compaction", "count_tokens", "quota", "title"]);
    let count = |query: &str| {
        let found: serde_json::Value =
            serde_json::from_str(&unspool.ok(&["query", query, &file, "--json"])).unwrap();
        found["sessions"][0]["steps"].as_array().map_or(0, Vec::len)
    };
    let queries = ["request:compaction", "request:helper", "request:quota,count_tokens", "request:inference"];
    assert_eq!(queries.map(count), [1, 1, 2, 2]);
}

#[test]
fn a_timeline_counts_what_the_client_asked_for_itself() {
    let unspool = Unspool::new();
    let file = unspool.write("requests.jsonl", OWN);
    let usual = unspool.ok(&["timeline", &file]);
    assert!(!usual.contains("internal") && usual.contains("(compaction)"), "{usual}");
    assert!(usual.contains("3 of the client's own (--full)"), "{usual}");
    let full = unspool.ok(&["timeline", &file, "--full"]);
    for name in ["internal quota", "internal title", "internal count_tokens"] {
        assert!(full.contains(name), "{full}");
    }
    assert!(!full.contains("of the client's own"), "{full}");
}
