//! The pattern of a workflow as a graph to draw: an agent with something inside is a box.

use super::{Edge, Graph, Group, Node, Relation};
use crate::totals::Totals;
use crate::workflow::Workflow;
use unspool_model::Confidence;

/// Turns a pattern into a graph.
pub fn from_workflow(title: &str, workflow: &Workflow) -> Graph {
    let mut graph = Graph { title: title.into(), ..Graph::default() };
    let holds: Vec<bool> = {
        let mut holds = vec![false; workflow.nodes.len()];
        for parent in workflow.nodes.iter().filter_map(|node| node.parent) {
            holds[parent as usize] = true;
        }
        holds
    };
    let mut group_of: Vec<Option<u32>> = vec![None; workflow.nodes.len()];
    for (n, node) in workflow.nodes.iter().enumerate().filter(|(n, _)| holds[*n]) {
        group_of[n] = u32::try_from(graph.groups.len()).ok();
        graph.groups.push(Group {
            id: format!("in:{}", node.id),
            label: node.display_name.clone(),
            parent: None,
        });
    }
    for (n, node) in workflow.nodes.iter().enumerate() {
        let above = node.parent.and_then(|parent| group_of[parent as usize]);
        if let Some(own) = group_of[n] {
            graph.groups[own as usize].parent = above.filter(|above| *above != own);
        }
        let count = node.item_ids.len() as u64;
        graph.nodes.push(Node {
            id: node.id.clone(),
            label: node.display_name.clone(),
            kind: node.node_type.name(),
            group: above,
            totals: Totals { steps: count, errors: node.errors, ..node.totals },
            busy_ms: u64::try_from(node.duration_ms).unwrap_or(0),
            is_error: node.errors > 0,
            ..Node::default()
        });
    }
    for edge in &workflow.edges {
        graph.edges.push(Edge {
            from: edge.source,
            to: edge.target,
            relation: if edge.enters { Relation::Enters } else { Relation::Follows },
            count: edge.forward + edge.backward,
            label: String::new(),
            confidence: Confidence::EXACT,
            inferred: false,
            is_error: false,
            through: Vec::new(),
            both_ways: edge.bidirectional,
        });
    }
    graph
}
