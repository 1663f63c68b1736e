//! Sub-agents that worked, and whose answer their parent went on without.
//!
//! This speaks of what is not there, so that much must be: a record without holes in which the same parent was told the answer of
//! another agent it had started in the same way, and went on after this one had ended.

use super::cost::Cost;
use super::session::Session;
use super::{Basis, Finder, Finding};
use rustc_hash::FxHashSet;
use unspool_model::{Agent, EdgeKind, Rule, Spawn, Status, StepKind, Timestamp};

pub(super) const FINDER: Finder = Finder {
    code: "unused_agent",
    sentence: "A sub-agent worked and ended, and its parent, which was told the answers of others, went on without its answer.",
    rests_on: Basis::Absence,
    find,
};

fn find(session: &Session<'_>) -> Vec<Finding> {
    let flow = session.flow;
    let returns = Returns::of(session);
    let mut found = Vec::new();
    for (n, agent) in (0_u32..).zip(&flow.agents) {
        let Some(spawn) = agent.spawn else { continue };
        // A span around another has what the other one found, whoever it tells; a workflow's script hears its agents.
        let enclosed =
            matches!(spawn.rule, Rule::SpawnSpanParent | Rule::SpawnSpanName | Rule::SpawnWorkflowId);
        let steps = &session.timelines[n as usize];
        let worked = steps.iter().any(|step| session.step(*step).kind == StepKind::ModelCall);
        let over = matches!(agent.status, Status::Completed | Status::Failed);
        if !enclosed
            && worked
            && over
            && !returns.has(session, n, spawn)
            && returns.ways.contains(&way(session, agent.parent, spawn))
            && went_on(session, agent.parent, agent.ended)
        {
            found.push(finding(session, agent, spawn.step, steps));
        }
    }
    found
}

/// Which agents' answers are recorded to have come back.
#[derive(Default)]
struct Returns {
    agents: FxHashSet<u32>,
    /// Calls whose results a model call was given.
    calls: FxHashSet<u32>,
    /// In which ways of starting agents a parent was told an answer.
    ways: FxHashSet<Way>,
}

/// A parent, by what the agents it started are known, and whether it waits for them.
type Way = (u32, Rule, bool);

fn way(session: &Session<'_>, parent: u32, spawn: Spawn) -> Way {
    (parent, spawn.rule, session.step(spawn.step).is_async)
}

impl Returns {
    fn of(session: &Session<'_>) -> Returns {
        let mut returns = Returns::default();
        for edge in &session.flow.edges {
            match edge.kind {
                EdgeKind::SubagentReturn => _ = returns.agents.insert(session.step(edge.from).agent),
                EdgeKind::ToolResult => _ = returns.calls.insert(edge.from),
                _ => {}
            }
        }
        for (n, agent) in (0_u32..).zip(&session.flow.agents) {
            if let Some(spawn) = agent.spawn.filter(|spawn| returns.has(session, n, *spawn)) {
                returns.ways.insert(way(session, agent.parent, spawn));
            }
        }
        returns
    }

    /// The result of a call that does not wait is only that the agent began.
    fn has(&self, session: &Session<'_>, agent: u32, spawn: Spawn) -> bool {
        let waits = !session.step(spawn.step).is_async;
        self.agents.contains(&agent) || (waits && self.calls.contains(&spawn.step))
    }
}

/// Whether an agent asked its model again after a moment, and had been told nothing in between that may have been the answer.
fn went_on(session: &Session<'_>, agent: u32, after: Timestamp) -> bool {
    let Some(timeline) = session.timelines.get(agent as usize).filter(|_| after.is_some()) else {
        return false;
    };
    let mut later = timeline.iter().map(|n| session.step(*n)).filter(|step| step.started >= after);
    let next = later.find(|step| matches!(step.kind, StepKind::ModelCall | StepKind::UserMessage));
    next.is_some_and(|step| step.kind == StepKind::ModelCall)
}

fn finding(session: &Session<'_>, agent: &Agent, call: u32, steps: &[u32]) -> Finding {
    let mut cost = Cost::default();
    for step in steps {
        cost.add(session.own(*step));
    }
    let kind = session.text.get(agent.kind);
    let kind = if kind.is_empty() { "A sub-agent" } else { kind };
    let name = session.text.get(agent.name);
    let title = format!(
        "{kind} worked for {} steps; its parent was told what others found and went on without its answer: {name}",
        steps.len()
    );
    let steps = std::iter::once(call).chain(steps.first().copied()).chain(steps.last().copied()).collect();
    Finding { title: title.trim_end_matches([' ', ':']).to_string(), steps, cost }
}
