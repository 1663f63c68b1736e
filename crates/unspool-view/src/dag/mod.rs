//! Graphs of numbered nodes: who comes after whom, in flat columns, and an order in which causes come first.
//!
//! In: a number of nodes and pairs of them. Out: neighbours by node, an order. Never here: what nodes mean, recursion.

/// For every node, the nodes its arcs lead to.
#[derive(Debug, Default)]
pub(crate) struct Arcs {
    starts: Vec<u32>,
    targets: Vec<u32>,
}

impl Arcs {
    /// From pairs of source and target; the order of a source's targets is that of the pairs.
    pub(crate) fn new(nodes: usize, pairs: impl Iterator<Item = (u32, u32)> + Clone) -> Arcs {
        let mut starts = vec![0_u32; nodes + 1];
        for (from, _) in pairs.clone() {
            starts[from as usize + 1] += 1;
        }
        for n in 1..starts.len() {
            starts[n] += starts[n - 1];
        }
        let mut next = starts.clone();
        let mut targets = vec![0_u32; starts[nodes] as usize];
        for (from, to) in pairs {
            let slot = &mut next[from as usize];
            targets[*slot as usize] = to;
            *slot += 1;
        }
        Arcs { starts, targets }
    }

    /// Where a node's arcs lead.
    pub(crate) fn of(&self, node: u32) -> &[u32] {
        let node = node as usize;
        &self.targets[self.starts[node] as usize..self.starts[node + 1] as usize]
    }

    /// How many nodes there are.
    pub(crate) fn nodes(&self) -> usize {
        self.starts.len() - 1
    }
}

/// Nodes so that every arc leads forward. Where arcs run in a circle, the node that `rank` puts first is taken first, and
/// the arcs that then lead backward are for the caller to leave out.
pub(crate) fn order<K: Ord>(arcs: &Arcs, rank: impl Fn(u32) -> K) -> Vec<u32> {
    let nodes = u32::try_from(arcs.nodes()).unwrap_or(u32::MAX);
    let mut waits_for = vec![0_u32; arcs.nodes()];
    for to in &arcs.targets {
        waits_for[*to as usize] += 1;
    }
    let mut order: Vec<u32> = (0..nodes).filter(|node| waits_for[*node as usize] == 0).collect();
    let mut taken = vec![false; arcs.nodes()];
    for node in &order {
        taken[*node as usize] = true;
    }
    let mut by_rank: Vec<u32> = Vec::new();
    let mut next_by_rank = 0;
    let mut done = 0;
    while order.len() < arcs.nodes() || done < order.len() {
        if done == order.len() {
            if by_rank.is_empty() {
                by_rank = (0..nodes).filter(|node| !taken[*node as usize]).collect();
                unspool_model::sort_by_meaning(&mut by_rank, |node| rank(*node));
            }
            while taken[by_rank[next_by_rank] as usize] {
                next_by_rank += 1;
            }
            let first = by_rank[next_by_rank];
            taken[first as usize] = true;
            order.push(first);
        }
        for to in arcs.of(order[done]) {
            let waits = &mut waits_for[*to as usize];
            *waits -= 1;
            if *waits == 0 && !taken[*to as usize] {
                taken[*to as usize] = true;
                order.push(*to);
            }
        }
        done += 1;
    }
    order
}

/// The place of every node in an order.
pub(crate) fn places(order: &[u32]) -> Vec<u32> {
    let mut places = vec![0; order.len()];
    for (place, node) in (0_u32..).zip(order) {
        places[*node as usize] = place;
    }
    places
}

#[cfg(test)]
mod tests {
    use super::{Arcs, order};

    #[test]
    fn causes_come_first() {
        let pairs = [(3, 1), (1, 0), (3, 2), (2, 0)];
        let arcs = Arcs::new(4, pairs.into_iter());
        assert_eq!(order(&arcs, |node| node), [3, 1, 2, 0]);
        assert_eq!(arcs.of(3), [1, 2]);
    }

    #[test]
    fn a_circle_is_entered_where_the_rank_says() {
        let pairs = [(0, 1), (1, 2), (2, 0), (2, 3)];
        let arcs = Arcs::new(5, pairs.into_iter());
        assert_eq!(order(&arcs, |node| (node != 2, node)), [4, 2, 0, 3, 1]);
        assert!(order(&Arcs::new(0, [].into_iter()), |node| node).is_empty());
    }
}
