//! Sessions as one HTML file: what is written, what is said, and what is refused.

use super::{DEMO_SESSION, Unspool};
use std::fs;

fn demo(unspool: &Unspool) -> String {
    let folder = unspool.path("demo");
    unspool.run(&["demo", "--write", &folder]);
    folder
}

#[test]
fn a_session_is_one_file_that_reaches_nothing() {
    let unspool = Unspool::new();
    let (folder, file) = (demo(&unspool), unspool.path("run.html"));
    let output = unspool.run(&["report", DEMO_SESSION, "--in", &folder, "-o", &file]);
    assert!(output.status.success(), "{output:?}");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("1 session, ") && said.contains(" steps, "), "{said}");
    assert!(output.stdout.is_empty());
    let html = fs::read_to_string(&file).unwrap();
    assert!(html.contains("default-src 'none'"));
    let addresses = ["src=\"", "href=\"http", "src=http", "@import", "url(http"];
    assert!(addresses.iter().all(|address| !html.contains(address)));
    let again = unspool.path("again.html");
    let as_of = ["--as-of", "2026-11-15T12:00:00Z"];
    for file in [&file, &again] {
        unspool.run(&[&["report", DEMO_SESSION, "--in", &folder, "-o", file][..], &as_of].concat());
    }
    assert!(fs::read(&file).unwrap() == fs::read(&again).unwrap(), "the same report is another file");
}

#[test]
fn all_sessions_of_a_folder_are_in_one_report() {
    let unspool = Unspool::new();
    let (folder, file) = (demo(&unspool), unspool.path("all.html"));
    let output = unspool.run(&["report", &folder, "-o", &file]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains(" sessions, "), "{said}");
    assert!(fs::read_to_string(&file).unwrap().contains(" sessions · Unspool</title>"));
}

#[test]
fn what_was_masked_is_said() {
    let unspool = Unspool::new();
    let secret = format!("ghp_{}", "a1B2c3D4e5".repeat(4));
    let line = |uuid: &str| super::line(uuid, &format!("push with {secret} please"));
    let file = unspool.write("s.jsonl", [line("a"), line("b")].concat().into_bytes());
    let out = unspool.path("s.html");
    let said = |redact: &[&str]| {
        let output = unspool.run(&[&["report", &file, "-o", &out][..], redact].concat());
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(!said(&[]).contains("masked"));
    let masked = said(&["--redact"]);
    assert!(masked.contains("2 secrets masked (2 github-token)"), "{masked}");
    assert!(!fs::read_to_string(&out).unwrap().contains(&secret));
    let quiet = unspool.write("q.jsonl", super::line("a", "nothing").into_bytes());
    let output = unspool.run(&["report", &quiet, "-o", &out, "--redact"]);
    let none = String::from_utf8(output.stderr).unwrap();
    assert!(none.contains("nothing in it looks like a secret"), "{none}");
}

#[test]
fn rules_of_ones_own_mask_and_count_by_their_names() {
    let unspool = Unspool::new();
    let file = unspool.write("s.jsonl", super::line("a", "ask CUST-77 and CUST-78\\nCUST-77").into_bytes());
    let config = unspool.write("c.toml", b"[[redact]]\nname = \"customer\"\npattern = 'CUST-\\d+'\n");
    let out = unspool.path("s.html");
    let said = |words: &[&str]| {
        let output = unspool.run(&[&["--config", &config, "report", &file, "-o", &out][..], words].concat());
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(!said(&[]).contains("masked"), "rules alone mask nothing");
    let masked = said(&["--redact"]);
    assert!(masked.contains("3 secrets masked (3 customer)"), "{masked}");
}

#[test]
fn what_cannot_be_reported_is_said_with_a_hint() {
    let unspool = Unspool::new();
    let folder = demo(&unspool);
    let empty = unspool.write("empty.jsonl", Vec::new());
    let strange = unspool.write("strange.jsonl", b"hello\n");
    let out = unspool.path("out.html");
    let nowhere = unspool.path("no/such/folder/out.html");
    let cases: &[(&[&str], &str, &str)] = &[
        (&["zzzz", "--in", &folder, "-o", &out], "no session matches `zzzz`", "unspool ls"),
        (&[&empty, "-o", &out], "is empty", "unspool demo"),
        (&[&strange, "-o", &out], "no format recognised", "unspool inspect"),
        (&["no/such.jsonl", "-o", &out], "cannot read", "check that the path exists"),
        (&[DEMO_SESSION, "--in", &folder, "-o", &nowhere], "cannot write", "check that the folder exists"),
        (&["-o", &out], "required", "SESSION|PATH"),
    ];
    for (args, why, hint) in cases {
        let output = unspool.run(&[&["report"][..], args].concat());
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success(), "{args:?}");
        assert!(said.contains(why) && said.contains(hint), "{args:?}: {said}");
    }
    assert!(!fs::exists(&out).unwrap(), "nothing is left behind");
}
