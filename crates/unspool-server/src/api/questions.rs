//! Questions over sessions: queries, differences.

use super::endpoint::{Call, find, seen};
use crate::error::ApiError;
use unspool_answers::{Reply, Wanted};
use unspool_store::{Question, Sort as Order};

/// A query without a session looks into so many of the newest: `max_query_sessions`.
const MAX_QUERY_SESSIONS: usize = 100;

pub(crate) fn query(call: &Call) -> Result<Reply, ApiError> {
    unspool_answers::query(&call.asked, || wanted(call))
}

fn wanted(call: &Call) -> Result<Wanted<'_, ApiError>, ApiError> {
    let named = call.asked.texts("session");
    if !named.is_empty() {
        let sessions = named.into_iter().map(|id| Ok(seen(&call.app, &find(&call.app, &id)?)));
        return Ok((Box::new(sessions), 0));
    }
    let question =
        Question { sort: Order::Started, descending: true, limit: MAX_QUERY_SESSIONS, ..Question::default() };
    let page = call.app.engine.sessions(&question)?;
    let more = page.matching.saturating_sub(page.sessions.len() as u64);
    // One that is gone meanwhile has become part of another.
    let sessions = page.sessions.into_iter().filter_map(|row| match call.app.engine.snapshot(row.id) {
        Ok(found) => found.map(|snapshot| Ok(seen(&call.app, &snapshot))),
        Err(error) => Some(Err(error.into())),
    });
    Ok((Box::new(sessions), more))
}

pub(crate) fn diff(call: &Call) -> Result<Reply, ApiError> {
    unspool_answers::diff(&call.asked, |id| Ok(seen(&call.app, &find(&call.app, id)?)))
}
