//! What comes in over the network, what is asked, and what is told.
//!
//! In: requests. Out: receipts, answers and news, in the types of `unspool-view`. Never here: causality, files, threads of its own but for
//! the runtime's.

mod api;
mod app;
mod body;
mod error;
mod grpc;
mod guard;
mod ingest;
mod layouts;
mod listen;
mod notices;
mod page;
mod refusals;

pub use app::{App, Limits};
pub use guard::Access;
pub use listen::{Addresses, ServeError, Server};
pub use notices::{Notice, Notices};
pub use refusals::Refusals;
pub use unspool_store::{Scope, Token, TokenError, Tokens};
