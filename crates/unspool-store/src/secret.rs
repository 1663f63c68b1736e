//! A random key that is made once and that only its owner may read.

use crate::files::{make_private_folder, private_file};
use std::fs;
use std::io::{Error, ErrorKind, Result, Write as _};
use std::path::Path;

/// The key in that file of a folder; a new one when there is none.
pub fn secret_key(folder: &Path, name: &str) -> Result<[u8; 32]> {
    let path = folder.join(name);
    match fs::read(&path) {
        Ok(bytes) => {
            let why = || Error::new(ErrorKind::InvalidData, format!("{} holds no key", path.display()));
            bytes.try_into().map_err(|_| why())
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {
            make_private_folder(folder)?;
            let mut key = [0; 32];
            getrandom::fill(&mut key).map_err(Error::other)?;
            let mut file = private_file().write(true).create_new(true).open(&path)?;
            file.write_all(&key)?;
            file.sync_all()?;
            Ok(key)
        }
        Err(error) => Err(error),
    }
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
}
