//! Bytes of one stream, read into a batch of their own.

use super::streams::Sort;
use unspool_formats::{Decoder, Detail, SNIFF_BYTES, best};
use unspool_model::{Batch, Outcome, Record, Sym};

/// A stream's records.
#[derive(Default)]
pub(crate) struct Decoded {
    pub(crate) batch: Batch,
    pub(crate) counted: Counted,
}

/// What was read from a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// The format it was read as.
    pub format: String,
    /// Its records.
    pub records: u64,
    /// Those that could not be read.
    pub rejected: u64,
    /// The first reason, in the words of the catalogue.
    pub reason: Option<String>,
}

impl Decoded {
    /// Gives its records the name they know their stream by, which has its position in the log.
    pub(crate) fn named(mut self, sort: Sort<'_>, position: u64) -> Decoded {
        let name = self.batch.text.intern(&sort.shown(position));
        self.batch.streams.iter_mut().for_each(|row| row.name = name);
        self
    }
}

/// Reads what arrived whole, or the beginning of a file; `None` when no format knows it. Nothing that is read depends on where in the log it comes to lie.
pub(crate) fn decode(sort: Sort<'_>, bytes: &[u8]) -> Option<Decoded> {
    let mut batch = Batch::default();
    let name = sort.scope();
    let (format, sniff) = best(name, &bytes[..bytes.len().min(SNIFF_BYTES)])?;
    let mut decoder = Decoder::new(&mut batch, format, sniff, name, Detail::Full);
    decoder.push(bytes);
    decoder.finish();
    if !sort.says_where() {
        batch.streams.iter_mut().for_each(|row| row.container = Sym::EMPTY);
    }
    let counted = count(&batch, format.descriptor().id);
    Some(Decoded { batch, counted })
}

fn count(batch: &Batch, format: &str) -> Counted {
    let is_rejected = |record: &Record| record.outcome == Outcome::Rejected;
    let reason =
        batch.issues.iter().find(|issue| batch.records.get(issue.record as usize).is_some_and(is_rejected));
    Counted {
        format: format.into(),
        records: batch.records.len() as u64,
        rejected: batch.records.iter().filter(|record| is_rejected(record)).count() as u64,
        reason: reason.map(|issue| format!("{}: {}", issue.code.name(), issue.code.sentence())),
    }
}
