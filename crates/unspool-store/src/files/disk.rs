//! Files on a disk.
//!
//! In: a folder. Out: the file system, with files that only their owner may read. Never here: what is in them.

use super::{Appending, Files, Reading};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

/// A folder on a disk.
#[derive(Debug)]
pub struct DiskFiles {
    folder: PathBuf,
}

impl DiskFiles {
    /// That folder; it is made, for its owner only, when it is not there.
    pub fn new(folder: &Path) -> io::Result<DiskFiles> {
        make_private_folder(folder)?;
        Ok(DiskFiles { folder: folder.to_path_buf() })
    }
}

/// Makes a folder, and those above it, that only its owner may enter.
pub fn make_private_folder(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt as _;
        builder.mode(0o700);
    }
    builder.create(folder)
}

/// Options for a file that only its owner may read.
pub fn private_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    options
}

impl Files for DiskFiles {
    fn names(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            if entry.file_type()?.is_file() {
                names.extend(entry.file_name().into_string());
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn Appending>> {
        let file = private_file().append(true).create_new(true).open(self.folder.join(name))?;
        Ok(Box::new(DiskAppending { file }))
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn Reading>> {
        Ok(Box::new(DiskReading { file: File::open(self.folder.join(name))? }))
    }

    fn truncate(&self, name: &str, len: u64) -> io::Result<()> {
        let file = OpenOptions::new().write(true).open(self.folder.join(name))?;
        file.set_len(len)?;
        file.sync_all()
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.folder.join(from), self.folder.join(to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.folder.join(name))
    }

    fn sync_folder(&self) -> io::Result<()> {
        // Only Unix lets a folder be opened and synced; elsewhere names are safe with the file.
        if cfg!(unix) { File::open(&self.folder)?.sync_all() } else { Ok(()) }
    }
}

struct DiskAppending {
    file: File,
}

impl Appending for DiskAppending {
    fn append(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.file.sync_data()?;
        self.check_name()
    }
}

impl DiskAppending {
    /// What is written into a file that somebody deleted goes with the process.
    fn check_name(&self) -> io::Result<()> {
        #[cfg(unix)]
        if std::os::unix::fs::MetadataExt::nlink(&self.file.metadata()?) == 0 {
            return Err(io::Error::new(io::ErrorKind::NotFound, "somebody deleted this file"));
        }
        Ok(())
    }
}

struct DiskReading {
    file: File,
}

impl Reading for DiskReading {
    fn size(&mut self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(offset))?;
        self.file.read_exact(buffer)
    }
}
