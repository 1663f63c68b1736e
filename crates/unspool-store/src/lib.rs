//! What is kept. The record log is the ground; derived tables follow from it and can be made again.
//!
//! In: records as received, and rows derived from them. Out: the same bytes, the same rows, and answers that are alike on every store.
//! Never here: formats, links, HTTP, threads of its own, the clock.

mod cut;
mod error;
pub mod files;
pub mod log;

pub use error::LogError;
pub use log::{Damage, DamageKind, Entry, Log, LogOptions, LogSize, Receipt, Recovery, Scan, Scanned};
