//! What can be asked about a session, and the answers.
//!
//! In: a linked session, its records, and a question as an address has it. Out: an answer in the types of `unspool-view`, or why there is none.
//! Never here: how questions come and answers go (HTTP, a page without a server), and sessions that have to be looked for.
//!
//! `endpoints` lists all there is, as data: whoever serves makes their routes from it.

#![expect(
    clippy::unnecessary_wraps,
    reason = "whoever answers has the same type, whether it can refuse or not"
)]

mod asked;
mod call;
mod endpoints;
mod error;
mod export;
mod graph;
mod layouts;
mod numbers;
mod parts;
mod questions;
mod reply;
mod steps;
mod windows;

pub use asked::{Asked, Param, Sort, bad, word};
pub use call::{Answer, AskSession, Call, Endpoint, Neighbours, Records, SchemaOf, Seen, Sessions, Snapshot};
pub use endpoints::SESSION_ENDPOINTS;
pub use error::{ApiError, ErrorDoc};
pub use layouts::Layouts;
pub use questions::{DIFF, QUERY, QueryAnswerDoc, Wanted, diff, query};
pub use reply::{Reply, WriteAll};
