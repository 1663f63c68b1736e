//! Saying something about links on the command line, and linking everything again with other rules.

use crate::process::{Served, command, request};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

const SESSION: &str = "s1";
const MAIN: &str = r#"{"type":"user","uuid":"u1","sessionId":"s1","timestamp":"2026-01-02T10:00:00Z","cwd":"/src/dice","message":{"role":"user","content":"Roll"}}
{"type":"assistant","uuid":"a1","parentUuid":"u1","sessionId":"s1","timestamp":"2026-01-02T10:00:02Z","message":{"id":"msg_1","role":"assistant","model":"m","content":[{"type":"tool_use","id":"toolu_1","name":"Task","input":{"description":"Roll","prompt":"Roll a die"}}],"usage":{"input_tokens":1,"output_tokens":1}}}
"#;
const AGENT: &str = r#"{"type":"user","uuid":"x1","sessionId":"s1","agentId":"xp","isSidechain":true,"timestamp":"2026-01-02T10:00:30Z","message":{"role":"user","content":"Roll a die"}}
{"type":"assistant","uuid":"x2","parentUuid":"x1","sessionId":"s1","agentId":"xp","isSidechain":true,"timestamp":"2026-01-02T10:00:32Z","message":{"id":"msg_x","role":"assistant","model":"m","content":[{"type":"text","text":"Four"}],"usage":{"input_tokens":1,"output_tokens":1}}}
"#;

fn served(folder: &Path) -> Served {
    let served = Served::start(command(folder));
    for (name, text) in [("p/s1.jsonl", MAIN), ("p/agent-xp.jsonl", AGENT)] {
        let path = format!("/v1/ingest?name={name}");
        let (status, _, body) = request(&served.address, "POST", &path, text.as_bytes()).unwrap();
        assert_eq!(status, 200, "{}", String::from_utf8_lossy(&body));
    }
    served.until("the steps", |health| health["steps_visible"] == 5 && health["lag_ms"] == 0);
    served
}

fn unspool(folder: &Path, words: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_unspool"));
    command.args(words).env("XDG_CONFIG_HOME", folder).env_remove("UNSPOOL_CONFIG").env("USER", "ada");
    let output = command.output().unwrap();
    (output.status.code(), String::from_utf8([output.stdout, output.stderr].concat()).unwrap())
}

fn rules(served: &Served) -> Vec<String> {
    let flow = served.get(&format!("/api/v1/sessions/{SESSION}"));
    let edges = flow["edges"].as_array().unwrap().iter();
    let spawns = edges.filter(|edge| edge["kind"] == "subagent_spawn");
    spawns.map(|edge| edge["rule"].as_str().unwrap().to_string()).collect()
}

#[test]
fn a_link_is_said_on_the_command_line() {
    let folder = tempfile::tempdir().unwrap();
    let served = served(folder.path());
    let say = |words: &[&str]| {
        let server = ["--server", served.address.as_str()];
        unspool(folder.path(), &[&["link", SESSION, "toolu_1", "xp"], words, &server].concat())
    };
    assert_eq!(rules(&served), ["spawn-prompt"]);
    let (code, said) = say(&["--confirm", "--note", "seen"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("confirm subagent_spawn from toolu_1 to xp: counts"), "{said}");
    assert_eq!(rules(&served), ["manual"]);
    let links = served.get(&format!("/api/v1/sessions/{SESSION}/links"));
    assert_eq!(
        (links["links"][0]["who"].as_str(), links["links"][0]["note"].as_str()),
        (Some("ada"), Some("seen"))
    );
    assert_eq!(say(&["--deny"]).0, Some(0));
    assert!(rules(&served).is_empty());
    let (code, said) = say(&["--deny"]);
    assert_eq!(code, Some(1));
    assert!(said.contains("no such link") || said.contains("denied it already"), "{said}");
    assert_eq!(say(&["--remove"]).0, Some(0));
    assert_eq!(rules(&served), ["spawn-prompt"]);
    let (code, said) = say(&["--add", "data", "--json"]);
    let answer: Value = serde_json::from_str(&said).unwrap();
    assert_eq!((code, answer["link"]["kind"].as_str()), (Some(0), Some("content_reuse")));
    let server = ["--server", served.address.as_str()];
    let of = |session: &str, verdict: &str| {
        let link = ["link", session, "toolu_1", "xp", verdict, "--kind", "subagent_spawn"];
        unspool(folder.path(), &[&link, &server[..]].concat())
    };
    let id = served.get("/api/v1/sessions")["sessions"][0]["id"].as_str().unwrap().to_string();
    for (start, verdict) in [("s", "--confirm"), (&id[..8], "--deny")] {
        let (code, said) = of(start, verdict);
        assert_eq!(code, Some(0), "{start} begins one session: {said}");
    }
    let (code, said) = of("nobody", "--deny");
    assert!(code == Some(1) && said.contains("no session of the server at"), "{said}");
    let (code, said) = say(&["--confirm", "--deny"]);
    assert_eq!(code, Some(2), "{said}");
    served.kill();
    let nobody = ["link", SESSION, "a", "b", "--deny", "--server", "127.0.0.1:1"];
    let (code, said) = unspool(folder.path(), &nobody);
    assert_eq!(code, Some(1));
    assert!(said.contains("no server answers at 127.0.0.1:1") && said.contains("unspool serve"), "{said}");
}

#[test]
fn everything_is_linked_again_with_other_rules() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().to_str().unwrap();
    served(folder.path()).kill();
    let file = folder.path().join("strict.toml");
    std::fs::write(&file, "[[project]]\npath = \"/src/dice\"\nprompt_window_s = 5\n").unwrap();
    let strict = file.to_str().unwrap();
    let relink = |words: &[&str]| unspool(folder.path(), &[&["relink", "--data-dir", data], words].concat());

    let (code, said) = relink(&["--dry-run"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.starts_with("0 links would be added, 0 removed, 0 changed, in 0 of 1 sessions"), "{said}");
    let (_, said) = relink(&["--dry-run", "--rules", strict, "--json"]);
    let found: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(found["rules"]["spawn-prompt"], serde_json::json!({"before": 1, "after": 0}));
    assert_eq!((found["links_removed"].as_u64(), found["sessions_touched"].as_u64()), (Some(1), Some(1)));
    assert_eq!(found["examples"][0]["before"]["rule"], "spawn-prompt");
    assert!(!folder.path().join("relinking").exists() && !folder.path().join("rules.toml").exists());
    let (_, said) = relink(&["--dry-run"]);
    assert!(said.starts_with("0 links would be added, 0 removed"), "a trial changes nothing: {said}");

    let (code, said) = relink(&["--rules", strict]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.starts_with("0 links were added, 1 removed, 0 changed, in 1 of 1 sessions"), "{said}");
    let served = Served::start(command(folder.path()));
    assert!(rules(&served).is_empty(), "the rules of the folder count for the server");
    let (code, said) = relink(&["--dry-run"]);
    assert_eq!(code, Some(1));
    assert!(said.contains("is in use by unspool serve"), "{said}");
    served.kill();

    for (text, why) in [
        ("[[project]]\nupstream = \"a/b\"", "--upstream NAME=URL"),
        ("[[project]]\nroute = \"v1\"", "/v1/messages"),
        ("prompt_windows = 5", "prompt_windows"),
        ("[retention]\nmax_age_days = 5", "`retention` is no rule of linking"),
        ("[[project]]\ntype_window_s = 5", "path"),
        ("[[project]]\npath = \"/w\"\nsession_gap_s = 5", "session_gap_s"),
    ] {
        std::fs::write(&file, text).unwrap();
        let (code, said) = relink(&["--dry-run", "--rules", strict]);
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains("strict.toml") && said.contains(why), "{said}");
    }
    assert_eq!(relink(&["--rules", "/nowhere/rules.toml"]).0, Some(2));
}

/// A call for an agent and the agent's first request half a minute later, as the proxy records them. Only the prompts tell the folder.
fn recorded(session: &str, upstream: &str, folder: &str) -> String {
    let exchange = |n: usize, second: usize, said: &str, answer: Value| {
        let body = serde_json::json!({"model": "m", "system": format!("<env>\nWorking directory: {folder}\n</env>"),
            "messages": [{"role": "user", "content": said}]});
        let request = serde_json::json!({"timestamp": format!("2026-01-02T10:00:{second:02}Z"), "method": "POST", "path": "/v1/messages?beta=true",
            "headers": [["x-claude-code-session-id", session]], "body": body});
        let said = serde_json::json!({"id": format!("msg_{session}{n}"), "model": "m", "content": [answer], "stop_reason": "end_turn"});
        let response = serde_json::json!({"timestamp": format!("2026-01-02T10:00:{second:02}Z"), "status": 200, "headers": [], "body": said});
        let (request, response) = (request.to_string(), response.to_string());
        format!(
            "{{\"unspool\":\"exchange\",\"exchange\":\"{session}-{n}\",\"upstream\":\"{upstream}\",\"request\":{request},\"response\":{response}}}\n"
        )
    };
    let input = serde_json::json!({"description": "Roll", "prompt": "Roll a die"});
    let call = serde_json::json!({"type": "tool_use", "id": format!("toolu_{session}"), "name": "Task", "input": input});
    let answer = serde_json::json!({"type": "text", "text": "Four"});
    [exchange(1, 0, "Roll", call), exchange(2, 30, "Roll a die", answer)].concat()
}

#[test]
fn projects_of_recorded_requests_are_folders_that_prompts_tell_and_ways_they_went() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().to_str().unwrap();
    let served = Served::start(command(folder.path()));
    let lines = [recorded("s1", "anthropic", "/src/dice"), recorded("s2", "local", "/src/cards")].concat();
    let (status, ..) =
        request(&served.address, "POST", "/v1/ingest?name=traffic.jsonl", lines.as_bytes()).unwrap();
    assert_eq!(status, 200);
    served.until("the steps", |health| health["steps_visible"] == 10 && health["lag_ms"] == 0);
    let list = served.get("/api/v1/sessions?cwd=/src/dice");
    assert_eq!(list["sessions"].as_array().map(Vec::len), Some(1), "{list}");
    let one = served.get("/api/v1/sessions/s1");
    assert_eq!((one["cwd"].as_str(), one["cwd_inferred"].as_bool()), (Some("/src/dice"), Some(true)));
    served.kill();
    let file = folder.path().join("strict.toml");
    for (place, touched) in [
        ("path = \"/src/dice\"", 1),
        ("path = \"/src\"", 2),
        ("upstream = \"local\"", 1),
        ("route = \"/v1/messages\"", 2),
        ("route = \"/v1/mess\"", 0),
        ("path = \"/src/dice\"\nupstream = \"local\"", 0),
    ] {
        std::fs::write(&file, format!("[[project]]\n{place}\nprompt_window_s = 5\n")).unwrap();
        let words = ["relink", "--data-dir", data, "--dry-run", "--rules", file.to_str().unwrap(), "--json"];
        let (_, said) = unspool(folder.path(), &words);
        let found: Value = serde_json::from_str(&said).unwrap();
        let counts = (found["links_removed"].as_u64(), found["sessions_touched"].as_u64());
        assert_eq!(counts, (Some(touched), Some(touched)), "{place}: {said}");
    }
}
