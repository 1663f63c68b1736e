//! How fast a running server answers: a session of 10,000 spans, and the list of 10,000 sessions.
//!
//! In: an address; `read` behind it asks without sending first, for a server that was started again. Out: a line per question with the first time
//! and the best of five more, and the size of the answer. The first one after a start is the time from the log.

use serde_json::Value;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use unspool_testkit::{Random, SpanData, SpanValue, as_json};

const SPANS: usize = 10_000;
const SESSIONS: usize = 10_000;
const SPANS_PER_REQUEST: usize = 512;
const ROUNDS: usize = 5;
const TRACE: &str = "00000000000000000000000000010000";
const EPOCH_NS: u64 = 1_767_348_000_000_000_000;
const SORTS: &[&str] =
    &["started", "ended", "duration", "steps", "subagents", "errors", "issues", "tokens", "cost", "title"];
const FILTERS: &[&str] = &[
    "",
    "status=unknown",
    "format=otlp-json",
    "source=otlp-http",
    "agent=lead",
    "model=claude-sonnet-4-5",
    "cwd=/nowhere",
    "since=2026-01-02T10:00:05Z",
    "errors=true",
    "issues=true",
    "gaps=true",
    "min_cost=0.01",
];
const WORDS: &str = include_str!("../generate/prose.rs");

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let Some(address) = args.first() else {
        say("usage: bench-api HOST:PORT [read]");
        return ExitCode::from(2);
    };
    match measure(address, args.get(1).is_some_and(|word| word == "read")) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&error);
            ExitCode::FAILURE
        }
    }
}

fn measure(address: &str, only_read: bool) -> Result<(), String> {
    if !only_read {
        send(address, &large_trace())?;
        send(address, &small_traces())?;
    }
    settle(address)?;
    let page = get(address, "/api/v1/sessions?sort=steps&limit=1")?.1;
    let page: Value = serde_json::from_slice(&page).map_err(|error| error.to_string())?;
    let id = page["sessions"][0]["id"].as_str().ok_or("there is no session")?.to_string();
    say(&format!("{} sessions, the largest with {} steps", page["matching"], page["sessions"][0]["steps"]));
    let of_session = |tail: &str| format!("/api/v1/sessions/{id}{tail}");
    let mut questions = vec![
        of_session(""),
        of_session("/tree?from=5000&to=5050"),
        of_session("/timeline?px=1200"),
        of_session("/graph?level=model-call"),
        of_session("/graph"),
        of_session("/metrics"),
        "/api/v1/facets".into(),
        "/api/v1/facets?errors=true".into(),
        "/api/v1/sessions?q=nothing".into(),
    ];
    questions.extend(SORTS.iter().map(|sort| format!("/api/v1/sessions?limit=1000&sort={sort}")));
    questions.extend(FILTERS.iter().map(|filter| format!("/api/v1/sessions?limit=100&{filter}")));
    for question in questions {
        let (first, bytes) = get(address, &question)?;
        let again = (0..ROUNDS).map(|_| get(address, &question).map(|(took, _)| took));
        let best = again.collect::<Result<Vec<_>, _>>()?.into_iter().min().unwrap_or_default();
        let ms = |took: Duration| took.as_secs_f64() * 1e3;
        say(&format!(
            "{:>8.1} ms first {:>8.1} ms best {:>10} bytes  {}",
            ms(first),
            ms(best),
            bytes.len(),
            question.replace(&id, "ID")
        ));
    }
    Ok(())
}

fn text(random: &mut Random, bytes: usize) -> String {
    let mut text = String::with_capacity(bytes);
    while text.len() < bytes {
        let at = random.below(WORDS.len() - 64);
        text.extend(WORDS.chars().skip(at).take(48).filter(char::is_ascii_alphabetic));
        text.push(' ');
    }
    text
}

fn span(trace: &str, n: usize, parent: &str, random: &mut Random, bytes: usize) -> SpanData {
    let start_ns = EPOCH_NS + n as u64 * 1_000_000;
    let said = |text: &str| SpanValue::Text(text.into());
    let mut attributes = match n % 2 {
        _ if parent.is_empty() => {
            vec![("gen_ai.operation.name", said("invoke_agent")), ("gen_ai.agent.name", said("lead"))]
        }
        0 => vec![
            ("gen_ai.operation.name", said("chat")),
            ("gen_ai.request.model", said("claude-sonnet-4-5")),
            ("gen_ai.usage.input_tokens", SpanValue::Int(1_000)),
            ("gen_ai.usage.output_tokens", SpanValue::Int(100)),
        ],
        _ => vec![("gen_ai.operation.name", said("execute_tool")), ("gen_ai.tool.name", said("search"))],
    };
    attributes.push(("gen_ai.input.messages", SpanValue::Text(text(random, bytes))));
    SpanData {
        trace: trace.into(),
        id: format!("{:016x}", n + 1),
        parent: parent.into(),
        name: format!("span {n}"),
        start_ns,
        end_ns: start_ns + 900_000,
        attributes,
    }
}

fn large_trace() -> Vec<SpanData> {
    let mut random = Random::new(1);
    let root = format!("{:016x}", 1);
    let parent = |n: usize| if n == 0 { String::new() } else { root.clone() };
    (0..SPANS).map(|n| span(TRACE, n, &parent(n), &mut random, 1_200)).collect()
}

fn small_traces() -> Vec<SpanData> {
    let mut random = Random::new(2);
    let trace = |n: usize| format!("{:032x}", 0x2_0000 + n);
    (1..SESSIONS).map(|n| span(&trace(n), 0, "", &mut random, 40)).collect()
}

fn send(address: &str, spans: &[SpanData]) -> Result<(), String> {
    for part in spans.chunks(SPANS_PER_REQUEST) {
        let body = as_json(part, SPANS_PER_REQUEST);
        // A request is one message; what is written for files is a line for each.
        let body = body.strip_suffix(b"\n").unwrap_or(&body);
        let answer = ask(address, "POST", "/v1/traces", body)?;
        if answer.get(8..12) != Some(b" 200") {
            return Err(String::from_utf8_lossy(&answer).into_owned());
        }
    }
    Ok(())
}

/// Waits until everything that was sent is shown.
fn settle(address: &str) -> Result<(), String> {
    for _ in 0..600 {
        let health: Value =
            serde_json::from_slice(&get(address, "/api/v1/health")?.1).map_err(|error| error.to_string())?;
        if health["pending_bytes"] == 0 && health["lag_ms"] == 0 {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    Err("it is still not shown after a minute".into())
}

fn get(address: &str, path: &str) -> Result<(Duration, Vec<u8>), String> {
    let began = Instant::now();
    let answer = ask(address, "GET", path, b"")?;
    let took = began.elapsed();
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n").ok_or("no answer")?;
    if answer.get(8..12) != Some(b" 200") {
        return Err(String::from_utf8_lossy(&answer).into_owned());
    }
    Ok((took, answer[end + 4..].to_vec()))
}

/// HTTP/1.0, so that bodies come without the lengths of their parts.
fn ask(address: &str, method: &str, path: &str, body: &[u8]) -> Result<Vec<u8>, String> {
    let failed = |error: std::io::Error| format!("{address}: {error}");
    let mut stream = TcpStream::connect(address).map_err(failed)?;
    let head = format!(
        "{method} {path} HTTP/1.0\r\nHost: {address}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).map_err(failed)?;
    stream.write_all(body).map_err(failed)?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).map_err(failed)?;
    Ok(answer)
}

fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    // Nobody to tell is no reason to stop.
    drop(writeln!(out, "{line}"));
}
