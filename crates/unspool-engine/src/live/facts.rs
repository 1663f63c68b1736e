//! A session as the store keeps it, with what its flow does not say: what it cost, and how many bytes tell of it.

use super::tally::source_of;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;
use unspool_model::{Batch, Flow, Record, RecordIx};
use unspool_store::Beside;
use unspool_store::rows::{SessionFacts, SessionRow};
use unspool_view::{Pricer, Prices};

/// The rows of a session whose records lie at these positions of the log.
pub(crate) fn facts(
    flow: &Arc<Flow>,
    batch: &Arc<Batch>,
    prices: &Prices,
    positions: Range<u64>,
) -> SessionFacts {
    SessionFacts::of(flow, batch, &beside(flow, batch, prices, positions))
}

/// A session of no log, as it stands in a list.
pub fn session_row(flow: &Flow, batch: &Batch, prices: &Prices) -> SessionRow {
    SessionRow::of(flow, batch, &beside(flow, batch, prices, 0..0))
}

fn beside(flow: &Flow, batch: &Batch, prices: &Prices, positions: Range<u64>) -> Beside {
    let mut pricer = Pricer::new(flow, &batch.text, prices);
    let mut sum = unspool_view::Totals::default();
    flow.steps.iter().for_each(|step| sum.add(&pricer.step(step)));
    let mut records: Vec<RecordIx> = flow.witnesses.clone();
    records.sort_unstable();
    records.dedup();
    let records: Vec<&Record> = records.iter().filter_map(|n| batch.records.get(*n as usize)).collect();
    let mut streams: Vec<u32> = records.iter().map(|record| record.stream).collect();
    streams.sort_unstable();
    streams.dedup();
    let sources: BTreeSet<&str> = streams.into_iter().map(|stream| source_of(batch, stream)).collect();
    Beside {
        cost_nano_usd: sum
            .full_cost()
            .filter(|_| sum.counted > 0)
            .and_then(|cost| i64::try_from(cost.picodollars() / 1000).ok()),
        native_bytes: records.iter().map(|record| u64::from(record.len)).sum(),
        sources: sources.into_iter().map(String::from).collect(),
        positions,
    }
}
