//! Real session files against what they state themselves: every file is recognised, no record is lost, and tokens add up to
//! the sums the agents wrote down. Skipped where there are no such files; the specifications show the same with small ones.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use unspool_formats::{Decoder, Detail, SNIFF_BYTES, best};
use unspool_link::{Corpus, Table};
use unspool_model::{Batch, Outcome, Timestamp, Usage};

/// Folders of sample files, and the formats their files may have.
const FOLDERS: &[(&str, &[&str])] = &[
    ("codex", &["codex-rollout", "codex-tui-log"]),
    ("copilot-cli", &["copilot-cli"]),
    ("gemini-cli", &["gemini-cli"]),
    ("opencode", &["opencode"]),
    ("pi", &["pi-session"]),
    (
        "other-agents",
        &[
            "antigravity-cli",
            "hermes",
            "kiro-cli",
            "mistral-vibe",
            "cursor",
            "droid",
            "grok-cli",
            "kimi-code",
            "pi-session",
            "qwen-code",
        ],
    ),
];

/// The sample files of a folder, if there are any.
fn files(folder: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data").join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "jsonl" || extension == "json") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// A file read by its format, whose id comes back too.
fn decode(path: &Path) -> (&'static str, Batch) {
    let bytes = fs::read(path).unwrap();
    let name = path.to_string_lossy();
    let head = &bytes[..bytes.len().min(SNIFF_BYTES)];
    let (format, sniff) = best(&name, head).unwrap_or_else(|| panic!("{name} is not recognised"));
    let mut batch = Batch::default();
    let mut decoder = Decoder::new(&mut batch, format, sniff, &name, Detail::Full);
    decoder.push(&bytes);
    decoder.finish();
    (format.descriptor().id, batch)
}

/// The tokens of each session, by each of its native ids.
fn counted(path: &Path) -> BTreeMap<String, Usage> {
    let corpus = Corpus::new(decode(path).1, Table::default(), Timestamp::NONE);
    let mut sums = BTreeMap::new();
    for session in 0..corpus.len() {
        let mut sum = Usage::default();
        for usage in &corpus.flow(session).usages {
            sum.add(usage);
        }
        let (_, natives) = corpus.outline(session);
        for native in natives {
            sums.insert(native.to_string(), sum);
        }
    }
    sums
}

fn lines(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

fn number(value: &Value, path: &str) -> u64 {
    value.pointer(path).and_then(Value::as_u64).unwrap_or(0)
}

fn is_trimmed(id: &str) -> bool {
    id.starts_with('[')
}

#[test]
fn every_file_is_recognised_and_loses_no_record() {
    for (folder, formats) in FOLDERS {
        for path in files(folder) {
            let (format, batch) = decode(&path);
            assert!(formats.contains(&format), "{} was read as {format}", path.display());
            let rejected = batch.records.iter().filter(|record| record.outcome == Outcome::Rejected).count();
            assert_eq!(rejected, 0, "{}", path.display());
        }
    }
}

#[test]
fn codex_sessions_add_up_to_their_last_total() {
    for path in files("codex") {
        let (mut session, mut stated, mut forked) = (String::new(), BTreeMap::new(), Vec::new());
        for line in lines(&path) {
            let payload = &line["payload"];
            if line["type"] == "session_meta" {
                session = payload["id"].as_str().unwrap_or_default().to_string();
                if payload["forked_from_id"].is_string() {
                    forked.extend([session.clone(), payload["forked_from_id"].as_str().unwrap().to_string()]);
                }
            } else if payload["info"]["total_token_usage"].is_object() {
                stated.insert(session.clone(), payload["info"]["total_token_usage"].clone());
            }
        }
        let counted = counted(&path);
        for (session, total) in stated {
            // A fork's total counts what was spent before it.
            if forked.contains(&session) || is_trimmed(&session) {
                continue;
            }
            let ours = counted[&session];
            let sums = [
                (ours.input + ours.cache_read + ours.cache_write, "/input_tokens"),
                (ours.cache_read, "/cached_input_tokens"),
                (ours.output + ours.reasoning, "/output_tokens"),
                (ours.reasoning, "/reasoning_output_tokens"),
            ];
            for (sum, key) in sums {
                assert_eq!(sum, number(&total, key), "{key} of {session} in {}", path.display());
            }
        }
    }
}

#[test]
fn copilot_sessions_add_up_to_what_their_shutdown_states() {
    for path in files("copilot-cli") {
        let (mut session, mut stated, mut rewound) = (String::new(), BTreeMap::new(), Vec::new());
        for line in lines(&path) {
            let data = &line["data"];
            if let Some(id) = data["sessionId"].as_str() {
                session = id.to_string();
            }
            if data["infoType"] == "rewind" {
                rewound.push(session.clone());
            }
            if line["type"] == "session.shutdown" && data["tokenDetails"].is_object() {
                stated.insert(session.clone(), data["tokenDetails"].clone());
            }
        }
        let counted = counted(&path);
        for (session, details) in stated {
            // The client forgets what was rewound; it was spent all the same.
            if rewound.contains(&session) || is_trimmed(&session) {
                continue;
            }
            let ours = counted[&session];
            let sums = [
                (ours.input, "/input/tokenCount"),
                (ours.cache_read, "/cache_read/tokenCount"),
                (ours.cache_write, "/cache_write/tokenCount"),
                (ours.output + ours.reasoning, "/output/tokenCount"),
            ];
            for (sum, key) in sums {
                assert_eq!(sum, number(&details, key), "{key} of {session} in {}", path.display());
            }
        }
    }
}

/// The sum over a file of what each of its records states, once per id.
fn stated_once(path: &Path, total: impl Fn(&Value) -> Option<(String, u64)>) -> u64 {
    let mut by_id = BTreeMap::new();
    for line in lines(path) {
        for message in line.pointer("/$set/messages").and_then(Value::as_array).unwrap_or(&vec![line.clone()])
        {
            by_id.extend(total(message));
        }
    }
    by_id.values().sum()
}

/// The tokens of all sessions of a file.
fn all_counted(path: &Path) -> u64 {
    let corpus = Corpus::new(decode(path).1, Table::default(), Timestamp::NONE);
    corpus.flows().flat_map(|flow| flow.usages).map(|usage| usage.total()).sum()
}

#[test]
fn messages_add_up_to_their_own_totals() {
    for path in files("gemini-cli").into_iter().filter(|path| path.extension().is_some_and(|e| e == "jsonl"))
    {
        let id = |line: &Value| line["id"].as_str().map(str::to_string);
        let stated = stated_once(&path, |line| Some((id(line)?, number(line, "/tokens/total"))));
        assert_eq!(all_counted(&path), stated, "{}", path.display());
    }
    for path in files("opencode") {
        let stated: u64 = lines(&path).iter().map(|line| number(line, "/tokens/total")).sum();
        assert_eq!(all_counted(&path), stated, "{}", path.display());
    }
    for path in files("pi") {
        let total = |line: &Value| Some((line.to_string(), number(line, "/message/usage/totalTokens")));
        assert_eq!(all_counted(&path), stated_once(&path, total), "{}", path.display());
    }
    for path in files("other-agents").into_iter().filter(|path| decode(path).0 == "kimi-code") {
        let usage = |line: &Value, key: &str| number(line, &format!("/usage/{key}"));
        let keys = ["inputOther", "output", "inputCacheRead", "inputCacheCreation"];
        let stated: u64 =
            lines(&path).iter().map(|line| keys.iter().map(|key| usage(line, key)).sum::<u64>()).sum();
        assert_eq!(all_counted(&path), stated, "{}", path.display());
    }
}
