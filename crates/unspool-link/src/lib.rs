//! Events to facts: who started whom, which result fed which decision, and why that is believed.
//!
//! In: a batch of records and events, a table of names and windows, and the moment to judge "running" by.
//! Out: one flow per session. Never here: a format, a file, a clock. Linking is a pure function of the set of
//! records: order of reading, chunking and copies of records do not change it.

mod agents;
mod conversations;
mod corpus;
mod declared;
mod draft;
mod facts;
mod families;
mod finish;
mod given;
mod grouping;
mod limits;
mod order;
mod projects;
mod requests;
mod rules;
mod spans;
mod steps;
mod structure;
mod surroundings;
mod symmap;
mod table;
mod union;

pub use corpus::{Corpus, Counts};
pub use families::{FamilyKey, Piece, pieces};
pub use projects::Place;
pub use table::{Table, TableError};
