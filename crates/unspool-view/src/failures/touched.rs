//! From a failure to everything it led to.
//!
//! In: a flow. Out: the steps each failure leads to, nearest first, and how many they are. Never here: recursion, mere order.
//!
//! What a failed step enclosed, asked for or started did not come from its failure, but what received its result did. A failure is
//! therefore a node of its own beside its step, with arcs to those that received it.

use super::cause::{carries, failed_agents};
use crate::dag::Arcs;
use crate::metrics::reach;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::VecDeque;
use unspool_model::Flow;

/// What the failures of a flow led to.
pub(crate) struct Touches {
    arcs: Arcs,
    /// The node of each failed step's failure.
    failures: FxHashMap<u32, u32>,
    /// The failed steps, in order of those nodes, which come after those of all steps.
    failed: Vec<u32>,
    /// How many steps each failure leads to; none where they are too many to count.
    counts: Option<Vec<u64>>,
}

impl Touches {
    pub(crate) fn new(flow: &Flow) -> Touches {
        let steps = flow.steps.len();
        let failed: Vec<u32> =
            (0_u32..).zip(&flow.steps).filter(|(_, step)| step.is_error).map(|(n, _)| n).collect();
        let first = u32::try_from(steps).unwrap_or(u32::MAX);
        let failures: FxHashMap<u32, u32> = failed.iter().copied().zip(first..).collect();
        let of_edges = flow.edges.iter().filter(|edge| carries(edge.kind) && edge.from != edge.to);
        let of_edges = of_edges.filter_map(|edge| failures.get(&edge.from).map(|from| (*from, edge.to)));
        let of_agents = failed_agents(flow).map(|(call, last)| (failures[&last], failures[&call]));
        let pairs = reach::causal(flow).chain(of_edges).chain(of_agents);
        let nodes = steps + failed.len();
        let counts = if failed.is_empty() { Some(Vec::new()) } else { reach::reach(nodes, pairs.clone()) };
        let counts = counts.map(|counts| counts.get(steps..).unwrap_or_default().to_vec());
        Touches { arcs: Arcs::new(nodes, pairs), failures, failed, counts }
    }

    /// How many steps the failure of a step leads to; none where they are too many to count.
    pub(crate) fn count(&self, step: u32) -> Option<u64> {
        let at = self.failures.get(&step)? - self.first();
        self.counts.as_ref()?.get(at as usize).copied()
    }

    /// The steps that the failure of a step leads to, the nearest first; no more than `most`.
    pub(crate) fn of(&self, step: u32, most: usize) -> Vec<u32> {
        let Some(start) = self.failures.get(&step).copied() else { return Vec::new() };
        let mut seen = FxHashSet::from_iter([start]);
        let mut waiting = VecDeque::from([start]);
        let mut found = Vec::new();
        while let Some(at) = waiting.pop_front().filter(|_| found.len() < most) {
            for to in self.arcs.of(at).iter().copied() {
                if seen.insert(to) {
                    found.push(self.step_of(to));
                    waiting.push_back(to);
                }
            }
        }
        found.truncate(most);
        found
    }

    fn step_of(&self, node: u32) -> u32 {
        node.checked_sub(self.first()).map_or(node, |failure| self.failed[failure as usize])
    }

    fn first(&self) -> u32 {
        u32::try_from(self.arcs.nodes() - self.failed.len()).unwrap_or(u32::MAX)
    }
}
