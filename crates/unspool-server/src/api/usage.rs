//! Tokens by key, window and model.

use super::endpoint::Call;
use crate::error::ApiError;
use unspool_answers::{Param, Reply, Sort};
use unspool_engine::live::Engine;
use unspool_model::Timestamp;
use unspool_store::{Filter, GroundError, Question};
use unspool_view::limits::{USUAL_WINDOW_HOURS, UsageWindowsDoc, counted_calls, windows};

/// So many of the newest sessions are added up: `max_usage_sessions`.
const MAX_USAGE_SESSIONS: usize = 1_000;
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
    // A session that began the day before may have calls of that day.
    let filter = Filter { since_ns: since.plus_ms(-DAY_MS).ns(), ..Filter::default() };
    let mut question = Question { filter, descending: true, ..Question::default() };
    let (mut calls, mut looked_into, mut matching) = (Vec::new(), 0, 0);
    loop {
        let page = engine.sessions(&question)?;
        matching = page.matching.max(matching);
        for row in page.sessions.iter().take(MAX_USAGE_SESSIONS - looked_into) {
            looked_into += 1;
            if let Some(seen) = engine.snapshot(row.id)? {
                calls.extend(counted_calls(&seen.flow, &seen.corpus.batch, &engine.options().prices));
            }
        }
        question.after = page.next;
        if question.after.is_none() || looked_into == MAX_USAGE_SESSIONS {
            break;
        }
    }
    calls.retain(|call| !call.at.is_some() || call.at >= since);
    let mut doc = windows(calls, asked.hours.unwrap_or(USUAL_WINDOW_HOURS), now);
    doc.looked_into = looked_into as u64;
    doc.not_looked_into = matching.saturating_sub(looked_into as u64);
    Ok(doc)
}

pub(crate) fn answer(call: &Call) -> Result<Reply, ApiError> {
    let asked = UsageAsked { since: call.asked.moment("since")?, hours: call.asked.number("hours")? };
    Ok(Reply::json(usage(&call.app.engine, asked)?))
}
