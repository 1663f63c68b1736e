//! Native bytes for those who look into records.
//!
//! In: where bytes lie, and the batch. Out: a record's bytes, or nothing when they cannot be had. Never here: meaning.

use std::borrow::Cow;
use unspool_engine::{NativeReader, Natives};
use unspool_model::{Batch, RecordIx};
use unspool_view::search::NativeBytes;

/// Reads records from their files.
pub(crate) struct Bytes<'a> {
    reader: NativeReader<'a>,
    batch: &'a Batch,
}

impl<'a> Bytes<'a> {
    pub(crate) fn new(natives: &'a Natives, batch: &'a Batch) -> Bytes<'a> {
        Bytes { reader: natives.reader(batch), batch }
    }
}

impl NativeBytes for Bytes<'_> {
    fn bytes(&mut self, record: RecordIx) -> Option<&[u8]> {
        self.reader.bytes(self.batch.records.get(record as usize)?).ok()
    }

    fn readable(&mut self, record: RecordIx) -> Option<Cow<'_, str>> {
        self.bytes(record).map(unspool_formats::readable)
    }
}
