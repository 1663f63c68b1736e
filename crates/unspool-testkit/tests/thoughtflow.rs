//! The log and the consolidated file of a made-up `ThoughtFlow` session tell the same, alone and together.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "tests may stop")]

use proptest::prelude::*;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::BTreeSet;
use unspool_formats::{Decoder, Detail, best};
use unspool_link::{Corpus, Table};
use unspool_model::{Batch, EdgeKind, RecordIx, Timestamp};
use unspool_view::Prices;
use unspool_view::export::thoughtflow::{tell_payloads, thoughtflow};
use unspool_view::graph::{View, graph};
use unspool_view::search::NativeBytes;

#[derive(Clone, Debug)]
struct Step {
    label: &'static str,
    ended: bool,
    failed: bool,
    /// Which of the steps before it, the next one included, it depends on.
    needs: Vec<prop::sample::Index>,
    as_text: bool,
}

#[derive(Clone, Debug)]
struct Run {
    steps: Vec<Step>,
    status: Option<&'static str>,
}

const LABELS: [&str; 6] =
    ["user_message", "assistant_call", "assistant_message", "tool_call", "memory.write", "policy.snapshot"];
const STATUSES: [Option<&str>; 5] =
    [None, Some("completed"), Some("aborted"), Some("canceled"), Some("error")];

fn runs() -> impl Strategy<Value = Vec<Run>> {
    let step = (
        prop::sample::select(&LABELS[..]),
        any::<bool>(),
        prop::bool::weighted(0.2),
        prop::collection::vec(any::<prop::sample::Index>(), 0..3),
        any::<bool>(),
    );
    let step =
        step.prop_map(|(label, ended, failed, needs, as_text)| Step { label, ended, failed, needs, as_text });
    let run = (prop::collection::vec(step, 0..6), prop::sample::select(&STATUSES[..]));
    prop::collection::vec(run.prop_map(|(steps, status)| Run { steps, status }), 1..4)
}

/// The steps a step depends on; a circle now and then, and a name nobody bears.
fn needs(step: &Step, n: usize) -> Vec<String> {
    let found: BTreeSet<usize> = step.needs.iter().map(|index| index.index(n + 2)).collect();
    found.into_iter().map(|n| format!("s{n}")).collect()
}

fn depends_on(step: &Step, n: usize) -> Value {
    match needs(step, n).as_slice() {
        [only] if step.as_text => json!(only),
        all => json!(all),
    }
}

/// Milliseconds since the epoch at which something of the session happened.
fn at(run: usize, step: usize, late: i64) -> i64 {
    let ms = i64::try_from(run * 60_000 + step * 1000).unwrap() + late;
    1_767_348_000_000 + ms
}

fn outcome(step: &Step) -> Value {
    if step.failed { json!({"error": "no"}) } else { json!({"ok": true}) }
}

fn log(runs: &[Run]) -> String {
    let mut lines = vec![json!({"type": "session.created", "session_id": "sess_p"})];
    for (r, run) in runs.iter().enumerate() {
        let id = format!("r{r}");
        lines.push(json!({"type": "run.started", "run_id": id, "started_at": at(r, 0, 0)}));
        for (n, step) in run.steps.iter().enumerate() {
            lines.push(json!({"type": "step.started", "run_id": id, "step_id": format!("s{n}"), "label": step.label,
                "depends_on": depends_on(step, n), "payload": {"name": "x", "text": "hi"}, "timestamp": at(r, n, 10)}));
            if step.ended {
                lines.push(json!({"type": "step.completed", "run_id": id, "step_id": format!("s{n}"),
                    "payload": outcome(step), "timestamp": at(r, n, 500)}));
            }
        }
        if let Some(status) = run.status {
            lines.push(
                json!({"type": "run.completed", "run_id": id, "status": status, "ended_at": at(r, 50, 0)}),
            );
        }
    }
    lines.iter().map(Value::to_string).collect::<Vec<_>>().join("\n")
}

fn consolidated(runs: &[Run]) -> String {
    let step = |r: usize, n: usize, step: &Step| {
        let mut one = json!({"step_id": format!("s{n}"), "label": step.label, "depends_on": depends_on(step, n),
            "started_at": Timestamp::from_ms(at(r, n, 10)).to_string(), "payload_started": {"name": "x", "text": "hi"}});
        if step.ended {
            one["ended_at"] = json!(Timestamp::from_ms(at(r, n, 500)).to_string());
            one["payload_completed"] = outcome(step);
        }
        one
    };
    let run = |r: usize, run: &Run| {
        let steps: Vec<Value> = run.steps.iter().enumerate().map(|(n, one)| step(r, n, one)).collect();
        let mut one = json!({"conversation_id": format!("r{r}"), "started_at": at(r, 0, 0), "steps": steps});
        if let Some(status) = run.status {
            one["status"] = json!(status);
            one["ended_at"] = json!(at(r, 50, 0));
        }
        one
    };
    let all: Vec<Value> = runs.iter().enumerate().map(|(r, one)| run(r, one)).collect();
    json!({"session_id": "sess_p", "conversations": all}).to_string()
}

fn corpus(files: &[(&str, &str)]) -> Corpus {
    let mut batch = Batch::default();
    for (name, text) in files {
        let (format, sniff) = best(name, text.as_bytes()).expect("made-up files are recognised");
        let mut decoder = Decoder::new(&mut batch, format, sniff, name, Detail::Full);
        decoder.push(text.as_bytes());
        decoder.finish();
    }
    let corpus = Corpus::new(batch, Table::default(), Timestamp::NONE);
    assert!(corpus.len() <= 1, "one session");
    corpus
}

/// Gives bytes back as whoever has to read a stream whole for the first of them.
struct Streams<'a> {
    batch: &'a Batch,
    files: &'a [(&'a str, &'a str)],
    stream: Option<u32>,
    /// How often a stream was read.
    reads: usize,
}

impl NativeBytes for Streams<'_> {
    fn bytes(&mut self, record: RecordIx) -> Option<&[u8]> {
        let row = self.batch.records[record as usize];
        self.reads += usize::from(self.stream.replace(row.stream) != Some(row.stream));
        let name = self.batch.text.get(self.batch.streams[row.stream as usize].name);
        let (_, text) = self.files.iter().find(|(file, _)| *file == name)?;
        let start = usize::try_from(row.offset).ok()?;
        text.as_bytes().get(start..start + row.len as usize)
    }

    fn readable(&mut self, record: RecordIx) -> Option<Cow<'_, str>> {
        self.bytes(record).map(String::from_utf8_lossy)
    }
}

#[test]
fn each_stream_is_read_at_once() {
    let step = Step { label: "tool_call", ended: true, failed: false, needs: Vec::new(), as_text: false };
    let runs = vec![Run { steps: vec![step; 50], status: None }; 2];
    let (log, file) = (log(&runs), consolidated(&runs));
    let files = [("sess_p.jsonl", log.as_str()), ("sess_p.json", file.as_str())];
    let corpus = corpus(&files);
    let (flow, batch) = (corpus.flow(0), &corpus.batch);
    let mut natives = Streams { batch, files: &files, stream: None, reads: 0 };
    let document = serde_json::to_value(thoughtflow(&flow, batch, &mut natives)).unwrap();
    assert_eq!(document["runs"][1]["steps"][49]["payload_completed"], json!({"ok": true}), "{document}");
    // The log is read for the session and its runs, and both for the steps.
    assert!(natives.reads <= 3, "{}", natives.reads);
    let mut natives = Streams { batch, files: &files, stream: None, reads: 0 };
    let mut drawn = graph(&flow, batch, &Prices::default(), &View::default(), &|_| true);
    tell_payloads(&flow, batch, &mut natives, &mut drawn);
    assert!(drawn.nodes.iter().any(|node| node.detail.contains("output: {\"ok\":true}")));
    assert_eq!(natives.reads, 2);
}

fn document(files: &[(&str, &str)]) -> Value {
    let corpus = corpus(files);
    let (flow, batch) = (corpus.flow(0), &corpus.batch);
    let mut natives = Streams { batch, files, stream: None, reads: 0 };
    serde_json::to_value(thoughtflow(&flow, batch, &mut natives)).unwrap()
}

fn lines(events: &[Value]) -> String {
    events.iter().map(Value::to_string).collect::<Vec<_>>().join("\n")
}

/// The fields of a document that are called so, or so with something behind it.
fn named<'a>(document: &'a Value, name: &str) -> Vec<(&'a str, &'a Value)> {
    let fields = document.as_object().unwrap().iter().map(|(key, value)| (key.as_str(), value));
    fields.filter(|(key, _)| key.starts_with(name)).collect()
}

#[test]
fn whatever_a_sender_adds_is_kept_under_a_name_of_its_own() {
    let run = |kind: &str, tag: &str| json!({"type": kind, "session_id": "sess_p", "run_id": "r", "tag": tag, "label": "l"});
    let step = |kind: &str, second: u8, more: Value| {
        let at = format!("2026-01-02T10:00:0{second}Z");
        let mut event =
            json!({"type": kind, "session_id": "sess_p", "run_id": "r", "step_id": "s", "timestamp": at});
        event.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        event
    };
    let session = |kind: &str, tag: &str, status: &str| json!({"type": kind, "session_id": "sess_p", "tag": tag, "status": status, "label": "l", "payload": [1]});
    let events = [
        session("session.created", "a", "new"),
        session("session.created", "b", "new"),
        session("session.ended", "c", "done"),
        // The end is told first.
        step("step.completed", 5, json!({"tag": 3, "tag_completed": "mine", "channel": "c"})),
        run("run.started", "a"),
        step("step.started", 1, json!({"label": "generic", "tag": 1})),
        step("step.started", 2, json!({"label": "generic", "tag": 2})),
        step("step.completed", 6, json!({"tag": 4})),
        run("run.completed", "b"),
        run("run.completed", "c"),
    ];
    let log = lines(&events);
    let found = document(&[("sess_p.jsonl", &log)]);
    let text = |text: &str| Value::from(text);
    let (a, b, c) = (text("a"), text("b"), text("c"));
    assert_eq!(named(&found, "tag"), [("tag", &a), ("tag_2", &b), ("tag_completed", &c)]);
    assert_eq!(named(&found, "status"), [("status", &text("new")), ("status_completed", &text("done"))]);
    assert_eq!((named(&found, "label"), &found["payload"]), (vec![("label", &text("l"))], &json!([1])));
    let run = &found["runs"][0];
    assert_eq!(named(run, "tag"), [("tag", &a), ("tag_completed", &b), ("tag_completed_2", &c)]);
    assert_eq!((named(run, "status"), &run["label"]), (vec![("status", &text("completed"))], &text("l")));
    let step = &run["steps"][0];
    let tags = [
        ("tag", &json!(1)),
        ("tag_2", &json!(2)),
        ("tag_completed", &text("mine")),
        ("tag_completed_2", &json!(3)),
        ("tag_completed_3", &json!(4)),
    ];
    assert_eq!((named(step, "tag"), &step["channel"]), (tags.to_vec(), &c), "{step}");
    // Said again, and with other white space, it is the same.
    let file = serde_json::to_string_pretty(&found).unwrap();
    for files in [
        [("a/sess_p.jsonl", &log), ("b/sess_p.jsonl", &log)],
        [("a/sess_p.jsonl", &log), ("b/sess_p.json", &file)],
        [("a/sess_p.json", &file), ("b/sess_p.jsonl", &log)],
    ] {
        let again = document(&files.map(|(name, text)| (name, text.as_str())));
        assert_eq!(again, found, "{}", files[0].0);
    }
}

#[test]
fn thousands_of_things_under_one_name_are_kept_in_no_time() {
    let tagged = |n: usize| json!({"type": "activity.checkpoint", "session_id": "sess_p", "tag": n});
    let begin = json!({"type": "step.started", "session_id": "sess_p", "run_id": "r", "step_id": "s", "label": "generic"});
    let events: Vec<Value> = (1..=20_000).map(tagged).chain([begin]).collect();
    let found = document(&[("sess_p.jsonl", &lines(&events))]);
    assert_eq!((named(&found, "tag").len(), &found["tag_20000"]), (20_000, &json!(20_000)));
}

/// Everything a flow says that is not about who said so.
fn told(files: &[(&str, &str)]) -> Vec<String> {
    let corpus = corpus(files);
    let flow = corpus.flow(0);
    let text = |sym| corpus.batch.text.get(sym);
    let mut said = Vec::new();
    for step in &flow.steps {
        let run = &flow.runs[step.run as usize];
        said.push(format!(
            "{} {} {} {:?}–{:?} {:?} of {} pending {} failed {} under {}",
            text(step.native_id),
            step.kind.name(),
            text(step.name),
            step.started,
            step.ended,
            step.duration_ms.get(),
            text(run.native_id),
            step.pending,
            step.is_error,
            flow.steps.get(step.parent as usize).map_or("", |parent| text(parent.native_id)),
        ));
    }
    for run in &flow.runs {
        let trigger = text(flow.steps[run.trigger as usize].native_id);
        let (started, ended, status) = (run.started, run.ended, run.status);
        said.push(format!(
            "{} {status:?} {} {started:?}–{ended:?} by {trigger}",
            text(run.native_id),
            text(run.stated)
        ));
    }
    let name = |step: u32| text(flow.steps[step as usize].native_id);
    for edge in flow.edges.iter().filter(|edge| edge.kind == EdgeKind::DependsOn) {
        said.push(format!("{} → {}", name(edge.from), name(edge.to)));
    }
    said.extend(flow.issues.iter().map(|issue| format!("{} {}", issue.code.name(), text(issue.detail))));
    said.extend(flow.agents.iter().map(|agent| agent.status.name().to_string()));
    said
}

proptest! {
    #[test]
    fn the_log_and_the_file_tell_the_same(runs in runs()) {
        prop_assume!(runs.iter().any(|run| !run.steps.is_empty()));
        let (log, file) = (log(&runs), consolidated(&runs));
        let (log, file) = (("a/sess_p.jsonl", log.as_str()), ("b/sess_p.json", file.as_str()));
        let by_log = told(&[log]);
        prop_assert_eq!(&by_log, &told(&[file]));
        prop_assert_eq!(&by_log, &told(&[log, file]));
        prop_assert_eq!(&by_log, &told(&[file, log, file]));
        let steps: usize = runs.iter().map(|run| run.steps.len()).sum();
        let edges: usize = by_log.iter().filter(|line| line.contains('→')).count();
        let stated = runs.iter().flat_map(|run| run.steps.iter().enumerate().map(move |(n, step)| (run, n, step)));
        let expected: usize = stated
            .map(|(run, n, step)| {
                let known = |name: &String| (0..run.steps.len()).any(|m| m != n && *name == format!("s{m}"));
                needs(step, n).iter().filter(|name| known(name)).count()
            })
            .sum();
        prop_assert_eq!(edges, expected, "every dependency on a step that is there is an edge");
        prop_assert_eq!(by_log.iter().filter(|line| line.contains(" pending ")).count(), steps);
    }
}
