//! Which edges are turned around so that no cycle is left.
//!
//! In: edges between numbered nodes, where numbers follow time. Out: for each edge whether it is turned. Only edges within a cycle
//! that lead back in time are, so the same edges are turned whatever order they come in.

use super::adjacency::Adjacency;

const UNSEEN: u32 = u32::MAX;

pub(crate) fn turned(count: usize, edges: &[(u32, u32)]) -> Vec<bool> {
    let cycles = strong_components(count, edges);
    edges.iter().map(|&(from, to)| from > to && cycles[from as usize] == cycles[to as usize]).collect()
}

/// For each node the number of the cycle it is part of (Tarjan, with the stack on the heap).
fn strong_components(count: usize, edges: &[(u32, u32)]) -> Vec<u32> {
    let out = Adjacency::new(count, edges.iter().copied());
    let mut component = vec![UNSEEN; count];
    let mut seen = vec![UNSEEN; count];
    let mut low = vec![0u32; count];
    let (mut next_seen, mut next_component) = (0u32, 0u32);
    let mut open: Vec<u32> = Vec::new();
    let mut walk: Vec<(u32, usize)> = Vec::new();
    for start in (0u32..).take(count) {
        if seen[start as usize] != UNSEEN {
            continue;
        }
        walk.push((start, 0));
        while let Some((node, done)) = walk.pop() {
            let n = node as usize;
            if done == 0 {
                seen[n] = next_seen;
                low[n] = next_seen;
                next_seen += 1;
                open.push(node);
            }
            if let Some(&next) = out.of(node).get(done) {
                walk.push((node, done + 1));
                let m = next as usize;
                if seen[m] == UNSEEN {
                    walk.push((next, 0));
                } else if component[m] == UNSEEN {
                    low[n] = low[n].min(seen[m]);
                }
                continue;
            }
            if low[n] == seen[n] {
                while let Some(member) = open.pop() {
                    component[member as usize] = next_component;
                    if member == node {
                        break;
                    }
                }
                next_component += 1;
            }
            if let Some(&(parent, _)) = walk.last() {
                low[parent as usize] = low[parent as usize].min(low[n]);
            }
        }
    }
    component
}

#[cfg(test)]
mod tests {
    use super::turned;

    #[test]
    fn only_edges_back_in_time_within_a_cycle_are_turned() {
        let edges = [(0, 1), (1, 2), (2, 0), (3, 1), (2, 4)];
        assert_eq!(turned(5, &edges), [false, false, true, false, false]);
    }

    #[test]
    fn a_long_cycle_does_not_recurse() {
        let edges: Vec<(u32, u32)> = (0..200_000).map(|n| (n, (n + 1) % 200_000)).collect();
        assert_eq!(turned(200_000, &edges).iter().filter(|turned| **turned).count(), 1);
    }
}
