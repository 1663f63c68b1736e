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
