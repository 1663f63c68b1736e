//! One process behind many runs: what they share, how often, how often it fails, in which variants, whether one of those is common, and
//! where the others differ from it.

use super::{Item, NodeType, Options, Workflow, WorkflowNode, workflow};
use crate::quantile::median;
use crate::totals::Totals;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// A variant that at least this share of the runs follow is the common path.
const COMMON: f64 = 0.5;
/// With fewer runs nothing is common.
pub const FEWEST_RUNS: u64 = 5;
/// Where no path is common, a variant is compared with so many of the most frequent ones to find the nearest.
pub const MAX_COMPARED: usize = 200;

/// One run and its pattern, grouped by path so that nodes of different runs can be told alike.
pub struct RunPattern {
    /// The run.
    pub id: String,
    /// It failed.
    pub failed: bool,
    /// Milliseconds from its begin to its end.
    pub duration_ms: Option<i64>,
    /// What happened in it.
    pub workflow: Workflow,
}

impl RunPattern {
    /// The pattern of some items; of the run nothing but its id is known.
    pub fn new(id: String, items: &[Item<'_>], options: &Options) -> RunPattern {
        RunPattern { id, failed: false, duration_ms: None, workflow: workflow(items, options) }
    }
}

/// A node of the process.
#[derive(Clone, Debug, PartialEq)]
pub struct ProcessNode {
    /// The path of names to it.
    pub id: String,
    /// What people see.
    pub display_name: String,
    /// What it does.
    pub node_type: NodeType,
    /// Index of the node it lies in.
    pub parent: Option<u32>,
    /// How many runs have it.
    pub runs: u64,
    /// How many of those failed.
    pub failed_runs: u64,
    /// How often it happened in all of them.
    pub count: u64,
    /// How often it failed itself.
    pub errors: u64,
    /// Milliseconds it took in all of them, as far as known.
    pub duration_ms: i64,
    /// The middle of what it took in each run that knows, in milliseconds.
    pub median_ms: Option<i64>,
    /// Tokens and money it took in all of them.
    pub totals: Totals,
}

/// What followed what in some run.
#[derive(Clone, Debug, PartialEq)]
pub struct ProcessEdge {
    /// Index of the node that came first.
    pub source: u32,
    /// Index of the node that followed.
    pub target: u32,
    /// How many runs have it.
    pub runs: u64,
    /// How often it happened in all of them.
    pub count: u64,
    /// It leads into an agent rather than along it.
    pub enters: bool,
}

/// Runs with one and the same pattern.
#[derive(Clone, Debug, PartialEq)]
pub struct Variant {
    /// The runs, in order.
    pub runs: Vec<String>,
    /// How many of them failed.
    pub failed: u64,
    /// The middle of their durations, in milliseconds.
    pub median_ms: Option<i64>,
    /// Indices of the nodes they have.
    pub nodes: Vec<u32>,
    /// Indices of the edges they have.
    pub edges: Vec<u32>,
    /// How they differ from the common path or, where there is none, from the variant nearest to them.
    pub difference: Option<Difference>,
}

/// How a variant differs from another.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Difference {
    /// Index of the other variant.
    pub from: u32,
    /// Nodes it has and the other has not.
    pub added_nodes: Vec<u32>,
    /// Edges it has and the other has not.
    pub added_edges: Vec<u32>,
    /// Nodes the other has and it has not.
    pub missing_nodes: Vec<u32>,
    /// Edges the other has and it has not.
    pub missing_edges: Vec<u32>,
}

/// The process behind some runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Process {
    /// How many runs.
    pub runs: u64,
    /// How many of them failed.
    pub failed: u64,
    /// Nodes by how many runs have them, begin first.
    pub nodes: Vec<ProcessNode>,
    /// Edges by how many runs have them.
    pub edges: Vec<ProcessEdge>,
    /// Variants by how many runs follow them.
    pub variants: Vec<Variant>,
    /// Transitions that no edge counts, because there are too many in a run.
    pub transitions_left_out: u64,
    /// Index of the variant that is the common path; none where no variant is, or where there are too few runs to tell.
    pub common: Option<u32>,
}

/// The process behind some runs. Their order does not matter but for the lists of runs.
pub fn process(runs: &[RunPattern]) -> Process {
    let mut process = Process {
        runs: runs.len() as u64,
        failed: runs.iter().filter(|run| run.failed).count() as u64,
        transitions_left_out: runs.iter().map(|run| run.workflow.transitions_left_out).sum(),
        ..Process::default()
    };
    add_nodes(&mut process, runs);
    let number: FxHashMap<String, u32> = process.nodes.iter().map(|node| node.id.clone()).zip(0..).collect();
    let mut times: Vec<Vec<i64>> = vec![Vec::new(); process.nodes.len()];
    for node in runs.iter().flat_map(|run| &run.workflow.nodes) {
        let at = number[&node.id] as usize;
        process.nodes[at].add(node);
        times[at].extend(node.duration_ms);
    }
    for (node, times) in process.nodes.iter_mut().zip(times) {
        node.median_ms = median(times);
    }
    for run in runs {
        for (node, above) in run.workflow.nodes.iter().filter_map(|node| Some((node, node.parent?))) {
            let above = number[&run.workflow.nodes[above as usize].id];
            let known = &mut process.nodes[number[&node.id] as usize].parent;
            *known = Some(known.map_or(above, |known| known.min(above)));
        }
    }
    add_edges(&mut process, runs, &number);
    let edge_at: FxHashMap<(u32, u32), u32> =
        process.edges.iter().map(|edge| (edge.source, edge.target)).zip(0..).collect();
    let parts: Vec<Parts> = runs.iter().map(|run| Parts::of(run, &number, &edge_at)).collect();
    process.variants = variants(runs, &parts);
    process.common = common(&process);
    compare(&mut process);
    process
}

impl Process {
    /// Runs that do not follow the common path; none where no path is common.
    pub fn runs_apart(&self) -> Option<u64> {
        let common = self.variants.get(self.common? as usize)?;
        Some(self.runs - common.runs.len() as u64)
    }

    /// Variants that no other was compared with, because too many are more frequent.
    pub fn uncompared(&self) -> u64 {
        let beyond = self.variants.len().saturating_sub(MAX_COMPARED);
        if self.common.is_some() { 0 } else { beyond as u64 }
    }
}

impl ProcessNode {
    /// Milliseconds it took in all runs that know; none when none does.
    pub fn total_ms(&self) -> Option<i64> {
        self.median_ms.map(|_| self.duration_ms)
    }

    fn add(&mut self, node: &WorkflowNode) {
        self.count += node.item_ids.len() as u64;
        self.errors += node.errors;
        self.duration_ms = self.duration_ms.saturating_add(node.duration_ms.unwrap_or(0));
        self.totals.add(&node.totals);
    }
}

fn add_nodes(process: &mut Process, runs: &[RunPattern]) {
    let mut found: BTreeMap<&str, ProcessNode> = BTreeMap::new();
    for run in runs {
        for node in &run.workflow.nodes {
            let slot = found.entry(&node.id).or_insert_with(|| ProcessNode {
                id: node.id.clone(),
                display_name: node.display_name.clone(),
                node_type: node.node_type,
                parent: None,
                runs: 0,
                failed_runs: 0,
                count: 0,
                errors: 0,
                duration_ms: 0,
                median_ms: None,
                totals: Totals::default(),
            });
            slot.node_type = slot.node_type.min(node.node_type);
            if node.display_name < slot.display_name {
                slot.display_name.clone_from(&node.display_name);
            }
            slot.runs += 1;
            slot.failed_runs += u64::from(run.failed);
        }
    }
    process.nodes = found.into_values().collect();
    let place = |node: &ProcessNode| match node.node_type {
        NodeType::Start => 0,
        NodeType::End => 2,
        _ => 1,
    };
    process.nodes.sort_unstable_by(|a, b| (place(a), b.runs, &a.id).cmp(&(place(b), a.runs, &b.id)));
}

fn add_edges(process: &mut Process, runs: &[RunPattern], number: &FxHashMap<String, u32>) {
    let mut found: BTreeMap<(u32, u32), ProcessEdge> = BTreeMap::new();
    for run in runs {
        for (source, target, count, enters) in directed(&run.workflow) {
            let key = (number[source], number[target]);
            let slot = found.entry(key).or_insert(ProcessEdge {
                source: key.0,
                target: key.1,
                runs: 0,
                count: 0,
                enters,
            });
            slot.runs += 1;
            slot.count += count;
            slot.enters |= enters;
        }
    }
    process.edges = found.into_values().collect();
    process.edges.sort_unstable_by_key(|edge| (std::cmp::Reverse(edge.runs), edge.source, edge.target));
}

/// Edges one way each: ids of both ends, how often, whether it leads into an agent.
fn directed(workflow: &Workflow) -> impl Iterator<Item = (&str, &str, u64, bool)> {
    let id = |node: u32| workflow.nodes[node as usize].id.as_str();
    workflow.edges.iter().flat_map(move |edge| {
        let there = (id(edge.source), id(edge.target), edge.forward, edge.enters);
        let back = (id(edge.target), id(edge.source), edge.backward, edge.enters);
        [there, back].into_iter().filter(|(_, _, count, _)| *count > 0)
    })
}

/// Which nodes and edges of the process a run has.
#[derive(PartialEq, Eq, Hash)]
struct Parts {
    nodes: Vec<u32>,
    edges: Vec<u32>,
}

impl Parts {
    fn of(run: &RunPattern, number: &FxHashMap<String, u32>, edge_at: &FxHashMap<(u32, u32), u32>) -> Parts {
        let mut nodes: Vec<u32> = run.workflow.nodes.iter().map(|node| number[&node.id]).collect();
        let ends = directed(&run.workflow).map(|(source, target, _, _)| (number[source], number[target]));
        let mut edges: Vec<u32> = ends.filter_map(|ends| edge_at.get(&ends).copied()).collect();
        nodes.sort_unstable();
        edges.sort_unstable();
        Parts { nodes, edges }
    }
}

fn variants(runs: &[RunPattern], parts: &[Parts]) -> Vec<Variant> {
    let mut index: FxHashMap<&Parts, usize> = FxHashMap::default();
    let mut variants: Vec<(Variant, Vec<i64>)> = Vec::new();
    for (run, parts) in runs.iter().zip(parts) {
        let at = *index.entry(parts).or_insert_with(|| {
            let (nodes, edges) = (parts.nodes.clone(), parts.edges.clone());
            let none =
                Variant { runs: Vec::new(), failed: 0, median_ms: None, nodes, edges, difference: None };
            variants.push((none, Vec::new()));
            variants.len() - 1
        });
        let (variant, durations) = &mut variants[at];
        variant.runs.push(run.id.clone());
        variant.failed += u64::from(run.failed);
        durations.extend(run.duration_ms);
    }
    let with_median = |(mut variant, durations): (Variant, Vec<i64>)| {
        variant.median_ms = median(durations);
        variant
    };
    let mut variants: Vec<Variant> = variants.into_iter().map(with_median).collect();
    variants
        .sort_unstable_by(|a, b| (b.runs.len(), &a.nodes, &a.runs).cmp(&(a.runs.len(), &b.nodes, &b.runs)));
    variants
}

/// The most frequent variant, if it is frequent and none is as frequent.
fn common(process: &Process) -> Option<u32> {
    let mut counts = process.variants.iter().map(|variant| variant.runs.len() as u64);
    let (first, second) = (counts.next()?, counts.next().unwrap_or(0));
    #[expect(clippy::cast_precision_loss, reason = "numbers of runs are small")]
    let is_common = first as f64 >= process.runs as f64 * COMMON;
    (process.runs >= FEWEST_RUNS && is_common && first > second).then_some(0)
}

/// Says of each variant how it differs from the common path or the nearest other one.
fn compare(process: &mut Process) {
    let variants = &process.variants;
    let nearest = |n: usize| -> Option<usize> {
        let others = (0..variants.len().min(MAX_COMPARED)).filter(|other| *other != n);
        let distance = |other: &usize| {
            apart(&variants[n].nodes, &variants[*other].nodes)
                + apart(&variants[n].edges, &variants[*other].edges)
        };
        // Of several, the most frequent.
        others.min_by_key(|other| (distance(other), *other))
    };
    let difference = |n: usize| {
        let from = match process.common {
            Some(common) => Some(common as usize).filter(|common| *common != n),
            None => nearest(n),
        }?;
        let (own, other) = (&variants[n], &variants[from]);
        Some(Difference {
            from: u32::try_from(from).unwrap_or(u32::MAX),
            added_nodes: without(&own.nodes, &other.nodes),
            added_edges: without(&own.edges, &other.edges),
            missing_nodes: without(&other.nodes, &own.nodes),
            missing_edges: without(&other.edges, &own.edges),
        })
    };
    let found: Vec<Option<Difference>> = (0..variants.len()).map(difference).collect();
    for (variant, difference) in process.variants.iter_mut().zip(found) {
        variant.difference = difference;
    }
}

/// How many elements only one of two sorted lists has.
fn apart(one: &[u32], other: &[u32]) -> usize {
    let (mut one, mut other) = (one.iter().peekable(), other.iter().peekable());
    let mut count = 0;
    loop {
        match (one.peek(), other.peek()) {
            (Some(a), Some(b)) if a == b => {
                one.next();
                other.next();
                continue;
            }
            (Some(a), Some(b)) if a < b => _ = one.next(),
            (Some(_), None) => _ = one.next(),
            (_, Some(_)) => _ = other.next(),
            (None, None) => return count,
        }
        count += 1;
    }
}

/// What of a list another, sorted one does not have.
fn without(list: &[u32], other: &[u32]) -> Vec<u32> {
    list.iter().copied().filter(|part| other.binary_search(part).is_err()).collect()
}

#[cfg(test)]
mod tests;
