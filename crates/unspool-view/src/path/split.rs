//! Sums over a scope: what its wall clock was spent on, and how much went on at once.
//!
//! In: a network. Out: milliseconds by class, parallelism. Never here: text.

use super::class::Class;
use super::network::Network;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use unspool_model::flow::NONE;

/// Milliseconds of the critical path by what they were spent on. They add up to the wall clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SplitDoc {
    /// A model worked.
    pub model_ms: i64,
    /// A tool worked.
    pub tool_ms: i64,
    /// A person was waited for.
    pub human_ms: i64,
    /// A failed attempt that was made again, and the pause before the next one.
    pub retry_ms: i64,
    /// Nothing that is recorded happened.
    pub idle_ms: i64,
    /// Work of another sort.
    pub other_ms: i64,
}

impl SplitDoc {
    fn slot(&mut self, class: Class) -> &mut i64 {
        match class {
            Class::Model => &mut self.model_ms,
            Class::Tool => &mut self.tool_ms,
            Class::Human => &mut self.human_ms,
            Class::Retry => &mut self.retry_ms,
            Class::Idle => &mut self.idle_ms,
            Class::Other => &mut self.other_ms,
        }
    }

    /// The sum of one class.
    pub fn of(&self, class: Class) -> i64 {
        *self.clone().slot(class)
    }

    /// The sum of all classes.
    pub fn total(&self) -> i64 {
        Class::ALL.iter().fold(0, |sum: i64, class| sum.saturating_add(self.of(*class)))
    }
}

/// The classes along a path.
pub(crate) fn split(network: &Network, path: &[u32]) -> SplitDoc {
    let mut split = SplitDoc::default();
    for piece in path.iter().flat_map(|slot| network.pieces_of(*slot)) {
        let sum = split.slot(piece.class);
        *sum = sum.saturating_add(piece.ms);
    }
    split
}

/// How much went on at once. Waiting, for a person too, is not work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct ParallelismDoc {
    /// Milliseconds of work, those of parallel steps added up.
    pub work_ms: i64,
    /// Milliseconds in which at least one step was at work.
    pub busy_ms: i64,
    /// Steps at work at once, on average while any was.
    pub average: f64,
    /// Steps at work at once, at most.
    pub peak: u64,
}

/// When each step was at work, without what it waited for inside; in order, and no two of one step overlap.
fn work(network: &Network) -> impl Iterator<Item = (i64, i64)> {
    let mut by_worker: BTreeMap<u32, Vec<(i64, i64)>> = BTreeMap::new();
    for slot in 0..network.moments.len() {
        for piece in network.pieces_of(u32::try_from(slot).unwrap_or(NONE)) {
            let works = matches!(piece.class, Class::Model | Class::Tool | Class::Retry | Class::Other);
            if works && piece.ms > 0 && piece.worker != NONE {
                by_worker.entry(piece.worker).or_default().push((piece.at, piece.at + piece.ms));
            }
        }
    }
    by_worker.into_values().flat_map(union)
}

/// The same time without overlaps.
fn union(mut spans: Vec<(i64, i64)>) -> Vec<(i64, i64)> {
    spans.sort_unstable();
    let mut apart: Vec<(i64, i64)> = Vec::new();
    for (began, ended) in spans {
        match apart.last_mut().filter(|last| began <= last.1) {
            Some(last) => last.1 = last.1.max(ended),
            None => apart.push((began, ended)),
        }
    }
    apart
}

/// Over everything that worked in a scope, each step without what it waited for inside.
pub(crate) fn parallelism(network: &Network) -> ParallelismDoc {
    let mut turns: Vec<(i64, i8)> = Vec::new();
    let mut work_ms = 0_i64;
    for (began, ended) in work(network) {
        work_ms = work_ms.saturating_add(ended - began);
        turns.extend([(began, 1), (ended, -1)]);
    }
    // Ends before beginnings of the same moment: what follows is not beside.
    turns.sort_unstable();
    let (mut busy_ms, mut peak, mut now, mut since) = (0, 0, 0_i64, 0);
    for (at, turn) in turns {
        if now > 0 {
            busy_ms += at - since;
        }
        now += i64::from(turn);
        since = at;
        peak = peak.max(now);
    }
    ParallelismDoc {
        work_ms,
        busy_ms,
        average: ratio(work_ms, busy_ms),
        peak: u64::try_from(peak).unwrap_or(0),
    }
}

/// A quotient to three digits; 0 when there is nothing to divide by.
#[expect(clippy::cast_precision_loss, reason = "rounded to three digits")]
pub(crate) fn ratio(part: i64, whole: i64) -> f64 {
    if whole == 0 { 0.0 } else { (part as f64 / whole as f64 * 1000.0).round() / 1000.0 }
}
