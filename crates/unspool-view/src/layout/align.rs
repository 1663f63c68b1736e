//! Which leaves stand exactly below each other (after Brandes and Köpf).
//!
//! In: the grid and its order. Out: for one of four ways of looking — from above or below, from the left or right — the column of every
//! leaf. Columns never cross each other or the side of a cluster, so they can all be put side by side.

use super::forest::{ClusterId, Forest, ROOT};
use super::grid::{Grid, Kind, Segment};
use super::order::Order;
use super::types::index;

/// Segments along which nothing is aligned.
pub(crate) fn conflicts(grid: &Grid, forest: &Forest, order: &Order) -> Vec<bool> {
    let mut conflicts = vec![false; grid.segments.len()];
    // By cluster: its last rank looked at, and its places there.
    let mut seen = vec![(usize::MAX, 0, 0); forest.len()];
    for rank in 0..order.ranks.len() {
        let mut sides: Vec<(u32, u32)> = Vec::new();
        for Extent { cluster, first, last } in extents(grid, forest, &order.ranks[rank]) {
            let (seen_in, seen_first, seen_last) =
                std::mem::replace(&mut seen[cluster as usize], (rank, first, last));
            if seen_in.wrapping_add(1) == rank {
                sides.extend([(seen_first, first), (seen_last, last)]);
            }
        }
        if rank == 0 {
            continue;
        }
        let (upper, lower) = (&order.ranks[rank - 1], &order.ranks[rank]);
        let segments = || upper.iter().flat_map(|leaf| grid.below.of(*leaf)).copied();
        if forest.len() > 0 {
            let sides = Fences::new(upper.len(), sides.into_iter());
            for n in segments() {
                let segment = &grid.segments[n as usize];
                conflicts[n as usize] =
                    sides.crosses(order, segment) || leaves_cluster(grid, forest, segment);
            }
        }
        if upper.len() < 2 || lower.len() < 2 {
            continue;
        }
        let is_inner = |segment: &Segment| {
            grid.leaves[segment.upper as usize].kind == Kind::Bend
                && grid.leaves[segment.lower as usize].kind == Kind::Bend
        };
        let place = |leaf: u32| order.places[leaf as usize];
        let inner = segments().filter(|n| !conflicts[*n as usize]).map(|n| &grid.segments[n as usize]);
        let inner: Vec<(u32, u32)> =
            inner.filter(|s| is_inner(s)).map(|s| (place(s.upper), place(s.lower))).collect();
        if inner.is_empty() {
            continue;
        }
        let fences = Fences::new(upper.len(), inner.into_iter());
        for n in segments() {
            let segment = &grid.segments[n as usize];
            conflicts[n as usize] |= !is_inner(segment) && fences.crosses(order, segment);
        }
    }
    conflicts
}

/// Lines between two ranks that nothing should cross.
struct Fences {
    /// By upper place: the rightmost lower end of lines that begin further left, and the leftmost of those further right.
    reach: Vec<(Option<u32>, Option<u32>)>,
}

impl Fences {
    fn new(upper_count: usize, lines: impl Iterator<Item = (u32, u32)>) -> Fences {
        let mut at: Vec<(Option<u32>, Option<u32>)> = vec![(None, None); upper_count];
        for (upper, lower) in lines {
            let (lowest, highest) = &mut at[upper as usize];
            *lowest = Some(lowest.map_or(lower, |known: u32| known.min(lower)));
            *highest = (*highest).max(Some(lower));
        }
        let mut reach = vec![(None, None); upper_count];
        let mut rightmost: Option<u32> = None;
        for (place, (_, highest)) in at.iter().enumerate() {
            reach[place].0 = rightmost;
            rightmost = rightmost.max(*highest);
        }
        let mut leftmost: Option<u32> = None;
        for (place, (lowest, _)) in at.iter().enumerate().rev() {
            reach[place].1 = leftmost;
            leftmost = leftmost.into_iter().chain(*lowest).min();
        }
        Fences { reach }
    }

    fn crosses(&self, order: &Order, segment: &Segment) -> bool {
        let (rightmost, leftmost) = self.reach[order.places[segment.upper as usize] as usize];
        let lower = order.places[segment.lower as usize];
        rightmost.is_some_and(|end| end > lower) || leftmost.is_some_and(|end| end < lower)
    }
}

/// Where clusters begin and end in a rank.
fn extents(grid: &Grid, forest: &Forest, leaves: &[u32]) -> Vec<Extent> {
    let cluster = |place: usize| leaves.get(place).map_or(ROOT, |leaf| grid.leaves[*leaf as usize].cluster);
    let mut open: Vec<Extent> = Vec::new();
    let mut closed = Vec::new();
    let mut common = ROOT;
    for (place, first) in (0u32..).zip(0..leaves.len()) {
        let here = cluster(first);
        let mut begun: Vec<ClusterId> = forest.around(here).take_while(|around| *around != common).collect();
        begun.reverse();
        open.extend(begun.into_iter().map(|cluster| Extent { cluster, first: place, last: place }));
        common = forest.meet(here, cluster(first + 1)).common;
        while let Some(extent) = open.pop_if(|extent| extent.cluster != common) {
            closed.push(Extent { last: place, ..extent });
        }
    }
    closed
}

/// The places of a cluster in a rank.
struct Extent {
    cluster: ClusterId,
    first: u32,
    last: u32,
}

/// One end lies in a cluster that also stands beside the other end.
fn leaves_cluster(grid: &Grid, forest: &Forest, segment: &Segment) -> bool {
    let (upper, lower) = (&grid.leaves[segment.upper as usize], &grid.leaves[segment.lower as usize]);
    let meeting = forest.meet(upper.cluster, lower.cluster);
    let spans = |cluster: u32| grid.spans.get(cluster as usize);
    spans(meeting.below_a).is_some_and(|span| span.last >= lower.rank)
        || spans(meeting.below_b).is_some_and(|span| span.first <= upper.rank)
}

/// One of the four ways of looking.
#[derive(Clone, Copy)]
pub(crate) struct Look {
    pub(crate) from_above: bool,
    pub(crate) from_left: bool,
}

/// For each leaf the first leaf of its column.
pub(crate) fn columns(grid: &Grid, order: &Order, conflicts: &[bool], look: Look) -> Vec<u32> {
    let mut roots: Vec<u32> = (0..index(grid.leaves.len())).collect();
    let count = order.ranks.len();
    let mut near: Vec<(u32, u32, u32)> = Vec::new();
    for nth in 1..count {
        let rank = if look.from_above { nth } else { count - 1 - nth };
        let leaves = &order.ranks[rank];
        // The next column may only be joined beyond this place.
        let mut limit: Option<u32> = None;
        for at in 0..leaves.len() {
            let leaf = leaves[if look.from_left { at } else { leaves.len() - 1 - at }];
            let segments = if look.from_above { grid.above.of(leaf) } else { grid.below.of(leaf) };
            near.clear();
            near.extend(segments.iter().map(|n| {
                let segment = &grid.segments[*n as usize];
                let other = if look.from_above { segment.upper } else { segment.lower };
                (order.places[other as usize], other, *n)
            }));
            near.sort_unstable();
            if !look.from_left {
                near.reverse();
            }
            let medians = near.len().saturating_sub(1) / 2..=near.len() / 2;
            for (place, other, segment) in near.get(medians).unwrap_or(&near) {
                let is_beyond =
                    limit.is_none_or(|limit| if look.from_left { *place > limit } else { *place < limit });
                if is_beyond && !conflicts[*segment as usize] {
                    roots[leaf as usize] = roots[*other as usize];
                    limit = Some(*place);
                    break;
                }
            }
        }
    }
    roots
}
