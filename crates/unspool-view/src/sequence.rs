//! What an agent did next, step by step.
//!
//! In: the sequence edges of a flow, which may be hostile. Out: chains without a ring, each step in one of them. Never here: time.

use unspool_model::flow::NONE;
use unspool_model::{EdgeKind, Flow};

/// The steps before and after each step; following either comes to an end.
pub(crate) struct Sequence {
    next: Vec<u32>,
    previous: Vec<u32>,
}

impl Sequence {
    /// Of a flow: a second edge from or to a step is not followed, and a ring is opened before its first step.
    pub(crate) fn new(flow: &Flow) -> Sequence {
        let mut sequence =
            Sequence { next: vec![NONE; flow.steps.len()], previous: vec![NONE; flow.steps.len()] };
        for edge in flow.edges.iter().filter(|edge| edge.kind == EdgeKind::Sequence) {
            let is_free = sequence.next(edge.from) == NONE && sequence.previous(edge.to) == NONE;
            if is_free && edge.from != edge.to {
                sequence.next[edge.from as usize] = edge.to;
                sequence.previous[edge.to as usize] = edge.from;
            }
        }
        sequence.open_rings();
        sequence
    }

    fn open_rings(&mut self) {
        let mut is_in_chain = vec![false; self.next.len()];
        for first in self.firsts().collect::<Vec<u32>>() {
            for step in self.from(first) {
                is_in_chain[step as usize] = true;
            }
        }
        for first in (0_u32..).take(self.next.len()) {
            if !is_in_chain[first as usize] {
                let last = std::mem::replace(&mut self.previous[first as usize], NONE);
                self.next[last as usize] = NONE;
                for step in self.from(first) {
                    is_in_chain[step as usize] = true;
                }
            }
        }
    }

    /// The step after a step, or `NONE`.
    fn next(&self, step: u32) -> u32 {
        self.next[step as usize]
    }

    /// The step before a step, or `NONE`.
    pub(crate) fn previous(&self, step: u32) -> u32 {
        self.previous[step as usize]
    }

    /// Steps that follow none.
    pub(crate) fn firsts(&self) -> impl Iterator<Item = u32> {
        (0_u32..).take(self.next.len()).filter(|step| self.previous(*step) == NONE)
    }

    /// A step and those after it.
    pub(crate) fn from(&self, step: u32) -> impl Iterator<Item = u32> {
        let some = |step: u32| Some(step).filter(|step| *step != NONE);
        std::iter::successors(some(step), move |at| some(self.next(*at)))
    }

    /// A step and those before it; nothing for `NONE`.
    pub(crate) fn back_from(&self, step: u32) -> impl Iterator<Item = u32> {
        let some = |step: u32| Some(step).filter(|step| *step != NONE);
        std::iter::successors(some(step), move |at| some(self.previous(*at)))
    }
}

#[cfg(test)]
mod tests {
    use super::Sequence;
    use crate::drawn::{Drawn, wild};
    use proptest::prelude::*;
    use unspool_model::EdgeKind;

    #[test]
    fn rings_and_self_edges_are_opened() {
        let mut drawn = Drawn::of_words(&["user", "model", "tool:Bash", "model"]);
        for (from, to) in [(1, 2), (2, 1), (3, 3), (0, 3)] {
            drawn.edge(from, to, EdgeKind::Sequence);
        }
        let sequence = Sequence::new(&drawn.flow);
        let chains: Vec<Vec<u32>> = sequence.firsts().map(|first| sequence.from(first).collect()).collect();
        assert_eq!(chains, [vec![0, 3], vec![1, 2]]);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn every_step_is_in_one_chain(drawn in wild()) {
            let sequence = Sequence::new(&drawn.flow);
            let mut steps: Vec<u32> = sequence.firsts().flat_map(|first| sequence.from(first)).collect();
            steps.sort_unstable();
            let all: Vec<u32> = (0..).take(drawn.flow.steps.len()).collect();
            prop_assert_eq!(steps, all);
        }
    }
}
