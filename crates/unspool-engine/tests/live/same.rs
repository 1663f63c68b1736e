//! Batch = live = restart: the same sessions, byte for byte, in whatever order and pieces things arrive.

use proptest::prelude::*;
use std::path::Path;
use std::sync::Arc;
use unspool_engine::live::{Arrival, Engine, Options, Part};
use unspool_formats::{Decoder, Detail, best};
use unspool_link::{Corpus, Table};
use unspool_model::{Batch, Timestamp};
use unspool_store::{DatabaseFile, MemoryStore, Question};
use unspool_testkit::witness::{Callers, exchanges, hooks, spans};
use unspool_testkit::{Layout, Mode, Random, Replay, Shape, Tree, generate, said};
use unspool_view::Prices;
use unspool_view::flow_json::session_doc;

pub(crate) fn never() -> Timestamp {
    Timestamp::NONE
}

pub(crate) fn open(folder: &Path) -> Engine {
    Engine::open(Options::new(folder, never)).unwrap()
}

/// All sessions the engine shows, in the order of their ids.
pub(crate) fn shown(engine: &Engine) -> Vec<String> {
    let page = engine.sessions(&Question::default()).unwrap();
    let mut ids: Vec<_> = page.sessions.iter().map(|row| row.id).collect();
    ids.sort_unstable();
    let document = |id| {
        let snapshot = engine.snapshot(id).unwrap().unwrap();
        serde_json::to_string(&session_doc(&snapshot.flow, &snapshot.corpus.batch, &Prices::default()))
            .unwrap()
    };
    ids.into_iter().map(document).collect()
}

fn corpus(streams: &[(String, Vec<u8>)]) -> Corpus {
    let mut batch = Batch::default();
    for (name, bytes) in streams {
        let (format, sniff) = best(name, bytes).unwrap();
        let mut decoder = Decoder::new(&mut batch, format, sniff, name, Detail::Full);
        decoder.push(bytes);
        decoder.finish();
    }
    Corpus::new(batch, Table::default(), Timestamp::NONE)
}

/// The same streams, read and linked at once.
fn at_once(streams: &[(String, Vec<u8>)]) -> Vec<String> {
    let corpus = corpus(streams);
    let mut found: Vec<_> = corpus
        .flows()
        .map(|flow| {
            let document = session_doc(&flow, &corpus.batch, &Prices::default());
            (flow.session.id, serde_json::to_string(&document).unwrap())
        })
        .collect();
    found.sort();
    found.into_iter().map(|(_, document)| document).collect()
}

/// What happens to the engine.
pub(crate) enum Event {
    Body(&'static str, String, Vec<u8>),
    Part(String, usize, Vec<u8>),
    Restart,
}

/// The sessions of some trees as they might arrive: files in parts that keep their order, traffic, hooks and spans, and restarts.
pub(crate) fn arrivals(trees: &[Tree], random: &mut Random) -> Vec<Event> {
    let mut queues: Vec<Vec<Event>> = vec![(0..random.below(3)).map(|_| Event::Restart).collect()];
    for (n, tree) in trees.iter().enumerate() {
        for (name, bytes) in &tree.files {
            let path = format!("{n}/{name}");
            let mut parts = Vec::new();
            let mut from = 0;
            while from < bytes.len() {
                let wanted = from + 1 + random.below(bytes.len());
                let line = bytes.iter().skip(wanted).position(|byte| *byte == b'\n');
                let to = line.map_or(bytes.len(), |at| wanted + at + 1).min(bytes.len());
                parts.push(Event::Part(path.clone(), from, bytes[from..to].to_vec()));
                from = to;
            }
            queues.push(parts);
        }
        let traffic = exchanges(tree, if n % 2 == 0 { Callers::Named } else { Callers::Unnamed });
        let body = |one: String| Event::Body("proxy", "exchange.jsonl".into(), one.into_bytes());
        queues.push(traffic.into_iter().map(|one| body(format!("{}\n", one.entry))).collect());
        let lines = String::from_utf8(hooks(tree)).unwrap();
        let hook = |line: &str| Event::Body("hooks", "hooks.jsonl".into(), format!("{line}\n").into_bytes());
        queues.push(lines.lines().map(hook).collect());
        queues.push(vec![Event::Body("otlp-http", "traces.json".into(), spans(tree))]);
        let files: Vec<(String, Vec<u8>)> = tree.files.clone().into_iter().collect();
        let lines = said(&corpus(&files), random, 3).into_iter();
        queues
            .push(lines.map(|line| Event::Body("links", "links.jsonl".into(), line.into_bytes())).collect());
    }
    let mut all = Vec::new();
    for queue in &mut queues {
        queue.reverse();
    }
    while queues.iter().any(|queue| !queue.is_empty()) {
        let at = random.below(queues.len());
        all.extend(queues[at].pop());
    }
    all
}

/// Plays it and compares. What is derived is in the embedded store, or in memory: the engine needs nothing but the contract.
fn play(events: Vec<Event>, in_memory: bool) -> Result<(), TestCaseError> {
    let folder = tempfile::tempdir().unwrap();
    let mut options = Options::new(folder.path(), never);
    if in_memory {
        options.store = Arc::new(MemoryStore::default());
    }
    let open = || Engine::open(options.clone()).unwrap();
    let mut engine = open();
    let mut streams: Vec<(String, Vec<u8>)> = Vec::new();
    for event in events {
        match event {
            Event::Restart => {
                drop(engine);
                engine = open();
            }
            Event::Body(source, name, bytes) => {
                let arrival =
                    Arrival::Body { source: source.into(), name: name.clone(), bytes: bytes.clone() };
                let taken = engine.take(arrival).unwrap();
                streams.push((format!("{source}/{}/{name}", taken.position), bytes));
            }
            Event::Part(path, offset, bytes) => {
                let offset = offset as u64;
                let part = Arrival::Part(Part {
                    path: path.clone(),
                    offset,
                    bytes: bytes.clone(),
                    checkpoint: None,
                });
                engine.take(part).unwrap();
                match streams.iter_mut().find(|(name, _)| *name == path) {
                    Some((_, whole)) => whole.extend(bytes),
                    None => streams.push((path, bytes)),
                }
            }
        }
    }
    engine.settle();
    let expected = at_once(&streams);
    prop_assert!(expected.len() > 1);
    same(&shown(&engine), &expected)?;
    let health = engine.health();
    drop(engine);
    let engine = open();
    same(&shown(&engine), &expected)?;
    prop_assert_eq!(engine.health(), health);
    Ok(())
}

fn same(found: &[String], expected: &[String]) -> Result<(), TestCaseError> {
    for (found, expected) in found.iter().zip(expected) {
        prop_assert_eq!(found, expected);
    }
    prop_assert_eq!(found.len(), expected.len());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_the_order_it_is_as_if_read_at_once(seed in 0_u64..1_000_000, in_memory: bool) {
        let shape = |layout, mode, replay| Shape { layout, mode, replay, width: 2, rounds: 1, ..Shape::default() };
        let trees = [
            generate(shape(Layout::Subagents, Mode::Sync, Replay::Resume), seed).tree,
            generate(shape(Layout::SubagentsMeta, Mode::TeammateProcesses, Replay::None), seed + 1).tree,
            generate(shape(Layout::Workflow, Mode::Async, Replay::None), seed + 2).tree,
        ];
        play(arrivals(&trees, &mut Random::new(seed)), in_memory)?;
    }
}

fn line(session: &str, uuid: &str, text: &str, more: &str) -> String {
    format!(
        "{{\"type\":\"user\",\"sessionId\":\"{session}\",\"uuid\":\"{uuid}\",\"timestamp\":\"2026-01-01T00:00:00Z\",\"cwd\":\"/w\",\
         \"version\":\"2.1.0\"{more},\"message\":{{\"role\":\"user\",\"content\":\"{text}\"}}}}\n"
    )
}

/// Files that only their names tie together, and some whose names tie nothing.
#[test]
fn uploads_belong_together_by_their_names_and_still_do_after_a_restart() {
    const SESSION: &str = "0a1b2c3d-4e5f-4061-8071-2a3b4c5d6e7f";
    let folder = tempfile::tempdir().unwrap();
    let engine = open(folder.path());
    let upload = |name: &str, text: String| {
        engine
            .take(Arrival::Body { source: "ingest".into(), name: name.into(), bytes: text.into_bytes() })
            .unwrap();
    };
    upload("transcript.jsonl", line("one", "o1", "a first session", ""));
    upload(
        &format!("{SESSION}/subagents/agent-a1.jsonl"),
        line("agent-a1", "a1", "of the agent", ",\"isSidechain\":true,\"agentId\":\"a1\""),
    );
    upload(&format!("{SESSION}.jsonl"), line(SESSION, "m1", "of the main agent", ""));
    upload("transcript.jsonl", line("two", "t1", "another session", ""));
    for n in ["3", "4"] {
        let agent = format!(",\"isSidechain\":true,\"agentId\":\"b{n}\"");
        upload(
            &format!("subagents/agent-b{n}.jsonl"),
            line(&format!("s{n}"), n, "nobody knows whose agent", &agent),
        );
    }
    engine.settle();
    let before = shown(&engine);
    let natives: Vec<bool> = before.iter().map(|document| document.contains("of the agent")).collect();
    assert_eq!(before.len(), 5, "{before:?}");
    let joined = &before[natives.iter().position(|is_it| *is_it).unwrap()];
    assert!(joined.contains("of the main agent"));
    drop(engine);
    let engine = open(folder.path());
    assert_eq!(shown(&engine), before);
    drop(engine);
    for name in ["families.db", "store.db"] {
        DatabaseFile::new(folder.path().join(name)).delete().unwrap();
    }
    let engine = open(folder.path());
    engine.settle();
    assert_eq!(shown(&engine), before);
}
