//! The longest common subsequence of two lists: Myers' algorithm in linear space, without recursion.
//!
//! In: two lists of numbers. Out: which places belong together. What is only in one list costs nothing; a part that would
//! take more than [`MAX_EDITS`] changes to align is left alone and counted. Never here: what the numbers stand for.

/// How many changes a part may need, from either end, before it is left as replaced (`max_diff_edits`).
pub const MAX_EDITS: usize = 10_000;

/// Places that belong together, in order, and how many elements were in parts that were left alone.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Common {
    pub(super) pairs: Vec<(usize, usize)>,
    pub(super) given_up: usize,
}

/// Aligns two lists.
pub(super) fn common(a: &[u32], b: &[u32], max_edits: usize) -> Common {
    // What the other list does not have cannot be common.
    let (kept_a, kept_b) = (kept(a, b), kept(b, a));
    let (short_a, short_b): (Vec<u32>, Vec<u32>) =
        (kept_a.iter().map(|n| a[*n]).collect(), kept_b.iter().map(|n| b[*n]).collect());
    let mut search =
        Search { a: &short_a, b: &short_b, forward: Vec::new(), backward: Vec::new(), max_edits };
    let mut found = Common::default();
    let mut waiting = vec![Part { a: (0, short_a.len()), b: (0, short_b.len()) }];
    while let Some(part) = waiting.pop() {
        let part = part.trimmed(&short_a, &short_b, &mut found.pairs);
        let (n, m) = (part.a.1 - part.a.0, part.b.1 - part.b.0);
        if n == 0 || m == 0 {
            continue;
        }
        match search.middle(&part) {
            Some((start, end)) => {
                found.pairs.extend((0..end.0 - start.0).map(|n| (start.0 + n, start.1 + n)));
                waiting.push(Part { a: (part.a.0, start.0), b: (part.b.0, start.1) });
                waiting.push(Part { a: (end.0, part.a.1), b: (end.1, part.b.1) });
            }
            None => found.given_up += n + m,
        }
    }
    found.pairs.sort_unstable();
    for (x, y) in &mut found.pairs {
        (*x, *y) = (kept_a[*x], kept_b[*y]);
    }
    found
}

/// The places of elements that the other list has, too.
fn kept(list: &[u32], other: &[u32]) -> Vec<usize> {
    let others: rustc_hash::FxHashSet<u32> = other.iter().copied().collect();
    (0..list.len()).filter(|n| others.contains(&list[*n])).collect()
}

/// A range of each list.
struct Part {
    a: (usize, usize),
    b: (usize, usize),
}

impl Part {
    /// Without what is the same at both ends, which is common.
    fn trimmed(mut self, a: &[u32], b: &[u32], pairs: &mut Vec<(usize, usize)>) -> Part {
        while self.a.0 < self.a.1 && self.b.0 < self.b.1 && a[self.a.0] == b[self.b.0] {
            pairs.push((self.a.0, self.b.0));
            self.a.0 += 1;
            self.b.0 += 1;
        }
        while self.a.0 < self.a.1 && self.b.0 < self.b.1 && a[self.a.1 - 1] == b[self.b.1 - 1] {
            self.a.1 -= 1;
            self.b.1 -= 1;
            pairs.push((self.a.1, self.b.1));
        }
        self
    }
}

/// A place in both lists.
type Place = (usize, usize);

struct Search<'a> {
    a: &'a [u32],
    b: &'a [u32],
    /// How far each diagonal was followed, from either end.
    forward: Vec<i64>,
    backward: Vec<i64>,
    max_edits: usize,
}

/// A diagonal that cannot be reached.
const NOWHERE: i64 = i64::MIN / 2;

impl Search<'_> {
    /// A run of common elements (it may be empty) on a shortest way through the part; `None` when that is too long.
    fn middle(&mut self, part: &Part) -> Option<(Place, Place)> {
        let (a, b) = (&self.a[part.a.0..part.a.1], &self.b[part.b.0..part.b.1]);
        let (n, m) = (i64::try_from(a.len()).ok()?, i64::try_from(b.len()).ok()?);
        let delta = n - m;
        let half = usize::try_from((n + m + 1) / 2).ok()?;
        let zero = i64::try_from(half).ok()? + 1;
        let slot = |k: i64| usize::try_from(k + zero).unwrap_or(0);
        for row in [&mut self.forward, &mut self.backward] {
            row.clear();
            row.resize(2 * half + 3, NOWHERE);
            row[slot(1)] = 0;
        }
        let place = |x: i64, y: i64| {
            let at = |start: usize, n: i64| start + usize::try_from(n).unwrap_or(0);
            (at(part.a.0, x), at(part.b.0, y))
        };
        for edits in 0..=half.min(self.max_edits) {
            let edits = i64::try_from(edits).ok()?;
            let mut k = -edits;
            while k <= edits {
                let same = |x: i64, y: i64| equal(a, b, x, y);
                if let Some((from, to)) = follow(&mut self.forward, k, slot, (n, m), same) {
                    let met = self.backward[slot_within(delta - k, edits - 1, slot)];
                    if delta % 2 != 0 && (delta - k).abs() < edits && to + met >= n {
                        return Some((place(from, from - k), place(to, to - k)));
                    }
                }
                k += 2;
            }
            let mut k = -edits;
            while k <= edits {
                let same = |x: i64, y: i64| equal(a, b, n - 1 - x, m - 1 - y);
                if let Some((from, to)) = follow(&mut self.backward, k, slot, (n, m), same) {
                    let met = self.forward[slot_within(delta - k, edits, slot)];
                    if delta % 2 == 0 && (delta - k).abs() <= edits && to + met >= n {
                        return Some((place(n - to, m - (to - k)), place(n - from, m - (from - k))));
                    }
                }
                k += 2;
            }
        }
        None
    }
}

/// The slot of a diagonal, or any when it was not followed yet.
fn slot_within(k: i64, edits: i64, slot: impl Fn(i64) -> usize) -> usize {
    slot(if k.abs() <= edits { k } else { 0 })
}

fn equal(a: &[u32], b: &[u32], x: i64, y: i64) -> bool {
    let at = |list: &[u32], n: i64| usize::try_from(n).ok().and_then(|n| list.get(n).copied());
    at(a, x).is_some_and(|one| at(b, y) == Some(one))
}

/// Follows a diagonal with one more change; where it was entered and how far it goes, both in the first list.
fn follow(
    row: &mut [i64],
    k: i64,
    slot: impl Fn(i64) -> usize,
    (n, m): (i64, i64),
    same: impl Fn(i64, i64) -> bool,
) -> Option<(i64, i64)> {
    let (down, right) = (row[slot(k + 1)], row[slot(k - 1)] + 1);
    let down = if down >= 0 && down - k <= m { down } else { NOWHERE };
    let right = if right > 0 && right <= n { right } else { NOWHERE };
    let from = down.max(right);
    if from < 0 {
        row[slot(k)] = NOWHERE;
        return None;
    }
    let mut to = from;
    while same(to, to - k) {
        to += 1;
    }
    row[slot(k)] = to;
    Some((from, to))
}

#[cfg(test)]
mod tests {
    use super::{MAX_EDITS, common};
    use proptest::prelude::*;

    /// The length by the textbook.
    fn longest(a: &[u32], b: &[u32]) -> usize {
        let mut row = vec![0; b.len() + 1];
        for x in a {
            let mut diagonal = 0;
            for (j, y) in b.iter().enumerate() {
                let above = row[j + 1];
                row[j + 1] = if x == y { diagonal + 1 } else { above.max(row[j]) };
                diagonal = above;
            }
        }
        row[b.len()]
    }

    #[test]
    fn a_part_that_takes_too_long_is_left_alone_and_counted() {
        let a: Vec<u32> = (0..100).collect();
        let b: Vec<u32> = (0..100).rev().collect();
        assert_eq!(common(&a, &b, 5).given_up, 200);
        assert_eq!(common(&a, &b, MAX_EDITS).pairs.len(), 1);
    }

    proptest! {
        #[test]
        fn it_is_common_in_order_and_as_long_as_can_be(
            a in prop::collection::vec(0_u32..6, 0..60),
            b in prop::collection::vec(0_u32..6, 0..60),
        ) {
            let found = common(&a, &b, MAX_EDITS);
            prop_assert!(found.pairs.iter().all(|(x, y)| a[*x] == b[*y]));
            prop_assert!(found.pairs.windows(2).all(|w| w[0].0 < w[1].0 && w[0].1 < w[1].1), "{:?}", found.pairs);
            prop_assert_eq!(found.pairs.len(), longest(&a, &b));
            prop_assert_eq!(found.given_up, 0);
        }
    }
}
