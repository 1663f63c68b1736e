//! A graph box by box: which boxes and nodes lie in which.

use crate::graph::Graph;

/// Boxes lie so deep in each other at most; deeper ones stand beside each other in the last that may hold some. Names of boxes would
/// else grow with the square of the depth.
const MAX_BOX_DEPTH: usize = 64;

/// What lies in each box, and what in none.
pub(super) struct Nested {
    /// By box: the one it is drawn in. Outer ones come first.
    pub(super) parents: Vec<Option<usize>>,
    /// Boxes that are not drawn in the one they lie in.
    flattened: usize,
    /// By box: the boxes in it.
    boxes: Vec<Vec<usize>>,
    /// By box: the nodes in it.
    nodes: Vec<Vec<usize>>,
}

/// One step of a walk through boxes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Visit {
    Open(usize),
    Node(usize),
    Close(usize),
}

impl Nested {
    pub(super) fn new(graph: &Graph) -> Nested {
        let outside = graph.groups.len();
        let mut nested = Nested {
            parents: Vec::with_capacity(outside),
            flattened: 0,
            boxes: vec![Vec::new(); outside + 1],
            nodes: vec![Vec::new(); outside + 1],
        };
        let mut depths: Vec<usize> = Vec::with_capacity(outside);
        for (n, group) in graph.groups.iter().enumerate() {
            let mut parent = group.parent.map(|parent| parent as usize).filter(|parent| *parent < n);
            if let Some(deepest) = parent.filter(|parent| depths[*parent] >= MAX_BOX_DEPTH) {
                parent = nested.parents[deepest];
                nested.flattened += 1;
            }
            depths.push(parent.map_or(1, |parent| depths[parent] + 1));
            nested.parents.push(parent);
            nested.boxes[parent.unwrap_or(outside)].push(n);
        }
        for (n, node) in graph.nodes.iter().enumerate() {
            let slot = node.group.map_or(outside, |group| (group as usize).min(outside));
            nested.nodes[slot].push(n);
        }
        nested
    }

    /// What to say of boxes that are not drawn where they lie.
    pub(super) fn notice(&self) -> Option<String> {
        (self.flattened > 0).then(|| {
            format!(
                "max_box_depth: {} boxes lie deeper than {MAX_BOX_DEPTH} and stand beside each other",
                self.flattened
            )
        })
    }

    /// Boxes that lie in no other.
    pub(super) fn outermost(&self) -> &[usize] {
        self.boxes.last().map_or(&[], Vec::as_slice)
    }

    /// Nodes that lie in no box.
    pub(super) fn loose(&self) -> &[usize] {
        self.nodes.last().map_or(&[], Vec::as_slice)
    }

    /// Everything: first nodes that lie in no box, then each box with what is in it.
    pub(super) fn walk(&self) -> Vec<(usize, Visit)> {
        let mut visits: Vec<(usize, Visit)> = self.loose().iter().map(|n| (0, Visit::Node(*n))).collect();
        for group in self.outermost() {
            visits.extend(self.inside(*group));
        }
        visits
    }

    /// A box with everything in it, each with its depth.
    pub(super) fn inside(&self, group: usize) -> Vec<(usize, Visit)> {
        let mut visits = Vec::new();
        let mut open = vec![(0, Visit::Open(group))];
        while let Some((depth, visit)) = open.pop() {
            visits.push((depth, visit));
            if let Visit::Open(group) = visit {
                open.push((depth, Visit::Close(group)));
                let inner = self.boxes[group].iter().map(|inner| Visit::Open(*inner));
                let nodes = self.nodes[group].iter().map(|node| Visit::Node(*node));
                let found: Vec<Visit> = nodes.chain(inner).collect();
                open.extend(found.into_iter().rev().map(|visit| (depth + 1, visit)));
            }
        }
        visits
    }
}
