//! The pattern of a workflow as a graph to draw: an agent with something inside is a box.

use super::{Edge, Graph, Group, Node, Relation};
use crate::totals::Totals;
use crate::workflow::Workflow;
use unspool_model::Confidence;

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
