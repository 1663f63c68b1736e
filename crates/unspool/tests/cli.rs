//! The paths a user walks, through the binary: first minute, bad input, contract of the export.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

#[path = "cli/bad_input.rs"]
mod bad_input;
#[path = "cli/contract.rs"]
mod contract;
#[path = "cli/demo.rs"]
mod demo;
#[path = "cli/diff.rs"]
mod diff;
#[path = "cli/drawing.rs"]
mod drawing;
#[path = "cli/drift.rs"]
mod drift;
#[path = "cli/exports.rs"]
mod exports;
#[path = "cli/findings.rs"]
mod findings;
#[path = "cli/folders.rs"]
mod folders;
#[path = "cli/hooks.rs"]
mod hooks;
#[path = "cli/imports.rs"]
mod imports;
#[path = "cli/names.rs"]
mod names;
#[path = "cli/newcomer.rs"]
mod newcomer;
#[path = "cli/numbers.rs"]
mod numbers;
#[path = "cli/otel_env.rs"]
mod otel_env;
#[path = "cli/path.rs"]
mod path;
#[path = "cli/query.rs"]
mod query;
#[path = "cli/repeat.rs"]
mod repeat;
#[path = "cli/report.rs"]
mod report;
#[path = "cli/schema.rs"]
mod schema;
#[path = "cli/spans.rs"]
mod spans;
#[path = "cli/tokens.rs"]
mod tokens;
#[path = "cli/traffic.rs"]
mod traffic;
#[path = "cli/width.rs"]
mod width;

use serde_json::Value;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

const DEMO_SESSION: &str = "5e55a9e0-0c0a-4b0d-9d3e-0000000000d0";

/// The binary with a home of its own, so that no test sees the machine's sessions or settings.
struct Unspool {
    home: TempDir,
}

impl Unspool {
    fn new() -> Unspool {
        Unspool { home: tempfile::tempdir().unwrap() }
    }

    /// One session of the demo, where Claude Code would have written it.
    fn with_demo() -> Unspool {
        let unspool = Unspool::new();
        unspool.ok(&["demo", "--write", &unspool.path("all")]);
        fs::create_dir_all(unspool.path(".claude/projects")).unwrap();
        fs::rename(unspool.path("all/shop"), unspool.path(".claude/projects/shop")).unwrap();
        fs::remove_dir_all(unspool.path("all")).unwrap();
        unspool
    }

    fn path(&self, name: &str) -> String {
        self.home.path().join(name).to_string_lossy().into_owned()
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        let path = self.home.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        path.to_string_lossy().into_owned()
    }

    fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_unspool"));
        command.env_clear().env("HOME", self.home.path()).stdin(Stdio::null()).current_dir(self.home.path());
        command
    }

    fn run(&self, args: &[&str]) -> Output {
        self.command().args(args).output().unwrap()
    }

    /// Runs with these bytes as standard input.
    fn pipe(&self, args: &[&str], input: &[u8]) -> Output {
        let mut command = self.command();
        command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(input).unwrap();
        child.wait_with_output().unwrap()
    }

    fn ok(&self, args: &[&str]) -> String {
        let output = self.run(args);
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    fn json(&self, args: &[&str]) -> Value {
        serde_json::from_str(&self.ok(args)).unwrap()
    }

    /// Runs what must fail, and gives back its error text, which has a hint and no panic.
    fn fails(&self, args: &[&str]) -> String {
        self.ends_with(1, args)
    }

    /// The error of a wrong command line.
    fn refuses(&self, args: &[&str]) -> String {
        self.ends_with(2, args)
    }

    fn ends_with(&self, code: i32, args: &[&str]) -> String {
        let output = self.run(args);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{args:?}: {error}");
        assert!(error.starts_with("error: "), "{args:?}: {error}");
        assert!(error.contains("hint: "), "{args:?}: {error}");
        assert!(!error.contains("panicked"), "{error}");
        error
    }
}

fn line(uuid: &str, text: &str) -> String {
    format!(
        "{{\"type\":\"user\",\"uuid\":\"{uuid}\",\"parentUuid\":null,\"sessionId\":\"s\",\
         \"timestamp\":\"2026-01-01T00:00:00Z\",\"message\":{{\"role\":\"user\",\"content\":\"{text}\"}}}}\n"
    )
}

fn issues(flow: &Value) -> Vec<String> {
    let sessions =
        flow["sessions"].as_array().unwrap().iter().flat_map(|session| session["issues"].as_array().unwrap());
    let all = sessions.chain(flow["issues"].as_array().unwrap());
    all.map(|issue| issue["code"].as_str().unwrap().to_string()).collect()
}

#[test]
fn a_newcomer_without_sessions_sees_the_demo() {
    let out = Unspool::new().ok(&[]);
    assert!(out.contains("No sessions found"), "{out}");
    assert!(out.contains("Fix checkout total for two coupons"), "{out}");
    assert!(!out.contains('\u{1b}'), "colours are off when piped");
}

#[test]
fn alone_it_lists_sessions_and_says_what_to_type_next() {
    let out = Unspool::with_demo().ok(&[]);
    assert!(out.contains("5e55a9e0") && out.contains("unspool show 5e55a9e0"), "{out}");
}

/// What `unspool` alone says about a page, with a server that answers like this; `None` is no server.
fn told_of_a_page(answer: Option<&'static [u8]>) -> (String, std::net::SocketAddr) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = answer.map(|answer| {
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            stream.write_all(answer).unwrap();
            // It holds on to the connection until the other side is gone.
            drop(std::io::copy(&mut stream, &mut std::io::sink()));
        })
    });
    let output = Unspool::with_demo().command().env("UNSPOOL_SERVER", address.to_string()).output().unwrap();
    if let Some(server) = server {
        server.join().unwrap();
    }
    (String::from_utf8(output.stdout).unwrap(), address)
}

#[test]
fn alone_it_says_where_the_page_is() {
    // On a machine with much to do an answer may come too late, but not every time.
    let answer = b"HTTP/1.1 200 OK\r\n\r\n{\"status\":\"ok\",\"records_stored\":7}";
    let is_told = |(out, address): (String, std::net::SocketAddr)| {
        out.contains(&format!("http://{address}")) && !out.contains("unspool serve")
    };
    assert!((0..20).any(|_| is_told(told_of_a_page(Some(answer)))));
    let nobody_or_somebody_else = [None, Some(&b""[..]), Some(b"HTTP/1.1 200 OK\r\n\r\n<h1>Hello</h1>")];
    for answer in nobody_or_somebody_else {
        let (out, address) = told_of_a_page(answer);
        assert!(out.contains("unspool serve") && !out.contains(&address.to_string()), "{out}");
    }
}

#[test]
fn claude_config_dir_is_a_usual_place() {
    let unspool = Unspool::new();
    let projects = unspool.path("elsewhere/projects");
    unspool.ok(&["demo", "--write", &projects]);
    let output = unspool.command().env("CLAUDE_CONFIG_DIR", unspool.path("elsewhere")).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("5e55a9e0"));
}

#[test]
fn other_agents_have_usual_places_too() {
    let unspool = Unspool::new();
    let rollout = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/codex-rollout/subagent");
    let gemini = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/gemini-cli/log/session-1.jsonl");
    let copy = |from: &Path, to: &str| {
        let to = unspool.path(to);
        fs::create_dir_all(Path::new(&to).parent().unwrap()).unwrap();
        fs::copy(from, to).unwrap();
    };
    for (n, entry) in fs::read_dir(rollout).unwrap().enumerate() {
        copy(&entry.unwrap().path(), &format!("elsewhere/sessions/2026/01/02/{n}.jsonl"));
    }
    copy(&gemini, ".gemini/tmp/project/chats/session-1.jsonl");
    let output = unspool.command().env("CODEX_HOME", unspool.path("elsewhere")).output().unwrap();
    let out = String::from_utf8_lossy(&output.stdout);
    assert!(out.contains("Ask somebody else") && out.contains("A look at files"), "{out}");
}

#[test]
fn the_tree_of_the_demo() {
    let unspool = Unspool::with_demo();
    insta::assert_snapshot!("show", unspool.ok(&["show", "5e55"]));
    insta::assert_snapshot!("show_errors", unspool.ok(&["show", "5e55", "--errors"]));
    insta::assert_snapshot!("show_depth_0", unspool.ok(&["show", "5e55", "--depth", "0"]));
    insta::assert_snapshot!("show_agent", unspool.ok(&["show", "5e55", "--agent", "test-runner"]));
}

#[test]
fn a_failed_call_says_why() {
    let unspool = Unspool::new();
    let rollout = concat!(
        r#"{"timestamp":"2026-01-02T10:00:00Z","type":"session_meta","payload":{"id":"t1","timestamp":"2026-01-02T10:00:00Z","cwd":"/w","originator":"cli","cli_version":"0.99.0"}}"#,
        "\n",
        r#"{"timestamp":"2026-01-02T10:00:01Z","type":"response_item","payload":{"type":"function_call","name":"exec_command","arguments":"{\"cmd\":\"cat /nowhere\"}","call_id":"c1"}}"#,
        "\n",
        r#"{"timestamp":"2026-01-02T10:00:02Z","type":"event_msg","payload":{"type":"exec_command_end","call_id":"c1","exit_code":1,"aggregated_output":"cat: /nowhere: no such place"}}"#,
        "\n",
    );
    let path = unspool.path("rollout.jsonl");
    fs::write(&path, rollout).unwrap();
    let tree = unspool.ok(&["show", &path, "--errors"]);
    assert!(tree.contains("exec_command  cat /nowhere ✗  cat: /nowhere: no such place"), "{tree}");
    let why = unspool.ok(&["explain", &path, "c1"]);
    assert!(why.contains("What went wrong") && why.contains("no such place"), "{why}");
    let json = unspool.ok(&["export", "--format", "json", &path]);
    assert!(json.contains(r#""error":"cat: /nowhere: no such place""#), "{json}");
}

#[test]
fn a_call_of_copilot_ends_with_its_answer_though_its_tokens_are_told_later() {
    let unspool = Unspool::new();
    let events = r#"
{"type":"session.start","data":{"sessionId":"c-1","version":1,"producer":"copilot-agent","copilotVersion":"1.0.0"},"id":"e1","timestamp":"2026-01-02T10:00:00.000Z","parentId":null}
{"type":"user.message","data":{"content":"Hello"},"id":"e2","timestamp":"2026-01-02T10:00:01.000Z","parentId":"e1"}
{"type":"assistant.message","data":{"messageId":"m1","model":"m-1","content":"Hi","toolRequests":[],"outputTokens":7},"id":"e3","timestamp":"2026-01-02T10:00:03.000Z","parentId":"e2"}
{"type":"session.shutdown","data":{"modelMetrics":{"m-1":{"requests":{"count":1},"usage":{"inputTokens":20,"outputTokens":7}}}},"id":"e4","timestamp":"2026-01-02T10:10:00.000Z","parentId":"e3"}
"#;
    let path = unspool.path("events.jsonl");
    fs::write(&path, events.trim_start()).unwrap();
    let flow: Value = serde_json::from_str(&unspool.ok(&["export", "--format", "json", &path])).unwrap();
    let steps = flow["sessions"][0]["steps"].as_array().unwrap();
    let call = steps.iter().find(|step| step["kind"] == "model_call").unwrap();
    assert_eq!(
        (&call["duration_ms"], &call["usage"]["input"]),
        (&Value::from(2000), &Value::from(20)),
        "{call}"
    );
}

#[test]
fn no_row_is_empty() {
    let unspool = Unspool::new();
    let wire = r#"
{"type":"metadata","protocol_version":"1.4","created_at":1767348000000}
{"type":"turn.prompt","input":[{"type":"text","text":"Hello"}],"origin":{"kind":"user"},"time":1767348001000,"agentId":"main"}
{"type":"turn.cancel","time":1767348003000}
"#;
    let path = unspool.path("wire.jsonl");
    fs::write(&path, wire.trim_start()).unwrap();
    let tree = unspool.ok(&["show", &path]);
    assert!(tree.contains("▶ Hello") && tree.contains("› (no text)"), "{tree}");
}

#[test]
fn a_session_without_steps_says_so() {
    let unspool = Unspool::new();
    let path = unspool.path("s.jsonl");
    fs::write(&path, "{\"type\":\"summary\",\"summary\":\"Old work\",\"leafUuid\":\"u1\"}\n").unwrap();
    let tree = unspool.ok(&["show", &path]);
    assert!(tree.contains("its records hold no steps") && !tree.contains("filter"), "{tree}");
}

#[test]
fn tables_of_the_demo() {
    let unspool = Unspool::with_demo();
    insta::assert_snapshot!("ls", unspool.ok(&["ls"]));
    for by in ["session", "agent", "tool", "model", "day"] {
        insta::assert_snapshot!(format!("stats_{by}"), unspool.ok(&["stats", "--by", by]));
    }
}

#[test]
fn explanations_of_the_demo() {
    let unspool = Unspool::with_demo();
    let hide = |text: String| text.replace(&*unspool.home.path().to_string_lossy(), "HOME");
    insta::assert_snapshot!("explain_exact", hide(unspool.ok(&["explain", "5e55", "a1f00d0000000001a"])));
    insta::assert_snapshot!("explain_inferred", hide(unspool.ok(&["explain", "5e55", "a1f00d0000000003c"])));
    insta::assert_snapshot!("explain_tokens", hide(unspool.ok(&["explain", "5e55", "msg_demo01"])));
    let edge = unspool.ok(&["explain", "5e55", "toolu_demo_run..msg_demo04"]);
    assert!(edge.contains("tool_result") && edge.contains("confidence 1"), "{edge}");
    unspool.fails(&["explain", "5e55", "toolu_nowhere"]);
}

#[test]
fn every_table_comes_as_json() {
    let unspool = Unspool::with_demo();
    assert_eq!(unspool.json(&["--json"])[0]["subagents"], 4);
    Unspool::new().fails(&["--json"]);
    assert_eq!(unspool.json(&["ls", "--json"])[0]["subagents"], 4);
    assert_eq!(unspool.json(&["show", "5e55", "--json"])[0]["agents"].as_array().unwrap().len(), 5);
    assert_eq!(unspool.json(&["stats", "--json"])["schema"], "unspool.stats/1");
    assert_eq!(unspool.json(&["doctor", "--json"])["linked_by_inference"], 1);
    assert_eq!(unspool.json(&["explain", "5e55", "a1f00d0000000001a", "--json"])["subject"], "agent");
    let file = unspool.path(&format!(".claude/projects/shop/{DEMO_SESSION}.jsonl"));
    assert_eq!(unspool.json(&["inspect", "--json", &file])["format"], "claude-code-transcript");
}

#[test]
fn inspect_reads_standard_input_like_a_file() {
    let unspool = Unspool::new();
    let text = [line("u1", "hi"), "not json\n".into(), line("u2", "ho")].concat();
    let file = unspool.write("x.jsonl", &text);
    let mut from_file = unspool.json(&["inspect", "--json", &file]);
    let from_pipe = unspool.pipe(&["inspect", "--json", "-"], text.as_bytes());
    let mut from_pipe: Value = serde_json::from_slice(&from_pipe.stdout).unwrap();
    assert_eq!((&from_pipe["file"], &from_pipe["bytes"]), (&"-".into(), &text.len().into()));
    assert_eq!(from_pipe["record_types"]["user"], 2, "{from_pipe}");
    for report in [&mut from_file, &mut from_pipe] {
        for field in ["file", "issues", "scores"] {
            report.as_object_mut().unwrap().remove(field);
        }
    }
    assert_eq!(from_pipe, from_file);
    for foreign in ["", "no format of ours\n"] {
        let output = unspool.pipe(&["inspect", "-"], foreign.as_bytes());
        assert_eq!(output.status.code(), Some(1));
        assert!(String::from_utf8_lossy(&output.stderr).contains("no format recognised: -"));
    }
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let unspool = Unspool::with_demo();
    let mut child =
        unspool.command().arg("export").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn every_command_has_help_with_examples() {
    let unspool = Unspool::new();
    for command in ["ls", "show", "stats", "explain", "export", "inspect", "doctor", "demo"] {
        let help = unspool.ok(&[command, "--help"]);
        assert!(help.contains("Examples:"), "{command}");
    }
    assert!(unspool.ok(&["--help"]).contains("Examples:"));
}
