//! Writes data to measure speed on: a folder of sessions, one huge session file, or a log of recorded traffic.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use unspool_testkit::{Written, write_corpus, write_single_file, write_spans, write_traffic};

const USAGE: &str = "usage: bench-data DIR SIZE_MB [SEED]\n       bench-data --single|--traffic FILE SIZE_MB [SEED]\n       bench-data --spans FILE.pb|FILE.jsonl MILLIONS [SEED]\n";

struct Request {
    path: PathBuf,
    bytes: u64,
    seed: u64,
    what: What,
}

/// What to write.
#[derive(Clone, Copy)]
enum What {
    Sessions,
    Single,
    Traffic,
    Spans,
}

fn main() -> ExitCode {
    let Some(request) = request() else {
        let _ = std::io::stderr().write_all(USAGE.as_bytes());
        return ExitCode::from(2);
    };
    match write(&request.path, &request) {
        Ok(written) => {
            let Written { bytes, lines, sessions, agents } = written;
            let text = format!("{bytes} bytes, {lines} lines, {sessions} sessions, {agents} agents\n");
            let _ = std::io::stdout().write_all(text.as_bytes());
            ExitCode::SUCCESS
        }
        Err(error) => {
            let text = format!("{}: {error}\n", request.path.display());
            let _ = std::io::stderr().write_all(text.as_bytes());
            ExitCode::FAILURE
        }
    }
}

fn write(path: &Path, request: &Request) -> std::io::Result<Written> {
    match request.what {
        What::Sessions => write_corpus(path, request.bytes, request.seed),
        What::Single => write_single_file(path, request.bytes, request.seed),
        What::Traffic => write_traffic(path, request.bytes, request.seed),
        What::Spans => {
            let protobuf = path.extension().is_some_and(|end| end == "pb");
            write_spans(path, request.bytes, protobuf, request.seed)
        }
    }
}

fn request() -> Option<Request> {
    let mut words: Vec<String> = std::env::args().skip(1).collect();
    let what = match words.first().map(String::as_str) {
        Some("--single") => What::Single,
        Some("--traffic") => What::Traffic,
        Some("--spans") => What::Spans,
        _ => What::Sessions,
    };
    if !matches!(what, What::Sessions) {
        words.remove(0);
    }
    let megabytes: u64 = words.get(1)?.parse().ok()?;
    let seed = match words.get(2) {
        Some(word) => word.parse().ok()?,
        None => 1,
    };
    let path = words.first().filter(|word| !word.starts_with("--"))?;
    Some(Request { path: path.into(), bytes: megabytes.checked_mul(1_000_000)?, seed, what })
}
