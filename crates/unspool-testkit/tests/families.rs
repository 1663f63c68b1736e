//! Families can be linked one by one: together they give what linking everything at once gives.

#![expect(clippy::unwrap_used, reason = "tests may stop")]

use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use unspool_formats::{Decoder, Detail, best};
use unspool_link::{Corpus, Table, pieces};
use unspool_model::{Batch, Id, RecordIx, Timestamp};
use unspool_testkit::witness::{Callers, exchanges, hooks, spans};
use unspool_testkit::{Layout, Mode, Random, Replay, Shape, Tree, generate, said};
use unspool_view::Prices;
use unspool_view::flow_json::{CountsDoc, FlowDoc, SessionDoc, session_doc};

type Files = Vec<(String, Vec<u8>)>;

fn decode(files: &Files) -> Batch {
    let mut batch = Batch::default();
    for (name, bytes) in files {
        let Some((format, sniff)) = best(name, bytes) else { continue };
        let mut decoder = Decoder::new(&mut batch, format, sniff, name, Detail::Full);
        decoder.push(bytes);
        decoder.finish();
    }
    batch
}

/// Each session as an export has it, in the order of ids.
fn sessions(batches: Vec<Batch>) -> Vec<String> {
    let mut found: Vec<(String, String)> = Vec::new();
    for batch in batches {
        let corpus = Corpus::new(batch, Table::default(), Timestamp::NONE);
        for flow in corpus.flows() {
            let document = session_doc(&flow, &corpus.batch, &Prices::default());
            found.push((flow.session.id.show('s'), serde_json::to_string(&document).unwrap()));
        }
    }
    found.sort();
    found.into_iter().map(|(_, document)| document).collect()
}

/// The families of a batch, each as a batch.
fn families(batch: &Batch) -> Vec<Batch> {
    let pieces = pieces(batch, &Table::default());
    let joining: Vec<u64> =
        pieces.iter().flat_map(|piece| &piece.keys).filter(|key| key.joins).map(|key| key.hash).collect();
    let joining: BTreeSet<u64> = joining.into_iter().collect();
    let mut parent: Vec<usize> = (0..pieces.len()).collect();
    let mut first: BTreeMap<u64, usize> = BTreeMap::default();
    let root = |parent: &[usize], mut n: usize| {
        while parent[n] != n {
            n = parent[n];
        }
        n
    };
    for (n, piece) in pieces.iter().enumerate() {
        for key in piece.keys.iter().filter(|key| joining.contains(&key.hash)) {
            let other = root(&parent, *first.entry(key.hash).or_insert(n));
            let own = root(&parent, n);
            parent[own.max(other)] = own.min(other);
        }
    }
    let mut records: BTreeMap<usize, Vec<RecordIx>> = BTreeMap::new();
    for (n, piece) in pieces.iter().enumerate() {
        records.entry(root(&parent, n)).or_default().extend(&piece.records);
    }
    let sorted = |mut list: Vec<RecordIx>| {
        list.sort_unstable();
        list
    };
    records.into_values().map(|list| batch.pick(&sorted(list))).collect()
}

/// Which sessions these are: the beginnings of their documents.
fn ids(documents: &[String]) -> Vec<&str> {
    documents.iter().map(|document| document.split_once(",\"title\"").map_or("", |(ids, _)| ids)).collect()
}

/// How many families there were; panics where linking them alone gives something else.
fn check(files: &Files) -> usize {
    let parts = families(&decode(files));
    let count = parts.len();
    let (alone, together) = (sessions(parts), sessions(vec![decode(files)]));
    assert_eq!(ids(&alone), ids(&together));
    for (alone, together) in alone.iter().zip(&together) {
        assert_eq!(alone, together);
    }
    count
}

fn fixture_files(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() { fixture_files(&path, found) } else { found.push(path) }
    }
}

/// Fixtures were written by hand, and some cases have records in common that no two real sessions have; the first case keeps them.
fn without_copies(files: Files) -> Files {
    let case = |name: &str| name.split('/').take(2).collect::<Vec<_>>().join("/");
    let mut owner: BTreeMap<Id, String> = BTreeMap::new();
    let mut kept = Files::new();
    for (name, bytes) in files {
        let file = vec![(name, bytes)];
        let ids: Vec<Id> = decode(&file).records.iter().map(|record| record.id).collect();
        let own = case(&file[0].0);
        if ids.iter().all(|id| owner.get(id).is_none_or(|other| *other == own)) {
            owner.extend(ids.into_iter().map(|id| (id, own.clone())));
            kept.extend(file);
        }
    }
    kept
}

#[test]
fn families_of_all_fixtures_are_what_they_are_together() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    let mut paths = Vec::new();
    fixture_files(&folder, &mut paths);
    // Expected drawings are no data.
    let files: Files = paths
        .into_iter()
        .filter(|path| path.extension().is_none_or(|ending| ending != "snap"))
        .map(|path| (path.strip_prefix(&folder).unwrap().display().to_string(), std::fs::read(path).unwrap()))
        .collect();
    let files = without_copies(files);
    let count = check(&files);
    assert!(count > 30, "{count} families of {} files", files.len());
}

/// All sessions of files as a document.
fn export(files: &Files) -> Vec<u8> {
    let corpus = Corpus::new(decode(files), Table::default(), Timestamp::NONE);
    let sessions: Vec<SessionDoc> =
        corpus.flows().map(|flow| session_doc(&flow, &corpus.batch, &Prices::default())).collect();
    let counts = CountsDoc { records: 0, stored: 0, duplicate: 0, rejected: 0 };
    serde_json::to_vec(&FlowDoc::new(counts, sessions, Vec::new())).unwrap()
}

fn several(seed: u64, shapes: &[Shape]) -> Vec<Tree> {
    (seed..).zip(shapes).map(|(seed, shape)| generate(*shape, seed).tree).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn families_of_sessions_and_their_witnesses(seed in 0_u64..1_000_000, which in 0_u8..16, named in any::<bool>()) {
        let shape = |layout, mode, replay| Shape { layout, mode, replay, width: 2, rounds: 1, ..Shape::default() };
        let trees = several(seed, &[
            shape(Layout::Subagents, Mode::Sync, Replay::Resume),
            shape(Layout::SubagentsMeta, Mode::TeammateProcesses, Replay::None),
            shape(Layout::Flat, Mode::Async, Replay::Branch),
            shape(Layout::Workflow, Mode::Async, Replay::None),
        ]);
        let callers = if named { Callers::Named } else { Callers::Unnamed };
        let mut files: Files = Vec::new();
        for (n, tree) in trees.iter().enumerate() {
            if which & 1 == 0 {
                files.extend(tree.files.iter().map(|(name, bytes)| (format!("{n}/{name}"), bytes.clone())));
            }
            if which & 2 == 0 {
                // As a proxy sends them: one by one.
                let lines = exchanges(tree, callers).into_iter().enumerate();
                files.extend(lines.map(|(at, one)| (format!("{n}/traffic-{at}.jsonl"), one.entry.to_string().into_bytes())));
            }
            if which & 4 == 0 {
                files.push((format!("{n}/hooks.jsonl"), hooks(tree)));
            }
            if which & 8 == 0 {
                files.push((format!("{n}/spans.json"), spans(tree)));
            }
        }
        check(&files);
        // As the server keeps what people say about links: one by one.
        let corpus = Corpus::new(decode(&files), Table::default(), Timestamp::NONE);
        let lines = said(&corpus, &mut Random::new(seed), 3);
        files.extend((0..).zip(lines).map(|(at, line)| (format!("links-{at}.jsonl"), line.into_bytes())));
        check(&files);
        // An export of everything, beside the records or where some of them are gone.
        files.push(("export.json".into(), export(&files)));
        check(&files);
        let gone = files.len() / 2;
        files.retain(|(name, _)| !name.starts_with("links-"));
        check(&files.split_off(gone.min(files.len() - 1)));
    }
}
