//! The only threads and files below the command line: finding sources, reading them, giving bytes back.
//!
//! In: paths. Out: one batch of everything read, and native bytes on demand. Never here: what bytes mean, how
//! events are linked, what a person sees.

mod artifacts;
mod discover;
mod hook_spool;
pub mod live;
mod natives;
mod packed;
mod read;
mod watch;

pub use artifacts::{Artifacts, encoded};
pub use discover::{DATA_ENDINGS, Found, Source, discover, looks_like_data, usual_places};
pub use hook_spool::{HookSpool, HooksWaiting, MAX_SPOOL_BYTES};
pub use natives::{NativeReader, Natives};
pub use read::{Progress, Reading, Spooled, inspect_head, read, spool};
pub use watch::{Watched, Watcher};
