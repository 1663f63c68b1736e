//! An index of the words in sessions' texts, and some of the texts, kept beside the store.
//!
//! In: chunks of texts with their words. Out: the chunks with a word, and the texts of a chunk where they are kept. Never here: what a word is, what stands in a
//! text. Like everything derived, the file can be deleted and made again; one that is damaged is.

use crate::error::{StoreError, said};
use crate::files::private_file;
use crate::packer::Packer;
use crate::sqlite::{DatabaseFile, database_error};
use rusqlite::{Connection, ErrorCode, OptionalExtension as _, params};
use rustc_hash::FxHashSet;
use std::cell::RefCell;
use std::path::Path;
use unspool_model::Id;

const SCHEMA: u32 = 5;
const CACHE_KIB: i64 = 8 << 10;
const TEXT_LEVEL: i32 = 1;
/// Pages that may lie beside the file before they are brought into it: whoever does that waits for the disk.
const AHEAD_PAGES: i64 = 4096;
/// Words that are collected in memory before they are written.
const WORDS_BYTES: i64 = 8 << 20;
/// The index is worth making dense when the file has grown by a quarter since, and by so many pages.
const WORTH_PAGES: i64 = 256;
/// Pages of the index that one step of that writes.
const STEP_PAGES: i64 = 64;

/// A chunk's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChunkId(i64);

/// The number of a session in the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionNumber(i64);

/// A chunk to be kept.
#[derive(Clone, Debug)]
pub struct NewChunk {
    /// What it is known by in its session.
    pub sum: Id,
    /// Its words, with spaces between them: letters and digits only, in small letters.
    pub words: String,
    /// Its texts, when they are to be kept; otherwise they are read again where they came from.
    pub text: Option<KeptText>,
}

/// The texts of a chunk that is kept.
#[derive(Clone, Debug)]
pub struct KeptText {
    /// The texts.
    pub packed: PackedText,
    /// A filter by which texts that have not what is looked for are passed over.
    pub filter: Vec<u8>,
    /// What each is known by in its session.
    pub marks: Vec<u64>,
    /// The chunks of the session whose texts were left out, by their sums; `None` when it may be any that came before.
    pub leans_on: Option<Vec<Id>>,
}

/// A chunk that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownChunk {
    /// What it is known by in its session.
    pub sum: Id,
    /// What its texts are known by, where they are kept.
    pub marks: Vec<u64>,
    /// The chunks whose texts were left out; `None` when it may be any that came before.
    pub leans_on: Option<Vec<Id>>,
}

/// The texts of a chunk as they are kept.
#[derive(Clone, Debug)]
pub struct PackedText(Vec<u8>);

/// Packs the texts of chunks, one after the other. Whoever has them does it, so that the one that writes need not.
#[derive(Default)]
pub struct TextPacker(Packer);

impl TextPacker {
    /// What is to be kept of a chunk's texts.
    pub fn pack(&mut self, text: &[u8]) -> Result<PackedText, StoreError> {
        self.0.pack(text, TEXT_LEVEL).map(PackedText).map_err(|_| StoreError::Value { column: "text" })
    }
}

/// A word to look for.
#[derive(Clone, Debug)]
pub struct WantedWord<'a> {
    /// Letters and digits only.
    pub word: &'a str,
    /// Words that begin with it, too.
    pub open: bool,
}

/// Says of a filter whether texts with it are to be looked at.
pub type Sieve<'a> = dyn Fn(&[u8]) -> bool + 'a;

/// The file. One value writes; others may read at the same time. Changes are seen when `save` returns.
pub struct Texts {
    connection: Connection,
    name: String,
    in_transaction: bool,
    /// What was wrong with the file that was there before, if it was damaged.
    replaced: Option<String>,
}

impl Texts {
    /// Opens the file, or makes it; one that is damaged, or was made by another version of the program or of what a text is, is made
    /// anew.
    pub fn open(path: &Path, meaning: u32) -> Result<Texts, StoreError> {
        let version = i64::from(SCHEMA * 1000 + meaning);
        let name = path.display().to_string();
        let found = Texts::prepared(path, version);
        let mut replaced = None;
        let is_worthless = match &found {
            Ok(texts) => texts.is_none(),
            Err(error) => {
                let code = error.sqlite_error_code();
                let is_damaged = matches!(code, Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase));
                replaced = is_damaged.then(|| said(&error.to_string()));
                is_damaged
            }
        };
        let found = if is_worthless {
            drop(found);
            Texts::delete(path);
            Texts::prepared(path, version)
        } else {
            found
        };
        let connection = found.map_err(|error| database_error(&name, &error))?;
        let connection = connection.ok_or_else(|| StoreError::Database {
            name: name.clone(),
            why: "it is of another version and cannot be made anew".into(),
            hint: Some("delete the file: it is made again"),
            is_of_the_disk: false,
        })?;
        Ok(Texts { connection, name, in_transaction: false, replaced })
    }

    /// Deletes the file and what lies beside it. Whoever has it open is left with nothing anybody else sees.
    pub fn delete(path: &Path) {
        // What cannot be deleted cannot be opened either, and that is told.
        drop(DatabaseFile::new(path).delete());
    }

    /// What was wrong with the file that was there before, if it was damaged.
    pub fn replaced(&self) -> Option<&str> {
        self.replaced.as_deref()
    }

    /// Reads the whole file and says what is damaged in it; nothing when all is well.
    pub fn check(&self) -> Result<Vec<String>, StoreError> {
        let query = || {
            let mut statement = self.connection.prepare("PRAGMA integrity_check")?;
            let rows = statement.query_map([], |row| row.get::<_, String>(0))?;
            rows.collect::<Result<Vec<_>, _>>()
        };
        let found = query().map_err(|error| self.failed(&error))?;
        let found: Vec<String> = found.iter().filter(|line| *line != "ok").map(|line| said(line)).collect();
        if found.is_empty() {
            // The index of words has a shape of its own within its pages.
            let look = "INSERT INTO words (words) VALUES ('integrity-check')";
            self.connection.execute_batch(look).map_err(|error| self.failed(&error))?;
        }
        Ok(found)
    }

    /// `None` when it is of another version.
    fn prepared(path: &Path, version: i64) -> rusqlite::Result<Option<Connection>> {
        // SQLite gives its other files the rights of this one; if this fails, so does opening it.
        drop(private_file().write(true).create(true).truncate(false).open(path));
        let connection = Connection::open(path)?;
        connection.set_prepared_statement_cache_capacity(32);
        connection.pragma_update(None, "page_size", 8192)?;
        connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "NORMAL")?;
        connection.pragma_update(None, "cache_size", -CACHE_KIB)?;
        connection.pragma_update(None, "wal_autocheckpoint", AHEAD_PAGES)?;
        let found: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
        if found == 0 {
            connection.execute_batch(&format!(
                "BEGIN IMMEDIATE; {} INSERT INTO words (words, rank) VALUES ('hashsize', {WORDS_BYTES});
                 PRAGMA user_version = {version}; COMMIT;",
                include_str!("schema.sql")
            ))?;
        }
        Ok((found == 0 || found == version).then_some(connection))
    }

    fn failed(&self, error: &rusqlite::Error) -> StoreError {
        database_error(&self.name, error)
    }

    /// The version of the store it knows everything of.
    pub fn standing(&self) -> Result<u64, StoreError> {
        standing(&self.connection).map_err(|error| self.failed(&error))
    }

    /// The sums of a session's chunks.
    pub fn sums(&self, session: Id) -> Result<Vec<Id>, StoreError> {
        let query = || {
            let Some(number) = self.number(session)? else { return Ok(Vec::new()) };
            Ok(self.chunks_of(number)?.into_iter().map(|(_, sum)| sum).collect())
        };
        query().map_err(|error| self.failed(&error))
    }

    /// The chunks of a session with what their texts are known by, those that came first in front.
    pub fn known(&self, session: Id) -> Result<Vec<KnownChunk>, StoreError> {
        let query = || {
            let Some(number) = self.number(session)? else { return Ok(Vec::new()) };
            let sql =
                "SELECT sum, texts.chunk IS NULL, leans_on, marks FROM chunks LEFT JOIN texts USING (chunk)
                       WHERE session = ?1 ORDER BY chunk";
            let mut statement = self.connection.prepare_cached(sql)?;
            let rows = statement.query_map([number], |row| {
                let (has_none, leans_on, marks): (bool, Option<Vec<u8>>, Option<Vec<u8>>) =
                    (row.get(1)?, row.get(2)?, row.get(3)?);
                let marks = marks.unwrap_or_default();
                let marks = marks.as_chunks().0.iter().map(|mark| u64::from_le_bytes(*mark)).collect();
                let leans_on = leans_on.or(has_none.then(Vec::new));
                let leans_on = leans_on.map(|sums| sums.as_chunks().0.iter().map(|sum| id(*sum)).collect());
                Ok(KnownChunk { sum: id(row.get(0)?), marks, leans_on })
            })?;
            rows.collect::<Result<Vec<_>, _>>()
        };
        query().map_err(|error| self.failed(&error))
    }

    /// All sessions with texts.
    pub fn sessions(&self) -> Result<Vec<Id>, StoreError> {
        let query = || {
            let mut statement = self.connection.prepare_cached("SELECT id FROM sessions ORDER BY id")?;
            let rows = statement.query_map([], |row| Ok(id(row.get(0)?)))?;
            rows.collect::<Result<Vec<_>, _>>()
        };
        query().map_err(|error| self.failed(&error))
    }

    fn number(&self, session: Id) -> rusqlite::Result<Option<i64>> {
        let mut statement = self.connection.prepare_cached("SELECT number FROM sessions WHERE id = ?1")?;
        statement.query_row([session.to_bytes()], |row| row.get(0)).optional()
    }

    /// The chunks of a session, in order.
    fn chunks_of(&self, number: i64) -> rusqlite::Result<Vec<(i64, Id)>> {
        let sql = "SELECT chunk, sum FROM chunks WHERE session = ?1 ORDER BY chunk";
        let mut statement = self.connection.prepare_cached(sql)?;
        let rows = statement.query_map([number], |row| Ok((row.get(0)?, id(row.get(1)?))))?;
        rows.collect()
    }

    /// Says which chunks a session has: those of `all` by their sums, of which `new` were not there, or take the place of those that were.
    /// Others are deleted, and the session when it has none.
    pub fn put(&mut self, session: Id, all: &[Id], new: &[NewChunk]) -> Result<(), StoreError> {
        self.begin().and_then(|()| self.put_chunks(session, all, new)).map_err(|error| self.failed(&error))
    }

    fn put_chunks(&self, session: Id, all: &[Id], new: &[NewChunk]) -> rusqlite::Result<()> {
        let number = match self.number(session)? {
            Some(known) => known,
            None if all.is_empty() => return Ok(()),
            None => {
                let sql = "INSERT INTO sessions (id) VALUES (?1)";
                self.connection.prepare_cached(sql)?.insert([session.to_bytes()])?
            }
        };
        let wanted: FxHashSet<Id> = all.iter().copied().collect();
        let anew: FxHashSet<Id> = new.iter().map(|chunk| chunk.sum).collect();
        let stays = |sum: &Id| wanted.contains(sum) && !anew.contains(sum);
        for (chunk, _) in self.chunks_of(number)?.into_iter().filter(|(_, sum)| !stays(sum)) {
            self.connection.prepare_cached("DELETE FROM chunks WHERE chunk = ?1")?.execute([chunk])?;
            self.connection.prepare_cached("DELETE FROM texts WHERE chunk = ?1")?.execute([chunk])?;
            self.connection.prepare_cached("DELETE FROM pairs WHERE chunk = ?1")?.execute([chunk])?;
            self.connection.prepare_cached("DELETE FROM words WHERE rowid = ?1")?.execute([chunk])?;
        }
        if all.is_empty() {
            self.connection.prepare_cached("DELETE FROM sessions WHERE number = ?1")?.execute([number])?;
        }
        // Nothing in here may say `RETURNING`: SQLite then wants to be able to take that statement back, and has all words that were
        // collected written first, chunk by chunk.
        let sql = "INSERT INTO chunks (session, sum) VALUES (?1, ?2)";
        let mut put = self.connection.prepare_cached(sql)?;
        let sql = "INSERT INTO texts (chunk, leans_on, marks, text) VALUES (?1, ?2, ?3, ?4)";
        let mut keep = self.connection.prepare_cached(sql)?;
        let mut sift = self.connection.prepare_cached("INSERT INTO pairs (chunk, filter) VALUES (?1, ?2)")?;
        let mut index = self.connection.prepare_cached("INSERT INTO words (rowid, list) VALUES (?1, ?2)")?;
        for NewChunk { sum, words, text } in new {
            let chunk = put.insert(params![number, sum.to_bytes()])?;
            index.execute(params![chunk, words])?;
            if let Some(KeptText { packed, filter, marks, leans_on }) = text {
                let marks: Vec<u8> = marks.iter().flat_map(|mark| mark.to_le_bytes()).collect();
                let sums = |all: &Vec<Id>| all.iter().flat_map(|sum| sum.to_bytes()).collect::<Vec<u8>>();
                keep.execute(params![chunk, leans_on.as_ref().map(sums), marks, packed.0])?;
                sift.execute(params![chunk, filter])?;
            }
        }
        Ok(())
    }

    /// Deletes everything.
    pub fn clear(&mut self) -> Result<(), StoreError> {
        let sql = "DELETE FROM sessions; DELETE FROM chunks; DELETE FROM texts; DELETE FROM pairs; INSERT INTO words (words) VALUES ('delete-all');
                   UPDATE standing SET version = 0;";
        let done = self.begin().and_then(|()| self.connection.execute_batch(sql));
        done.map_err(|error| self.failed(&error))?;
        self.save(0)
    }

    fn begin(&mut self) -> rusqlite::Result<()> {
        if !self.in_transaction {
            self.connection.execute_batch("BEGIN IMMEDIATE")?;
            self.in_transaction = true;
        }
        Ok(())
    }

    /// Makes the changes seen, and with them that everything of a version of the store is known.
    pub fn save(&mut self, version: u64) -> Result<(), StoreError> {
        let save = |texts: &mut Texts| {
            texts.begin()?;
            let mut statement = texts.connection.prepare_cached("UPDATE standing SET version = ?1")?;
            statement.execute([version.cast_signed()])?;
            texts.in_transaction = false;
            texts.connection.execute_batch("COMMIT")
        };
        save(self).map_err(|error| {
            self.undo();
            self.failed(&error)
        })
    }

    /// Whether much was added since the index was made dense.
    pub fn is_loose(&self) -> Result<bool, StoreError> {
        let query = || {
            let dense: i64 =
                self.connection.query_row("SELECT dense_pages FROM standing", [], |row| row.get(0))?;
            let pages: i64 = self.connection.pragma_query_value(None, "page_count", |row| row.get(0))?;
            Ok(pages >= dense + dense / 4 + WORTH_PAGES)
        };
        query().map_err(|error| self.failed(&error))
    }

    /// Makes the index dense: what was added piece by piece is put together, and what that leaves free is given back. It is asked before
    /// every step whether to go on; what has been done by then stays.
    pub fn make_dense(&mut self, go_on: impl Fn() -> bool) -> Result<(), StoreError> {
        let merge = |pages: i64| -> rusqlite::Result<bool> {
            let before = self.connection.total_changes();
            let mut statement =
                self.connection.prepare_cached("INSERT INTO words (words, rank) VALUES ('merge', ?1)")?;
            statement.execute([pages])?;
            // SQLite counts the command itself, too.
            Ok(self.connection.total_changes() - before > 1)
        };
        let work = || -> rusqlite::Result<()> {
            // A number below zero begins: all pieces, however large, are to become one.
            let mut more = merge(-STEP_PAGES)?;
            while more {
                if !go_on() {
                    return Ok(());
                }
                more = merge(STEP_PAGES)?;
            }
            // A page is given back with every row.
            let mut give_back = self.connection.prepare("PRAGMA incremental_vacuum")?;
            let mut pages = give_back.query([])?;
            while pages.next()?.is_some() {}
            drop(pages);
            self.connection.execute(
                "UPDATE standing SET dense_pages = (SELECT page_count FROM pragma_page_count())",
                [],
            )?;
            Ok(())
        };
        work().map_err(|error| self.failed(&error))
    }

    /// Nothing happens for a while: what is at hand is let go.
    pub fn rest(&self) {
        crate::sqlite::rest(&self.connection);
    }

    /// Takes back what was not saved.
    pub fn undo(&mut self) {
        self.in_transaction = false;
        // Without a transaction there is nothing to take back.
        drop(self.connection.execute_batch("ROLLBACK"));
    }

    /// Asks questions that all see the same state.
    pub fn reading<T, E: From<StoreError>>(
        &self,
        ask: impl FnOnce(&TextsReader<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let transaction = self.connection.unchecked_transaction().map_err(|error| self.failed(&error))?;
        let unpacker = zstd::bulk::Decompressor::new().map_err(|_| StoreError::Value { column: "text" })?;
        ask(&TextsReader { connection: &transaction, name: &self.name, unpacker: RefCell::new(unpacker) })
    }
}

/// The state at one moment.
pub struct TextsReader<'a> {
    connection: &'a Connection,
    name: &'a str,
    unpacker: RefCell<zstd::bulk::Decompressor<'static>>,
}

impl TextsReader<'_> {
    /// The version of the store it knows everything of.
    pub fn standing(&self) -> Result<u64, StoreError> {
        standing(self.connection).map_err(|error| database_error(self.name, &error))
    }

    /// The chunks that have all these words, session by session, in order. Those with a filter are left out where it is not to be passed.
    pub fn chunks_with(
        &self,
        words: &[WantedWord<'_>],
        sieve: Option<&Sieve<'_>>,
    ) -> Result<Vec<(SessionNumber, ChunkId)>, StoreError> {
        let all: Vec<String> = words
            .iter()
            .map(|WantedWord { word, open }| format!("\"{word}\"{}", if *open { " *" } else { "" }))
            .collect();
        if all.is_empty() {
            return Ok(Vec::new());
        }
        let query = || {
            let sql = if sieve.is_some() {
                "SELECT chunks.session, words.rowid, pairs.filter FROM words JOIN chunks ON chunks.chunk = words.rowid
                        LEFT JOIN pairs ON pairs.chunk = words.rowid WHERE words MATCH ?1"
            } else {
                "SELECT chunks.session, words.rowid FROM words JOIN chunks ON chunks.chunk = words.rowid
                        WHERE words MATCH ?1"
            };
            let mut statement = self.connection.prepare_cached(sql)?;
            let mut rows = statement.query([all.join(" AND ")])?;
            let mut found = Vec::new();
            while let Some(row) = rows.next()? {
                let passes = match sieve {
                    Some(passes) => row.get_ref(2)?.as_blob_or_null()?.is_none_or(passes),
                    None => true,
                };
                if passes {
                    found.push((SessionNumber(row.get(0)?), ChunkId(row.get(1)?)));
                }
            }
            Ok(found)
        };
        let mut found = query().map_err(|error| database_error(self.name, &error))?;
        found.sort_unstable();
        Ok(found)
    }

    /// The texts of a chunk, should they be kept.
    pub fn text(&self, chunk: ChunkId) -> Result<Option<Vec<u8>>, StoreError> {
        let query = || {
            let mut statement = self.connection.prepare_cached("SELECT text FROM texts WHERE chunk = ?1")?;
            statement.query_row([chunk.0], |row| row.get::<_, Vec<u8>>(0)).optional()
        };
        let Some(packed) = query().map_err(|error| database_error(self.name, &error))? else {
            return Ok(None);
        };
        let length = zstd::zstd_safe::get_frame_content_size(&packed).ok().flatten().unwrap_or(0);
        let damaged = || StoreError::Value { column: "text" }.found_in(self.name);
        let length = usize::try_from(length).map_err(|_| damaged())?;
        self.unpacker.borrow_mut().decompress(&packed, length).map(Some).map_err(|_| damaged())
    }

    /// The sum a chunk is known by in its session.
    pub fn sum(&self, chunk: ChunkId) -> Result<Option<Id>, StoreError> {
        let query = || {
            let mut statement = self.connection.prepare_cached("SELECT sum FROM chunks WHERE chunk = ?1")?;
            statement.query_row([chunk.0], |row| Ok(id(row.get(0)?))).optional()
        };
        query().map_err(|error| database_error(self.name, &error))
    }

    /// A session by its number.
    pub fn session(&self, number: SessionNumber) -> Result<Id, StoreError> {
        let query = || {
            let mut statement =
                self.connection.prepare_cached("SELECT id FROM sessions WHERE number = ?1")?;
            statement.query_row([number.0], |row| Ok(id(row.get(0)?))).optional()
        };
        let found = query().map_err(|error| database_error(self.name, &error))?;
        // Whoever has a number has it from here.
        found.ok_or_else(|| StoreError::Value { column: "session" }.found_in(self.name))
    }
}

fn standing(connection: &Connection) -> rusqlite::Result<u64> {
    let mut statement = connection.prepare_cached("SELECT version FROM standing")?;
    statement.query_row([], |row| row.get::<_, i64>(0)).map(i64::cast_unsigned)
}

fn id(bytes: [u8; 16]) -> Id {
    Id::from_u128(u128::from_be_bytes(bytes))
}
