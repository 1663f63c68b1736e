//! What comes in over the network, what is asked, and what is told.
//!
//! In: requests. Out: receipts, answers and news, in the types of `unspool-view`; answers about one session are those of `unspool-answers`. Never here: causality, files, threads of its own but for
//! the runtime's.

mod api;
mod app;
mod artifacts;
mod awaited;
mod body;
mod connections;
mod error;
mod grpc;
mod guard;
mod ingest;
mod listen;
mod notices;
mod pace;
mod page;
mod proxy;
mod recorder;
mod refusals;
mod report;

pub use api::runs::{ProxyRunDoc, carried};
pub use api::usage::{UsageAsked, usage};
pub use app::{App, Limits, Times};
pub use artifacts::remake_artifacts;
pub use awaited::Awaited;
pub use guard::Access;
pub use listen::{Addresses, Place, ServeError, Server};
pub use notices::{Notice, Notices};
pub use proxy::{Carrying, RunningProxy};
pub use recorder::{LateEngine, Recorder, RecordingLimits, new_run};
pub use refusals::Refusals;
pub use report::report;
pub use unspool_proxy::{BadUpstream, Room, Routes, Upstream, run_path, shown, split_run};
pub use unspool_redact::Rules as RedactRules;
pub use unspool_store::{Scope, Token, TokenError, Tokens};
