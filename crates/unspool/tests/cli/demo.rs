//! The demo's sessions, read as a user's own are. `tests/server/demo.rs` has the demo as a server.

use super::Unspool;
use serde_json::Value;

fn written() -> (Unspool, Vec<Value>) {
    let unspool = Unspool::new();
    let said = unspool.ok(&["demo", "--write", "d"]);
    assert!(said.starts_with("wrote 36 files; try unspool ls d"), "{said}");
    let sessions = unspool.json(&["ls", "d", "--json"]).as_array().unwrap().clone();
    (unspool, sessions)
}

#[test]
fn everything_in_it_is_read_and_linked() {
    let (unspool, sessions) = written();
    let all = unspool.json(&["export", "d", "--as-of", "2026-10-12T12:05:00Z"]);
    assert_eq!(sessions.len(), 8);
    assert_eq!((&all["counts"]["stored"], &all["counts"]["records"]), (&390.into(), &390.into()));
    for session in all["sessions"].as_array().unwrap() {
        for agent in session["agents"].as_array().unwrap() {
            assert!(agent["main"] == true || !agent["parent_id"].is_null(), "{agent}");
        }
        let issues =
            session["issues"].as_array().unwrap().iter().map(|issue| issue["code"].as_str().unwrap());
        let odd: Vec<&str> =
            issues.filter(|code| !["unknown_model", "unknown_tool"].contains(code)).collect();
        assert!(odd.is_empty() || session["title"] == "Fix checkout total for two coupons", "{odd:?}");
    }
}

#[test]
fn a_failure_goes_all_the_way_up() {
    let (unspool, _) = written();
    let session = unspool.json(&["failures", "d/ledger", "--json"])["sessions"][0].clone();
    let failures = session["failures"].as_array().unwrap();
    let last = failures.last().unwrap();
    assert_eq!(
        (last["outcome"].as_str(), last["caused_by"].as_array().unwrap().len()),
        (Some("ended_run"), 3)
    );
    let first = failures.iter().find(|failure| failure["step_id"] == last["first_cause"]).unwrap();
    assert!(first["error"].as_str().unwrap().contains("No space left on device"), "{first}");
}

#[test]
fn there_is_something_to_find() {
    let (unspool, _) = written();
    let out = unspool.ok(&["findings", "d"]);
    assert!(out.contains("retry_storm") && out.contains("re_read"), "{out}");
}

#[test]
fn one_session_is_shown_in_the_terminal() {
    let out = Unspool::new().ok(&["demo", "--show"]);
    assert!(
        out.contains("Fix checkout total for two coupons") && out.contains("unspool demo --write DIR"),
        "{out}"
    );
    for more in [&["--write", "d"][..], &["--listen", "127.0.0.1:0"]] {
        let output = Unspool::new().run(&[&["demo", "--show"], more].concat());
        assert_eq!(output.status.code(), Some(2), "{more:?}");
    }
}
