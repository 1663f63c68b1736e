//! Draws what stands apart together, where there is room.
//!
//! In: places that keep all rules. Out: places that keep them too, with shorter edges: straight stretches, and whole clusters, move to
//! the median of where their edges lead. Every move makes the sum of all lengths smaller, so this ends.

use super::adjacency::Adjacency;
use super::columns::Rule;
use super::forest::{ClusterId, Forest};
use super::grid::Grid;
use super::pack::parts;

/// The places, with what may not come closer than it may.
pub(crate) struct Settling<'a> {
    grid: &'a Grid,
    forest: &'a Forest,
    rules: &'a [Rule],
    from: Adjacency,
    to: Adjacency,
    /// Clusters by when a walk enters them and leaves them.
    walk: Vec<(u32, u32)>,
    /// Leaves by their cluster's place in the walk.
    sorted_leaves: Vec<u32>,
    sorted_clusters: Vec<ClusterId>,
}

/// Moves smaller than this are none.
const STILL: f64 = 0.01;
/// Leaves of clusters in clusters count again for each: no more than this many in all.
const MOST_IN_CLUSTERS: usize = 1_000_000;

impl<'a> Settling<'a> {
    pub(crate) fn new(grid: &'a Grid, forest: &'a Forest, rules: &'a [Rule]) -> Settling<'a> {
        let variables = grid.leaves.len() + 2 * forest.len();
        let from = Adjacency::new(variables, (0u32..).zip(rules).map(|(n, rule)| (rule.a, n)));
        let to = Adjacency::new(variables, (0u32..).zip(rules).map(|(n, rule)| (rule.b, n)));
        let walk = forest.walk();
        let entered = |leaf: &u32| walk.get(grid.leaves[*leaf as usize].cluster as usize).map_or(0, |w| w.0);
        let mut sorted_leaves: Vec<u32> = (0u32..).take(grid.leaves.len()).collect();
        unspool_model::sort_by_meaning(&mut sorted_leaves, entered);
        let mut sorted_clusters: Vec<ClusterId> = (0u32..).take(forest.len()).collect();
        unspool_model::sort_by_meaning(&mut sorted_clusters, |cluster| walk[*cluster as usize].0);
        Settling { grid, forest, rules, from, to, walk, sorted_leaves, sorted_clusters }
    }

    /// Moves every straight stretch once, from the top or from the bottom.
    pub(crate) fn settle_stretches(&self, places: &mut [f64], from_top: bool) {
        let segments = self.grid.segments.iter();
        let straight = segments.filter(|segment| {
            (places[segment.upper as usize] - places[segment.lower as usize]).abs() < STILL
        });
        let stretch_of =
            parts(self.grid.leaves.len(), straight.map(|segment| (segment.upper, segment.lower)));
        let count = stretch_of.iter().max().map_or(0, |last| *last as usize + 1);
        let members =
            Adjacency::new(count, (0u32..).zip(&stretch_of).map(|(leaf, stretch)| (*stretch, leaf)));
        let rank = |stretch: &u32| {
            members.of(*stretch).iter().map(|leaf| self.grid.leaves[*leaf as usize].rank).min()
        };
        let mut order: Vec<u32> = (0u32..).take(count).collect();
        unspool_model::sort_by_meaning(&mut order, rank);
        if !from_top {
            order.reverse();
        }
        let mut pulls = Vec::new();
        for stretch in order {
            let leaves = members.of(stretch);
            let is_own = |variable: u32| stretch_of.get(variable as usize) == Some(&stretch);
            self.settle(places, leaves, &is_own, &mut pulls);
        }
    }

    /// Moves every cluster once, as a whole, outer ones first.
    pub(crate) fn settle_clusters(&self, places: &mut [f64]) {
        let mut budget = MOST_IN_CLUSTERS;
        let mut pulls = Vec::new();
        let mut own: Vec<u32> = Vec::new();
        for &cluster in self.forest.inner_first().iter().rev() {
            let (entered, left) = self.walk[cluster as usize];
            let entered_at = |leaf: &u32| {
                self.walk.get(self.grid.leaves[*leaf as usize].cluster as usize).map_or(0, |walk| walk.0)
            };
            let first = self.sorted_leaves.partition_point(|leaf| entered_at(leaf) < entered);
            let end = self.sorted_leaves.partition_point(|leaf| entered_at(leaf) < left);
            own.clear();
            own.extend(&self.sorted_leaves[first..end]);
            let Some(rest) = budget.checked_sub(own.len()) else { return };
            budget = rest;
            // The walk enters one cluster at each of its steps, which it counts from 1.
            let within = &self.sorted_clusters[entered as usize - 1..left as usize - 1];
            let base = super::types::index(self.grid.leaves.len());
            own.extend(within.iter().flat_map(|inner| [base + 2 * inner, base + 2 * inner + 1]));
            let is_own = |variable: u32| self.is_within(self.home(variable), cluster);
            self.settle(places, &own, &is_own, &mut pulls);
        }
    }

    /// The cluster of a leaf, or the cluster of which it is a side.
    fn home(&self, variable: u32) -> ClusterId {
        match (variable as usize).checked_sub(self.grid.leaves.len()) {
            None => self.grid.leaves[variable as usize].cluster,
            Some(side) => super::types::index(side / 2),
        }
    }

    fn is_within(&self, inner: ClusterId, outer: ClusterId) -> bool {
        let (entered, left) = self.walk[outer as usize];
        self.walk.get(inner as usize).is_some_and(|walk| entered <= walk.0 && walk.0 < left)
    }

    /// Moves some variables by the same distance: to the median of their edges, as far as the rules allow.
    fn settle(
        &self,
        places: &mut [f64],
        own: &[u32],
        is_own: &dyn Fn(u32) -> bool,
        pulls: &mut Vec<(f64, u32)>,
    ) {
        pulls.clear();
        for &leaf in own.iter().filter(|variable| (**variable as usize) < self.grid.leaves.len()) {
            let segments = self.grid.above.of(leaf).iter().chain(self.grid.below.of(leaf));
            for segment in segments.map(|n| &self.grid.segments[*n as usize]) {
                let other = if segment.upper == leaf { segment.lower } else { segment.upper };
                if !is_own(other) {
                    pulls.push((places[other as usize] - places[leaf as usize], segment.weight.max(1)));
                }
            }
        }
        let Some(wanted) = median(pulls).filter(|wanted| wanted.abs() >= STILL) else { return };
        let (mut least, mut most) = (f64::NEG_INFINITY, f64::INFINITY);
        for &variable in own {
            let place = places[variable as usize];
            for rule in self.from.of(variable).iter().map(|n| &self.rules[*n as usize]) {
                if !is_own(rule.b) {
                    most = most.min(places[rule.b as usize] - rule.room - place);
                }
            }
            for rule in self.to.of(variable).iter().map(|n| &self.rules[*n as usize]) {
                if !is_own(rule.a) {
                    least = least.max(places[rule.a as usize] + rule.room - place);
                }
            }
        }
        let distance = wanted.max(least.min(0.0)).min(most.max(0.0));
        if distance.abs() >= STILL {
            for &variable in own {
                places[variable as usize] += distance;
            }
        }
    }
}

/// The weighted median; between two, their mean.
fn median(pulls: &mut [(f64, u32)]) -> Option<f64> {
    pulls.sort_by(|a, b| a.0.total_cmp(&b.0));
    let total: u64 = pulls.iter().map(|pull| u64::from(pull.1)).sum();
    let mut sum = 0;
    for (n, (pull, weight)) in pulls.iter().enumerate() {
        sum += u64::from(*weight);
        if sum * 2 > total {
            return Some(*pull);
        }
        if sum * 2 == total {
            return Some(pulls.get(n + 1).map_or(*pull, |next| f64::midpoint(*pull, next.0)));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::median;

    #[test]
    fn the_median_is_weighted() {
        assert_eq!(median(&mut [(1.0, 1), (5.0, 1), (2.0, 1)]), Some(2.0));
        assert_eq!(median(&mut [(1.0, 1), (5.0, 1)]), Some(3.0));
        assert_eq!(median(&mut [(1.0, 5), (5.0, 1)]), Some(1.0));
        assert_eq!(median(&mut []), None);
    }
}
