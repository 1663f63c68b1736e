//! What the views of a session show: who failed, a range of time, windows of tree, timeline, runs and numbers, a graph and its links, a chain.

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
    let (open, whole) = (asked.json("/range"), asked.json(&format!("/range?from_ns=0&to_ns={span}")));
    assert_eq!((&open["totals"], &open["agents"]), (&whole["totals"], &whole["agents"]));
    assert_eq!(open["to_ms"], asked.json("/line")["duration_ms"]);
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

#[test]
fn a_coarser_level_that_shows_nothing_is_passed_over() {
    let span = |n: usize| {
        format!(
            r#"{{"traceId":"5b8efff798038103d269b633813fc60c","spanId":"{n:016x}","name":"work","startTimeUnixNano":"{}","endTimeUnixNano":"{}"}}"#,
            1_767_348_000_000_000_000_u64 + n as u64 * 1_000_000,
            1_767_348_000_000_500_000_u64 + n as u64 * 1_000_000,
        )
    };
    let spans: Vec<String> = (1..=20_100).map(span).collect();
    let body = format!(r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{}]}}]}}]}}"#, spans.join(","));
    let running = Running::start();
    let kept =
        running.request("POST", "/v1/traces", &[("Content-Type", "application/json")], body.as_bytes());
    assert_eq!(kept.status, 200);
    running.app.engine.settle();
    let id = running.get("/api/v1/sessions").json()["sessions"][0]["id"].as_str().unwrap().to_string();
    let get = |tail: &str| running.get(&format!("/api/v1/sessions/{id}/graph{tail}")).json();
    assert_eq!(get("?level=model-call")["nodes"].as_array().map(Vec::len), Some(0));
    let fitted = get("?fit=true");
    assert_eq!((&fitted["level"], &fitted["instead_of"]["level"]), (&json!("agent"), &json!("step")));
    assert!(!fitted["nodes"].as_array().unwrap().is_empty());
}

#[test]
fn runs_come_in_windows_and_leave_as_files() {
    let asked = Asked::new();
    let all = asked.json("/runs?to=100&steps=2000");
    let total = all["total_runs"].as_u64().unwrap();
    let runs = all["runs"].as_array().unwrap();
    assert_eq!((runs.len() as u64, total > 0), (total, true));
    let first = asked.json("/runs?run=1&steps=1");
    assert_eq!((&first["runs"][0]["id"], first["runs"].as_array().unwrap().len()), (&runs[0]["id"], 1));
    let left_out = first["runs"][0]["steps_left_out"].as_u64().unwrap();
    assert_eq!(left_out, runs[0]["steps"].as_array().unwrap().len() as u64 - 1);
    assert_eq!(asked.get("/runs?run=9999").status, 404);
    let thoughts = asked.json("/export?format=thoughtflow&run=1");
    assert_eq!(thoughts["runs"].as_array().unwrap().len(), 1);
    let whole = asked.get("/export?format=d2").body;
    let one = asked.get("/export?format=d2&run=1").body;
    assert!(!one.is_empty() && (one.len() < whole.len() || total == 1));
    assert_eq!(asked.get("/export?format=json&run=1").status, 400);
    assert_eq!(asked.get("/graph?view=process&run=1").status, 400);
    assert_eq!(asked.get("/graph?view=workflow&run=1").status, 200);
}

#[test]
fn numbers_grow_with_the_moment_and_end_with_the_session() {
    let asked = Asked::new();
    let all = asked.json("/numbers");
    let line = asked.json("/line");
    assert_eq!((&all["totals"]["steps"], &all["totals"]["errors"]), (&line["steps"], &line["errors"]));
    let tokens: u64 =
        all["buckets"].as_array().unwrap().iter().filter_map(|one| one["tokens"].as_u64()).sum();
    assert_eq!(Some(tokens), line["tokens"]["total"].as_u64());
    let first = asked.json("/numbers?until_ms=0");
    assert!(first["totals"]["steps"].as_u64() < all["totals"]["steps"].as_u64());
    assert_eq!(asked.json("/numbers?until_ms=9999999999")["totals"], all["totals"]);
    assert!(!all["context"]["agents"].as_array().unwrap().is_empty());
}

#[test]
fn windows_of_the_tree_put_together_are_the_whole() {
    let asked = Asked::new();
    let whole = asked.json("/tree?to=2000");
    let total = whole["total_rows"].as_u64().unwrap();
    let (first, rest) = (asked.json("/tree?from=0&to=7"), asked.json(&format!("/tree?from=7&to={total}")));
    let rows = |part: &Value| part["rows"].as_array().unwrap().clone();
    assert_eq!([rows(&first), rows(&rest)].concat(), rows(&whole));
    assert!(total > 20);

    let agents: Vec<Value> = rows(&whole).into_iter().filter(|row| row["row"] == "agent").collect();
    let sub = agents.iter().find(|row| row["depth"] == 1).unwrap()["id"].as_str().unwrap().to_string();
    let closed = |query: &str| {
        let rows = rows(&asked.json(&format!("/tree?{query}&to=2000")));
        rows.into_iter().find(|row| row["id"] == sub.as_str()).unwrap()["closed"].clone()
    };
    assert_eq!(closed("depth=0"), true);
    assert_eq!(closed(&format!("depth=0&open={sub}")), false);
    assert_eq!(closed(&format!("shut={sub}")), true);

    let step = asked.json("")["steps"][5]["id"].as_str().unwrap().to_string();
    let found = asked.json(&format!("/tree?full=true&find={step}"));
    let row = found["found_row"].as_u64().unwrap();
    assert_eq!(
        asked.json(&format!("/tree?full=true&from={row}&to={}", row + 1))["rows"][0]["id"],
        step.as_str()
    );
}

#[test]
fn a_graph_has_a_place_for_everything() {
    let asked = Asked::new();
    let steps = asked.json("/graph?full=true");
    let agents = asked.json("/graph?level=agent");
    let truth = &asked.labelled.sessions[0];
    assert_eq!(agents["nodes"].as_array().unwrap().len(), truth.agents.len() + 1);
    assert!(steps["nodes"].as_array().unwrap().len() > agents["nodes"].as_array().unwrap().len());
    let inside = |rect: &Value| {
        let at = |name: &str| rect[name].as_f64().unwrap();
        at("x") + at("width") <= steps["width"].as_f64().unwrap() + 0.1 && at("width") > 0.0
    };
    assert!(steps["nodes"].as_array().unwrap().iter().all(|node| inside(&node["place"])));
    assert!(steps["groups"].as_array().unwrap().iter().all(|group| inside(&group["place"])));
    assert!(
        steps["edges"].as_array().unwrap().iter().all(|edge| edge["points"].as_array().unwrap().len() > 1)
    );
    assert_eq!(asked.json("/graph?view=workflow")["level"], "pattern");
    let tools = asked.json("/graph?kind=tool_call&where=is:error");
    assert!(tools["nodes"].as_array().unwrap().iter().all(|node| node["is_error"] == true));
}

#[test]
fn a_timeline_merges_what_is_too_narrow() {
    let asked = Asked::new();
    let count = |document: &Value| -> u64 {
        document["bars"].as_array().unwrap().iter().map(|bar| bar["count"].as_u64().unwrap()).sum()
    };
    let (wide, narrow) = (asked.json("/timeline?px=20000"), asked.json("/timeline?px=3"));
    assert_eq!(count(&wide), wide["total_bars"].as_u64().unwrap());
    assert_eq!(count(&narrow), count(&wide));
    assert!(narrow["bars"].as_array().unwrap().len() < wide["bars"].as_array().unwrap().len());
    let span = wide["span_ns"].as_i64().unwrap();
    let part = asked.json(&format!("/timeline?from_ns=0&to_ns={}&px=500", span / 10));
    assert!(part["bars_in_window"].as_u64().unwrap() < wide["total_bars"].as_u64().unwrap());
    assert_eq!(wide["lanes"][0]["agents"][0]["label"], "main");
    assert!(!wide["arrows"].as_array().unwrap().is_empty());
    assert_eq!(asked.get("/timeline?from_ns=9&to_ns=3").error(), "bad_parameter");
}

#[test]
fn arrows_lead_between_bars_and_say_how_sure_they_are() {
    let asked = Asked::new();
    let wide = asked.json("/timeline?px=20000");
    let arrows = wide["arrows"].as_array().unwrap();
    for kind in ["calls", "tool_result", "subagent_spawn"] {
        assert!(arrows.iter().any(|arrow| arrow["relation"] == kind), "{kind}");
    }
    assert!(arrows.iter().all(|arrow| arrow["relation"] != "sequence" && arrow["count"].as_u64() >= Some(1)));
    assert!(arrows.iter().all(|arrow| arrow["confidence"].as_f64().is_some_and(|sure| sure > 0.0)));
    let narrow = asked.json("/timeline?px=3");
    assert!(narrow["arrows"].as_array().unwrap().len() < arrows.len());
}

#[test]
fn a_chain_is_what_a_query_finds_and_goes_back_to_the_first_input() {
    let asked = Asked::new();
    let flow = asked.json("");
    let steps = flow["steps"].as_array().unwrap();
    let spawn =
        flow["agents"].as_array().unwrap().iter().find_map(|agent| agent["spawn"]["step_id"].as_str());
    let step = spawn.unwrap();
    let chain = asked.json(&format!("/chain?of={step}"));
    let positions = |side: &str| -> Vec<u64> {
        let stretches = chain[side].as_array().unwrap().iter();
        let ends = stretches.map(|pair| (pair[0].as_u64().unwrap(), pair[1].as_u64().unwrap()));
        ends.flat_map(|(first, last)| first..=last).collect()
    };
    let found = |relation: &str| -> Vec<u64> {
        let path = format!("/api/v1/query?q={relation}:id:{step}&session={}", asked.id);
        let hits = asked.running.get(&path).json()["sessions"][0]["steps"].clone();
        let place = |hit: &Value| steps.iter().position(|one| one["id"] == hit["id"]).unwrap() as u64;
        hits.as_array().map(|hits| hits.iter().map(place).collect()).unwrap_or_default()
    };
    for (side, relation) in [("causes", "causes"), ("effects", "caused-by")] {
        let (told, found) = (positions(side), found(relation));
        assert!(!found.is_empty() && found.iter().all(|place| told.contains(place)), "{side}");
    }
    // Through what was said to an agent, a query does not go; a chain goes back to the first input.
    assert_eq!(positions("causes")[0], 0);
    assert_eq!(asked.get("/chain").error(), "missing_parameter");
    assert_eq!(asked.get("/chain?of=s00").error(), "bad_parameter");
}
