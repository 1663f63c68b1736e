//! A session as the store keeps it, with what its flow does not say: what it cost, and how many bytes tell of it.

use super::tally::source_of;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;
use unspool_link::Corpus;
use unspool_model::{Batch, Flow, Record, RecordIx};
use unspool_store::Beside;
use unspool_store::rows::{SessionFacts, SessionRow};
use unspool_view::{Pricer, Prices};

/// The rows of a session of a corpus whose records lie at these positions of the log.
pub(crate) fn facts(
    flow: &Arc<Flow>,
    (corpus, n): (&Corpus, usize),
    prices: &Prices,
    positions: Range<u64>,
) -> SessionFacts {
    let records = told_by(flow, || corpus.records_of(n));
    SessionFacts::of(flow, &corpus.batch, &beside(flow, &corpus.batch, prices, records, positions))
}

/// A session of no log, in which these records are, as it stands in a list.
pub fn session_row(flow: &Flow, batch: &Batch, records: Vec<RecordIx>, prices: &Prices) -> SessionRow {
    let records = told_by(flow, || records);
    SessionRow::of(flow, batch, &beside(flow, batch, prices, records, 0..0))
}

/// The records that tell of a session: those of its steps, or, where it has none, all that are in it.
fn told_by(flow: &Flow, all: impl FnOnce() -> Vec<RecordIx>) -> Vec<RecordIx> {
    if flow.witnesses.is_empty() { all() } else { flow.witnesses.clone() }
}

fn beside(
    flow: &Flow,
    batch: &Batch,
    prices: &Prices,
    mut records: Vec<RecordIx>,
    positions: Range<u64>,
) -> Beside {
    let mut pricer = Pricer::new(flow, &batch.text, prices);
    let mut sum = unspool_view::Totals::default();
    flow.steps.iter().for_each(|step| sum.add(&pricer.step(step)));
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
