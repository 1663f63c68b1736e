//! Which records of the log belong together, kept beside it.
//!
//! In: pieces of records with their keys, as numbers. Out: the family of each, and where the records of a family lie. Never here: what
//! a key means. Like everything derived, the file can be deleted and made again from the log.

mod forget;
mod loose;
mod sizes;

pub use loose::LooseIssue;
pub use sizes::Held;

use crate::error::{StoreError, said};
use crate::sqlite::{database_error, leave_to_others, make_private};
use rusqlite::{Connection, OptionalExtension as _, params};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::path::Path;
use unspool_model::Id;

const VERSION: i64 = 5;
const CACHE_KIB: i64 = 8 << 10;
const TABLES: [&str; 10] =
    ["standing", "keys", "offers", "joined", "entries", "streams", "sizes", "sessions", "counts", "loose"];

/// A family's number. Numbers of families that were joined stay valid names for what they became.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FamilyId(i64);

/// A part of a stream that came in several entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StreamPart {
    /// Its position in the log.
    pub position: u64,
    /// Where in the stream it begins.
    pub offset: u64,
}

/// What is counted, as the columns are called.
const COUNTED: [&str; 7] = ["stored", "duplicate", "rejected", "steps", "sessions", "subagents", "unlinked"];

/// What became of records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordCounts {
    /// Read and kept.
    pub stored: u64,
    /// There before.
    pub duplicate: u64,
    /// Not readable; kept as bytes.
    pub rejected: u64,
    /// The steps they came to.
    pub steps: u64,
    /// The sessions those are of.
    pub sessions: u64,
    /// The sub-agents of those, without internal ones.
    pub subagents: u64,
    /// Sub-agents that nobody is known to have started.
    pub unlinked: u64,
}

impl RecordCounts {
    fn numbers(self) -> [i64; 7] {
        let RecordCounts { stored, duplicate, rejected, steps, sessions, subagents, unlinked } = self;
        [stored, duplicate, rejected, steps, sessions, subagents, unlinked].map(u64::cast_signed)
    }

    fn of_numbers(row: &rusqlite::Row<'_>) -> rusqlite::Result<RecordCounts> {
        let number = |n: usize| row.get::<_, i64>(n).map(i64::cast_unsigned);
        Ok(RecordCounts {
            stored: number(0)?,
            duplicate: number(1)?,
            rejected: number(2)?,
            steps: number(3)?,
            sessions: number(4)?,
            subagents: number(5)?,
            unlinked: number(6)?,
        })
    }

    /// Puts `new` in the place of `old` in a sum.
    #[must_use]
    pub fn replaced(self, old: RecordCounts, new: RecordCounts) -> RecordCounts {
        let sum = |sum: u64, old: u64, new: u64| (sum + new).saturating_sub(old);
        RecordCounts {
            stored: sum(self.stored, old.stored, new.stored),
            duplicate: sum(self.duplicate, old.duplicate, new.duplicate),
            rejected: sum(self.rejected, old.rejected, new.rejected),
            steps: sum(self.steps, old.steps, new.steps),
            sessions: sum(self.sessions, old.sessions, new.sessions),
            subagents: sum(self.subagents, old.subagents, new.subagents),
            unlinked: sum(self.unlinked, old.unlinked, new.unlinked),
        }
    }
}

/// A piece's family, and what had been other families until now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Where the piece belongs.
    pub family: FamilyId,
    /// Families that are part of it from now on.
    pub absorbed: Vec<FamilyId>,
    /// Nothing was known of it before.
    pub new: bool,
}

/// The index. Changes last when `save` returns.
pub struct Families {
    connection: Connection,
    name: String,
    joined: FxHashMap<i64, i64>,
    next: i64,
    /// Every record before this position has been placed.
    through: u64,
    in_transaction: bool,
    /// What `SQLite` said of others' writing when this was read.
    seen: Option<i64>,
}

impl Families {
    /// Opens the file, or makes it.
    pub fn open(path: &Path) -> Result<Families, StoreError> {
        let name = path.display().to_string();
        make_private(path, &name)?;
        let connection = Connection::open(path).map_err(|error| failed(&name, &error))?;
        Families::over(connection, name)
    }

    /// One that is gone with the process.
    pub fn in_memory() -> Result<Families, StoreError> {
        let name = "families in memory".to_string();
        let connection = Connection::open_in_memory().map_err(|error| failed(&name, &error))?;
        Families::over(connection, name)
    }

    fn over(connection: Connection, name: String) -> Result<Families, StoreError> {
        let mut families = Families {
            connection,
            name,
            joined: FxHashMap::default(),
            next: 1,
            through: 0,
            in_transaction: false,
            seen: None,
        };
        families.prepare().map_err(|error| failed(&families.name, &error))?;
        Ok(families)
    }

    /// Nothing happens for a while: what is at hand is let go.
    pub fn rest(&self) {
        crate::sqlite::rest(&self.connection);
    }

    fn prepare(&mut self) -> rusqlite::Result<()> {
        let connection = &self.connection;
        connection.set_prepared_statement_cache_capacity(32);
        connection.pragma_update(None, "page_size", 8192)?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "NORMAL")?;
        connection.pragma_update(None, "cache_size", -CACHE_KIB)?;
        leave_to_others(connection)?;
        let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
        if version != VERSION {
            // Nothing in it is worth a migration: it is made again from the log.
            let drop: Vec<String> =
                TABLES.iter().map(|table| format!("DROP TABLE IF EXISTS {table};")).collect();
            connection.execute_batch(&format!(
                "BEGIN IMMEDIATE; {} {} PRAGMA user_version = {VERSION}; COMMIT;",
                drop.concat(),
                include_str!("schema.sql")
            ))?;
        }
        self.read_standing()
    }

    /// What a family became.
    pub fn settle(&self, family: FamilyId) -> FamilyId {
        let mut family = family.0;
        while let Some(into) = self.joined.get(&family) {
            family = *into;
        }
        FamilyId(family)
    }

    /// Finds the family of a piece by its keys, makes one, or joins those it belongs to. A key says whether all with it are one
    /// family.
    pub fn place(&mut self, keys: &[(u64, bool)]) -> Result<Placed, StoreError> {
        self.begin()?;
        self.placed(keys).map_err(|error| failed(&self.name, &error))
    }

    fn placed(&mut self, keys: &[(u64, bool)]) -> rusqlite::Result<Placed> {
        let mut found: Vec<i64> = Vec::new();
        let mut fresh: Vec<(i64, bool)> = Vec::new();
        {
            let mut known = self.connection.prepare_cached("SELECT family FROM keys WHERE hash = ?1")?;
            let mut offered = self.connection.prepare_cached("SELECT family FROM offers WHERE hash = ?1")?;
            for (hash, joins) in keys {
                let hash = hash.cast_signed();
                match known.query_row([hash], |row| row.get::<_, i64>(0)).optional()? {
                    Some(family) => found.push(family),
                    None => fresh.push((hash, *joins)),
                }
                if *joins && fresh.last().is_some_and(|last| last.0 == hash) {
                    let rows = offered.query_map([hash], |row| row.get::<_, i64>(0))?;
                    found.extend(rows.collect::<Result<Vec<_>, _>>()?);
                }
            }
        }
        let mut roots: Vec<i64> = found.into_iter().map(|family| self.settle(FamilyId(family)).0).collect();
        roots.sort_unstable();
        roots.dedup();
        let new = roots.is_empty();
        let family = roots.first().copied().unwrap_or_else(|| {
            self.next += 1;
            self.next - 1
        });
        let absorbed: Vec<i64> = roots.into_iter().skip(1).collect();
        for other in &absorbed {
            self.join(*other, family)?;
        }
        let mut put =
            self.connection.prepare_cached("INSERT OR IGNORE INTO keys (hash, family) VALUES (?1, ?2)")?;
        let mut offer =
            self.connection.prepare_cached("INSERT OR IGNORE INTO offers (hash, family) VALUES (?1, ?2)")?;
        for (hash, joins) in fresh {
            if joins {
                put.execute([hash, family])?
            } else {
                offer.execute([hash, family])?
            };
        }
        let absorbed = absorbed.into_iter().map(FamilyId).collect();
        Ok(Placed { family: FamilyId(family), absorbed, new })
    }

    fn join(&mut self, family: i64, into: i64) -> rusqlite::Result<()> {
        self.joined.insert(family, into);
        self.connection
            .prepare_cached("INSERT OR REPLACE INTO joined (family, into_family) VALUES (?1, ?2)")?
            .execute([family, into])?;
        for table in ["entries", "sessions"] {
            let sql = format!("UPDATE OR REPLACE {table} SET family = ?2 WHERE family = ?1");
            self.connection.prepare_cached(&sql)?.execute([family, into])?;
        }
        let sums = COUNTED.map(|name| format!("{name} = {name} + excluded.{name}")).join(", ");
        let names = COUNTED.join(", ");
        let sql = format!(
            "INSERT INTO counts (family, source, {names}) SELECT ?2, source, {names} FROM counts WHERE family = ?1
             ON CONFLICT (family, source) DO UPDATE SET {sums}"
        );
        self.connection.prepare_cached(&sql)?.execute([family, into])?;
        for table in ["counts", "loose"] {
            self.connection
                .prepare_cached(&format!("DELETE FROM {table} WHERE family = ?1"))?
                .execute([family])?;
        }
        Ok(())
    }

    /// The family of a piece, as far as it is known.
    pub fn find(&self, keys: &[(u64, bool)]) -> Result<Option<FamilyId>, StoreError> {
        for (hash, _) in keys.iter().filter(|(_, joins)| *joins) {
            let sql = "SELECT family FROM keys WHERE hash = ?1";
            if let Some(family) = self.numbers(sql, params![hash.cast_signed()])?.first() {
                return Ok(Some(self.settle(FamilyId(family.cast_signed()))));
            }
        }
        Ok(None)
    }

    /// Takes notice of what another value of the same file has written since.
    pub fn follow(&mut self) -> Result<(), StoreError> {
        self.read_standing().map_err(|error| failed(&self.name, &error))
    }

    /// Reads everything it keeps in memory again.
    pub fn refresh(&mut self) -> Result<(), StoreError> {
        // What is written through this very value is not among what `SQLite` says of others.
        self.seen = None;
        self.follow()
    }

    /// Reads how far it has come and which families were joined, if anybody else wrote since that was read.
    fn read_standing(&mut self) -> rusqlite::Result<()> {
        let connection = &self.connection;
        let seen: i64 = connection.pragma_query_value(None, "data_version", |row| row.get(0))?;
        if self.seen == Some(seen) {
            return Ok(());
        }
        let standing = connection.query_row("SELECT next, through FROM standing", [], |row| {
            Ok((row.get(0)?, row.get::<_, i64>(1)?.cast_unsigned()))
        });
        (self.next, self.through) = standing?;
        let mut statement = connection.prepare_cached("SELECT family, into_family FROM joined")?;
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        self.joined = rows.collect::<Result<_, _>>()?;
        self.seen = Some(seen);
        Ok(())
    }

    /// Every record before this position has been placed; what is behind it has to be placed again.
    pub fn through(&self) -> u64 {
        self.through
    }

    /// Notes that an entry of the log holds records of a family.
    pub fn add_entry(&mut self, family: FamilyId, position: u64) -> Result<(), StoreError> {
        self.begin()?;
        let sql = "INSERT OR IGNORE INTO entries (family, position) VALUES (?1, ?2)";
        self.run(sql, params![family.0, position.cast_signed()])
    }

    /// The entries that hold records of a family, in order.
    pub fn entries(&self, family: FamilyId) -> Result<Vec<u64>, StoreError> {
        self.numbers("SELECT position FROM entries WHERE family = ?1 ORDER BY position", params![family.0])
    }

    /// Notes that an entry is the next part of a stream, and where in it that begins.
    pub fn add_to_stream(&mut self, name: &str, part: StreamPart) -> Result<(), StoreError> {
        self.begin()?;
        let sql = "INSERT OR IGNORE INTO streams (name, position, \"offset\") VALUES (?1, ?2, ?3)";
        self.run(sql, params![name, part.position.cast_signed(), part.offset.cast_signed()])
    }

    /// The parts of a stream, in order.
    pub fn stream(&self, name: &str) -> Result<Vec<StreamPart>, StoreError> {
        let sql = "SELECT position, \"offset\" FROM streams WHERE name = ?1 ORDER BY position";
        let query = || {
            let mut statement = self.connection.prepare_cached(sql)?;
            let rows = statement.query_map([name], |row| {
                let number = |n: usize| row.get::<_, i64>(n).map(i64::cast_unsigned);
                Ok(StreamPart { position: number(0)?, offset: number(1)? })
            })?;
            rows.collect::<Result<Vec<_>, _>>()
        };
        query().map_err(|error| failed(&self.name, &error))
    }

    /// Says which sessions a family came to. Gives those it had and has no more.
    pub fn set_sessions(&mut self, family: FamilyId, sessions: &[Id]) -> Result<Vec<Id>, StoreError> {
        self.begin()?;
        let had = self.sessions_of(family)?;
        let gone: Vec<Id> = had.iter().filter(|id| !sessions.contains(id)).copied().collect();
        for id in &gone {
            self.run("DELETE FROM sessions WHERE id = ?1", params![id.to_bytes()])?;
        }
        for id in sessions.iter().filter(|id| !had.contains(id)) {
            let sql = "INSERT OR REPLACE INTO sessions (id, family) VALUES (?1, ?2)";
            self.run(sql, params![id.to_bytes(), family.0])?;
        }
        Ok(gone)
    }

    /// The sessions a family came to.
    pub fn sessions_of(&self, family: FamilyId) -> Result<Vec<Id>, StoreError> {
        let query = || {
            let mut statement =
                self.connection.prepare_cached("SELECT id FROM sessions WHERE family = ?1")?;
            let rows = statement.query_map([family.0], |row| row.get::<_, [u8; 16]>(0))?;
            rows.collect::<Result<Vec<_>, _>>()
        };
        let found = query().map_err(|error| failed(&self.name, &error))?;
        Ok(found.into_iter().map(|bytes| Id::from_u128(u128::from_be_bytes(bytes))).collect())
    }

    /// The sessions that came of the families with records in an entry.
    pub fn sessions_at(&self, position: u64) -> Result<Vec<Id>, StoreError> {
        let families =
            self.numbers("SELECT family FROM entries WHERE position = ?1", params![position.cast_signed()])?;
        let mut found: Vec<Id> = Vec::new();
        for family in families {
            found.extend(self.sessions_of(self.settle(FamilyId(family.cast_signed())))?);
        }
        Ok(found)
    }

    /// The sessions of all families.
    pub fn all_sessions(&self) -> Result<Vec<Id>, StoreError> {
        let query = || {
            let mut statement = self.connection.prepare_cached("SELECT id FROM sessions")?;
            let rows = statement.query_map([], |row| row.get::<_, [u8; 16]>(0))?;
            rows.collect::<Result<Vec<_>, _>>()
        };
        let found = query().map_err(|error| failed(&self.name, &error))?;
        Ok(found.into_iter().map(|bytes| Id::from_u128(u128::from_be_bytes(bytes))).collect())
    }

    /// Reads the whole file and says what is damaged in it; nothing when all is well.
    pub fn check(&self) -> Result<Vec<String>, StoreError> {
        let query = || {
            let mut statement = self.connection.prepare("PRAGMA integrity_check")?;
            let rows = statement.query_map([], |row| row.get::<_, String>(0))?;
            rows.collect::<Result<Vec<_>, _>>()
        };
        let found = query().map_err(|error| failed(&self.name, &error))?;
        Ok(found.iter().filter(|line| *line != "ok").map(|line| said(line)).collect())
    }

    /// The family of a session.
    pub fn of_session(&self, session: Id) -> Result<Option<FamilyId>, StoreError> {
        let found = self.numbers("SELECT family FROM sessions WHERE id = ?1", params![session.to_bytes()])?;
        Ok(found.first().map(|family| self.settle(FamilyId(family.cast_signed()))))
    }

    /// Says what became of a family's records, by source, and gives back what was said before, in sum.
    pub fn set_counts(
        &mut self,
        family: FamilyId,
        counts: &BTreeMap<&str, RecordCounts>,
    ) -> Result<RecordCounts, StoreError> {
        self.begin()?;
        let old = self.counts(Some(family))?;
        // Records that the log has lost may have been the only ones of their source.
        self.run("DELETE FROM counts WHERE family = ?1", params![family.0])?;
        for (source, counts) in counts {
            self.put_counts(family.0, source, *counts).map_err(|error| failed(&self.name, &error))?;
        }
        Ok(old)
    }

    fn put_counts(&self, family: i64, source: &str, counts: RecordCounts) -> rusqlite::Result<()> {
        let sql = format!(
            "INSERT OR REPLACE INTO counts (family, source, {}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            COUNTED.join(", ")
        );
        let [stored, duplicate, rejected, steps, sessions, subagents, unlinked] = counts.numbers();
        let mut statement = self.connection.prepare_cached(&sql)?;
        let values =
            params![family, source, stored, duplicate, rejected, steps, sessions, subagents, unlinked];
        statement.execute(values).map(drop)
    }

    /// What became of the records of a family, or of all.
    pub fn counts(&self, family: Option<FamilyId>) -> Result<RecordCounts, StoreError> {
        let family = family.map(|family| family.0);
        let sums = COUNTED.map(|name| format!("coalesce(sum({name}), 0)")).join(", ");
        let which = if family.is_some() { "family = ?1" } else { "?1 IS NULL" };
        let sql = format!("SELECT {sums} FROM counts WHERE {which}");
        let query = || self.connection.prepare_cached(&sql)?.query_row([family], RecordCounts::of_numbers);
        query().map_err(|error| failed(&self.name, &error))
    }

    /// What became of the records of each source, in bytewise order of their names.
    pub fn counts_by_source(&self) -> Result<Vec<(String, RecordCounts)>, StoreError> {
        let sums = COUNTED.map(|name| format!("sum({name})")).join(", ");
        let sql = format!("SELECT {sums}, source FROM counts GROUP BY source ORDER BY source");
        let query = || {
            let mut statement = self.connection.prepare_cached(&sql)?;
            let source = COUNTED.len();
            let rows =
                statement.query_map([], |row| Ok((row.get(source)?, RecordCounts::of_numbers(row)?)))?;
            rows.collect::<Result<Vec<_>, _>>()
        };
        query().map_err(|error: rusqlite::Error| failed(&self.name, &error))
    }

    /// Makes what was said last. Every record before that position has been placed.
    pub fn save(&mut self, through: u64) -> Result<(), StoreError> {
        if self.in_transaction {
            self.run(
                "UPDATE standing SET next = ?1, through = ?2",
                params![self.next, through.cast_signed()],
            )?;
            self.batch("COMMIT")?;
            self.in_transaction = false;
            self.through = through;
        }
        Ok(())
    }

    /// Takes back what was said since it was last saved.
    pub fn take_back(&mut self) -> Result<(), StoreError> {
        self.in_transaction = false;
        // What failed for want of room was taken back by the database itself.
        if !self.connection.is_autocommit() {
            self.batch("ROLLBACK")?;
        }
        self.refresh()
    }

    /// Forgets everything: it is about to be made again from the log.
    pub fn clear(&mut self) -> Result<(), StoreError> {
        self.take_back()?;
        let emptied: Vec<String> =
            TABLES.iter().skip(1).map(|table| format!("DELETE FROM {table};")).collect();
        let sql = format!("BEGIN IMMEDIATE; {} UPDATE standing SET through = 0; COMMIT;", emptied.concat());
        self.batch(&sql)?;
        self.refresh()
    }

    fn begin(&mut self) -> Result<(), StoreError> {
        if !self.in_transaction {
            self.batch("BEGIN IMMEDIATE")?;
            self.in_transaction = true;
        }
        Ok(())
    }

    fn batch(&self, sql: &str) -> Result<(), StoreError> {
        self.connection.execute_batch(sql).map_err(|error| failed(&self.name, &error))
    }

    fn run(&self, sql: &str, values: impl rusqlite::Params) -> Result<(), StoreError> {
        let run = || self.connection.prepare_cached(sql)?.execute(values);
        run().map(drop).map_err(|error| failed(&self.name, &error))
    }

    fn numbers(&self, sql: &str, values: impl rusqlite::Params) -> Result<Vec<u64>, StoreError> {
        let query = || {
            let mut statement = self.connection.prepare_cached(sql)?;
            let rows = statement.query_map(values, |row| row.get::<_, i64>(0))?;
            rows.map(|number| number.map(i64::cast_unsigned)).collect::<Result<Vec<_>, _>>()
        };
        query().map_err(|error| failed(&self.name, &error))
    }
}

fn failed(name: &str, error: &rusqlite::Error) -> StoreError {
    database_error(name, error)
}
