//! Recorded traffic once more: as an API, and to one.

use crate::process::{Carried, Listening, said, unspool};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};
use unspool_testkit::model::{Api, Client};

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/inference-log");

fn mock(folder: &Path, what: &str, flags: &[&str]) -> Listening {
    let mut command = unspool(folder);
    command.args(["mock", what, "--listen", "127.0.0.1:0"]).args(flags);
    Listening::start(command)
}

fn replay(folder: &Path, what: &str, address: &str) -> (Option<i32>, Value) {
    let mut command = unspool(folder);
    command.args(["replay", what, "--json", "--upstream", &format!("http://{address}")]);
    let output = command.output().unwrap();
    let answer = serde_json::from_slice(&output.stdout);
    (output.status.code(), answer.unwrap_or_else(|_| panic!("{}", said(&output))))
}

#[test]
fn logs_of_all_kinds_are_answered_as_they_were() {
    let folder = tempfile::tempdir().unwrap();
    for (file, requests) in [
        ("har/capture.har", 3),
        ("plain/pairs.jsonl", 2),
        ("proxy/requests_20260102.jsonl", 3),
        ("recordings/weather-agent.json", 2),
        ("rows/api_requests.jsonl", 2),
        ("trace/log.jsonl", 2),
    ] {
        let path = format!("{FIXTURES}/{file}");
        let mock = mock(folder.path(), &path, &["--instant"]);
        let (code, answer) = replay(folder.path(), &path, &mock.addresses[0]);
        let answers: Vec<&str> = answer["requests"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["answer"].as_str().unwrap())
            .collect();
        assert_eq!((code, answers.len()), (Some(0), requests), "{file}: {answer}");
        assert!(answers.iter().all(|one| ["equal", "nothing recorded"].contains(one)), "{file}: {answer}");
        assert!(answers.contains(&"equal"), "{file}");
    }
}

#[test]
fn an_unknown_request_is_told_the_nearest_in_the_form_of_its_api() {
    let folder = tempfile::tempdir().unwrap();
    let mock = mock(folder.path(), &format!("{FIXTURES}/recordings/weather-agent.json"), &["--instant"]);
    let mut client = Client::connect(&mock.addresses[0]).unwrap();
    let asked = json!({"model": "gpt-5.5", "messages": [
        {"role": "system", "content": "You know the weather."}, {"role": "user", "content": "Rain in Lima?"}]});
    let answer = client.post("/openai/v1/chat/completions", &[], asked.to_string().as_bytes()).unwrap();
    let body: Value = serde_json::from_slice(&answer.body).unwrap();
    assert_eq!((answer.status, body["error"]["type"].as_str()), (404, Some("not_found_error")));
    let why = body["error"]["message"].as_str().unwrap();
    assert!(
        why.contains("number 1 of 2") && why.contains(r#"was "Rain in Bern?" and is "Rain in Lima?""#),
        "{why}"
    );
    let answer = client.post("/v1/messages", &[], b"{\"messages\":[]}").unwrap();
    let body: Value = serde_json::from_slice(&answer.body).unwrap();
    assert_eq!((answer.status, &body["type"]), (404, &json!("error")));
}

#[test]
fn in_order_answers_what_was_not_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let path = format!("{FIXTURES}/recordings/weather-agent.json");
    let mock = mock(folder.path(), &path, &["--instant", "--in-order"]);
    let mut client = Client::connect(&mock.addresses[0]).unwrap();
    let answer = client.post("/v1/chat/completions", &[], b"{\"messages\":[]}").unwrap();
    assert_eq!((answer.status, answer.header("x-unspool-mock")), (200, Some("in-order")));
}

#[test]
fn what_the_proxy_kept_is_given_again_with_its_times() {
    let carried = Carried::start();
    let mut client = Client::connect(carried.address()).unwrap();
    let body = |script: &str, stream: bool| {
        let messages = json!([{"role": "user", "content": format!("Weather by {script}?")}]);
        json!({"model": format!("made-up-{script}"), "max_tokens": 9, "stream": stream, "messages": messages})
            .to_string()
            .into_bytes()
    };
    let mut direct = Vec::new();
    let asked =
        [("drip", true), ("tools", true), ("text", false), ("overloaded", true), ("overloaded", true)];
    for (script, stream) in asked {
        let path = format!("/anthropic{}", Api::Messages.path());
        direct.push(client.post(&path, &[("x-api-key", "sk-secret")], &body(script, stream)).unwrap());
    }
    let statuses: Vec<u16> = direct.iter().map(|answer| answer.status).collect();
    assert_eq!(statuses, [200, 200, 200, 529, 200]);
    let flows = carried.flows(asked.len());
    let id = |flow: &Value| flow["id"].as_str().unwrap().to_string();
    let ids: Vec<String> = flows.iter().map(id).collect();
    // A server has the folder: it is asked.
    let page = carried.proxy.addresses.last().unwrap().clone();
    let drip =
        ids.iter().find(|id| carried.ask(&format!("/api/v1/sessions/{id}")).to_string().contains("by drip?"));
    let drip = drip.unwrap().clone();
    let served = mock(carried.folder.path(), &drip, &["--server", &page]);
    let again = Client::connect(&served.addresses[0])
        .unwrap()
        .post("/v1/messages", &[], &body("drip", true))
        .unwrap();
    assert_eq!(again.body, direct[0].body);
    assert_eq!(again.header("x-unspool-mock"), Some("equal"));
    let (before, now) = (direct[0].rest, again.rest);
    assert!(now + Duration::from_millis(60) > before, "{before:?} {now:?}");
    let fast = mock(carried.folder.path(), &drip, &["--server", &page, "--speed", "1000"]);
    let fast =
        Client::connect(&fast.addresses[0]).unwrap().post("/v1/messages", &[], &body("drip", true)).unwrap();
    assert!(fast.body == direct[0].body && fast.rest < before, "{before:?} {:?}", fast.rest);
    // The server stops, and the folder itself is read.
    let folder = carried.folder;
    assert!(carried.proxy.interrupt());
    let mut all = 0;
    for id in &ids {
        let mock = mock(folder.path(), &id[..9], &["--instant"]);
        let (code, answer) = replay(folder.path(), id, &mock.addresses[0]);
        assert_eq!(code, Some(0), "{answer}");
        all += answer["requests"].as_array().unwrap().len();
    }
    assert_eq!(all, asked.len(), "each exchange once");
    let several: Vec<&str> = ids[1..].iter().map(String::as_str).chain(["--instant"]).collect();
    let together = mock(folder.path(), &ids[0], &several);
    let mut client = Client::connect(&together.addresses[0]).unwrap();
    for (n, (script, stream)) in asked.iter().enumerate() {
        let again = client.post("/v1/messages", &[], &body(script, *stream)).unwrap();
        assert_eq!((again.status, &again.body), (direct[n].status, &direct[n].body), "{script}");
    }
    // The model itself gets no recorded key.
    carried.model.asked();
    let (code, answer) = replay(folder.path(), &drip, &carried.model.address().to_string());
    assert_eq!(code, Some(0), "{answer}");
    let requests = carried.model.asked();
    assert!(requests.iter().all(|request| request.header("x-api-key").is_none()));
    assert_eq!(requests[0].body, body("drip", true));
    assert_eq!(requests[0].header("anthropic-version"), Some("2023-06-01"));
}

/// A client under test asks for the models, too; and whoever replays a session does not want its files uploaded again.
#[test]
fn what_asks_no_model_is_answered_and_sent_unless_it_changes_something() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("traffic.jsonl");
    let asked = [
        ("GET", "/v1/models?limit=5", json!(null), 200, json!({"data": [{"id": "m"}]})),
        ("POST", "/v1/messages", json!({"model": "m", "messages": []}), 200, json!({"content": []})),
        (
            "POST",
            "/v1/messages/count_tokens",
            json!({"model": "m", "messages": []}),
            200,
            json!({"input_tokens": 3}),
        ),
        ("POST", "/v1/files", json!("--b\r\nwords"), 201, json!({"id": "file_1"})),
        ("DELETE", "/v1/files/file_1", json!(null), 200, json!({"deleted": true})),
        ("GET", "/v1/none", json!(null), 404, json!({"error": {"message": "no such thing"}})),
    ];
    let line = |(n, (method, path, body, status, answer)): (usize, &(&str, &str, Value, u16, Value))| {
        let mut request = json!({"timestamp": format!("2026-01-02T10:00:0{n}Z"), "method": method, "path": path, "headers": []});
        match body {
            Value::Null => {}
            Value::String(text) => request["text"] = text.clone().into(),
            body => request["body"] = body.clone(),
        }
        let response =
            json!({"status": status, "headers": [["content-type", "application/json"]], "body": answer});
        format!(
            "{}\n",
            json!({"unspool": "exchange", "exchange": format!("1-{n}"), "upstream": "api", "request": request, "response": response})
        )
    };
    std::fs::write(&path, asked.iter().enumerate().map(line).collect::<String>()).unwrap();
    let path = path.display().to_string();
    let mock = mock(folder.path(), &path, &["--instant"]);
    let mut client = Client::connect(&mock.addresses[0]).unwrap();
    let models = client.get("/anthropic/v1/models?limit=5").unwrap();
    assert_eq!((models.status, models.header("x-unspool-mock")), (200, Some("equal")));
    assert_eq!(models.body, br#"{"data":[{"id":"m"}]}"#);
    assert_eq!(client.get("/v1/models").unwrap().header("x-unspool-mock"), Some("path"));
    assert_eq!(client.get("/v1/files").unwrap().status, 404);
    let words = |answer: &Value| {
        let all = answer["requests"].as_array().unwrap().iter();
        all.map(|one| one["answer"].as_str().unwrap().to_string()).collect::<Vec<_>>()
    };
    let (code, answer) = replay(folder.path(), &path, &mock.addresses[0]);
    assert_eq!(code, Some(0), "{answer}");
    assert_eq!(words(&answer), ["equal", "equal", "equal", "not sent", "not sent", "equal"], "{answer}");
    let mut all = unspool(folder.path());
    all.args(["replay", &path, "--json", "--all", "--upstream", &format!("http://{}", mock.addresses[0])]);
    let answer: Value = serde_json::from_slice(&all.output().unwrap().stdout).unwrap();
    assert_eq!(words(&answer), ["equal"; 6], "{answer}");
}

#[test]
fn nothing_is_sent_to_another_machine_unasked() {
    let folder = tempfile::tempdir().unwrap();
    let path = format!("{FIXTURES}/trace/log.jsonl");
    let mut command = unspool(folder.path());
    command.args(["replay", &path, "--upstream", "https://api.invalid"]);
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("2 requests would be sent to https://api.invalid"), "{}", said(&output));
}

#[test]
fn the_first_line_of_an_answer_takes_its_time_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("traffic.jsonl");
    let body = json!({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]});
    let exchange = json!({
        "unspool": "exchange", "exchange": "1-0", "upstream": "anthropic",
        "request": {"timestamp": "2026-01-02T10:00:00Z", "method": "POST", "path": "/v1/messages", "headers": [], "body": body},
        "response": {"timestamp": "2026-01-02T10:00:05Z", "status": 200, "headers": [["content-type", "application/json"]],
            "head_ms": 1000.0, "body": {"type": "message", "content": []}, "arrived": [[31, 5000.0]]},
    });
    std::fs::write(&path, exchange.to_string()).unwrap();
    let ask = |flags: &[&str]| {
        let mock = mock(folder.path(), &path.display().to_string(), flags);
        let mut stream = TcpStream::connect(&mock.addresses[0]).unwrap();
        let body = body.to_string();
        let head = format!("POST /v1/messages HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n", body.len());
        stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
        let sent = Instant::now();
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).unwrap();
        assert_eq!(line, "HTTP/1.1 200 OK\r\n");
        sent.elapsed()
    };
    let as_then = ask(&[]);
    // The clock of the mock begins a little earlier, when the request begins to come.
    assert!(as_then >= Duration::from_millis(950), "{as_then:?}");
    let faster = ask(&["--speed", "4"]);
    assert!(faster >= Duration::from_millis(200) && faster < as_then, "{faster:?} {as_then:?}");
    let at_once = ask(&["--instant"]);
    assert!(at_once < as_then, "{at_once:?}");
}
