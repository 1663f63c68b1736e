//! Questions over sessions: queries, differences.

use super::asked::{Param, Sort};
use super::endpoint::{Call, Seen, find};
use super::parts::{self, Part};
use super::reply::Reply;
use crate::error::ApiError;
use schemars::JsonSchema;
use serde::Serialize;
use std::sync::Arc;
use unspool_engine::live::Snapshot;
use unspool_store::{Question, Sort as Order};
use unspool_view::diff::{self, Side};
use unspool_view::query::{Query, Scope, field_values, select};
use unspool_view::query_json::{QueryDoc, SessionHits, session_hits};
use unspool_view::search::look;

/// A query without a session looks into so many of the newest: `max_query_sessions`.
const MAX_QUERY_SESSIONS: usize = 100;
/// Steps that are listed when nobody says how many.
const USUAL_HITS: usize = 500;

pub(crate) const QUERY: &[Param] = &[
    Param::new("q", Sort::Text, "what to look for: `tool:Bash is:error`"),
    Param::new(
        "session",
        Sort::Texts,
        "only this session; if none is named, the newest `max_query_sessions` (100)",
    ),
    Param::new("limit", Sort::Whole, "list at most so many steps, 500 if not given"),
];

/// The answer to a query.
#[derive(Serialize, JsonSchema)]
pub(crate) struct QueryAnswerDoc {
    #[serde(flatten)]
    answer: QueryDoc,
    /// Sessions that were looked into.
    looked_into: usize,
    /// Sessions that were not, by the limit `max_query_sessions`.
    not_looked_into: u64,
    /// Steps that match and are not listed, by `limit`.
    not_listed: usize,
}

/// A query, or where it is wrong.
pub(crate) fn parse(name: &'static str, text: &str) -> Result<Query, ApiError> {
    Query::parse(text).map_err(|error| {
        let length = text.get(error.at.clone()).map_or(0, |part| part.chars().count());
        let failed = ApiError::bad_request("bad_query", format!("`{name}`: {}", error.message));
        let hint =
            error.hint.clone().unwrap_or_else(|| "docs/query.md has the language with examples".into());
        failed.with_hint(hint).at(error.column(text), length)
    })
}

pub(crate) fn query(call: &Call) -> Result<Reply, ApiError> {
    let asked = &call.asked;
    let text = asked.text("q").ok_or_else(|| {
        ApiError::bad_request("missing_parameter", "`q` is missing").with_hint("q=tool:Bash%20is:error")
    })?;
    let query = parse("q", text)?;
    let limit = asked.number("limit")?.unwrap_or(USUAL_HITS);
    let (snapshots, not_looked_into) = wanted(call)?;
    let options = call.app.engine.options();
    let (mut listed, mut found) = (0, 0);
    let mut sessions: Vec<SessionHits> = Vec::new();
    let mut looked_into = 0;
    for snapshot in snapshots {
        let snapshot: Arc<Snapshot> = snapshot?;
        looked_into += 1;
        let (flow, batch) = (&snapshot.flow, &snapshot.corpus.batch);
        let answers = look(&query, flow, batch, &mut snapshot.natives());
        let scope = Scope { flow, batch, prices: &options.prices, now: (options.now)() };
        let selected = select(&query, &scope, &answers.selections());
        let hits = session_hits(flow, batch, &options.prices, &selected, &answers, limit - listed);
        listed += hits.steps.len();
        found += hits.found;
        if hits.found > 0 {
            sessions.push(hits);
        }
    }
    let answer = QueryDoc::new(query.to_string(), sessions);
    Ok(Reply::json(QueryAnswerDoc { answer, looked_into, not_looked_into, not_listed: found - listed }))
}

type Snapshots<'a> = Box<dyn Iterator<Item = Result<Arc<Snapshot>, ApiError>> + 'a>;

/// The sessions to look into, one at a time, and how many more there are.
fn wanted(call: &Call) -> Result<(Snapshots<'_>, u64), ApiError> {
    let named = call.asked.texts("session");
    if !named.is_empty() {
        return Ok((Box::new(named.into_iter().map(|id| find(&call.app, &id))), 0));
    }
    let question =
        Question { sort: Order::Started, descending: true, limit: MAX_QUERY_SESSIONS, ..Question::default() };
    let page = call.app.engine.sessions(&question)?;
    let more = page.matching.saturating_sub(page.sessions.len() as u64);
    // One that is gone meanwhile has become part of another.
    let snapshots = page.sessions.into_iter().filter_map(|row| match call.app.engine.snapshot(row.id) {
        Ok(found) => found.map(Ok),
        Err(error) => Some(Err(error.into())),
    });
    Ok((Box::new(snapshots), more))
}

pub(crate) fn values(seen: &Seen, _: &Call) -> Result<Reply, ApiError> {
    Ok(Reply::json(field_values(&seen.snapshot.flow, &seen.snapshot.corpus.batch)))
}

pub(crate) const DIFF: &[Param] = &[
    Param::new("a", Sort::Text, "the first: a session, or SESSION:RUN or SESSION:AGENT for a part of it"),
    Param::new(
        "b",
        Sort::Text,
        "the second; `:RUN` or `:AGENT` alone is another part of the first's session",
    ),
];

pub(crate) fn diff(call: &Call) -> Result<Reply, ApiError> {
    let named = |name: &'static str| {
        let missing = || ApiError::bad_request("missing_parameter", format!("`{name}` is missing"));
        call.asked.text(name).ok_or_else(|| missing().with_hint("a=SESSION&b=SESSION"))
    };
    let (a, b) = (named("a")?, named("b")?);
    let (first, _) = divided(a);
    let (seen_a, part_a) = side(call, a, first)?;
    let (seen_b, part_b) = side(call, b, first)?;
    let prices = &call.app.engine.options().prices;
    let (a, b) = (&seen_a.snapshot, &seen_b.snapshot);
    let a = Side { flow: &a.flow, batch: &a.corpus.batch, prices, part: part_a };
    let b = Side { flow: &b.flow, batch: &b.corpus.batch, prices, part: part_b };
    Ok(Reply::json(diff::diff(&a, &b)))
}

/// A session and the part of it behind the last `:`.
fn divided(text: &str) -> (&str, Option<&str>) {
    match text.rsplit_once(':') {
        Some((session, part)) if !part.is_empty() => (session, Some(part)),
        _ => (text, None),
    }
}

fn side(call: &Call, text: &str, first: &str) -> Result<(Seen, diff::Part), ApiError> {
    // Ids that have a `:` in them are tried whole first.
    let whole = find(&call.app, text).ok();
    let (session, part) = if whole.is_some() { (text, None) } else { divided(text) };
    let session = if session.is_empty() { first } else { session };
    let snapshot = whole.map_or_else(|| find(&call.app, session), Ok)?;
    let seen = Seen { app: Arc::clone(&call.app), snapshot };
    let part = match part.map(|part| parts::part(&seen, part)).transpose()? {
        None => diff::Part::Whole,
        Some(Part::Run(n)) => diff::Part::Run(n),
        Some(Part::Agent(n)) => diff::Part::Agent(n),
    };
    Ok((seen, part))
}
