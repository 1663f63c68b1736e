//! A random key that is made once and that only its owner may read.

use crate::files::{DiskFiles, Files as _, private_file};
use std::fs;
use std::io::{Error, ErrorKind, Result, Write as _};
use std::path::Path;

/// The key in that file of a folder; a new one when there is none. An empty file, as a crash may leave it, holds none.
pub fn secret_key(folder: &Path, name: &str) -> Result<[u8; 32]> {
    let path = folder.join(name);
    match fs::read(&path) {
        Ok(bytes) if !bytes.is_empty() => {
            let why = || Error::new(ErrorKind::InvalidData, format!("{} holds no key", path.display()));
            bytes.try_into().map_err(|_| why())
        }
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => {
            let key = new_key()?;
            keep_key(folder, name, &key)?;
            Ok(key)
        }
    }
}

/// A key that is nowhere yet.
pub fn new_key() -> Result<[u8; 32]> {
    let mut key = [0; 32];
    getrandom::fill(&mut key).map_err(Error::other)?;
    Ok(key)
}

/// Keeps a key in that file of a folder: whole or not at all.
pub fn keep_key(folder: &Path, name: &str, key: &[u8; 32]) -> Result<()> {
    let files = DiskFiles::new(folder)?;
    let part = format!("{name}.{}.part", std::process::id());
    let mut file = private_file().write(true).create(true).truncate(true).open(folder.join(&part))?;
    file.write_all(key)?;
    file.sync_all()?;
    files.rename(&part, name)?;
    files.sync_folder()
}

#[cfg(test)]
mod tests {
    use super::secret_key;

    #[test]
    fn a_key_is_made_once_for_its_owner() {
        let folder = tempfile::tempdir().unwrap();
        let key = secret_key(folder.path(), "k").unwrap();
        assert_eq!(secret_key(folder.path(), "k").unwrap(), key);
        assert_ne!(secret_key(folder.path(), "other").unwrap(), key);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = std::fs::metadata(folder.path().join("k")).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        std::fs::write(folder.path().join("k"), "short").unwrap();
        assert!(secret_key(folder.path(), "k").is_err());
    }

    #[test]
    fn a_file_that_a_crash_left_empty_gets_a_key() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("k"), "").unwrap();
        let key = secret_key(folder.path(), "k").unwrap();
        assert_eq!(secret_key(folder.path(), "k").unwrap(), key);
        let left: Vec<_> =
            std::fs::read_dir(folder.path()).unwrap().map(|one| one.unwrap().file_name()).collect();
        assert_eq!(left, ["k"]);
    }
}
