//! A session as consolidated `ThoughtFlow` JSON: runs and their steps with what each depends on.
//!
//! In: a flow, and the bytes of its records. Out: the document; what a source of that format told is told as it did, labels and payloads included. Never
//! here: tokens and agents, for which the format has no place.

mod told;

use crate::graph::Graph;
use crate::search::NativeBytes;
use rustc_hash::{FxHashMap, FxHashSet};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::collections::BinaryHeap;
use told::{Fields, Raw, Said, Told, ToldStep, told_of, told_of_session};
use unspool_model::flow::NONE;
use unspool_model::{Batch, Edge, EdgeKind, Flow, IntentSource, Run, Status, Step, StepKind, Sym, Timestamp};

/// A session.
#[derive(Serialize)]
pub struct ThoughtFlow {
    session_id: String,
    started_at: Option<String>,
    ended_at: Option<String>,
    runs: Vec<RunDoc>,
    #[serde(flatten)]
    others: Fields,
}

#[derive(Serialize)]
struct RunDoc {
    run_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    channel: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    started_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_ms: Option<i64>,
    steps: Vec<StepDoc>,
    #[serde(flatten)]
    others: Fields,
}

/// What a step was given, or what came of it: as its source wrote it, or as the flow has it.
#[derive(Serialize)]
#[serde(untagged)]
enum Payload {
    Told(Raw),
    Made(Map<String, Value>),
}

#[derive(Serialize)]
struct StepDoc {
    step_id: String,
    label: Cow<'static, str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    depends_on: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    started_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_ms: Option<i64>,
    payload_started: Payload,
    #[serde(skip_serializing_if = "Option::is_none")]
    payload_completed: Option<Payload>,
    #[serde(flatten)]
    others: Fields,
}

/// A session as its document. Steps of no run are those of a last run without an id.
pub fn thoughtflow(flow: &Flow, batch: &Batch, natives: &mut dyn NativeBytes) -> ThoughtFlow {
    let mut writer = Writer::new(flow, batch, natives);
    let mut runs: Vec<RunDoc> = (0..).zip(&flow.runs).map(|(n, run)| writer.run(n, run)).collect();
    let loose = writer.steps(NONE);
    if !loose.is_empty() {
        let (run_id, channel, status) = (String::new(), None, None);
        runs.push(RunDoc {
            run_id,
            channel,
            status,
            started_at: None,
            ended_at: None,
            duration_ms: None,
            steps: loose,
            others: Fields::new(),
        });
    }
    writer.document(runs)
}

/// Some runs of a session as its document, by their place.
pub fn thoughtflow_of_runs(
    flow: &Flow,
    batch: &Batch,
    natives: &mut dyn NativeBytes,
    runs: &[usize],
) -> ThoughtFlow {
    let mut writer = Writer::new(flow, batch, natives);
    let chosen = (0..).zip(&flow.runs).filter(|(n, _)| runs.contains(&(*n as usize)));
    let runs = chosen.map(|(n, run)| writer.run(n, run)).collect();
    writer.document(runs)
}

/// Tells in a graph of steps what they were given and what came of them, where a source told that in payloads: its nodes are about their first words otherwise.
pub fn tell_payloads(flow: &Flow, batch: &Batch, natives: &mut dyn NativeBytes, graph: &mut Graph) {
    let said = Said::of(batch, flow, natives);
    for node in &mut graph.nodes {
        let [step] = node.steps.as_slice() else { continue };
        let Some(step) = flow.steps.get(*step as usize) else { continue };
        let told = told_of(batch, flow, step, &said);
        let payload = |word: &str, raw: Option<&Raw>| match raw.map(|raw| raw.get().trim()) {
            None | Some("" | "{}" | "null") => None,
            Some(raw) => Some(format!("{word}: {raw}")),
        };
        let given = told.iter().filter_map(|one| payload("input", one.given.as_ref()));
        let gave = told.iter().filter_map(|one| payload("output", one.gave.as_ref()));
        let mut lines: Vec<String> = given.chain(gave).collect();
        // What was said comes first, and is not said again.
        if !matches!(step.kind, StepKind::ToolCall) && !node.detail.is_empty() {
            lines.insert(0, std::mem::take(&mut node.detail));
        }
        if !lines.is_empty() {
            node.detail = lines.join("\n");
        }
    }
}

fn moment(at: Timestamp) -> Option<String> {
    at.is_some().then(|| at.to_string())
}

struct Writer<'f> {
    flow: &'f Flow,
    batch: &'f Batch,
    session: String,
    by_run: FxHashMap<u32, Vec<usize>>,
    needs: FxHashMap<u32, Vec<u32>>,
    told: Told,
    /// What a source of this very format told of steps.
    told_steps: FxHashMap<u32, Vec<ToldStep>>,
}

impl<'f> Writer<'f> {
    fn new(flow: &'f Flow, batch: &'f Batch, natives: &mut dyn NativeBytes) -> Writer<'f> {
        let native = flow.session.native_ids.first().map_or("", |id| batch.text.get(*id));
        let session = if native.is_empty() { flow.session.id.show('x') } else { native.to_string() };
        let mut by_run: FxHashMap<u32, Vec<usize>> = FxHashMap::default();
        for (n, step) in flow.steps.iter().enumerate() {
            by_run.entry(step.run).or_default().push(n);
        }
        // Where the source states dependencies, they are all; else whatever led to a step is one.
        let stated = flow.edges.iter().any(|edge| edge.kind == EdgeKind::DependsOn);
        let counts = |edge: &&Edge| match edge.kind {
            EdgeKind::DependsOn => true,
            EdgeKind::Sequence | EdgeKind::SpanParent => false,
            _ => !stated,
        };
        let mut needs: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
        let mut known: FxHashSet<(u32, u32)> = FxHashSet::default();
        for edge in flow.edges.iter().filter(counts) {
            let list = needs.entry(edge.to).or_default();
            let together = flow.steps[edge.from as usize].run == flow.steps[edge.to as usize].run;
            if together && known.insert((edge.from, edge.to)) {
                list.push(edge.from);
            }
        }
        let told = told_of_session(batch, flow, natives);
        let said = Said::of(batch, flow, natives);
        let told_steps = (0..).zip(&flow.steps).map(|(n, step)| (n, told_of(batch, flow, step, &said)));
        let told_steps = told_steps.filter(|(_, told)| !told.is_empty()).collect();
        Writer { flow, batch, session, by_run, needs, told, told_steps }
    }

    fn document(&mut self, runs: Vec<RunDoc>) -> ThoughtFlow {
        let stated = |told: Timestamp, known: Timestamp| moment(if told.is_some() { told } else { known });
        ThoughtFlow {
            session_id: self.session.clone(),
            started_at: stated(self.told.started, self.flow.session.started),
            ended_at: stated(self.told.ended, self.flow.session.ended),
            runs,
            others: std::mem::take(&mut self.told.others.fields),
        }
    }

    fn text(&self, sym: Sym) -> Option<String> {
        sym.some().map(|sym| self.batch.text.get(sym).to_string())
    }

    fn run(&mut self, n: u32, run: &Run) -> RunDoc {
        let ended = matches!(run.status, Status::Completed | Status::Failed) || !run.stated.is_empty();
        let status = self.text(run.stated).or_else(|| ended.then(|| run.status.name().to_string()));
        RunDoc {
            run_id: self.run_id(n),
            channel: self.text(run.channel),
            status,
            started_at: moment(run.started),
            ended_at: moment(run.ended).filter(|_| ended),
            duration_ms: run.ended.ms_since(run.started).filter(|_| ended),
            steps: self.steps(n),
            others: self.told.runs.remove(&run.native_id).unwrap_or_default().fields,
        }
    }

    /// The id a run has in its own source, which is unique in the session.
    fn run_id(&self, n: u32) -> String {
        let Some(run) = self.flow.runs.get(n as usize) else { return String::new() };
        self.own_part(run.native_id, &format!("{}/", self.session)).unwrap_or_else(|| run.id.show('u'))
    }

    fn step_id(&self, n: u32) -> String {
        let told = self.told_steps.get(&n).and_then(|told| told.first());
        if let Some(told) = told.filter(|told| !told.id.is_empty()) {
            return told.id.clone();
        }
        let step = &self.flow.steps[n as usize];
        let place = format!("{}/{}/", self.session, self.run_id(step.run));
        self.own_part(step.native_id, &place).unwrap_or_else(|| step.id.show('s'))
    }

    fn own_part(&self, native: Sym, place: &str) -> Option<String> {
        self.batch.text.get(native).strip_prefix(place).filter(|own| !own.is_empty()).map(str::to_string)
    }

    /// The steps of a run by start; one of which no moment is known stays behind the one before it.
    fn steps(&mut self, run: u32) -> Vec<StepDoc> {
        let mut last = Timestamp::NONE;
        let by_start =
            self.by_run.remove(&run).unwrap_or_default().into_iter().enumerate().map(|(place, n)| {
                let started = self.flow.steps[n].started;
                last = if started.is_some() { started } else { last };
                (last, place, n)
            });
        let mut docs = Vec::new();
        // A heap is less code than a sort, and every report carries it.
        for (_, _, n) in by_start.collect::<BinaryHeap<_>>().into_sorted_vec() {
            let step = &self.flow.steps[n];
            match u32::try_from(n).ok().and_then(|n| self.told_steps.get(&n)) {
                Some(told) => docs
                    .extend(told.iter().enumerate().map(|(part, told)| self.told_step(n, step, part, told))),
                None => docs.push(self.step(n, step)),
            }
        }
        docs
    }

    /// A step as its source told it, under one of the ids it did.
    fn told_step(&self, n: usize, step: &Step, part: usize, told: &ToldStep) -> StepDoc {
        let index = u32::try_from(n).unwrap_or(NONE);
        let mut depends_on = told.needs.clone();
        if part == 0 {
            for need in self.needs.get(&index).into_iter().flatten() {
                let ids = self.told_steps.get(need).into_iter().flatten().map(|told| &told.id);
                if !ids.into_iter().any(|id| told.needs.contains(id)) {
                    depends_on.push(self.step_id(*need));
                }
            }
        }
        let label = if told.label.is_empty() { label_of(step).into() } else { told.label.clone().into() };
        let measured = told.ended.ms_since(told.started);
        let known = step.duration_ms.get().filter(|_| part == 0);
        let raw = |raw: &Option<Raw>| raw.as_deref().map(|raw: &RawValue| Payload::Told(raw.to_owned()));
        let nothing = || Payload::Made(Map::new());
        // A message is complete when it is said: one moment is all that is known of it.
        let is_moment = !told.has_end && !step.pending && step.kind == StepKind::UserMessage;
        let has_end = told.has_end || is_moment;
        let ended = if is_moment { told.started } else { told.ended };
        StepDoc {
            step_id: if told.id.is_empty() { self.step_id(index) } else { told.id.clone() },
            label,
            depends_on,
            started_at: moment(told.started).filter(|_| !is_moment),
            ended_at: moment(ended).filter(|_| has_end),
            duration_ms: told.duration_ms.or(measured).or(known).filter(|_| has_end),
            payload_started: raw(&told.given).unwrap_or_else(nothing),
            payload_completed: has_end.then(|| raw(&told.gave).unwrap_or_else(nothing)),
            others: told.others.fields.clone(),
        }
    }

    fn step(&self, n: usize, step: &Step) -> StepDoc {
        let index = u32::try_from(n).unwrap_or(NONE);
        let mut given = Map::new();
        let mut gave = Map::new();
        let put = |payload: &mut Map<String, Value>, key: &str, value: Option<String>| {
            if let Some(value) = value {
                payload.insert(key.into(), value.into());
            }
        };
        match step.kind {
            StepKind::UserMessage => put(&mut given, "text", self.text(step.preview)),
            StepKind::ModelCall => {
                put(&mut given, "model", self.text(step.model));
                put(&mut gave, "text", self.text(step.preview));
            }
            StepKind::ToolCall => {
                put(&mut given, "name", self.text(step.name));
                put(&mut given, "call_id", self.text(step.tool_use_id));
                let about = if step.intent_source == IntentSource::None { step.preview } else { step.intent };
                put(&mut given, "args", self.text(about));
            }
            _ => {
                put(&mut given, "name", self.text(step.name));
                put(&mut given, "text", self.text(step.preview));
            }
        }
        if step.is_error {
            gave.insert("ok".into(), false.into());
            put(&mut gave, "error", self.text(self.flow.error_of(n)));
        }
        let done = !step.pending;
        // One moment is all that is known of a message: written twice, it would be a step that took no time.
        let is_message = step.kind == StepKind::UserMessage && step.duration_ms.get().is_none();
        let is_moment = is_message && done && step.started == step.ended;
        StepDoc {
            step_id: self.step_id(index),
            label: label_of(step).into(),
            depends_on: self
                .needs
                .get(&index)
                .into_iter()
                .flatten()
                .map(|need| self.step_id(*need))
                .collect(),
            // What is not written anywhere follows from the end and the length again.
            started_at: moment(step.started).filter(|_| !(step.start_estimated && done || is_moment)),
            ended_at: moment(step.ended).filter(|_| done),
            duration_ms: step.duration_ms.get().filter(|_| done),
            payload_started: Payload::Made(given),
            payload_completed: done.then_some(Payload::Made(gave)),
            others: Fields::new(),
        }
    }
}

fn label_of(step: &Step) -> &'static str {
    match step.kind {
        StepKind::UserMessage => "user_message",
        StepKind::ModelCall => "assistant_message",
        StepKind::ToolCall => "tool_call",
        StepKind::Memory => "memory",
        StepKind::Generic => "generic",
        other => other.name(),
    }
}
