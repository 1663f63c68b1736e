//! Parts of a graph that nothing joins, side by side.
//!
//! In: pairs of things that belong together; sizes of parts. Out: the part of each thing; a place for each part.

use super::types::{Point, Size, number};

/// For each of `count` things its part; parts are numbered by their first thing.
pub(crate) fn parts(count: usize, joined: impl Iterator<Item = (u32, u32)>) -> Vec<u32> {
    let mut heads: Vec<u32> = (0u32..).take(count).collect();
    for (a, b) in joined {
        let (a, b) = (head(&mut heads, a), head(&mut heads, b));
        heads[a.max(b) as usize] = a.min(b);
    }
    let mut numbers = vec![u32::MAX; count];
    let mut next = 0;
    (0u32..)
        .take(count)
        .map(|n| {
            let head = head(&mut heads, n) as usize;
            if numbers[head] == u32::MAX {
                numbers[head] = next;
                next += 1;
            }
            numbers[head]
        })
        .collect()
}

fn head(heads: &mut [u32], mut n: u32) -> u32 {
    while heads[n as usize] != n {
        heads[n as usize] = heads[heads[n as usize] as usize];
        n = heads[n as usize];
    }
    n
}

/// How much wider than high the whole may be.
const ASPECT: f64 = 1.6;

/// Rows of parts in their order. The width doubles when it must grow, so a part that grows a little moves the others seldom.
pub(crate) fn shelves(sizes: &[Size], gap: f64) -> (Vec<Point>, Size) {
    let area: f64 = sizes.iter().map(|size| (size.width + gap) * (size.height + gap)).sum();
    let widest = sizes.iter().map(|size| size.width).fold(0.0, f64::max);
    let mut width = 256.0;
    while width * width < area * ASPECT {
        width *= 2.0;
    }
    let width = width.max(widest);
    let mut places = Vec::with_capacity(sizes.len());
    let (mut x, mut y, mut row) = (0.0, 0.0, 0.0f64);
    let mut whole = Size::default();
    for size in sizes {
        if x > 0.0 && x + size.width > width {
            (x, y, row) = (0.0, y + row + gap, 0.0);
        }
        places.push(Point { x, y });
        whole.width = whole.width.max(x + size.width);
        whole.height = whole.height.max(y + size.height);
        row = row.max(size.height);
        x += size.width + gap;
    }
    (places, whole)
}

/// Sizes as numbers that can be reckoned with.
pub(crate) fn sane(value: f64) -> f64 {
    if value.is_finite() { value.clamp(0.0, number(1_000_000)) } else { 0.0 }
}
