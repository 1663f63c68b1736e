//! Flows and graphs in the formats other tools open. One file per format.
//!
//! In: a graph, or a flow with its batch. Out: bytes to a writer, the same for the same input. Never here: files, what a
//! graph shows, a decision about causality.

mod bars;
pub mod causality;
pub mod chrome;
pub mod csv;
pub mod d2;
pub mod dot;
mod figures;
mod format;
pub mod graph_json;
pub mod graphml;
mod join;
pub mod markdown;
pub mod mermaid;
mod nested;
pub mod otlp;
pub mod pattern;
pub mod speedscope;
pub mod subtasks;
mod text;
pub mod thoughtflow;

pub use format::{Format, View};
pub use join::{join, name_lanes};

#[cfg(test)]
mod tests;
