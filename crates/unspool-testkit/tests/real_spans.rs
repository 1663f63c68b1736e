//! Published traces, where they are at hand beside the project: every file is recognised, no record is lost, and what another project's own tests expect of its traces is what we read. Without the folder there is nothing to do.

#![expect(clippy::unwrap_used, reason = "tests may stop")]

use serde_json::Value;
use std::path::{Path, PathBuf};
use unspool_formats::{Decoder, Detail, SNIFF_BYTES, best};
use unspool_link::{Corpus, Table};
use unspool_model::{Batch, Event, EventKind, KeyKind, Role, Timestamp};

fn folder() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/otlp");
    folder.is_dir().then_some(folder)
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { found.push(path) }
        }
    }
    found.sort();
    found.retain(|path| path.extension().is_some_and(|end| end == "json" || end == "jsonl"));
    found.retain(|path| !path.to_string_lossy().contains("expected"));
    found
}

fn read(path: &Path) -> Option<Batch> {
    let bytes = std::fs::read(path).unwrap();
    let (format, sniff) = best("unnamed", &bytes[..bytes.len().min(SNIFF_BYTES)])?;
    let mut batch = Batch::default();
    let mut decoder = Decoder::new(&mut batch, format, sniff, &path.to_string_lossy(), Detail::Full);
    decoder.push(&bytes);
    decoder.finish();
    Some(batch)
}

/// How many spans a file of any shape holds.
fn spans_in(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(spans_in).sum(),
        Value::Object(fields) => {
            let is_span = fields.contains_key("spanId")
                || (fields.contains_key("parentObservationId") && fields.contains_key("startTime"));
            let inner = ["resourceSpans", "scopeSpans", "spans", "observations"];
            usize::from(is_span)
                + inner.iter().filter_map(|name| fields.get(*name)).map(spans_in).sum::<usize>()
        }
        _ => 0,
    }
}

#[test]
fn every_published_trace_is_read_and_no_span_is_lost() {
    let Some(folder) = folder() else { return };
    let files = files(&folder);
    assert!(!files.is_empty());
    for path in files {
        let text = std::fs::read_to_string(&path).unwrap();
        let spans: usize = match serde_json::from_str::<Value>(&text) {
            Ok(value) => spans_in(&value),
            Err(_) => {
                text.lines().filter_map(|line| serde_json::from_str(line).ok()).map(|v| spans_in(&v)).sum()
            }
        };
        let batch = read(&path);
        assert!(batch.is_some(), "{} is not recognised", path.display());
        let corpus = Corpus::new(batch.unwrap(), Table::default(), Timestamp::NONE);
        let counts = corpus.counts();
        assert_eq!((counts.records, counts.rejected), (spans as u64, 0), "{}", path.display());
        let steps: usize = corpus.flows().map(|flow| flow.steps.len()).sum();
        assert!(steps > 0, "{}", path.display());
    }
}

/// The event that is the span of this id.
fn span<'b>(batch: &'b Batch, id: &str) -> &'b Event {
    let is_it = |event: &&Event| {
        let key = batch.key(event, KeyKind::Span, Role::Provides);
        key.is_some_and(|key| batch.text.get(key).ends_with(&format!("/{id}")))
    };
    batch.events.iter().find(is_it).unwrap()
}

fn named<'b>(batch: &'b Batch, name: &str) -> &'b Event {
    batch.events.iter().find(|event| batch.text.get(event.name) == name).unwrap()
}

/// Compares what is expected of one span with the event we made of it. Fields we do not keep are passed over.
fn compare(batch: &Batch, event: &Event, expected: &Value, what: &str) {
    use unspool_model::AttrName;
    let text = |name| batch.attr_text(event, name).map_or("", |sym| batch.text.get(sym));
    let usage = batch.usage(event).unwrap_or_default();
    let of_record = || batch.events.iter().filter(|other| other.record == event.record);
    for (field, value) in expected.as_object().unwrap() {
        let number = || value.as_u64().unwrap();
        let word = || value.as_str().unwrap_or_default();
        match field.as_str() {
            "name" => assert_eq!(batch.text.get(event.name), word(), "{what}"),
            // Where a model answers under a dated name, that is the one we keep.
            "model" => assert!(batch.text.get(event.name).starts_with(word()), "{what}"),
            "inputTokens" => {
                assert_eq!(usage.input + usage.cache_read + usage.cache_write, number(), "{what}");
            }
            "outputTokens" => assert_eq!(usage.output + usage.reasoning, number(), "{what}"),
            "totalTokens" => assert_eq!(usage.total(), number(), "{what}"),
            "reasoningTokens" => assert_eq!(usage.reasoning, number(), "{what}"),
            "finishReason" => assert_eq!(text(AttrName::StopReason), word(), "{what}"),
            // A loop or an agent without calls of its own counts as a generation there.
            "type" => {
                let is_generation = matches!(event.kind, EventKind::ModelCall | EventKind::AgentStart);
                assert_eq!(is_generation, word() == "GENERATION", "{what}");
            }
            "semanticKind" => assert_eq!(event.kind == EventKind::ModelCall, word() == "llm", "{what}"),
            "output" => assert!(word().starts_with(text(AttrName::Preview).trim_end_matches('…')), "{what}"),
            "sessionId" => {
                let session = of_record().find_map(|other| batch.key(other, KeyKind::Session, Role::Refers));
                assert_eq!(session.map(|sym| batch.text.get(sym)), Some(word()), "{what}");
            }
            "toolCalls" => {
                for call in value.as_array().unwrap() {
                    let id = call["toolCallId"].as_str().unwrap();
                    let asked = of_record().find(|other| {
                        let key = batch.key(other, KeyKind::ToolUse, Role::Provides);
                        key.is_some_and(|key| batch.text.get(key) == id)
                    });
                    let name = asked.map(|other| batch.text.get(other.name));
                    assert_eq!(name, call["toolName"].as_str(), "{what}");
                }
            }
            _ => {}
        }
    }
}

#[test]
fn what_another_project_expects_of_its_traces_is_what_we_read() {
    let Some(folder) = folder() else { return };
    let expected = folder.join("expected/expected-normalized.json");
    let Ok(expected) = std::fs::read_to_string(expected) else { return };
    let expected: Value = serde_json::from_str(&expected).unwrap();
    for (file, wanted) in expected["files"].as_object().unwrap() {
        let path = files(&folder).into_iter().find(|path| path.ends_with(file)).unwrap();
        let batch = read(&path).unwrap();
        if let Some(spans) = wanted["spans"].as_u64() {
            assert_eq!(batch.records.len() as u64, spans, "{file}");
        }
        if let Some(trace) = wanted["traceId"].as_str() {
            assert!(batch.text.find(trace).is_some(), "{file} has no trace {trace}");
        }
        for id in wanted["GENERATION"].as_array().into_iter().flatten() {
            assert_eq!(span(&batch, id.as_str().unwrap()).kind, EventKind::ModelCall, "{file}");
        }
        for (id, one) in wanted["by_span"].as_object().into_iter().flatten() {
            compare(&batch, span(&batch, id), one, &format!("{file} {id}"));
        }
        if let Some(id) = wanted["spanId"].as_str() {
            compare(&batch, span(&batch, id), wanted, file);
        } else if wanted["semanticKind"].is_string() {
            let own = batch.events.iter().find(|event| event.kind == EventKind::ModelCall).unwrap();
            compare(&batch, own, wanted, file);
        } else if let Some(session) = wanted["sessionId"].as_str() {
            assert!(batch.text.find(session).is_some(), "{file} has no session {session}");
        }
        if wanted["doStream"].is_object() {
            let own = batch.events.iter().find(|event| event.kind == EventKind::ModelCall).unwrap();
            compare(&batch, own, &wanted["doStream"], file);
        }
        if wanted["agent.stream"].is_object() {
            compare(&batch, named(&batch, "party-planner"), &Value::Object(serde_json::Map::new()), file);
            let own =
                batch.events.iter().find(|e| e.kind == EventKind::AgentStart && batch.usage(e).is_some());
            compare(&batch, own.unwrap(), &wanted["agent.stream"], file);
        }
        if let Some(count) = wanted["GENERATION_count"].as_u64() {
            let calls = batch.events.iter().filter(|event| event.kind == EventKind::ModelCall).count();
            assert_eq!(calls as u64, count, "{file}");
        }
    }
}
