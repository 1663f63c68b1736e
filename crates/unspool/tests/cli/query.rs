//! `unspool query`: what is found, how it is said, and what is refused.

use super::{DEMO_SESSION, Unspool};

fn steps(unspool: &Unspool, query: &str) -> Vec<(u64, String)> {
    let output = unspool.run(&["query", "--json", query]);
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let sessions = document["sessions"].as_array().unwrap().iter();
    let steps: Vec<(u64, String)> = sessions
        .flat_map(|session| session["steps"].as_array().unwrap())
        .map(|step| (step["seq"].as_u64().unwrap(), step["name"].as_str().unwrap_or_default().to_string()))
        .collect();
    assert_eq!(output.status.code(), Some(i32::from(steps.is_empty())), "{query}");
    steps
}

#[test]
fn steps_are_found_by_what_they_are_and_how_they_stand() {
    let unspool = Unspool::with_demo();
    let names =
        |query: &str| -> Vec<String> { steps(&unspool, query).into_iter().map(|(_, name)| name).collect() };
    let count = |query: &str| steps(&unspool, query).len();
    assert_eq!(names("is:error"), ["Bash"]);
    assert_eq!(names("tool:grep"), ["Grep", "Grep"]);
    assert_eq!(names("tool:Agent under:agent:Explore"), ["Agent"]);
    assert_eq!(names("tool:Edit followed-by:is:error"), ["Edit"]);
    assert_eq!(names("tool:Edit preceded-by:is:error"), ["Edit"]);
    assert_eq!(names("tool:Bash is:retry"), ["Bash"]);
    assert_eq!(names("calls:is:error").len(), 1);
    assert_eq!(names("tool:Agent spawns:(tool:Bash for)"), ["Agent"]);
    assert_eq!(names("is:inferred kind:user").len(), 1);
    assert_eq!(names("confidence<1 -is:inferred"), [] as [&str; 0]);
    assert_eq!(count("is:main or is:subagent"), 41);
    assert_eq!(count(""), 41);
    assert_eq!(count("run:2 tool:Edit"), 1);
    assert_eq!(count("kind:model") + count("-kind:model"), 41);
    assert_eq!(count("cost>0.10"), 1);
    assert_eq!(count("after:2026-10-12"), 0);
    assert_eq!(count("on:2026-10-12"), 41);
    assert_eq!(count("caused-by:is:error tool:Edit"), 1, "what came of the failed test");
    assert_eq!(count("text:\"rounding\" kind:model"), count("text:rounding kind:model"));
    assert_eq!(count("text:rounding"), 3);
}

#[test]
fn a_table_for_people() {
    let unspool = Unspool::with_demo();
    let out = unspool.ok(&["query", "is:error"]);
    assert!(out.contains("5e55a9e0") && out.contains("Bash") && out.contains("1 step in 1 session"), "{out}");
    let out = unspool.ok(&["query", "text:\"two coupons\" kind:user_message", "-n", "1"]);
    assert!(out.contains("[two coupons]"), "{out}");
    let out = unspool.ok(&["query", "--count", "tool:Bash", DEMO_SESSION]);
    assert!(out.contains("5 steps in 1 of 1 session"), "{out}");
    for screen in ["60", "80", "120"] {
        let output = unspool.command().env("COLUMNS", screen).args(["query", "kind:model"]).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let widest = text.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(widest <= screen.parse().unwrap(), "{text}");
    }
}

#[test]
fn nothing_found_is_told_by_the_exit_code_as_grep_does() {
    let unspool = Unspool::with_demo();
    let output = unspool.run(&["query", "tool:NoSuch"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "no step matches tool:NoSuch\n");
}

#[test]
fn a_query_that_is_not_understood_is_shown_with_a_mark_below_the_place() {
    let unspool = Unspool::with_demo();
    let refused = |query: &str| {
        let output = unspool.run(&["query", query]);
        assert_eq!(output.status.code(), Some(2), "{query}");
        String::from_utf8(output.stderr).unwrap()
    };
    assert_eq!(
        refused("is:error tol:Bash"),
        "error: query: there is no field `tol`\n  is:error tol:Bash\n           ^^^\n\
         hint: did you mean `tool`? To look for the words, type \"tol:Bash\"\n"
    );
    assert!(
        refused("日本 duration>5").contains(
            "
  日本 duration>5
                ^
"
        ),
        "two columns per character"
    );
    assert!(refused(&"(".repeat(1000)).contains("max_query_depth"));
    assert!(refused("-").contains("expected a condition"));
}

#[test]
fn the_places_of_records_are_asked_like_any_other_command() {
    let unspool = Unspool::with_demo();
    assert!(unspool.fails(&["query", "is:error", "typo"]).contains("no session matches `typo`"));
    assert!(unspool.fails(&["query", "is:error", "no/such.jsonl"]).contains("cannot read"));
    let file = unspool.home.path().join(format!(".claude/projects/shop/{DEMO_SESSION}.jsonl"));
    let piped = unspool.pipe(&["query", "text:coupons kind:user", "-"], &std::fs::read(file).unwrap());
    assert!(
        String::from_utf8(piped.stdout).unwrap().contains("[coupons]"),
        "words are found on standard input, too"
    );
}

#[test]
fn the_reason_of_an_api_error_is_known_and_found() {
    let unspool = Unspool::new();
    let error = r#"{"status":429,"error":{"type":"error","error":{"type":"rate_limit_error","message":"Too many tokens."}}}"#;
    let refused = format!(
        "{{\"type\":\"system\",\"subtype\":\"api_error\",\"uuid\":\"e1\",\"parentUuid\":\"u1\",\"sessionId\":\"s\",\
         \"timestamp\":\"2026-01-01T00:00:01Z\",\"level\":\"error\",\"error\":{error}}}\n"
    );
    unspool.write(".claude/projects/p/s.jsonl", super::line("u1", "Go") + &refused);
    for query in ["error:rate_limit", "error:\"too many\"", "text:rate_limit_error"] {
        assert_eq!(steps(&unspool, query), [(1, "api_error".to_string())], "{query}");
    }
    assert!(unspool.ok(&["failures", "s"]).contains("429 rate_limit_error: Too many tokens."));
}
