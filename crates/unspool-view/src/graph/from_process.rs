//! The process behind many runs as a graph to draw: a node says in how many runs it is, an agent with something inside is a box.

use super::from_workflow::boxes;
use super::{Edge, Graph, Node, Relation, Tally};
use crate::totals::Totals;
use crate::workflow::{NodeType, Process, ProcessNode};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::fmt::Write as _;
use unspool_model::Confidence;

/// Turns a process into a graph of the nodes and transitions that at least a share of the runs have. What is left out is counted.
pub fn from_process(title: &str, process: &Process, min_share: f64) -> Graph {
    #[expect(clippy::cast_precision_loss, reason = "numbers of runs are small")]
    let is_frequent = |runs: u64| runs as f64 >= process.runs as f64 * min_share;
    let order = in_order(process);
    let number = numbers(process, &order, &is_frequent);
    let is_kept = |n: &u32| number[*n as usize].is_some();
    let kept: Vec<&ProcessNode> =
        order.iter().filter(|n| is_kept(n)).map(|n| &process.nodes[*n as usize]).collect();
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
        busy_ms: node.total_ms(),
        // One that fails now and then is no failed node.
        is_error: node.errors * 2 > node.count,
        ..Node::default()
    };
    let mut edges: Vec<Edge> = Vec::new();
    let mut back_of: FxHashMap<(u32, u32), (usize, u64)> = FxHashMap::default();
    for edge in &process.edges {
        let (Some(from), Some(to)) = (number[edge.source as usize], number[edge.target as usize]) else {
            tally.filtered_edges += 1;
            continue;
        };
        if !is_frequent(edge.runs) {
            tally.filtered_edges += 1;
        } else if let Some((at, runs)) = back_of.get(&(to, from)).copied() {
            // What is seen both ways is one arrow; the more frequent way came first.
            edges[at].both_ways = true;
            if edge.runs != runs {
                edges[at].label = format!("{runs} and back {} of {} runs", edge.runs, process.runs);
            }
        } else {
            back_of.insert((from, to), (edges.len(), edge.runs));
            edges.push(Edge {
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
                link: None,
            });
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

/// Nodes as they follow each other, along what most runs do first; the end last.
fn in_order(process: &Process) -> Vec<u32> {
    let count = process.nodes.len();
    let mut next: Vec<Vec<u32>> = vec![Vec::new(); count];
    for edge in &process.edges {
        next[edge.source as usize].push(edge.target);
    }
    let is_end = |n: u32| process.nodes[n as usize].node_type == NodeType::End;
    let mut seen = vec![false; count];
    let mut order = Vec::with_capacity(count);
    let all = || (0_u32..).zip(&process.nodes).map(|(n, _)| n);
    for start in all().filter(|n| !is_end(*n)) {
        let mut waiting = VecDeque::from([start]);
        while let Some(n) = waiting.pop_front() {
            if !is_end(n) && !std::mem::replace(&mut seen[n as usize], true) {
                order.push(n);
                waiting.extend(&next[n as usize]);
            }
        }
    }
    order.extend(all().filter(|n| is_end(*n)));
    order
}

fn detail(process: &Process, node: &ProcessNode) -> String {
    let mut detail = format!("{} of {} runs", node.runs, process.runs);
    if node.errors > 0 {
        let _ = write!(detail, ", {} failed", node.errors);
    }
    detail
}

/// The number of each node that is drawn: what is frequent, and what holds it.
fn numbers(process: &Process, order: &[u32], is_frequent: &dyn Fn(u64) -> bool) -> Vec<Option<u32>> {
    let mut is_kept: Vec<bool> = process.nodes.iter().map(|node| is_frequent(node.runs)).collect();
    for node in process.nodes.iter().filter(|node| is_frequent(node.runs)) {
        let mut above = node.parent;
        while let Some(at) = above.filter(|at| !std::mem::replace(&mut is_kept[*at as usize], true)) {
            above = process.nodes[at as usize].parent;
        }
    }
    let mut numbers = vec![None; is_kept.len()];
    for (number, n) in (0..).zip(order.iter().filter(|n| is_kept[**n as usize])) {
        numbers[*n as usize] = Some(number);
    }
    numbers
}
