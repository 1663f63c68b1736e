//! Carries requests to an LLM API and back, and hands over what it saw.
//!
//! In: requests of clients, and what they say over sockets. Out: the upstream's answers, byte for byte and as they come; and beside them each
//! exchange, without secrets, to whoever records. Never here: stores, links, formats; waiting for whoever records.

mod calls;
mod carriers;
mod driven;
mod forward;
mod frames;
mod gathered;
mod headers;
mod mask;
mod names;
mod pieces;
mod reading;
mod refusal;
mod room;
mod routes;
mod secrets;
mod seen;
mod serve;
mod socket;
mod sockets;
mod tee;
mod turns;
mod upstream;
mod written;

pub use mask::{MASKED, Masks};
pub use names::{Names, host_of};
pub use room::{Loss, Room};
pub use routes::{BadUpstream, Routes, Upstream, run_path, shown, split_run};
pub use secrets::Secrets;
pub use seen::{Body, Cut, Failure, Piece, Recorder, Response, Seen, Sent};
pub use serve::{Options, Proxy, StartError};
pub use sockets::{BothWays, Sockets, Way, Went};
