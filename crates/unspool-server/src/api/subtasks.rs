//! Sub-tasks in the shape that proxies and dashboards know: a request, and what its answer asked for.

use super::endpoint::{Call, find};
use crate::error::ApiError;
use std::sync::Arc;
use unspool_answers::Reply;
use unspool_engine::live::Snapshot;
use unspool_model::{Id, Step};
use unspool_store::Question;
use unspool_view::export::subtasks::{ConversationsDoc, conversations, request};

/// By the id of a request or of its step: its sub-tasks. By the id of a session: its conversations with theirs.
pub(crate) fn subtasks(call: &Call) -> Result<Reply, ApiError> {
    let (engine, wanted) = (&call.app.engine, call.part("id"));
    let prices = &engine.options().prices;
    if let Some(step) = Id::parse(wanted, 's') {
        let place = engine.with_store(|store| store.place_of_step(step, None))?;
        let snapshot = place.map(|(session, _)| engine.snapshot(session)).transpose()?.flatten();
        if let Some(reply) = snapshot.and_then(|snapshot| answer(call, &snapshot, &|found| found.id == step))
        {
            return Ok(reply);
        }
    } else if let Ok(snapshot) = find(&call.app, wanted) {
        let found = conversations(&snapshot.flow, &snapshot.corpus.batch, prices);
        return Ok(Reply::json(ConversationsDoc::new(found)));
    } else {
        let of_message = |session: Id| engine.with_store(|store| store.place_of_message(session, wanted));
        let mut question = Question { descending: true, ..Question::default() };
        loop {
            let page = engine.sessions(&question)?;
            for row in page.sessions {
                if of_message(row.id)?.is_none() {
                    continue;
                }
                let Some(snapshot) = engine.snapshot(row.id)? else { continue };
                let text = &snapshot.corpus.batch.text;
                let is_it = |step: &Step| text.get(step.message_id) == wanted;
                if let Some(reply) = answer(call, &snapshot, &is_it) {
                    return Ok(reply);
                }
            }
            question.after = page.next;
            if question.after.is_none() {
                break;
            }
        }
    }
    Err(ApiError::not_found("request", wanted).with_hint("the id of a session, of a step or of a message"))
}

fn answer(call: &Call, snapshot: &Arc<Snapshot>, is_it: &dyn Fn(&Step) -> bool) -> Option<Reply> {
    let place = snapshot.flow.steps.iter().position(is_it)?;
    let prices = &call.app.engine.options().prices;
    Some(Reply::json(request(&snapshot.flow, &snapshot.corpus.batch, prices, place)))
}
