//! The pattern of a workflow as a graph to draw: an agent with something inside is a box.

use super::gather::busy;
use super::{Edge, Graph, Group, Node, Relation, Tally, View};
use crate::labels::session_title;
use crate::prices::Prices;
use crate::totals::{Pricer, Totals};
use crate::workflow::{Grouping, ItemId, Items, Options, Workflow, workflow};
use rustc_hash::{FxHashMap, FxHashSet};
use unspool_model::{Batch, Confidence, Flow};

/// The pattern of the steps that a view keeps.
pub struct Pattern {
    /// The pattern.
    pub workflow: Workflow,
    /// What became of the steps; edges are not those of the flow.
    pub tally: Tally,
    /// The step that each item tells of; an agent that no call started tells of none.
    step_of: FxHashMap<ItemId, u32>,
}

/// Finds the pattern of the steps that a view and `wanted` keep. Level, boxes and kinds of edges do not matter.
pub fn pattern(
    flow: &Flow,
    batch: &Batch,
    prices: &Prices,
    view: &View,
    grouping: Grouping,
    wanted: &dyn Fn(usize) -> bool,
) -> Pattern {
    let mut kept = view.filter.steps(flow, batch);
    kept.iter_mut().enumerate().for_each(|(n, kept)| *kept &= wanted(n));
    let all = Items::new(flow, batch, prices, view.full);
    let told_by: Vec<Option<ItemId>> = (0..flow.steps.len()).map(|n| all.of(n).cloned()).collect();
    let items = all.into_only((0_u32..).zip(&kept).filter(|(_, kept)| **kept).map(|(n, _)| n));
    let workflow = workflow(&items, &Options { grouping, ..Options::default() });
    let folded: FxHashSet<&ItemId> = workflow.folded.iter().collect();
    let mut pricer = Pricer::new(flow, &batch.text, prices);
    let (mut tally, mut step_of) = (Tally::default(), FxHashMap::default());
    for (((n, step), kept), item) in (0_u32..).zip(&flow.steps).zip(kept).zip(told_by) {
        let item = item.filter(|item| kept && !folded.contains(item));
        let share = match (&item, kept) {
            (Some(_), _) => &mut tally.shown,
            (None, true) => &mut tally.contracted,
            (None, false) => &mut tally.filtered,
        };
        share.add(&pricer.step(step), busy(step));
        step_of.extend(item.map(|item| (item, n)));
    }
    tally.transitions_left_out = workflow.transitions_left_out;
    Pattern { workflow, tally, step_of }
}

impl Pattern {
    /// The pattern as a graph.
    pub fn graph(&self, flow: &Flow, batch: &Batch) -> Graph {
        let mut graph = from_workflow(&session_title(flow, batch), &self.workflow);
        graph.tally = self.tally;
        for (node, pattern) in graph.nodes.iter_mut().zip(&self.workflow.nodes) {
            node.steps = pattern.item_ids.iter().filter_map(|item| self.step_of.get(item).copied()).collect();
        }
        graph
    }
}

/// Turns a pattern into a graph.
pub fn from_workflow(title: &str, workflow: &Workflow) -> Graph {
    let mut graph = Graph { title: title.into(), ..Graph::default() };
    let placed =
        workflow.nodes.iter().map(|node| (node.id.as_str(), node.display_name.as_str(), node.parent));
    let (groups, inside) = boxes(placed);
    graph.groups = groups;
    for (node, above) in workflow.nodes.iter().zip(inside) {
        let count = node.item_ids.len() as u64;
        graph.nodes.push(Node {
            id: node.id.clone(),
            label: node.display_name.clone(),
            kind: node.node_type.name(),
            group: above,
            totals: Totals { steps: count, errors: node.errors, ..node.totals },
            busy_ms: node.duration_ms,
            is_error: node.errors > 0,
            ..Node::default()
        });
    }
    for edge in &workflow.edges {
        graph.edges.push(Edge {
            from: edge.source,
            to: edge.target,
            relation: if edge.enters { Relation::Enters } else { Relation::Follows },
            // How often the one followed the other, in the direction that is taken more often.
            count: edge.forward.max(edge.backward),
            label: String::new(),
            confidence: Confidence::EXACT,
            inferred: false,
            is_error: false,
            through: Vec::new(),
            both_ways: edge.bidirectional,
            link: None,
        });
    }
    graph
}

/// A box for every node that holds others, and the box that each node lies in. Nodes are given by id, name and the node they lie in.
pub(super) fn boxes<'a>(
    nodes: impl Iterator<Item = (&'a str, &'a str, Option<u32>)> + Clone,
) -> (Vec<Group>, Vec<Option<u32>>) {
    let mut holds = vec![false; nodes.clone().count()];
    for parent in nodes.clone().filter_map(|(_, _, parent)| parent) {
        holds[parent as usize] = true;
    }
    let mut groups = Vec::new();
    let mut group_of: Vec<Option<u32>> = vec![None; holds.len()];
    // A node may come before the one it lies in, where clocks disagree; its box may not.
    let parents: Vec<Option<u32>> = nodes.clone().map(|(_, _, parent)| parent).collect();
    let depth = |n: usize| {
        let above = std::iter::successors(parents[n], |at| parents[*at as usize]);
        above.take(parents.len()).count()
    };
    let mut holders: Vec<_> = nodes.clone().enumerate().filter(|(n, _)| holds[*n]).collect();
    holders.sort_by_cached_key(|(n, _)| depth(*n));
    for (n, (id, name, _)) in holders {
        group_of[n] = u32::try_from(groups.len()).ok();
        groups.push(Group { id: format!("in:{id}"), label: name.into(), parent: None });
    }
    let mut inside = Vec::new();
    for (n, (_, _, parent)) in nodes.enumerate() {
        let above = parent.and_then(|parent| group_of[parent as usize]);
        if let Some(own) = group_of[n] {
            groups[own as usize].parent = above.filter(|above| *above != own);
        }
        inside.push(above);
    }
    (groups, inside)
}
