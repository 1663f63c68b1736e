//! The page as it is served, and the description its types are made from.

use crate::asking::Asked;
use crate::running::Running;
use std::path::Path;

const DESCRIPTION: &str = "../../web/openapi.json";

#[test]
fn the_page_and_its_parts_are_served_with_their_types_and_rules() {
    let running = Running::start();
    let html = running.get("/");
    assert_eq!(html.status, 200);
    let text = String::from_utf8(html.body.clone()).unwrap();
    for (path, media) in [("/app.js", "text/javascript"), ("/app.css", "text/css")] {
        assert!(text.contains(&format!("\"{path}\"")), "the page does not ask for {path}");
        let part = running.get(path);
        assert_eq!(part.status, 200, "{path}");
        assert!(part.header("content-type").unwrap().starts_with(media), "{path}");
        assert!(!part.body.is_empty());
    }
    assert!(html.header("content-type").unwrap().starts_with("text/html"));
    let policy = html.header("content-security-policy").unwrap();
    assert!(policy.starts_with("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
    assert!(!text.contains("<script>") && !text.contains("<style") && !text.contains("http"), "{text}");
    for route in ["/sessions", "/sessions/x0123", "/issues", "/usage", "/diff"] {
        assert_eq!(running.get(route).body, html.body, "{route}");
    }
    assert_eq!(running.get("/nothing.js").status, 404);
}

#[test]
fn a_page_that_is_known_is_not_sent_again() {
    let running = Running::start();
    let tag = running.get("/app.js").header("etag").unwrap();
    let again = running.request("GET", "/app.js", &[("if-none-match", &tag)], b"");
    assert_eq!((again.status, again.body.len()), (304, 0));
    let other = running.request("GET", "/app.css", &[("if-none-match", &tag)], b"");
    assert_eq!(other.status, 200);
}

/// The types of the page are made from this file; `UPDATE_SPECS=1` writes it, then `npm run types` in `web/` makes them.
#[test]
fn the_description_the_page_is_typed_by_is_the_one_that_is_served() {
    let served = Running::start().get("/api/v1/openapi.json").json();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(DESCRIPTION);
    if std::env::var_os("UPDATE_SPECS").is_some_and(|value| value == "1") {
        std::fs::write(&path, serde_json::to_string_pretty(&served).unwrap() + "\n").unwrap();
    }
    let kept: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    assert!(
        kept == served,
        "web/openapi.json is stale: run this test with UPDATE_SPECS=1, then `npm run types` in web/"
    );
}

#[test]
fn a_session_in_one_line_is_the_line_of_the_list() {
    let asked = Asked::new();
    let list = asked.running.get("/api/v1/sessions").json();
    let line = asked.running.get(&format!("/api/v1/sessions/{}/line", asked.id)).json();
    assert_eq!(line, list["sessions"][0]);
    assert!(line["steps"].as_u64() > Some(0));
}
