//! Processes as a document: the runs of many sessions, gathered by what they are runs of.
//!
//! In: flows, one by one. Out: a process for all runs of one kind of agent in one project, with names in place of positions. Never here: how
//! a process is found, and how variants differ, which `process` says.

use super::by_run::items_by_run;
use super::{
    Difference, Grouping, Item, NodeType, Options, Process, ProcessEdge, ProcessNode, RunPattern, Variant,
    process,
};
use crate::prices::Prices;
use rustc_hash::FxHashMap;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use unspool_model::{Batch, Flow, Run, Status};

/// What every model call is called in a process, whichever model it asks: runs of two models may be the same.
const MODEL: &str = "model";

/// Processes behind some sessions.
#[derive(Serialize, JsonSchema)]
pub struct ProcessDoc {
    /// Always `unspool.process/1`.
    pub schema: &'static str,
    /// A process for all runs of one kind of agent in one project; most runs first.
    pub processes: Vec<OneProcessDoc>,
}

/// The process behind the runs of some sessions.
#[derive(Serialize, JsonSchema)]
pub struct OneProcessDoc {
    /// What they are runs of: the kind of the main agent, the span around everything, or else the format that tells most of the session.
    pub agent: String,
    /// The folder they worked in; null when nobody says, or when projects are taken together.
    pub project: Option<String>,
    /// Sessions.
    pub sessions: u64,
    /// Their runs.
    pub runs: u64,
    /// Runs that failed.
    pub failed: u64,
    /// As a part of all runs.
    pub failure_rate: f64,
    /// What happened in them; begin first, end last, else by how many runs have it. All calls of models in one place are one node.
    pub nodes: Vec<ProcessNodeDoc>,
    /// What followed what, by how many runs have it.
    pub edges: Vec<ProcessEdgeDoc>,
    /// Runs with the same nodes and edges, most runs first.
    pub variants: Vec<VariantDoc>,
    /// Position in `variants` of the common path, which at least half of the runs follow; null when there is none, or fewer than five runs.
    pub common_variant: Option<u64>,
    /// Runs that do not follow the common path; null when there is none.
    pub runs_apart: Option<u64>,
    /// Transitions that were not counted, because there are too many in a run (`MAX_TRANSITIONS`).
    pub transitions_left_out: u64,
    /// Variants beyond the two hundred most frequent ones that no other was compared with.
    pub uncompared_variants: u64,
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
    /// Milliseconds it took in all runs, as far as known; null when none knows.
    pub total_ms: Option<i64>,
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
    /// How it differs from the common path or, where there is none, from the variant nearest to it; null for the common path and for an
    /// only variant.
    pub difference: Option<DifferenceDoc>,
}

/// How a variant differs from another.
#[derive(Serialize, JsonSchema)]
pub struct DifferenceDoc {
    /// Position in `variants` of the other one.
    pub from_variant: u64,
    /// Nodes it has and the other has not.
    pub added_nodes: Vec<String>,
    /// What follows what in it and not in the other.
    pub added_edges: Vec<TransitionDoc>,
    /// Nodes the other has and it has not.
    pub missing_nodes: Vec<String>,
    /// What follows what in the other and not in it.
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

/// What runs are gathered by.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ProcessBy {
    /// The kind of agent and the folder it worked in.
    #[default]
    Project,
    /// The kind of agent alone.
    Agent,
}

/// Gathers the runs of flows.
#[derive(Default)]
pub struct Processes {
    by: ProcessBy,
    by_kind: BTreeMap<Kind, Gathered>,
}

/// What runs are of.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Kind {
    /// See [`OneProcessDoc::agent`].
    pub agent: String,
    /// See [`OneProcessDoc::project`].
    pub project: Option<String>,
}

impl Kind {
    /// As people see it.
    pub fn title(&self) -> String {
        match &self.project {
            Some(project) => format!("{} in {project}", self.agent),
            None => self.agent.clone(),
        }
    }
}

#[derive(Default)]
struct Gathered {
    sessions: u64,
    last_session: Option<unspool_model::Id>,
    runs: Vec<RunPattern>,
}

impl Processes {
    /// None yet.
    pub fn new(by: ProcessBy) -> Processes {
        Processes { by, ..Processes::default() }
    }

    /// Adds all runs of a session.
    pub fn add(&mut self, flow: &Flow, batch: &Batch, prices: &Prices) {
        let options = Options { grouping: Grouping::Path, ..Options::default() };
        let cwd = batch.text.get(flow.session.cwd);
        let project = (self.by == ProcessBy::Project && !cwd.is_empty()).then(|| cwd.to_string());
        let mut format = None;
        for (run, mut items) in flow.runs.iter().zip(items_by_run(flow, batch, prices)) {
            let around = around(&items);
            for item in items.iter_mut().filter(|item| item.node_type == Some(NodeType::Llm)) {
                item.name = MODEL.into();
            }
            let pattern = RunPattern {
                failed: run.status == Status::Failed,
                duration_ms: run.ended.ms_since(run.started),
                ..RunPattern::new(run.id.show('u'), &items, &options)
            };
            let agent = main_kind(flow, batch, run)
                .or(around)
                .unwrap_or_else(|| format.get_or_insert_with(|| main_format(flow, batch)).clone());
            let gathered = self.by_kind.entry(Kind { agent, project: project.clone() }).or_default();
            if gathered.last_session.replace(flow.session.id) != Some(flow.session.id) {
                gathered.sessions += 1;
            }
            gathered.runs.push(pattern);
        }
    }

    /// What runs are of and the process behind them, most runs first.
    pub fn finish(self) -> Vec<(Kind, Process)> {
        self.counted().into_iter().map(|(kind, _, process)| (kind, process)).collect()
    }

    fn counted(self) -> Vec<(Kind, u64, Process)> {
        let one = |(kind, gathered): (Kind, Gathered)| (kind, gathered.sessions, process(&gathered.runs));
        let mut processes: Vec<(Kind, u64, Process)> = self.by_kind.into_iter().map(one).collect();
        processes.sort_unstable_by(|a, b| (b.2.runs, &a.0).cmp(&(a.2.runs, &b.0)));
        processes
    }

    /// The same as a document.
    pub fn doc(self) -> ProcessDoc {
        let one = |(kind, sessions, process): (Kind, u64, Process)| doc(kind, sessions, &process);
        ProcessDoc { schema: "unspool.process/1", processes: self.counted().into_iter().map(one).collect() }
    }
}

/// The kind of the main agent that a run begins with.
fn main_kind(flow: &Flow, batch: &Batch, run: &Run) -> Option<String> {
    let trigger = flow.steps.get(run.trigger as usize)?;
    let agent = flow.agents.get(trigger.agent as usize).filter(|agent| agent.main)?;
    Some(batch.text.get(agent.kind).to_string()).filter(|kind| !kind.is_empty())
}

/// The name of the one step that holds others and lies in no other step.
fn around(items: &[Item<'_>]) -> Option<String> {
    let by_id: FxHashMap<_, &Item<'_>> = items.iter().map(|item| (&item.id, item)).collect();
    let is_step = |item: &Item<'_>| item.node_type == Some(NodeType::Default);
    let above = |item: &Item<'_>| item.parent.as_ref().and_then(|parent| by_id.get(parent).copied());
    let mut outermost: Vec<&Item<'_>> = Vec::new();
    for holder in items.iter().filter_map(above).filter(|holder| is_step(holder)) {
        let is_outermost = above(holder).is_none_or(|above| !is_step(above));
        if is_outermost && !outermost.iter().any(|known| known.id == holder.id) {
            outermost.push(holder);
            if outermost.len() > 1 {
                return None;
            }
        }
    }
    outermost.first().map(|only| only.name.to_string()).filter(|name| !name.is_empty())
}

/// The format whose records tell of most steps; all of the session's, where its records are not at hand.
fn main_format(flow: &Flow, batch: &Batch) -> String {
    let formats = flow.session.formats.iter().map(|format| batch.text.get(*format));
    let mut counts: BTreeMap<&str, u64> = formats.clone().map(|format| (format, 0)).collect();
    for record in flow.steps.iter().filter_map(|step| flow.witnesses_of(step).first()) {
        if let Some(count) = counts.get_mut(batch.text.get(batch.stream_of(*record).format)) {
            *count += 1;
        }
    }
    let most = counts.values().copied().max().filter(|most| *most > 0);
    let first =
        counts.iter().find(|(_, count)| Some(**count) == most).map(|(format, _)| (*format).to_string());
    first.unwrap_or_else(|| formats.collect::<Vec<&str>>().join("+"))
}

fn doc(kind: Kind, sessions: u64, process: &Process) -> OneProcessDoc {
    OneProcessDoc {
        agent: kind.agent,
        project: kind.project,
        sessions,
        runs: process.runs,
        failed: process.failed,
        failure_rate: share(process.failed, process.runs),
        nodes: process.nodes.iter().map(|node| node_doc(process, node)).collect(),
        edges: process.edges.iter().map(|edge| edge_doc(process, edge)).collect(),
        variants: process.variants.iter().map(|variant| variant_doc(process, variant)).collect(),
        common_variant: process.common.map(u64::from),
        runs_apart: process.runs_apart(),
        transitions_left_out: process.transitions_left_out,
        uncompared_variants: process.uncompared(),
    }
}

fn id(process: &Process, node: u32) -> String {
    process.nodes[node as usize].id.clone()
}

fn node_doc(process: &Process, node: &ProcessNode) -> ProcessNodeDoc {
    ProcessNodeDoc {
        id: node.id.clone(),
        name: node.display_name.clone(),
        node_type: node.node_type.name(),
        parent: node.parent.map(|parent| id(process, parent)),
        runs: node.runs,
        run_share: share(node.runs, process.runs),
        failed_runs: node.failed_runs,
        count: node.count,
        errors: node.errors,
        failure_rate: share(node.errors, node.count),
        total_ms: node.total_ms(),
        median_ms: node.median_ms,
        tokens: node.totals.stated_usage().map(unspool_model::Usage::total),
    }
}

fn edge_doc(process: &Process, edge: &ProcessEdge) -> ProcessEdgeDoc {
    ProcessEdgeDoc {
        source: id(process, edge.source),
        target: id(process, edge.target),
        runs: edge.runs,
        run_share: share(edge.runs, process.runs),
        count: edge.count,
        enters: edge.enters,
    }
}

fn variant_doc(process: &Process, variant: &Variant) -> VariantDoc {
    let runs = variant.runs.len() as u64;
    VariantDoc {
        share: share(runs, process.runs),
        failed: variant.failed,
        failure_rate: share(variant.failed, runs),
        median_ms: variant.median_ms,
        node_ids: variant.nodes.iter().map(|node| id(process, *node)).collect(),
        run_ids: variant.runs.clone(),
        difference: variant.difference.as_ref().map(|difference| difference_doc(process, difference)),
    }
}

fn difference_doc(process: &Process, difference: &Difference) -> DifferenceDoc {
    let ids = |nodes: &[u32]| nodes.iter().map(|node| id(process, *node)).collect();
    let transition = |edge: &u32| {
        let edge = &process.edges[*edge as usize];
        TransitionDoc { source: id(process, edge.source), target: id(process, edge.target) }
    };
    DifferenceDoc {
        from_variant: difference.from.into(),
        added_nodes: ids(&difference.added_nodes),
        added_edges: difference.added_edges.iter().map(transition).collect(),
        missing_nodes: ids(&difference.missing_nodes),
        missing_edges: difference.missing_edges.iter().map(transition).collect(),
    }
}

fn share(part: u64, whole: u64) -> f64 {
    let signed = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
    crate::path::ratio(signed(part), signed(whole))
}
