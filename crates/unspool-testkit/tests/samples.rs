//! Public sample files that lie beside the repository, where there are any: every one is read as what it is.
//!
//! The files are not part of the project, and everything here passes without them.

#![expect(clippy::unwrap_used, reason = "tests may stop")]

use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use unspool_formats::{Decoder, Detail, SNIFF_BYTES, best, claim};
use unspool_link::{Corpus, Table};
use unspool_model::{Batch, Outcome, Timestamp};
use unspool_view::tree_json::{TreeDoc, tree_doc};

/// What the files of a folder are.
enum Expected {
    /// Each is of one of these formats.
    Formats(&'static [&'static str]),
    /// No reader is there yet.
    Pending,
}

/// One row per folder; a format that is added takes its `Pending` away.
const FOLDERS: &[(&str, Expected)] = &[
    (
        "claude-code",
        Expected::Formats(&[
            "claude-code-transcript",
            "claude-code-agent-meta",
            "claude-code-workflow-journal",
            "claude-code-workflow",
        ]),
    ),
    ("claude-hooks", Expected::Formats(&["claude-code-hooks"])),
    ("codex", Expected::Formats(&["codex-rollout", "codex-tui-log"])),
    ("copilot-cli", Expected::Formats(&["copilot-cli"])),
    ("gemini-cli", Expected::Formats(&["gemini-cli"])),
    ("opencode", Expected::Formats(&["opencode"])),
    (
        "other-agents",
        Expected::Formats(&[
            "antigravity-cli",
            "cursor",
            "droid",
            "grok-cli",
            "hermes",
            "kimi-code",
            "kiro-cli",
            "mistral-vibe",
            "pi-session",
            "qwen-code",
        ]),
    ),
    ("otlp", Expected::Formats(&["otlp-json", "langfuse-trace", "span-list", "phoenix-spans"])),
    ("pi", Expected::Formats(&["pi-session"])),
    ("proxy", Expected::Formats(&["inference-log"])),
    ("thoughtflow", Expected::Formats(&["thoughtflow-events", "thoughtflow-json"])),
    ("timeline-tree", Expected::Pending),
];

/// Files that describe samples, collect cases, or were written by what recorded them: folder and name.
const NOT_SAMPLES: &[(&str, &str)] = &[
    ("claude-code", "metadata.json"),
    ("claude-code", "TRUTH.json"),
    ("claude-code", "events.jsonl"),
    ("claude-hooks", "received_at.json"),
    ("otlp", "expected-normalized.json"),
    ("otlp", "workflow-graph-cases.json"),
    ("proxy", "derived-claude-code-2.1-cases.json"),
];

fn samples() -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let root = std::env::var_os("UNSPOOL_SAMPLES").map_or_else(beside, PathBuf::from);
    root.is_dir().then_some(root)
}

fn data_files(root: &Path, folder: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root.join(folder)];
    let is_other = |path: &Path| NOT_SAMPLES.iter().any(|(of, name)| *of == folder && path.ends_with(name));
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "json" || end == "jsonl") && !is_other(&path)
            {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn head(bytes: &[u8]) -> &[u8] {
    &bytes[..bytes.len().min(SNIFF_BYTES)]
}

/// Reads a file into the batch, if a format claims it.
fn decode(batch: &mut Batch, name: &str, bytes: &[u8]) {
    if let Some((format, sniff)) = claim(batch, name, head(bytes)) {
        let mut decoder = Decoder::new(batch, format, sniff, name, Detail::Full);
        decoder.push(bytes);
        decoder.finish();
    }
}

#[test]
fn every_folder_of_samples_has_a_row() {
    let Some(root) = samples() else { return };
    let folders = fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir());
    for folder in folders {
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        assert!(FOLDERS.iter().any(|(known, _)| *known == name), "{name} has no row");
    }
}

#[test]
fn every_sample_is_recognised_and_nothing_is_rejected_without_a_reason() {
    let Some(root) = samples() else { return };
    let mut wrong = Vec::new();
    for (folder, expected) in FOLDERS {
        let Expected::Formats(formats) = expected else { continue };
        for path in data_files(&root, folder) {
            let name = path.strip_prefix(&root).unwrap().to_string_lossy().replace('\\', "/");
            let bytes = fs::read(&path).unwrap();
            if bytes.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            let claimed = best(&name, head(&bytes)).map(|(format, _)| format.descriptor().id);
            if !claimed.is_some_and(|id| formats.contains(&id)) {
                wrong.push(format!("{name} is {}", claimed.unwrap_or("not recognised")));
                continue;
            }
            let mut batch = Batch::default();
            decode(&mut batch, &name, &bytes);
            let explained: BTreeSet<u32> = batch.issues.iter().map(|issue| issue.record).collect();
            for (n, record) in (0_u32..).zip(&batch.records) {
                if record.outcome == Outcome::Rejected && !explained.contains(&n) {
                    wrong.push(format!("{name} rejects record {n} without a reason"));
                }
            }
            assert!(!batch.records.is_empty(), "{name} holds nothing");
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Every list of transcript lines or hook events in the cases, with a name.
fn lists(cases: &Value) -> Vec<(String, Vec<Map<String, Value>>)> {
    let mut found = Vec::new();
    let mut left = vec![(String::from("case"), cases)];
    while let Some((name, value)) = left.pop() {
        match value {
            Value::Object(map) => {
                left.extend(map.iter().map(|(key, value)| (format!("{name}-{key}"), value)));
            }
            Value::Array(list) => {
                let is_line =
                    |one: &Value| ["uuid", "event", "type"].iter().any(|key| one.get(key).is_some());
                if list.iter().any(is_line) && !name.ends_with("content") {
                    let lines = list.iter().filter_map(Value::as_object).cloned().collect();
                    found.push((name, lines));
                } else {
                    let numbered = list.iter().enumerate();
                    left.extend(numbered.map(|(n, value)| (format!("{name}-{n}"), value)));
                }
            }
            _ => {}
        }
    }
    found
}

/// What a list of lines names that a tree must hold.
fn named(lines: &[Map<String, Value>]) -> BTreeMap<&'static str, BTreeSet<String>> {
    let mut found: BTreeMap<&'static str, BTreeSet<String>> = BTreeMap::new();
    let mut take = |key: &'static str, value: Option<&Value>| {
        if let Some(text) = value.and_then(Value::as_str).filter(|text| !text.is_empty()) {
            found.entry(key).or_default().insert(text.into());
        }
    };
    for line in lines {
        for key in ["uuid", "tool_use_id", "agent_id"] {
            take(key, line.get(key));
        }
        let content = line.get("message").and_then(|message| message.get("content"));
        for block in content.and_then(Value::as_array).into_iter().flatten() {
            let is_call = block.get("type").and_then(Value::as_str) == Some("tool_use");
            take("tool_use_id", if is_call { block.get("id") } else { block.get("tool_use_id") });
        }
    }
    found
}

fn trees(name: &str, bytes: &[u8]) -> (Corpus, Vec<TreeDoc>) {
    let mut batch = Batch::default();
    decode(&mut batch, name, bytes);
    let corpus = Corpus::new(batch, Table::default(), Timestamp::NONE);
    let trees = corpus.flows().map(|flow| tree_doc(&flow, &corpus.batch)).collect();
    (corpus, trees)
}

#[test]
fn no_node_of_the_timeline_cases_is_lost() {
    let Some(root) = samples() else { return };
    let Ok(text) = fs::read(root.join("timeline-tree/enrichment-cases.json")) else { return };
    let lists = lists(&serde_json::from_slice(&text).unwrap());
    assert!(lists.len() > 20, "only {} lists were found", lists.len());
    let mut lost = Vec::new();
    for (name, lines) in lists {
        let jsonl: Vec<String> = lines.iter().map(|line| serde_json::to_string(line).unwrap()).collect();
        let as_lines = jsonl.join("\n");
        let as_list = format!("[{}]", jsonl.join(",\n"));
        for (name, bytes) in [(format!("{name}.jsonl"), as_lines), (format!("{name}.json"), as_list)] {
            let (corpus, trees) = trees(&name, bytes.as_bytes());
            let has = |key: &str, id: &String| {
                trees.iter().any(|tree| match key {
                    "uuid" => tree.by_uuid.contains_key(id),
                    "tool_use_id" => tree.by_tool_use_id.contains_key(id),
                    _ => tree.by_agent_id.contains_key(id),
                })
            };
            for (key, ids) in named(&lines) {
                lost.extend(ids.iter().filter(|id| !has(key, id)).map(|id| format!("{name}: {key} {id}")));
            }
            let nodes = trees.iter().flat_map(|tree| &tree.nodes);
            let shown: BTreeSet<&str> = nodes.flat_map(|node| &node.records).map(String::as_str).collect();
            let counted = corpus.batch.records.iter().filter(|record| record.outcome != Outcome::Duplicate);
            for record in counted {
                if !shown.contains(record.id.show('r').as_str()) {
                    lost.push(format!("{name}: the record at {} is in no node", record.offset));
                }
            }
            assert_eq!(corpus.batch.records.len(), lines.len(), "{name}");
        }
    }
    assert!(lost.is_empty(), "{}", lost.join("\n"));
}
