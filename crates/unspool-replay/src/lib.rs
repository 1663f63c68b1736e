//! Recorded exchanges once more: answered as the API answered them, or sent to an API again.
//!
//! In: whole exchanges of recorded traffic. Out: an API that answers as recorded, or what an API says to the same requests now. Never here: files,
//! sessions, what an exchange means; a recorded header that may be a secret is never sent.

mod asking;
mod compare;
mod difference;
mod errors;
mod matching;
mod mock;
mod request;
mod send;

pub use asking::only_asks;
pub use compare::Verdict;
pub use matching::{Found, How, Miss, Recordings};
pub use mock::{Mock, Pace};
pub use send::{Outcome, Sender, Target};
