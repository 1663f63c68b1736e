//! What comes in over the network, what is asked, and what is told.
//!
//! In: requests. Out: receipts, answers and news, in the types of `unspool-view`; answers about one session are those of `unspool-answers`. Never here: causality, files, threads of its own but for
//! the runtime's.

mod api;
mod app;
mod body;
mod error;
mod grpc;
mod guard;
mod ingest;
mod listen;
mod notices;
mod page;
mod proxy;
mod recorder;
mod refusals;
mod report;

pub use api::usage::{UsageAsked, usage};
pub use app::{App, Limits};
pub use guard::Access;
pub use listen::{Addresses, ServeError, Server};
pub use notices::{Notice, Notices};
pub use proxy::Carrying;
pub use recorder::{MAX_RECORDED_BODY_BYTES, MAX_RECORDING_BYTES, Recorder};
pub use refusals::Refusals;
pub use report::report;
pub use unspool_proxy::{BadUpstream, Room, Routes, Upstream};
pub use unspool_store::{Scope, Token, TokenError, Tokens};
