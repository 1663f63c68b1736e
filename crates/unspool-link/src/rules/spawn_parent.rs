//! Agents whose records name the agent that started them, but not the call: where no call was found, the parent is known
//! all the same, and what it did last before the agent began stands for the call. That it was this step is a guess.

use crate::draft::Draft;
use unspool_model::flow::NONE;
use unspool_model::{Rule, Spawn, StepKind, Sym};

pub(crate) fn link(draft: &mut Draft<'_>) {
    let by_id = draft.agents_by_native_id();
    for agent in 0..draft.agents.len() {
        let own = &draft.agents[agent];
        if own.spawn.is_some() || own.internal || own.stated_parent.is_empty() {
            continue;
        }
        let began = draft.began(u32::try_from(agent).unwrap_or(NONE));
        let namesakes = by_id.get(&own.stated_parent).map_or(&[][..], Vec::as_slice);
        let parent = draft.meant(namesakes, own.session, began).map(|parent| parent as usize);
        let Some(parent) = parent.filter(|parent| *parent != agent) else { continue };
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
            confidence: draft.table.parent_stand_in,
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
