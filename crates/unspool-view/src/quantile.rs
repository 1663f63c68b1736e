//! Quantiles by nearest rank: always a value that is there. The one meaning of median and percentile.
//!
//! In: sorted values. Out: one of them. Never here: interpolation.

/// The least value that at least `percent` of 100 do not exceed; none without values.
pub(crate) fn quantile<T: Copy>(sorted: &[T], percent: usize) -> Option<T> {
    let rank = sorted.len().saturating_mul(percent).div_ceil(100);
    sorted.get(rank.saturating_sub(1)).copied()
}

/// The value that half do not exceed.
pub(crate) fn median(mut values: Vec<i64>) -> Option<i64> {
    values.sort_unstable();
    quantile(&values, 50)
}

#[cfg(test)]
mod tests {
    use super::{median, quantile};

    #[test]
    fn by_nearest_rank() {
        let sorted = [10, 20, 30, 40];
        let ranks = [0, 25, 26, 50, 75, 95, 100].map(|percent| quantile(&sorted, percent));
        assert_eq!(ranks, [10, 10, 20, 20, 30, 40, 40].map(Some));
        assert_eq!((median(vec![3, 1, 2]), median(vec![4, 1]), median(Vec::new())), (Some(2), Some(1), None));
    }
}
