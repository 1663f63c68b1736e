//! Messages in every shape that frameworks write them in.

use super::{Speaker, Talk};

fn read(json: &str) -> Talk {
    Talk::read(json.as_bytes(), Speaker::Assistant)
}

#[test]
fn a_script_has_its_speakers() {
    let talk = Talk::read(b"system: Be kind.\nAlways.\nuser: Say: hi\nnow", Speaker::User);
    let said: Vec<_> = talk.0.iter().map(|message| (message.speaker, message.text.trim())).collect();
    assert_eq!(said, [(Speaker::System, "Be kind.\nAlways."), (Speaker::User, "Say: hi\nnow")]);
    assert_eq!(Talk::read(b"user: hi", Speaker::User).prompt(), Some("user: hi"));
}

#[test]
fn calls_among_a_providers_own_fields() {
    let talk = read(
        r#"{"role":"assistant","content":"","additional_kwargs":{"tool_calls":[{"id":"c1","function":{"name":"f","arguments":"{}"}}]}}"#,
    );
    assert_eq!(talk.calls().map(|call| call.id.as_str()).collect::<Vec<_>>(), ["c1"]);
    let twice = read(
        r#"{"type":"ai","content":"","tool_calls":[{"id":"c1","name":"f","args":{}}],"additional_kwargs":{"tool_calls":[{"id":"c1","function":{"name":"f","arguments":"{}"}}]}}"#,
    );
    assert_eq!(twice.calls().count(), 1);
}

#[test]
fn answers_in_every_shape() {
    for json in [
        r#"[{"role":"assistant","parts":[{"type":"text","content":"Hi"},{"type":"tool_call","id":" c1 ","name":"f","arguments":{"a":1}}]}]"#,
        r#"{"role":"assistant","content":[{"type":"text","text":"Hi"},{"type":"tool_use","id":"c1","name":"f","input":{"a":1}}]}"#,
        r#"{"choices":[{"message":{"role":"assistant","content":"Hi","tool_calls":[{"id":"c1","function":{"name":"f","arguments":"{\"a\":1}"}}]}}]}"#,
        r#"[{"role":"assistant","content":"Hi","tool_calls":[{"id":"c1","name":"f","args":{"a":1}}]}]"#,
    ] {
        let talk = read(json);
        assert_eq!(talk.answer(), Some("Hi"), "{json}");
        let calls: Vec<_> =
            talk.calls().map(|c| (c.id.as_str(), c.name.as_str(), c.input.as_str())).collect();
        assert_eq!(calls, [("c1", "f", r#"{"a":1}"#)], "{json}");
    }
    assert_eq!(read("Hi {there").answer(), Some("Hi {there"));
}

#[test]
fn the_news_are_what_follows_the_last_answer() {
    let json = r#"{"messages":[{"role":"user","content":"Go"},{"role":"assistant","content":"","tool_calls":[{"id":"c1","name":"f"}]},
        {"role":"tool","tool_call_id":"c1","content":"done"}]}"#;
    let talk = Talk::read(json.as_bytes(), Speaker::User);
    assert_eq!(talk.prompt(), None);
    assert_eq!(talk.news()[0].results, ["c1"]);
    let talk = Talk::read(br#"{"input":"{\"question\":\"Why?\"}"}"#, Speaker::User);
    assert_eq!(talk.prompt(), Some("Why?"));
}

#[test]
fn bottomless_nesting_ends_and_is_counted() {
    let message = |levels: usize| {
        let open = r#"{"role":"assistant","content":["#.repeat(levels);
        format!("{open}\"Hi\"{}", "]}".repeat(levels))
    };
    let texts = |levels: usize| {
        (0..levels).fold("Hi".to_string(), |inner, _| format!("{{\"content\":{}}}", serde_json::json!(inner)))
    };
    let lists = |levels: usize| format!("{}\"Hi\"{}", "[".repeat(levels), "]".repeat(levels));
    for json in [message(5), texts(5), lists(12)] {
        assert_eq!((read(&json).answer(), read(&json).cut()), (Some("Hi"), 0), "{json}");
    }
    for json in [message(5000), texts(9), lists(5000)] {
        assert_eq!((read(&json).answer(), read(&json).cut()), (None, 1));
    }
}
