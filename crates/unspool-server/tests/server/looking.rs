//! What somebody sees first of a session, and what a picture is asked for: who failed, a range of time, a link of the graph, a graph that is too large.

use crate::asking::Asked;
use crate::running::Running;
use serde_json::{Value, json};
use std::fmt::Write as _;

#[test]
fn who_failed_is_told_with_who_started_it() {
    let asked = Asked::new();
    let doc = asked.json("/trouble");
    let failed = asked.json("/failures");
    let failures = failed["sessions"][0]["failures"].as_array().unwrap();
    assert_eq!(doc["failures"].as_u64().unwrap(), failures.len() as u64);
    let told = doc["agents"].as_array().unwrap();
    assert!(!told.is_empty());
    let sum: u64 = told.iter().map(|agent| agent["failures"].as_u64().unwrap()).sum();
    assert_eq!(sum, failures.len() as u64);
    let flow = asked.json("");
    for agent in told {
        let worst = failures.iter().find(|one| one["step_id"] == agent["worst"]["step"]["id"]).unwrap();
        assert_eq!((&worst["agent_id"], &worst["error"]), (&agent["agent"]["id"], &agent["worst"]["error"]));
        let own =
            flow["agents"].as_array().unwrap().iter().find(|one| one["id"] == agent["agent"]["id"]).unwrap();
        assert_eq!(own["spawn"]["step_id"], agent["started_by"]["id"]);
        let above = agent["above"].as_array().unwrap();
        assert_eq!(above.len() as u64, own["depth"].as_u64().unwrap());
    }
}

#[test]
fn a_range_of_time_has_sums_and_a_query_that_finds_its_steps() {
    let asked = Asked::new();
    let span = asked.json("/timeline")["span_ns"].as_i64().unwrap();
    let mut counts = Vec::new();
    for (from, to) in [(0, span), (span / 4, span / 2), (span / 2, span)] {
        let doc = asked.json(&format!("/range?from_ns={from}&to_ns={to}"));
        let query =
            doc["query"].as_str().unwrap().replace(' ', "%20").replace('>', "%3E").replace('<', "%3C");
        let path = format!("/api/v1/query?q={query}&session={}&limit=10000", asked.id);
        let answer = asked.running.get(&path).json();
        let sessions = answer["sessions"].as_array().unwrap().iter();
        let found: usize = sessions.map(|session| session["steps"].as_array().unwrap().len()).sum();
        assert_eq!(found as u64, doc["totals"]["steps"].as_u64().unwrap(), "{path}");
        counts.push(found);
    }
    assert!(counts[0] > counts[2] && counts[2] > 0, "{counts:?}");
    assert_eq!(asked.get("/range?from_ns=9&to_ns=3").error(), "bad_parameter");
}

#[test]
fn an_edge_of_a_graph_leads_to_a_link_that_is_explained() {
    let asked = Asked::new();
    for level in ["step", "model-call", "agent", "run"] {
        let graph = asked.json(&format!("/graph?level={level}"));
        for edge in graph["edges"].as_array().unwrap() {
            let link = edge["link"].as_str().unwrap();
            let why = asked.json(&format!("/explain/{link}"));
            assert!(!why["sections"].as_array().unwrap().is_empty(), "{level} {link}");
            let ends: Vec<&str> =
                why["ends"].as_array().unwrap().iter().map(|end| end["id"].as_str().unwrap()).collect();
            assert_eq!(ends.join(".."), link, "{level}");
            assert!(why["ends"].as_array().unwrap().iter().all(|end| end["agent"]["label"].is_string()));
        }
    }
    let workflow = asked.json("/graph?view=workflow");
    assert!(workflow["edges"].as_array().unwrap().iter().all(|edge| edge["link"].is_null()));
}

/// A session of two agents with more steps than a graph may have nodes.
fn too_many_steps() -> String {
    const CALLS: usize = 10_001;
    let mut lines = String::new();
    let mut add = |n: usize, kind: &str, message: &Value| {
        let parent = n.checked_sub(1).map(|parent| format!("u{parent}"));
        let (minutes, seconds) = (n / 60, n % 60);
        let at = format!(
            "2026-01-{:02}T{:02}:{:02}:{seconds:02}Z",
            1 + minutes / 1440,
            minutes / 60 % 24,
            minutes % 60
        );
        let line = json!({"type": kind, "uuid": format!("u{n}"), "parentUuid": parent, "sessionId": "large", "timestamp": at, "message": message});
        writeln!(lines, "{line}").unwrap();
    };
    add(0, "user", &json!({"role": "user", "content": "Do a great deal"}));
    for n in 0..CALLS {
        let call =
            json!({"type": "tool_use", "id": format!("t{n}"), "name": "Bash", "input": {"command": "make"}});
        let result = json!({"type": "tool_result", "tool_use_id": format!("t{n}"), "content": "made"});
        add(
            2 * n + 1,
            "assistant",
            &json!({"id": format!("m{n}"), "role": "assistant", "model": "opus", "content": [call]}),
        );
        add(2 * n + 2, "user", &json!({"role": "user", "content": [result]}));
    }
    lines
}

#[test]
fn a_graph_that_is_too_large_is_drawn_at_a_coarser_level_and_says_so() {
    let running = Running::start();
    let receipt = running.post("/v1/ingest?name=large.jsonl", too_many_steps());
    assert_eq!(receipt.status, 200);
    running.app.engine.settle();
    let id = running.get("/api/v1/sessions").json()["sessions"][0]["id"].as_str().unwrap().to_string();
    let get = |tail: &str| running.get(&format!("/api/v1/sessions/{id}/graph{tail}"));
    assert_eq!(get("").error(), "too_many_nodes");
    let fitted = get("?fit=true").json();
    assert_eq!((&fitted["level"], &fitted["instead_of"]["level"]), (&json!("model-call"), &json!("step")));
    assert!(fitted["instead_of"]["nodes"].as_u64().unwrap() > 20_000);
    let few = get("?fit=true&where=elapsed%3C1m").json();
    assert_eq!((&few["level"], &few["instead_of"]), (&json!("step"), &Value::Null));
}
