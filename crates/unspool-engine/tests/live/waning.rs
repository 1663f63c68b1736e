//! What ran is not shown as running for ever.

use std::time::Duration;
use unspool_engine::live::{Arrival, Engine, Options};
use unspool_model::Timestamp;
use unspool_store::Question;

fn a_moment_later() -> Timestamp {
    Timestamp::from_ms(1_767_348_000_000 + 1_000)
}

fn an_hour_later() -> Timestamp {
    Timestamp::from_ms(1_767_348_000_000 + 3_600_000)
}

/// The status of the only session, in the list and in its snapshot.
fn status(engine: &Engine) -> (String, &'static str) {
    let page = engine.sessions(&Question::default()).unwrap();
    assert_eq!(page.sessions.len(), 1);
    let row = &page.sessions[0];
    let snapshot = engine.snapshot(row.id).unwrap().unwrap();
    let main = snapshot.flow.agents.iter().find(|agent| agent.main).unwrap();
    (row.status.clone(), main.status.name())
}

#[test]
fn a_session_nobody_hears_of_no_longer_runs() {
    let folder = tempfile::tempdir().unwrap();
    let engine = Engine::open(Options::new(folder.path(), a_moment_later)).unwrap();
    let asked = r#"{"type":"user","sessionId":"s","uuid":"u1","parentUuid":null,"timestamp":"2026-01-02T10:00:00Z","message":{"role":"user","content":"go"}}"#;
    let bytes = asked.as_bytes().to_vec();
    engine.take(Arrival::Body { source: "upload".into(), name: "s.jsonl".into(), bytes }).unwrap();
    engine.settle();
    assert_eq!(status(&engine), ("running".into(), "running"));
    drop(engine);
    let engine = Engine::open(Options::new(folder.path(), an_hour_later)).unwrap();
    for _ in 0..2_000 {
        if status(&engine).0 != "running" {
            break;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(status(&engine), ("unknown".into(), "unknown"));
}
