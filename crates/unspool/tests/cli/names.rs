//! What a name may mean: families of sessions tell their main agents apart, and no command guesses among several things.

use super::{Unspool, line};

/// A session of two steps, and the same session resumed under another id with one more.
fn family(first: &str, second: &str) -> Unspool {
    let unspool = Unspool::new();
    let told = |id: &str, more: &[String]| {
        let old = [line("11111111-u", "Begin"), line("22222222-u", "Go on")];
        old.iter().chain(more).map(|text| text.replace("\"s\"", &format!("\"{id}\""))).collect::<String>()
    };
    let later = line("33333333-u", "After a break")
        .replace("null", "\"22222222-u\"")
        .replace("2026-01-01T00:00:00Z", "2026-01-01T02:00:00Z");
    unspool.write(&format!(".claude/projects/p/{first}.jsonl"), told(first, &[]));
    unspool.write(&format!(".claude/projects/p/{second}.jsonl"), told(second, &[later]));
    unspool
}

fn mains(text: &str) -> Vec<String> {
    let lines = text.lines().map(str::trim).filter(|line| line.starts_with("main"));
    lines.map(|line| line.split_whitespace().take(2).collect::<Vec<_>>().join(" ")).collect()
}

#[test]
fn main_agents_of_a_family_say_which_they_are() {
    let unspool = family("aaaaaaaa-0000-4000-8000-000000000001", "bbbbbbbb-0000-4000-8000-000000000002");
    let text = unspool.ok(&["show", "aaaa"]);
    assert_eq!(mains(&text), ["main aaaaaaaa", "main bbbbbbbb"], "{text}");
    assert_eq!(unspool.ok(&["show", "bbbb"]), text, "either id names the family");
    let why = unspool.ok(&["explain", "aaaa", "bbbbbbbb"]);
    assert!(why.contains("agent bbbbbbbb-0000-4000-8000-000000000002"), "{why}");
}

#[test]
fn ids_that_start_alike_are_shown_whole() {
    let (first, second) = ("aaaaaaaa-0000-4000-8000-000000000001", "aaaaaaaa-0000-4000-8000-000000000002");
    let unspool = family(first, second);
    let text = unspool.ok(&["show", first]);
    assert_eq!(mains(&text), [format!("main {first}"), format!("main {second}")], "{text}");
    let error = unspool.fails(&["explain", first, "aaaaaaaa"]);
    assert!(error.contains("matches 2 things") && error.contains(second), "{error}");
    unspool.ok(&["explain", first, second]);
}

#[test]
fn a_single_main_agent_needs_no_id() {
    assert_eq!(mains(&Unspool::with_demo().ok(&["show", "5e55"])), ["main completed"]);
}

#[test]
fn explain_does_not_guess_among_sessions() {
    let unspool = Unspool::new();
    for id in ["one", "two"] {
        let text = [line("same-uuid", id), line(&format!("only-in-{id}"), "x")].concat();
        unspool.write(&format!("d/{id}.jsonl"), text.replace("\"s\"", &format!("\"{id}\"")));
    }
    let folder = unspool.path("d");
    let error = unspool.fails(&["explain", &folder, "same-uuid"]);
    assert!(error.contains("in session one") && error.contains("in session two"), "{error}");
    let listed: Vec<&str> =
        error.lines().filter_map(|line| line.trim().split_once("  ")).map(|(id, _)| id).collect();
    assert_eq!(listed.len(), 2, "{error}");
    for id in listed {
        assert!(unspool.ok(&["explain", &folder, id]).contains(id), "a listed id means one thing");
    }
    assert!(unspool.ok(&["explain", "two", "same-uuid", "--in", &folder]).contains("same-uuid"));
    assert!(unspool.ok(&["explain", &folder, "only-in-two"]).contains("only-in-two"));
    assert!(unspool.ok(&["explain", &folder, "only-in-t"]).contains("only-in-two"), "a unique start");
    assert!(unspool.fails(&["explain", &folder, "only-in"]).contains("matches 2 things"));
    assert!(unspool.fails(&["explain", &folder, "#0"]).contains("matches 2 things"));
    let edge = unspool.json(&["explain", &folder, "same-uuid..only-in-one", "--json"]);
    assert_eq!(edge["subject"], "edge", "one end is enough to tell");
    assert!(unspool.fails(&["explain", &folder, "only-in-one..only-in-two"]).contains("nothing"));
}

#[test]
fn the_same_thing_met_twice_is_no_ambiguity() {
    let unspool = Unspool::new();
    let text = line("u-1-of-it", "hello");
    let one = unspool.write("a/s.jsonl", &text);
    let copy = unspool.write("b/s.jsonl", &text);
    let both = std::path::Path::new(&one).parent().unwrap().parent().unwrap().to_string_lossy().into_owned();
    assert!(copy.starts_with(&both));
    assert!(unspool.ok(&["explain", &both, "u-1-of-it"]).contains("u-1-of-it"));
}

#[test]
fn every_command_that_takes_an_id_looks_for_it_where_it_is_told_to() {
    let (unspool, elsewhere) = (Unspool::new(), Unspool::with_demo());
    let folder = elsewhere.path(".claude/projects");
    let commands = [
        "ls", "show", "stats", "graph", "timeline", "path", "findings", "failures", "metrics", "process",
        "export", "doctor",
    ];
    for command in commands {
        assert!(!unspool.ok(&[command, "5e55", "--in", &folder]).is_empty(), "{command}");
    }
    assert!(unspool.fails(&["failures", "abcd", "--in", &folder]).contains("no session matches `abcd`"));
}

#[test]
fn an_agent_that_is_not_there_is_a_typing_error() {
    let unspool = Unspool::with_demo();
    for command in ["show", "graph", "export"] {
        let format = if command == "export" { &["--format", "dot"][..] } else { &[] };
        let error = unspool.refuses(&[&[command, "5e55", "--agent", "nosuch"], format].concat());
        assert!(error.contains("no agent matches `nosuch`") && error.contains("test-runner"), "{error}");
        unspool.ok(&[&[command, "5e55", "--agent", "TEST"], format].concat());
    }
}

#[test]
fn a_folder_that_cannot_be_written_is_named() {
    let unspool = Unspool::new();
    let file = unspool.write("file", "");
    let error = unspool.fails(&["demo", "--write", &file]);
    assert!(error.contains(&format!("cannot write {file}")), "{error}");
}
