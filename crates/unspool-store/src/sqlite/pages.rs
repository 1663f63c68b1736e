//! Pages of packed rows: a session's agents, runs, steps, edges and issues.
//!
//! In: facts. Out: pages that changed, written; and the facts again. A page is known by a hash of its rows, and of the numbers that stand for
//! ids in it, so that rows which are there already are not even made. `SQLite` then has a few rows for a session where it would have three for
//! every step, which takes a fifth of the room and of the time. Where a session grows, what is behind its last full page is on parts of a page, so that a
//! few new rows do not write a thousand. Inside a transaction of the caller's.

use super::Problem;
use super::pack::{Names, PackedRow, pack_edges, unpack_edges};
use crate::error::StoreError;
use crate::list::hash_of;
use crate::packer::Packer;
use crate::rows::{EdgeRow, IssueRow, List, SessionFacts, SessionRow, StepRow};
use rusqlite::{Connection, OptionalExtension as _, params};
use std::cell::RefCell;
use std::hash::Hash;
use std::ops::Range;
use unspool_model::Id;

/// Rows on a page.
const PAGE_ROWS: usize = 1024;
/// Rows on the parts of a page that is not full yet, as far as they reach; what is left is on one more. Two that are alike become the next larger one.
const PART_ROWS: [usize; 4] = [512, 256, 128, 64];
const LEAST_PART: usize = PART_ROWS[3];
/// Bits of the key for the page, and for the sort.
const PAGE_BITS: u32 = 22;
const SORT_BITS: u32 = 3;
/// Higher ones take longer and save next to nothing: most of a page are ids and first words.
const LEVEL: i32 = 3;
/// No page is larger before it is compressed: damaged bytes must not make us ask for more.
const MAX_PAGE_BYTES: usize = 1 << 30;

/// The sorts of rows.
#[derive(Clone, Copy)]
enum Sort {
    Agents,
    Runs,
    Steps,
    Edges,
    Issues,
    /// Behind the last page of steps.
    StepParts,
    /// Behind the last page of edges.
    EdgeParts,
}

fn key(session: i64, sort: Sort, page: usize) -> i64 {
    let page = i64::try_from(page).unwrap_or(i64::MAX);
    (session << (SORT_BITS + PAGE_BITS)) | ((sort as i64) << PAGE_BITS) | page
}

/// All keys of a session.
fn keys(session: i64) -> Range<i64> {
    let first = session << (SORT_BITS + PAGE_BITS);
    first..first + (1 << (SORT_BITS + PAGE_BITS))
}

/// All keys of one sort of a session.
fn keys_of(session: i64, sort: Sort) -> Range<i64> {
    key(session, sort, 0)..key(session, sort, 0) + (1 << PAGE_BITS)
}

/// Writes the pages of a session that are not there yet, and removes those that should not be.
pub(super) fn put(connection: &Connection, session: i64, facts: &SessionFacts) -> Result<(), Problem> {
    let mut pages = Pages { connection, session, known: sums(connection, session)?, wanted: Vec::new() };
    let grows = !pages.known.is_empty();
    pages.rows(Sort::Agents, &facts.agents)?;
    pages.rows(Sort::Runs, &facts.runs)?;
    for (sort, n, places) in places(facts.steps.len(), [Sort::Steps, Sort::StepParts], grows) {
        let sum = hash_of(&facts.steps.hashes()[places.clone()]);
        pages.page(sort, n, sum, || PackedRow::pack(&facts.steps.some(places)))?;
    }
    let names = Names::of(&facts.steps);
    for (sort, n, places) in places(facts.edges.len(), [Sort::Edges, Sort::EdgeParts], grows) {
        let numbers = names.numbers(&facts.edges, places.clone());
        let sum = hash_of(&(&facts.edges.hashes()[places.clone()], &numbers));
        pages.page(sort, n, sum, || pack_edges(facts.edges.some(places), &numbers))?;
    }
    pages.rows(Sort::Issues, &facts.issues)?;
    pages.remove_others()
}

/// Which rows are on which page, and on which part of one where a session grows. Parts are numbered by where they begin.
fn places(rows: usize, [pages, parts]: [Sort; 2], grows: bool) -> Vec<(Sort, usize, Range<usize>)> {
    let full = rows / PAGE_ROWS;
    let mut all: Vec<_> = (0..full).map(|n| (pages, n, n * PAGE_ROWS..(n + 1) * PAGE_ROWS)).collect();
    let first = full * PAGE_ROWS;
    if !grows && first < rows {
        all.push((pages, full, first..rows));
        return all;
    }
    let mut at = first;
    for size in PART_ROWS.into_iter().filter(|size| (rows - first) & size != 0) {
        all.push((parts, (at - first) / LEAST_PART, at..at + size));
        at += size;
    }
    if at < rows {
        all.push((parts, (at - first) / LEAST_PART, at..rows));
    }
    all
}

/// The pages of a session while they are written.
struct Pages<'c> {
    connection: &'c Connection,
    session: i64,
    /// Keys and sums of those that are there, in order.
    known: Vec<(i64, i64)>,
    /// Keys of those that should be.
    wanted: Vec<i64>,
}

impl Pages<'_> {
    fn rows<R: PackedRow + Hash>(&mut self, sort: Sort, rows: &[R]) -> Result<(), Problem> {
        for (n, rows) in rows.chunks(PAGE_ROWS).enumerate() {
            self.page(sort, n, hash_of(rows), || R::pack(rows))?;
        }
        Ok(())
    }

    /// A page whose rows have this sum; it is packed when it is not there yet.
    fn page(
        &mut self,
        sort: Sort,
        n: usize,
        sum: u64,
        pack: impl FnOnce() -> Vec<u8>,
    ) -> Result<(), Problem> {
        let (key, sum) = (key(self.session, sort, n), sum.cast_signed());
        self.wanted.push(key);
        if self.known.binary_search(&(key, sum)).is_err() {
            let sql = "INSERT OR REPLACE INTO pages (key, sum, bytes) VALUES (?1, ?2, ?3)";
            self.connection.prepare_cached(sql)?.execute(params![key, sum, compress(&pack())?])?;
        }
        Ok(())
    }

    fn remove_others(mut self) -> Result<(), Problem> {
        self.wanted.sort_unstable();
        let mut remove = self.connection.prepare_cached("DELETE FROM pages WHERE key = ?1")?;
        for (key, _) in self.known {
            if self.wanted.binary_search(&key).is_err() {
                remove.execute([key])?;
            }
        }
        Ok(())
    }
}

thread_local! {
    static PACKER: RefCell<Packer> = const { RefCell::new(Packer::new()) };
}

fn compress(bytes: &[u8]) -> Result<Vec<u8>, Problem> {
    PACKER
        .with_borrow_mut(|packer| packer.pack(bytes, LEVEL))
        .map_err(|_| Problem::Store(StoreError::Value { column: "bytes" }))
}

fn sums(connection: &Connection, session: i64) -> Result<Vec<(i64, i64)>, Problem> {
    let sql = "SELECT key, sum FROM pages WHERE key >= ?1 AND key < ?2 ORDER BY key";
    let keys = keys(session);
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map([keys.start, keys.end], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Removes all pages of a session.
pub(super) fn delete(connection: &Connection, session: i64) -> Result<(), Problem> {
    let keys = keys(session);
    let mut statement = connection.prepare_cached("DELETE FROM pages WHERE key >= ?1 AND key < ?2")?;
    statement.execute([keys.start, keys.end])?;
    Ok(())
}

/// The facts of a session.
pub(super) fn facts(
    connection: &Connection,
    number: i64,
    session: SessionRow,
) -> Result<SessionFacts, Problem> {
    let steps = steps(connection, number)?;
    let steps = List::from(steps);
    let names = Names::of(&steps);
    let edges = |bytes: &[u8]| unpack_edges(bytes, &names);
    Ok(SessionFacts {
        session,
        agents: read(connection, number, Sort::Agents, PackedRow::unpack)?,
        runs: read(connection, number, Sort::Runs, PackedRow::unpack)?,
        edges: read_both::<EdgeRow>(connection, number, [Sort::Edges, Sort::EdgeParts], edges)?.into(),
        issues: issues(connection, number)?,
        steps,
    })
}

fn steps(connection: &Connection, session: i64) -> Result<Vec<StepRow>, Problem> {
    read_both(connection, session, [Sort::Steps, Sort::StepParts], PackedRow::unpack)
}

/// What was odd in a session.
pub(super) fn issues(connection: &Connection, session: i64) -> Result<Vec<IssueRow>, Problem> {
    read(connection, session, Sort::Issues, PackedRow::unpack)
}

/// Some steps of a session, by their places.
pub(super) fn some_steps(
    connection: &Connection,
    session: i64,
    places: &Range<u32>,
) -> Result<Vec<StepRow>, Problem> {
    let (start, end) = (places.start as usize, places.end as usize);
    let mut found = Vec::new();
    let mut page = start / PAGE_ROWS;
    while page * PAGE_ROWS < end {
        let rows = match one_page(connection, key(session, Sort::Steps, page), PackedRow::unpack)? {
            Some(rows) => rows,
            None if page == count(connection, session, Sort::Steps)? => {
                read(connection, session, Sort::StepParts, PackedRow::unpack)?
            }
            None => break,
        };
        let first = page * PAGE_ROWS;
        let wanted = (first..).zip(rows).filter(|(place, _)| (start..end).contains(place));
        found.extend(wanted.map(|(_, row)| row));
        page += 1;
    }
    Ok(found)
}

/// The place of a step in its session.
pub(super) fn place_of(connection: &Connection, session: i64, step: Id) -> Result<Option<u32>, Problem> {
    place_where(connection, session, |row| row.id == step)
}

/// The place of the first step like that.
pub(super) fn place_where(
    connection: &Connection,
    session: i64,
    is_it: impl Fn(&StepRow) -> bool,
) -> Result<Option<u32>, Problem> {
    let place = steps(connection, session)?.iter().position(is_it);
    Ok(place.and_then(|place| u32::try_from(place).ok()))
}

fn one_page<R>(
    connection: &Connection,
    key: i64,
    unpack: impl Fn(&[u8]) -> Option<Vec<R>>,
) -> Result<Option<Vec<R>>, Problem> {
    let mut statement = connection.prepare_cached("SELECT bytes FROM pages WHERE key = ?1")?;
    let bytes: Option<Vec<u8>> = statement.query_row([key], |row| row.get(0)).optional()?;
    bytes.map(|bytes| open(&bytes, &unpack)).transpose()
}

/// How many pages of a sort there are.
fn count(connection: &Connection, session: i64, sort: Sort) -> Result<usize, Problem> {
    let keys = keys_of(session, sort);
    let mut statement =
        connection.prepare_cached("SELECT count(*) FROM pages WHERE key >= ?1 AND key < ?2")?;
    let count: i64 = statement.query_row([keys.start, keys.end], |row| row.get(0))?;
    Ok(usize::try_from(count).unwrap_or(usize::MAX))
}

/// The rows on pages, and those on parts behind them.
fn read_both<R>(
    connection: &Connection,
    session: i64,
    [pages, parts]: [Sort; 2],
    unpack: impl Fn(&[u8]) -> Option<Vec<R>>,
) -> Result<Vec<R>, Problem> {
    let mut rows = read(connection, session, pages, &unpack)?;
    rows.extend(read(connection, session, parts, &unpack)?);
    Ok(rows)
}

fn read<R>(
    connection: &Connection,
    session: i64,
    sort: Sort,
    unpack: impl Fn(&[u8]) -> Option<Vec<R>>,
) -> Result<Vec<R>, Problem> {
    let sql = "SELECT bytes FROM pages WHERE key >= ?1 AND key < ?2 ORDER BY key";
    let keys = keys_of(session, sort);
    let mut statement = connection.prepare_cached(sql)?;
    let mut found = statement.query([keys.start, keys.end])?;
    let mut rows = Vec::new();
    while let Some(row) = found.next()? {
        let bytes: Vec<u8> = row.get(0)?;
        rows.extend(open(&bytes, &unpack)?);
    }
    Ok(rows)
}

fn open<R>(bytes: &[u8], unpack: impl Fn(&[u8]) -> Option<Vec<R>>) -> Result<Vec<R>, Problem> {
    let damaged = || Problem::Store(StoreError::Value { column: "bytes" });
    let size = zstd::zstd_safe::get_frame_content_size(bytes).ok().flatten().unwrap_or(0);
    let size = usize::try_from(size).ok().filter(|size| *size <= MAX_PAGE_BYTES).ok_or_else(damaged)?;
    let unpacked = zstd::bulk::decompress(bytes, size).map_err(|_| damaged())?;
    unpack(&unpacked).ok_or_else(damaged)
}
