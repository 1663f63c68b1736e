//! Flow to answers: sums, statistics, trees, explanations and exports.
//!
//! In: a flow, the batch it was linked from, and a question. Out: plain values and text. Never here: a store, a
//! terminal, HTTP, a decision about causality.

mod asking;
mod dag;
pub mod detection;
pub mod diff;
pub mod doctor;
pub mod document;
pub mod draw;
#[cfg(test)]
mod drawn;
mod duration;
pub mod explain;
pub mod export;
pub mod failures;
pub mod filtered;
pub mod findings;
pub mod flow_json;
pub mod graph;
pub mod labels;
pub mod layout;
pub mod limits;
pub mod list;
pub mod metrics;
pub mod path;
pub mod prices;
mod quantile;
pub mod query;
pub mod query_json;
mod retries;
pub mod rows;
pub mod screen;
pub mod search;
mod sequence;
pub mod stats;
pub mod templates;
pub mod totals;
pub mod tree_json;
pub mod workflow;

pub use duration::duration;
pub use prices::{Money, Prices};
pub use totals::{FlowTotals, Pricer, Totals, totals};
