//! What is kept. The record log is the ground; derived tables follow from it and can be made again.
//!
//! In: records as received, and rows derived from them. Out: the same bytes, the same rows, and answers that are alike on every store.
//! Never here: formats, links, HTTP, threads of its own, the clock.

mod bytes;
mod cut;
mod error;
mod families;
pub mod files;
mod from_flow;
mod ground;
mod list;
pub mod log;
mod memory;
mod packer;
pub mod question;
pub mod rows;
mod secret;
mod sqlite;
mod store;
mod texts;
mod tokens;

pub use error::{LogError, StoreError, is_of_the_disk};
pub use families::{Families, FamilyId, Held, LooseIssue, Placed, RecordCounts, StreamPart};
pub use from_flow::{ACTIVITY_PARTS, Beside};
pub use ground::{Ground, GroundError, Retired};
pub use log::{
    Compacted, Damage, DamageKind, Entry, Log, LogOptions, LogSize, Packing, Receipt, Recovery, Scan, Scanned,
};
pub use memory::MemoryStore;
pub use question::{Cursor, Facet, FacetValues, Filter, MAX_FACET_VALUES, Page, Question, Sort};
pub use secret::{keep_key, new_key, secret_key};
pub use sqlite::{DatabaseFile, SqliteStore};
pub use store::{Changed, Commit, Forgotten, Standing, Store, StorePlace, Totals};
pub use texts::{
    ChunkId, KeptText, KnownChunk, NewChunk, PackedText, SessionNumber, Sieve, TextPacker, Texts,
    TextsReader, WantedWord,
};
pub use tokens::{NewToken, Scope, Stamp, Token, TokenError, Tokens};
