//! `unspool diff`: two sessions, runs or agents side by side.

use super::{DEMO_SESSION, Unspool};
use std::fs;

/// The demo's main file with changes, as a session of its own.
fn changed(unspool: &Unspool, changes: &[(&str, &str)]) -> String {
    let file = unspool.home.path().join(format!(".claude/projects/shop/{DEMO_SESSION}.jsonl"));
    let mut text = fs::read_to_string(file).unwrap();
    for (from, to) in changes {
        assert!(text.contains(from), "{from}");
        text = text.replace(from, to);
    }
    unspool.write("other.jsonl", text)
}

#[test]
fn nothing_differs_from_itself() {
    let unspool = Unspool::with_demo();
    let out = unspool.ok(&["diff", "5e55", "5e55", "--exit-code"]);
    assert!(out.ends_with("nothing differs, in 41 steps\n"), "{out}");
    let document = unspool.json(&["diff", "5e55", "5e55", "--json"]);
    assert_eq!(document["same"], true);
    assert_eq!(document["steps"].as_array().unwrap().len(), 0);
}

#[test]
fn a_change_is_shown_with_both_words() {
    let unspool = Unspool::with_demo();
    let same = changed(&unspool, &[]);
    let other = unspool.path("main.jsonl");
    fs::copy(&same, &other).unwrap();
    let file = changed(&unspool, &[("npm test -- pricing", "npm test -- pricing --watch=false")]);
    let out = unspool.ok(&["diff", &other, &file]);
    assert!(
        out.contains("A npm test -- pricing\n") && out.contains("B npm test -- pricing --watch=false\n"),
        "{out}"
    );
    assert!(out.contains("they first part in main"), "{out}");
    let back = unspool.json(&["diff", &file, &other, "--json"]);
    assert_eq!(
        back["counts"]["changed"],
        unspool.json(&["diff", &other, &file, "--json"])["counts"]["changed"]
    );
    assert_eq!(unspool.run(&["diff", &other, &file, "--exit-code"]).status.code(), Some(1));
    let stat = unspool.ok(&["diff", &other, &file, "--stat"]);
    assert!(stat.contains("model calls") && stat.lines().count() < out.lines().count(), "{stat}");
}

#[test]
fn runs_and_agents_of_a_session() {
    let unspool = Unspool::with_demo();
    let runs = unspool.json(&["diff", "5e55:1", ":2", "--json"]);
    assert_eq!(runs["totals"]["delta"]["errors"], -1);
    assert_eq!(runs["totals"]["b"]["steps"], 4);
    let agents = unspool.ok(&["diff", "5e55:a1f00d0000000001a", "5e55:a1f00d0000000002b"]);
    assert!(agents.contains("Grep") && agents.contains("only in A"), "{agents}");
    for screen in [60, 80, 100] {
        let mut command = unspool.command();
        command.env("COLUMNS", screen.to_string()).args(["diff", "5e55:1", "5e55:2"]);
        let text = String::from_utf8(command.output().unwrap().stdout).unwrap();
        let widest = text.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(widest <= screen, "{text}");
    }
}

#[test]
fn what_cannot_be_compared_is_explained() {
    let unspool = Unspool::with_demo();
    let error = unspool.refuses(&["diff", "5e55:9", "5e55:1"]);
    assert!(error.contains("has no run or agent `9`") && error.contains("2  run: Great."), "{error}");
    assert!(unspool.fails(&["diff", "5e55:Explore", "5e55:1"]).contains("`Explore` matches 3 things"));
    assert!(unspool.fails(&["diff", "5e55", "typo"]).contains("no session matches `typo`"));
    assert!(unspool.fails(&["diff", "5e55", "no/such.jsonl"]).contains("cannot read no/such.jsonl"));
    unspool.write("two/a.jsonl", super::line("u1", "one"));
    unspool.write("two/b.jsonl", super::line("u2", "two").replace("\"s\"", "\"t\""));
    let folder = unspool.path("two");
    assert!(unspool.fails(&["diff", &folder, "5e55"]).contains("holds 2 sessions"));
}

#[test]
fn output_is_what_stats_call_output() {
    let unspool = Unspool::with_demo();
    let totals = &unspool.json(&["diff", "5e55:1", ":2", "--json"])["totals"]["a"];
    let out = unspool.ok(&["diff", "5e55:1", ":2", "--stat"]);
    let row = |name: &str| {
        let line = out.lines().find(|line| line.starts_with(name)).unwrap();
        line[name.len()..].split_whitespace().next().unwrap().to_string()
    };
    assert_eq!(row("reasoning"), totals["usage"]["reasoning"].to_string());
    assert_eq!(row("output tokens"), "2.0k");
    assert_eq!(totals["usage"]["output"].as_u64().unwrap() / 100, 19, "without reasoning");
}
