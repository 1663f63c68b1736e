//! What a later layout remembers of an earlier one, so that things stay where they were.
//!
//! In: a graph, the keys of its nodes, and its layout. Out: for another graph, where each of its nodes and edges was; for the same one, the same layout.

use super::types::{Graph, Layout, Options, Point};
use rustc_hash::FxHashMap;

/// A graph and where everything in it was; `keys` name the nodes.
#[derive(Clone, Debug, Default)]
pub struct Previous {
    keys: Vec<String>,
    graph: Graph,
    options: Options,
    layout: Layout,
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
    pub fn new<K: AsRef<str>>(keys: &[K], graph: Graph, options: Options, layout: Layout) -> Previous {
        Previous { keys: keys.iter().map(|key| key.as_ref().to_string()).collect(), graph, options, layout }
    }

    /// Where everything is.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Whether this is the graph it knows: then nothing of it moves.
    pub fn is_of<K: AsRef<str>>(&self, keys: &[K], graph: &Graph, options: &Options) -> bool {
        self.options == *options
            && self.graph == *graph
            && self.keys.iter().map(String::as_str).eq(keys.iter().map(AsRef::as_ref))
    }

    /// What it knows of another graph.
    pub fn hint<K: AsRef<str>>(&self, keys: &[K], graph: &Graph) -> Hint {
        let middles: FxHashMap<&str, Point> = self
            .keys
            .iter()
            .zip(&self.layout.nodes)
            .map(|(key, rect)| (key.as_str(), rect.center()))
            .collect();
        let ways = self.graph.edges.iter().zip(&self.layout.edges).filter(|(_, path)| !path.via.is_empty());
        let ways: FxHashMap<(&str, &str, u64), &Vec<Point>> = ways
            .filter_map(|(edge, path)| {
                let key = |node: usize| self.keys.get(node).map(String::as_str);
                Some(((key(edge.from)?, key(edge.to)?, edge.order), &path.via))
            })
            .collect();
        let way = |edge: &super::types::Edge| {
            let key = |node: usize| keys.get(node).map(AsRef::as_ref);
            ways.get(&(key(edge.from)?, key(edge.to)?, edge.order)).copied().cloned()
        };
        Hint {
            nodes: keys.iter().map(|key| middles.get(key.as_ref()).copied()).collect(),
            edges: graph.edges.iter().map(way).collect(),
        }
    }
}
