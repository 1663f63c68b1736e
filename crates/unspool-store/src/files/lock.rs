//! One process at a time in a folder.
//!
//! In: a folder. Out: a lock that ends with the value or the process, or the name of who holds it.

use super::disk::{make_private_folder, private_file};
use crate::LogError;
use std::fs::{File, TryLockError};
use std::io::{Read as _, Write as _};
use std::path::Path;

/// The name of the file that is locked.
const LOCK_NAME: &str = "lock";

/// Held as long as this value lives; the system lets go of it when the process ends in whatever way.
#[derive(Debug)]
pub struct FolderLock {
    _file: File,
}

impl FolderLock {
    /// Takes the folder, or says who has it. `holder` is what the next one is told: a program and its process number.
    pub fn take(folder: &Path, holder: &str) -> Result<FolderLock, LogError> {
        let path = folder.join(LOCK_NAME);
        let failed = |source| LogError::Io { doing: "lock", name: path.display().to_string(), source };
        make_private_folder(folder).map_err(failed)?;
        let open = private_file().read(true).write(true).create(true).truncate(false).open(&path);
        let mut file = open.map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                // On systems where a locked file cannot be read, the holder stays unnamed.
                let known = file.read_to_string(&mut holder).is_ok() && !holder.trim().is_empty();
                let holder = if known { holder.trim().to_string() } else { "another process".into() };
                return Err(LogError::Held { folder: folder.display().to_string(), holder });
            }
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
        file.set_len(0).and_then(|()| writeln!(file, "{holder}")).map_err(failed)?;
        Ok(FolderLock { _file: file })
    }
}

#[cfg(test)]
mod tests {
    use super::FolderLock;
    use crate::LogError;

    #[test]
    fn the_second_is_told_who_is_first() {
        let folder = tempfile::tempdir().unwrap();
        let first = FolderLock::take(folder.path(), "unspool serve, process 12").unwrap();
        match FolderLock::take(folder.path(), "unspool serve, process 13") {
            Err(LogError::Held { holder, .. }) => assert_eq!(holder, "unspool serve, process 12"),
            other => panic!("{other:?}"),
        }
        drop(first);
        FolderLock::take(folder.path(), "unspool serve, process 14").unwrap();
    }
}
