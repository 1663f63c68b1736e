//! Runs and agents of a session by what people call them.

use crate::call::Seen;
use crate::error::ApiError;
use http::StatusCode;
use unspool_model::{Agent, Sym};
use unspool_view::labels::agent_has;

/// Part of a session, by its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Run(usize),
    Agent(usize),
}

/// A run by its number from 1 or the start of an id.
pub(crate) fn run(seen: &Seen, wanted: &str) -> Result<usize, ApiError> {
    let (flow, text) = (&seen.snapshot.flow, &seen.snapshot.corpus.batch.text);
    let number = wanted.parse::<usize>().ok().and_then(|n| n.checked_sub(1));
    if let Some(n) = number.filter(|n| *n < flow.runs.len()) {
        return Ok(n);
    }
    let runs = flow.runs.iter().enumerate().filter(|(_, run)| {
        let native = text.get(run.native_id);
        run.id.show('u').starts_with(wanted) || !native.is_empty() && native.starts_with(wanted)
    });
    let hint = format!("a number from 1 to {}, or an id", flow.runs.len());
    let named: Vec<(usize, String)> = runs.map(|(n, run)| (n, run.id.show('u'))).collect();
    only("run", wanted, &named, &hint)
}

/// An agent by the start of an id, or by its type or name.
pub(crate) fn agent(seen: &Seen, wanted: &str) -> Result<usize, ApiError> {
    let (flow, text) = (&seen.snapshot.flow, &seen.snapshot.corpus.batch.text);
    let is_it = |agent: &Agent| agent.id.show('a') == wanted || text.get(agent.native_id) == wanted;
    if let Some(n) = flow.agents.iter().position(is_it) {
        return Ok(n);
    }
    let wanted_low = wanted.to_lowercase();
    let has = |sym: Sym| text.get(sym).to_lowercase().contains(&wanted_low);
    let is_like = |agent: &Agent| {
        agent.id.show('a').starts_with(&wanted_low)
            || [agent.kind, agent.name, agent.native_id].into_iter().any(has)
    };
    let agents = flow.agents.iter().enumerate().filter(|(_, agent)| is_like(agent));
    let named: Vec<(usize, String)> = agents.map(|(n, agent)| (n, agent.id.show('a'))).collect();
    only("agent", wanted, &named, "the flow of the session lists its agents")
}

/// Refuses a part of a type, name or id that no agent has: what it leaves would be empty, as if nothing had happened.
pub(crate) fn some_agent_has(seen: &Seen, part: &str) -> Result<(), ApiError> {
    let (flow, text) = (&seen.snapshot.flow, &seen.snapshot.corpus.batch.text);
    if flow.agents.iter().any(|agent| agent_has(text, agent, part)) {
        return Ok(());
    }
    Err(ApiError::not_found("agent", part).with_hint("the flow of the session lists its agents"))
}

/// A run or an agent.
pub(crate) fn part(seen: &Seen, wanted: &str) -> Result<Part, ApiError> {
    match run(seen, wanted) {
        Ok(n) => Ok(Part::Run(n)),
        Err(error) if error.status == StatusCode::NOT_FOUND => agent(seen, wanted).map(Part::Agent),
        Err(error) => Err(error),
    }
}

fn only(what: &str, wanted: &str, found: &[(usize, String)], hint: &str) -> Result<usize, ApiError> {
    match found {
        [] => Err(ApiError::not_found(what, wanted).with_hint(hint)),
        [(n, _)] => Ok(*n),
        several => {
            let ids: Vec<&str> = several.iter().map(|(_, id)| id.as_str()).collect();
            let message = format!("`{wanted}` may mean {} things", several.len());
            Err(ApiError::new(StatusCode::CONFLICT, "ambiguous", message).with_hint(ids.join(", ")))
        }
    }
}
