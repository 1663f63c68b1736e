//! Writing, inside a transaction of the caller's.

use super::columns::TableRow;
use super::{Problem, pages, signed, unsigned};
use crate::rows::{SessionFacts, SessionRow};
use crate::store::{Commit, Forgotten};
use rusqlite::types::{ToSqlOutput, Value};
use rusqlite::{Connection, OptionalExtension as _, params, params_from_iter};
use unspool_model::Id;

/// The tables with rows of a session.
const PARTS: [&str; 2] = ["session_words", "sessions"];

pub(super) fn commit(connection: &Connection, commit: &Commit) -> Result<(), Problem> {
    for facts in &commit.sessions {
        if is_forgotten(connection, &facts.session)? {
            continue;
        }
        if let Some(session) = claim(connection, facts.session.id, commit.version)? {
            put_session(connection, session, facts)?;
        }
    }
    for id in &commit.gone {
        if let Some(session) = claim(connection, *id, commit.version)? {
            pages::delete(connection, session)?;
        }
    }
    put_newer(connection, commit.version, &commit.checkpoints)?;
    put_newer(connection, commit.version, &commit.receipts)?;
    let sql = "UPDATE standing SET version = max(version, ?1), through = max(through, ?2)";
    connection.prepare_cached(sql)?.execute([signed(commit.version), signed(commit.through)])?;
    Ok(())
}

fn is_forgotten(connection: &Connection, row: &SessionRow) -> Result<bool, Problem> {
    let sql = "SELECT 1 FROM forgotten WHERE id = ?1 AND end_position >= ?2";
    let found = connection.prepare_cached(sql)?.exists(params![row.id.to_bytes(), row.end_position])?;
    Ok(found)
}

/// The session's number, with all rows but its pages deleted, when the version is newer than what is known of it.
fn claim(connection: &Connection, id: Id, version: u64) -> Result<Option<i64>, Problem> {
    let sql = "INSERT INTO session_versions (id, version) VALUES (?1, ?2)
               ON CONFLICT (id) DO UPDATE SET version = excluded.version WHERE excluded.version > version
               RETURNING session";
    if version == 0 {
        return Ok(None);
    }
    let mut statement = connection.prepare_cached(sql)?;
    let session: Option<i64> =
        statement.query_row(params![id.to_bytes(), signed(version)], |row| row.get(0)).optional()?;
    if let Some(session) = session {
        delete_rows(connection, session)?;
    }
    Ok(session)
}

fn delete_rows(connection: &Connection, session: i64) -> Result<(), Problem> {
    for table in PARTS {
        connection.prepare_cached(&format!("DELETE FROM {table} WHERE session = ?1"))?.execute([session])?;
    }
    Ok(())
}

fn put_session(connection: &Connection, session: i64, facts: &SessionFacts) -> Result<(), Problem> {
    let row = &facts.session;
    let duration = row.duration_ns().map_or(ToSqlOutput::Owned(Value::Null), integer);
    let before = [integer(session), integer(row.total_tokens()), duration];
    let values = before.into_iter().chain(row.values());
    let sql = SessionRow::insert(&["session", "total_tokens", "duration_ns"]);
    connection.prepare_cached(&sql)?.execute(params_from_iter(values))?;
    for (role, words) in [
        ("native_id", &row.native_ids),
        ("format", &row.formats),
        ("source", &row.sources),
        ("agent", &row.agent_kinds),
        ("model", &row.models),
    ] {
        let sql = "INSERT OR IGNORE INTO session_words (role, word, session) VALUES (?1, ?2, ?3)";
        let mut statement = connection.prepare_cached(sql)?;
        for word in words {
            statement.execute(params![role, word, session])?;
        }
    }
    pages::put(connection, session, facts)
}

/// Puts rows whose version is newer than that of the row of the same source, which is their first column.
fn put_newer<R: TableRow>(connection: &Connection, version: u64, rows: &[R]) -> Result<(), Problem> {
    let known = format!("SELECT version FROM {} WHERE source = ?1", R::TABLE);
    for row in rows {
        let values = row.values();
        let known: Option<i64> =
            connection.prepare_cached(&known)?.query_row([values.first()], |row| row.get(0)).optional()?;
        if known.unwrap_or(0) < signed(version) {
            let values = [integer(signed(version))].into_iter().chain(values);
            connection.prepare_cached(&R::insert(&["version"]))?.execute(params_from_iter(values))?;
        }
    }
    Ok(())
}

pub(super) fn forget(connection: &Connection, sessions: &[Id]) -> Result<Forgotten, Problem> {
    let mut gone = Forgotten::default();
    for id in sessions {
        let sql = "SELECT session, step_count, native_bytes, end_position FROM sessions WHERE id = ?1";
        let mut statement = connection.prepare_cached(sql)?;
        let found = statement.query_row([id.to_bytes()], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get::<_, i64>(3)?))
        });
        let Some((session, steps, native_bytes, end)) = found.optional()? else { continue };
        delete_rows(connection, session)?;
        pages::delete(connection, session)?;
        let sql = "INSERT OR REPLACE INTO forgotten (id, end_position) VALUES (?1, ?2)";
        connection.prepare_cached(sql)?.execute(params![id.to_bytes(), end])?;
        gone.sessions += 1;
        gone.steps += unsigned(steps);
        gone.native_bytes += unsigned(native_bytes);
    }
    Ok(gone)
}

pub(super) fn drop_derived(connection: &Connection) -> Result<(), Problem> {
    for table in PARTS.iter().chain(&["pages", "session_versions"]) {
        connection.execute(&format!("DELETE FROM {table}"), [])?;
    }
    connection.execute("UPDATE standing SET through = 0", [])?;
    Ok(())
}

fn integer(number: i64) -> ToSqlOutput<'static> {
    ToSqlOutput::Owned(Value::Integer(number))
}
