//! Files in memory that fail when told to and forget what was not synced when the plug is pulled.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::sync::{Arc, Mutex, MutexGuard};
use unspool_store::files::{Appending, Files, Reading};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Content {
    pub(crate) bytes: Vec<u8>,
    /// So many of them are on the disk.
    pub(crate) synced: usize,
    /// Its name is on the disk.
    pub(crate) named: bool,
}

#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) files: BTreeMap<String, Content>,
    /// So many more bytes fit.
    pub(crate) room: Option<usize>,
    /// So many more syncs work.
    pub(crate) syncs_left: Option<usize>,
    /// A write takes at most so many bytes at a time.
    pub(crate) at_once: Option<usize>,
    /// Cutting and removing files fails.
    pub(crate) stuck: bool,
    pub(crate) syncs: usize,
}

/// A folder in memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct FaultyFiles(Arc<Mutex<State>>);

impl FaultyFiles {
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    /// The folder as it is after a crash: of what was not synced, each file keeps so much as `keep` says.
    pub(crate) fn after_crash(&self, mut keep: impl FnMut(usize) -> usize) -> FaultyFiles {
        let mut files = self.state().files.clone();
        files.retain(|_, content| {
            let unsynced = content.bytes.len() - content.synced;
            let kept = keep(unsynced).min(unsynced);
            content.bytes.truncate(content.synced + kept);
            content.synced = content.bytes.len();
            std::mem::replace(&mut content.named, true) || kept > 0
        });
        FaultyFiles(Arc::new(Mutex::new(State { files, ..State::default() })))
    }
}

fn missing() -> io::Error {
    ErrorKind::NotFound.into()
}

impl Files for FaultyFiles {
    fn names(&self) -> io::Result<Vec<String>> {
        Ok(self.state().files.keys().cloned().collect())
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn Appending>> {
        let mut state = self.state();
        if state.files.contains_key(name) {
            return Err(ErrorKind::AlreadyExists.into());
        }
        state.files.insert(name.into(), Content::default());
        Ok(Box::new(OpenFile { files: self.clone(), name: name.into() }))
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn Reading>> {
        self.state().files.get(name).ok_or_else(missing)?;
        Ok(Box::new(OpenFile { files: self.clone(), name: name.into() }))
    }

    fn truncate(&self, name: &str, len: u64) -> io::Result<()> {
        let mut state = self.state();
        if state.stuck {
            return Err(ErrorKind::PermissionDenied.into());
        }
        let content = state.files.get_mut(name).ok_or_else(missing)?;
        content.bytes.truncate(usize::try_from(len).unwrap());
        content.synced = content.bytes.len();
        Ok(())
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut state = self.state();
        if state.stuck {
            return Err(ErrorKind::PermissionDenied.into());
        }
        let content = state.files.remove(from).ok_or_else(missing)?;
        state.files.insert(to.into(), content);
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let mut state = self.state();
        if state.stuck {
            return Err(ErrorKind::PermissionDenied.into());
        }
        state.files.remove(name).map(drop).ok_or_else(missing)
    }

    fn sync_folder(&self) -> io::Result<()> {
        self.state().files.values_mut().for_each(|content| content.named = true);
        Ok(())
    }
}

struct OpenFile {
    files: FaultyFiles,
    name: String,
}

impl Appending for OpenFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut state = self.files.state();
        let wanted = state.at_once.map_or(bytes.len(), |most| bytes.len().min(most));
        let taken = state.room.map_or(wanted, |room| wanted.min(room));
        if taken == 0 && !bytes.is_empty() {
            return Err(ErrorKind::StorageFull.into());
        }
        state.room = state.room.map(|room| room - taken);
        state.files.get_mut(&self.name).ok_or_else(missing)?.bytes.extend_from_slice(&bytes[..taken]);
        Ok(taken)
    }

    fn sync(&mut self) -> io::Result<()> {
        let mut state = self.files.state();
        if state.syncs_left == Some(0) {
            return Err(io::Error::other("the disk does not answer"));
        }
        state.syncs_left = state.syncs_left.map(|left| left - 1);
        state.syncs += 1;
        let content = state.files.get_mut(&self.name).ok_or_else(missing)?;
        content.synced = content.bytes.len();
        Ok(())
    }
}

impl Reading for OpenFile {
    fn size(&mut self) -> io::Result<u64> {
        Ok(self.files.state().files.get(&self.name).ok_or_else(missing)?.bytes.len() as u64)
    }

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let state = self.files.state();
        let bytes = &state.files.get(&self.name).ok_or_else(missing)?.bytes;
        let start = usize::try_from(offset).unwrap();
        let found = bytes.get(start..start + buffer.len()).ok_or(ErrorKind::UnexpectedEof)?;
        buffer.copy_from_slice(found);
        Ok(())
    }
}
