//! Where sessions came from.

use crate::same::open;
use serde_json::json;
use unspool_engine::live::Arrival;
use unspool_store::{Filter, Question};

/// A log record that says nothing of an agent comes to a session without steps; it is found by how it came all the same.
#[test]
fn a_session_without_steps_came_by_what_its_records_did() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(folder.path());
    for n in 0..2 {
        let record =
            json!({"timeUnixNano": "1767348000000000000", "body": {"stringValue": format!("request {n}")}});
        let service = json!({"key": "service.name", "value": {"stringValue": "web"}});
        let logs = json!({"resourceLogs": [{"resource": {"attributes": [service]}, "scopeLogs": [{"logRecords": [record]}]}]});
        let bytes = serde_json::to_vec(&logs).unwrap();
        engine.take(Arrival::Body { source: "otlp-http".into(), name: "logs.json".into(), bytes }).unwrap();
    }
    engine.settle();
    assert_eq!(engine.receipts().unwrap()[0].1.stored, 2);
    let filter = Filter { source: Some("otlp-http".into()), ..Filter::default() };
    let page = engine.sessions(&Question { filter, ..Question::default() }).unwrap();
    assert!(page.matching > 0);
    assert_eq!(page.matching, engine.health().sessions);
    for row in page.sessions {
        assert_eq!((row.step_count, &*row.sources), (0, &["otlp-http".to_string()][..]));
        assert!(row.native_bytes > 0);
    }
}
