//! `unspool metrics` and `unspool failures`: what is counted and followed, in words and as JSON.

use super::{DEMO_SESSION, Unspool};

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
