//! Processes as a document: the runs of many sessions, gathered by what recorded them.
//!
//! In: flows, one by one. Out: a process for all runs of one sort of source, with names in place of positions. Never here: how a process is
//! found, and where a run deviates, which `process` says.

use super::{Deviation, Grouping, Options, Process, RunPattern, items, process, workflow};
use crate::prices::Prices;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use unspool_model::{Batch, Flow, Run, Status};

/// Processes behind some sessions.
#[derive(Serialize, JsonSchema)]
pub struct ProcessDoc {
    /// Always `unspool.process/1`.
    pub schema: &'static str,
    /// A process for all runs of sessions that the same formats recorded; most runs first.
    pub processes: Vec<OneProcessDoc>,
}

/// The process behind the runs of some sessions.
#[derive(Serialize, JsonSchema)]
pub struct OneProcessDoc {
    /// The formats that recorded the sessions, joined by `+`.
    pub source: String,
    /// Sessions.
    pub sessions: u64,
    /// Their runs.
    pub runs: u64,
    /// Runs that failed.
    pub failed: u64,
    /// As a part of all runs.
    pub failure_rate: f64,
    /// What happened in them; begin first, end last, else by how many runs have it.
    pub nodes: Vec<ProcessNodeDoc>,
    /// What followed what, by how many runs have it.
    pub edges: Vec<ProcessEdgeDoc>,
    /// Runs with the same nodes and edges, most runs first.
    pub variants: Vec<VariantDoc>,
    /// Runs that go their own way; null when there are fewer than five runs, too few to tell.
    pub deviations: Option<Vec<DeviationDoc>>,
}

/// Steps of one name in one place, over all runs.
#[derive(Serialize, JsonSchema)]
pub struct ProcessNodeDoc {
    /// The path of names to it.
    pub id: String,
    /// What people see.
    pub name: String,
    /// What it does: `llm`, `tool`, `agent`, `start`, `end`, …
    pub node_type: &'static str,
    /// The node it lies in, for what happens inside an agent.
    pub parent: Option<String>,
    /// Runs that have it.
    pub runs: u64,
    /// As a part of all runs.
    pub run_share: f64,
    /// How many of those runs failed.
    pub failed_runs: u64,
    /// How often it happened.
    pub count: u64,
    /// How often it failed itself.
    pub errors: u64,
    /// As a part of how often it happened.
    pub failure_rate: f64,
    /// Milliseconds it took in all runs, as far as known.
    pub total_ms: i64,
    /// Half of the runs that know a time spent at most this many milliseconds on it; null when none does.
    pub median_ms: Option<i64>,
    /// Tokens it took in all runs; null when no source says how many.
    pub tokens: Option<u64>,
}

/// What followed what.
#[derive(Serialize, JsonSchema)]
pub struct ProcessEdgeDoc {
    /// The node that came first.
    pub source: String,
    /// The node that followed.
    pub target: String,
    /// Runs that have it.
    pub runs: u64,
    /// As a part of all runs.
    pub run_share: f64,
    /// How often it happened.
    pub count: u64,
    /// It leads into an agent rather than along it.
    pub enters: bool,
}

/// Runs with one and the same pattern.
#[derive(Serialize, JsonSchema)]
pub struct VariantDoc {
    /// As a part of all runs.
    pub share: f64,
    /// How many of its runs failed.
    pub failed: u64,
    /// As a part of its runs.
    pub failure_rate: f64,
    /// Half of its runs took at most this many milliseconds; null when nobody says.
    pub median_ms: Option<i64>,
    /// Its nodes.
    pub node_ids: Vec<String>,
    /// Its runs, in order.
    pub run_ids: Vec<String>,
}

/// Where a run goes its own way.
#[derive(Serialize, JsonSchema)]
pub struct DeviationDoc {
    /// The run.
    pub run_id: String,
    /// Nodes it has and fewer than a fifth of the runs have.
    pub rare_nodes: Vec<String>,
    /// What followed what in it and in fewer than a fifth of the runs.
    pub rare_edges: Vec<TransitionDoc>,
    /// Nodes that four fifths of the runs have and it has not.
    pub missing_nodes: Vec<String>,
    /// What follows what in four fifths of the runs and not in it.
    pub missing_edges: Vec<TransitionDoc>,
}

/// One node after another.
#[derive(Serialize, JsonSchema)]
pub struct TransitionDoc {
    /// The node that came first.
    pub source: String,
    /// The node that followed.
    pub target: String,
}

/// Gathers the runs of flows.
#[derive(Default)]
pub struct Processes {
    by_source: BTreeMap<String, Gathered>,
}

#[derive(Default)]
struct Gathered {
    sessions: u64,
    runs: Vec<RunPattern>,
}

impl Processes {
    /// Adds all runs of a session.
    pub fn add(&mut self, flow: &Flow, batch: &Batch, prices: &Prices) {
        let formats: Vec<&str> = flow.session.formats.iter().map(|format| batch.text.get(*format)).collect();
        let gathered = self.by_source.entry(formats.join("+")).or_default();
        gathered.sessions += 1;
        let options = Options { grouping: Grouping::Path, ..Options::default() };
        let pattern = |(n, run): (u32, &Run)| RunPattern {
            id: run.id.show('u'),
            failed: run.status == Status::Failed,
            duration_ms: run.ended.ms_since(run.started),
            workflow: workflow(&items(flow, batch, prices, Some(n)), &options),
        };
        gathered.runs.extend((0_u32..).zip(&flow.runs).map(pattern));
    }

    /// Each source and the process behind its runs, most runs first.
    pub fn finish(self) -> Vec<(String, Process)> {
        let one = |(source, gathered): (String, Gathered)| (source, process(&gathered.runs));
        let mut processes: Vec<(String, Process)> = self.by_source.into_iter().map(one).collect();
        processes.sort_by(|a, b| (b.1.runs, &a.0).cmp(&(a.1.runs, &b.0)));
        processes
    }

    /// The same as a document.
    pub fn doc(self) -> ProcessDoc {
        let sessions: BTreeMap<String, u64> =
            self.by_source.iter().map(|(source, gathered)| (source.clone(), gathered.sessions)).collect();
        let processes = self.finish().into_iter();
        let one = |(source, process): (String, Process)| {
            let sessions = sessions.get(&source).copied().unwrap_or(0);
            OneProcessDoc { sessions, ..doc(source, &process) }
        };
        ProcessDoc { schema: "unspool.process/1", processes: processes.map(one).collect() }
    }
}

fn doc(source: String, process: &Process) -> OneProcessDoc {
    let id = |node: u32| process.nodes[node as usize].id.clone();
    let ids = |nodes: &[u32]| nodes.iter().copied().map(id).collect::<Vec<String>>();
    let transitions = |edges: &[u32]| {
        let ends = |edge: &u32| {
            let edge = &process.edges[*edge as usize];
            TransitionDoc { source: id(edge.source), target: id(edge.target) }
        };
        edges.iter().map(ends).collect::<Vec<TransitionDoc>>()
    };
    let deviation = |deviation: &Deviation| DeviationDoc {
        run_id: deviation.run.clone(),
        rare_nodes: ids(&deviation.rare_nodes),
        rare_edges: transitions(&deviation.rare_edges),
        missing_nodes: ids(&deviation.missing_nodes),
        missing_edges: transitions(&deviation.missing_edges),
    };
    OneProcessDoc {
        source,
        sessions: 0,
        runs: process.runs,
        failed: process.failed,
        failure_rate: share(process.failed, process.runs),
        nodes: process
            .nodes
            .iter()
            .map(|node| ProcessNodeDoc {
                id: node.id.clone(),
                name: node.display_name.clone(),
                node_type: node.node_type.name(),
                parent: node.parent.map(id),
                runs: node.runs,
                run_share: share(node.runs, process.runs),
                failed_runs: node.failed_runs,
                count: node.count,
                errors: node.errors,
                failure_rate: share(node.errors, node.count),
                total_ms: node.duration_ms,
                median_ms: node.median_ms,
                tokens: node.totals.stated_usage().map(unspool_model::Usage::total),
            })
            .collect(),
        edges: process
            .edges
            .iter()
            .map(|edge| ProcessEdgeDoc {
                source: id(edge.source),
                target: id(edge.target),
                runs: edge.runs,
                run_share: share(edge.runs, process.runs),
                count: edge.count,
                enters: edge.enters,
            })
            .collect(),
        variants: process
            .variants
            .iter()
            .map(|variant| {
                let runs = variant.runs.len() as u64;
                VariantDoc {
                    share: share(runs, process.runs),
                    failed: variant.failed,
                    failure_rate: share(variant.failed, runs),
                    median_ms: variant.median_ms,
                    node_ids: ids(&variant.nodes),
                    run_ids: variant.runs.clone(),
                }
            })
            .collect(),
        deviations: process.can_tell_deviations().then(|| process.deviations.iter().map(deviation).collect()),
    }
}

fn share(part: u64, whole: u64) -> f64 {
    let signed = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
    crate::path::ratio(signed(part), signed(whole))
}
