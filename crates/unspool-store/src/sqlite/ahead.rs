//! What was written beside a database goes into it.
//!
//! In: the path of a database. Out: its write-ahead log in the file, and on the disk. That waits for the disk, so it is for a thread that nobody
//! waits for; the one that writes does it itself only when very much lies there.

use super::database_error;
use crate::error::StoreError;
use rusqlite::{Connection, OpenFlags};
use std::path::Path;

/// So many bytes may lie beside a database before whoever writes brings them in itself.
const MAX_AHEAD_BYTES: i64 = 64 << 20;

/// Lets whoever writes through this connection leave it to others.
pub(crate) fn leave_to_others(connection: &Connection) -> rusqlite::Result<()> {
    let page_bytes: i64 = connection.pragma_query_value(None, "page_size", |row| row.get(0))?;
    connection.pragma_update(None, "wal_autocheckpoint", MAX_AHEAD_BYTES / page_bytes.max(1))
}

/// Brings in what was written so far. Nobody who reads or writes waits for it.
pub(super) fn bring_in(path: &Path) -> Result<(), StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let name = path.display().to_string();
    let failed = |error| database_error(&name, &error);
    // Opened each time: the file may be another one by now.
    let connection = Connection::open_with_flags(path, flags).map_err(failed)?;
    connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(())).map_err(failed)
}
