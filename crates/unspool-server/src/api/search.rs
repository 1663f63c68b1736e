//! Words in all sessions.

use super::endpoint::Call;
use super::sessions::{LIST, SessionLineDoc, question};
use crate::error::ApiError;
use schemars::JsonSchema;
use serde::Serialize;
use std::sync::Arc;
use unspool_answers::{Param, Reply, Sort};
use unspool_engine::live::{FoundSession, Hit};
use unspool_store::Filter;

/// Sessions of a page when nobody says how many.
const USUAL_SESSIONS: usize = 20;
/// How much may be looked for at once: `max_search_text_bytes`.
const MAX_SEARCH_TEXT_BYTES: usize = 1024;

/// What is looked for.
pub(crate) const WORDS: Param = Param::new(
    "q",
    Sort::Text,
    "only sessions in which all of this was said, given to a tool or answered by one: words, \"phrases in quotes\", beginnings*",
);

/// Everything that narrows the list of sessions narrows a search, too.
pub(crate) const SEARCH: &[Param] = LIST;

/// Sessions in which words stand.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SearchDoc {
    /// In the order asked for.
    sessions: Vec<FoundSessionDoc>,
    /// Where to go on; null at the end.
    next_cursor: Option<String>,
    /// How many sessions there are, on all pages.
    matching: u64,
    /// Sessions that have all the words of `q` and were not looked into, because `max_search_bytes` was reached, and those that an index in the making does not know yet.
    unsearched_sessions: u64,
    /// What has no letter or digit in it and was not looked for.
    ignored: Vec<String>,
    /// How long the oldest change that words do not find has been waiting.
    index_lag_ms: i64,
}

/// A session in which all of the words stand.
#[derive(Serialize, JsonSchema)]
pub(crate) struct FoundSessionDoc {
    session: SessionLineDoc,
    /// Some steps in which they do, in the order of their records: at most `max_session_hits` (5).
    hits: Vec<HitDoc>,
}

/// A step in which one of the words stands.
#[derive(Serialize, JsonSchema)]
pub(crate) struct HitDoc {
    step: String,
    /// What stands before, on one line.
    before: String,
    /// What was found.
    hit: String,
    /// What stands behind.
    after: String,
}

impl From<Hit> for HitDoc {
    fn from(hit: Hit) -> HitDoc {
        let Hit { step, snippet } = hit;
        HitDoc { step: step.show('s'), before: snippet.before, hit: snippet.hit, after: snippet.after }
    }
}

/// What was typed, if anything.
fn typed(call: &Call) -> Result<Option<&str>, ApiError> {
    let typed = call.asked.text("q");
    if typed.is_some_and(|typed| typed.len() > MAX_SEARCH_TEXT_BYTES) {
        let message = format!("`q` is longer than {MAX_SEARCH_TEXT_BYTES} bytes (max_search_text_bytes)");
        return Err(ApiError::bad_request("bad_parameter", message).with_hint("look for less at once"));
    }
    Ok(typed)
}

/// Narrows a filter to sessions in which everything stands that is looked for; gives how many were not looked into.
pub(super) fn narrow(call: &Call, filter: &mut Filter) -> Result<u64, ApiError> {
    let Some(typed) = typed(call)? else { return Ok(0) };
    let found = call.app.engine.matching(typed)?;
    match filter.among {
        Some(_) => filter.only_among((*found.sessions).clone()),
        None => filter.among = Some(Arc::clone(&found.sessions)),
    }
    Ok(found.unsearched)
}

pub(crate) fn search(call: &Call) -> Result<Reply, ApiError> {
    let typed = typed(call)?.ok_or_else(|| {
        ApiError::bad_request("bad_parameter", "there is nothing to look for").with_hint("?q=some+words")
    })?;
    let engine = &call.app.engine;
    let index_lag_ms = engine.health().index_lag_ms;
    let found = engine.search(typed, &question(call, USUAL_SESSIONS)?)?;
    let session = |FoundSession { row, hits }: FoundSession| FoundSessionDoc {
        session: SessionLineDoc::from(&row),
        hits: hits.into_iter().map(HitDoc::from).collect(),
    };
    Ok(Reply::json(SearchDoc {
        sessions: found.sessions.into_iter().map(session).collect(),
        next_cursor: found.next.map(|cursor| cursor.show()),
        matching: found.matching,
        unsearched_sessions: found.unsearched,
        ignored: found.ignored,
        index_lag_ms,
    }))
}
