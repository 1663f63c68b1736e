//! The folders that are watched, and whether they are still the ones that are there.
//!
//! A folder that was deleted and made again has the same name, and the system tells nothing of it to who watched the first one. So
//! each is known by what the file system knows it by, behind links: a link that leads elsewhere is another folder, too.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// What a file system knows a folder by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    /// Device and number; a number may be given again.
    #[cfg(unix)]
    number: (u64, u64),
    created: Option<SystemTime>,
}

impl Identity {
    pub(super) fn of(folder: &Path) -> Option<Identity> {
        let meta = std::fs::metadata(folder).ok().filter(std::fs::Metadata::is_dir)?;
        Some(Identity {
            #[cfg(unix)]
            number: {
                use std::os::unix::fs::MetadataExt as _;
                (meta.dev(), meta.ino())
            },
            created: meta.created().ok(),
        })
    }
}

/// Folders that are there. One that lies in another of them, or is the same by another name, is watched with it.
pub(super) fn there(places: Vec<PathBuf>) -> BTreeMap<PathBuf, Identity> {
    let real = |place: PathBuf| Some((std::fs::canonicalize(&place).ok()?, place));
    let mut places: Vec<(PathBuf, PathBuf)> = places.into_iter().filter_map(real).collect();
    // The outer before the inner, and of the same the one that was named first.
    places.sort_by(|(one, _), (other, _)| one.cmp(other));
    let mut outer: Option<PathBuf> = None;
    places.retain(|(real, _)| {
        let is_new = outer.as_ref().is_none_or(|outer| !real.starts_with(outer));
        if is_new {
            outer = Some(real.clone());
        }
        is_new
    });
    places.into_iter().filter_map(|(_, place)| Some((place.clone(), Identity::of(&place)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_in_another_is_watched_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in ["a", "a/b", "ab", "c"] {
            std::fs::create_dir(path(name)).unwrap();
        }
        let found = there(vec![path("c"), path("a/b"), path("ab"), path("a"), path("missing")]);
        assert_eq!(found.into_keys().collect::<Vec<_>>(), [path("a"), path("ab"), path("c")]);
    }

    #[test]
    #[cfg(unix)]
    fn a_folder_with_two_names_is_watched_by_the_first() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::create_dir(path("real")).unwrap();
        std::os::unix::fs::symlink(path("real"), path("link")).unwrap();
        let found = there(vec![path("link"), path("real")]);
        assert_eq!(found.into_keys().collect::<Vec<_>>(), [path("link")]);
    }
}
