//! The contract every store keeps. `docs/store.md` has it in MUST words; the conformance suite holds every store to it.
//!
//! In: commits and questions. Out: rows. Never here: how it is done. The memory store is what the words mean.

use crate::error::StoreError;
use crate::question::{Facet, FacetValues, Filter, Page, Question};
use crate::rows::{Checkpoint, IssueRow, SessionFacts, SourceReceipt, StepRow};
use std::ops::Range;
use unspool_model::Id;

/// What is written together and seen together.
///
/// Everything in it is a versioned value under a key: it counts when the commit's version is above the version of what is there under
/// that key, and is passed over otherwise. So commits may be repeated and arrive in any order, and the result is the same.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Commit {
    /// Greater than that of every commit whose facts it knows; from 1.
    pub version: u64,
    /// It knows all records before this position of the log.
    pub through: u64,
    /// Sessions, each replacing all rows it had.
    pub sessions: Vec<SessionFacts>,
    /// Sessions that are no more, because they are part of another one now.
    pub gone: Vec<Id>,
    /// How far sources have been read.
    pub checkpoints: Vec<Checkpoint>,
    /// What became of their records.
    pub receipts: Vec<SourceReceipt>,
}

/// How far a store has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// The highest version of any commit; 0 when there was none.
    pub version: u64,
    /// All records before this position are accounted for in what is derived.
    pub through: u64,
}

/// How much there is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Sessions.
    pub sessions: u64,
    /// Their steps.
    pub steps: u64,
}

/// What was forgotten.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Forgotten {
    /// Sessions.
    pub sessions: u64,
    /// Their steps.
    pub steps: u64,
    /// Bytes of their records.
    pub native_bytes: u64,
}

/// A place for what is derived.
pub trait Store: Send {
    /// Makes everything in the commit visible at once and for good, or nothing of it.
    fn commit(&mut self, commit: &Commit) -> Result<(), StoreError>;

    /// How far it has come.
    fn standing(&self) -> Result<Standing, StoreError>;

    /// A page of sessions.
    fn sessions(&self, question: &Question) -> Result<Page, StoreError>;

    /// The values of a facet in the sessions that a filter lets through.
    fn facet(&self, facet: Facet, filter: &Filter) -> Result<FacetValues, StoreError>;

    /// How many sessions there are, and how many steps they have.
    fn totals(&self) -> Result<Totals, StoreError>;

    /// All rows of a session, in their order.
    fn session(&self, id: Id) -> Result<Option<SessionFacts>, StoreError>;

    /// Some steps of a session, by their place in its order; those that there are.
    fn steps(&self, session: Id, places: Range<u32>) -> Result<Vec<StepRow>, StoreError>;

    /// What was odd in a session, in order; nothing when there is no such session.
    fn issues(&self, session: Id) -> Result<Vec<IssueRow>, StoreError>;

    /// The session a step belongs to, and its place there; of several, the session with the smallest id, and the first place. Fast
    /// when the session is known; otherwise a store may look into every session.
    fn place_of_step(&self, step: Id, session: Option<Id>) -> Result<Option<(Id, u32)>, StoreError>;

    /// The place in a session of the first step whose API message has this native id.
    fn place_of_message(&self, session: Id, message: &str) -> Result<Option<u32>, StoreError>;

    /// How far a source has been read.
    fn checkpoint(&self, source: &str) -> Result<Option<Checkpoint>, StoreError>;

    /// What became of the records of each source, in bytewise order of their names.
    fn receipts(&self) -> Result<Vec<SourceReceipt>, StoreError>;

    /// Deletes sessions, and remembers up to where: their records do not bring them back, later ones do.
    fn forget(&mut self, sessions: &[Id]) -> Result<Forgotten, StoreError>;

    /// The first position any session needs; `None` when there is no session.
    fn oldest_position(&self) -> Result<Option<u64>, StoreError>;

    /// Deletes everything that is derived. Checkpoints, receipts and what was forgotten stay; the standing begins again
    /// at position 0, and its version stays.
    fn drop_derived(&mut self) -> Result<(), StoreError>;
}
