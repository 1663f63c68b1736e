//! The contract every store keeps. `docs/store.md` has it in MUST words; the conformance suite holds every store to it.
//!
//! In: commits and questions. Out: rows. Never here: how it is done. The memory store is what the words mean.

use crate::error::StoreError;
use crate::question::{Facet, FacetValues, Filter, Page, Question};
use crate::rows::{Checkpoint, IssueRow, SessionFacts, SourceReceipt, StepRow};
use std::fmt::Debug;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
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

/// A session that became different.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Changed {
    /// Which one.
    pub id: Id,
    /// The version of the commit that said so.
    pub version: u64,
    /// Whether it is still there.
    pub exists: bool,
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

    /// All sessions that are there, in order.
    fn session_ids(&self) -> Result<Vec<Id>, StoreError>;

    /// Sessions that became different behind one version and up to another, by version and id, each with its last change.
    fn changed(&self, behind: u64, upto: u64) -> Result<Vec<Changed>, StoreError>;

    /// The version of the last change of a session, whether it is still there or not.
    fn version_of(&self, session: Id) -> Result<Option<u64>, StoreError>;

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

    /// Sessions that were forgotten and have not come back, in order.
    fn forgotten(&self) -> Result<Vec<Id>, StoreError>;

    /// The first position any session needs; `None` when there is no session.
    fn oldest_position(&self) -> Result<Option<u64>, StoreError>;

    /// Deletes everything that is derived. Checkpoints, receipts and what was forgotten stay; the standing begins again
    /// at position 0, and its version stays.
    fn drop_derived(&mut self) -> Result<(), StoreError>;

    /// Looks at everything it has and says what is damaged; nothing when all is well.
    fn check(&self) -> Result<Vec<String>, StoreError>;

    /// Nothing happens for a while: memory that can be done without is given back.
    fn rest(&self);

    /// Gives room on the disk back that nothing is in any more.
    fn shrink(&self) -> Result<(), StoreError>;
}

/// Where a store is: how it is opened, and what can be done to it from outside.
pub trait StorePlace: Debug + Send + Sync {
    /// What its errors call it.
    fn name(&self) -> String;

    /// What it is called where people know which folder is meant.
    fn short_name(&self) -> String;

    /// Opens the store; an empty one is made where there is none. One value writes; any number of others may read at the same time.
    fn open(&self) -> Result<Box<dyn Store>, StoreError>;

    /// Brings what was committed to where it is to stay. That may wait for the disk; nobody who reads or writes waits for it.
    fn bring_in(&self) -> Result<(), StoreError>;

    /// Puts a new store in the place of a damaged one, which is kept, with what of it can still be read and does not follow from the log: checkpoints and
    /// receipts. Gives what people are to be told. Nobody may have it open.
    fn replace(&self, why: &str) -> Result<String, StoreError>;

    /// A copy of it, which may lie in a folder. Nobody may have either open.
    fn copy(&self, folder: &Path) -> Result<Arc<dyn StorePlace>, StoreError>;

    /// Removes it. Nobody may have it open.
    fn remove(&self) -> Result<(), StoreError>;

    /// How many bytes it takes.
    fn bytes(&self) -> u64;
}
