//! What is exported and read back is the same flow, for every fixture and for generated sessions.
//!
//! `docs/exports.md` says what each format carries; here it is held to that.

#![expect(clippy::unwrap_used, reason = "tests may stop")]

use proptest::prelude::*;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use unspool_link::{Corpus, Table};
use unspool_model::Timestamp;
use unspool_testkit::{Layout, Mode, Prompts, Replay, Shape, Tree, generate, hide, read};
use unspool_view::Prices;
use unspool_view::diff::{Part, Side, diff};
use unspool_view::draw::TimelinePicture;
use unspool_view::explain::Search;
use unspool_view::export::thoughtflow::thoughtflow;
use unspool_view::export::{markdown, otlp};
use unspool_view::findings::findings;
use unspool_view::flow_json::{CountsDoc, FlowDoc, issue_doc, session_doc};
use unspool_view::graph::{Level, View, graph};
use unspool_view::metrics::metrics;
use unspool_view::path::{Paths, Scope};
use unspool_view::rows::{Filter, rows};
use unspool_view::tree_json::tree_doc;
use unspool_view::workflow::{Options, items, workflow};

fn corpus(tree: &Tree) -> Corpus {
    Corpus::new(read(tree, usize::MAX), Table::default(), Timestamp::NONE)
}

/// One file, as if a user had exported to it.
fn file(name: &str, bytes: Vec<u8>) -> Tree {
    Tree { files: BTreeMap::from([(name.to_string(), bytes)]) }
}

/// The complete JSON export.
fn export(corpus: &Corpus) -> Value {
    let counts = corpus.counts();
    let counts = CountsDoc {
        records: counts.records,
        stored: counts.stored,
        duplicate: counts.duplicate,
        rejected: counts.rejected,
    };
    let (batch, prices) = (&corpus.batch, Prices::default());
    let sessions: Vec<_> = corpus.flows().map(|flow| session_doc(&flow, batch, &prices)).collect();
    let issues = corpus.loose_issues().iter().map(|issue| issue_doc(issue, batch)).collect();
    serde_json::to_value(FlowDoc::new(counts, sessions, issues)).unwrap()
}

/// Every case of every fixture, as the files of its folder.
fn fixtures() -> Vec<(String, Tree)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    let mut cases: BTreeMap<String, Tree> = BTreeMap::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let relative = path.strip_prefix(&root).unwrap().to_string_lossy().replace('\\', "/");
            let [format, case, name] = relative.splitn(3, '/').collect::<Vec<_>>()[..] else { continue };
            let case = cases.entry(format!("{format}/{case}")).or_default();
            case.files.insert(name.into(), fs::read(&path).unwrap());
        }
    }
    assert!(cases.len() > 50, "{}", cases.len());
    cases.into_iter().collect()
}

fn shapes() -> impl Strategy<Value = Shape> {
    let what = prop_oneof![
        Just((Layout::Sidechain, Mode::Sync)),
        Just((Layout::Flat, Mode::Async)),
        Just((Layout::Subagents, Mode::Teammates)),
        Just((Layout::SubagentsMeta, Mode::Async)),
        Just((Layout::Workflow, Mode::Async)),
    ];
    let prompts = prop_oneof![Just(Prompts::Distinct), Just(Prompts::SameWithSameAnswer)];
    let replay = prop_oneof![Just(Replay::None), Just(Replay::Resume), Just(Replay::Branch)];
    (what, prompts, replay, any::<[bool; 3]>()).prop_map(
        |((layout, mode), prompts, replay, [compaction, errors, internal])| Shape {
            layout,
            mode,
            prompts,
            replay,
            compaction,
            errors,
            internal: internal && layout != Layout::Sidechain,
            width: 2,
            rounds: 1,
            ..Shape::default()
        },
    )
}

fn cases(count: u32) -> ProptestConfig {
    ProptestConfig { cases: count, failure_persistence: None, ..ProptestConfig::default() }
}

/// The document without what only the records themselves can say: which they are, and how many.
fn without_records(mut document: Value) -> Value {
    let each = |list: &mut Value, field: &str| {
        for row in list.as_array_mut().unwrap() {
            // That there are none is kept.
            row[field] = Value::Bool(row[field].as_array().unwrap().is_empty());
        }
    };
    document["counts"] = Value::Null;
    each(&mut document["issues"], "records");
    for session in document["sessions"].as_array_mut().unwrap() {
        each(&mut session["issues"], "records");
        each(&mut session["steps"], "witnesses");
        each(&mut session["edges"], "evidence");
    }
    document
}

/// Where two values first differ.
fn difference(path: &str, a: &Value, b: &Value) -> Option<String> {
    match (a, b) {
        _ if a == b => None,
        (Value::Object(left), Value::Object(right)) if left.len() == right.len() => {
            left.iter().find_map(|(key, value)| difference(&format!("{path}.{key}"), value, &b[key]))
        }
        (Value::Array(left), Value::Array(right)) if left.len() == right.len() => {
            let mut pairs = left.iter().zip(right).enumerate();
            pairs.find_map(|(n, (a, b))| difference(&format!("{path}[{n}]"), a, b))
        }
        _ => Some(format!("{path}: {a} is not {b}")),
    }
}

/// What differs when a document is written, read back and written again.
fn json_there_and_back(tree: &Tree) -> Option<String> {
    let before = export(&corpus(tree));
    let there = file("export.json", serde_json::to_vec(&before).unwrap());
    let back = export(&corpus(&there));
    let (before, back) = (without_records(before), without_records(back));
    difference("", &before, &back)
}

#[test]
fn every_fixture_comes_back_from_json() {
    for (case, tree) in fixtures() {
        assert_eq!(json_there_and_back(&tree), None, "{case}");
    }
}

proptest! {
    #![proptest_config(cases(24))]

    #[test]
    fn generated_sessions_come_back_from_json(shape in shapes(), seed in 0_u64..1_000_000, is_hidden in any::<bool>()) {
        let labelled = generate(shape, seed);
        let tree = if is_hidden { hide(&labelled.tree) } else { labelled.tree };
        prop_assert_eq!(json_there_and_back(&tree), None);
    }
}

/// Pointers to every value in a document, lists and rows included.
fn pointers(path: String, value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            fields.iter().for_each(|(key, value)| pointers(format!("{path}/{key}"), value, found));
        }
        Value::Array(rows) => {
            rows.iter().enumerate().for_each(|(n, value)| pointers(format!("{path}/{n}"), value, found));
        }
        _ => {}
    }
    found.push(path);
}

/// Asks for everything that walks a flow.
fn ask_everything(corpus: &Corpus) {
    let (batch, prices) = (&corpus.batch, Prices::default());
    export(corpus);
    for flow in corpus.flows() {
        let shown: usize = [
            metrics(&flow, &batch.text).nodes.len(),
            Paths::new(&flow, &batch.text).path(Scope::Session, &[]).segments.len(),
            workflow(&items(&flow, batch, &prices, None), &Options::default()).nodes.len(),
            findings(&flow, batch, &prices).findings.len(),
            rows(&flow, batch, &prices, &Filter::default()).rows.len(),
            serde_json::to_string(&tree_doc(&flow, batch)).unwrap().len(),
            otlp::encode(&otlp::spans(&flow, batch)).len(),
            serde_json::to_string(&thoughtflow(&flow, batch)).unwrap().len(),
            TimelinePicture::of(&flow, batch).1.len(),
        ]
        .iter()
        .sum();
        for level in Level::ALL {
            graph(&flow, batch, &prices, &View { level, ..View::default() }, &|_| true);
        }
        let side = || Side { flow: &flow, batch, prices: &prices, part: Part::Whole };
        diff(&side(), &side());
        markdown::write(&mut Vec::new(), &flow, batch, &prices).unwrap();
        for n in 0..flow.steps.len() {
            let wanted = n.to_string();
            let mut search = Search::new(&wanted);
            search.add(&flow, batch, &prices);
            search.finish();
        }
        assert!(shown > 0);
    }
}

proptest! {
    #![proptest_config(cases(150))]

    #[test]
    fn exports_that_were_tampered_with_break_nothing(
        wounds in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 1..12),
    ) {
        let (_, tree) = fixtures().into_iter().find(|(case, _)| case == "unspool-flow/sessions").unwrap();
        let mut document: Value = serde_json::from_slice(&tree.files["export.json"]).unwrap();
        for (to, from) in wounds {
            let mut places = Vec::new();
            pointers(String::new(), &document, &mut places);
            let (from, place) = (&places[from.index(places.len())], &places[to.index(places.len())]);
            let value = document.pointer(from).unwrap().clone();
            if place.len() > "/sessions/0".len() && value.to_string().len() < 10_000 {
                *document.pointer_mut(place).unwrap() = value;
            }
        }
        let counted = corpus(&file("export.json", serde_json::to_vec(&document).unwrap()));
        ask_everything(&counted);
        let counts = counted.counts();
        prop_assert_eq!(counts.records, counts.stored + counts.duplicate + counts.rejected);
    }
}
