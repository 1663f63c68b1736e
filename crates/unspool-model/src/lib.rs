//! The words of Unspool.
//!
//! In: nothing. Out: the types every other crate speaks in. Never here: a format, a store, a wire or
//! disk representation, the clock, the file system.

pub mod batch;
mod codes;
pub mod declared;
pub mod edge;
pub mod event;
pub mod flow;
pub mod given;
pub mod ids;
pub mod issue;
mod pick;
pub mod prompt;
mod request;
mod sorted;
pub mod text;
pub mod time;
pub mod usage;

pub use batch::{Batch, Claim, Format, Outcome, Record, RecordIx, Stream, Witness};
pub use codes::without_codes;
pub use declared::{DeclaredLink, LinkStanding, Verdict};
pub use edge::{Confidence, Edge, EdgeKind, Rule};
pub use event::{Attr, AttrName, Event, EventFlags, EventKind, Key, KeyKind, KeyKinds, LinkSource, Role};
pub use flow::{
    Agent, AgentSource, Flow, IntentSource, Lines, Rival, RivalReason, Run, Session, Spawn, Status, Step,
    StepKind,
};
pub use given::{Given, GivenSession};
pub use ids::Id;
pub use issue::{Code, Issue, Issues, Severity};
pub use request::RequestKind;
pub use sorted::sort_by_meaning;
pub use text::{Interner, Sym};
pub use time::Timestamp;
pub use usage::Usage;
