//! A trace for Perfetto and `chrome://tracing`: sessions are processes, agents are threads, steps are complete events, and
//! edges are flow arrows.
//!
//! In: flows. Out: JSON of the Trace Event Format, events by time. Never here: how it is drawn. Steps of an agent that
//! overlap lie on threads of their own, because complete events of one thread must not.

use super::bars::{Bar, Bars};
use crate::labels;
use serde::Serialize;
use serde_json::{Map, Value, json};
use unspool_model::{Batch, Flow, Step};

/// The whole file.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ChromeTrace {
    display_time_unit: &'static str,
    other_data: OtherData,
    trace_events: Vec<TraceEvent>,
}

#[derive(Serialize, Default)]
struct OtherData {
    tool: &'static str,
    /// Steps of which no moment is known.
    steps_left_out: usize,
    /// Edges that lead back in time or to steps that are left out.
    edges_left_out: usize,
}

/// One event, as the format has it.
#[derive(Serialize)]
struct TraceEvent {
    name: String,
    cat: &'static str,
    ph: &'static str,
    ts: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    dur: Option<i64>,
    pid: usize,
    tid: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<usize>,
    /// The end of an arrow belongs to the slice it lies in, not to the next one.
    #[serde(skip_serializing_if = "Option::is_none")]
    bp: Option<&'static str>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    args: Map<String, Value>,
}

/// Collects sessions into one trace.
#[derive(Default)]
pub struct Traces {
    other: OtherData,
    names: Vec<TraceEvent>,
    events: Vec<TraceEvent>,
    sessions: usize,
    arrows: usize,
}

impl Traces {
    /// Adds a session.
    pub fn add(&mut self, flow: &Flow, batch: &Batch) {
        self.sessions += 1;
        let pid = self.sessions;
        let bars = Bars::of(flow);
        self.other.steps_left_out += bars.left_out;
        self.name("process_name", pid, 0, json!({"name": labels::session_title(flow, batch)}));
        for (n, track) in bars.tracks.iter().enumerate() {
            let name = flow.agents.get(track.agent).map_or_else(String::new, |agent| {
                let name = labels::agent_name(batch, agent);
                format!("{name} {}", labels::agent_detail(batch, agent)).trim().to_string()
            });
            let name = if track.n == 0 { name } else { format!("{name} ({})", track.n + 1) };
            self.name("thread_name", pid, n + 1, json!({"name": name.trim()}));
            self.name("thread_sort_index", pid, n + 1, json!({"sort_index": n}));
        }
        let mut of_step: Vec<Option<Bar>> = vec![None; flow.steps.len()];
        for bar in &bars.list {
            of_step[bar.step] = Some(*bar);
            let step = &flow.steps[bar.step];
            self.events.push(TraceEvent {
                name: labels::step_name(batch, step),
                cat: step.kind.name(),
                ph: "X",
                ts: bar.start_us,
                dur: Some(bar.end_us - bar.start_us),
                pid,
                tid: bar.track + 1,
                id: None,
                bp: None,
                args: args(flow, batch, bar.step, step),
            });
        }
        for edge in &flow.edges {
            match (of_step[edge.from as usize], of_step[edge.to as usize]) {
                (Some(from), Some(to)) if from.start_us < to.end_us => {
                    self.arrow(pid, edge.kind.name(), from, to, edge.rule.name(), edge.confidence.as_f64());
                }
                _ => self.other.edges_left_out += 1,
            }
        }
    }

    fn name(&mut self, what: &str, pid: usize, tid: usize, args: Value) {
        let args = if let Value::Object(args) = args { args } else { Map::new() };
        let (cat, ph) = ("__metadata", "M");
        self.names.push(TraceEvent {
            name: what.into(),
            cat,
            ph,
            ts: 0,
            dur: None,
            pid,
            tid,
            id: None,
            bp: None,
            args,
        });
    }

    /// An arrow begins inside one bar and ends inside the other, not before it began.
    fn arrow(&mut self, pid: usize, kind: &'static str, from: Bar, to: Bar, rule: &str, confidence: f64) {
        self.arrows += 1;
        let begins = to.start_us.clamp(from.start_us, from.end_us - 1);
        let ends = to.start_us.max(begins);
        let mut args = Map::new();
        args.insert("rule".into(), rule.into());
        args.insert("confidence".into(), confidence.into());
        for (ph, ts, bar, bp) in [("s", begins, from, None), ("f", ends, to, Some("e"))] {
            let (tid, id, args) = (bar.track + 1, Some(self.arrows), args.clone());
            self.events.push(TraceEvent {
                name: kind.into(),
                cat: "edge",
                ph,
                ts,
                dur: None,
                pid,
                tid,
                id,
                bp,
                args,
            });
        }
    }

    /// Everything, by time.
    pub fn finish(mut self) -> ChromeTrace {
        self.events.sort_by_key(|event| event.ts);
        self.names.append(&mut self.events);
        self.other.tool = "unspool";
        ChromeTrace { display_time_unit: "ms", other_data: self.other, trace_events: self.names }
    }
}

fn args(flow: &Flow, batch: &Batch, n: usize, step: &Step) -> Map<String, Value> {
    let mut args = Map::new();
    let mut text = |key: &str, value: &str| {
        if !value.is_empty() {
            args.insert(key.into(), value.into());
        }
    };
    text("step", &step.id.show('s'));
    text("about", labels::step_detail(batch, step));
    text("tool_use_id", batch.text.get(step.tool_use_id));
    text("model", batch.text.get(step.model));
    text("error", batch.text.get(flow.error_of(n)));
    for (key, set) in [
        ("is_error", step.is_error),
        ("pending", step.pending),
        ("started_at_estimated", step.start_estimated),
    ] {
        if set {
            args.insert(key.into(), true.into());
        }
    }
    if let Some(usage) = flow.usage_of(step) {
        for (key, count) in [
            ("input_tokens", usage.input),
            ("cache_read_tokens", usage.cache_read),
            ("cache_write_tokens", usage.cache_write),
            ("output_tokens", usage.output),
            ("reasoning_tokens", usage.reasoning),
        ] {
            args.insert(key.into(), count.into());
        }
    }
    args
}
