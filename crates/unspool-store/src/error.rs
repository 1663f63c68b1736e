//! What can go wrong in the log and in a store, each with what can be done about it.

use std::io;

/// Why the log could not do what was asked. Nothing acknowledged before is touched by any of these.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// Another process holds the folder.
    #[error("{folder} is in use by {holder}")]
    Held {
        /// The folder.
        folder: String,
        /// Who holds it, in its own words.
        holder: String,
    },
    /// The file system refused.
    #[error("could not {doing} {name}: {source}")]
    Io {
        /// What was tried.
        doing: &'static str,
        /// On which file.
        name: String,
        /// What the system said.
        source: io::Error,
    },
    /// A record was stored and cannot be given back.
    #[error("record {position} cannot be read: {why}")]
    Damaged {
        /// Which record.
        position: u64,
        /// What is damaged.
        why: String,
    },
    /// A record is too large to be stored.
    #[error("a record of {bytes} bytes is over the limit `max_log_record_bytes` ({limit})")]
    TooLarge {
        /// How large it is.
        bytes: usize,
        /// How large it may be.
        limit: usize,
    },
    /// The log was written by a later version.
    #[error("{name} has version {version} of the log; this program knows up to {known}")]
    TooNew {
        /// The file.
        name: String,
        /// Its version.
        version: u16,
        /// The last version known here.
        known: u16,
    },
}

impl LogError {
    /// What the user can do, if anything.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            LogError::Held { .. } => Some("stop the other process, or choose another folder with --data-dir"),
            LogError::Io { source, .. } => disk_hint(source.kind()),
            LogError::Damaged { .. } => Some("`unspool db check` lists everything that is damaged"),
            LogError::TooLarge { .. } => None,
            LogError::TooNew { .. } => Some("use the newer version of unspool that wrote it"),
        }
    }

    /// The same error for each of several callers whose records went to the disk together.
    pub(crate) fn share(&self) -> LogError {
        match self {
            LogError::Held { folder, holder } => {
                LogError::Held { folder: folder.clone(), holder: holder.clone() }
            }
            LogError::Io { doing, name, source } => LogError::Io {
                doing,
                name: name.clone(),
                source: source.raw_os_error().map_or_else(
                    || io::Error::new(source.kind(), source.to_string()),
                    io::Error::from_raw_os_error,
                ),
            },
            LogError::Damaged { position, why } => {
                LogError::Damaged { position: *position, why: why.clone() }
            }
            LogError::TooLarge { bytes, limit } => LogError::TooLarge { bytes: *bytes, limit: *limit },
            LogError::TooNew { name, version, known } => {
                LogError::TooNew { name: name.clone(), version: *version, known: *known }
            }
        }
    }
}

/// Whether a disk refused that is full or lets nothing be written; who owns a file is another matter.
pub fn is_of_the_disk(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge | ReadOnlyFilesystem)
}

/// What can be done about what a disk refused, if that is known.
pub(crate) fn disk_hint(kind: io::ErrorKind) -> Option<&'static str> {
    match kind {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            Some("free some space; what was acknowledged is safe, and writing goes on by itself")
        }
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            Some("the folder must be writable; choose another with --data-dir")
        }
        _ => None,
    }
}

/// Why a store could not do what was asked. Nothing committed before is touched by any of these.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The database refused.
    #[error("the database {name} failed: {why}")]
    Database {
        /// Which one.
        name: String,
        /// What it said.
        why: String,
        /// What can be done, if that is known.
        hint: Option<&'static str>,
        /// It is, or may be, because of the disk; see `is_of_the_disk`.
        is_of_the_disk: bool,
    },
    /// It is not what was written.
    #[error("the database {name} is damaged: {why}")]
    Damaged {
        /// Which one.
        name: String,
        /// What it said.
        why: String,
    },
    /// It was made by a later version.
    #[error("the database {name} has schema {found}; this program knows up to {known}")]
    TooNew {
        /// Which one.
        name: String,
        /// Its schema.
        found: i64,
        /// The last schema known here.
        known: i64,
    },
    /// A row does not hold what its column should.
    #[error("column {column} holds what it never should")]
    Value {
        /// Which one.
        column: &'static str,
    },
    /// A cursor is none, or belongs to another order.
    #[error("the cursor does not belong to this question")]
    Cursor,
}

impl StoreError {
    /// Which database is not what was written, and what it said, if that is what is wrong.
    pub fn damage(&self) -> Option<(&str, &str)> {
        match self {
            StoreError::Damaged { name, why } => Some((name, why)),
            _ => None,
        }
    }

    /// A value in a database that nobody wrote is damage of that database.
    pub(crate) fn found_in(self, name: &str) -> StoreError {
        match self {
            StoreError::Value { .. } => StoreError::Damaged { name: name.into(), why: self.to_string() },
            other => other,
        }
    }

    /// What the user can do, if anything.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            StoreError::Database { hint, .. } => *hint,
            StoreError::TooNew { .. } => Some("use the newer version of unspool that wrote it"),
            StoreError::Damaged { .. } | StoreError::Value { .. } => {
                Some("`unspool rebuild` makes everything derived again from the records")
            }
            StoreError::Cursor => Some("ask again without a cursor"),
        }
    }
}

/// Characters of what `SQLite` says that are told: of a damaged file it names every page it came upon, and of a statement the whole text.
const SAID_CHARS: usize = 300;

/// What `SQLite` says, in one line and with an end.
pub(crate) fn said(text: &str) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match words.char_indices().nth(SAID_CHARS) {
        Some((at, _)) => format!("{}…", words.split_at(at).0),
        None => words,
    }
}

#[cfg(test)]
mod tests {
    use super::{SAID_CHARS, said};

    #[test]
    fn what_is_said_is_cut_between_characters() {
        assert_eq!(said("Tree 3:\n  page 7\n"), "Tree 3: page 7");
        let exact = "é".repeat(SAID_CHARS);
        assert_eq!(said(&exact), exact);
        assert_eq!(said(&format!("{exact}é and more")), format!("{exact}…"));
    }
}
