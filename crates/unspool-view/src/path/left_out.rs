//! What the path of a session is without: agents that the client runs for itself.
//!
//! In: a flow and its moments. Out: how many there are and how long the session is with them. Never here: a path.

use super::moments::{Moments, UNTIMED};
use schemars::JsonSchema;
use serde::Serialize;
use unspool_model::Flow;

/// Agents that are not on the path.
#[derive(Serialize, JsonSchema)]
pub struct LeftOutDoc {
    /// Agents that the client runs for itself.
    pub internal_agents: u64,
    /// Milliseconds from the first moment of the session to the last, with these agents.
    pub wall_with_them_ms: i64,
}

pub(super) fn left_out(flow: &Flow, moments: &Moments<'_>) -> Option<LeftOutDoc> {
    let internal_agents = flow.agents.iter().filter(|agent| agent.internal).count() as u64;
    let timed = || moments.at.iter().copied().filter(|at| *at != UNTIMED);
    let (first, last) = (timed().min()?, timed().max()?);
    let wall_with_them_ms = last.saturating_sub(first);
    (internal_agents > 0).then_some(LeftOutDoc { internal_agents, wall_with_them_ms })
}
