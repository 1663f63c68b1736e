//! Log and store together: records first, what follows from them after.
//!
//! In: a folder. Out: receipts, commits, and where deriving has to go on. Never here: deriving itself, which is the caller's: the
//! ground knows no format and no rule.

use crate::error::{LogError, StoreError};
use crate::files::{DiskFiles, Files, FolderLock};
use crate::log::{Entry, Log, LogOptions, LogSize, Receipt, Recovery, Scan};
use crate::store::{Commit, Forgotten, Store, StorePlace};
use std::path::Path;
use std::sync::Arc;
use unspool_model::Id;

/// Why something on the ground failed.
#[derive(Debug, thiserror::Error)]
pub enum GroundError {
    /// The log.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl GroundError {
    /// Which database is not what was written, and what it said, if that is what is wrong.
    pub fn damage(&self) -> Option<(&str, &str)> {
        match self {
            GroundError::Log(_) => None,
            GroundError::Store(error) => error.damage(),
        }
    }

    /// What the user can do, if anything.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            GroundError::Log(error) => error.hint(),
            GroundError::Store(error) => error.hint(),
        }
    }
}

/// What retention took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retired {
    /// Of what was derived.
    pub derived: Forgotten,
    /// Of the log.
    pub log: LogSize,
}

/// Log and store of one folder.
pub struct Ground {
    log: Arc<Log>,
    recovery: Recovery,
    _lock: Option<FolderLock>,
    store: Box<dyn Store>,
}

impl Ground {
    /// A log in the folder's `log`, and a store. `holder` is what a second process will be told.
    pub fn open(
        folder: &Path,
        holder: &str,
        store: &dyn StorePlace,
        options: LogOptions,
    ) -> Result<Ground, GroundError> {
        let lock = FolderLock::take(folder, holder)?;
        Ground::locked(folder, lock, store.open()?, options)
    }

    /// A log in a folder that the caller has taken, and a store that the caller has opened.
    pub fn locked(
        folder: &Path,
        lock: FolderLock,
        store: Box<dyn Store>,
        options: LogOptions,
    ) -> Result<Ground, GroundError> {
        let place = folder.join("log");
        let files = DiskFiles::new(&place).map_err(|source| LogError::Io {
            doing: "open",
            name: place.display().to_string(),
            source,
        })?;
        Ground::holding(Some(lock), Arc::new(files), store, options)
    }

    /// A log in these files, and this store.
    pub fn over(
        files: Arc<dyn Files>,
        store: Box<dyn Store>,
        options: LogOptions,
    ) -> Result<Ground, GroundError> {
        Ground::holding(None, files, store, options)
    }

    fn holding(
        lock: Option<FolderLock>,
        files: Arc<dyn Files>,
        store: Box<dyn Store>,
        options: LogOptions,
    ) -> Result<Ground, GroundError> {
        // What the store has seen was acknowledged: if the log does not hold it, that is a loss, and is said.
        let next_at_least = options.next_at_least.max(store.standing()?.through);
        let (log, recovery) = Log::open(files, LogOptions { next_at_least, ..options })?;
        Ok(Ground { log: Arc::new(log), store, recovery, _lock: lock })
    }

    /// What opening found and did.
    pub fn recovery(&self) -> &Recovery {
        &self.recovery
    }

    /// The log, to be shared among threads that append and read.
    pub fn log(&self) -> &Arc<Log> {
        &self.log
    }

    /// The store, to be asked.
    pub fn store(&self) -> &dyn Store {
        &*self.store
    }

    /// Puts another store in the place of one that is damaged.
    pub fn replace_store(&mut self, store: Box<dyn Store>) {
        self.store = store;
    }

    /// Appends records; they are on the disk when this returns.
    pub fn append(&self, entries: impl Into<Arc<[Entry]>>) -> Result<Receipt, GroundError> {
        Ok(self.log.append(entries)?)
    }

    /// Makes what was derived visible.
    pub fn commit(&mut self, commit: &Commit) -> Result<(), GroundError> {
        Ok(self.store.commit(commit)?)
    }

    /// The version the next commit is to have.
    pub fn next_version(&self) -> Result<u64, GroundError> {
        Ok(self.store.standing()?.version + 1)
    }

    /// The records that no commit accounts for: those acknowledged when the last process stopped before it had derived what
    /// follows from them, and after `rebuild` all of them.
    pub fn underived(&self) -> Result<Scan<'_>, GroundError> {
        Ok(self.log.scan(self.store.standing()?.through))
    }

    /// Throws away everything derived. The caller then derives it again from `underived` and commits.
    pub fn rebuild(&mut self) -> Result<Scan<'_>, GroundError> {
        self.store.drop_derived()?;
        self.underived()
    }

    /// Deletes sessions, and those segments of the log that no session needs any more.
    pub fn retire(&mut self, sessions: &[Id]) -> Result<Retired, GroundError> {
        let derived = self.store.forget(sessions)?;
        let through = self.store.standing()?.through;
        let needed = self.store.oldest_position()?.unwrap_or(through).min(through);
        Ok(Retired { derived, log: self.log.drop_before(needed)? })
    }
}
