//! The only threads and files below the command line: finding sources, reading them, giving bytes back.
//!
//! In: paths. Out: one batch of everything read, and native bytes on demand. Never here: what bytes mean, how
//! events are linked, what a person sees.

mod discover;
mod packed;
mod read;

pub use discover::{Found, Source, discover, looks_like_data, usual_places};
pub use read::{Natives, Progress, Reading, inspect_head, read};
