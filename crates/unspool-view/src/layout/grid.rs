//! The grid: every rank with what stands in it, so that each edge leads from one rank to the next.
//!
//! In: nodes with ranks, edges, clusters. Out: leaves — nodes, bends of edges over several ranks, labels, and fillers where a cluster
//! would otherwise leave a rank — and the segments between them. Never here: order or place within a rank.
//!
//! Edges over very many ranks are not bent in each of them but run through a gutter at the right of the cluster that holds both
//! ends, so the number of bends stays proportional to the graph.

use super::adjacency::Adjacency;
use super::forest::{ClusterId, Forest, ROOT};
use super::types::{Size, index};

/// A node or an edge as the grid sees it: along the ranks is down.
#[derive(Clone, Copy)]
pub(crate) struct Boxed {
    pub(crate) size: Size,
    pub(crate) cluster: ClusterId,
}

/// An edge from the lower rank to the higher.
#[derive(Clone, Copy)]
pub(crate) struct Link {
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) weight: u32,
    pub(crate) label: Option<Size>,
}

/// What a leaf is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Node,
    /// Where an edge passes a rank.
    Bend,
    /// Keeps a cluster together in a rank where it has nothing.
    Filler,
}

/// Something that stands in a rank.
#[derive(Clone, Copy)]
pub(crate) struct Leaf {
    pub(crate) rank: u32,
    pub(crate) cluster: ClusterId,
    pub(crate) kind: Kind,
    pub(crate) size: Size,
}

/// A piece of an edge from one rank to the next.
#[derive(Clone, Copy)]
pub(crate) struct Segment {
    pub(crate) upper: u32,
    pub(crate) lower: u32,
    pub(crate) weight: u32,
}

/// How an edge runs through the grid.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Way {
    /// Over these leaves, without the ends; the number of the one that holds the label.
    Bends { first: u32, count: u32, label: Option<u32> },
    /// Through the gutter of this cluster, in this lane.
    Gutter { cluster: ClusterId, lane: u32 },
}

/// First and last rank of a cluster.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Span {
    pub(crate) first: u32,
    pub(crate) last: u32,
}

/// Everything that stands in ranks. Nodes are the first leaves, under their own numbers.
pub(crate) struct Grid {
    pub(crate) leaves: Vec<Leaf>,
    pub(crate) segments: Vec<Segment>,
    /// Segments below and above each leaf.
    pub(crate) below: Adjacency,
    pub(crate) above: Adjacency,
    pub(crate) ways: Vec<Way>,
    pub(crate) spans: Vec<Span>,
    /// Lanes in the gutter of each cluster; the last entry is the root's.
    pub(crate) gutters: Vec<Vec<f64>>,
    pub(crate) rank_count: usize,
}

/// Room an edge takes in a gutter.
pub(crate) const LANE_WIDTH: f64 = 8.0;
/// With more edges at once, several share a lane.
const MAX_LANES: usize = 40;
/// This many bends are always allowed.
const FREE_BENDS: usize = 2_000;
/// And this many for each node and edge.
const BENDS_PER_THING: usize = 3;
/// An edge that passes so few ranks never needs the gutter.
const SHORT: u32 = 8;

impl Grid {
    pub(crate) fn new(nodes: &[Boxed], ranks: &[u32], links: &[Link], forest: &Forest) -> Grid {
        let leaf = |(node, rank): (&Boxed, &u32)| Leaf {
            rank: *rank,
            cluster: node.cluster,
            kind: Kind::Node,
            size: node.size,
        };
        let mut leaves: Vec<Leaf> = nodes.iter().zip(ranks).map(leaf).collect();
        let spans = spans(nodes, ranks, forest);
        let longest = longest_bent(nodes.len(), ranks, links);
        let mut gutters = Gutters::new(forest.len() + 1);
        let mut segments = Vec::new();
        let mut ways = Vec::with_capacity(links.len());
        for link in links {
            let (start, end) = (ranks[link.from as usize], ranks[link.to as usize]);
            let clusters = (nodes[link.from as usize].cluster, nodes[link.to as usize].cluster);
            let cluster = forest.meet(clusters.0, clusters.1).common;
            let passed = end - start - 1;
            if passed > longest {
                let width = link.label.map_or(0.0, |label| label.width) + LANE_WIDTH;
                gutters.want(cluster, Span { first: start, last: end }, ways.len(), width);
                ways.push(Way::Gutter { cluster, lane: 0 });
                continue;
            }
            let first = index(leaves.len());
            let label_at = link.label.map(|_| passed / 2);
            let mut upper = link.from;
            for bend in 0..passed {
                let size = link.label.filter(|_| label_at == Some(bend)).unwrap_or_default();
                let lower = index(leaves.len());
                leaves.push(Leaf { rank: start + 1 + bend, cluster, kind: Kind::Bend, size });
                segments.push(Segment { upper, lower, weight: link.weight });
                upper = lower;
            }
            segments.push(Segment { upper, lower: link.to, weight: link.weight });
            let label = label_at.filter(|_| passed > 0).map(|at| first + at);
            ways.push(Way::Bends { first, count: passed, label });
        }
        fill(&mut leaves, &spans, forest);
        let below = Adjacency::new(leaves.len(), (0u32..).zip(&segments).map(|(n, s)| (s.upper, n)));
        let above = Adjacency::new(leaves.len(), (0u32..).zip(&segments).map(|(n, s)| (s.lower, n)));
        let rank_count = ranks.iter().max().map_or(0, |last| *last as usize + 1);
        let gutters = gutters.share(&mut ways);
        Grid { leaves, segments, below, above, ways, spans, gutters, rank_count }
    }

    /// The gutter's lanes of a cluster or of the root.
    pub(crate) fn gutter(&self, cluster: ClusterId) -> &[f64] {
        let at = if cluster == ROOT { self.gutters.len() - 1 } else { cluster as usize };
        &self.gutters[at]
    }
}

/// How many ranks an edge may pass with a bend in each: as many as keep the sum of all bends within bounds.
fn longest_bent(node_count: usize, ranks: &[u32], links: &[Link]) -> u32 {
    let allowed = FREE_BENDS + BENDS_PER_THING * (node_count + links.len());
    let mut passed: Vec<u32> =
        links.iter().map(|link| ranks[link.to as usize] - ranks[link.from as usize] - 1).collect();
    passed.sort_unstable();
    let mut sum = 0usize;
    let mut longest = u32::MAX;
    for passed in passed {
        sum += passed as usize;
        if sum > allowed {
            longest = passed.saturating_sub(1).max(SHORT);
            break;
        }
    }
    longest
}

fn spans(nodes: &[Boxed], ranks: &[u32], forest: &Forest) -> Vec<Span> {
    let mut spans = vec![Span { first: u32::MAX, last: 0 }; forest.len()];
    for (node, &rank) in nodes.iter().zip(ranks) {
        if let Some(span) = spans.get_mut(node.cluster as usize) {
            *span = Span { first: span.first.min(rank), last: span.last.max(rank) };
        }
    }
    for &cluster in forest.inner_first() {
        let inner = spans[cluster as usize];
        if let Some(span) = spans.get_mut(forest.parent(cluster) as usize) {
            *span = Span { first: span.first.min(inner.first), last: span.last.max(inner.last) };
        }
    }
    spans
}

/// Gives every cluster a leaf in each of its ranks.
fn fill(leaves: &mut Vec<Leaf>, spans: &[Span], forest: &Forest) {
    let mut is_held: Vec<Vec<bool>> =
        spans.iter().map(|span| vec![false; (span.last + 1).saturating_sub(span.first) as usize]).collect();
    // Whoever holds a rank holds it for all clusters around; answers whether it did not before.
    let mut hold = |cluster: ClusterId, rank: u32| {
        let mut held = forest.around(cluster).map(|around| {
            let at = (rank - spans[around as usize].first) as usize;
            std::mem::replace(&mut is_held[around as usize][at], true)
        });
        let was_held = held.next().unwrap_or(true);
        was_held || {
            held.find(|held| *held);
            false
        }
    };
    for leaf in leaves.iter() {
        hold(leaf.cluster, leaf.rank);
    }
    for &cluster in forest.inner_first() {
        let span = spans[cluster as usize];
        for rank in span.first..=span.last {
            if !hold(cluster, rank) {
                leaves.push(Leaf { rank, cluster, kind: Kind::Filler, size: Size::default() });
            }
        }
    }
}

/// Lanes beside clusters, each shared by edges that do not meet.
struct Gutters {
    /// By cluster, the root last: ranks, edge, room.
    wanted: Vec<Vec<(Span, usize, f64)>>,
}

impl Gutters {
    fn new(count: usize) -> Gutters {
        Gutters { wanted: vec![Vec::new(); count] }
    }

    fn want(&mut self, cluster: ClusterId, span: Span, edge: usize, width: f64) {
        let at = (cluster as usize).min(self.wanted.len() - 1);
        self.wanted[at].push((span, edge, width));
    }

    /// Gives every edge the first lane that is free over its ranks; answers the widths of all lanes.
    fn share(self, ways: &mut [Way]) -> Vec<Vec<f64>> {
        let mut gutters = Vec::with_capacity(self.wanted.len());
        for mut wanted in self.wanted {
            wanted.sort_unstable_by_key(|(span, edge, _)| (span.first, span.last, *edge));
            let mut widths: Vec<f64> = Vec::new();
            let mut ends: Vec<u32> = Vec::new();
            for (nth, (span, edge, width)) in wanted.into_iter().enumerate() {
                let free = ends.iter().position(|end| *end < span.first);
                let lane = free.unwrap_or(if ends.len() < MAX_LANES { ends.len() } else { nth % MAX_LANES });
                if lane == ends.len() {
                    ends.push(0);
                    widths.push(0.0);
                }
                ends[lane] = ends[lane].max(span.last);
                widths[lane] = widths[lane].max(width);
                if let Way::Gutter { lane: given, .. } = &mut ways[edge] {
                    *given = index(lane);
                }
            }
            gutters.push(widths);
        }
        gutters
    }
}
