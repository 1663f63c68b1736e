//! What is exported and read back is the same flow, for every fixture and for generated sessions.
//!
//! `docs/exports.md` says what each format carries; here it is held to that.

#![expect(clippy::unwrap_used, reason = "tests may stop")]

use proptest::prelude::*;
use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use unspool_link::{Corpus, Table};
use unspool_model::{Batch, RecordIx, Timestamp};
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
use unspool_view::search::NativeBytes;
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

/// A start whose call has no id says null; exports of earlier versions said "", and are read as the same.
#[test]
fn a_start_without_an_id_says_so() {
    let mut without = 0;
    for (case, tree) in fixtures() {
        let document = export(&corpus(&tree));
        let mut before = document.clone();
        let sessions = before["sessions"].as_array_mut().unwrap().iter_mut();
        let agents = sessions.flat_map(|session| session["agents"].as_array_mut().unwrap());
        for agent in agents.filter(|agent| agent["spawn"].is_object()) {
            let id = &mut agent["spawn"]["tool_use_id"];
            assert_ne!(*id, "", "{case}");
            if id.is_null() {
                without += 1;
                *id = "".into();
            }
        }
        let again =
            |document: &Value| export(&corpus(&file("x.json", serde_json::to_vec(document).unwrap())));
        assert_eq!(
            again(&before)["sessions"][0]["agents"],
            again(&document)["sessions"][0]["agents"],
            "{case}"
        );
    }
    assert!(without > 0);
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
        // What people said is known by its record; sessions of which nobody spoke have no list.
        for link in session.get_mut("links").and_then(Value::as_array_mut).into_iter().flatten() {
            assert!(link["id"].as_str().unwrap().starts_with('r'));
            link["id"] = Value::Null;
        }
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

/// Everything of a corpus as spans, in a file.
fn spans_file(corpus: &Corpus, is_binary: bool) -> Tree {
    let sessions: Vec<_> = corpus.flows().map(|flow| otlp::spans(&flow, &corpus.batch)).collect();
    if is_binary {
        return file("spans.otlp", sessions.iter().flat_map(otlp::encode).collect());
    }
    let documents = otlp::TracesDoc::new(sessions.iter().map(otlp::traces_doc).collect::<Vec<_>>());
    file("spans.otlp.json", serde_json::to_vec(&documents).unwrap())
}

/// What spans must carry of each session: its sums, its agents and who started them, its steps and whose they are.
fn kept_by_spans(corpus: &Corpus) -> Vec<String> {
    let document = export(corpus);
    let mut kept = Vec::new();
    // A session in which nothing happened has no spans.
    let is_empty = |session: &&Value| session["steps"].as_array().unwrap().is_empty();
    for session in document["sessions"].as_array().unwrap().iter().filter(|session| !is_empty(session)) {
        let id = &session["native_ids"][0];
        let totals = &session["totals"];
        for sum in ["model_calls", "tool_calls", "errors", "usage", "cost_usd"] {
            kept.push(format!("{id} {sum} {}", totals[sum]));
        }
        let agents = session["agents"].as_array().unwrap();
        let native = |of: &Value| {
            let found = agents.iter().find(|agent| agent["id"] == *of);
            found.map_or("nobody".to_string(), |agent| agent["native_id"].to_string())
        };
        for agent in agents {
            let name = format!("{} {} {}", agent["native_id"], agent["type"], agent["main"]);
            let spawn =
                ["tool_use_id", "rule", "confidence", "inferred"].map(|key| agent["spawn"][key].to_string());
            kept.push(format!("{id} agent {name} below {} by {spawn:?}", native(&agent["parent_id"])));
        }
        let steps = session["steps"].as_array().unwrap();
        let shown = |step: &Value| {
            let ids =
                ["kind", "name", "tool_use_id", "message_id", "started_at"].map(|key| step[key].to_string());
            ids.join(" ")
        };
        for step in steps {
            let above = steps.iter().find(|above| above["id"] == step["parent_id"]).map(shown);
            let own = format!("{} of {} below {above:?}", shown(step), native(&step["agent_id"]));
            kept.push(format!("{id} step {own} error {} usage {}", step["is_error"], step["usage"]));
            let more = [
                "ended_at",
                "started_at_estimated",
                "pending",
                "meta",
                "preview",
                "error",
                "model",
                "native_id",
            ];
            kept.push(format!("{id} step {} {:?}", shown(step), more.map(|key| step[key].to_string())));
        }
        // That one step follows another is told anew from their times.
        let drawn = |edge: &&Value| edge["rule"] != "agent-sequence";
        for edge in session["edges"].as_array().unwrap().iter().filter(drawn) {
            let end = |key: &str| steps.iter().find(|step| step["id"] == edge[key]).map(shown);
            let why =
                ["kind", "rule", "confidence", "tool_use_id", "is_error"].map(|key| edge[key].to_string());
            kept.push(format!("{id} edge {why:?} {:?} {:?}", end("from"), end("to")));
        }
        for run in session["runs"].as_array().unwrap() {
            let trigger = steps.iter().find(|step| step["id"] == run["trigger_step_id"]).map(shown);
            kept.push(format!("{id} run {trigger:?}"));
        }
    }
    kept.sort();
    kept
}

/// What differs when spans are written and read back.
fn spans_there_and_back(tree: &Tree, is_binary: bool) -> Vec<String> {
    let before = corpus(tree);
    let back = kept_by_spans(&corpus(&spans_file(&before, is_binary)));
    let before = kept_by_spans(&before);
    let only = |sign: &str, these: &[String], those: &[String]| {
        let lines = these.iter().filter(|line| !those.contains(line));
        lines.map(|line| format!("{sign} {line}")).collect::<Vec<_>>()
    };
    [only("-", &before, &back), only("+", &back, &before)].concat()
}

#[test]
fn every_fixture_comes_back_from_spans() {
    let mut differing = Vec::new();
    for (case, tree) in fixtures().into_iter().filter(|(case, _)| case != "unspool-flow/broken") {
        for is_binary in [false, true] {
            let differences = spans_there_and_back(&tree, is_binary);
            if !differences.is_empty() {
                differing.push(format!("{case}\n{}", differences.join("\n")));
            }
        }
    }
    assert!(differing.is_empty(), "{} differ\n{}", differing.len(), differing.join("\n"));
}

/// The `ThoughtFlow` files of a corpus: one per session in which something happened.
fn thoughtflow_files(tree: &Tree, corpus: &Corpus) -> Vec<Value> {
    let with_steps = corpus.flows().filter(|flow| !flow.steps.is_empty());
    let mut natives = Files { tree, batch: &corpus.batch };
    let written = with_steps.map(|flow| thoughtflow(&flow, &corpus.batch, &mut natives));
    written.map(|document| serde_json::to_value(document).unwrap()).collect()
}

/// The bytes of records in the files they were read from.
struct Files<'a> {
    tree: &'a Tree,
    batch: &'a Batch,
}

impl NativeBytes for Files<'_> {
    fn bytes(&mut self, record: RecordIx) -> Option<&[u8]> {
        let record = self.batch.records.get(record as usize)?;
        let name = self.batch.text.get(self.batch.streams[record.stream as usize].name);
        let start = usize::try_from(record.offset).ok()?;
        self.tree.files.get(name)?.get(start..start + record.len as usize)
    }

    fn readable(&mut self, _: RecordIx) -> Option<Cow<'_, str>> {
        None
    }
}

/// As it was told, a session comes back as it was: payloads, labels and dependencies as well.
#[test]
fn what_a_thoughtflow_source_told_is_written_as_it_told_it() {
    let steps_of = |document: &Value| -> Vec<(Value, Value)> {
        let runs = ["runs", "conversations"].into_iter().filter_map(|name| document[name].as_array());
        let id = |run: &Value| run.get("run_id").or(run.get("conversation_id")).or(run.get("id")).cloned();
        let of_run = |run: &Value| {
            let steps = run["steps"].as_array().into_iter().flatten().filter(|step| step.is_object());
            steps.map(|step| (id(run).unwrap_or_default(), step.clone())).collect::<Vec<_>>()
        };
        runs.flatten().flat_map(of_run).collect()
    };
    let mut compared = 0;
    for (case, tree) in fixtures().into_iter().filter(|(case, _)| case.starts_with("thoughtflow-json/")) {
        let written: Vec<(Value, Value)> =
            thoughtflow_files(&tree, &corpus(&tree)).iter().flat_map(steps_of).collect();
        for bytes in tree.files.values() {
            let Ok(document) = serde_json::from_slice::<Value>(bytes) else { continue };
            for (run, told) in steps_of(&document) {
                let found =
                    written.iter().find(|(of, step)| *of == run && step["step_id"] == told["step_id"]);
                let (_, found) = found.unwrap_or_else(|| panic!("{case}: {told}"));
                for field in ["label", "payload_started", "payload_completed"] {
                    let is_told = told.get(field).is_some_and(|value| !value.is_null());
                    assert!(!is_told || found[field] == told[field], "{case}: {field} of {told}: {found}");
                    compared += usize::from(is_told);
                }
            }
        }
    }
    assert!(compared >= 20, "{compared}");
}

/// What a `ThoughtFlow` file must carry of a session: messages, model calls and tool calls, and what failed.
fn kept_by_thoughtflow(corpus: &Corpus, session: &Value) -> Vec<String> {
    let document = export(corpus);
    let found = document["sessions"].as_array().unwrap().iter().find(|one| one["native_ids"][0] == *session);
    let steps = found.map(|session| session["steps"].as_array().unwrap().clone()).unwrap_or_default();
    let kinds = ["user_message", "model_call", "tool_call"];
    let mut kept: Vec<String> = Vec::new();
    for step in &steps {
        let kind = step["kind"].as_str().filter(|kind| kinds.contains(kind)).unwrap_or("other");
        let fields = ["tool_use_id", "started_at", "ended_at", "pending", "is_error", "error"];
        let model = if kind == "model_call" { &step["model"] } else { &Value::Null };
        kept.push(format!("{kind} {model} {:?}", fields.map(|field| step[field].to_string())));
    }
    kept.sort();
    kept
}

/// What differs when a `ThoughtFlow` file is read back.
fn thoughtflow_there_and_back(tree: &Tree) -> Option<String> {
    let before = corpus(tree);
    thoughtflow_files(tree, &before).into_iter().find_map(|there| {
        let session = &there["session_id"];
        let back = corpus(&file("session.thoughtflow.json", serde_json::to_vec(&there).unwrap()));
        let (had, has) = (kept_by_thoughtflow(&before, session), kept_by_thoughtflow(&back, session));
        difference("", &Value::from(had), &Value::from(has))
    })
}

#[test]
fn every_fixture_comes_back_from_thoughtflow() {
    let sound = fixtures().into_iter().filter(|(case, _)| case != "unspool-flow/broken");
    let found = sound.filter_map(|(case, tree)| {
        let differs = thoughtflow_there_and_back(&tree)?;
        Some(format!("{case}: {differs}"))
    });
    let differing: Vec<String> = found.collect();
    assert!(differing.is_empty(), "{}\n{}", differing.len(), differing.join("\n"));
}

proptest! {
    #![proptest_config(cases(24))]

    #[test]
    fn generated_sessions_come_back_from_spans(shape in shapes(), seed in 0_u64..1_000_000, is_hidden in any::<bool>(), is_binary in any::<bool>()) {
        let labelled = generate(shape, seed);
        let tree = if is_hidden { hide(&labelled.tree) } else { labelled.tree };
        prop_assert_eq!(spans_there_and_back(&tree, is_binary), Vec::<String>::new());
    }

    #[test]
    fn generated_sessions_come_back_from_thoughtflow(shape in shapes(), seed in 0_u64..1_000_000) {
        prop_assert_eq!(thoughtflow_there_and_back(&generate(shape, seed).tree), None);
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
            serde_json::to_string(&thoughtflow(&flow, batch, &mut Files { tree: &Tree::default(), batch }))
                .unwrap()
                .len(),
            TimelinePicture::of(&flow, batch, true).1.len(),
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
