//! How often edges cross between two ranks.
//!
//! In: for the edges in the order of their upper ends, the places of their lower ends and their weights. Out: the sum over all
//! crossings of the product of weights, in n log n with a tree of sums.

pub(crate) struct Counter {
    tree: Vec<u64>,
    first_leaf: usize,
}

impl Counter {
    /// For a lower rank of so many places.
    pub(crate) fn new(places: usize) -> Counter {
        let first_leaf = places.next_power_of_two();
        Counter { tree: vec![0; 2 * first_leaf], first_leaf }
    }

    /// Counts an edge to this place against those added before.
    pub(crate) fn add(&mut self, place: u32, weight: u32) -> u64 {
        let mut at = self.first_leaf + place as usize;
        let mut right = 0;
        while at > 1 {
            self.tree[at] += u64::from(weight);
            if at.is_multiple_of(2) {
                right += self.tree[at + 1];
            }
            at /= 2;
        }
        right * u64::from(weight)
    }

    /// Forgets all, at the price of what was added.
    pub(crate) fn clear(&mut self, places: usize) {
        let first_leaf = places.next_power_of_two();
        self.first_leaf = first_leaf;
        self.tree.clear();
        self.tree.resize(2 * first_leaf, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::Counter;

    #[test]
    fn counts_like_comparing_every_pair() {
        let places = [3u32, 1, 4, 1, 5, 2, 6, 0];
        let mut counter = Counter::new(7);
        let counted: u64 = places.iter().map(|place| counter.add(*place, 2)).sum();
        let pairs = (0..8).flat_map(|b| (0..b).map(move |a| (a, b)));
        let naive = pairs.filter(|(a, b)| places[*a] > places[*b]).count() * 4;
        assert_eq!(counted, naive as u64);
    }
}
