//! The two databases of a folder. Both follow from the log, so one that is damaged is put aside and both are made again.

use std::path::{Path, PathBuf};
use unspool_store::{Commit, Families, GroundError, LogError, SqliteStore, Store as _, StoreError};

/// The names of the databases, the store's first.
pub(crate) const STORE: &str = "store.db";
pub(crate) const FAMILIES: &str = "families.db";
/// What `SQLite` keeps beside a database.
const COMPANIONS: [&str; 3] = ["", "-wal", "-shm"];

/// Both databases, and what had to be done for it.
pub(crate) struct Databases {
    pub(crate) store: SqliteStore,
    pub(crate) families: Families,
    pub(crate) notices: Vec<String>,
}

/// Opens both as they are.
pub(crate) fn open(folder: &Path) -> Result<Databases, StoreError> {
    let store = SqliteStore::open(&folder.join(STORE))?;
    let families = Families::open(&folder.join(FAMILIES))?;
    Ok(Databases { store, families, notices: Vec::new() })
}

/// Opens both; what is damaged is put aside first.
pub(crate) fn open_or_replace(folder: &Path) -> Result<Databases, GroundError> {
    match open(folder) {
        Err(StoreError::Damaged { .. }) => replace(folder),
        opened => Ok(opened?),
    }
}

/// Puts aside what is damaged and opens new ones. What is sound stays.
pub(crate) fn replace(folder: &Path) -> Result<Databases, GroundError> {
    let mut notices = Vec::new();
    if let Some(why) = damage(SqliteStore::open(&folder.join(STORE)).and_then(|store| store.check())) {
        let salvaged = SqliteStore::salvage(&folder.join(STORE));
        notices.push(put_aside(folder, STORE, &why)?);
        // The only things in it that the log does not know; without them, files are read again from their beginning.
        SqliteStore::open(&folder.join(STORE))?.commit(&Commit { version: 1, ..salvaged })?;
    }
    if let Some(why) = damage(Families::open(&folder.join(FAMILIES)).and_then(|families| families.check())) {
        notices.push(put_aside(folder, FAMILIES, &why)?);
    }
    Ok(Databases { notices, ..open(folder)? })
}

/// Copies both to another folder. Nobody may have them open.
pub(crate) fn copy(folder: &Path, to: &Path) -> std::io::Result<()> {
    for name in [STORE, FAMILIES] {
        for end in COMPANIONS {
            let from = folder.join(format!("{name}{end}"));
            if from.exists() {
                std::fs::copy(&from, to.join(format!("{name}{end}")))?;
            }
        }
    }
    Ok(())
}

/// What is wrong with a database, if anything is.
pub(crate) fn damage(checked: Result<Vec<String>, StoreError>) -> Option<String> {
    match checked {
        Ok(found) => found.into_iter().next(),
        Err(StoreError::Damaged { why, .. }) => Some(why),
        // It could not be looked at: opening it says why.
        Err(_) => None,
    }
}

fn put_aside(folder: &Path, name: &str, why: &str) -> Result<String, GroundError> {
    let free = |n: &u32| COMPANIONS.iter().all(|end| !aside(folder, name, *n, end).exists());
    let number = (1..u32::MAX).find(free).unwrap_or(u32::MAX);
    for end in COMPANIONS {
        let from = folder.join(format!("{name}{end}"));
        if from.exists() {
            let moved = std::fs::rename(&from, aside(folder, name, number, end));
            moved.map_err(|source| LogError::Io {
                doing: "put aside",
                name: from.display().to_string(),
                source,
            })?;
        }
    }
    let kept = aside(folder, name, number, "");
    let kept = kept.file_name().unwrap_or_default().to_string_lossy();
    Ok(format!("{name} was damaged ({why}); it was put aside as {kept} and is made again from the log"))
}

fn aside(folder: &Path, name: &str, number: u32, end: &str) -> PathBuf {
    folder.join(format!("{name}.damaged-{number}{end}"))
}
