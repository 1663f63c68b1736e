//! What the exports promise: counts that add up, indexes, the same bytes in any order, native bytes back.

use super::{DEMO_SESSION, Unspool, line};
use serde_json::Value;
use std::fs;
#[test]
fn the_export_keeps_its_contract() {
    let unspool = Unspool::with_demo();
    let flow = unspool.json(&["export", "--format", "json"]);
    assert_eq!(flow["schema"], "unspool.flow/1");
    let counts = &flow["counts"];
    let count = |name: &str| counts[name].as_u64().unwrap();
    assert_eq!(count("records"), count("stored") + count("duplicate") + count("rejected"));
    let session = &flow["sessions"][0];
    let has = |value: &Value, names: &[&str]| {
        for name in names {
            assert!(value.get(name).is_some(), "{name} is missing in {value}");
        }
    };
    has(
        session,
        &[
            "id",
            "native_ids",
            "title",
            "started_at",
            "ended_at",
            "agents",
            "runs",
            "steps",
            "edges",
            "issues",
            "totals",
        ],
    );
    has(
        &session["agents"][1],
        &["id", "native_id", "type", "name", "parent_id", "depth", "status", "internal", "spawn", "totals"],
    );
    has(&session["agents"][1]["spawn"], &["tool_use_id", "rule", "confidence", "inferred"]);
    has(&session["runs"][0], &["id", "trigger_step_id", "status", "started_at", "ended_at", "duration_ms"]);
    for step in session["steps"].as_array().unwrap() {
        has(
            step,
            &[
                "id",
                "kind",
                "agent_id",
                "run_id",
                "parent_id",
                "seq",
                "depth",
                "name",
                "tool_use_id",
                "message_id",
                "model",
                "started_at",
                "ended_at",
                "duration_ms",
                "is_error",
                "usage",
                "witnesses",
            ],
        );
        has(&step["witnesses"][0], &["record_id", "format", "stream", "ordinal"]);
    }
    for edge in session["edges"].as_array().unwrap() {
        has(
            edge,
            &["from", "to", "kind", "rule", "confidence", "inferred", "tool_use_id", "is_error", "evidence"],
        );
        assert!(!edge["evidence"].as_array().unwrap().is_empty(), "an edge without evidence: {edge}");
    }
    assert_eq!(session["runs"].as_array().unwrap().len(), 2, "a notification starts no run");
    assert_eq!(session["title"], "Fix checkout total for two coupons");
}

#[test]
fn the_timeline_tree_has_its_indexes() {
    let tree = &Unspool::with_demo().json(&["export", "--format", "tree-json"])["trees"][0];
    let nodes = tree["nodes"].as_array().unwrap();
    assert_eq!(tree["total_nodes"].as_u64().unwrap(), nodes.len() as u64);
    assert_eq!(tree["max_depth"], 2);
    let by_tool = &tree["by_tool_use_id"]["toolu_demo_callers"];
    let call = nodes.iter().find(|node| &node["id"] == by_tool).unwrap();
    let child = nodes.iter().find(|node| node["id"] == call["children"][0]).unwrap();
    assert_eq!(
        child["agent_id"], "a1f00d0000000003c",
        "the agent's first step hangs below the call that started it"
    );
    assert_eq!(tree["by_agent_id"]["a1f00d0000000003c"].as_array().unwrap().len(), 4);
    assert!(
        tree["by_uuid"].as_object().unwrap().len() > nodes.len(),
        "every record of a step leads to its node"
    );
}

#[test]
fn output_does_not_depend_on_the_order_of_inputs() {
    let unspool = Unspool::with_demo();
    let folder = unspool.path(&format!(".claude/projects/shop/{DEMO_SESSION}/subagents"));
    let main = unspool.path(&format!(".claude/projects/shop/{DEMO_SESSION}.jsonl"));
    let one = unspool.ok(&["export", &folder, &main]);
    assert_eq!(unspool.ok(&["export", &main, &folder]), one);
    assert_eq!(unspool.ok(&["export", &main, &folder, &main]), one, "the same path twice is read once");
}

#[test]
fn a_copy_adds_nothing() {
    let unspool = Unspool::with_demo();
    let before = unspool.json(&["export"]);
    let file = format!(".claude/projects/shop/{DEMO_SESSION}.jsonl");
    let bytes = fs::read(unspool.path(&file)).unwrap();
    unspool.write(&format!(".claude/projects/zcopy/{DEMO_SESSION}.jsonl"), bytes);
    let after = unspool.json(&["export"]);
    assert_eq!(after["sessions"], before["sessions"]);
    assert!(after["counts"]["duplicate"].as_u64().unwrap() > 0);
}

#[test]
fn native_bytes_come_back() {
    let unspool = Unspool::new();
    // Spaces, escapes, a carriage return and invalid UTF-8 all belong to the record.
    let odd = b"{ \"type\" : \"user\",\"uuid\":\"u1\", \"sessionId\":\"s\",\"message\":{\"content\":\"\\u00e4 \xff\"}}  \r";
    let file = unspool.write("odd.jsonl", [&odd[..], b"\n", line("u2", "two").as_bytes()].concat());
    let flow = unspool.json(&["export", &file]);
    let ids: Vec<String> = flow["sessions"][0]["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| step["witnesses"][0]["record_id"].as_str().unwrap().to_string())
        .collect();
    let first = unspool.run(&["export", "--native", &ids[0], &file]);
    let second = unspool.run(&["export", &file, "--native", &ids[1]]);
    let all = [first.stdout, second.stdout];
    assert!(all.contains(&odd.to_vec()));
    assert!(all.contains(&line("u2", "two").trim_end().as_bytes().to_vec()));
    let unknown = format!("r{}", "0".repeat(32));
    unspool.fails(&["export", "--native", &unknown, &file]);
}

#[test]
fn standard_input_works_and_its_bytes_come_back() {
    let unspool = Unspool::new();
    let text = line("u1", "hi");
    let pipe = |args: &[&str]| unspool.pipe(args, text.as_bytes()).stdout;
    let flow: Value = serde_json::from_slice(&pipe(&["export", "-"])).unwrap();
    let id = flow["sessions"][0]["steps"][0]["witnesses"][0]["record_id"].as_str().unwrap().to_string();
    assert_eq!(pipe(&["export", "--native", &id, "-"]), text.trim_end().as_bytes());
}
