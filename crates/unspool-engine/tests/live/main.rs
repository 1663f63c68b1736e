//! The live engine: what arrives is kept, and what is shown is what linking everything at once would show.

#![expect(clippy::unwrap_used, reason = "tests may stop")]

mod bodies;
mod damage;
mod faults;
mod rebuild;
mod repeats;
mod retain;
mod same;
mod sources;
mod texts;
mod waning;
mod watch;
