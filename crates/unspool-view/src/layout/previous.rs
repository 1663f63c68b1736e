//! What a later layout remembers of an earlier one, so that things stay where they were.
//!
//! In: a layout and the keys of its nodes. Out: for another graph, where each of its nodes and edges was.

use super::types::{Graph, Layout, Point};
use rustc_hash::FxHashMap;

/// Where things were, by key.
#[derive(Clone, Debug, Default)]
pub struct Previous {
    nodes: FxHashMap<String, Point>,
    edges: FxHashMap<(String, String, u64), Vec<Point>>,
}

/// Where the nodes and edges of a graph were.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Hint {
    /// Middles of nodes.
    pub nodes: Vec<Option<Point>>,
    /// Ways of edges between their ends.
    pub edges: Vec<Option<Vec<Point>>>,
}

impl Previous {
    /// Remembers a layout; `keys` name the nodes.
    pub fn new<K: AsRef<str>>(keys: &[K], graph: &Graph, layout: &Layout) -> Previous {
        let nodes = keys.iter().zip(&layout.nodes);
        let nodes = nodes.map(|(key, rect)| (key.as_ref().to_string(), rect.center())).collect();
        let edges = graph.edges.iter().zip(&layout.edges).filter(|(_, path)| !path.via.is_empty());
        let edges = edges.filter_map(|(edge, path)| {
            let key = |node: usize| keys.get(node).map(|key| key.as_ref().to_string());
            Some(((key(edge.from)?, key(edge.to)?, edge.order), path.via.clone()))
        });
        Previous { nodes, edges: edges.collect() }
    }

    /// What it knows of another graph.
    pub fn hint<K: AsRef<str>>(&self, keys: &[K], graph: &Graph) -> Hint {
        let nodes = keys.iter().map(|key| self.nodes.get(key.as_ref()).copied()).collect();
        let edge = |edge: &super::types::Edge| {
            let key = |node: usize| keys.get(node).map(|key| key.as_ref().to_string());
            self.edges.get(&(key(edge.from)?, key(edge.to)?, edge.order)).cloned()
        };
        Hint { nodes, edges: graph.edges.iter().map(edge).collect() }
    }
}
