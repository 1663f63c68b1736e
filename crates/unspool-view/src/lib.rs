//! Flow to answers: sums, statistics, trees, explanations and exports.
//!
//! In: a flow, the batch it was linked from, and a question. Out: plain values and text. Never here: a store, a
//! terminal, HTTP, a decision about causality.

pub mod detection;
pub mod doctor;
pub mod document;
pub mod explain;
pub mod export;
pub mod filtered;
pub mod flow_json;
pub mod graph;
pub mod labels;
pub mod list;
pub mod prices;
pub mod rows;
pub mod stats;
pub mod totals;
pub mod tree_json;
pub mod workflow;

pub use prices::{Money, Prices};
pub use totals::{FlowTotals, Pricer, Totals, totals};
