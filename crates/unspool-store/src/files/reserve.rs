//! Room on the disk that is kept for a start on a full one.
//!
//! In: a folder. Out: a file in it that takes some room, or that room. A database cannot even be read without a little of it, and what is there should be shown
//! although nothing more fits.

use super::private_file;
use std::fs;
use std::io::{Error, Result, Write as _};
use std::path::Path;

/// The file that takes the room.
pub const RESERVE: &str = "reserve";
/// Three databases take a third of it when they are opened.
const BYTES: usize = 512 << 10;

/// Takes the room, where it is not taken already. Where that is not possible, none of it is.
pub fn keep_reserve(folder: &Path) -> Result<()> {
    let path = folder.join(RESERVE);
    if fs::metadata(&path).is_ok_and(|about| about.len() == BYTES as u64) {
        return Ok(());
    }
    let fill = || {
        let mut file = private_file().write(true).create(true).truncate(true).open(&path)?;
        // Bytes that no file system packs.
        let mut bytes = vec![0; BYTES];
        getrandom::fill(&mut bytes).map_err(Error::other)?;
        file.write_all(&bytes)
    };
    fill().inspect_err(|_| drop(fs::remove_file(&path)))
}

/// Gives the room free. Says whether there was any.
pub fn release_reserve(folder: &Path) -> bool {
    fs::remove_file(folder.join(RESERVE)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::{BYTES, keep_reserve, release_reserve};

    #[test]
    fn it_is_taken_once_and_given_once() {
        let folder = tempfile::tempdir().unwrap();
        keep_reserve(folder.path()).unwrap();
        let path = folder.path().join("reserve");
        let first = std::fs::read(&path).unwrap();
        assert_eq!(first.len(), BYTES);
        keep_reserve(folder.path()).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), first);
        std::fs::write(&path, "a part of it").unwrap();
        keep_reserve(folder.path()).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().len(), BYTES as u64);
        assert!(release_reserve(folder.path()));
        assert!(!release_reserve(folder.path()));
    }
}
