//! Recorded traffic: a failed request says why, and an agent says why its requests belong together.

use super::Unspool;

const CAPTURE: &str = include_str!("../../../../fixtures/inference-log/har/capture.har");

#[test]
fn a_recorded_conversation_is_shown_and_explained() {
    let unspool = Unspool::new();
    let file = unspool.write("capture.har", CAPTURE);
    let shown = unspool.ok(&["show", &file]);
    assert!(shown.contains("Bad gateway, try again ✗"), "{shown}");
    let why = unspool.ok(&["explain", &file, "conversation-"]);
    assert!(why.contains("Why its requests belong together"), "{why}");
    assert!(why.contains("conversation-history"), "{why}");
    assert!(why.contains("record 1 of") && why.contains("goes on from"), "{why}");
}
