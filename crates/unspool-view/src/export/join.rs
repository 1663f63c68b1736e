//! Graphs of several sessions as one, and names for lanes.

use crate::duration::duration;
use crate::graph::{Edge, Graph, Group, Node};
use rustc_hash::FxHashMap;
use unspool_model::Flow;
use unspool_model::flow::NONE;

/// One graph of several: each lies in a box of its own. One alone stays as it is. `what` says what there are several of.
pub fn join(mut graphs: Vec<(String, Graph)>, what: &str) -> Graph {
    if graphs.len() == 1 {
        return graphs.remove(0).1;
    }
    let mut joined = Graph { title: format!("{} {what}", graphs.len()), ..Graph::default() };
    for (session, graph) in graphs {
        let index = |at: usize| u32::try_from(at).unwrap_or(NONE);
        let own = index(joined.groups.len());
        let (nodes, groups) = (index(joined.nodes.len()), own + 1);
        let label = if graph.title.is_empty() { session.clone() } else { graph.title };
        joined.groups.push(Group { id: session.clone(), label, parent: None });
        joined.groups.extend(graph.groups.into_iter().map(|group| Group {
            id: format!("{session}/{}", group.id),
            parent: Some(group.parent.map_or(own, |parent| parent + groups)),
            ..group
        }));
        joined.nodes.extend(graph.nodes.into_iter().map(|node| Node {
            id: format!("{session}/{}", node.id),
            group: Some(node.group.map_or(own, |group| group + groups)),
            ..node
        }));
        joined.edges.extend(graph.edges.into_iter().map(|edge| Edge {
            from: edge.from + nodes,
            to: edge.to + nodes,
            ..edge
        }));
    }
    joined
}

/// Says in the label of each run's box how the run ended and how long it took.
pub fn name_lanes(flow: &Flow, graph: &mut Graph) {
    let mut boxes: FxHashMap<String, &mut Group> =
        graph.groups.iter_mut().map(|group| (group.id.clone(), group)).collect();
    for (n, run) in flow.runs.iter().enumerate() {
        if let Some(group) = boxes.get_mut(&run.id.show('u')) {
            let took =
                run.ended.ms_since(run.started).map_or_else(String::new, |ms| format!(", {}", duration(ms)));
            group.label = format!("Run {} — {}{took}", n + 1, run.status.name());
        }
    }
}
