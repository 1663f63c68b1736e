//! One step, one record, and why.

use crate::asked::{Param, Sort};
use crate::call::{Call, Seen};
use crate::error::ApiError;
use crate::reply::Reply;
use http::StatusCode;
use unspool_model::Id;
use unspool_view::explain::{Answer, Candidate, Search};
use unspool_view::screen::step_detail;
use unspool_view::search::NativeBytes as _;

pub(crate) fn step(seen: &Seen, call: &Call) -> Result<Reply, ApiError> {
    let (flow, batch) = (&seen.snapshot.flow, &seen.snapshot.corpus.batch);
    let wanted = call.part("step");
    let by_id = Id::parse(wanted, 's').and_then(|id| flow.steps.iter().position(|step| step.id == id));
    let place = by_id.ok_or_else(|| {
        ApiError::not_found("step", wanted).with_hint("the tree of the session lists its steps")
    })?;
    let prices = &seen.prices;
    Ok(Reply::json(step_detail(flow, batch, prices, &mut seen.snapshot.natives(), place)))
}

pub(crate) fn explain(seen: &Seen, call: &Call) -> Result<Reply, ApiError> {
    let wanted = call.part("thing");
    let mut search = Search::new(wanted);
    search.add(&seen.snapshot.flow, &seen.snapshot.corpus.batch, &seen.prices);
    match search.finish() {
        Answer::One(explanation) => Ok(Reply::json(explanation)),
        Answer::Nothing => Err(ApiError::not_found("step, agent or edge", wanted).with_hint(
            "an id or its start, `#` and a step's position (`%23` in an address), or FROM..TO for an edge",
        )),
        Answer::Several(candidates) => {
            let shown = |one: &Candidate| format!("{} ({})", one.id, one.title);
            let names: Vec<String> = candidates.iter().map(shown).collect();
            let message = format!("`{wanted}` may mean {} things", candidates.len());
            Err(ApiError::new(StatusCode::CONFLICT, "ambiguous", message).with_hint(names.join(", ")))
        }
    }
}

pub(crate) const RECORD: &[Param] =
    &[Param::new("text", Sort::Flag, "as plain text, to be looked at in a browser rather than saved")];

/// The bytes of a record, exactly.
pub(crate) fn record(seen: &Seen, call: &Call) -> Result<Reply, ApiError> {
    let wanted = call.part("record");
    let missing =
        || ApiError::not_found("record", wanted).with_hint("steps name the records that witness them");
    let id = Id::parse(wanted, 'r').ok_or_else(missing)?;
    let place = seen.snapshot.corpus.find_record(id).ok_or_else(missing)?;
    let mut natives = seen.snapshot.natives();
    let bytes = natives.bytes(place).ok_or_else(missing)?;
    let is_text = call.asked.flag("text")? && std::str::from_utf8(bytes).is_ok();
    Ok(Reply::ready(if is_text { "text/plain; charset=utf-8" } else { "application/octet-stream" }, bytes))
}
