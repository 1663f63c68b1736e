//! The log under faults, the conformance of stores, and both together.
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests may stop")]

mod conformance;
mod crashes;
mod dropping;
mod facts;
mod families;
mod faults;
mod ground;
mod growing;
mod log;
mod repeats;
mod sqlite;
mod texts;
