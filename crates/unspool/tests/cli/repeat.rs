//! Answers that can be repeated and chosen from: the moment "running" is judged by, and filters for programs.

use super::{Unspool, line};
use serde_json::Value;

/// A session whose last record, at midnight, is a question without an answer.
fn unanswered() -> Unspool {
    let unspool = Unspool::new();
    unspool.write(".claude/projects/p/s.jsonl", line("u1", "Are you there?"));
    unspool
}

#[test]
fn running_is_judged_by_the_moment_given() {
    let unspool = unanswered();
    let status = |moment: &str| {
        let rows = unspool.json(&["ls", "--json", "--as-of", moment]);
        rows[0]["status"].as_str().unwrap().to_string()
    };
    assert_eq!(status("2026-01-01T00:05:00Z"), "running");
    assert_eq!(status("2026-01-01T01:05:00+01:00"), "running", "whatever the zone");
    assert_eq!(status("2026-01-01T00:30:00Z"), "unknown");
    assert_eq!(status("2025-12-31T00:00:00Z"), "unknown", "nothing runs before it began");
}

#[test]
fn every_command_that_judges_takes_the_moment() {
    let unspool = unanswered();
    let then = ["--as-of", "2026-01-01T00:05:00Z"];
    for command in [&[][..], &["ls"], &["show", "s"], &["stats"], &["explain", "s", "s"], &["export"]] {
        let text = unspool.ok(&[command, &then].concat());
        assert!(text.contains("running"), "{command:?}: {text}");
        assert_eq!(unspool.ok(&[&then, command].concat()), text, "before the command or behind it");
    }
    unspool.ok(&[&["doctor"], &then[..]].concat());
}

#[test]
fn a_moment_that_is_none_is_refused() {
    for wrong in ["yesterday", "2026-01-01", "2026-13-01T00:00:00Z", ""] {
        let output = unanswered().run(&["ls", "--as-of", wrong]);
        assert_eq!(output.status.code(), Some(2), "{wrong}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("2026-01-18T19:55:26Z"), "{wrong}");
    }
}

fn names(session: &Value, list: &str, field: &str) -> Vec<String> {
    let list = session[list].as_array().unwrap().iter();
    list.map(|one| one[field].as_str().unwrap_or_default().to_string()).collect()
}

#[test]
fn filters_choose_for_programs_too() {
    let unspool = Unspool::with_demo();
    let show = |more: &[&str]| unspool.json(&[&["show", "5e55", "--json"], more].concat())[0].clone();
    let whole = show(&[]);
    assert_eq!(show(&["--full"]), whole, "JSON leaves nothing out by itself");

    let explore = show(&["--agent", "Explore"]);
    assert_eq!(names(&explore, "agents", "type"), ["Explore"; 3]);
    let ids = names(&explore, "agents", "id");
    assert!(names(&explore, "steps", "agent_id").iter().all(|id| ids.contains(id)));
    assert_eq!(explore["steps"].as_array().unwrap().len(), 17);
    assert_eq!(explore["totals"], whole["totals"], "sums stay those of the whole");

    let top = show(&["--depth", "0"]);
    assert_eq!(top["agents"].as_array().unwrap().len(), 4, "closed agents are there, those below them not");
    assert!(top["steps"].as_array().unwrap().iter().all(|step| step["depth"] == 0));

    let errors = show(&["--errors"]);
    let failed = |step: &&Value| step["is_error"] == true;
    let steps = errors["steps"].as_array().unwrap();
    assert_eq!(steps.iter().filter(failed).count(), 1);
    let ids = names(&errors, "steps", "id");
    for step in steps.iter().filter(|step| !step["parent_id"].is_null()) {
        assert!(ids.contains(&step["parent_id"].as_str().unwrap().to_string()), "what led there is there");
    }
    assert_eq!(errors["runs"].as_array().unwrap().len(), 1);
    for session in [&explore, &top, &errors] {
        let ids = names(session, "steps", "id");
        let ends = [names(session, "edges", "from"), names(session, "edges", "to")].concat();
        assert!(ends.iter().all(|id| ids.contains(id)), "no edge leads out");
    }

    assert!(unspool.refuses(&["show", "5e55", "--json", "--agent", "nobody"]).contains("no agent matches"));
}
