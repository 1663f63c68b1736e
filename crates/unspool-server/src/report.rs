//! Sessions as one HTML file: the page of this server, with everything it shows inside.
//!
//! In: linked sessions and the way to their sources. Out: the file. Never here: how it is put together.

use crate::api::line_of;
use crate::page::IN_FILE;
use serde_json::value::{RawValue, to_raw_value};
use unspool_model::{Batch, Flow, RecordIx};
use unspool_report::{Asked, MakeError, Report, make};
use unspool_view::Prices;

/// A session as it stands in the list.
fn line(
    flow: &Flow,
    batch: &Batch,
    records: Vec<RecordIx>,
    prices: &Prices,
) -> serde_json::Result<Box<RawValue>> {
    to_raw_value(&line_of(flow, batch, records, prices))
}

/// Makes a report with the page this program carries.
pub fn report(asked: Asked<'_>) -> Result<Report, MakeError> {
    make(IN_FILE, asked, line)
}
