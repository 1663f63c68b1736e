//! What a hook costs the agent that runs it.
//!
//! In: the `unspool` program and how often. Out: how long `unspool hook` takes, from its start to its end, with a server and without one; and how long
//! starting a program takes at all (`true`), which is part of both.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

const EVENT: &[u8] = br#"{"session_id":"bench","hook_event_name":"PreToolUse","tool_name":"Bash","tool_use_id":"toolu_1","tool_input":{"command":"ls"},"cwd":"/src"}"#;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let Some(program) = args.first() else {
        say("usage: bench-hook UNSPOOL [TIMES]");
        return ExitCode::from(2);
    };
    let times = args.get(1).and_then(|text| text.parse().ok()).unwrap_or(200);
    if run(program, times).is_some() {
        ExitCode::SUCCESS
    } else {
        say("the server did not start");
        ExitCode::FAILURE
    }
}

fn run(program: &str, times: usize) -> Option<()> {
    let folder = std::env::temp_dir().join(format!("unspool-bench-hook-{}", std::process::id()));
    let found = (|| {
        say(&told("true", &measure(times, || Command::new("true"))?));
        let (mut server, address) = serve(program, &folder)?;
        let hook = || {
            let mut hook = Command::new(program);
            hook.args(["hook", "--server", &address, "--data-dir"]).arg(&folder);
            hook
        };
        let with = measure(times, hook);
        server.kill().ok()?;
        server.wait().ok()?;
        say(&told("hook, server up", &with?));
        say(&told("hook, no server", &measure(times, hook)?));
        Some(())
    })();
    drop(std::fs::remove_dir_all(&folder));
    found
}

/// A server on a free port, and its address.
fn serve(program: &str, folder: &Path) -> Option<(Child, String)> {
    let mut server = Command::new(program)
        .args([
            "serve",
            "--no-watch",
            "--listen",
            "127.0.0.1:0",
            "--grpc-listen",
            "127.0.0.1:0",
            "--data-dir",
        ])
        .arg(PathBuf::from(folder))
        .stdout(Stdio::piped())
        .spawn()
        .ok()?;
    let mut line = String::new();
    let mut told = std::io::BufReader::new(server.stdout.take()?);
    std::io::BufRead::read_line(&mut told, &mut line).ok()?;
    let (_, rest) = line.split_once("http://")?;
    let address = rest.split(|c: char| c == '/' || c.is_whitespace()).next()?.to_string();
    Some((server, address))
}

fn measure(times: usize, command: impl Fn() -> Command) -> Option<Vec<Duration>> {
    let mut took = Vec::with_capacity(times);
    for _ in 0..times {
        let began = Instant::now();
        let mut child =
            command().stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok()?;
        // `true` may be over before it has read anything.
        drop(child.stdin.take()?.write_all(EVENT));
        child.wait().ok()?;
        took.push(began.elapsed());
    }
    took.sort_unstable();
    Some(took)
}

fn told(what: &str, took: &[Duration]) -> String {
    let at = |share: usize| {
        let found = took.get(took.len().saturating_sub(1) * share / 100).copied().unwrap_or_default();
        format!("{:.1} ms", found.as_secs_f64() * 1e3)
    };
    format!("{what}: half within {}, 99 % within {}, all within {}", at(50), at(99), at(100))
}

fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}
