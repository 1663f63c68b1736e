//! The databases of a folder. All follow from the log, so one that is damaged is put aside and made again; of the index of words nothing is
//! worth being put aside.

use std::path::{Path, PathBuf};
use unspool_store::{Commit, Families, GroundError, LogError, SqliteStore, Store as _, StoreError, Texts};
use unspool_view::search::TEXTS_VERSION;

/// The names of the databases, the store's first.
pub(crate) const STORE: &str = "store.db";
pub(crate) const FAMILIES: &str = "families.db";
/// The index of words beside them.
pub(crate) const TEXTS: &str = "texts.db";
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
        Err(StoreError::Damaged { .. }) => replace(folder, None),
        opened => Ok(opened?),
    }
}

/// Puts aside what is damaged and opens new ones. What is sound stays. Somebody may have found damage, by file and reason, that no look at the
/// pages shows.
pub(crate) fn replace(folder: &Path, found: Option<(&str, &str)>) -> Result<Databases, GroundError> {
    let mut notices = Vec::new();
    let known = |name: &str| found.filter(|(path, _)| Path::new(path) == folder.join(name));
    let or_known = |name: &str, why: Option<String>| why.or_else(|| known(name).map(|(_, why)| why.into()));
    let store = damage(SqliteStore::open(&folder.join(STORE)).and_then(|store| store.check()));
    if let Some(why) = or_known(STORE, store) {
        let salvaged = SqliteStore::salvage(&folder.join(STORE));
        notices.push(put_aside(folder, STORE, &why)?);
        // The only things in it that the log does not know; without them, files are read again from their beginning.
        SqliteStore::open(&folder.join(STORE))?.commit(&Commit { version: 1, ..salvaged })?;
    }
    let families = damage(Families::open(&folder.join(FAMILIES)).and_then(|families| families.check()));
    if let Some(why) = or_known(FAMILIES, families) {
        notices.push(put_aside(folder, FAMILIES, &why)?);
    }
    Ok(Databases { notices, ..open(folder)? })
}

/// Opens the index of words twice, once to be written and once to be read. What had to be said about it.
pub(crate) fn open_texts(folder: &Path) -> Result<(Texts, Texts, Option<String>), StoreError> {
    let open = || Texts::open(&folder.join(TEXTS), TEXTS_VERSION);
    let writer = open()?;
    let notice = writer.replaced().map(texts_notice);
    Ok((writer, open()?, notice))
}

/// Throws the index of words away. What was wrong with it, if anything was.
pub(crate) fn throw_texts_away(folder: &Path) -> Option<String> {
    let why = texts_damage(folder);
    Texts::delete(&folder.join(TEXTS));
    why.as_deref().map(texts_notice)
}

/// What is wrong with the index of words, if there is one and anything is.
pub(crate) fn texts_damage(folder: &Path) -> Option<String> {
    let path = folder.join(TEXTS);
    if !path.exists() {
        return None;
    }
    match Texts::open(&path, TEXTS_VERSION) {
        Ok(texts) => texts.replaced().map(String::from).or_else(|| damage(texts.check())),
        Err(error) => Some(error.to_string()),
    }
}

/// What is said of an index of words that was damaged.
pub(crate) fn texts_notice(why: &str) -> String {
    format!("{TEXTS} was damaged ({why}); it was thrown away and is made again from the log")
}

/// Bytes of a database, with what lies beside it.
pub(crate) fn bytes_of(folder: &Path, name: &str) -> u64 {
    let bytes =
        |end: &str| std::fs::metadata(folder.join(format!("{name}{end}"))).map_or(0, |file| file.len());
    COMPANIONS.into_iter().map(bytes).sum()
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
