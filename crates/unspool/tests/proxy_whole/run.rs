//! A command that is run beside a proxy: its words, its signals, its end, and what is said about it.
#![cfg(unix)]

use crate::process::{Carried, Listening, at_home, said, unspool};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use unspool_testkit::model::{Client, Model};

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
    assert_eq!(model.asked().len(), 3);
    let line = text.lines().find(|line| line.starts_with("unspool: ")).unwrap();
    assert!(
        line.contains("3 exchanges, 3 model calls") && line.contains("1.6k tokens in, 105 out"),
        "{text}"
    );
    assert!(line.contains("1 error"), "{text}");
    let page = text.lines().find(|line| line.contains("/sessions/x")).unwrap();
    let session = page.rsplit('/').next().unwrap();
    assert!(text.contains("\n  `unspool serve` shows the page"), "{text}");
    // What was recorded is there for others.
    let mut command = unspool(folder.path());
    command.args(["replay", session, "--upstream", &format!("http://{}", model.address())]);
    let again = command.output().unwrap();
    assert!(said(&again).contains("3 requests: 3 equal"), "{}", said(&again));
}

#[test]
fn what_no_answer_said_is_not_counted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("traffic.jsonl");
    let body = json!({"model": "made-up", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]});
    let line = json!({"timestamp": "2026-01-02T10:00:00Z", "path": "/v1/messages", "body": body});
    std::fs::write(&path, line.to_string()).unwrap();
    let words = ["sh", "-c", REPLAY, env!("CARGO_BIN_EXE_unspool"), &path.display().to_string()];
    let output =
        run(folder.path(), &["--upstream", "anthropic=http://127.0.0.1:1"], &words).output().unwrap();
    let text = said(&output);
    assert!(text.contains("1 model call, 1 agent, tokens not stated, 1 error"), "{text}");
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
    let script = r#"trap "" HUP; exec "$0" run -- sh -c 'kill -HUP $$; echo still here'"#;
    let mut ignoring = at_home(folder.path(), "sh");
    let ignoring = ignoring.args(["-c", script, env!("CARGO_BIN_EXE_unspool")]).output().unwrap();
    assert_eq!(
        ignoring.stdout,
        b"still here\n",
        "what is ignored by us is ignored by the command: {}",
        said(&ignoring)
    );
    let killed = run(folder.path(), &[], &["sh", "-c", "kill -KILL $$"]).output().unwrap();
    assert_eq!(killed.status.code(), Some(128 + 9), "as shells say it");
    let missing = run(folder.path(), &[], &["no-such-command-at-all"]).output().unwrap();
    assert_eq!(missing.status.code(), Some(127), "as shells say it");
    assert!(said(&missing).contains("cannot start no-such-command-at-all"), "{}", said(&missing));
    let file = folder.path().join("no-program");
    std::fs::write(&file, "words").unwrap();
    let refused = run(folder.path(), &[], &[&file.display().to_string()]).output().unwrap();
    assert_eq!(refused.status.code(), Some(126), "{}", said(&refused));
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
    // Where nothing is found, it says what to look at.
    std::fs::remove_file(folder.path().join("settings.json")).unwrap();
    let text = said(&run(folder.path(), &[], &["true"]).output().unwrap());
    assert!(text.contains("ANTHROPIC_BASE_URL and OPENAI_BASE_URL pointed to the proxy: check"), "{text}");
    let upstream = ["--upstream", "openai=http://127.0.0.1:9"];
    let text = said(&run(folder.path(), &upstream, &["true"]).output().unwrap());
    assert!(text.contains("OPENAI_BASE_URL pointed to the proxy: check that the client reads it"), "{text}");
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
    assert!(text.contains(&format!("recording; the page is on http://{page}")), "{text}");
    let elsewhere = run(folder.path(), &["--server", "127.0.0.1:1"], &["true"]).output().unwrap();
    let text = said(&elsewhere);
    assert!(text.contains("is in use by") && text.contains("no server answers at 127.0.0.1:1"), "{text}");
    assert!(text.contains("--server") && !text.contains("start it with"), "{text}");
    drop(proxy);
    let mut command = unspool(folder.path());
    command.args(["serve", "--no-watch", "--listen", "127.0.0.1:0", "--grpc-listen", "127.0.0.1:0"]);
    let server = Listening::start(command);
    let output = run(folder.path(), &["--server", &server.addresses[0]], &["true"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(said(&output).contains("has no proxy"), "{}", said(&output));
}

/// Runs a command that waits for a word, and does something before it gets that.
fn meanwhile(mut command: Command, between: impl FnOnce()) -> String {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    if line == "ready\n" {
        between();
        child.stdin.take().unwrap().write_all(b"go\n").unwrap();
    }
    said(&child.wait_with_output().unwrap())
}

#[test]
fn the_traffic_of_others_is_not_the_commands() {
    let carried = Carried::start();
    let page = carried.proxy.addresses.last().unwrap().clone();
    let others = || {
        let mut client = Client::connect(carried.address()).unwrap();
        for n in 0..2 {
            let messages = json!([{"role": "user", "content": format!("Question {n} of somebody else")}]);
            let body =
                json!({"model": "made-up-text", "max_tokens": 9, "stream": true, "messages": messages});
            let answer = client.post("/anthropic/v1/messages", &[], body.to_string().as_bytes()).unwrap();
            assert_eq!(answer.status, 200);
        }
    };
    let folder = carried.folder.path();
    let waits = ["sh", "-c", "echo ready; read go"];
    let text = meanwhile(run(folder, &["--server", &page], &waits), others);
    assert!(text.contains("nothing went through the proxy") && !text.contains("/sessions/"), "{text}");
    let script = format!("echo ready; read go; {REPLAY}");
    let words = ["sh", "-c", &script, env!("CARGO_BIN_EXE_unspool"), &traffic(folder)];
    let text = meanwhile(run(folder, &["--server", &page], &words), others);
    assert!(text.contains("3 exchanges, 3 model calls, "), "{text}");
    assert!(text.contains("1.6k tokens in, 105 out"), "{text}");
    // The upstream saw nothing of how they were told apart; what is kept says it.
    let paths: Vec<String> = carried.model.asked().into_iter().map(|request| request.path).collect();
    assert_eq!(paths, ["/v1/messages"; 7]);
    let line = text.lines().find(|line| line.contains("/sessions/x")).unwrap();
    let session = line.trim().trim_start_matches("http://").trim_start_matches(page.as_str()).to_string();
    let session = format!("/api/v1{session}");
    let flow = carried.ask(&session);
    let mut runs = std::collections::BTreeSet::new();
    for step in flow["steps"].as_array().unwrap().iter().filter(|step| step["kind"] == "model_call") {
        let record = step["witnesses"][0]["record_id"].as_str().unwrap();
        let envelope = carried.ask(&format!("{session}/records/{record}"));
        assert_eq!(envelope["request"]["path"], "/v1/messages");
        runs.insert(envelope["run"].as_str().map(String::from));
    }
    let name = runs.first().unwrap().as_ref().unwrap();
    assert!(runs.len() == 1 && name.len() == 16, "nobody else is in its session: {runs:?}");
    let told = carried.ask(&format!("/api/v1/proxy/runs/{name}"));
    assert_eq!((&told["exchanges"], &told["waiting"], &told["shown"]), (&json!(3), &json!(0), &json!(true)));
    assert_eq!(told["totals"]["errors"], 1, "{told}");
    let nobody = carried.ask("/api/v1/proxy/runs/0123456789abcdef");
    assert_eq!((&nobody["exchanges"], &nobody["sessions"]), (&json!(0), &json!([])));
}

#[test]
fn a_variable_that_points_elsewhere_than_the_server_is_not_replaced() {
    let carried = Carried::start();
    let page = carried.proxy.addresses.last().unwrap().clone();
    let folder = carried.folder.path();
    let words = ["sh", "-c", "echo \"$ANTHROPIC_BASE_URL $OPENAI_BASE_URL\""];
    let with = |value: &str| {
        run(folder, &["--server", &page], &words).env("ANTHROPIC_BASE_URL", value).output().unwrap()
    };
    let refused = with("http://u:PW@gateway.invalid");
    let text = said(&refused);
    assert_eq!((refused.status.code(), refused.stdout.as_slice()), (Some(2), &b""[..]), "{text}");
    let why = format!(
        "$ANTHROPIC_BASE_URL is http://…@gateway.invalid, and the server's proxy carries /anthropic to http://{}",
        carried.model.address()
    );
    assert!(text.contains(&why) && text.contains("hint: unset the variable"), "{text}");
    for fine in
        [format!("http://{}/", carried.model.address()), format!("http://{}/anthropic", carried.address())]
    {
        let output = with(&fine);
        let shown = String::from_utf8(output.stdout).unwrap();
        let (anthropic, openai) = shown.trim().split_once(' ').unwrap();
        let start = format!("http://{}/~run-", carried.address());
        assert!(anthropic.starts_with(&start) && anthropic.ends_with("/anthropic"), "{shown}");
        assert!(openai.starts_with(&start) && openai.ends_with("/openai/v1"), "{shown}");
    }
    for flag in [["--mask-header", "x-mine"], ["--upstream", "a=http://x"]] {
        let output = run(folder, &["--server", &page, flag[0], flag[1]], &words).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(said(&output).contains("leave --upstream, --mask-header and --redact-bodies out"));
    }
}

#[test]
fn a_password_goes_to_the_command_and_nowhere_else() {
    let folder = tempfile::tempdir().unwrap();
    let words = ["sh", "-c", "echo \"$ANTHROPIC_BASE_URL\""];
    let mut command = run(folder.path(), &[], &words);
    let output = command.env("ANTHROPIC_BASE_URL", "http://u:PW@127.0.0.1:9/base").output().unwrap();
    let told = String::from_utf8(output.stdout.clone()).unwrap();
    assert!(
        told.starts_with("http://u:PW@127.0.0.1:") && told.ends_with("/anthropic\n"),
        "{}",
        said(&output)
    );
    assert!(!String::from_utf8_lossy(&output.stderr).contains("PW"), "{}", said(&output));
    let wrong = "a=http://u:PW@127.0.0.1:9";
    let proxy = unspool(folder.path()).args(["proxy", "--upstream", wrong]).output().unwrap();
    for output in [proxy, run(folder.path(), &["--upstream", wrong], &["true"]).output().unwrap()] {
        let text = said(&output);
        assert!(text.contains("`a=http://…@127.0.0.1:9` is no upstream") && !text.contains("PW"), "{text}");
        assert_eq!(output.status.code(), Some(2));
    }
}

#[test]
fn headers_of_the_users_own_are_masked_and_a_folder_is_named_again() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("else where").display().to_string();
    let model = Model::remembering().unwrap();
    let upstream = format!("anthropic=http://{}", model.address());
    let script = r#""$0" replay "$1" --upstream "$ANTHROPIC_BASE_URL" --header "x-mine: quite-secret" --json > /dev/null"#;
    let words = ["sh", "-c", script, env!("CARGO_BIN_EXE_unspool"), &traffic(folder.path())];
    let flags = ["--data-dir", &data, "--upstream", &upstream, "--mask-header", "x-mine"];
    let text = said(&run(folder.path(), &flags, &words).output().unwrap());
    assert!(text.contains(&format!("`unspool serve --data-dir '{data}'` shows the page")), "{text}");
    let mut command = unspool(folder.path());
    command.args([
        "serve",
        "--no-watch",
        "--data-dir",
        &data,
        "--listen",
        "127.0.0.1:0",
        "--grpc-listen",
        "127.0.0.1:0",
    ]);
    let server = Listening::start(command);
    let ask = |path: &str| {
        let answer = Client::connect(&server.addresses[0]).unwrap().get(path).unwrap();
        serde_json::from_slice::<Value>(&answer.body).unwrap()
    };
    let session = text.lines().find_map(|line| line.split("/sessions/").nth(1)).unwrap();
    let session = format!("/api/v1/sessions/{session}");
    let flow = ask(&session);
    let steps = flow["steps"].as_array().unwrap();
    let call = steps.iter().find(|step| step["kind"] == "model_call").unwrap();
    let record = call["witnesses"][0]["record_id"].as_str().unwrap();
    let headers = ask(&format!("{session}/records/{record}"))["request"]["headers"].to_string();
    assert!(headers.contains("[\"x-mine\",\"masked:") && !headers.contains("quite-secret"), "{headers}");
}
