//! Sessions: the list, and one of them whole.

use super::endpoint::Call;
use super::search;
use crate::error::ApiError;
use schemars::JsonSchema;
use serde::Serialize;
use unspool_answers::{Asked, Param, Reply, Sort, bad, word};
use unspool_engine::live::{Snapshot, session_row};
use unspool_model::{Batch, Flow, Id, RecordIx, Status, Timestamp};
use unspool_store::rows::SessionRow;
use unspool_store::{Cursor, Facet, Filter, Question, Sort as Order};
use unspool_view::Prices;

/// Sessions of a page when nobody says how many.
const USUAL_SESSIONS: usize = 100;
/// No cost is larger; it fits into the numbers of the store.
const MAX_DOLLARS: f64 = 9e9;

/// What narrows the list of sessions.
pub(crate) const FILTERS: &[Param] = &FILTER;

const FILTER: [Param; 17] = [
    search::WORDS,
    Param::new("title", Sort::Text, "only sessions whose title contains this, in capitals or not"),
    Param::new("native_id", Sort::Text, "only sessions that a source gave this id"),
    Param::new("format", Sort::Text, "only sessions that this format witnesses"),
    Param::new(
        "source",
        Sort::Text,
        "only sessions with records from here: `files`, `upload`, `otlp-http` and others",
    ),
    Param::new("agent", Sort::Text, "only sessions in which an agent of this type took part"),
    Param::new("model", Sort::Text, "only sessions in which this model answered"),
    Param::new("cwd", Sort::Text, "only sessions of this working directory"),
    Param::new("status", Sort::Text, "only sessions that ended so: running, completed, failed or unknown"),
    Param::new("since", Sort::Moment, "only sessions that began then or later"),
    Param::new("until", Sort::Moment, "only sessions that began before"),
    Param::new("errors", Sort::Flag, "only sessions in which something failed"),
    Param::new("issues", Sort::Flag, "only sessions in which something was odd"),
    Param::new("gaps", Sort::Flag, "only sessions of which something is missing"),
    Param::new(
        "min_cost",
        Sort::Amount,
        "only sessions that are known to have cost so many US dollars or more",
    ),
    Param::new("session", Sort::Text, "only this session, by its id"),
    Param::new(
        "position",
        Sort::Whole,
        "only sessions with records of this entry of the log, as a receipt names it",
    ),
];

const ORDER: [Param; 4] = [
    Param::new(
        "sort",
        Sort::Text,
        "started (the usual), ended, duration, steps, subagents, errors, issues, tokens, cost or title",
    ),
    Param::new("order", Sort::Text, "desc (the usual) or asc"),
    Param::new("cursor", Sort::Text, "`next_cursor` of the page before"),
    Param::new(
        "limit",
        Sort::Whole,
        "at most so many and at least 1, 100 if not given, `max_page_sessions` (1,000) at most",
    ),
];

pub(crate) const LIST: &[Param] = &joined();

const fn joined() -> [Param; FILTER.len() + ORDER.len()] {
    let mut all = [FILTER[0]; FILTER.len() + ORDER.len()];
    let mut n = 1;
    while n < all.len() {
        all[n] = if n < FILTER.len() { FILTER[n] } else { ORDER[n - FILTER.len()] };
        n += 1;
    }
    all
}

/// A page of sessions.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SessionListDoc {
    /// In the order asked for.
    sessions: Vec<SessionLineDoc>,
    /// Where to go on; null at the end.
    next_cursor: Option<String>,
    /// How many sessions the filter lets through, on all pages.
    matching: u64,
    /// Sessions that have all the words of `q` and were not looked into, because `max_search_bytes` was reached, and those that an index in the making does not know yet.
    unsearched_sessions: u64,
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
    /// Where its records came from: `files`, `upload`, `otlp-http` and others.
    sources: Vec<String>,
    /// Types of its agents.
    agent_types: Vec<String>,
    /// Models that answered.
    models: Vec<String>,
    status: String,
    started_at: Option<String>,
    ended_at: Option<String>,
    duration_ms: Option<i64>,
    agents: i64,
    /// Agents that another one started; without those the client runs for itself.
    subagents: i64,
    runs: i64,
    steps: i64,
    errors: i64,
    /// How many different things were odd; without those that only inform.
    issues: i64,
    /// Codes of issues that say that something of it is missing.
    gaps: Vec<String>,
    /// When its steps began: 24 parts of its time, each as its share of the busiest one, from 0 to 255. Empty when that is not known.
    activity: Vec<u8>,
    /// Null when no source says how many.
    tokens: Option<TokensDoc>,
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
        SessionLineDoc {
            id: row.id.show('x'),
            native_ids: row.native_ids.clone(),
            title: named(&row.title),
            title_inferred: row.title_inferred,
            cwd: named(&row.cwd),
            versions: row.versions.clone(),
            formats: row.formats.clone(),
            sources: row.sources.clone(),
            agent_types: row.agent_kinds.clone(),
            models: row.models.clone(),
            status: row.status.clone(),
            started_at: moment(row.started_ns),
            ended_at: moment(row.ended_ns),
            duration_ms: row.duration_ns().map(|ns| ns / 1_000_000),
            agents: row.agent_count,
            subagents: row.subagent_count,
            runs: row.run_count,
            steps: row.step_count,
            errors: row.error_count,
            issues: row.issue_count,
            gaps: row.gaps.clone(),
            activity: row.activity.clone(),
            tokens: (row.total_tokens() > 0).then(|| TokensDoc {
                input: row.input_tokens,
                cache_read: row.cache_read_tokens,
                cache_write: row.cache_write_tokens,
                output: row.output_tokens,
                reasoning: row.reasoning_tokens,
                total: row.total_tokens(),
            }),
            uncounted_calls: row.uncounted_calls,
            #[expect(clippy::cast_precision_loss, reason = "money is shown, not counted on")]
            cost_usd: row.cost_nano_usd.map(|cost| cost as f64 / 1e9),
        }
    }
}

/// A session as it stands in the list, without a list.
pub(crate) fn line_of(flow: &Flow, batch: &Batch, records: Vec<RecordIx>, prices: &Prices) -> SessionLineDoc {
    SessionLineDoc::from(&session_row(flow, batch, records, prices))
}

/// What narrows the list, but for words.
pub(super) fn filter(call: &Call) -> Result<Filter, ApiError> {
    let asked = &call.asked;
    let text = |name: &str| asked.text(name).map(String::from);
    let mut filter = Filter {
        title_contains: text("title"),
        native_id: text("native_id"),
        format: text("format"),
        source: text("source"),
        agent: text("agent"),
        model: text("model"),
        cwd: text("cwd"),
        status: asked.one_of("status", &Status::ALL, Status::name)?.map(|status| status.name().into()),
        since_ns: asked.moment("since")?.and_then(Timestamp::ns),
        until_ns: asked.moment("until")?.and_then(Timestamp::ns),
        with_errors: asked.flag("errors")?,
        with_issues: asked.flag("issues")?,
        with_gaps: asked.flag("gaps")?,
        least_cost_nano_usd: least_cost(asked)?,
        among: None,
    };
    if let Some(id) = asked.text("session") {
        match Id::parse(id, 'x') {
            Some(id) => filter.only_among([id].into()),
            None => filter.native_id = Some(id.into()),
        }
    }
    if let Some(position) = asked.number("position")? {
        filter.only_among(call.app.engine.sessions_at(position)?.into_iter().collect());
    }
    Ok(filter)
}

fn least_cost(asked: &Asked) -> Result<Option<i64>, ApiError> {
    let Some(text) = asked.text("min_cost") else { return Ok(None) };
    let dollars = text.parse::<f64>().ok().filter(|dollars| (0.0..=MAX_DOLLARS).contains(dollars));
    let dollars = dollars.ok_or_else(|| bad("min_cost", text, "write dollars, such as 0.50"))?;
    #[expect(clippy::cast_possible_truncation, reason = "it is within the limits of the number")]
    Ok(Some((dollars * 1e9).ceil() as i64))
}

pub(super) fn question(call: &Call, usual: usize) -> Result<Question, ApiError> {
    let asked = &call.asked;
    let limit = asked.number("limit")?.unwrap_or(usual);
    if limit == 0 {
        // A page of none has no place to go on from.
        return Err(bad("limit", "0", "write a number from 1 to 1000").into());
    }
    Ok(Question {
        filter: filter(call)?,
        sort: asked.one_of("sort", &Order::ALL, Order::name)?.unwrap_or_default(),
        descending: word(asked, "order", &[(true, "desc"), (false, "asc")])?.unwrap_or(true),
        after: asked.text("cursor").map(Cursor::parse).transpose()?,
        limit,
    })
}

pub(crate) fn list(call: &Call) -> Result<Reply, ApiError> {
    let mut question = question(call, USUAL_SESSIONS)?;
    let unsearched_sessions = search::narrow(call, &mut question.filter)?;
    let page = call.app.engine.sessions(&question)?;
    Ok(Reply::json(SessionListDoc {
        sessions: page.sessions.iter().map(SessionLineDoc::from).collect(),
        next_cursor: page.next.map(|cursor| cursor.show()),
        matching: page.matching,
        unsearched_sessions,
    }))
}

/// The values by which sessions can be told apart.
#[derive(Serialize, JsonSchema)]
pub(crate) struct FacetsDoc {
    /// `source`, `format`, `agent`, `model`, `cwd` and `status`, as the parameters of the list are called.
    facets: Vec<FacetDoc>,
    /// Sessions that have all the words of `q` and were not looked into, because `max_search_bytes` was reached, and those that an index in the making does not know yet.
    unsearched_sessions: u64,
}

/// The values of one parameter.
#[derive(Serialize, JsonSchema)]
struct FacetDoc {
    name: &'static str,
    /// Those with most sessions first; at most `max_facet_values` (100).
    values: Vec<FacetValueDoc>,
    /// How many values there are in all.
    different: u64,
}

/// A value that there is.
#[derive(Serialize, JsonSchema)]
struct FacetValueDoc {
    value: String,
    /// Sessions that have it and fit everything else that is asked for.
    sessions: u64,
}

pub(crate) fn facets(call: &Call) -> Result<Reply, ApiError> {
    let mut filter = filter(call)?;
    let unsearched_sessions = search::narrow(call, &mut filter)?;
    let facet = |facet: Facet| {
        let found = call.app.engine.with_store(|store| store.facet(facet, &facet.left_open(&filter)))?;
        let value = |(value, sessions): (String, u64)| FacetValueDoc { value, sessions };
        let values = found.values.into_iter().map(value).collect();
        Ok(FacetDoc { name: facet.name(), values, different: found.different })
    };
    let facets = Facet::ALL.into_iter().map(facet).collect::<Result<_, ApiError>>()?;
    Ok(Reply::json(FacetsDoc { facets, unsearched_sessions }))
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
