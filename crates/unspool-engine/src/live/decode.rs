//! Bytes of one stream, read into a batch of their own.

use unspool_formats::{Decoder, Detail, SNIFF_BYTES, best};
use unspool_model::{Batch, Outcome};

/// A stream's records.
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

/// Reads a stream; `None` when no format knows it.
pub(crate) fn decode<'a>(name: &str, head: &[u8], parts: impl Iterator<Item = &'a [u8]>) -> Option<Decoded> {
    let head = &head[..head.len().min(SNIFF_BYTES)];
    let (format, sniff) = best(name, head)?;
    let mut batch = Batch::default();
    let mut decoder = Decoder::new(&mut batch, format, sniff, name, Detail::Full);
    parts.for_each(|part| decoder.push(part));
    decoder.finish();
    let rejected = batch.records.iter().filter(|record| record.outcome == Outcome::Rejected).count() as u64;
    let reason = batch.issues.iter().find(|issue| {
        batch.records.get(issue.record as usize).is_some_and(|record| record.outcome == Outcome::Rejected)
    });
    let counted = Counted {
        format: format.descriptor().id.into(),
        records: batch.records.len() as u64,
        rejected,
        reason: reason.map(|issue| format!("{}: {}", issue.code.name(), issue.code.sentence())),
    };
    Some(Decoded { batch, counted })
}
