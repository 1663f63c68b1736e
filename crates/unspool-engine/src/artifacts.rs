//! Files made of sessions that ended, for people to pick up: `artifacts/SESSION.ENDING` in the data folder.
//!
//! In: bytes, and the id a source gave the session. Out: a file that is whole or not there, for its owner only. They are derived: whoever rebuilds makes
//! them again, and they go with their session.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use unspool_model::Id;
use unspool_store::files::{make_private_folder, private_file};

/// Longer names are told by a hash; systems take 255.
const MAX_NAME: usize = 200;

/// The files of a data folder.
#[derive(Clone, Debug)]
pub struct Artifacts {
    folder: PathBuf,
}

impl Artifacts {
    /// Those of a data folder.
    pub fn of(data: &Path) -> Artifacts {
        Artifacts { folder: data.join("artifacts") }
    }

    /// Writes one, in the place of an earlier one.
    pub fn put(&self, session: &str, ending: &str, bytes: &[u8]) -> io::Result<()> {
        make_private_folder(&self.folder)?;
        let path = self.path(session, ending);
        let part = self.folder.join(format!(".{}-{ending}.part", Id::of(&[session.as_bytes()]).show('x')));
        let mut file = private_file().write(true).create(true).truncate(true).open(&part)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        std::fs::rename(&part, path)
    }

    /// Where one lies, if it is there.
    pub fn path(&self, session: &str, ending: &str) -> PathBuf {
        let mut name = encoded(session);
        if name.len() > MAX_NAME {
            name = Id::of(&[session.as_bytes()]).show('x');
        }
        self.folder.join(format!("{name}.{ending}"))
    }

    /// Removes all that are there of a session.
    pub(crate) fn remove(&self, session: &str) {
        for ending in ["json", "d2"] {
            // Mostly there is none.
            drop(std::fs::remove_file(self.path(session, ending)));
        }
    }

    /// Removes all but these.
    pub fn keep_only(&self, wanted: &BTreeSet<PathBuf>) -> io::Result<()> {
        let found = match std::fs::read_dir(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            found => found?,
        };
        for file in found {
            let path = file?.path();
            if !wanted.contains(&path) {
                std::fs::remove_file(path)?;
            }
        }
        Ok(())
    }
}

/// A session's id as a part of a path.
pub fn encoded(session: &str) -> String {
    // A name that begins with a dot is hidden, or another folder.
    let is_plain = |n: usize, byte: u8| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'~') || byte == b'.' && n > 0
    };
    let one = |(n, byte): (usize, u8)| {
        if is_plain(n, byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }
    };
    session.bytes().enumerate().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::Artifacts;

    #[test]
    fn a_file_lies_in_its_folder_whatever_the_session_is_called() {
        let data = tempfile::tempdir().unwrap();
        let artifacts = Artifacts::of(data.path());
        let long = "s".repeat(300);
        for name in ["s", "..", "../../x", ".hidden", "a/b", "ä", long.as_str()] {
            artifacts.put(name, "json", b"1").unwrap();
            artifacts.put(name, "json", b"22").unwrap();
            let path = artifacts.path(name, "json");
            assert_eq!(path.parent(), Some(data.path().join("artifacts").as_path()), "{name}");
            assert_eq!(std::fs::read(&path).unwrap(), b"22");
            #[cfg(unix)]
            {
                use std::os::unix::fs::PermissionsExt as _;
                assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
            }
            artifacts.remove(name);
            assert!(!path.exists());
        }
        let left = std::fs::read_dir(data.path().join("artifacts")).unwrap().count();
        assert_eq!(left, 0);
        for name in ["a", "b"] {
            artifacts.put(name, "d2", b"").unwrap();
        }
        artifacts.keep_only(&[artifacts.path("b", "d2")].into()).unwrap();
        assert!(artifacts.path("b", "d2").exists() && !artifacts.path("a", "d2").exists());
    }
}
