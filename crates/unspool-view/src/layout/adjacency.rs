//! Lists of numbers by number, in one piece of memory.
//!
//! In: pairs. Out: for each first number its second ones, in the order given.

use super::types::index;

/// Neighbours of each of some things.
pub(crate) struct Adjacency {
    starts: Vec<u32>,
    items: Vec<u32>,
}

impl Adjacency {
    /// From `(whose, what)` pairs.
    pub(crate) fn new(count: usize, pairs: impl Iterator<Item = (u32, u32)> + Clone) -> Adjacency {
        let mut starts = vec![0u32; count + 1];
        for (whose, _) in pairs.clone() {
            starts[whose as usize + 1] += 1;
        }
        for n in 0..count {
            starts[n + 1] += starts[n];
        }
        let mut next = starts.clone();
        let mut items = vec![0u32; starts[count] as usize];
        for (whose, what) in pairs {
            let place = &mut next[whose as usize];
            items[*place as usize] = what;
            *place += 1;
        }
        Adjacency { starts, items }
    }

    pub(crate) fn of(&self, whose: u32) -> &[u32] {
        &self.items[self.starts[whose as usize] as usize..self.starts[whose as usize + 1] as usize]
    }
}

/// Everything from sources to targets, or what can be ordered so when there are cycles. The lowest numbers come first.
pub(crate) fn topological(count: usize, edges: impl Iterator<Item = (u32, u32)> + Clone) -> Vec<u32> {
    let out = Adjacency::new(count, edges.clone());
    let mut waiting = vec![0u32; count];
    for (_, to) in edges {
        waiting[to as usize] += 1;
    }
    let mut sorted: Vec<u32> = (0..index(count)).filter(|n| waiting[*n as usize] == 0).collect();
    let mut done = 0;
    while let Some(&node) = sorted.get(done) {
        done += 1;
        for &next in out.of(node) {
            waiting[next as usize] -= 1;
            if waiting[next as usize] == 0 {
                sorted.push(next);
            }
        }
    }
    sorted
}
