//! The process behind many runs as a graph to draw: a node says in how many runs it is, an agent with something inside is a box.

use super::from_workflow::boxes;
use super::{Edge, Graph, Node, Relation};
use crate::totals::Totals;
use crate::workflow::Process;
use unspool_model::Confidence;

/// Turns a process into a graph.
pub fn from_process(title: &str, process: &Process) -> Graph {
    let placed = process.nodes.iter().map(|node| (node.id.as_str(), node.display_name.as_str(), node.parent));
    let (groups, inside) = boxes(placed);
    let node = |(node, group): (&crate::workflow::ProcessNode, Option<u32>)| Node {
        id: node.id.clone(),
        label: node.display_name.clone(),
        detail: format!("{} of {} runs", node.runs, process.runs),
        kind: node.node_type.name(),
        group,
        totals: Totals { steps: node.count, errors: node.errors, ..node.totals },
        busy_ms: node.total_ms(),
        is_error: node.errors > 0,
        ..Node::default()
    };
    let edge = |edge: &crate::workflow::ProcessEdge| Edge {
        from: edge.source,
        to: edge.target,
        relation: if edge.enters { Relation::Enters } else { Relation::Follows },
        count: edge.count,
        label: format!("{} of {} runs", edge.runs, process.runs),
        confidence: Confidence::EXACT,
        inferred: false,
        is_error: false,
        through: Vec::new(),
        both_ways: false,
    };
    Graph {
        title: title.into(),
        nodes: process.nodes.iter().zip(inside).map(node).collect(),
        edges: process.edges.iter().map(edge).collect(),
        groups,
        ..Graph::default()
    }
}
