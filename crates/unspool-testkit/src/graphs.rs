//! Graphs to measure layout on.
//!
//! In: a shape, a number of nodes, a seed. Out: the same graph for ever. Never here: text of a real session.

use crate::Random;
use unspool_view::layout::{Cluster, Edge, Graph, Node, Size};

/// The shapes graphs come in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GraphShape {
    /// Model calls in a chain, tools side by side between them, and agents in agents.
    Session,
    /// Layers of ten, with three edges for two nodes.
    Layers,
    /// One node that leads to all others, and these to a last one.
    Fan,
    /// A chain with edges over thousands of nodes.
    LongEdges,
}

impl GraphShape {
    /// All shapes.
    pub const ALL: [GraphShape; 4] =
        [GraphShape::Session, GraphShape::Layers, GraphShape::Fan, GraphShape::LongEdges];

    /// What to call it.
    pub fn name(self) -> &'static str {
        match self {
            GraphShape::Session => "session",
            GraphShape::Layers => "layers",
            GraphShape::Fan => "fan",
            GraphShape::LongEdges => "long-edges",
        }
    }

    /// A graph of this shape.
    pub fn graph(self, nodes: usize, seed: u64) -> Graph {
        let mut random = Random::new(seed);
        match self {
            GraphShape::Session => session(nodes, &mut random),
            GraphShape::Layers => layers(nodes, &mut random),
            GraphShape::Fan => fan(nodes),
            GraphShape::LongEdges => long_edges(nodes, &mut random),
        }
    }
}

const BOX: Size = Size { width: 120.0, height: 36.0 };

fn node(cluster: Option<usize>) -> Node {
    Node { size: BOX, cluster }
}

/// An agent at work: its box, its last step, and how many calls it still makes.
struct Worker {
    /// Made when it is first needed, so that none is empty.
    cluster: Option<usize>,
    parent: Option<usize>,
    last: Vec<usize>,
    calls: usize,
}

fn session(count: usize, random: &mut Random) -> Graph {
    let mut graph = Graph::default();
    let cluster = |parent| Cluster { parent, label: Size { width: 90.0, height: 16.0 }, padding: 10.0 };
    let mut stack: Vec<Worker> = Vec::new();
    while graph.nodes.len() < count {
        let Some(worker) = stack.last_mut() else {
            stack.push(Worker { cluster: None, parent: None, last: Vec::new(), calls: usize::MAX });
            continue;
        };
        if worker.calls == 0 {
            let ended = stack.pop().map(|worker| worker.last).unwrap_or_default();
            if let Some(parent) = stack.last_mut() {
                parent.last.extend(ended);
            }
            continue;
        }
        worker.calls -= 1;
        let home = worker.cluster.unwrap_or(graph.clusters.len());
        if worker.cluster.is_none() {
            graph.clusters.push(cluster(worker.parent));
            worker.cluster = Some(home);
        }
        let call = graph.nodes.len();
        graph.nodes.push(node(Some(home)));
        graph.edges.extend(worker.last.drain(..).map(|last| Edge::new(last, call)));
        let tools = random.count(1, 4).min(count.saturating_sub(graph.nodes.len()));
        for _ in 0..tools {
            worker.last.push(graph.nodes.len());
            graph.edges.push(Edge::new(call, graph.nodes.len()));
            graph.nodes.push(node(Some(home)));
        }
        if stack.len() < 4 && random.percent(15) {
            let agents = random.count(1, 3);
            for _ in 0..agents {
                let calls = random.count(1, 8);
                stack.push(Worker { cluster: None, parent: Some(home), last: vec![call], calls });
            }
        }
    }
    graph
}

fn layers(count: usize, random: &mut Random) -> Graph {
    const WIDTH: usize = 10;
    let mut graph = Graph { nodes: vec![node(None); count], ..Graph::default() };
    for n in WIDTH..count {
        let above = (n / WIDTH - 1) * WIDTH;
        graph.edges.push(Edge::new(above + random.below(WIDTH), n));
        if random.percent(50) {
            graph.edges.push(Edge::new(above + random.below(WIDTH), n));
        }
    }
    graph
}

fn fan(count: usize) -> Graph {
    let last = count.saturating_sub(1);
    let mut graph = Graph { nodes: vec![node(None); count], ..Graph::default() };
    for n in 1..last {
        graph.edges.extend([Edge::new(0, n), Edge::new(n, last)]);
    }
    graph
}

fn long_edges(count: usize, random: &mut Random) -> Graph {
    let mut graph = Graph { nodes: vec![node(None); count], ..Graph::default() };
    for n in 1..count {
        graph.edges.push(Edge::new(n - 1, n));
        graph.edges.push(Edge::new(random.below(n), n));
    }
    graph
}
