//! Sub-agents that worked, and whose answer nobody received.

use super::cost::Cost;
use super::session::Session;
use super::{Finder, Finding};
use rustc_hash::FxHashSet;
use unspool_model::{EdgeKind, Rule, Status, StepKind};

pub(super) const FINDER: Finder = Finder {
    code: "unused_agent",
    sentence: "A sub-agent worked, and no model call received its answer.",
    find,
};

fn find(session: &Session<'_>) -> Vec<Finding> {
    let flow = session.flow;
    let mut returned: FxHashSet<u32> = FxHashSet::default();
    let mut received: FxHashSet<u32> = FxHashSet::default();
    for edge in &flow.edges {
        match edge.kind {
            EdgeKind::SubagentReturn => _ = returned.insert(flow.steps[edge.from as usize].agent),
            EdgeKind::ToolResult => _ = received.insert(edge.from),
            _ => {}
        }
    }
    let mut found = Vec::new();
    for (n, agent) in (0_u32..).zip(&flow.agents) {
        let Some(spawn) = agent.spawn else { continue };
        // A span around another has what the other one found, whoever it tells.
        let enclosed = matches!(spawn.rule, Rule::SpawnSpanParent | Rule::SpawnSpanName);
        let call = &flow.steps[spawn.step as usize];
        let answered = received.contains(&spawn.step) && !call.is_async;
        let parent_listens = session
            .timelines
            .get(agent.parent as usize)
            .is_some_and(|steps| steps.iter().any(|step| session.step(*step).kind == StepKind::ModelCall));
        let steps = &session.timelines[n as usize];
        let worked = steps.iter().any(|step| session.step(*step).kind == StepKind::ModelCall);
        let over = matches!(agent.status, Status::Completed | Status::Failed);
        if !enclosed && !answered && !returned.contains(&n) && parent_listens && worked && over {
            found.push(finding(session, agent, spawn.step, steps));
        }
    }
    found
}

fn finding(session: &Session<'_>, agent: &unspool_model::Agent, call: u32, steps: &[u32]) -> Finding {
    let mut cost = Cost::default();
    for step in steps {
        cost.add(session.own(*step));
    }
    let kind = session.text.get(agent.kind);
    let kind = if kind.is_empty() { "A sub-agent" } else { kind };
    let name = session.text.get(agent.name);
    let title = format!("{kind} worked for {} steps, and nobody received its answer: {name}", steps.len());
    let steps = std::iter::once(call).chain(steps.first().copied()).chain(steps.last().copied()).collect();
    Finding { title: title.trim_end_matches([' ', ':']).to_string(), steps, cost }
}
