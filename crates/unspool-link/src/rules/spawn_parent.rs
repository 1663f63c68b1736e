//! Agents whose records name the agent that started them, but not the call: where no call was found, the parent is known
//! all the same, and what it did last before the agent began stands for the call.

use crate::draft::Draft;
use rustc_hash::FxHashMap;
use unspool_model::flow::NONE;
use unspool_model::{Confidence, Rule, Spawn, StepKind, Sym};

pub(crate) fn link(draft: &mut Draft<'_>) {
    let by_id: FxHashMap<Sym, usize> =
        draft.agents.iter().enumerate().map(|(n, agent)| (agent.native_id, n)).collect();
    for agent in 0..draft.agents.len() {
        let own = &draft.agents[agent];
        if own.spawn.is_some() || own.internal || own.stated_parent.is_empty() {
            continue;
        }
        let Some(parent) = by_id.get(&own.stated_parent).copied().filter(|parent| *parent != agent) else {
            continue;
        };
        if is_below(draft, parent, agent) {
            continue;
        }
        let Some(first) = draft.timeline[agent].first().copied() else { continue };
        let start = draft.place_of(&draft.steps[first as usize]);
        let before = draft.timeline[parent].iter().rev().copied().find(|n| {
            let step = &draft.steps[*n as usize];
            // Its calls may have started others; what it said or was told last stands for all of them.
            matches!(step.kind, StepKind::ModelCall | StepKind::UserMessage) && draft.place_of(step) <= start
        });
        let Some(step) = before else { continue };
        let evidence = vec![draft.first_record(first), draft.first_record(step)];
        let agent = &mut draft.agents[agent];
        agent.spawn = Some(Spawn {
            step,
            tool_use_id: Sym::EMPTY,
            rule: Rule::SpawnParentId,
            confidence: Confidence::EXACT,
        });
        agent.spawn_evidence = evidence;
    }
}

/// Whether an agent was started by another, over any number of others.
fn is_below(draft: &Draft<'_>, agent: usize, other: usize) -> bool {
    let mut at = agent;
    for _ in 0..draft.agents.len() {
        if at == other {
            return true;
        }
        let Some(spawn) = draft.agents[at].spawn else { return false };
        let above = draft.steps[spawn.step as usize].agent;
        if above == NONE {
            return false;
        }
        at = above as usize;
    }
    true
}
