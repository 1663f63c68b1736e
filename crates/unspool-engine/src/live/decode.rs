//! Bytes of one stream, read into a batch of their own.

use unspool_formats::{Decoder, Detail, SNIFF_BYTES, best};
use unspool_model::{Batch, Outcome, Record};

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

/// Reads a body; `None` when no format knows it.
pub(crate) fn decode(name: &str, bytes: &[u8]) -> Option<Decoded> {
    let mut batch = Batch::default();
    let (format, sniff) = best(name, &bytes[..bytes.len().min(SNIFF_BYTES)])?;
    let mut decoder = Decoder::new(&mut batch, format, sniff, name, Detail::Full);
    decoder.push(bytes);
    decoder.finish();
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
