//! `unspool metrics`: what is counted, in tables and as JSON.

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
