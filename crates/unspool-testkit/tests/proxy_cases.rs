//! Request pairs whose link is known, from public proxies. Skipped where the samples are not at hand.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use unspool_formats::{Decoder, Detail, best};
use unspool_link::{Corpus, Table};
use unspool_model::{Batch, EventKind, Flow, KeyKind, Role, StepKind, Timestamp};

fn samples() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/proxy");
    folder.is_dir().then_some(folder)
}

fn read(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

fn decode(lines: &[Value]) -> Batch {
    let text: String = lines.iter().flat_map(|line| [line.to_string(), "\n".into()]).collect();
    let mut batch = Batch::default();
    let (format, sniff) = best("log.jsonl", text.as_bytes()).unwrap();
    assert_eq!(format.descriptor().id, "inference-log");
    let mut decoder = Decoder::new(&mut batch, format, sniff, "log.jsonl", Detail::Full);
    decoder.push(text.as_bytes());
    decoder.finish();
    batch
}

fn link(lines: &[Value], settings: &str) -> Corpus {
    Corpus::new(decode(lines), Table::default().with(settings).unwrap(), Timestamp::NONE)
}

/// A row of the proxy's table as a line.
fn row(side: &Value, at: &str) -> Value {
    let mut line = json!({"request_id": side["request_id"], "timestamp": at, "body": side["body"]});
    for field in ["timestamp", "response_body", "task_invocations"] {
        if !side[field].is_null() {
            line[field] = side[field].clone();
        }
    }
    line
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

fn conversations(flow: &Flow) -> usize {
    flow.agents.iter().filter(|agent| agent.main && !agent.internal).count()
}

#[test]
fn pairs_are_linked_as_expected() {
    let Some(folder) = samples() else { return };
    for path in files(&folder.join("linking/conversation")) {
        let case = read(&path);
        let lines =
            [row(&case["parent"], "2026-01-01T10:00:00Z"), row(&case["child"], "2026-01-01T10:00:30Z")];
        for lines in [lines.to_vec(), lines.iter().rev().cloned().collect()] {
            let corpus = link(&lines, "");
            assert_eq!(corpus.len(), 1, "{}", path.display());
            let linked = conversations(&corpus.flow(0)) == 1;
            assert_eq!(linked, case["expectedLink"] == true, "{}", path.display());
        }
    }
    for path in files(&folder.join("linking/subtask")) {
        let case = read(&path);
        let expired = path.ends_with("03-subtask-expired.json");
        let settings = if expired { "prompt_window_s = 30" } else { "" };
        let lines =
            [row(&case["parent"], "2026-01-01T10:00:00Z"), row(&case["child"], "2026-01-01T10:00:30Z")];
        let corpus = link(&lines, settings);
        let flow = corpus.flow(0);
        let spawned = flow.agents.iter().any(|agent| agent.spawn.is_some());
        let expected = case["expectedIsSubtask"] == true;
        assert_eq!(spawned, expected, "{}", path.display());
        if case["expectedLink"] == true {
            assert_eq!(conversations(&flow), 1, "{}", path.display());
        }
    }
}

/// The hash of the whole history and of the system prompt of a request.
fn hashes(body: &Value) -> (Option<String>, Option<String>) {
    let line =
        json!({"timestamp": "2026-01-01T10:00:00Z", "request": body, "response": {"id": "m", "content": []}});
    let batch = decode(&[line]);
    let event = batch.events.iter().find(|event| event.kind == EventKind::Context).unwrap();
    let text = |kind, role| batch.key(event, kind, role).map(|sym| batch.text.get(sym).to_string());
    (text(KeyKind::History, Role::Provides), text(KeyKind::System, Role::Refers))
}

fn history(messages: &Value) -> Option<String> {
    hashes(&json!({"model": "m", "messages": messages})).0
}

#[test]
fn newer_clients_cases_hold() {
    let Some(folder) = samples() else { return };
    let cases = read(&folder.join("claude-code-2.1/derived-claude-code-2.1-cases.json"));
    for case in cases["hash_equal"].as_array().unwrap() {
        assert_eq!(history(&case["a"]), history(&case["b"]), "{}", case["name"]);
    }
    for case in cases["hash_differs"].as_array().unwrap() {
        assert_ne!(history(&case["a"]), history(&case["b"]), "{}", case["name"]);
    }
    for case in cases["hash_error"].as_array().unwrap() {
        assert_eq!(history(&case["messages"]), None, "{}", case["name"]);
    }
    let system = |text: &Value| hashes(&json!({"model": "m", "system": text, "messages": []})).1;
    for case in cases["system_hash_equal"].as_array().unwrap() {
        assert_eq!(system(&case["a"]), system(&case["b"]));
    }
    for text in cases["system_hash_null"].as_array().unwrap() {
        assert_eq!(system(text), None);
    }
    for case in cases["link"].as_array().unwrap().iter().filter(|case| case["request"]["messages"].is_array())
    {
        newer_link(case);
    }
}

fn newer_link(case: &Value) {
    let (expect, request) = (&case["expect"], &case["request"]);
    let mut lines = Vec::new();
    for stored in case["stored"].as_array().into_iter().flatten() {
        lines.push(json!({"timestamp": "2026-07-25T10:00:00Z", "request": {"model": "m", "messages": stored["messages"]},
                          "response": {"id": "stored", "content": [{"type": "text", "text": "Second"}]}}));
    }
    for call in case["invocations"].as_array().into_iter().flatten() {
        let input = json!({"prompt": call["prompt"]});
        let block = json!({"type": "tool_use", "id": "toolu_1", "name": call["tool_name"], "input": input});
        lines.push(json!({"timestamp": call["timestamp"], "request": {"model": "m", "messages": [{"role": "user", "content": "Go"}]},
                          "response": {"id": "parent", "content": [block]}}));
    }
    if let Some(summary) = case["summarizing_response_contains"].as_str() {
        let text = format!("<analysis>\nwords\n</analysis>\n\n<summary>\n{summary}\n</summary>");
        lines.push(json!({"timestamp": "2026-07-25T09:59:00Z",
            "request": {"model": "m", "messages": [{"role": "user", "content": "Your task is to create a detailed summary of it."}]},
            "response": {"id": "summary", "content": [{"type": "text", "text": text}]}}));
    }
    lines.push(json!({"timestamp": "2026-07-25T10:00:05Z", "request": {"model": "m", "messages": request["messages"]},
                      "response": {"id": "child", "content": [{"type": "text", "text": "Done"}]}}));
    let corpus = link(&lines, "");
    assert_eq!(corpus.len(), 1, "{}", case["name"]);
    let flow = corpus.flow(0);
    let spawned = flow.agents.iter().any(|agent| agent.spawn.is_some());
    assert_eq!(spawned, expect["is_subtask"] == true, "{}", case["name"]);
    let linked = expect["conversation_id"].is_string() || expect["linked"] == true;
    let calls = flow.steps.iter().filter(|step| step.kind == StepKind::ModelCall).count();
    assert_eq!(calls, lines.len(), "{}", case["name"]);
    if linked {
        assert_eq!(conversations(&flow), 1, "{}", case["name"]);
    }
}
