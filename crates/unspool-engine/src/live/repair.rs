//! The databases of a folder. All follow from the log, so one that is damaged is put aside and made again; of the index of words nothing is
//! worth being put aside.

use super::Options;
use std::path::Path;
use unspool_store::{DatabaseFile, Families, GroundError, Store, StoreError, Texts};
use unspool_view::search::TEXTS_VERSION;

/// What says which entries belong together, beside the store.
pub(crate) const FAMILIES: &str = "families.db";
/// The index of words.
pub(crate) const TEXTS: &str = "texts.db";

/// The store and what says which entries belong together, and what had to be done for it.
pub(crate) struct Databases {
    pub(crate) store: Box<dyn Store>,
    pub(crate) families: Families,
    pub(crate) notices: Vec<String>,
}

/// The file of what says which entries belong together.
pub(crate) fn families_file(options: &Options) -> DatabaseFile {
    DatabaseFile::new(options.databases().join(FAMILIES))
}

/// Opens both as they are.
pub(crate) fn open(options: &Options) -> Result<Databases, StoreError> {
    let store = options.store.open()?;
    let families = Families::open(families_file(options).path())?;
    Ok(Databases { store, families, notices: Vec::new() })
}

/// Opens both; what is damaged is put aside first.
pub(crate) fn open_or_replace(options: &Options) -> Result<Databases, GroundError> {
    match open(options) {
        Err(StoreError::Damaged { .. }) => replace(options, None),
        opened => Ok(opened?),
    }
}

/// Puts aside what is damaged and opens new ones. What is sound stays. Somebody may have found damage, by name and reason, that no look at the
/// pages shows.
pub(crate) fn replace(options: &Options, found: Option<(&str, &str)>) -> Result<Databases, GroundError> {
    let mut notices = Vec::new();
    let found_in = |name: &str| found.filter(|(known, _)| *known == name).map(|(_, why)| why.to_string());
    let (store, families) = (&options.store, families_file(options));
    let in_store = damage(store.open().and_then(|store| store.check()));
    if let Some(why) = in_store.or_else(|| found_in(&store.name())) {
        notices.push(store.replace(&why)?);
    }
    let in_families = damage(Families::open(families.path()).and_then(|families| families.check()));
    if let Some(why) = in_families.or_else(|| found_in(&families.path().display().to_string())) {
        notices.push(families.put_aside(&why)?);
    }
    Ok(Databases { notices, ..open(options)? })
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

/// What is wrong with a database, if anything is.
pub(crate) fn damage(checked: Result<Vec<String>, StoreError>) -> Option<String> {
    match checked {
        Ok(found) => found.into_iter().next(),
        Err(StoreError::Damaged { why, .. }) => Some(why),
        // It could not be looked at: opening it says why.
        Err(_) => None,
    }
}
