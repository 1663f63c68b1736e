//! The process behind many runs as a graph to draw: a node says in how many runs it is, an agent with something inside is a box.

use super::from_workflow::boxes;
use super::{Edge, Graph, Node, Relation, Tally};
use crate::totals::Totals;
use crate::workflow::{Process, ProcessNode};
use std::fmt::Write as _;
use unspool_model::Confidence;

/// Turns a process into a graph of the nodes and transitions that at least a share of the runs have. What is left out is counted.
pub fn from_process(title: &str, process: &Process, min_share: f64) -> Graph {
    #[expect(clippy::cast_precision_loss, reason = "numbers of runs are small")]
    let is_frequent = |runs: u64| runs as f64 >= process.runs as f64 * min_share;
    let number = numbers(process, &is_frequent);
    let kept: Vec<&ProcessNode> = process
        .nodes
        .iter()
        .zip(&number)
        .filter(|(_, number)| number.is_some())
        .map(|(node, _)| node)
        .collect();
    let mut tally = Tally::default();
    for (node, _) in process.nodes.iter().zip(&number).filter(|(_, number)| number.is_none()) {
        tally.filtered.totals.add(&Totals { steps: node.count, errors: node.errors, ..node.totals });
    }
    let placed = kept.iter().map(|node| {
        let parent = node.parent.and_then(|parent| number[parent as usize]);
        (node.id.as_str(), node.display_name.as_str(), parent)
    });
    let (groups, inside) = boxes(placed);
    let node = |(node, group): (&ProcessNode, Option<u32>)| Node {
        id: node.id.clone(),
        label: node.display_name.clone(),
        detail: detail(process, node),
        kind: node.node_type.name(),
        group,
        totals: Totals { steps: node.count, errors: node.errors, ..node.totals },
        busy_ms: u64::try_from(node.duration_ms).unwrap_or(0),
        // One that fails now and then is no failed node.
        is_error: node.errors * 2 > node.count,
        ..Node::default()
    };
    let mut edges = Vec::new();
    for edge in &process.edges {
        match (number[edge.source as usize], number[edge.target as usize]) {
            (Some(from), Some(to)) if is_frequent(edge.runs) => edges.push(Edge {
                from,
                to,
                relation: if edge.enters { Relation::Enters } else { Relation::Follows },
                count: edge.count,
                label: format!("{} of {} runs", edge.runs, process.runs),
                confidence: Confidence::EXACT,
                inferred: false,
                is_error: false,
                through: Vec::new(),
                both_ways: false,
            }),
            _ => tally.filtered_edges += 1,
        }
    }
    Graph {
        title: title.into(),
        nodes: kept.into_iter().zip(inside).map(node).collect(),
        edges,
        groups,
        tally,
    }
}

fn detail(process: &Process, node: &ProcessNode) -> String {
    let mut detail = format!("{} of {} runs", node.runs, process.runs);
    if node.errors > 0 {
        let _ = write!(detail, ", {} failed", node.errors);
    }
    detail
}

/// The number of each node that is drawn: what is frequent, and what holds it.
fn numbers(process: &Process, is_frequent: &dyn Fn(u64) -> bool) -> Vec<Option<u32>> {
    let mut is_kept: Vec<bool> = process.nodes.iter().map(|node| is_frequent(node.runs)).collect();
    for node in process.nodes.iter().filter(|node| is_frequent(node.runs)) {
        let mut above = node.parent;
        while let Some(at) = above.filter(|at| !std::mem::replace(&mut is_kept[*at as usize], true)) {
            above = process.nodes[at as usize].parent;
        }
    }
    let mut next = 0..;
    is_kept.into_iter().map(|kept| if kept { next.next() } else { None }).collect()
}
