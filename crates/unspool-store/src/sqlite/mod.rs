//! The embedded store: `SQLite` in one file.
//!
//! In: a path. Out: a store. One value writes; any number of others, in the same or another process, may read the same file at
//! the same time. Never here: native bytes, which are the log's. The file can be deleted and made again from the log, but for
//! checkpoints, receipts and what was forgotten.

mod ahead;
mod columns;
mod file;
mod pack;
mod pages;
mod read;
mod schema;
mod write;

pub(crate) use ahead::leave_to_others;
pub use file::DatabaseFile;

use crate::error::{StoreError, disk_hint, is_of_the_disk, said};
use crate::files::private_file;
use crate::question::{Facet, FacetValues, Filter, Page, Question, folded};
use crate::rows::{Checkpoint, IssueRow, SessionFacts, SourceReceipt, StepRow};
use crate::store::{Changed, Commit, Forgotten, Standing, Store, Totals};
use rusqlite::functions::FunctionFlags;
use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};
use std::ops::Range;
use std::path::Path;
use std::time::Duration;
use unspool_model::Id;

/// How long a statement waits for another process before it fails.
const BUSY_WAIT: Duration = Duration::from_secs(5);

/// Memory for pages of the database.
const CACHE_KIB: i64 = 32 << 10;

/// Titles are compared as the memory store compares them: `SQLite` itself knows no capitals but those of ASCII.
fn add_folded(connection: &Connection) -> rusqlite::Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    connection.create_scalar_function("folded", 1, flags, |called| Ok(folded(&called.get::<String>(0)?)))
}

/// A store in a `SQLite` file.
pub struct SqliteStore {
    connection: Connection,
    name: String,
}

impl SqliteStore {
    /// Opens the file, makes it when it is not there, and brings its schema up to date.
    pub fn open(path: &Path) -> Result<SqliteStore, StoreError> {
        let name = path.display().to_string();
        make_private(path, &name)?;
        let failed = |error| database_error(&name, &error);
        let mut connection = Connection::open(path).map_err(failed)?;
        connection.set_prepared_statement_cache_capacity(64);
        connection.busy_timeout(BUSY_WAIT).map_err(failed)?;
        let found = schema::version(&connection).map_err(failed)?.ok_or_else(|| StoreError::Database {
            name: name.clone(),
            why: "it is a database of another program".into(),
            hint: Some("choose another folder with --data-dir"),
            is_of_the_disk: false,
        })?;
        if found > schema::newest() {
            return Err(StoreError::TooNew { name, found, known: schema::newest() });
        }
        let prepare = |connection: &mut Connection| {
            connection.pragma_update(None, "page_size", 4096)?;
            connection.pragma_update(None, "journal_mode", "WAL")?;
            connection.pragma_update(None, "cache_size", -CACHE_KIB)?;
            leave_to_others(connection)?;
            add_folded(connection)?;
            schema::migrate(connection, found)
        };
        prepare(&mut connection).map_err(failed)?;
        Ok(SqliteStore { connection, name })
    }

    /// What can still be read, in a damaged file, of what is not derived: how far sources have been read, and what became of their records.
    pub fn salvage(path: &Path) -> Commit {
        fn all<R: columns::TableRow>(connection: &Connection) -> Vec<R> {
            read::rows(connection, "", []).unwrap_or_default()
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let Ok(connection) = Connection::open_with_flags(path, flags) else { return Commit::default() };
        // Nothing is written; it only lets a file be read that is shorter than it says.
        drop(connection.pragma_update(None, "writable_schema", "ON"));
        Commit { checkpoints: all(&connection), receipts: all(&connection), ..Commit::default() }
    }

    fn reading<T>(&self, work: impl FnOnce(&Connection) -> Result<T, Problem>) -> Result<T, StoreError> {
        // One transaction, so that all queries of an answer see the same commits.
        let transaction = self.connection.unchecked_transaction().map_err(|error| self.failed(&error))?;
        work(&transaction).map_err(|problem| problem.of(&self.name).found_in(&self.name))
    }

    fn writing<T>(
        &mut self,
        lasting: Lasting,
        work: impl FnOnce(&Connection) -> Result<T, Problem>,
    ) -> Result<T, StoreError> {
        let name = self.name.clone();
        let failed = |error| database_error(&name, &error);
        let care = if lasting == Lasting::Always { "FULL" } else { "NORMAL" };
        self.connection.pragma_update(None, "synchronous", care).map_err(failed)?;
        let transaction =
            self.connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
        let result = work(&transaction).map_err(|problem| problem.of(&name))?;
        transaction.commit().map_err(failed)?;
        Ok(result)
    }

    fn failed(&self, error: &rusqlite::Error) -> StoreError {
        database_error(&self.name, error)
    }
}

/// Lets go of the pages at hand, and empties the write-ahead log.
pub(crate) fn rest(connection: &Connection) {
    // While somebody reads, the log stays; the next rest is as good.
    drop(connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())));
    drop(connection.execute_batch("PRAGMA shrink_memory"));
}

/// Whether a crash of the machine may take a commit back, all or nothing.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lasting {
    /// It may: everything in it is made again from the log.
    UnlessTheMachineStops,
    /// It must not: the log does not know.
    Always,
}

/// What can go wrong inside: the database, or a value in it.
enum Problem {
    Database(rusqlite::Error),
    Store(StoreError),
}

impl Problem {
    fn of(self, name: &str) -> StoreError {
        match self {
            Problem::Database(error) => database_error(name, &error),
            Problem::Store(error) => error,
        }
    }
}

impl From<rusqlite::Error> for Problem {
    fn from(error: rusqlite::Error) -> Problem {
        Problem::Database(error)
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Problem {
        Problem::Store(error)
    }
}

/// Makes a database's file, if it is not there, for its owner only; `SQLite` gives its other files the rights of this one.
pub(crate) fn make_private(path: &Path, name: &str) -> Result<(), StoreError> {
    let made = private_file().write(true).create(true).truncate(false).open(path);
    made.map(drop).map_err(|error| StoreError::Database {
        name: name.into(),
        why: error.to_string(),
        hint: disk_hint(error.kind()).or(Some("the folder must be writable; choose another with --data-dir")),
        is_of_the_disk: is_of_the_disk(&error),
    })
}

pub(crate) fn database_error(name: &str, error: &rusqlite::Error) -> StoreError {
    use rusqlite::Error;
    // What we wrote has its rows and their types: a page that was lost or overwritten has not.
    if let Error::InvalidColumnType(..)
    | Error::FromSqlConversionFailure(..)
    | Error::IntegralValueOutOfRange(..)
    | Error::QueryReturnedNoRows = error
    {
        return StoreError::Damaged { name: name.into(), why: said(&error.to_string()) };
    }
    let hint = match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => Some("free some space; what was acknowledged is safe in the log"),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            return StoreError::Damaged { name: name.into(), why: said(&error.to_string()) };
        }
        // What the system said is not told; mostly it is this.
        Some(ErrorCode::SystemIoFailure) => Some(
            "free some space if the disk is full, or see whether it is read-only or failing; what was acknowledged is safe in the log",
        ),
        Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
            Some("the file and its folder must be writable")
        }
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            Some("another process is writing to it; try again")
        }
        _ => None,
    };
    // What the system said is not told: a file that cannot be opened may be one that there is no room for.
    let is_of_the_disk = matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DiskFull | ErrorCode::SystemIoFailure | ErrorCode::ReadOnly | ErrorCode::CannotOpen)
    );
    StoreError::Database { name: name.into(), why: said(&error.to_string()), hint, is_of_the_disk }
}

impl Store for SqliteStore {
    fn commit(&mut self, commit: &Commit) -> Result<(), StoreError> {
        self.writing(Lasting::UnlessTheMachineStops, |connection| write::commit(connection, commit))
    }

    fn standing(&self) -> Result<Standing, StoreError> {
        self.reading(read::standing)
    }

    fn sessions(&self, question: &Question) -> Result<Page, StoreError> {
        question.check()?;
        self.reading(|connection| read::sessions(connection, question))
    }

    fn facet(&self, facet: Facet, filter: &Filter) -> Result<FacetValues, StoreError> {
        self.reading(|connection| read::facet(connection, facet, filter))
    }

    fn totals(&self) -> Result<Totals, StoreError> {
        self.reading(read::totals)
    }

    fn session_ids(&self) -> Result<Vec<Id>, StoreError> {
        self.reading(|connection| read::ids(connection, "SELECT id FROM sessions ORDER BY id"))
    }

    fn changed(&self, behind: u64, upto: u64) -> Result<Vec<Changed>, StoreError> {
        self.reading(|connection| read::changed(connection, behind, upto))
    }

    fn version_of(&self, session: Id) -> Result<Option<u64>, StoreError> {
        self.reading(|connection| read::version_of(connection, session))
    }

    fn session(&self, id: Id) -> Result<Option<SessionFacts>, StoreError> {
        self.reading(|connection| read::session(connection, id))
    }

    fn steps(&self, session: Id, places: Range<u32>) -> Result<Vec<StepRow>, StoreError> {
        self.reading(|connection| read::steps(connection, session, &places))
    }

    fn issues(&self, session: Id) -> Result<Vec<IssueRow>, StoreError> {
        self.reading(|connection| read::issues(connection, session))
    }

    fn place_of_step(&self, step: Id, session: Option<Id>) -> Result<Option<(Id, u32)>, StoreError> {
        self.reading(|connection| read::place_of_step(connection, step, session))
    }

    fn place_of_message(&self, session: Id, message: &str) -> Result<Option<u32>, StoreError> {
        self.reading(|connection| read::place_of_message(connection, session, message))
    }

    fn checkpoint(&self, source: &str) -> Result<Option<Checkpoint>, StoreError> {
        self.reading(|connection| read::checkpoint(connection, source))
    }

    fn receipts(&self) -> Result<Vec<SourceReceipt>, StoreError> {
        self.reading(|connection| read::rows(connection, "ORDER BY source", []))
    }

    fn forget(&mut self, sessions: &[Id]) -> Result<Forgotten, StoreError> {
        self.writing(Lasting::Always, |connection| write::forget(connection, sessions))
    }

    fn forgotten(&self) -> Result<Vec<Id>, StoreError> {
        let sql = "SELECT id FROM forgotten WHERE id NOT IN (SELECT id FROM sessions) ORDER BY id";
        self.reading(|connection| read::ids(connection, sql))
    }

    fn oldest_position(&self) -> Result<Option<u64>, StoreError> {
        self.reading(read::oldest_position)
    }

    fn drop_derived(&mut self) -> Result<(), StoreError> {
        self.writing(Lasting::UnlessTheMachineStops, write::drop_derived)
    }

    fn check(&self) -> Result<Vec<String>, StoreError> {
        let found: Vec<String> = self.reading(|connection| {
            let mut statement = connection.prepare("PRAGMA integrity_check")?;
            let rows = statement.query_map([], |row| row.get(0))?;
            Ok(rows.collect::<Result<_, _>>()?)
        })?;
        Ok(found.iter().filter(|line| *line != "ok").map(|line| said(line)).collect())
    }

    fn rest(&self) {
        rest(&self.connection);
    }

    fn shrink(&self) -> Result<(), StoreError> {
        self.connection.execute_batch("VACUUM").map_err(|error| self.failed(&error))
    }
}

/// Positions and versions as `SQLite` has them; none comes near the limit.
fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn unsigned(number: i64) -> u64 {
    number.max(0).cast_unsigned()
}
