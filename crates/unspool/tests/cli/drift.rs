//! Agents' software changes under our feet: what is new is told, and one line of configuration mends what can be mended.

use super::Unspool;
use serde_json::{Value, json};

/// A session whose spawn tool, model and one type of record nobody knows.
fn drifted() -> (Unspool, String) {
    let line = |uuid: &str, parent: Value, second: u8, kind: &str, message: Value| {
        let at = format!("2026-01-01T00:00:{second:02}Z");
        json!({"type": kind, "uuid": uuid, "parentUuid": parent, "sessionId": "s", "timestamp": at, "message": message})
    };
    let said = |text: &str| json!({"role": "user", "content": text});
    let call = json!({"type": "tool_use", "id": "t1", "name": "Delegate",
        "input": {"prompt": "Count.", "subagent_type": "Explore"}});
    let answer = json!({"id": "m1", "role": "assistant", "model": "claude-nova-9", "content": [call],
        "usage": {"input_tokens": 10, "output_tokens": 5}});
    let new = json!({"type": "hologram", "uuid": "h1", "parentUuid": "a1", "sessionId": "s"});
    let main = [
        line("u1", Value::Null, 0, "user", said("Go")),
        line("a1", json!("u1"), 1, "assistant", answer),
        new,
    ];
    let mut child = line("c1", Value::Null, 2, "user", said("Count."));
    child["isSidechain"] = json!(true);
    child["agentId"] = json!("x9");
    let text = |lines: &[Value]| lines.iter().map(Value::to_string).collect::<Vec<_>>().join("\n");
    let unspool = Unspool::new();
    unspool.write("p/s.jsonl", text(&main));
    unspool.write("p/agent-x9.jsonl", text(&[child]));
    let folder = unspool.path("p");
    (unspool, folder)
}

#[test]
fn a_renamed_spawn_tool_is_found_and_mended_by_one_line() {
    let (unspool, folder) = drifted();
    let told = unspool.ok(&["doctor", &folder]);
    let fix = told.lines().map(str::trim).find(|line| line.starts_with("extra_spawn_tools")).unwrap();
    assert_eq!(fix, "extra_spawn_tools = [\"Delegate\"]");
    assert!(told.contains("not linked: 1 of 1 agents"), "{told}");
    let before = unspool.ok(&["show", &folder]);
    assert!(
        before.contains("spawn_tool_unknown ×1 (Delegate)") && before.contains("spawn not found"),
        "{before}"
    );

    let config = unspool.write("config.toml", fix);
    let after = unspool.ok(&["--config", &config, "show", &folder]);
    assert!(after.contains("spawn-prompt") && !after.contains("spawn not found"), "{after}");
    assert!(!after.contains("spawn_tool_unknown"), "{after}");
    let doctor = unspool.json(&["--config", &config, "doctor", "--json", &folder]);
    assert_eq!((&doctor["linked_by_inference"], &doctor["unlinked"]), (&json!(1), &json!(0)));
    assert_eq!(doctor["formats"][0]["unlinked_share"], 0.0);
}

#[test]
fn a_new_record_type_and_an_unknown_model_are_told_wherever_one_looks() {
    let (unspool, folder) = drifted();
    for command in ["show", "doctor"] {
        let told = unspool.ok(&[command, &folder]);
        for (code, what) in [("unknown_type", "hologram"), ("unknown_model", "claude-nova-9")] {
            assert!(told.contains(code) && told.contains(what), "{command} does not tell of {what}:\n{told}");
        }
    }
    let doctor = unspool.ok(&["doctor", &folder]);
    assert!(doctor.contains("[[price]]") && doctor.contains("models = [\"claude-nova-9\"]"), "{doctor}");
}

#[test]
fn a_file_that_two_formats_claim_is_told() {
    let unspool = Unspool::new();
    let both = concat!(
        "{\"type\":\"user\",\"uuid\":\"u\",\"parentUuid\":null,\"message\":{\"content\":\"Hi\"}}\n",
        "{\"hook_event_name\":\"Stop\",\"session_id\":\"s\"}\n",
    );
    let path = unspool.write("p/both.jsonl", both);
    let told = unspool.ok(&["doctor", &path]);
    assert!(told.contains("also claimed by claude-code-transcript: 1 of them"), "{told}");
    let rivals = &unspool.json(&["doctor", "--json", &path])["formats"][0]["rivals"];
    assert_eq!(rivals[0]["format"], "claude-code-transcript");
}

#[test]
fn files_of_one_name_that_nothing_reads_are_one_line_and_a_bad_moment_is_told_with_its_place() {
    let unspool = Unspool::new();
    let line = |uuid: &str, at: &str| {
        json!({"type": "user", "uuid": uuid, "sessionId": "s", "timestamp": at, "message": {"content": "Go"}})
            .to_string()
    };
    unspool.write("p/s.jsonl", [line("u1", "2026-01-01T00:00:00Z"), line("u2", "yesterday")].join("\n"));
    for n in 0..3 {
        unspool.write(&format!("p/{n}/metadata.json"), "{\"nothing\":\"we know\"}");
    }
    unspool.write("p/other.json", "{\"nothing\":\"we know\"}");
    let folder = unspool.path("p");
    let told = unspool.ok(&["doctor", &folder]);
    let line =
        |start: &str| told.lines().map(str::trim).find(|line| line.starts_with(start)).unwrap_or(&told);
    assert!(told.contains("unknown_format ×4"), "{told}");
    assert!(
        line("3 × metadata.json").contains("first in ") && line("3 ×").ends_with("0/metadata.json"),
        "{told}"
    );
    assert!(line("1 × ").ends_with("other.json") || told.contains("p/other.json"), "{told}");
    assert!(
        line("1 × yesterday").contains("first in record 1 of ") && line("1 × yesterday").ends_with("s.jsonl"),
        "{told}"
    );
    let doctor = unspool.json(&["doctor", "--json", &folder]);
    let of = |code: &str| {
        let findings = doctor["findings"].as_array().unwrap();
        findings.iter().find(|finding| finding["code"] == code).unwrap()["details"]
            .as_array()
            .unwrap()
            .clone()
    };
    assert_eq!(of("unknown_format").len(), 4, "every file is named");
    assert_eq!(of("bad_timestamp")[0]["detail"], "yesterday");
}
