//! What cannot be read, found or understood: named, with a hint, and nothing else is lost.

use super::{Unspool, issues, line};
use std::fs;
use std::path::Path;
#[test]
fn bad_lines_are_survived_and_named() {
    let unspool = Unspool::new();
    let good = |text: &str| line(text, text).into_bytes();
    let deep = format!(
        "{{\"type\":\"user\",\"uuid\":\"d\",\"sessionId\":\"s\",\"x\":{}{},\"message\":{{\"content\":\"deep\"}}}}\n",
        "[".repeat(200),
        "]".repeat(200)
    );
    let cases: Vec<(&str, Vec<u8>, Option<&str>, u64)> = vec![
        ("torn", [good("a"), line("b", "b").as_bytes()[..60].to_vec()].concat(), Some("torn_line"), 1),
        ("nul", [good("a"), vec![0; 64], b"\n".to_vec(), good("b")].concat(), Some("nul_bytes"), 2),
        (
            "utf8",
            [line("a", "X").into_bytes().iter().map(|b| if *b == b'X' { 0xFF } else { *b }).collect(), good("b")].concat(),
            Some("invalid_utf8"),
            2,
        ),
        ("not_json", [b"hello\n".to_vec(), good("a")].concat(), Some("not_json"), 1),
        ("array", [b"[1]\n".to_vec(), good("a")].concat(), Some("not_an_object"), 1),
        (
            "types",
            [b"{\"type\":\"user\",\"uuid\":5,\"message\":\"x\",\"sessionId\":\"s\"}\n".to_vec(), good("a")].concat(),
            Some("wrong_type"),
            2,
        ),
        (
            "twice",
            b"{\"type\":\"user\",\"uuid\":\"a\",\"uuid\":\"b\",\"sessionId\":\"s\",\"message\":{\"content\":\"x\"}}\n".to_vec(),
            Some("duplicate_key"),
            1,
        ),
        ("deep", [good("a"), deep.into_bytes()].concat(), None, 2),
        ("blank", [b"\n\n".to_vec(), good("a"), b"   \n".to_vec()].concat(), None, 1),
        ("bom", [b"\xEF\xBB\xBF".to_vec(), good("a")].concat(), None, 1),
    ];
    for (name, bytes, code, steps) in cases {
        let file = unspool.write(&format!("{name}.jsonl"), bytes);
        let flow = unspool.json(&["export", &file]);
        let codes = issues(&flow);
        match code {
            Some(code) => assert!(codes.contains(&code.to_string()), "{name}: {codes:?}"),
            None => assert_eq!(codes, Vec::<String>::new(), "{name}"),
        }
        assert_eq!(flow["sessions"][0]["totals"]["steps"], steps, "{name}");
    }
}

#[test]
fn a_line_of_a_hundred_megabytes_is_read() {
    let unspool = Unspool::new();
    let mut bytes = line("a", "a").into_bytes();
    bytes.extend_from_slice(b"{\"type\":\"user\",\"uuid\":\"big\",\"sessionId\":\"s\",\"message\":{\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"t\",\"content\":\"");
    bytes.extend(std::iter::repeat_n(b'x', 100_000_000));
    bytes.extend_from_slice(b"\"}]}}\n");
    bytes.extend_from_slice(line("c", "c").as_bytes());
    let file = unspool.write("big.jsonl", bytes);
    let stats = unspool.json(&["stats", "--json", &file]);
    assert_eq!(stats["counts"]["stored"], 3);
    assert_eq!(stats["totals"]["tool_calls"], 1);
}

#[test]
fn what_cannot_be_read_gets_one_line_and_a_hint() {
    let unspool = Unspool::new();
    let foreign = unspool.write("foreign.jsonl", "{\"a\":1}\n");
    let empty = unspool.write("empty.jsonl", "");
    fs::create_dir(unspool.path("nothing")).unwrap();
    assert!(unspool.fails(&["ls", "missing"]).contains("`missing` is no path"));
    assert!(unspool.fails(&["ls", &foreign]).contains("no format recognised"));
    assert!(unspool.fails(&["ls", &empty]).contains("is empty"));
    assert!(unspool.fails(&["stats", &unspool.path("nothing")]).contains("nothing to read"));
    assert!(unspool.fails(&["show", "dir/missing.jsonl"]).contains("No such file"));
    assert!(unspool.fails(&["show", "abcd"]).contains("no sessions in the usual places"));
    assert!(unspool.fails(&["ls", "dir/missing"]).contains("cannot read dir/missing"));
    assert!(unspool.fails(&["inspect", "missing"]).contains("cannot read missing"));
    let with_demo = Unspool::with_demo();
    assert!(with_demo.fails(&["show", "ffff"]).contains("no session matches"));
}

#[test]
fn one_bad_file_among_good_ones_is_named_not_fatal() {
    let unspool = Unspool::new();
    let good = unspool.write("d/good.jsonl", line("a", "a"));
    unspool.write("d/foreign.json", "{\"a\":1}");
    unspool.write("d/picture.png", [1, 2, 3]);
    let folder = Path::new(&good).parent().unwrap().to_string_lossy().into_owned();
    let codes = issues(&unspool.json(&["export", &folder]));
    assert!(codes.contains(&"unknown_format".into()) && codes.contains(&"file_not_data".into()), "{codes:?}");
    let output = unspool.run(&["ls", &good, "missing"]);
    assert!(output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("cannot read missing"));
}

#[test]
fn an_ambiguous_session_lists_what_matches() {
    let unspool = Unspool::new();
    for id in ["abc1", "abc2"] {
        unspool.write(
            &format!(".claude/projects/p/{id}.jsonl"),
            line(id, "x").replace("\"s\"", &format!("\"{id}\"")),
        );
    }
    let error = unspool.fails(&["show", "abc"]);
    assert!(error.contains("abc1") && error.contains("abc2"), "{error}");
    unspool.ok(&["show", "abc1"]);
    assert_eq!(
        unspool.json(&["ls", "--json", "abc1"]).as_array().unwrap().len(),
        1,
        "ids work wherever paths do"
    );
    assert_eq!(unspool.json(&["export", "abc1", "abc2"])["sessions"].as_array().unwrap().len(), 2);
}

#[test]
fn a_wrong_configuration_is_refused() {
    let unspool = Unspool::with_demo();
    let config = unspool.write("config.toml", "spawn_toolz = []");
    let output = unspool.run(&["--config", &config, "ls"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("spawn_toolz"));
    let config = unspool.write("config.toml", "[retention.source.bogus]\nmax_age_days = 1\n");
    let output = unspool.run(&["--config", &config, "ls"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("files, upload, hooks"));
    let output = unspool.run(&["--config", "missing.toml", "ls"]);
    assert_eq!(output.status.code(), Some(2));
}
