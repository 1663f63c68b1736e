//! The log under faults, the conformance of stores, and both together.
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests may stop")]

mod crashes;
mod faults;
mod log;
