//! The real server, killed, starved and flooded: what it acknowledged is there, once.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests may stop")]

mod crashes;
mod faults;
mod process;
