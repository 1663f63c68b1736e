//! Sessions: the list, and one of them whole.

use super::endpoint::Call;
use super::search;
use crate::error::ApiError;
use schemars::JsonSchema;
use serde::Serialize;
use unspool_answers::{Asked, Param, Reply, Sort, word};
use unspool_engine::live::{Snapshot, facts};
use unspool_model::{Batch, Flow, Status, Timestamp};
use unspool_store::rows::SessionRow;
use unspool_store::{Cursor, Filter, Question, Sort as Order, Store as _};
use unspool_view::Prices;

/// Sessions of a page when nobody says how many.
const USUAL_SESSIONS: usize = 100;

pub(crate) const LIST: &[Param] = &[
    search::WORDS,
    Param::new("title", Sort::Text, "only sessions whose title contains this"),
    Param::new("native_id", Sort::Text, "only sessions that a source gave this id"),
    Param::new("format", Sort::Text, "only sessions that this format witnesses"),
    Param::new("cwd", Sort::Text, "only sessions of this working directory"),
    Param::new("status", Sort::Text, "only sessions that ended so: running, completed, failed or unknown"),
    Param::new("since", Sort::Moment, "only sessions that began then or later"),
    Param::new("until", Sort::Moment, "only sessions that began before"),
    Param::new("errors", Sort::Flag, "only sessions in which something failed"),
    Param::new("sort", Sort::Text, "started (the usual), ended, steps, errors, tokens, cost or title"),
    Param::new("order", Sort::Text, "desc (the usual) or asc"),
    Param::new("cursor", Sort::Text, "`next_cursor` of the page before"),
    Param::new(
        "limit",
        Sort::Whole,
        "at most so many, 100 if not given, `max_page_sessions` (1,000) at most",
    ),
];

/// A page of sessions.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SessionListDoc {
    /// In the order asked for.
    sessions: Vec<SessionLineDoc>,
    /// Where to go on; null at the end.
    next_cursor: Option<String>,
    /// How many sessions the filter lets through, on all pages.
    matching: u64,
    /// False when `max_search_bytes` was reached: `q` may stand in more.
    complete: bool,
}

/// A session in a list.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SessionLineDoc {
    id: String,
    native_ids: Vec<String>,
    title: Option<String>,
    title_inferred: bool,
    cwd: Option<String>,
    versions: Vec<String>,
    formats: Vec<String>,
    status: String,
    started_at: Option<String>,
    ended_at: Option<String>,
    duration_ms: Option<i64>,
    agents: i64,
    runs: i64,
    steps: i64,
    errors: i64,
    tokens: TokensDoc,
    uncounted_calls: i64,
    cost_usd: Option<f64>,
}

/// Tokens in buckets that do not overlap.
#[derive(Serialize, JsonSchema)]
pub(crate) struct TokensDoc {
    input: i64,
    cache_read: i64,
    cache_write: i64,
    output: i64,
    reasoning: i64,
    total: i64,
}

impl From<&SessionRow> for SessionLineDoc {
    fn from(row: &SessionRow) -> SessionLineDoc {
        let moment = |ns: Option<i64>| ns.map(|ns| Timestamp::from_ns(ns).to_string());
        let named = |text: &str| (!text.is_empty()).then(|| text.to_string());
        let duration = row.started_ns.zip(row.ended_ns).map(|(start, end)| (end - start) / 1_000_000);
        SessionLineDoc {
            id: row.id.show('x'),
            native_ids: row.native_ids.clone(),
            title: named(&row.title),
            title_inferred: row.title_inferred,
            cwd: named(&row.cwd),
            versions: row.versions.clone(),
            formats: row.formats.clone(),
            status: row.status.clone(),
            started_at: moment(row.started_ns),
            ended_at: moment(row.ended_ns),
            duration_ms: duration,
            agents: row.agent_count,
            runs: row.run_count,
            steps: row.step_count,
            errors: row.error_count,
            tokens: TokensDoc {
                input: row.input_tokens,
                cache_read: row.cache_read_tokens,
                cache_write: row.cache_write_tokens,
                output: row.output_tokens,
                reasoning: row.reasoning_tokens,
                total: row.total_tokens(),
            },
            uncounted_calls: row.uncounted_calls,
            #[expect(clippy::cast_precision_loss, reason = "money is shown, not counted on")]
            cost_usd: row.cost_nano_usd.map(|cost| cost as f64 / 1e9),
        }
    }
}

/// A session as it stands in the list, without a list.
pub(crate) fn line_of(flow: &Flow, batch: &Batch, prices: &Prices) -> SessionLineDoc {
    SessionLineDoc::from(&facts(flow, batch, prices, 0..0).session)
}

pub(super) fn question(asked: &Asked, usual: usize) -> Result<Question, ApiError> {
    let text = |name: &str| asked.text(name).map(String::from);
    let filter = Filter {
        title_contains: text("title"),
        native_id: text("native_id"),
        format: text("format"),
        cwd: text("cwd"),
        status: asked.one_of("status", &Status::ALL, Status::name)?.map(|status| status.name().into()),
        since_ns: asked.moment("since")?.and_then(Timestamp::ns),
        until_ns: asked.moment("until")?.and_then(Timestamp::ns),
        with_errors: asked.flag("errors")?,
        among: None,
    };
    Ok(Question {
        filter,
        sort: asked.one_of("sort", &Order::ALL, Order::name)?.unwrap_or_default(),
        descending: word(asked, "order", &[(true, "desc"), (false, "asc")])?.unwrap_or(true),
        after: asked.text("cursor").map(Cursor::parse).transpose()?,
        limit: asked.number("limit")?.unwrap_or(usual),
    })
}

pub(crate) fn list(call: &Call) -> Result<Reply, ApiError> {
    let mut question = question(&call.asked, USUAL_SESSIONS)?;
    let complete = search::narrow(call, &mut question)?;
    let page = call.app.engine.sessions(&question)?;
    Ok(Reply::json(SessionListDoc {
        sessions: page.sessions.iter().map(SessionLineDoc::from).collect(),
        next_cursor: page.next.map(|cursor| cursor.show()),
        matching: page.matching,
        complete,
    }))
}

pub(crate) fn line(snapshot: &Snapshot, call: &Call) -> Result<Reply, ApiError> {
    let (engine, session) = (&call.app.engine, &snapshot.flow.session);
    let native = session.native_ids.first().map(|id| snapshot.corpus.batch.text.get(*id).to_string());
    if native.is_some() {
        // The list is asked first: that reads no step.
        let filter = Filter { native_id: native, ..Filter::default() };
        let question = Question { filter, limit: USUAL_SESSIONS, ..Question::default() };
        let page = engine.sessions(&question)?;
        if let Some(row) = page.sessions.iter().find(|row| row.id == session.id) {
            return Ok(Reply::json(SessionLineDoc::from(row)));
        }
    }
    let facts = engine.with_store(|store| store.session(session.id))?;
    let facts = facts.ok_or_else(|| ApiError::not_found("session", call.part("id")))?;
    Ok(Reply::json(SessionLineDoc::from(&facts.session)))
}
