//! Tokens by key, window and model.

use super::endpoint::Call;
use crate::error::ApiError;
use unspool_answers::{Param, Reply, Sort};
use unspool_engine::live::Engine;
use unspool_model::Timestamp;
use unspool_store::{GroundError, Question, Sort as SortBy};
use unspool_view::limits::{USUAL_WINDOW_HOURS, UsageWindowsDoc, counted_calls, windows};

/// So many of the sessions that ended last are added up: `max_usage_sessions`.
const MAX_USAGE_SESSIONS: u64 = 1_000;
/// Days that are looked back, unless somebody says since when.
const USUAL_DAYS: i64 = 7;
const DAY_MS: i64 = 24 * 3_600_000;

pub(crate) const USAGE: &[Param] = &[
    Param::new("since", Sort::Moment, "only calls from then on; else those of the last 7 days"),
    Param::new("hours", Sort::Whole, "hours of a window; else 5"),
];

/// What is asked about usage.
#[derive(Clone, Copy, Debug, Default)]
pub struct UsageAsked {
    /// Only calls from then on; else those of the last 7 days.
    pub since: Option<Timestamp>,
    /// Hours of a window; else 5.
    pub hours: Option<u32>,
}

/// Tokens by key, window and model, of what an engine keeps.
pub fn usage(engine: &Engine, asked: UsageAsked) -> Result<UsageWindowsDoc, GroundError> {
    let now = (engine.options().now)();
    let since = asked.since.unwrap_or_else(|| now.plus_ms(-USUAL_DAYS * DAY_MS));
    // The last to end comes first, so that all sessions with calls since then come before all others.
    let mut question = Question { sort: SortBy::Ended, descending: true, limit: 1000, ..Question::default() };
    let (mut calls, mut looked_into, mut not_looked_into) = (Vec::new(), 0, 0);
    'pages: loop {
        let page = engine.sessions(&question)?;
        for row in &page.sessions {
            if row.ended_ns.is_none_or(|ended| Timestamp::from_ns(ended) < since) {
                break 'pages;
            }
            if looked_into == MAX_USAGE_SESSIONS {
                not_looked_into += 1;
                continue;
            }
            looked_into += 1;
            if let Some(seen) = engine.snapshot(row.id)? {
                calls.extend(counted_calls(&seen.flow, &seen.corpus.batch, &engine.options().prices));
            }
        }
        question.after = page.next;
        if question.after.is_none() {
            break;
        }
    }
    calls.retain(|call| !call.at.is_some() || call.at >= since);
    let mut doc = windows(calls, asked.hours.unwrap_or(USUAL_WINDOW_HOURS), now);
    (doc.looked_into, doc.not_looked_into) = (looked_into, not_looked_into);
    Ok(doc)
}

pub(crate) fn answer(call: &Call) -> Result<Reply, ApiError> {
    let asked = UsageAsked { since: call.asked.moment("since")?, hours: call.asked.number("hours")? };
    Ok(Reply::json(usage(&call.app.engine, asked)?))
}
