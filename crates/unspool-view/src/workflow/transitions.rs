//! What followed what among the items of one parent.
//!
//! Items that ran side by side do not follow each other: those one model call asked for, those that overlap in time, and
//! those between two occurrences of the node they go out from and come back to.

use super::group::Groups;
use super::{END, Item, NodeType, START, WorkflowEdge};
use rustc_hash::FxHashMap;

/// Edges in the making, by the unordered pair of their nodes.
#[derive(Default)]
struct Edges {
    edges: Vec<WorkflowEdge>,
    index: FxHashMap<(String, String), usize>,
}

impl Edges {
    fn add(&mut self, source: &str, target: &str, enters: bool) {
        if source == target {
            return;
        }
        let pair = if source < target { (source, target) } else { (target, source) };
        let at = *self.index.entry((pair.0.to_string(), pair.1.to_string())).or_insert_with(|| {
            self.edges.push(WorkflowEdge {
                source: source.into(),
                target: target.into(),
                enters,
                ..WorkflowEdge::default()
            });
            self.edges.len() - 1
        });
        let edge = &mut self.edges[at];
        if edge.source == source {
            edge.forward += 1;
        } else {
            edge.backward += 1;
            edge.bidirectional = true;
        }
    }
}

pub(super) fn transitions(items: &[&Item], groups: &Groups) -> Vec<WorkflowEdge> {
    let mut edges = Edges::default();
    let mut siblings: Vec<(Option<&str>, Vec<usize>)> = Vec::new();
    let mut index: FxHashMap<Option<&str>, usize> = FxHashMap::default();
    for (n, item) in items.iter().enumerate().filter(|(n, _)| groups.node_of[*n].is_some()) {
        let parent = item.parent.as_deref();
        let at = *index.entry(parent).or_insert_with(|| {
            siblings.push((parent, Vec::new()));
            siblings.len() - 1
        });
        siblings[at].1.push(n);
    }
    let mut outermost: Vec<(Vec<usize>, Vec<usize>)> = Vec::new();
    for (_, list) in &siblings {
        let (first, last) = walk(items, groups, list, &mut edges);
        match groups.parent_of[list[0]].and_then(|parent| groups.node_of[parent]) {
            Some(parent) => {
                let parent = groups.nodes[parent].id.clone();
                for item in first {
                    edges.add(&parent, id(groups, item), true);
                }
            }
            None => outermost.push((first, last)),
        }
    }
    // Everything begins with what began first and ends with what came last.
    let began = outermost.iter().flat_map(|(first, _)| first).min().copied();
    let ended = outermost.iter().flat_map(|(_, last)| last).max().copied();
    if let (Some(began), Some(ended)) = (began, ended) {
        let starts =
            outermost.iter().find(|(first, _)| first.contains(&began)).map(|(first, _)| first.clone());
        let ends = outermost.iter().find(|(_, last)| last.contains(&ended)).map(|(_, last)| last.clone());
        for item in starts.unwrap_or_default() {
            edges.add(START, id(groups, item), false);
        }
        for item in ends.unwrap_or_default() {
            edges.add(id(groups, item), END, false);
        }
    }
    edges.edges
}

fn id(groups: &Groups, item: usize) -> &str {
    groups.node_of[item].map_or("", |node| groups.nodes[node].id.as_str())
}

/// Walks one parent's items in order; gives those it began and ended with.
fn walk(items: &[&Item], groups: &Groups, list: &[usize], edges: &mut Edges) -> (Vec<usize>, Vec<usize>) {
    let mut last_of: FxHashMap<usize, usize> = FxHashMap::default();
    for item in list {
        if let Some(node) = groups.node_of[*item] {
            last_of.insert(node, *item);
        }
    }
    let (mut before, mut front): (Vec<usize>, Vec<usize>) = (Vec::new(), Vec::new());
    let mut hub: Option<usize> = None;
    let mut first: Option<Vec<usize>> = None;
    for item in list.iter().copied() {
        let comes_back = hub.is_some_and(|hub| {
            let node = groups.node_of[hub];
            node != groups.node_of[item] && node.is_some_and(|node| last_of[&node] > item)
        });
        let beside = front.iter().any(|other| {
            Some(*other) != hub && comes_back && groups.types[item] != NodeType::Llm
                || runs_beside(items[*other], items[item])
        });
        if !beside {
            if first.is_none() && !front.is_empty() {
                first = Some(front.clone());
            }
            before = std::mem::take(&mut front);
        }
        front.push(item);
        for other in &before {
            edges.add(id(groups, *other), id(groups, item), false);
        }
        if is_hub(items[item], groups, item, &last_of) {
            hub = Some(item);
        }
    }
    (first.unwrap_or_else(|| front.clone()), front)
}

/// Whether others may go out from an item and come back to its node.
fn is_hub(item: &Item, groups: &Groups, n: usize, last_of: &FxHashMap<usize, usize>) -> bool {
    let may = matches!(item.node_type, None | Some(NodeType::Llm | NodeType::Agent));
    may && groups.node_of[n].is_some_and(|node| last_of.get(&node).is_some_and(|last| *last > n))
}

fn runs_beside(a: &Item, b: &Item) -> bool {
    let called = |one: &Item, other: &Item| one.caller.as_deref() == Some(other.id.as_str());
    if called(a, b) || called(b, a) {
        return false;
    }
    if a.caller.is_some() && a.caller == b.caller {
        return true;
    }
    b.started.ms_since(a.ended).is_some_and(|ms| ms < 0)
}
