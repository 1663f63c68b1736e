//! A report answers what the server answers, byte for byte, and holds nothing of other sessions.

use crate::running::{Running, now};
use flate2::read::DeflateDecoder;
use serde_json::Value;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use unspool_answers::SESSION_ENDPOINTS;
use unspool_engine::live::{Arrival, Part};
use unspool_report::{Opened, bytes_of};
use unspool_view::export::Format;

/// Gives a server every file below a folder of the repository.
fn put_folder(running: &Running, folder: &str) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut folders = vec![root.join(folder)];
    let mut files: Vec<PathBuf> = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    for file in files {
        let path = file.strip_prefix(&root).unwrap().display().to_string();
        let bytes = fs::read(&file).unwrap();
        // What no format knows is refused, here as anywhere.
        drop(running.app.engine.take(Arrival::Part(Part { path, offset: 0, bytes, checkpoint: None })));
    }
    running.app.engine.settle();
}

/// What lies inside an element of a report.
pub(crate) fn element(html: &str, id: &str) -> Vec<u8> {
    let start = html.find(&format!("id=\"{id}\"")).unwrap();
    let text = html[start..].split_once('>').unwrap().1.split_once("</script>").unwrap().0;
    let mut bytes = Vec::new();
    DeflateDecoder::new(bytes_of(text).unwrap().as_slice()).read_to_end(&mut bytes).unwrap();
    bytes
}

pub(crate) fn report(running: &Running, id: &str, query: &str) -> String {
    let answer = running.get(&format!("/api/v1/sessions/{id}/report{query}"));
    assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.body));
    assert_eq!(answer.header("content-type").unwrap(), "text/html; charset=utf-8");
    assert_eq!(answer.header("content-disposition").unwrap(), format!("attachment; filename=\"{id}.html\""));
    String::from_utf8(answer.body).unwrap()
}

/// Everything that can be asked about a session, in many ways.
fn addresses(id: &str, flow: &Value) -> Vec<String> {
    let steps = flow["steps"].as_array().unwrap();
    let errors = steps.iter().filter(|step| step["is_error"] == true).take(3);
    let some: Vec<&Value> = steps.iter().take(4).chain(errors).collect();
    let mut all = Vec::new();
    for endpoint in SESSION_ENDPOINTS {
        let path = endpoint.path.replace("{id}", id);
        let at = |step: &Value| {
            let record = step["witnesses"][0]["record_id"].as_str().unwrap_or("r0");
            let step = step["id"].as_str().unwrap();
            path.replace("{step}", step).replace("{thing}", step).replace("{record}", record)
        };
        all.extend(some.iter().map(|step| at(step)));
        all.push(format!("{path}{}", endpoint.example));
        all.push(format!("{path}?no_such=1"));
    }
    let tails = [
        "/line".to_string(),
        "/tree?from=3&to=9&errors=true".into(),
        "/tree?full=true&depth=0".into(),
        "/timeline?px=300&from_ns=0&to_ns=90000000000".into(),
        "/graph?view=workflow".into(),
        "/graph?view=process".into(),
        "/graph?level=run&group_by=run&direction=right".into(),
        "/graph?where=is%3Aerror".into(),
        "/graph?where=is%3A".into(),
        "/explain/nothing".into(),
        "/path?what_if=model=0.5".into(),
        "/findings?only=retry_storm".into(),
    ];
    all.extend(tails.iter().map(|tail| format!("/api/v1/sessions/{id}{tail}")));
    let export = |format: &Format| format!("/api/v1/sessions/{id}/export?format={}", format.name());
    all.extend(Format::ALL.iter().map(export));
    for query in ["is:error", "kind:tool%20duration%3E1s", "text:file", "the", "%28", ""] {
        all.push(format!("/api/v1/query?q={query}&session={id}&limit=7"));
    }
    all.push(format!("/api/v1/diff?a={id}&b={id}"));
    all.push(format!("/api/v1/diff?a={id}:1&b=:2"));
    all.push("/api/v1/schema".into());
    all.sort();
    all.dedup();
    all
}

/// Asks the server and the report the same things; how many were answered.
fn compare(running: &Running, id: &str) -> usize {
    let html = report(running, id, "");
    let opened = Opened::read(element(&html, "unspool-records")).unwrap();
    let flow = running.get(&format!("/api/v1/sessions/{id}")).json();
    let mut answered = 0;
    for address in addresses(id, &flow) {
        let server = running.get(&address);
        let told = opened.ask(&address, now());
        assert_eq!(told.status, server.status, "{address}");
        assert_eq!(Some(told.media), server.header("content-type").as_deref(), "{address}");
        let file = told.file.map(|name| format!("attachment; filename=\"{name}\""));
        assert_eq!(file, server.header("content-disposition"), "{address}");
        let shown = |bytes: &[u8]| String::from_utf8_lossy(bytes).chars().take(600).collect::<String>();
        assert!(
            told.body == server.body,
            "{address}\nreport: {}\nserver: {}",
            shown(&told.body),
            shown(&server.body)
        );
        answered += usize::from(told.status == 200);
    }
    answered
}

fn ids(running: &Running) -> Vec<String> {
    let list = running.get("/api/v1/sessions?limit=1000").json();
    list["sessions"].as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap().into()).collect()
}

#[test]
fn a_report_of_the_demo_answers_as_the_server_does() {
    let running = Running::start();
    put_folder(&running, "crates/unspool/demo");
    let ids = ids(&running);
    assert!(ids.len() >= 8, "{ids:?}");
    for id in ids {
        assert!(compare(&running, &id) > 50, "{id}");
    }
}

#[test]
fn a_report_of_every_format_answers_as_the_server_does() {
    let formats: Vec<String> = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert!(formats.len() > 25);
    let mut sessions = 0;
    for format in formats {
        let running = Running::start();
        println!("{format}");
        put_folder(&running, &format!("fixtures/{format}"));
        // One of each is enough: they differ in how they are read, not in how they are asked.
        for id in ids(&running).into_iter().take(1) {
            sessions += 1;
            compare(&running, &id);
        }
    }
    assert!(sessions > 20, "{sessions}");
}

const HOOKS: &str = "hooks.jsonl";

fn hook(session: &str, n: u32, text: &str) -> String {
    format!(
        "{{\"session_id\":\"{session}\",\"hook_event_name\":\"UserPromptSubmit\",\"timestamp\":\"2026-11-15T11:00:{n:02}Z\",\"cwd\":\"/work\",\"prompt\":\"{text}\"}}\n"
    )
}

#[test]
fn lines_of_other_sessions_do_not_get_into_a_report() {
    let running = Running::start();
    let lines: String =
        (0..6).map(|n| hook(["one", "two"][n as usize % 2], n, &format!("word{n} of it"))).collect();
    let part = Part { path: HOOKS.into(), offset: 0, bytes: lines.into_bytes(), checkpoint: None };
    running.app.engine.take(Arrival::Part(part)).unwrap();
    running.app.engine.settle();
    let list = running.get("/api/v1/sessions?native_id=one").json();
    let id = list["sessions"][0]["id"].as_str().unwrap();
    let data = element(&report(&running, id, ""), "unspool-records");
    let text = String::from_utf8_lossy(&data);
    assert!(text.contains("word0 of it") && text.contains("word4 of it"), "{text}");
    assert!(!text.contains("word1") && !text.contains("\"two\""), "{text}");
    let opened = Opened::read(data).unwrap();
    let told = opened.ask(&format!("/api/v1/sessions/{id}"), now());
    let server = running.get(&format!("/api/v1/sessions/{id}"));
    let (told, server): (Value, Value) = (serde_json::from_slice(&told.body).unwrap(), server.json());
    assert_eq!(told["steps"].as_array().unwrap().len(), server["steps"].as_array().unwrap().len());
    assert_eq!(told["steps"][2]["id"], server["steps"][2]["id"]);
    let list: Value = serde_json::from_slice(&opened.ask("/api/v1/sessions", now()).body).unwrap();
    assert_eq!(list["sessions"].as_array().unwrap().len(), 1);
}

#[test]
fn secrets_are_masked_and_what_belongs_together_stays_so() {
    let running = Running::start();
    let secret = format!("sk-ant-{}", "a1b2c3d4e5".repeat(5));
    let lines =
        [hook("one", 1, &format!("use {secret}")), hook("one", 2, &format!("again {secret}, and go on"))];
    running
        .app
        .engine
        .take(Arrival::Part(Part {
            path: HOOKS.into(),
            offset: 0,
            bytes: lines.concat().into_bytes(),
            checkpoint: None,
        }))
        .unwrap();
    running.app.engine.settle();
    let id = ids(&running).remove(0);
    let plain = element(&report(&running, &id, ""), "unspool-records");
    assert!(String::from_utf8_lossy(&plain).contains(&secret));
    let html = report(&running, &id, "?redact=true");
    assert!(html.contains("data-masked=\"2\""));
    let masked = String::from_utf8(element(&html, "unspool-records")).unwrap();
    assert!(!masked.contains(&secret) && !html.contains(&secret));
    assert_eq!(
        masked.matches("[redacted:1]").count(),
        3,
        "twice in the records, once in the title: {masked}"
    );
    let told = Opened::read(masked.into_bytes()).unwrap().ask(&format!("/api/v1/sessions/{id}"), now());
    let told: Value = serde_json::from_slice(&told.body).unwrap();
    assert_eq!(told["steps"].as_array().unwrap().len(), 2, "{told}");
}

#[test]
fn what_needs_a_server_is_refused_in_words() {
    let running = Running::start();
    put_folder(&running, "crates/unspool/demo/ledger");
    let id = ids(&running).remove(0);
    let opened = Opened::read(element(&report(&running, &id, ""), "unspool-records")).unwrap();
    for path in ["/api/v1/health", "/api/v1/live", "/api/v1/search?q=a", "/nothing", ""] {
        let told = opened.ask(path, now());
        let body: Value = serde_json::from_slice(&told.body).unwrap();
        assert_eq!((told.status, &body["error"]["code"]), (404, &Value::from("not_in_report")), "{path}");
    }
    let told = opened.ask("/api/v1/sessions/x0000000000000000/line", now());
    assert_eq!(told.status, 404);
}
