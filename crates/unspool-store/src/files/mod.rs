//! The few things the log asks of a folder of files.
//!
//! In: names and bytes. Out: bytes, and errors as they came. Never here: what the bytes mean. Behind a trait, so that tests can
//! make writes fail at any byte and pull the plug at any moment.

mod disk;
mod lock;
mod reserve;

pub use disk::{DiskFiles, make_private_folder, private_file};
pub use lock::FolderLock;
pub use reserve::{RESERVE, keep_reserve, release_reserve};

use std::io;

/// A flat folder.
pub trait Files: Send + Sync {
    /// The names of all files in it, sorted.
    fn names(&self) -> io::Result<Vec<String>>;
    /// A new, empty file that only its owner may read; an error when the name is taken.
    fn create(&self, name: &str) -> io::Result<Box<dyn Appending>>;
    /// An existing file, to be read.
    fn open(&self, name: &str) -> io::Result<Box<dyn Reading>>;
    /// Cuts a file to that length, and returns when what is left has reached the disk.
    fn truncate(&self, name: &str, len: u64) -> io::Result<()>;
    /// Gives a file another name, in the place of the file that has it.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;
    /// Deletes a file.
    fn remove(&self, name: &str) -> io::Result<()>;
    /// Returns when created and removed names have reached the disk.
    fn sync_folder(&self) -> io::Result<()>;
}

/// A file that grows at its end.
pub trait Appending: Send {
    /// Writes some of the bytes and says how many.
    fn append(&mut self, bytes: &[u8]) -> io::Result<usize>;
    /// Returns when everything written has reached the disk.
    fn sync(&mut self) -> io::Result<()>;
}

/// A file that is read anywhere.
pub trait Reading: Send {
    /// How long it is now.
    fn size(&mut self) -> io::Result<u64>;
    /// Fills the buffer from that offset; an error when the file ends before.
    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<()>;
}

/// Writes all bytes, however few the file takes at a time.
pub(crate) fn append_all(file: &mut dyn Appending, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match file.append(bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => bytes = bytes.get(written..).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
