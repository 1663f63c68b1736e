//! The place of everything along the ranks.
//!
//! In: the grid and the room frames need. Out: top and bottom of every rank and every cluster. Between two ranks lies a gap in which
//! edges may move sideways without touching a node.

use super::forest::Forest;
use super::grid::Grid;
use super::types::Cluster;

pub(crate) struct Bands {
    /// Top and bottom of each rank.
    pub(crate) ranks: Vec<(f64, f64)>,
    /// The same with the frames that begin or end there.
    pub(crate) framed: Vec<(f64, f64)>,
    /// Top and bottom of each cluster.
    pub(crate) clusters: Vec<(f64, f64)>,
}

/// `extra` is what edges need between a rank and the next beyond the usual gap.
pub(crate) fn bands(
    grid: &Grid,
    forest: &Forest,
    clusters: &[Cluster],
    is_down: bool,
    gap: f64,
    extra: &[f64],
) -> Bands {
    let mut heights = vec![0.0f64; grid.rank_count];
    for leaf in &grid.leaves {
        let height = &mut heights[leaf.rank as usize];
        *height = height.max(leaf.size.height);
    }
    // How far each cluster reaches beyond its first and its last rank, with those in it.
    let mut above = vec![0.0f64; forest.len()];
    let mut below = vec![0.0f64; forest.len()];
    let mut room_above = vec![0.0f64; grid.rank_count];
    let mut room_below = vec![0.0f64; grid.rank_count];
    for &id in forest.inner_first() {
        let n = id as usize;
        let (cluster, span) = (&clusters[n], grid.spans[n]);
        above[n] += cluster.padding + if is_down { cluster.label.height } else { 0.0 };
        below[n] += cluster.padding;
        let (first, last) = (span.first as usize, span.last as usize);
        room_above[first] = room_above[first].max(above[n]);
        room_below[last] = room_below[last].max(below[n]);
        let parent = forest.parent(id) as usize;
        if let Some(outer) = grid.spans.get(parent) {
            if outer.first == span.first {
                above[parent] = above[parent].max(above[n]);
            }
            if outer.last == span.last {
                below[parent] = below[parent].max(below[n]);
            }
        }
    }
    let mut ranks = Vec::with_capacity(grid.rank_count);
    let mut framed = Vec::with_capacity(grid.rank_count);
    let mut y = 0.0;
    for rank in 0..grid.rank_count {
        let top = y + room_above[rank];
        let bottom = top + heights[rank];
        ranks.push((top, bottom));
        framed.push((y, bottom + room_below[rank]));
        y = bottom + room_below[rank] + gap + extra.get(rank).copied().unwrap_or(0.0);
    }
    let place = |n: usize| {
        let span = grid.spans[n];
        (ranks[span.first as usize].0 - above[n], ranks[span.last as usize].1 + below[n])
    };
    let clusters = (0..forest.len()).map(place).collect();
    Bands { ranks, framed, clusters }
}
