//! Questions over sessions: queries, differences. Whoever asks them says which sessions there are.

use crate::asked::{Asked, Param, Sort};
use crate::call::Seen;
use crate::error::ApiError;
use crate::parts::{self, Part};
use crate::reply::Reply;
use schemars::JsonSchema;
use serde::Serialize;
use unspool_view::diff::{self, Side};
use unspool_view::query::{Query, Scope, select};
use unspool_view::query_json::{QueryDoc, SessionHits, session_hits};
use unspool_view::search::look;

/// Steps that are listed when nobody says how many.
const USUAL_HITS: usize = 500;

/// What a query is asked with.
pub const QUERY: &[Param] = &[
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
pub struct QueryAnswerDoc {
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

/// The sessions to look into, one at a time, and how many more there are.
pub type Wanted<'a, E> = (Box<dyn Iterator<Item = Result<Seen, E>> + 'a>, u64);

/// Looks for the steps for which a query holds, in the sessions that are wanted.
pub fn query<'a, E: From<ApiError>>(
    asked: &'a Asked,
    wanted: impl FnOnce() -> Result<Wanted<'a, E>, E>,
) -> Result<Reply, E> {
    let text = asked.text("q").ok_or_else(|| {
        ApiError::bad_request("missing_parameter", "`q` is missing").with_hint("q=tool:Bash%20is:error")
    })?;
    let query = parse("q", text)?;
    let limit = asked.number("limit")?.unwrap_or(USUAL_HITS);
    let (sessions, not_looked_into) = wanted()?;
    let (mut listed, mut found) = (0, 0);
    let mut hit: Vec<SessionHits> = Vec::new();
    let mut looked_into = 0;
    for seen in sessions {
        let seen = seen?;
        looked_into += 1;
        let (flow, batch) = (&seen.snapshot.flow, &seen.snapshot.corpus.batch);
        let answers = look(&query, flow, batch, &mut seen.snapshot.natives());
        let scope = Scope { flow, batch, prices: &seen.prices, now: seen.now() };
        let selected = select(&query, &scope, &answers.selections());
        let hits = session_hits(flow, batch, &seen.prices, &selected, &answers, limit - listed);
        listed += hits.steps.len();
        found += hits.found;
        if hits.found > 0 {
            hit.push(hits);
        }
    }
    let answer = QueryDoc::new(query.to_string(), hit);
    Ok(Reply::json(QueryAnswerDoc { answer, looked_into, not_looked_into, not_listed: found - listed }))
}

/// What a difference is asked with.
pub const DIFF: &[Param] = &[
    Param::new("a", Sort::Text, "the first: a session, or SESSION:RUN or SESSION:AGENT for a part of it"),
    Param::new(
        "b",
        Sort::Text,
        "the second; `:RUN` or `:AGENT` alone is another part of the first's session",
    ),
];

/// What differs between two sessions or parts of sessions; `find` finds a session by its id.
pub fn diff<E: From<ApiError>>(asked: &Asked, find: impl Fn(&str) -> Result<Seen, E>) -> Result<Reply, E> {
    let named = |name: &'static str| {
        let missing = || ApiError::bad_request("missing_parameter", format!("`{name}` is missing"));
        asked.text(name).ok_or_else(|| missing().with_hint("a=SESSION&b=SESSION"))
    };
    let (a, b) = (named("a")?, named("b")?);
    let (first, _) = divided(a);
    let (seen_a, part_a) = side(&find, a, first)?;
    let (seen_b, part_b) = side(&find, b, first)?;
    let prices = &seen_a.prices;
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

fn side<E: From<ApiError>>(
    find: impl Fn(&str) -> Result<Seen, E>,
    text: &str,
    first: &str,
) -> Result<(Seen, diff::Part), E> {
    // Ids that have a `:` in them are tried whole first.
    let whole = find(text).ok();
    let (session, part) = if whole.is_some() { (text, None) } else { divided(text) };
    let session = if session.is_empty() { first } else { session };
    let seen = whole.map_or_else(|| find(session), Ok)?;
    let part = match part.map(|part| parts::part(&seen, part)).transpose()? {
        None => diff::Part::Whole,
        Some(Part::Run(n)) => diff::Part::Run(n),
        Some(Part::Agent(n)) => diff::Part::Agent(n),
    };
    Ok((seen, part))
}
