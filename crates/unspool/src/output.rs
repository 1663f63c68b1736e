//! Where an answer goes: standard output, or a file that is either as it was or whole.

use crate::error::CliError;
use serde::Serialize;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use unspool_view::document::write_document;

const BUFFER_BYTES: usize = 1 << 16;

/// Writes an answer to a file, or to standard output when there is none or it is `-`.
pub(crate) fn write_to(
    path: Option<&Path>,
    write: impl FnOnce(&mut dyn Write) -> Result<(), CliError>,
) -> Result<(), CliError> {
    match path.filter(|path| path.as_os_str() != "-") {
        None => {
            let mut out = BufWriter::with_capacity(BUFFER_BYTES, std::io::stdout().lock());
            write(&mut out)?;
            Ok(out.flush()?)
        }
        Some(path) => write_file(path, Readers::All, write),
    }
}

/// The same, into a file that only its owner may read.
pub(crate) fn write_private_to(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> Result<(), CliError>,
) -> Result<(), CliError> {
    if path.as_os_str() == "-" { write_to(None, write) } else { write_file(path, Readers::Owner, write) }
}

/// Who may read a file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Readers {
    /// Whoever the system lets read a new file, or could read the one that was there.
    All,
    Owner,
}

impl Readers {
    fn create_new(self, path: &Path) -> std::io::Result<File> {
        let mut options = File::options();
        options.write(true).create_new(true);
        #[cfg(unix)]
        if self == Readers::Owner {
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        }
        options.open(path)
    }
}

/// Writes a document to standard output.
pub(crate) fn print_document(document: &impl Serialize) -> Result<(), CliError> {
    write_to(None, |out| Ok(write_document(out, document)?))
}

/// The answer is written beside the file and then takes its place. What is no plain file (a pipe, a device) is written to.
fn write_file(
    path: &Path,
    readers: Readers,
    write: impl FnOnce(&mut dyn Write) -> Result<(), CliError>,
) -> Result<(), CliError> {
    let unwritable =
        |why: std::io::Error| CliError::Unwritable { path: path.display().to_string(), why: why.to_string() };
    let known = fs::metadata(path).ok();
    if known.as_ref().is_some_and(|known| !known.is_file()) {
        let mut out = BufWriter::with_capacity(BUFFER_BYTES, File::create(path).map_err(unwritable)?);
        write(&mut out)?;
        return out.flush().map_err(unwritable);
    }
    // A link stays a link: what it leads to is replaced.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let part = Part::beside(&target);
    let mut out = BufWriter::with_capacity(BUFFER_BYTES, readers.create_new(&part.path).map_err(unwritable)?);
    write(&mut out)?;
    let file = out.into_inner().map_err(|error| unwritable(error.into_error()))?;
    if let Some(known) = known.filter(|_| readers == Readers::All) {
        file.set_permissions(known.permissions()).map_err(unwritable)?;
    }
    file.sync_all().map_err(unwritable)?;
    fs::rename(&part.path, &target).map_err(unwritable)
}

/// A file that is gone when it did not take its place.
struct Part {
    path: PathBuf,
}

impl Part {
    fn beside(target: &Path) -> Part {
        let mut name = target.file_name().map(ToOwned::to_owned).unwrap_or_default();
        name.push(format!(".{}.part", std::process::id()));
        Part { path: target.with_file_name(name) }
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}
