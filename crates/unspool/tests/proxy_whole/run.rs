//! A command that is run beside a proxy: its words, its signals, its end, and what is said about it.
#![cfg(unix)]

use crate::process::{Listening, said, unspool};
use serde_json::json;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use unspool_testkit::model::Model;

/// Sends the requests of a file to an address in a variable.
const REPLAY: &str = r#""$0" replay "$1" --upstream "$ANTHROPIC_BASE_URL" --json > /dev/null; echo done"#;

fn traffic(folder: &Path) -> String {
    let path = folder.join("traffic.jsonl");
    let line = |n: u32, script: &str| {
        let messages = json!([{"role": "user", "content": format!("Question {n}")}]);
        let body = json!({"model": format!("made-up-{script}"), "max_tokens": 9, "stream": true, "messages": messages});
        json!({"timestamp": format!("2026-01-02T10:00:0{n}Z"), "path": "/v1/messages", "body": body})
            .to_string()
    };
    std::fs::write(&path, [line(1, "text"), line(2, "tools"), line(3, "limited")].join("\n")).unwrap();
    path.display().to_string()
}

fn run(folder: &Path, flags: &[&str], words: &[&str]) -> Command {
    let mut command = unspool(folder);
    command.arg("run").args(flags).arg("--").args(words);
    command
}

#[test]
fn a_command_is_recorded_and_summed_up() {
    let folder = tempfile::tempdir().unwrap();
    let model = Model::remembering().unwrap();
    let upstream = format!("anthropic=http://{}", model.address());
    let words = ["sh", "-c", REPLAY, env!("CARGO_BIN_EXE_unspool"), &traffic(folder.path())];
    let output = run(folder.path(), &["--upstream", &upstream], &words).output().unwrap();
    let text = said(&output);
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(0), &b"done\n"[..]), "{text}");
    assert_eq!(model.answered(), 3);
    let line = text.lines().find(|line| line.starts_with("unspool: ")).unwrap();
    assert!(
        line.contains("3 exchanges, 3 model calls") && line.contains("1.6k tokens in, 105 out"),
        "{text}"
    );
    assert!(line.contains("1 error"), "{text}");
    let page = text.lines().find(|line| line.contains("/sessions/x")).unwrap();
    let session = page.rsplit('/').next().unwrap();
    // What was recorded is there for others.
    let mut command = unspool(folder.path());
    command.args(["replay", session, "--upstream", &format!("http://{}", model.address())]);
    let again = command.output().unwrap();
    assert!(said(&again).contains("3 requests: 3 equal"), "{}", said(&again));
}

#[test]
fn a_command_has_its_input_its_code_and_its_signals() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = run(folder.path(), &[], &["sh", "-c", "cat; exit 7"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"as it came").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(7), &b"as it came"[..]));
    let script = "trap 'echo told; exit 9' TERM; echo ready; while :; do sleep 0.05; done";
    let mut child = run(folder.path(), &[], &["sh", "-c", script])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "ready");
    assert!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success());
    assert_eq!(lines.next().unwrap().unwrap(), "told");
    assert_eq!(child.wait().unwrap().code(), Some(9));
    let killed = run(folder.path(), &[], &["sh", "-c", "kill -KILL $$"]).output().unwrap();
    assert_eq!(killed.status.code(), Some(128 + 9), "as shells say it");
    let missing = run(folder.path(), &[], &["no-such-command-at-all"]).output().unwrap();
    assert_eq!(missing.status.code(), Some(1));
    assert!(said(&missing).contains("cannot start no-such-command-at-all"), "{}", said(&missing));
}

#[test]
fn silence_is_explained() {
    let folder = tempfile::tempdir().unwrap();
    let settings = json!({"env": {"ANTHROPIC_BASE_URL": "http://gateway.invalid"}}).to_string();
    std::fs::write(folder.path().join("settings.json"), settings).unwrap();
    let mut command = run(folder.path(), &[], &["true"]);
    let output = command.env("CLAUDE_CODE_USE_BEDROCK", "1").output().unwrap();
    let text = said(&output);
    assert_eq!(output.status.code(), Some(0));
    assert!(text.contains("nothing went through the proxy"), "{text}");
    assert!(text.contains("$CLAUDE_CODE_USE_BEDROCK is set"), "{text}");
    assert!(
        text.contains("settings.json: `env` sets ANTHROPIC_BASE_URL to http://gateway.invalid"),
        "{text}"
    );
}

#[test]
fn the_proxy_of_a_running_server_is_used() {
    let folder = tempfile::tempdir().unwrap();
    let model = Model::remembering().unwrap();
    let upstream = format!("anthropic=http://{}", model.address());
    let mut command = unspool(folder.path());
    command.args([
        "proxy",
        "--listen",
        "127.0.0.1:0",
        "--page-listen",
        "127.0.0.1:0",
        "--upstream",
        &upstream,
    ]);
    let proxy = Listening::start(command);
    let page = proxy.addresses.last().unwrap();
    let words = ["sh", "-c", REPLAY, env!("CARGO_BIN_EXE_unspool"), &traffic(folder.path())];
    let output = run(folder.path(), &["--server", page], &words).output().unwrap();
    let text = said(&output);
    assert!(
        text.contains("3 exchanges, 3 model calls") && text.contains(&format!("http://{page}/sessions/x")),
        "{text}"
    );
    drop(proxy);
    let mut command = unspool(folder.path());
    command.args(["serve", "--no-watch", "--listen", "127.0.0.1:0", "--grpc-listen", "127.0.0.1:0"]);
    let server = Listening::start(command);
    let output = run(folder.path(), &["--server", &server.addresses[0]], &["true"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(said(&output).contains("has no proxy"), "{}", said(&output));
}
