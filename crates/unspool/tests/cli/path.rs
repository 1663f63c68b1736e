//! `unspool path`: a session, a part of it, other durations, and bad input.

use super::Unspool;

#[test]
fn the_path_of_the_demo() {
    let unspool = Unspool::with_demo();
    insta::assert_snapshot!("path_demo", unspool.ok(&["path", "5e55", "--what-if", "tool:Bash=0.5"]));
    insta::assert_snapshot!("path_agent", unspool.ok(&["path", "5e55", "--agent", "test-runner"]));
}

#[test]
fn pieces_add_up_to_the_wall_clock() {
    let document = Unspool::with_demo().json(&["path", "5e55", "--json"]);
    let session = &document["sessions"][0];
    let path = &session["path"];
    let pieces = path["segments"].as_array().unwrap();
    let sum: i64 = pieces.iter().map(|piece| piece["ms"].as_i64().unwrap()).sum();
    assert_eq!(path["wall_ms"].as_i64(), Some(sum));
    assert_eq!(session["runs"].as_array().unwrap().len(), 2);
}

#[test]
fn what_is_not_there_is_refused_with_what_is() {
    let unspool = Unspool::with_demo();
    let error = unspool.refuses(&["path", "5e55", "--run", "9"]);
    assert!(error.contains("no run `9`") && error.contains("Great. Write"), "{error}");
    let error = unspool.fails(&["path", "5e55", "--run", "u"]);
    assert!(
        error.contains("`u` matches 2 things") && error.contains("1  u") && error.contains("2  u"),
        "{error}"
    );
    let error = unspool.refuses(&["path", "5e55", "--agent", "nobody"]);
    assert!(error.contains("no agent `nobody`") && error.contains("test-runner"), "{error}");
    let error = unspool.fails(&["path", "5e55", "--agent", "e"]);
    assert!(error.contains("`e`") && error.contains("test-runner"), "an ambiguous one too: {error}");
    let error = unspool.refuses(&["path", "5e55", "--what-if", "tool:Bsh=0.5"]);
    assert!(error.contains("changes nothing") && error.contains("tool:Bash"), "{error}");
    let output = unspool.run(&["path", "5e55", "--what-if", "Bash"]);
    assert_eq!(output.status.code(), Some(2));
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.contains("there is no `=`"), "{error}");
}

#[test]
fn of_many_sessions_the_first_are_shown_unless_all_are_asked_for() {
    let unspool = Unspool::new();
    for n in 0..23 {
        let line = format!(
            r#"{{"type":"user","sessionId":"5e55{n:04}-0000-4000-8000-000000000000","uuid":"u{n}","parentUuid":null,"isSidechain":false,"userType":"external","cwd":"/w","version":"2.0.0","timestamp":"2026-01-01T00:00:{n:02}.000Z","message":{{"role":"user","content":"question {n}"}}}}"#
        );
        unspool.write(&format!("many/5e55{n:04}-0000-4000-8000-000000000000.jsonl"), line + "\n");
    }
    let many = unspool.path("many");
    let short = unspool.ok(&["path", &many]);
    assert!(short.contains("question 19") && !short.contains("question 20"), "{short}");
    assert!(short.contains("3 more sessions not shown"), "{short}");
    let full = unspool.ok(&["path", &many, "--full"]);
    assert!(full.contains("question 22") && !full.contains("not shown"), "{full}");
}
