//! A JSON export is a session like any other: every command works on it, and it gives way to the records themselves.

use super::{DEMO_SESSION, Unspool};
use serde_json::Value;
use std::fs;

/// A folder that holds the demo's export and nothing else.
fn with_export() -> (Unspool, Unspool) {
    let from = Unspool::with_demo();
    from.ok(&["export", DEMO_SESSION, "-o", "kept.json"]);
    let to = Unspool::new();
    to.write("kept.json", fs::read_to_string(from.path("kept.json")).unwrap());
    (from, to)
}

#[test]
fn every_command_gives_the_same_answer_from_an_export() {
    let (from, to) = with_export();
    for args in [
        &["show"][..],
        &["stats"],
        &["path"],
        &["findings"],
        &["graph"],
        &["timeline"],
        &["query", "tool:Bash"],
        &["query", "is:error"],
        &["export", "--format", "otlp-json"],
        &["export", "--format", "thoughtflow"],
        &["export", "--format", "chrome-trace"],
        &["export", "--format", "markdown"],
    ] {
        let before = from.ok(&[args, &[DEMO_SESSION]].concat());
        let after = to.ok(&[args, &["kept.json"]].concat());
        // Only how many records were read is another number.
        let clean = |text: &str| {
            let lines = text.lines().filter(|line| !line.contains("record"));
            lines.collect::<Vec<_>>().join("\n")
        };
        assert_eq!(clean(&before), clean(&after), "{args:?}");
    }
    let compared = from.ok(&["diff", DEMO_SESSION, "kept.json"]);
    assert!(compared.contains("nothing differs"), "{compared}");
    let listed = to.ok(&["ls", "kept.json"]);
    assert!(listed.contains("Fix checkout total"), "{listed}");
}

#[test]
fn an_export_of_an_export_is_the_same_document() {
    let (from, to) = with_export();
    let clean = |mut document: Value| {
        document["counts"] = Value::Null;
        for session in document["sessions"].as_array_mut().unwrap() {
            for (list, field) in [("steps", "witnesses"), ("edges", "evidence"), ("issues", "records")] {
                for row in session[list].as_array_mut().unwrap() {
                    row[field] = Value::Null;
                }
            }
        }
        document
    };
    let before = from.json(&["export", DEMO_SESSION]);
    let after = to.json(&["export", "kept.json"]);
    assert_eq!(after["counts"]["records"], 1);
    assert_eq!(clean(before), clean(after));
}

#[test]
fn what_only_the_records_say_is_said_to_be_missing() {
    let (_, to) = with_export();
    let step = to.json(&["export", "kept.json"])["sessions"][0]["steps"][1]["id"].clone();
    let told = to.ok(&["explain", "kept.json", step.as_str().unwrap()]);
    assert!(told.contains("the records it was made from are not at hand"), "{told}");
    let asked = to.run(&["query", "text:checkout", "kept.json"]);
    let (out, note) = (String::from_utf8(asked.stdout).unwrap(), String::from_utf8(asked.stderr).unwrap());
    assert!(out.contains("no step matches"), "{out}");
    assert!(note.contains("an export holds first words"), "{note}");
}

#[test]
fn records_win_over_their_export() {
    let (from, _) = with_export();
    let folder = from.path(".claude");
    let alone = from.json(&["export", &folder]);
    for both in [[folder.as_str(), "kept.json"], ["kept.json", folder.as_str()]] {
        let joined = from.json(&["export", both[0], both[1]]);
        assert_eq!(joined["sessions"], alone["sessions"]);
        assert_eq!(joined["counts"]["duplicate"], alone["counts"]["duplicate"].as_u64().unwrap() + 1);
        assert_eq!(joined["issues"][0]["code"], "session_superseded");
    }
}

#[test]
fn a_newer_schema_is_refused_by_name() {
    let (_, to) = with_export();
    let text = fs::read_to_string(to.path("kept.json")).unwrap();
    to.write("newer.json", text.replacen("unspool.flow/1", "unspool.flow/2", 1));
    let told = to.fails(&["show", "newer.json"]);
    assert!(told.contains("schema_unknown"), "{told}");
    let both = to.json(&["export", "newer.json", "kept.json"]);
    assert_eq!((&both["counts"]["rejected"], &both["counts"]["stored"]), (&1.into(), &1.into()));
    assert_eq!(both["issues"][0]["code"], "schema_unknown");
}
