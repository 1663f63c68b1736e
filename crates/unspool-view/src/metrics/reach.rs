//! How many nodes every node of a graph leads to: exactly, and fast for graphs that are mostly chains, fans and trees.
//!
//! In: arcs, or the causal edges of a flow. Out: a count per node. Never here: what nodes mean, an estimate. What stays after folding is counted with sets of
//! bits; if even that is too large (`MAX_REACH_WORK`), there is no count, and the caller says so.
//!
//! Three things are folded, again and again, until nothing changes: a chain of nodes that are reached one through the other;
//! nodes with the same only cause and the same only effect; ends that hang on one node. Who reaches one of the folded reaches all of
//! them, so they count as one node with a weight.

mod fold;

use crate::dag::{Arcs, order, places};
use fold::Folded;
use unspool_model::{EdgeKind, Flow};

/// Most words of bits that are joined to count what each node leads to.
pub const MAX_REACH_WORK: usize = 1_000_000_000;

/// How many steps each step leads to along causal edges; `None` beyond the limit.
pub(crate) fn of_flow(flow: &Flow) -> Option<Vec<u64>> {
    reach(flow.steps.len(), causal(flow))
}

/// The edges of a flow that are more than mere order.
pub(crate) fn causal(flow: &Flow) -> impl Iterator<Item = (u32, u32)> + Clone {
    let causal = flow.edges.iter().filter(|edge| edge.kind != EdgeKind::Sequence && edge.from != edge.to);
    causal.map(|edge| (edge.from, edge.to))
}

/// How many nodes each node leads to; `None` beyond the limit. Arcs that close a circle are left out.
pub(crate) fn reach(nodes: usize, pairs: impl Iterator<Item = (u32, u32)> + Clone) -> Option<Vec<u64>> {
    let all = Arcs::new(nodes, pairs.clone());
    let place = places(&order(&all, |node| node));
    let mut forward: Vec<(u32, u32)> =
        pairs.filter(|(from, to)| place[*from as usize] < place[*to as usize]).collect();
    forward.sort_unstable();
    forward.dedup();
    let folded = Folded::new(nodes, forward);
    let counts = by_bits(&folded)?;
    Some(folded.unfold(nodes, &counts))
}

/// Words of one block of bits.
const BLOCK: usize = 8;

/// Weights of what each node of the folded graph leads to, block by block of targets.
fn by_bits(folded: &Folded) -> Option<Vec<u64>> {
    let (weights, pairs) = folded.core();
    let arcs = Arcs::new(weights.len(), pairs.iter().copied());
    let order = order(&arcs, |node| node);
    let blocks = weights.len().div_ceil(BLOCK * 64);
    if blocks.saturating_mul(BLOCK).saturating_mul(pairs.len() + weights.len()) > MAX_REACH_WORK {
        return None;
    }
    let place = places(&order);
    let mut counts = vec![0_u64; weights.len()];
    let mut sets = vec![[0_u64; BLOCK]; weights.len()];
    for block in 0..blocks {
        let first = block * BLOCK * 64;
        let members = &order[first..order.len().min(first + BLOCK * 64)];
        let words: Vec<u64> =
            members.chunks(64).map(|word| word.iter().map(|node| weights[*node as usize]).sum()).collect();
        // Nodes behind the block lead to none of it.
        for node in order[..first + members.len()].iter().rev() {
            let mut set = [0_u64; BLOCK];
            for to in
                arcs.of(*node).iter().filter(|to| (place[**to as usize] as usize) < first + members.len())
            {
                for (word, more) in set.iter_mut().zip(&sets[*to as usize]) {
                    *word |= more;
                }
                let at = place[*to as usize] as usize;
                if at >= first {
                    set[(at - first) / 64] |= 1 << ((at - first) % 64);
                }
            }
            counts[*node as usize] += weight(&set, members, &words, &weights);
            sets[*node as usize] = set;
        }
    }
    Some(counts)
}

/// The weight of the nodes whose bits are set.
fn weight(set: &[u64; BLOCK], members: &[u32], words: &[u64], weights: &[u64]) -> u64 {
    let mut sum = 0;
    for (n, members) in members.chunks(64).enumerate() {
        let all = u64::MAX >> (64 - members.len());
        let mut word = set[n];
        if word == all {
            sum += words[n];
            continue;
        }
        while word != 0 {
            sum += weights[members[word.trailing_zeros() as usize] as usize];
            word &= word - 1;
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::reach;
    use proptest::prelude::*;

    /// By walking from every node.
    fn slowly(nodes: usize, pairs: &[(u32, u32)]) -> Vec<u64> {
        let walk = |start: usize| {
            let mut seen = vec![false; nodes];
            let mut next = vec![start];
            while let Some(at) = next.pop() {
                for (_, to) in pairs.iter().filter(|(from, _)| *from as usize == at) {
                    if !std::mem::replace(&mut seen[*to as usize], true) {
                        next.push(*to as usize);
                    }
                }
            }
            seen.iter().filter(|seen| **seen).count() as u64
        };
        (0..nodes).map(walk).collect()
    }

    #[test]
    fn chains_fans_and_trees() {
        let fan = [(0, 1), (0, 2), (0, 3), (1, 4), (2, 4), (3, 4), (4, 5)];
        assert_eq!(reach(6, fan.into_iter()).unwrap(), [5, 2, 2, 2, 1, 0]);
        let tree = [(0, 1), (0, 2), (1, 3), (1, 4), (2, 5)];
        assert_eq!(reach(6, tree.into_iter()).unwrap(), [5, 2, 1, 0, 0, 0]);
        let shortcut = [(0, 1), (1, 2), (0, 2), (2, 3)];
        assert_eq!(reach(4, shortcut.into_iter()).unwrap(), [3, 2, 1, 0]);
        assert_eq!(reach(0, [].into_iter()).unwrap(), Vec::<u64>::new());
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn as_if_one_had_walked(nodes in 1_u32..60, ends in prop::collection::vec((0_u32..60, 1_u32..8), 0..120)) {
            let pairs: Vec<(u32, u32)> = ends
                .into_iter()
                .map(|(from, more)| (from % nodes, from % nodes + more))
                .filter(|(_, to)| *to < nodes)
                .collect();
            prop_assert_eq!(reach(nodes as usize, pairs.iter().copied()).unwrap(), slowly(nodes as usize, &pairs));
        }

        #[test]
        fn sparse_graphs_too(nodes in 1_u32..200, ends in prop::collection::vec((0_u32..200, 1_u32..200), 0..200)) {
            let pairs: Vec<(u32, u32)> =
                ends.into_iter().map(|(from, more)| (from, from + more)).filter(|(_, to)| *to < nodes).collect();
            prop_assert_eq!(reach(nodes as usize, pairs.iter().copied()).unwrap(), slowly(nodes as usize, &pairs));
        }
    }
}
