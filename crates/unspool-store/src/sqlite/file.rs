//! A database as a file, with what `SQLite` keeps beside it.
//!
//! In: a path. Out: its size, a copy, a new one in the place of a damaged one. Never here: what is in it.

use super::{SqliteStore, ahead};
use crate::error::{StoreError, disk_hint, is_of_the_disk};
use crate::store::{Commit, Store, StorePlace};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What `SQLite` keeps beside a database.
const COMPANIONS: [&str; 3] = ["", "-wal", "-shm"];

/// Where a database is.
#[derive(Clone, Debug)]
pub struct DatabaseFile {
    path: PathBuf,
}

impl DatabaseFile {
    /// The database of this path.
    pub fn new(path: impl Into<PathBuf>) -> DatabaseFile {
        DatabaseFile { path: path.into() }
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its name, without its folder.
    pub fn file_name(&self) -> String {
        self.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Bytes of it and of what lies beside it.
    pub fn size(&self) -> u64 {
        let bytes = |end: &str| std::fs::metadata(self.with(end)).map_or(0, |file| file.len());
        COMPANIONS.into_iter().map(bytes).sum()
    }

    /// Brings into the file what was written beside it.
    pub fn bring_in(&self) -> Result<(), StoreError> {
        ahead::bring_in(&self.path)
    }

    /// Puts a damaged one aside, under a name that is free. Gives what people are to be told.
    pub fn put_aside(&self, why: &str) -> Result<String, StoreError> {
        let aside = |number: u32| DatabaseFile::new(self.with(&format!(".damaged-{number}")));
        let is_free = |number: &u32| COMPANIONS.iter().all(|end| !aside(*number).with(end).exists());
        let aside = aside((1..u32::MAX).find(is_free).unwrap_or(u32::MAX));
        self.each(|end, from| std::fs::rename(from, aside.with(end)), "put aside")?;
        let (name, kept) = (self.file_name(), aside.file_name());
        Ok(format!("{name} was damaged ({why}); it was put aside as {kept} and is made again from the log"))
    }

    /// Copies it into another folder.
    pub fn copy_to(&self, folder: &Path) -> Result<DatabaseFile, StoreError> {
        let copy = DatabaseFile::new(folder.join(self.file_name()));
        self.each(|end, from| std::fs::copy(from, copy.with(end)).map(drop), "copied")?;
        Ok(copy)
    }

    /// Deletes it.
    pub fn delete(&self) -> Result<(), StoreError> {
        self.each(|_, file| std::fs::remove_file(file), "deleted")
    }

    fn with(&self, end: &str) -> PathBuf {
        let mut path = self.path.clone().into_os_string();
        path.push(end);
        path.into()
    }

    /// Does something to each of its files that there are.
    fn each(&self, work: impl Fn(&str, &Path) -> io::Result<()>, done: &str) -> Result<(), StoreError> {
        for end in COMPANIONS {
            let file = self.with(end);
            let failed = |error: io::Error| StoreError::Database {
                name: file.display().to_string(),
                why: format!("it could not be {done}: {error}"),
                hint: disk_hint(error.kind()),
                is_of_the_disk: is_of_the_disk(&error),
            };
            if file.exists() {
                work(end, &file).map_err(failed)?;
            }
        }
        Ok(())
    }
}

impl StorePlace for DatabaseFile {
    fn name(&self) -> String {
        self.path.display().to_string()
    }

    fn short_name(&self) -> String {
        self.file_name()
    }

    fn open(&self) -> Result<Box<dyn Store>, StoreError> {
        Ok(Box::new(SqliteStore::open(&self.path)?))
    }

    fn bring_in(&self) -> Result<(), StoreError> {
        DatabaseFile::bring_in(self)
    }

    fn replace(&self, why: &str) -> Result<String, StoreError> {
        let salvaged = SqliteStore::salvage(&self.path);
        let told = self.put_aside(why)?;
        SqliteStore::open(&self.path)?.commit(&Commit { version: 1, ..salvaged })?;
        Ok(told)
    }

    fn copy(&self, folder: &Path) -> Result<Arc<dyn StorePlace>, StoreError> {
        Ok(Arc::new(self.copy_to(folder)?))
    }

    fn remove(&self) -> Result<(), StoreError> {
        self.delete()
    }

    fn bytes(&self) -> u64 {
        self.size()
    }
}
