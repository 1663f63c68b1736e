//! Reading, inside a transaction of the caller's.

use super::columns::TableRow;
use super::{Problem, pages, signed, unsigned};
use crate::question::{Cursor, Facet, FacetValues, Filter, MAX_FACET_VALUES, Page, Question, Sort, SortKey};
use crate::rows::{Checkpoint, IssueRow, SessionFacts, SessionRow, StepRow};
use crate::store::{Changed, Standing, Totals};
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension as _, Params, params_from_iter};
use std::ops::Range;
use unspool_model::Id;

/// Rows of a table.
pub(super) fn rows<R: TableRow>(
    connection: &Connection,
    behind: &str,
    values: impl Params,
) -> Result<Vec<R>, Problem> {
    let mut statement = connection.prepare_cached(&R::select(behind))?;
    let mut found = statement.query(values)?;
    let mut rows = Vec::new();
    while let Some(row) = found.next()? {
        rows.push(R::read(row)?);
    }
    Ok(rows)
}

pub(super) fn totals(connection: &Connection) -> Result<Totals, Problem> {
    let sql = "SELECT count(*), coalesce(sum(step_count), 0) FROM sessions";
    let totals = connection
        .prepare_cached(sql)?
        .query_row([], |row| Ok(Totals { sessions: unsigned(row.get(0)?), steps: unsigned(row.get(1)?) }))?;
    Ok(totals)
}

pub(super) fn standing(connection: &Connection) -> Result<Standing, Problem> {
    let mut statement = connection.prepare_cached("SELECT version, through FROM standing")?;
    let standing = statement.query_row([], |row| {
        Ok(Standing { version: unsigned(row.get(0)?), through: unsigned(row.get(1)?) })
    })?;
    Ok(standing)
}

/// The expression sessions are ordered by; as it stands in the indexes.
fn sort_sql(sort: Sort) -> &'static str {
    match sort {
        Sort::Started => "COALESCE(started_ns, -9223372036854775808)",
        Sort::Ended => "COALESCE(ended_ns, -9223372036854775808)",
        Sort::Steps => "step_count",
        Sort::Errors => "error_count",
        Sort::Duration => "COALESCE(duration_ns, -9223372036854775808)",
        Sort::Subagents => "subagent_count",
        Sort::Issues => "issue_count",
        Sort::Tokens => "total_tokens",
        Sort::Cost => "COALESCE(cost_nano_usd, -9223372036854775808)",
        Sort::Title => "title",
    }
}

/// Conditions joined by `AND`, and their values in order.
struct Where {
    sql: String,
    values: Vec<Value>,
}

impl Where {
    fn and(&mut self, condition: &str, values: impl IntoIterator<Item = Value>) {
        self.sql.push_str(" AND ");
        self.sql.push_str(condition);
        self.values.extend(values);
    }

    fn of(filter: &Filter) -> Where {
        let mut all = Where { sql: "WHERE TRUE".into(), values: Vec::new() };
        let text = |wanted: &Option<String>| wanted.clone().map(Value::Text);
        let number = |wanted: Option<i64>| wanted.map(Value::Integer);
        let with_word = "session IN (SELECT session FROM session_words WHERE role = ? AND word = ?)";
        // Words that many sessions have are looked up for sessions in their order, not sessions for the word, which would have to be sorted.
        let with_common = "+session IN (SELECT session FROM session_words WHERE role = ? AND word = ?)";
        let role = |role: &str| Value::Text(role.into());
        let conditions = [
            ("instr(folded(title), folded(?)) > 0", None, text(&filter.title_contains)),
            (with_word, Some(role("native_id")), text(&filter.native_id)),
            (with_common, Some(role("format")), text(&filter.format)),
            (with_common, Some(role("source")), text(&filter.source)),
            (with_common, Some(role("agent")), text(&filter.agent)),
            (with_common, Some(role("model")), text(&filter.model)),
            ("cwd = ?", None, text(&filter.cwd)),
            ("status = ?", None, text(&filter.status)),
            ("started_ns >= ?", None, number(filter.since_ns)),
            ("started_ns < ?", None, number(filter.until_ns)),
            ("cost_nano_usd >= ?", None, number(filter.least_cost_nano_usd)),
        ];
        for (condition, first, wanted) in conditions {
            if wanted.is_some() {
                all.and(condition, first.into_iter().chain(wanted));
            }
        }
        for (condition, wanted) in [
            ("error_count > 0", filter.with_errors),
            ("issue_count > 0", filter.with_issues),
            ("gaps <> x''", filter.with_gaps),
        ] {
            if wanted {
                all.and(condition, []);
            }
        }
        if let Some(among) = &filter.among {
            let ids: Vec<String> = among.iter().map(|id| hex(*id)).collect();
            let list = Value::Text(format!("[{}]", ids.join(",")));
            all.and("id IN (SELECT unhex(value) FROM json_each(?))", [list]);
        }
        all
    }
}

/// An id as JSON.
fn hex(id: Id) -> String {
    format!("\"{:032x}\"", u128::from_be_bytes(id.to_bytes()))
}

/// Sessions that became different behind one version and up to another, by version and id: those that are there, and those that are gone.
pub(super) fn changed(connection: &Connection, behind: u64, upto: u64) -> Result<Vec<Changed>, Problem> {
    let sql = "SELECT known.id, known.version, EXISTS (SELECT 1 FROM sessions WHERE session = known.session)
               FROM session_versions AS known WHERE known.version > ?1 AND known.version <= ?2 ORDER BY known.version, known.id";
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map([signed(behind), signed(upto)], |row| {
        let id = Id::from_u128(u128::from_be_bytes(row.get(0)?));
        Ok(Changed { id, version: unsigned(row.get(1)?), exists: row.get(2)? })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

pub(super) fn version_of(connection: &Connection, id: Id) -> Result<Option<u64>, Problem> {
    let mut statement = connection.prepare_cached("SELECT version FROM session_versions WHERE id = ?1")?;
    Ok(statement.query_row([id.to_bytes()], |row| row.get(0).map(unsigned)).optional()?)
}

pub(super) fn ids(connection: &Connection, sql: &str) -> Result<Vec<Id>, Problem> {
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map([], |row| Ok(Id::from_u128(u128::from_be_bytes(row.get(0)?))))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

pub(super) fn sessions(connection: &Connection, question: &Question) -> Result<Page, Problem> {
    let mut all = Where::of(&question.filter);
    let count = format!("SELECT count(*) FROM sessions {}", all.sql);
    let matching: i64 =
        connection.prepare_cached(&count)?.query_row(params_from_iter(&all.values), |row| row.get(0))?;
    let key = sort_sql(question.sort);
    let (direction, further) = if question.descending { ("DESC", '<') } else { ("ASC", '>') };
    if let Some(Cursor { key: place, id, .. }) = &question.after {
        let place = match place {
            SortKey::Number(number) => Value::Integer(*number),
            SortKey::Text(text) => Value::Text(text.clone()),
        };
        all.and(&format!("({key}, id) {further} (?, ?)"), [place, Value::Blob(id.to_bytes().to_vec())]);
    }
    let limit = question.page_limit();
    // Sessions are put in order by their keys alone; only those of the page are read whole.
    let order = format!("ORDER BY {key} {direction}, id {direction}");
    let chosen = format!("SELECT session FROM sessions {} {order} LIMIT {}", all.sql, limit + 1);
    let behind = format!("WHERE session IN ({chosen}) {order}");
    let mut sessions: Vec<SessionRow> = rows(connection, &behind, params_from_iter(&all.values))?;
    let goes_on = sessions.len() > limit;
    sessions.truncate(limit);
    let last = sessions.last().filter(|_| goes_on);
    let next = last.map(|row| Cursor::behind(row, question.sort));
    Ok(Page { sessions, next, matching: unsigned(matching) })
}

pub(super) fn facet(connection: &Connection, facet: Facet, filter: &Filter) -> Result<FacetValues, Problem> {
    let all = Where::of(filter);
    let (from, values) = match facet {
        Facet::Cwd => (format!("SELECT cwd AS value FROM sessions {}", all.sql), all.values),
        Facet::Status => (format!("SELECT status AS value FROM sessions {}", all.sql), all.values),
        Facet::Source | Facet::Format | Facet::Agent | Facet::Model => {
            // Words of all sessions are counted without looking at the sessions.
            let sessions = if *filter == Filter::default() {
                String::new()
            } else {
                format!("AND session IN (SELECT session FROM sessions {})", all.sql)
            };
            let words = format!("SELECT word AS value FROM session_words WHERE role = ? {sessions}");
            let role = Value::Text(facet.name().into());
            (words, [role].into_iter().chain(all.values).collect())
        }
    };
    let sql = format!(
        "SELECT value, count(*) AS sessions, count(*) OVER () FROM ({from}) WHERE value <> ''
         GROUP BY value ORDER BY sessions DESC, value LIMIT {MAX_FACET_VALUES}"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let mut found = statement.query(params_from_iter(&values))?;
    let mut told = FacetValues::default();
    while let Some(row) = found.next()? {
        told.values.push((row.get(0)?, unsigned(row.get(1)?)));
        told.different = unsigned(row.get(2)?);
    }
    Ok(told)
}

fn number_of(connection: &Connection, id: Id) -> Result<Option<i64>, Problem> {
    let mut statement = connection.prepare_cached("SELECT session FROM sessions WHERE id = ?1")?;
    Ok(statement.query_row([id.to_bytes()], |row| row.get(0)).optional()?)
}

pub(super) fn session(connection: &Connection, id: Id) -> Result<Option<SessionFacts>, Problem> {
    let Some(number) = number_of(connection, id)? else { return Ok(None) };
    let Some(session) = rows(connection, "WHERE session = ?1", [number])?.pop() else { return Ok(None) };
    pages::facts(connection, number, session).map(Some)
}

pub(super) fn steps(
    connection: &Connection,
    session: Id,
    places: &Range<u32>,
) -> Result<Vec<StepRow>, Problem> {
    match number_of(connection, session)? {
        Some(number) => pages::some_steps(connection, number, places),
        None => Ok(Vec::new()),
    }
}

pub(super) fn issues(connection: &Connection, session: Id) -> Result<Vec<IssueRow>, Problem> {
    let Some(number) = number_of(connection, session)? else { return Ok(Vec::new()) };
    pages::issues(connection, number)
}

pub(super) fn place_of_step(
    connection: &Connection,
    step: Id,
    session: Option<Id>,
) -> Result<Option<(Id, u32)>, Problem> {
    if let Some(id) = session {
        let Some(number) = number_of(connection, id)? else { return Ok(None) };
        return Ok(pages::place_of(connection, number, step)?.map(|place| (id, place)));
    }
    let mut statement = connection.prepare_cached("SELECT session, id FROM sessions ORDER BY id")?;
    let mut found = statement.query([])?;
    while let Some(row) = found.next()? {
        if let Some(place) = pages::place_of(connection, row.get(0)?, step)? {
            let id = Id::from_u128(u128::from_be_bytes(row.get(1)?));
            return Ok(Some((id, place)));
        }
    }
    Ok(None)
}

pub(super) fn place_of_message(
    connection: &Connection,
    session: Id,
    message: &str,
) -> Result<Option<u32>, Problem> {
    match number_of(connection, session)? {
        Some(number) => pages::place_where(connection, number, |row| row.message_id == message),
        None => Ok(None),
    }
}

pub(super) fn checkpoint(connection: &Connection, source: &str) -> Result<Option<Checkpoint>, Problem> {
    Ok(rows(connection, "WHERE source = ?1", [source])?.pop())
}

pub(super) fn oldest_position(connection: &Connection) -> Result<Option<u64>, Problem> {
    let sql = "SELECT min(first_position) FROM sessions";
    let oldest: Option<i64> = connection.prepare_cached(sql)?.query_row([], |row| row.get(0))?;
    Ok(oldest.map(unsigned))
}
