//! The real server, killed, starved and flooded: what it acknowledged is there, once. And the demo, which is one.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests may stop")]

mod crashes;
mod demo;
mod faults;
mod links;
mod process;
