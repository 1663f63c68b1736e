//! Rows for stretches that may overlap: each goes to the first row that is free.
//!
//! In: stretches in the order of their begins. Out: a row for each. Takes no longer when many overlap.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

/// Rows, of which some are taken for a while.
#[derive(Default)]
pub(crate) struct FirstFit {
    /// Until when, and which row.
    taken: BinaryHeap<Reverse<(i64, usize)>>,
    free: BTreeSet<usize>,
    /// How many rows there are.
    pub(crate) count: usize,
}

impl FirstFit {
    /// The first row from `least` on that is free when a stretch begins, or a new one.
    pub(crate) fn place(&mut self, begin: i64, end: i64, least: usize) -> usize {
        while let Some(&Reverse((until, row))) = self.taken.peek()
            && until <= begin
        {
            self.taken.pop();
            self.free.insert(row);
        }
        let known = self.free.range(least.min(self.count)..).next().copied();
        let row = known.unwrap_or_else(|| {
            self.count += 1;
            self.count - 1
        });
        self.free.remove(&row);
        self.taken.push(Reverse((end, row)));
        row
    }
}

#[cfg(test)]
mod tests {
    use super::FirstFit;

    #[test]
    fn the_first_free_row_is_taken() {
        let mut rows = FirstFit::default();
        let placed = [(0, 9, 0), (1, 3, 0), (2, 8, 0), (3, 4, 0), (4, 5, 2), (9, 9, 0)];
        let placed = placed.map(|(begin, end, least)| rows.place(begin, end, least));
        assert_eq!((placed, rows.count), ([0, 1, 2, 1, 3, 0], 4));
    }
}
