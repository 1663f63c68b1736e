//! What is said over sockets: shown as what is said over HTTP, and never passed over in silence.

use crate::client::{Proxied, ask, kept};
use serde_json::{Value, json};
use unspool_testkit::socket::{self, Socket, close, hear, say};

fn open(proxied: &Proxied, path: &str) -> Socket {
    socket::open(&proxied.address, &format!("/api{path}"), &[("Authorization", "Bearer sk-secret-1")])
}

/// Answers with one thing, as the Responses API streams it.
fn answer(socket: &mut Socket, id: &str, item: &Value) {
    let usage =
        json!({"input_tokens": 100, "input_tokens_details": {"cached_tokens": 90}, "output_tokens": 5});
    let response = |status: &str| json!({"id": id, "object": "response", "model": "gpt-5.5", "status": status, "output": []});
    let mut over = response("completed");
    (over["output"], over["usage"]) = (json!([item]), usage);
    say(socket, &json!({"type": "response.created", "response": response("in_progress")}));
    say(socket, &json!({"type": "response.output_item.added", "output_index": 0, "item": item}));
    say(socket, &json!({"type": "response.output_item.done", "output_index": 0, "item": item}));
    say(socket, &json!({"type": "response.completed", "response": over}));
}

fn words(text: &str) -> Value {
    json!({"type": "message", "id": "msg_1", "role": "assistant", "content": [{"type": "output_text", "text": text}]})
}

/// Asks for what comes next, and waits for it.
fn turn(socket: &mut Socket, previous: Option<&str>, item: &Value) {
    let mut request = json!({"type": "response.create", "model": "gpt-5.5", "instructions": "You help.", "store": false,
        "tools": [{"type": "function", "name": "shell"}], "input": [item]});
    if let Some(previous) = previous {
        request["previous_response_id"] = json!(previous);
    }
    say(socket, &request);
    while hear(socket)["type"] != "response.completed" {}
}

fn user(text: &str) -> Value {
    json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]})
}

#[test]
fn a_conversation_over_a_socket_is_shown_as_one_over_http() {
    let address = socket::api(|mut socket| {
        let call = json!({"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "shell", "arguments": "{\"command\":\"ls\"}"});
        let said = [("resp_1", call), ("resp_2", words("One file.")), ("resp_3", words("Bye."))];
        for (id, item) in said {
            hear(&mut socket);
            answer(&mut socket, id, &item);
        }
        while socket.read().is_ok() {}
    });
    let folder = tempfile::tempdir().unwrap();
    let proxied = Proxied::of(folder.path(), &address.to_string());
    let mut client = open(&proxied, "/v1/responses");
    turn(&mut client, None, &user("What is here?"));
    let result = json!({"type": "function_call_output", "call_id": "call_1", "output": "main.rs"});
    turn(&mut client, Some("resp_1"), &result);
    turn(&mut client, Some("resp_2"), &user("Thanks; the key is sk-secret-1"));
    close(client);
    let health = proxied.settled(4);
    let sockets = &health["proxy"]["sockets"];
    assert_eq!((&sockets["opened"], &sockets["open"]), (&json!(1), &json!(0)));
    assert_eq!((&sockets["up"]["messages"], &sockets["down"]["messages"]), (&json!(3), &json!(12)));
    assert_eq!((&sockets["up"]["unread"], &sockets["down"]["unread"]), (&json!(0), &json!(0)), "{sockets}");
    let metrics = ask(&proxied.page, "GET", "/metrics", "", b"").text();
    assert!(metrics.contains("unspool_proxy_socket_messages_total{way=\"down\"} 12\n"), "{metrics}");
    assert!(metrics.contains("unspool_proxy_sockets_total 1\n"), "{metrics}");

    let sessions = proxied.sessions();
    assert_eq!(sessions.len(), 1, "{sessions:#?}");
    let steps = sessions[0]["steps"].as_array().unwrap();
    let of = |kind: &str| steps.iter().filter(|step| step["kind"] == kind).collect::<Vec<_>>();
    let calls = of("model_call");
    let ids: Vec<&str> = calls.iter().map(|step| step["message_id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["resp_1", "resp_2", "resp_3"]);
    assert!(
        calls.iter().all(|step| step["agent_id"] == calls[0]["agent_id"]),
        "one conversation: {calls:#?}"
    );
    assert!(
        calls.iter().all(|step| step["pending"] == false && step["usage"]["cache_read"] == 90),
        "{calls:#?}"
    );
    assert_eq!(calls[1]["preview"], "One file.");
    let tools = of("tool_call");
    assert_eq!((tools.len(), &tools[0]["name"], &tools[0]["pending"]), (1, &json!("shell"), &json!(false)));
    assert_eq!(of("user_message").len(), 2);
    let handshake = of("system");
    assert_eq!((handshake.len(), &handshake[0]["name"]), (1, &json!("GET /v1/responses")));
    let shown = handshake[0]["preview"].as_str().unwrap();
    assert!(shown.starts_with("socket: 3 messages (") && shown.ends_with(" down; 0 unread"), "{shown}");
    let everything = sessions[0].to_string();
    assert!(!everything.contains("sk-secret-1") && everything.contains("Thanks; the key is *****"));
    proxied.interrupt();
    assert!(!kept(folder.path()).contains("sk-secret-1"));
}

#[test]
fn what_is_said_in_another_protocol_is_counted_and_told() {
    let address = socket::api(|mut socket| {
        say(&mut socket, &json!({"type": "session.created", "session": {"id": "sess_1"}}));
        while socket.read().is_ok() {}
    });
    let folder = tempfile::tempdir().unwrap();
    let proxied = Proxied::of(folder.path(), &address.to_string());
    let mut client = open(&proxied, "/v1/realtime?model=gpt-realtime");
    hear(&mut client);
    say(&mut client, &json!({"type": "input_audio_buffer.append", "audio": "AAAA"}));
    close(client);
    let health = proxied.settled(1);
    assert_eq!(health["proxy"]["lost"]["unread_socket"], 1);
    assert!(health["notices"].to_string().contains("unread_socket 1"), "{health}");
    let sessions = proxied.sessions();
    let step = &sessions[0]["steps"][0];
    assert_eq!(step["name"], "GET /v1/realtime");
    assert!(step["preview"].as_str().unwrap().ends_with("down; 2 unread"), "{step}");
    let later = ask(&proxied.address, "GET", "/none", "", b"");
    assert_eq!(later.header("x-unspool-recording"), Some("lost 1"));
    let (_, said) = proxied.interrupt();
    assert!(said.contains("1 exchange was not recorded, or not whole: unread_socket 1"), "{said}");
}
