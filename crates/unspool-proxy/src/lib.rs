//! Carries requests to an LLM API and back, and hands over what it saw.
//!
//! In: requests of clients. Out: the upstream's answers, byte for byte and as they come; and beside them each exchange, without secrets, to
//! whoever records. Never here: stores, links, formats; waiting for whoever records.

mod carriers;
mod driven;
mod forward;
mod gathered;
mod headers;
mod mask;
mod refusal;
mod room;
mod routes;
mod seen;
mod serve;
mod tee;
mod upstream;

pub use mask::{MASKED, Masks};
pub use room::{Loss, Room};
pub use routes::{BadUpstream, Routes, Upstream};
pub use seen::{Body, Cut, Failure, Piece, Recorder, Response, Seen, Sent};
pub use serve::{Options, Proxy};
