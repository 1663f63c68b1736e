//! From a step to everything it led to.
//!
//! In: a flow and a step. Out: the steps it leads to, nearest first. Never here: recursion, mere order.

use crate::dag::Arcs;
use rustc_hash::FxHashSet;
use std::collections::VecDeque;
use unspool_model::{EdgeKind, Flow};

/// The causal edges of a flow, read once.
pub(crate) struct Touches {
    causal: Arcs,
}

impl Touches {
    pub(crate) fn new(flow: &Flow) -> Touches {
        let causal = flow.edges.iter().filter(|edge| edge.kind != EdgeKind::Sequence);
        Touches { causal: Arcs::new(flow.steps.len(), causal.map(|edge| (edge.from, edge.to))) }
    }

    /// The steps a step leads to, the nearest first; no more than `most`.
    pub(crate) fn of(&self, step: u32, most: usize) -> Vec<u32> {
        let mut seen = FxHashSet::from_iter([step]);
        let mut waiting = VecDeque::from([step]);
        let mut found = Vec::new();
        while let Some(at) = waiting.pop_front().filter(|_| found.len() < most) {
            for to in self.causal.of(at).iter().copied() {
                if seen.insert(to) {
                    found.push(to);
                    waiting.push_back(to);
                }
            }
        }
        found.truncate(most);
        found
    }
}
