//! `unspool metrics`, `unspool failures` and `unspool process`: what is counted and followed, in words and as JSON.

use super::{DEMO_SESSION, Unspool};
use serde_json::Value;
use unspool_view::export::{Format, View};

#[test]
fn the_graph_in_short_and_rows_by_step_agent_and_run() {
    let unspool = Unspool::with_demo();
    let out = unspool.ok(&["metrics", DEMO_SESSION]);
    assert!(out.contains("41 steps") && out.contains("1 failed step · 1 overcome"), "{out}");
    let out = unspool.ok(&["metrics", DEMO_SESSION, "--by", "node", "-n", "3"]);
    assert!(out.contains("on path") && out.contains("38 more steps not shown"), "{out}");
    let out = unspool.ok(&["metrics", DEMO_SESSION, "--by", "agent"]);
    assert!(out.contains("Explore") && out.contains("Bash"), "{out}");
    let out = unspool.ok(&["metrics", DEMO_SESSION, "--by", "agent-type"]);
    assert!(out.contains("Explore") && out.contains("main"), "{out}");
    let out = unspool.ok(&["metrics", DEMO_SESSION, "--by", "run"]);
    assert_eq!(out.lines().count(), 4, "title, heading and two runs: {out}");
}

#[test]
fn metrics_agree_with_the_export() {
    let unspool = Unspool::with_demo();
    let metrics = unspool.json(&["metrics", "--json", DEMO_SESSION]);
    let flow = unspool.json(&["export", "--format", "json", DEMO_SESSION]);
    let (counted, stated) = (&metrics["sessions"][0], &flow["sessions"][0]);
    assert_eq!(counted["graph"]["edges"].as_u64().unwrap(), stated["edges"].as_array().unwrap().len() as u64);
    assert_eq!(counted["nodes"].as_array().unwrap().len(), stated["steps"].as_array().unwrap().len());
    assert_eq!(counted["runs"].as_array().unwrap().len(), stated["runs"].as_array().unwrap().len());
}

#[test]
fn a_failure_says_how_it_ended_and_explain_says_the_same() {
    let unspool = Unspool::with_demo();
    let out = unspool.ok(&["failures", DEMO_SESSION]);
    assert!(out.contains("1 failed step: 1 retried") && out.contains("did the same and worked"), "{out}");
    let failure = &unspool.json(&["failures", "--json", DEMO_SESSION])["sessions"][0]["failures"][0];
    let step = failure["step_id"].as_str().unwrap();
    let explained = unspool.ok(&["explain", DEMO_SESSION, step]);
    assert!(explained.contains("What became of the failure\n  retried: tool_call Bash"), "{explained}");
    unspool.write("trouble.jsonl", super::findings::trouble());
    let out = unspool.ok(&["failures", "trouble.jsonl", "-n", "2"]);
    assert!(out.contains("which the model was told before it asked (inferred)"), "{out}");
    assert!(out.contains("1 more failure not shown"), "{out}");
}

#[test]
fn one_process_behind_many_runs() {
    let unspool = Unspool::with_demo();
    let out = unspool.ok(&["process", DEMO_SESSION]);
    assert!(out.contains("2 runs of 1 session") && out.contains("too few to tell"), "{out}");
    for n in 0..6 {
        let tools = if n == 5 { "Bash" } else { "Read" };
        unspool.write(&format!("many/{n}.jsonl"), run_of(n, tools));
    }
    let out = unspool.ok(&["process", "many"]);
    assert!(out.contains("6 runs of 6 sessions") && out.contains("83%"), "{out}");
    assert!(out.contains("5 of 6 runs follow the first variant"), "{out}");
    let document = unspool.json(&["process", "many", "--json"]);
    let process = &document["processes"][0];
    assert_eq!(process["variants"].as_array().unwrap().len(), 2);
    assert_eq!((&process["common_variant"], &process["runs_apart"]), (&Value::from(0), &Value::from(1)));
    let odd = process["variants"][1]["run_ids"][0].as_str().unwrap();
    let out = unspool.ok(&["process", "many", "--run", odd]);
    assert!(out.contains("compared with the common path, which 5 of 6 runs follow"), "{out}");
    assert!(out.contains("has besides\n    Bash") && out.contains("lacks\n    Read"), "{out}");
    let usual = process["variants"][0]["run_ids"][0].as_str().unwrap();
    assert!(unspool.ok(&["process", "many", "--run", usual]).contains("follows the common path"));
    assert!(!unspool.run(&["process", "many", "--run", "u-none"]).status.success());
}

#[test]
fn runs_without_a_common_path_are_compared_with_the_nearest() {
    let unspool = Unspool::with_demo();
    for (n, tool) in ["Read", "Bash", "Grep", "Glob", "Edit"].into_iter().enumerate() {
        unspool.write(&format!("many/{n}.jsonl"), run_of(n, tool));
    }
    let out = unspool.ok(&["process", "many"]);
    assert!(out.contains("no common path: the most frequent variant has 1 of 5 runs"), "{out}");
    let document = unspool.json(&["process", "many", "--json"]);
    let process = &document["processes"][0];
    assert!(process["common_variant"].is_null() && process["runs_apart"].is_null());
    let run = process["variants"][2]["run_ids"][0].as_str().unwrap();
    let out = unspool.ok(&["process", "many", "--run", run]);
    assert!(out.contains("compared with the nearest variant, which 1 of 5 runs follow"), "{out}");
}

#[test]
fn a_process_is_drawn_and_exported_wherever_a_graph_is() {
    let unspool = Unspool::with_demo();
    for n in 0..6 {
        unspool.write(&format!("many/{n}.jsonl"), run_of(n, if n == 5 { "Bash" } else { "Read" }));
    }
    let out = unspool.ok(&["process", "many", "--draw"]);
    assert!(out.contains("the process of 6 runs · 6 nodes") && out.contains("Bash  1 of 6 runs"), "{out}");
    let out = unspool.ok(&["process", "many", "--draw", "--min-share", "0.5", "--ascii"]);
    assert!(out.contains("5 nodes") && out.contains("1 step left out by the filter"), "{out}");
    assert!(!out.contains("Bash"), "{out}");
    let drawn = Format::ALL.iter().filter(|format| format.views().contains(&View::Process));
    let formats: Vec<&str> = drawn.map(|format| format.name()).collect();
    assert_eq!(formats, ["json", "graph-json", "svg", "d2", "dot", "mermaid", "graphml", "csv", "csv-edges"]);
    for format in formats {
        let out = unspool.ok(&["export", "many", "--view", "process", "--format", format]);
        assert!(out.contains("Read") && out.contains("Bash"), "{format}: {out}");
        let args = ["export", "many", "--view", "process", "--format", format, "--min-share", "0.5"];
        assert_eq!(unspool.ok(&args).contains("Bash"), format == "json", "{format}");
    }
    let graph = unspool.json(&["export", "many", "--view", "process", "--format", "graph-json"]);
    assert_eq!(
        (&graph["graphs"][0]["level"], &graph["graphs"][0]["session_id"]),
        (&"process".into(), &Value::Null)
    );
    for wrong in [&["--view", "process", "--tool", "Bash"][..], &["--view", "workflow", "--min-share", "0.5"]]
    {
        let args = [&["export", "many", "--format", "dot"], wrong].concat();
        assert_eq!(unspool.run(&args).status.code(), Some(2), "{wrong:?}");
    }
}

/// A session with one run: a message, an answer that calls a tool, its result.
fn run_of(n: usize, tool: &str) -> String {
    let session = format!("{n}aaaaaaa-0000-4000-8000-000000000000");
    let entry = |kind: &str, at: usize, message: serde_json::Value| {
        let parent = (at > 0).then(|| format!("u{n}-{}", at - 1));
        let time = format!("2026-01-0{}T00:00:0{at}Z", n + 1);
        let entry = serde_json::json!({
            "type": kind, "uuid": format!("u{n}-{at}"), "parentUuid": parent, "sessionId": session, "timestamp": time,
            "message": message,
        });
        format!("{entry}\n")
    };
    let call = serde_json::json!({"type": "tool_use", "id": format!("toolu_{n}"), "name": tool, "input": {}});
    let result =
        serde_json::json!({"type": "tool_result", "tool_use_id": format!("toolu_{n}"), "content": "ok"});
    [
        entry("user", 0, serde_json::json!({"role": "user", "content": "Look"})),
        entry(
            "assistant",
            1,
            serde_json::json!({"role": "assistant", "id": format!("msg_{n}"), "model": "m", "content": [call]}),
        ),
        entry("user", 2, serde_json::json!({"role": "user", "content": [result]})),
    ]
    .concat()
}

#[test]
fn tokens_by_model_add_up_to_all_tokens() {
    let fixture = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/copilot-cli/subagent");
    let stats = Unspool::new().json(&["stats", "--json", fixture]);
    for bucket in ["input", "cache_read", "cache_write", "output", "reasoning"] {
        let models = stats["models"].as_array().unwrap().iter();
        let sum: u64 = models.map(|model| model["usage"][bucket].as_u64().unwrap()).sum();
        assert_eq!(sum, stats["totals"]["usage"][bucket].as_u64().unwrap(), "{bucket}");
    }
    assert_eq!(stats["models"][0]["count"], stats["totals"]["model_calls"]);
}
