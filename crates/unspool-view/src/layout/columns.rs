//! The place of everything across the ranks.
//!
//! In: the grid, its order, the sides of clusters. Out: the middle of every leaf and the sides of every cluster, so that nothing comes
//! closer than it may. All rules have the form "b stands at least so far right of a"; four placements that keep them are made, and
//! the mean of the middle two keeps them too.

use super::adjacency::{Adjacency, topological};
use super::align::{Look, columns, conflicts};
use super::forest::{ClusterId, Forest, ROOT};
use super::grid::{Grid, Kind};
use super::order::Order;
use super::settle::Settling;
use super::types::{Cluster, index};

/// Places across the ranks.
pub(crate) struct Across {
    /// Middles of leaves.
    pub(crate) leaves: Vec<f64>,
    /// Left and right sides of clusters.
    pub(crate) sides: Vec<(f64, f64)>,
}

/// `b` is at least `room` to the right of `a`.
#[derive(Clone, Copy)]
pub(crate) struct Rule {
    pub(crate) a: u32,
    pub(crate) b: u32,
    pub(crate) room: f64,
}

/// What a cluster needs around its content.
#[derive(Clone, Copy)]
pub(crate) struct Frame {
    pub(crate) left: f64,
    pub(crate) right: f64,
    pub(crate) min_width: f64,
}

/// How a cluster's room is spent across the ranks.
pub(crate) fn frames(grid: &Grid, clusters: &[Cluster], is_down: bool) -> Vec<Frame> {
    let frame = |(n, cluster): (u32, &Cluster)| {
        let gutter: f64 = grid.gutter(n).iter().sum();
        let head = if is_down { 0.0 } else { cluster.label.height };
        let min_width = if is_down { cluster.label.width + 2.0 * cluster.padding } else { 0.0 };
        Frame { left: cluster.padding + head, right: cluster.padding + gutter, min_width }
    };
    (0u32..).zip(clusters).map(frame).collect()
}

/// The variables: leaves by number, then left and right side of each cluster.
struct Rules<'a> {
    grid: &'a Grid,
    kept: Vec<Rule>,
    gap: f64,
}

impl Rules<'_> {
    fn left(&self, cluster: ClusterId) -> u32 {
        index(self.grid.leaves.len()) + 2 * cluster
    }

    fn right(&self, cluster: ClusterId) -> u32 {
        self.left(cluster) + 1
    }

    fn half(&self, leaf: u32) -> f64 {
        self.grid.leaves[leaf as usize].size.width / 2.0
    }

    /// Two neighbours of a rank and the sides between them.
    fn neighbours(&mut self, a: u32, b: u32, forest: &Forest, frames: &[Frame]) {
        let grid = self.grid;
        let (first, second) = (&grid.leaves[a as usize], &grid.leaves[b as usize]);
        let meeting = forest.meet(first.cluster, second.cluster);
        let both_nodes = first.kind == Kind::Node && second.kind == Kind::Node;
        let gap = if both_nodes { self.gap } else { self.gap / 2.0 };
        let (from, before) = match meeting.below_a {
            ROOT => (a, self.half(a)),
            cluster => (self.right(cluster), 0.0),
        };
        let (to, after) = match meeting.below_b {
            ROOT => (b, self.half(b)),
            cluster => (self.left(cluster), 0.0),
        };
        self.kept.push(Rule { a: from, b: to, room: before + gap + after });
        if meeting.below_a != ROOT {
            self.last(a, frames);
        }
        if meeting.below_b != ROOT {
            self.first(b, frames);
        }
    }

    /// The first leaf of its cluster in its rank.
    fn first(&mut self, leaf: u32, frames: &[Frame]) {
        let cluster = self.grid.leaves[leaf as usize].cluster;
        if cluster != ROOT {
            let room = frames[cluster as usize].left + self.half(leaf);
            self.kept.push(Rule { a: self.left(cluster), b: leaf, room });
        }
    }

    fn last(&mut self, leaf: u32, frames: &[Frame]) {
        let cluster = self.grid.leaves[leaf as usize].cluster;
        if cluster != ROOT {
            let room = frames[cluster as usize].right + self.half(leaf);
            self.kept.push(Rule { a: leaf, b: self.right(cluster), room });
        }
    }
}

fn rules(grid: &Grid, forest: &Forest, order: &Order, frames: &[Frame], gap: f64) -> Vec<Rule> {
    let mut rules = Rules { grid, kept: Vec::with_capacity(grid.leaves.len()), gap };
    for (n, frame) in (0u32..).zip(frames) {
        rules.kept.push(Rule { a: rules.left(n), b: rules.right(n), room: frame.min_width });
        if let Some(outer) = frames.get(forest.parent(n) as usize) {
            let parent = forest.parent(n);
            rules.kept.push(Rule { a: rules.left(parent), b: rules.left(n), room: outer.left });
            rules.kept.push(Rule { a: rules.right(n), b: rules.right(parent), room: outer.right });
        }
    }
    for leaves in &order.ranks {
        if let (Some(first), Some(last)) = (leaves.first(), leaves.last()) {
            rules.first(*first, frames);
            rules.last(*last, frames);
        }
        for pair in leaves.windows(2) {
            rules.neighbours(pair[0], pair[1], forest, frames);
        }
    }
    rules.kept
}

/// Places that keep the rules and make edges straight.
pub(crate) fn across(grid: &Grid, forest: &Forest, order: &Order, frames: &[Frame], gap: f64) -> Across {
    let rules = rules(grid, forest, order, frames, gap);
    let variables = grid.leaves.len() + 2 * forest.len();
    let conflicts = conflicts(grid, forest, order);
    let looks = [(true, true), (true, false), (false, true), (false, false)];
    let mut four: Vec<Vec<f64>> = Vec::with_capacity(4);
    for (from_above, from_left) in looks {
        let look = Look { from_above, from_left };
        let mut roots = columns(grid, order, &conflicts, look);
        roots.extend(index(grid.leaves.len())..index(variables));
        let columns = Columns::new(grid.leaves.len(), &roots, &rules, from_left);
        four.push(columns.compact());
    }
    fit_to_narrowest(grid, &mut four);
    let middle = |n: usize| {
        let mut values = [four[0][n], four[1][n], four[2][n], four[3][n]];
        values.sort_unstable_by(f64::total_cmp);
        f64::midpoint(values[1], values[2])
    };
    let places: Vec<f64> = (0..variables).map(middle).collect();
    let settling = Settling::new(grid, forest, &rules);
    let mut across = finish(grid, forest, frames, places);
    for round in 0..ROUNDS {
        let mut places = across.leaves;
        places.extend(across.sides.iter().flat_map(|(left, right)| [*left, *right]));
        settling.settle_clusters(&mut places);
        settling.settle_stretches(&mut places, round % 2 == 0);
        across = finish(grid, forest, frames, places);
    }
    across
}

/// How often stretches and clusters are drawn to where their edges lead.
const ROUNDS: usize = 4;

/// Places near the wanted ones that keep the rules: what stands too close is moved to the right.
pub(crate) fn across_near(
    grid: &Grid,
    forest: &Forest,
    order: &Order,
    frames: &[Frame],
    gap: f64,
    wanted: &[f64],
) -> Across {
    let rules = rules(grid, forest, order, frames, gap);
    let variables = grid.leaves.len() + 2 * forest.len();
    let sorted = topological(variables, rules.iter().map(|rule| (rule.a, rule.b)));
    let into = Adjacency::new(variables, (0u32..).zip(&rules).map(|(n, rule)| (rule.b, n)));
    let mut places = vec![f64::NEG_INFINITY; variables];
    places[..wanted.len()].copy_from_slice(wanted);
    for (n, (left, _)) in hulls(grid, forest, frames, wanted).into_iter().enumerate() {
        places[grid.leaves.len() + 2 * n] = left;
    }
    for at in sorted {
        for rule in into.of(at) {
            let rule = &rules[*rule as usize];
            places[at as usize] = places[at as usize].max(places[rule.a as usize] + rule.room);
        }
    }
    finish(grid, forest, frames, places)
}

/// The outermost places of what each cluster holds, with the room around it.
fn hulls(grid: &Grid, forest: &Forest, frames: &[Frame], places: &[f64]) -> Vec<(f64, f64)> {
    let mut hulls = vec![(f64::INFINITY, f64::NEG_INFINITY); forest.len()];
    for (leaf, place) in grid.leaves.iter().zip(places) {
        if let Some((left, right)) = hulls.get_mut(leaf.cluster as usize) {
            *left = left.min(place - leaf.size.width / 2.0);
            *right = right.max(place + leaf.size.width / 2.0);
        }
    }
    for &cluster in forest.inner_first() {
        let frame = &frames[cluster as usize];
        let (left, right) = hulls[cluster as usize];
        let hull = (left - frame.left, right + frame.right);
        hulls[cluster as usize] = hull;
        if let Some(outer) = hulls.get_mut(forest.parent(cluster) as usize) {
            *outer = (outer.0.min(hull.0), outer.1.max(hull.1));
        }
    }
    hulls
}

/// Draws the sides of clusters to what is in them, as far as their labels allow.
fn finish(grid: &Grid, forest: &Forest, frames: &[Frame], mut places: Vec<f64>) -> Across {
    let allowed = places.split_off(grid.leaves.len());
    let mut sides = hulls(grid, forest, frames, &places);
    for &cluster in forest.inner_first() {
        let n = cluster as usize;
        let (mut left, mut right) = sides[n];
        let (leftmost, rightmost) = (allowed[2 * n], allowed[2 * n + 1]);
        right += (frames[n].min_width - (right - left)).clamp(0.0, (rightmost - right).max(0.0));
        left -= (frames[n].min_width - (right - left)).clamp(0.0, (left - leftmost).max(0.0));
        sides[n] = (left, right);
        let outer = forest.parent(cluster) as usize;
        if let Some(around) = sides.get_mut(outer) {
            around.0 = around.0.min(left - frames[outer].left);
            around.1 = around.1.max(right + frames[outer].right);
        }
    }
    Across { leaves: places, sides }
}

/// Columns and the rules between them, seen from the left or, mirrored, from the right.
struct Columns<'a> {
    roots: &'a [u32],
    leaf_count: usize,
    rules: Vec<Rule>,
    from_left: bool,
}

impl<'a> Columns<'a> {
    fn new(leaf_count: usize, roots: &'a [u32], rules: &[Rule], from_left: bool) -> Columns<'a> {
        let root = |n: u32| roots[n as usize];
        let rule = |rule: &Rule| {
            let (a, b) = if from_left { (rule.a, rule.b) } else { (rule.b, rule.a) };
            Rule { a: root(a), b: root(b), room: rule.room }
        };
        Columns { roots, leaf_count, rules: rules.iter().map(rule).collect(), from_left }
    }

    /// As far left as the rules allow, then back to the right neighbour where there is room.
    fn compact(&self) -> Vec<f64> {
        let count = self.roots.len();
        let sorted = topological(count, self.rules.iter().map(|rule| (rule.a, rule.b)));
        let out = Adjacency::new(count, (0u32..).zip(&self.rules).map(|(n, rule)| (rule.a, n)));
        let mut places = vec![0.0f64; count];
        for &at in &sorted {
            for rule in out.of(at) {
                let rule = &self.rules[*rule as usize];
                places[rule.b as usize] = places[rule.b as usize].max(places[at as usize] + rule.room);
            }
        }
        let leftmost = places.clone();
        for &at in sorted.iter().rev() {
            // Up to a neighbour, but within a cluster's far side only as far as that side moves.
            let (mut neighbour, mut side, mut limit) = (f64::INFINITY, f64::INFINITY, f64::INFINITY);
            for rule in out.of(at) {
                let rule = &self.rules[*rule as usize];
                let (b, place) = (rule.b as usize, places[rule.b as usize]);
                limit = limit.min(place - rule.room);
                if self.is_far_side(rule.b) {
                    side = side.min(leftmost[at as usize] + place - leftmost[b]);
                } else {
                    neighbour = neighbour.min(place - rule.room);
                }
            }
            let wanted = if neighbour.is_finite() { neighbour } else { side };
            if wanted.is_finite() {
                places[at as usize] = places[at as usize].max(wanted.min(limit));
            }
        }
        let sign = if self.from_left { 1.0 } else { -1.0 };
        self.roots.iter().map(|root| sign * places[*root as usize]).collect()
    }

    /// The side of a cluster that content is pushed against: it stays close to the content.
    fn is_far_side(&self, variable: u32) -> bool {
        (variable as usize).checked_sub(self.leaf_count).is_some_and(|n| n % 2 == usize::from(self.from_left))
    }
}

/// Shifts the four placements onto the narrowest one, by the side they were pushed to.
fn fit_to_narrowest(grid: &Grid, four: &mut [Vec<f64>]) {
    let extent = |places: &[f64]| {
        let mut extent = (f64::INFINITY, f64::NEG_INFINITY);
        for (leaf, place) in grid.leaves.iter().zip(places) {
            let half = leaf.size.width / 2.0;
            extent = (extent.0.min(place - half), extent.1.max(place + half));
        }
        extent
    };
    let extents: Vec<(f64, f64)> = four.iter().map(|places| extent(places)).collect();
    let width = |extent: &&(f64, f64)| extent.1 - extent.0;
    let Some(&narrowest) = extents.iter().min_by(|a, b| width(a).total_cmp(&width(b))) else { return };
    for (n, places) in four.iter_mut().enumerate() {
        let from_left = n % 2 == 0;
        let shift = if from_left { narrowest.0 - extents[n].0 } else { narrowest.1 - extents[n].1 };
        for place in places.iter_mut() {
            *place += shift;
        }
    }
}
