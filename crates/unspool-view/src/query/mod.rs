//! The query language: which steps of a flow a sentence such as `tool:Bash is:error under:agent:Explore` means.
//!
//! In: a query as text, and a flow. Out: a set of steps, or an error that points at the character. Never here: where the
//! flow comes from, reading native records, drawing. One grammar for all who ask: `docs/query.md`.

pub mod amount;
pub mod ast;
mod error;
mod eval;
#[cfg(test)]
mod eval_tests;
pub mod fields;
mod manual;
mod parse;
pub(crate) mod pattern;
mod relations;
mod selection;
#[cfg(test)]
mod tests;

pub use amount::{Moment, Period};
pub use ast::{Query, Value};
pub use error::QueryError;
pub use eval::{Scope, select};
pub use fields::NumberField;
pub use manual::manual;
pub use parse::{MAX_BYTES, MAX_DEPTH};
pub use pattern::Pattern;
pub use selection::Selection;
