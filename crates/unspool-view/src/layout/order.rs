//! In which order leaves stand in their rank.
//!
//! In: the grid. Out: for each rank its leaves from left to right, with few crossings; the leaves of a cluster stand together, and two
//! clusters stand in the same order in all ranks they share, because a sweep lets clusters that go on from the rank before keep
//! their order. Never here: coordinates.

use super::crossings::Counter;
use super::forest::{ClusterId, Forest, ROOT};
use super::grid::Grid;
use super::types::index;

/// Leaves by rank and their places.
#[derive(Clone)]
pub(crate) struct Order {
    pub(crate) ranks: Vec<Vec<u32>>,
    pub(crate) places: Vec<u32>,
}

/// Work spent on sweeps: leaves times sweeps.
const SWEEP_BUDGET: usize = 1_000_000;
const MOST_SWEEPS: usize = 24;
const FEWEST_SWEEPS: usize = 4;
/// Sweeps without a better order before giving up.
const PATIENCE: usize = 4;

/// The order with the fewest crossings found.
pub(crate) fn order(grid: &Grid, forest: &Forest) -> Order {
    let mut best = first_order(grid, forest, &visits(grid));
    let mut best_crossings = crossings(grid, &best);
    let mut sweeper = Sweeper::new(grid, forest);
    let mut current = best.clone();
    let sweeps = (SWEEP_BUDGET / grid.leaves.len().max(1)).clamp(FEWEST_SWEEPS, MOST_SWEEPS);
    let mut without_gain = 0;
    for sweep in 0..sweeps {
        if best_crossings == 0 || without_gain == PATIENCE {
            break;
        }
        sweeper.sweep(&mut current, sweep % 2 == 0);
        let found = crossings(grid, &current);
        without_gain += 1;
        if found < best_crossings {
            (best_crossings, without_gain) = (found, 0);
            best.clone_from(&current);
        }
    }
    if best_crossings > 0 {
        transpose(grid, &mut best);
    }
    best
}

/// The order given by a number for each leaf: lower ones to the left, clusters at the mean of theirs.
pub(crate) fn given_order(grid: &Grid, forest: &Forest, keys: &[f64]) -> Order {
    first_order(grid, forest, keys)
}

/// When a walk along the edges comes by each leaf.
fn visits(grid: &Grid) -> Vec<f64> {
    const UNSEEN: f64 = -1.0;
    let mut starts: Vec<u32> = (0..index(grid.leaves.len())).collect();
    unspool_model::sort_by_meaning(&mut starts, |leaf| grid.leaves[*leaf as usize].rank);
    let mut visits = vec![UNSEEN; grid.leaves.len()];
    let mut count = 0.0;
    let mut walk = Vec::new();
    for start in starts {
        walk.push(start);
        while let Some(leaf) = walk.pop() {
            if visits[leaf as usize] < 0.0 {
                visits[leaf as usize] = count;
                count += 1.0;
                let below = grid.below.of(leaf).iter().rev();
                walk.extend(below.map(|segment| grid.segments[*segment as usize].lower));
            }
        }
    }
    visits
}

/// One line of all leaves, clusters in one piece; each rank is a part of it.
fn first_order(grid: &Grid, forest: &Forest, keys: &[f64]) -> Order {
    #[derive(Clone, Copy)]
    enum Item {
        Leaf(u32),
        Cluster(ClusterId),
    }
    let mut sums = vec![(0.0, 0.0); forest.len()];
    for (leaf, key) in grid.leaves.iter().zip(keys) {
        if let Some((sum, count)) = sums.get_mut(leaf.cluster as usize) {
            *sum += key;
            *count += 1.0;
        }
    }
    for &cluster in forest.inner_first() {
        let (sum, count) = sums[cluster as usize];
        if let Some(outer) = sums.get_mut(forest.parent(cluster) as usize) {
            *outer = (outer.0 + sum, outer.1 + count);
        }
    }
    let mut children: Vec<Vec<(f64, Item)>> = vec![Vec::new(); forest.len() + 1];
    let home = |cluster: ClusterId| (cluster as usize).min(forest.len());
    for (n, (leaf, key)) in (0u32..).zip(grid.leaves.iter().zip(keys)) {
        children[home(leaf.cluster)].push((*key, Item::Leaf(n)));
    }
    for cluster in 0..index(forest.len()) {
        let (sum, count) = sums[cluster as usize];
        let mean = if count > 0.0 { sum / count } else { 0.0 };
        children[home(forest.parent(cluster))].push((mean, Item::Cluster(cluster)));
    }
    for items in &mut children {
        items.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    let mut ranks = vec![Vec::new(); grid.rank_count];
    let mut walk = vec![(forest.len(), 0)];
    while let Some((home, done)) = walk.pop() {
        if let Some((_, item)) = children[home].get(done) {
            walk.push((home, done + 1));
            match item {
                Item::Leaf(leaf) => ranks[grid.leaves[*leaf as usize].rank as usize].push(*leaf),
                Item::Cluster(cluster) => walk.push((*cluster as usize, 0)),
            }
        }
    }
    let mut order = Order { ranks, places: vec![0; grid.leaves.len()] };
    for rank in 0..grid.rank_count {
        order.place(rank);
    }
    order
}

impl Order {
    fn place(&mut self, rank: usize) {
        for (place, leaf) in (0u32..).zip(&self.ranks[rank]) {
            self.places[*leaf as usize] = place;
        }
    }
}

/// All crossings, weighted.
pub(crate) fn crossings(grid: &Grid, order: &Order) -> u64 {
    let mut counter = Counter::new(1);
    let mut ends: Vec<(u32, u32)> = Vec::new();
    let mut total = 0;
    for (rank, leaves) in order.ranks.iter().enumerate().skip(1) {
        if leaves.len() < 2 || order.ranks[rank - 1].len() < 2 {
            continue;
        }
        counter.clear(leaves.len());
        for upper in &order.ranks[rank - 1] {
            ends.clear();
            ends.extend(grid.below.of(*upper).iter().map(|segment| {
                let segment = &grid.segments[*segment as usize];
                (order.places[segment.lower as usize], segment.weight)
            }));
            ends.sort_unstable();
            total += ends.iter().map(|(place, weight)| counter.add(*place, *weight)).sum::<u64>();
        }
    }
    total
}

/// Swaps neighbours of one cluster while that takes crossings away.
fn transpose(grid: &Grid, order: &mut Order) {
    const ROUNDS: usize = 4;
    let (mut left, mut right) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let mut is_better = false;
        for rank in 0..order.ranks.len() {
            for place in 1..order.ranks[rank].len() {
                let (a, b) = (order.ranks[rank][place - 1], order.ranks[rank][place]);
                if grid.leaves[a as usize].cluster != grid.leaves[b as usize].cluster {
                    continue;
                }
                let mut gain = 0i64;
                for is_above in [true, false] {
                    neighbours(grid, order, a, is_above, &mut left);
                    neighbours(grid, order, b, is_above, &mut right);
                    gain += gain_of_swap(&left, &right);
                }
                if gain > 0 {
                    is_better = true;
                    order.ranks[rank].swap(place - 1, place);
                    order.places.swap(a as usize, b as usize);
                }
            }
        }
        if !is_better {
            break;
        }
    }
}

/// Places of the neighbours in the rank above or below, sorted, with weights.
fn neighbours(grid: &Grid, order: &Order, leaf: u32, is_above: bool, into: &mut Vec<(u32, i64)>) {
    into.clear();
    let segments = if is_above { grid.above.of(leaf) } else { grid.below.of(leaf) };
    into.extend(segments.iter().map(|segment| {
        let segment = &grid.segments[*segment as usize];
        let other = if is_above { segment.upper } else { segment.lower };
        (order.places[other as usize], i64::from(segment.weight))
    }));
    into.sort_unstable();
}

/// Crossings with the left one left, minus crossings with it right.
fn gain_of_swap(left: &[(u32, i64)], right: &[(u32, i64)]) -> i64 {
    let right_total: i64 = right.iter().map(|(_, weight)| weight).sum();
    let (mut below, mut upto) = (0, 0);
    let (mut before, mut through) = (0i64, 0i64);
    let mut gain = 0;
    for (place, weight) in left {
        while below < right.len() && right[below].0 < *place {
            before += right[below].1;
            below += 1;
        }
        while upto < right.len() && right[upto].0 <= *place {
            through += right[upto].1;
            upto += 1;
        }
        gain += weight * (before - (right_total - through));
    }
    gain
}

/// Something to sort within a cluster and a rank.
#[derive(Clone, Copy)]
struct Item {
    /// Where its neighbours pull it.
    key: Option<f64>,
    leaf: u32,
    /// Of a cluster: its list.
    list: Option<u32>,
}

/// What a cluster holds in a rank.
#[derive(Default)]
struct List {
    cluster: ClusterId,
    items: Vec<Item>,
    sum: f64,
    count: f64,
}

/// Sorts rank after rank by where the rank before pulls.
struct Sweeper<'a> {
    grid: &'a Grid,
    forest: &'a Forest,
    /// By cluster: the rank and sweep it was last listed in, and its list there.
    listed: Vec<(usize, u32)>,
    /// By cluster: the step of the sweep it was last placed in, and its place there.
    placed: Vec<(usize, u32)>,
    step: usize,
    lists: Vec<List>,
}

impl<'a> Sweeper<'a> {
    fn new(grid: &'a Grid, forest: &'a Forest) -> Sweeper<'a> {
        let none = vec![(0, 0); forest.len()];
        Sweeper { grid, forest, listed: none.clone(), placed: none, step: 0, lists: Vec::new() }
    }

    fn sweep(&mut self, order: &mut Order, is_down: bool) {
        let count = order.ranks.len();
        // A step is skipped so that nothing seems to go on from the sweep before.
        self.step += 2;
        for nth in 0..count {
            let rank = if is_down { nth } else { count - 1 - nth };
            self.step += 1;
            self.sort_rank(order, rank, is_down);
            order.place(rank);
        }
    }

    fn key(&self, order: &Order, leaf: u32, is_down: bool) -> Option<f64> {
        let segments = if is_down { self.grid.above.of(leaf) } else { self.grid.below.of(leaf) };
        let (mut sum, mut total) = (0.0, 0.0);
        for segment in segments {
            let segment = &self.grid.segments[*segment as usize];
            let other = if is_down { segment.upper } else { segment.lower };
            sum += f64::from(order.places[other as usize]) * f64::from(segment.weight);
            total += f64::from(segment.weight);
        }
        (total > 0.0).then(|| sum / total)
    }

    fn sort_rank(&mut self, order: &mut Order, rank: usize, is_down: bool) {
        let leaves = std::mem::take(&mut order.ranks[rank]);
        self.lists.clear();
        self.lists.push(List { cluster: ROOT, ..List::default() });
        for &leaf in &leaves {
            let key = self.key(order, leaf, is_down);
            let list = self.list_of(self.grid.leaves[leaf as usize].cluster);
            let list = &mut self.lists[list as usize];
            list.items.push(Item { key, leaf, list: None });
            if let Some(key) = key {
                list.sum += key;
                list.count += 1.0;
            }
        }
        self.sum_up();
        for n in 0..self.lists.len() {
            let mut items = std::mem::take(&mut self.lists[n].items);
            sort_keyed(&mut items);
            self.keep_order_of_clusters(&mut items);
            self.lists[n].items = items;
        }
        order.ranks[rank] = self.flatten(leaves.len());
    }

    /// The list of a cluster in this rank; makes it and those around it if need be.
    fn list_of(&mut self, cluster: ClusterId) -> u32 {
        let mut made: Option<u32> = None;
        let mut innermost = None;
        let mut at = cluster;
        loop {
            let (list, is_known) = if at == ROOT {
                (0, true)
            } else if self.listed[at as usize].0 == self.step {
                (self.listed[at as usize].1, true)
            } else {
                let list = index(self.lists.len());
                self.lists.push(List { cluster: at, ..List::default() });
                self.listed[at as usize] = (self.step, list);
                (list, false)
            };
            if let Some(inner) = made {
                self.lists[list as usize].items.push(Item { key: None, leaf: 0, list: Some(inner) });
            }
            innermost = innermost.or(Some(list));
            if is_known {
                return innermost.unwrap_or(0);
            }
            made = Some(list);
            at = self.forest.parent(at);
        }
    }

    /// Clusters are pulled to where what is in them is pulled.
    fn sum_up(&mut self) {
        if self.lists.len() == 1 {
            return;
        }
        let mut deep_first: Vec<usize> = (0..self.lists.len()).collect();
        unspool_model::sort_by_meaning(&mut deep_first, |n| {
            std::cmp::Reverse(self.forest.depth(self.lists[*n].cluster))
        });
        for n in deep_first {
            let mut items = std::mem::take(&mut self.lists[n].items);
            for item in &mut items {
                let Some(inner) = item.list else { continue };
                let inner = &self.lists[inner as usize];
                if inner.count > 0.0 {
                    item.key = Some(inner.sum / inner.count);
                    let (sum, count) = (inner.sum, inner.count);
                    self.lists[n].sum += sum;
                    self.lists[n].count += count;
                }
            }
            self.lists[n].items = items;
        }
    }

    /// Clusters that were in the rank before keep their order among themselves.
    fn keep_order_of_clusters(&self, items: &mut [Item]) {
        let before = |item: &Item| {
            let (step, place) = self.placed[self.lists[item.list? as usize].cluster as usize];
            (step + 1 == self.step).then_some(place)
        };
        let mut going_on: Vec<(u32, Item)> =
            items.iter().filter_map(|item| Some((before(item)?, *item))).collect();
        if going_on.len() > 1 {
            going_on.sort_by_key(|(place, _)| *place);
            let mut sorted = going_on.into_iter();
            for slot in items.iter_mut().filter(|item| before(item).is_some()) {
                if let Some((_, item)) = sorted.next() {
                    *slot = item;
                }
            }
        }
    }

    /// All lists in one line, and where each cluster now begins.
    fn flatten(&mut self, count: usize) -> Vec<u32> {
        let mut line = Vec::with_capacity(count);
        let mut walk = vec![(0usize, 0usize)];
        while let Some((list, done)) = walk.pop() {
            if done == 0 && self.lists[list].cluster != ROOT {
                self.placed[self.lists[list].cluster as usize] = (self.step, index(line.len()));
            }
            if let Some(item) = self.lists[list].items.get(done) {
                walk.push((list, done + 1));
                match item.list {
                    Some(inner) => walk.push((inner as usize, 0)),
                    None => line.push(item.leaf),
                }
            }
        }
        line
    }
}

/// Sorts what is pulled somewhere; what is not keeps its place.
fn sort_keyed(items: &mut [Item]) {
    if items.len() < 2 {
        return;
    }
    if items.iter().all(|item| item.key.is_some()) {
        items.sort_by(|a, b| a.key.unwrap_or_default().total_cmp(&b.key.unwrap_or_default()));
        return;
    }
    let mut keyed: Vec<Item> = items.iter().copied().filter(|item| item.key.is_some()).collect();
    keyed.sort_by(|a, b| a.key.unwrap_or_default().total_cmp(&b.key.unwrap_or_default()));
    let mut keyed = keyed.into_iter();
    for slot in items.iter_mut().filter(|item| item.key.is_some()) {
        if let Some(item) = keyed.next() {
            *slot = item;
        }
    }
}
