//! What is read in another order, in other pieces, or twice, is the same session.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "tests may stop")]

use proptest::prelude::*;
use serde_json::Value;
use unspool_formats::{Decoder, Detail, best};
use unspool_link::{Corpus, Table};
use unspool_model::{Batch, Timestamp};
use unspool_testkit::{
    Launch, Layout, Mode, Prompts, Random, Replay, Shape, Streaming, Tree, Types, generate,
};
use unspool_view::Prices;
use unspool_view::flow_json::session_doc;

/// The files in this order, each in pieces of so many bytes, as the sessions of a JSON export.
fn export(files: &[(String, &[u8])], chunk: usize) -> Vec<Value> {
    let mut batch = Batch::default();
    for (name, bytes) in files {
        let (format, sniff) = best(name, bytes).expect("generated files are recognised");
        let mut decoder = Decoder::new(&mut batch, format, sniff, name, Detail::Full);
        for piece in bytes.chunks(chunk) {
            decoder.push(piece);
        }
        decoder.finish();
    }
    let corpus = Corpus::new(batch, Table::default(), Timestamp::NONE);
    let prices = Prices::default();
    corpus
        .flows()
        .map(|flow| serde_json::to_value(session_doc(&flow, &corpus.batch, &prices)).unwrap())
        .collect()
}

fn files(tree: &Tree) -> Vec<(String, &[u8])> {
    tree.files.iter().map(|(name, bytes)| (name.clone(), bytes.as_slice())).collect()
}

/// Where two exports first differ, or nothing when their bytes are the same.
fn difference(a: &[Value], b: &[Value]) -> Option<String> {
    let (a, b) = (Value::from(a), Value::from(b));
    (serde_json::to_string(&a).unwrap() != serde_json::to_string(&b).unwrap())
        .then(|| first_difference("", &a, &b))
}

fn first_difference(path: &str, a: &Value, b: &Value) -> String {
    match (a, b) {
        (Value::Object(left), Value::Object(right)) => {
            let differs = left.iter().find(|(key, value)| right.get(*key) != Some(value));
            match differs {
                Some((key, value)) => first_difference(&format!("{path}.{key}"), value, &right[key]),
                None => format!("{path}: other fields"),
            }
        }
        (Value::Array(left), Value::Array(right)) if left.len() == right.len() => {
            let differs = left.iter().zip(right).enumerate().find(|(_, (a, b))| a != b);
            match differs {
                Some((n, (a, b))) if a.get("evidence").is_some() => format!("{path}[{n}]: {a} is not {b}"),
                Some((n, (a, b))) => first_difference(&format!("{path}[{n}]"), a, b),
                None => format!("{path}: same items"),
            }
        }
        (Value::Array(left), Value::Array(right)) => {
            let only = |these: &[Value], those: &[Value]| {
                these
                    .iter()
                    .filter(|item| !those.contains(item))
                    .map(Value::to_string)
                    .collect::<Vec<_>>()
                    .join("\n")
            };
            format!("{path}: only left\n{}\nonly right\n{}", only(left, right), only(right, left))
        }
        _ => format!("{path}: {a} is not {b}"),
    }
}

/// The export without the names of the files its records lie in. Nothing else may hang on names: the order of witnesses and
/// evidence, the place of a record in its file and the records an issue names go by content.
fn without_streams(mut sessions: Vec<Value>) -> Vec<Value> {
    for session in &mut sessions {
        for step in session["steps"].as_array_mut().unwrap() {
            for witness in step["witnesses"].as_array_mut().unwrap() {
                witness["stream"] = Value::Null;
            }
        }
    }
    sessions
}

fn shapes() -> impl Strategy<Value = Shape> {
    let what = prop_oneof![
        Just((Layout::Sidechain, Mode::Sync)),
        Just((Layout::Flat, Mode::Async)),
        Just((Layout::Subagents, Mode::Sync)),
        Just((Layout::Subagents, Mode::Teammates)),
        Just((Layout::SubagentsMeta, Mode::Async)),
        Just((Layout::SubagentsMeta, Mode::TeammateProcesses)),
        Just((Layout::Workflow, Mode::Async)),
    ];
    let prompts = prop_oneof![Just(Prompts::Distinct), Just(Prompts::SameWithSameAnswer)];
    let replay = prop_oneof![Just(Replay::None), Just(Replay::Resume), Just(Replay::Branch)];
    let streaming = prop_oneof![Just(Streaming::Split), Just(Streaming::Interleaved)];
    (what, prompts, replay, streaming, any::<[bool; 4]>()).prop_map(
        |((layout, mode), prompts, replay, streaming, [compaction, errors, internal, scattered])| Shape {
            layout,
            mode,
            prompts,
            replay,
            streaming,
            compaction,
            errors,
            internal: internal && layout != Layout::Sidechain,
            launch: if scattered { Launch::Scattered } else { Launch::InOrder },
            types: Types::Mixed,
            progress: layout == Layout::Subagents,
            width: 2,
            rounds: 1,
            ..Shape::default()
        },
    )
}

fn cases(count: u32) -> ProptestConfig {
    ProptestConfig { cases: count, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(cases(24))]

    #[test]
    fn order_of_files_changes_nothing(shape in shapes(), seed in 0_u64..1_000_000, order in any::<u64>()) {
        let labelled = generate(shape, seed);
        let in_order = files(&labelled.tree);
        let mut shuffled = in_order.clone();
        let mut random = Random::new(order);
        for n in (1..shuffled.len()).rev() {
            shuffled.swap(n, random.below(n + 1));
        }
        prop_assert_eq!(difference(&export(&in_order, usize::MAX), &export(&shuffled, usize::MAX)), None);
    }

    #[test]
    fn size_of_pieces_changes_nothing(shape in shapes(), seed in 0_u64..1_000_000, chunk in prop_oneof![Just(1_usize), Just(7), Just(4096)]) {
        let labelled = generate(shape, seed);
        let whole = files(&labelled.tree);
        prop_assert_eq!(difference(&export(&whole, usize::MAX), &export(&whole, chunk)), None);
    }

    #[test]
    fn copies_in_another_folder_change_nothing(shape in shapes(), seed in 0_u64..1_000_000, picks in any::<u64>(), first in any::<bool>()) {
        let labelled = generate(shape, seed);
        let once = files(&labelled.tree);
        let folder = if first { "-a-copy" } else { "zz-copy" };
        let copies = once.iter().enumerate().filter(|(n, _)| picks >> (n % 64) & 1 == 1);
        let copies: Vec<_> = copies.map(|(_, (name, bytes))| (format!("{folder}/{name}"), *bytes)).collect();
        let mut twice = once.clone();
        twice.extend(copies);
        let (once, twice) = (export(&once, usize::MAX), export(&twice, usize::MAX));
        prop_assert_eq!(difference(&without_streams(once), &without_streams(twice)), None);
    }

    #[test]
    fn copies_of_a_session_under_another_name_change_nothing(shape in shapes(), seed in 0_u64..1_000_000, first in any::<bool>()) {
        let labelled = generate(shape, seed);
        let once = files(&labelled.tree);
        let mut twice = once.clone();
        for (n, (name, bytes)) in once.iter().enumerate() {
            if name.matches('/').count() == 1 && !name.contains("/agent-") {
                let (folder, _) = name.split_once('/').unwrap();
                let stem = if first { "0-saved" } else { "z-saved" };
                twice.push((format!("{folder}/{stem}-{n}.jsonl"), *bytes));
            }
        }
        let (once, twice) = (export(&once, usize::MAX), export(&twice, usize::MAX));
        // A title without a session id is told apart by the name of its file, so its copy is one more record.
        let without_context = |sessions| {
            let mut sessions = without_streams(sessions);
            for session in &mut sessions {
                session["context_records"] = Value::Null;
            }
            sessions
        };
        prop_assert_eq!(difference(&without_context(once), &without_context(twice)), None);
    }
    #[test]
    fn folders_of_other_names_change_nothing(shape in shapes(), seed in 0_u64..1_000_000, names in any::<u64>()) {
        let labelled = generate(shape, seed);
        let before = files(&labelled.tree);
        let mut random = Random::new(names);
        let mut folders = std::collections::BTreeMap::new();
        // A session's file and its folder stay together; what lies beside them may lie anywhere.
        let after: Vec<_> = before.iter().map(|(name, bytes)| {
            let (_, inside) = name.split_once('/').unwrap();
            let stem = inside.split(['/', '.']).next().unwrap();
            let folder = *folders.entry(stem.to_string()).or_insert_with(|| random.below(1000));
            (format!("{folder:03}/{inside}"), *bytes)
        }).collect();
        let (before, after) = (export(&before, usize::MAX), export(&after, usize::MAX));
        prop_assert_eq!(difference(&without_streams(before), &without_streams(after)), None);
    }
    #[test]
    fn no_two_things_share_an_id(shape in shapes(), seed in 0_u64..1_000_000) {
        let labelled = generate(shape, seed);
        let mut seen = std::collections::BTreeSet::new();
        for session in export(&files(&labelled.tree), usize::MAX) {
            for kind in ["agents", "runs", "steps"] {
                for row in session[kind].as_array().unwrap() {
                    let id = row["id"].as_str().unwrap().to_string();
                    prop_assert!(seen.insert(id.clone()), "{} {} occurs twice", kind, id);
                }
            }
        }
    }
}

/// Files nobody can read are named in the order of their names, in whatever order they were met.
#[test]
fn many_files_without_data_are_named_in_order() {
    let names: Vec<String> = (0..200).map(|n| format!("p/{n}.jsonl")).collect();
    let issues = |order: &[&String]| {
        let mut batch = Batch::default();
        for name in order {
            if name.len() % 2 == 0 {
                unspool_formats::note_unreadable(&mut batch, name, "gone");
            } else {
                let (format, sniff) = best("agent-1.jsonl", b"\n{").expect("an agent file by its name");
                Decoder::new(&mut batch, format, sniff, name, Detail::Full).finish();
            }
        }
        let corpus = Corpus::new(batch, Table::default(), Timestamp::NONE);
        let shown = |issue: &unspool_model::Issue| {
            (issue.code, corpus.batch.text.get(issue.detail).to_string(), issue.count)
        };
        (corpus.loose_issues().iter().map(shown).collect::<Vec<_>>(), corpus.reading_issues().len())
    };
    let mut order: Vec<&String> = names.iter().collect();
    let in_order = issues(&order);
    assert_eq!((in_order.0.len(), in_order.1), (names.len(), names.len()));
    assert!(in_order.0.is_sorted());
    let mut random = Random::new(7);
    for n in (1..order.len()).rev() {
        order.swap(n, random.below(n + 1));
    }
    assert_eq!(issues(&order), in_order);
}
