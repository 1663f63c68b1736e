//! Which rank every node stands in.
//!
//! In: edges without cycles, with lengths and weights. Out: ranks from 0, as low as the edges allow, then drawn towards the heavier
//! side so that edges are short.

use super::adjacency::{Adjacency, topological};
use super::forest::{Forest, ROOT};

/// An edge from a lower rank to a higher one.
#[derive(Clone, Copy)]
pub(crate) struct Pull {
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) length: u32,
    pub(crate) weight: u32,
}

/// How often the ranks are drawn together, back and forth.
const ROUNDS: usize = 2;

pub(crate) fn ranks(count: usize, pulls: &[Pull]) -> Vec<u32> {
    let sorted = topological(count, pulls.iter().map(|pull| (pull.from, pull.to)));
    let into = Adjacency::new(count, (0u32..).zip(pulls).map(|(n, pull)| (pull.to, n)));
    let out = Adjacency::new(count, (0u32..).zip(pulls).map(|(n, pull)| (pull.from, n)));
    let pull = |n: &u32| &pulls[*n as usize];
    let mut ranks = vec![0u32; count];
    let earliest = |ranks: &[u32], node: u32| {
        into.of(node).iter().map(pull).map(|p| ranks[p.from as usize].saturating_add(p.length)).max()
    };
    for &node in &sorted {
        ranks[node as usize] = earliest(&ranks, node).unwrap_or(0);
    }
    let weight = |pulls: &[u32]| pulls.iter().map(pull).map(|p| u64::from(p.weight)).sum::<u64>();
    let tilt: Vec<(u64, u64)> =
        (0u32..).take(count).map(|node| (weight(into.of(node)), weight(out.of(node)))).collect();
    for _ in 0..ROUNDS {
        for &node in sorted.iter().rev() {
            let (before, after) = tilt[node as usize];
            let latest =
                out.of(node).iter().map(pull).map(|p| ranks[p.to as usize].saturating_sub(p.length)).min();
            if let Some(latest) = latest.filter(|_| after > before) {
                ranks[node as usize] = latest;
            }
        }
        for &node in &sorted {
            let (before, after) = tilt[node as usize];
            if let Some(earliest) = earliest(&ranks, node).filter(|_| before > after) {
                ranks[node as usize] = earliest;
            }
        }
    }
    ranks
}

/// Moves the pieces that no edge joins to where their cluster already is, and lets the first rank be 0.
pub(crate) fn join_pieces(ranks: &mut [u32], pieces: &[u32], clusters: &[u32], forest: &Forest) {
    let mut lowest = vec![u32::MAX; pieces.iter().max().map_or(0, |last| *last as usize + 1)];
    let mut members = vec![Vec::new(); lowest.len()];
    for (node, &piece) in (0u32..).zip(pieces) {
        lowest[piece as usize] = lowest[piece as usize].min(ranks[node as usize]);
        members[piece as usize].push(node);
    }
    let mut cluster_start = vec![u32::MAX; forest.len()];
    for (nodes, lowest) in members.iter().zip(&lowest) {
        let home = nodes.first().map_or(ROOT, |first| clusters[*first as usize]);
        let mut starts = forest.around(home).map(|cluster| cluster_start[cluster as usize]);
        let start = starts.find(|start| *start != u32::MAX).unwrap_or(0);
        for &node in nodes {
            let rank = &mut ranks[node as usize];
            *rank = *rank - lowest + start;
            for cluster in forest.around(clusters[node as usize]) {
                let known = &mut cluster_start[cluster as usize];
                if *known <= *rank {
                    break;
                }
                *known = *rank;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Pull, ranks};

    fn pull(from: u32, to: u32, weight: u32) -> Pull {
        Pull { from, to, length: 1, weight }
    }

    #[test]
    fn a_source_stands_next_to_what_it_leads_to() {
        let pulls = [pull(0, 1, 1), pull(1, 2, 1), pull(3, 2, 1)];
        assert_eq!(ranks(4, &pulls), [0, 1, 2, 1]);
    }

    #[test]
    fn a_chain_of_many_does_not_recurse() {
        let pulls: Vec<Pull> = (0..100_000).map(|n| pull(n, n + 1, 1)).collect();
        assert_eq!(ranks(100_001, &pulls)[100_000], 100_000);
    }
}
