//! `unspool findings`: what is found, in words and as JSON, and bad input.

use super::Unspool;
use serde_json::json;

/// A made-up session that reads a file twice, fails three times in a row, and leaves a call without an answer.
pub(super) fn trouble() -> String {
    let mut lines = Vec::new();
    let mut push = |kind: &str, message: serde_json::Value| {
        let n = lines.len();
        let parent = (n > 0).then(|| format!("u{}", n - 1));
        let line = json!({
            "type": kind, "uuid": format!("u{n}"), "parentUuid": parent, "sessionId": "7r0ub1e0-0000-4000-8000-000000000001",
            "timestamp": format!("2026-01-01T00:{:02}:{:02}Z", n / 60, n % 60), "message": message,
        });
        lines.push(line.to_string());
    };
    push("user", json!({"role": "user", "content": "Find out why the build of the shop fails"}));
    let calls = [
        ("Read", json!({"file_path": "/shop/cart.ts"}), Some(false)),
        ("Grep", json!({"pattern": "total"}), Some(false)),
        ("Read", json!({"file_path": "/shop/cart.ts"}), Some(false)),
        ("Bash", json!({"command": "npm run biuld"}), Some(true)),
        ("Bash", json!({"command": "npm run bulid"}), Some(true)),
        ("Bash", json!({"command": "npm run buidl"}), Some(true)),
        ("Bash", json!({"command": "npm run build"}), None),
    ];
    for (n, (tool, input, result)) in calls.into_iter().enumerate() {
        let block = json!({"type": "tool_use", "id": format!("toolu_{n}"), "name": tool, "input": input});
        push(
            "assistant",
            json!({"role": "assistant", "id": format!("msg_{n}"), "model": "claude-opus-4-7", "content": [block],
                "usage": {"input_tokens": 10, "output_tokens": 5}}),
        );
        if let Some(failed) = result {
            let result = json!({"type": "tool_result", "tool_use_id": format!("toolu_{n}"), "is_error": failed,
                "content": if failed { "Missing script" } else { "ok" }});
            push("user", json!({"role": "user", "content": [result]}));
        }
    }
    lines.join("\n") + "\n"
}

#[test]
fn trouble_is_found() {
    let unspool = Unspool::new();
    let file = unspool.write("trouble.jsonl", trouble());
    insta::assert_snapshot!("findings_trouble", unspool.ok(&["findings", &file]));
    let only = unspool.json(&["findings", &file, "--only", "re_read", "--json"]);
    let found = only["sessions"][0]["findings"].as_array().unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0]["step_ids"].as_array().unwrap().len(), 2);
    assert_eq!(found[0]["cost"]["tokens"], 15);
}

#[test]
fn the_demo_has_nothing_to_find() {
    insta::assert_snapshot!("findings_demo", Unspool::with_demo().ok(&["findings", "5e55"]));
}

#[test]
fn an_unknown_finder_is_refused_with_those_there_are() {
    let error = Unspool::with_demo().refuses(&["findings", "--only", "slow"]);
    assert!(error.contains("no finder `slow`") && error.contains("slow_step"), "{error}");
}
