//! Pages of packed rows: a session's agents, runs, steps, edges and issues.
//!
//! In: facts. Out: pages that changed, written; and the facts again. `SQLite` then has a few rows for a session where it would have three for
//! every step, which takes a fifth of the room and of the time. Inside a transaction of the caller's.

use super::Problem;
use super::pack::{Names, PackedRow, pack_edges, unpack_edges};
use crate::error::StoreError;
use crate::packer::Packer;
use crate::rows::{EdgeRow, IssueRow, SessionFacts, SessionRow, StepRow};
use rusqlite::{Connection, OptionalExtension as _, params};
use std::cell::RefCell;
use std::ops::Range;
use unspool_model::Id;
use xxhash_rust::xxh3::xxh3_64;

/// Rows on a page.
const PAGE_ROWS: usize = 1024;
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
    let mut pages: Vec<(i64, Vec<u8>)> = Vec::new();
    add(&mut pages, session, Sort::Agents, &facts.agents, PackedRow::pack);
    add(&mut pages, session, Sort::Runs, &facts.runs, PackedRow::pack);
    add(&mut pages, session, Sort::Steps, &facts.steps, PackedRow::pack);
    let names = Names::of(&facts.steps);
    add(&mut pages, session, Sort::Edges, &facts.edges, |edges| pack_edges(edges, &names));
    add(&mut pages, session, Sort::Issues, &facts.issues, PackedRow::pack);
    let known = sums(connection, session)?;
    let mut insert =
        connection.prepare_cached("INSERT OR REPLACE INTO pages (key, sum, bytes) VALUES (?1, ?2, ?3)")?;
    for (key, bytes) in &pages {
        let sum = xxh3_64(bytes).cast_signed();
        if known.binary_search(&(*key, sum)).is_err() {
            let packed = compress(bytes)?;
            insert.execute(params![key, sum, packed])?;
        }
    }
    let mut remove = connection.prepare_cached("DELETE FROM pages WHERE key = ?1")?;
    for (key, _) in known {
        if pages.binary_search_by_key(&key, |(key, _)| *key).is_err() {
            remove.execute([key])?;
        }
    }
    Ok(())
}

thread_local! {
    static PACKER: RefCell<Packer> = const { RefCell::new(Packer::new()) };
}

fn compress(bytes: &[u8]) -> Result<Vec<u8>, Problem> {
    PACKER
        .with_borrow_mut(|packer| packer.pack(bytes, LEVEL))
        .map_err(|_| Problem::Store(StoreError::Value { column: "bytes" }))
}

fn add<R>(
    pages: &mut Vec<(i64, Vec<u8>)>,
    session: i64,
    sort: Sort,
    rows: &[R],
    pack: impl Fn(&[R]) -> Vec<u8>,
) {
    pages.extend(rows.chunks(PAGE_ROWS).enumerate().map(|(n, rows)| (key(session, sort, n), pack(rows))));
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
    let names = Names::of(&steps);
    let edges = |bytes: &[u8]| unpack_edges(bytes, &names);
    Ok(SessionFacts {
        session,
        agents: read(connection, number, Sort::Agents, PackedRow::unpack)?,
        runs: read(connection, number, Sort::Runs, PackedRow::unpack)?,
        edges: read::<EdgeRow>(connection, number, Sort::Edges, edges)?,
        issues: issues(connection, number)?,
        steps,
    })
}

fn steps(connection: &Connection, session: i64) -> Result<Vec<StepRow>, Problem> {
    read(connection, session, Sort::Steps, PackedRow::unpack)
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
        let Some(rows) = one_page::<StepRow>(connection, key(session, Sort::Steps, page), PackedRow::unpack)?
        else {
            break;
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
