//! How often each endpoint was asked, and how it answered.

use axum::http::StatusCode;
use std::sync::atomic::{AtomicU64, Ordering};

/// Statuses are counted by their hundreds.
const CLASSES: usize = 6;

/// The counts.
pub(crate) struct Tally {
    counts: Vec<[AtomicU64; CLASSES]>,
}

impl Tally {
    pub(crate) fn new(endpoints: usize) -> Tally {
        Tally { counts: (0..endpoints).map(|_| Default::default()).collect() }
    }

    pub(crate) fn add(&self, endpoint: usize, status: StatusCode) {
        let class = usize::from(status.as_u16() / 100).min(CLASSES - 1);
        if let Some(counts) = self.counts.get(endpoint) {
            counts[class].fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Endpoint, hundreds of the status, and how often; what never was is left out.
    pub(crate) fn all(&self) -> impl Iterator<Item = (usize, usize, u64)> {
        self.counts.iter().enumerate().flat_map(|(endpoint, counts)| {
            let counts = counts.iter().map(|count| count.load(Ordering::Relaxed)).enumerate();
            counts.filter(|(_, count)| *count > 0).map(move |(class, count)| (endpoint, class, count))
        })
    }
}
