//! A session as consolidated `ThoughtFlow` JSON: runs and their steps with what each depends on.
//!
//! In: a flow. Out: the document. Never here: tokens and agents, for which the format has no place.

use rustc_hash::{FxHashMap, FxHashSet};
use serde::Serialize;
use serde_json::{Map, Value};
use unspool_model::flow::NONE;
use unspool_model::{Batch, Edge, EdgeKind, Flow, IntentSource, Run, Status, Step, StepKind, Sym, Timestamp};

/// A session.
#[derive(Serialize)]
pub struct ThoughtFlow {
    session_id: String,
    started_at: Option<String>,
    ended_at: Option<String>,
    runs: Vec<RunDoc>,
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
}

#[derive(Serialize)]
struct StepDoc {
    step_id: String,
    label: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    depends_on: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    started_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_ms: Option<i64>,
    payload_started: Map<String, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    payload_completed: Option<Map<String, Value>>,
}

/// A session as its document. Steps of no run are those of a last run without an id.
pub fn thoughtflow(flow: &Flow, batch: &Batch) -> ThoughtFlow {
    let writer = Writer::new(flow, batch);
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
        });
    }
    writer.document(runs)
}

/// Some runs of a session as its document, by their place.
pub fn thoughtflow_of_runs(flow: &Flow, batch: &Batch, runs: &[usize]) -> ThoughtFlow {
    let writer = Writer::new(flow, batch);
    let chosen = (0..).zip(&flow.runs).filter(|(n, _)| runs.contains(&(*n as usize)));
    let runs = chosen.map(|(n, run)| writer.run(n, run)).collect();
    writer.document(runs)
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
}

impl<'f> Writer<'f> {
    fn new(flow: &'f Flow, batch: &'f Batch) -> Writer<'f> {
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
        Writer { flow, batch, session, by_run, needs }
    }

    fn document(&self, runs: Vec<RunDoc>) -> ThoughtFlow {
        ThoughtFlow {
            session_id: self.session.clone(),
            started_at: moment(self.flow.session.started),
            ended_at: moment(self.flow.session.ended),
            runs,
        }
    }

    fn text(&self, sym: Sym) -> Option<String> {
        sym.some().map(|sym| self.batch.text.get(sym).to_string())
    }

    fn run(&self, n: u32, run: &Run) -> RunDoc {
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
        }
    }

    /// The id a run has in its own source, which is unique in the session.
    fn run_id(&self, n: u32) -> String {
        let Some(run) = self.flow.runs.get(n as usize) else { return String::new() };
        self.own_part(run.native_id, &format!("{}/", self.session)).unwrap_or_else(|| run.id.show('u'))
    }

    fn step_id(&self, n: u32) -> String {
        let step = &self.flow.steps[n as usize];
        let place = format!("{}/{}/", self.session, self.run_id(step.run));
        self.own_part(step.native_id, &place).unwrap_or_else(|| step.id.show('s'))
    }

    fn own_part(&self, native: Sym, place: &str) -> Option<String> {
        self.batch.text.get(native).strip_prefix(place).filter(|own| !own.is_empty()).map(str::to_string)
    }

    /// The steps of a run by start; one of which no moment is known stays behind the one before it.
    fn steps(&self, run: u32) -> Vec<StepDoc> {
        let steps = self.by_run.get(&run).map_or(&[][..], Vec::as_slice);
        let mut last = Timestamp::NONE;
        let mut docs: Vec<(Timestamp, StepDoc)> = Vec::with_capacity(steps.len());
        for n in steps {
            let step = &self.flow.steps[*n];
            last = if step.started.is_some() { step.started } else { last };
            docs.push((last, self.step(*n, step)));
        }
        docs.sort_by_key(|(started, _)| *started);
        docs.into_iter().map(|(_, doc)| doc).collect()
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
        let label = match step.kind {
            StepKind::UserMessage => "user_message",
            StepKind::ModelCall => "assistant_message",
            StepKind::ToolCall => "tool_call",
            StepKind::Memory => "memory",
            StepKind::Generic => "generic",
            other => other.name(),
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
            label,
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
            payload_started: given,
            payload_completed: done.then_some(gave),
        }
    }
}
