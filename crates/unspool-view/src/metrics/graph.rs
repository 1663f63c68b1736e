//! The graph as a whole.
//!
//! In: a flow and the numbers of its steps. Out: counts. Never here: single steps.

use super::nodes::NodeMetricsDoc;
use crate::dag::{Arcs, order, places};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use unspool_model::flow::NONE;
use unspool_model::{EdgeKind, Flow, StepKind};

/// The graph as a whole.
#[derive(Serialize, JsonSchema)]
pub struct GraphMetricsDoc {
    /// Steps.
    pub nodes: u64,
    /// Edges of all kinds.
    pub edges: u64,
    /// Edges whose rule guesses.
    pub inferred_edges: u64,
    /// Edges by kind.
    pub edges_by_kind: Vec<EdgeCountDoc>,
    /// Edges on the longest chain of causal edges; those of mere order do not count.
    pub depth: u64,
    /// Steps on the longest way from a root of the timeline tree to a leaf.
    pub tree_depth: u64,
    /// Depth of the deepest agent; 0 when no agent was started.
    pub agent_depth: u32,
    /// Children of a step in the timeline tree, on average over steps that have any.
    pub branching_factor: f64,
    /// Most children of one step.
    pub max_children: u64,
    /// Agents that were started by a step.
    pub spawns: u64,
    /// How many of these links are inferred.
    pub inferred_spawns: u64,
    /// Tool calls whose result a model call received.
    pub tool_dependencies: u64,
    /// Steps without a parent in the timeline tree.
    pub roots: u64,
    /// Steps of which it was counted what they lead to. Less than `nodes` only when counting was given up (`MAX_REACH_WORK`).
    pub nodes_with_reach: u64,
}

/// Edges of one kind.
#[derive(Serialize, JsonSchema)]
pub struct EdgeCountDoc {
    /// The kind.
    pub kind: &'static str,
    /// How many.
    pub count: u64,
    /// How many of them are inferred.
    pub inferred: u64,
}

pub(super) fn graph(
    flow: &Flow,
    causal: impl Iterator<Item = (u32, u32)> + Clone,
    nodes: &[NodeMetricsDoc],
) -> GraphMetricsDoc {
    let mut kinds: BTreeMap<EdgeKind, (u64, u64)> = BTreeMap::new();
    for edge in &flow.edges {
        let slot = kinds.entry(edge.kind).or_default();
        slot.0 += 1;
        slot.1 += u64::from(edge.is_inferred());
    }
    let parents = nodes.iter().filter(|node| node.children > 0).count() as u64;
    let children: u64 = nodes.iter().map(|node| node.children).sum();
    let spawns = || flow.agents.iter().filter_map(|agent| agent.spawn);
    let answered = flow.edges.iter().filter(|edge| {
        edge.kind == EdgeKind::ToolResult && flow.steps[edge.from as usize].kind == StepKind::ToolCall
    });
    GraphMetricsDoc {
        nodes: flow.steps.len() as u64,
        edges: flow.edges.len() as u64,
        inferred_edges: kinds.values().map(|(_, inferred)| inferred).sum(),
        edges_by_kind: kinds
            .into_iter()
            .map(|(kind, (count, inferred))| EdgeCountDoc { kind: kind.name(), count, inferred })
            .collect(),
        depth: longest_chain(flow.steps.len(), causal),
        tree_depth: tree_depth(flow),
        agent_depth: flow.agents.iter().map(|agent| agent.depth).max().unwrap_or(0),
        branching_factor: quotient(children, parents),
        max_children: nodes.iter().map(|node| node.children).max().unwrap_or(0),
        spawns: spawns().count() as u64,
        inferred_spawns: spawns().filter(unspool_model::Spawn::is_inferred).count() as u64,
        tool_dependencies: answered.count() as u64,
        roots: flow.steps.iter().filter(|step| step.parent == NONE).count() as u64,
        nodes_with_reach: nodes.iter().filter(|node| node.reaches.is_some()).count() as u64,
    }
}

/// A quotient to three digits; 0 when there is nothing to divide by.
pub(super) fn quotient(part: u64, whole: u64) -> f64 {
    let signed = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
    crate::path::ratio(signed(part), signed(whole))
}

fn longest_chain(nodes: usize, pairs: impl Iterator<Item = (u32, u32)> + Clone) -> u64 {
    let arcs = Arcs::new(nodes, pairs);
    let order = order(&arcs, |node| node);
    let place = places(&order);
    let mut before = vec![0_u64; nodes];
    for node in order {
        let next = before[node as usize] + 1;
        for to in arcs.of(node).iter().filter(|to| place[node as usize] < place[**to as usize]) {
            before[*to as usize] = before[*to as usize].max(next);
        }
    }
    before.into_iter().max().unwrap_or(0)
}

/// Parents come before children in `seq`.
fn tree_depth(flow: &Flow) -> u64 {
    let mut depth = vec![1_u64; flow.steps.len()];
    for (n, step) in flow.steps.iter().enumerate() {
        let parent = step.parent as usize;
        if parent < n {
            depth[n] = depth[parent] + 1;
        }
    }
    depth.into_iter().max().unwrap_or(0)
}
