//! What is damaged, lost or refused by the disk: answers say so, and go on as well as they can.

use crate::running::{Answer, Running};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use unspool_testkit::PATIENCE;

fn event(session: &str) -> String {
    format!(
        "{{\"type\":\"user\",\"sessionId\":\"{session}\",\"uuid\":\"u-{session}\",\"timestamp\":\"2026-11-15T11:00:00Z\",\"message\":{{\"role\":\"user\",\"content\":\"a herring for {session}\"}}}}\n"
    )
}

fn add(running: &Running, session: &str) -> Answer {
    running.post(&format!("/v1/ingest?name={session}.jsonl"), event(session))
}

/// A folder with a session in each of several segments, closed.
fn folder(sessions: &[&str]) -> Arc<TempDir> {
    let folder = Arc::new(tempfile::tempdir().unwrap());
    for session in sessions {
        let running = Running::start_in(Arc::clone(&folder), |_| {});
        assert_eq!(add(&running, session).status, 200);
        running.app.engine.settle();
        running.app.engine.settle_texts();
    }
    folder
}

fn until(what: &str, mut happened: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !happened() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Spoils a file of the folder behind its first so many bytes.
fn spoil(folder: &TempDir, file: &str, behind: usize) {
    let path = folder.path().join(file);
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[behind..].fill(0xa5);
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn lost_records_are_told_as_an_issue_counted_and_no_longer_listed() {
    let folder = folder(&["one", "two", "three"]);
    let first = std::fs::read_dir(folder.path().join("log")).unwrap().map(|file| file.unwrap().file_name());
    let first = first.min().unwrap();
    spoil(&folder, &format!("log/{}", first.to_str().unwrap()), 16);
    let running = Running::start_in(folder, |_| {});
    until("it is counted", || {
        String::from_utf8(running.get("/metrics").body).unwrap().contains("\nunspool_dropped_total 1\n")
    });
    let issues = running.get("/api/v1/issues?code=log_damaged&source=server").json();
    let sum = &issues["issues"][0];
    assert_eq!((sum["code"].as_str(), sum["severity"].as_str()), (Some("log_damaged"), Some("error")));
    assert_eq!((sum["gap"].as_bool(), sum["count"].as_u64()), (Some(true), Some(1)));
    let sample = &sum["samples"][0];
    assert!(sample["detail"].as_str().unwrap().contains("record 0 is lost"), "{sample}");
    assert_eq!(sample["sources"], serde_json::json!(["server"]));
    assert_eq!(issues["sources"][0]["source"], "server");
    until("it is no longer listed", || running.get("/api/v1/sessions").json()["matching"] == 2);
    assert_eq!(running.get("/api/v1/health").json()["sessions"], 2);
    let asked = running.get("/api/v1/sessions/one");
    assert_eq!((asked.status, asked.error().as_str()), (410, "records_lost"));
    assert_eq!(running.get("/api/v1/sessions/four").error(), "not_found");
    assert_eq!(running.get("/api/v1/sessions/two").status, 200);
}

#[test]
fn a_damaged_index_of_words_is_no_error() {
    let folder = folder(&["one", "two"]);
    spoil(&folder, "texts.db", 8192);
    let running = Running::start_in(Arc::clone(&folder), |_| {});
    let first = running.get("/api/v1/search?q=herring");
    assert_eq!(first.status, 200);
    let first = first.json();
    assert_eq!(first["matching"].as_u64().unwrap() + first["unsearched_sessions"].as_u64().unwrap(), 2);
    let listed = running.get("/api/v1/sessions?q=herring");
    assert_eq!(listed.status, 200);
    until("it is made again", || running.get("/api/v1/search?q=herring").json()["matching"] == 2);
    let issues = running.get("/api/v1/issues?code=database_remade").json();
    assert!(issues.to_string().contains("texts.db was damaged"), "{issues}");
    // The next process found nothing, and tells of it all the same; how things stand now says nothing of it.
    drop(running);
    let running = Running::start_in(folder, |_| {});
    let issues = running.get("/api/v1/issues?code=database_remade").json();
    let detail = issues["issues"][0]["samples"][0]["detail"].as_str().unwrap();
    assert!(detail.contains("texts.db was damaged") && detail.contains("by an earlier process"), "{detail}");
    assert_eq!(running.get("/api/v1/health").json()["notices"], serde_json::json!([]));
    assert_eq!(running.get("/api/v1/issues?source=files").json()["issues"], serde_json::json!([]));
}

#[test]
fn while_nothing_can_be_written_it_is_degraded() {
    let folder = folder(&["one"]);
    let running = Running::start_in(Arc::clone(&folder), |_| {});
    running.app.engine.settle();
    let [log, away] = ["log", "away"].map(|name| folder.path().join(name));
    std::fs::rename(&log, &away).unwrap();
    running.app.engine.settle_texts();
    let tag = running.get("/api/v1/issues").header("etag").unwrap();
    let asked_again = || running.request("GET", "/api/v1/issues", &[("If-None-Match", &tag)], b"").status;
    assert_eq!(asked_again(), 304);
    let refused = add(&running, "two");
    assert_eq!((refused.status, asked_again()), (503, 200), "there is more to say");
    let health = running.get("/api/v1/health").json();
    assert_eq!(health["status"], "degraded");
    assert!(health["problem"].as_str().unwrap().contains("could not begin the record log"), "{health}");
    std::fs::rename(&away, &log).unwrap();
    assert_eq!(add(&running, "two").status, 200);
    let health = running.get("/api/v1/health").json();
    assert_eq!((health["status"].as_str(), health["problem"].as_str()), (Some("ok"), None));
    assert!(running.get("/api/v1/issues").json().to_string().contains("write_refused"));
}
