//! Depth by agent scope, and the timeline tree in which every step has one place.
//!
//! A tool call stands under the model call that asked for it, an agent's first step under the call that started
//! it, an agent's other steps under its first step, and the main agent's steps under the user input that
//! started their run.

use crate::draft::Draft;
use unspool_model::flow::NONE;
use unspool_model::{Code, StepKind, Timestamp};

/// Parents and depths of agents. A circle of spawns, which only contradictory records can make, is cut.
pub(crate) fn depths(draft: &mut Draft<'_>) {
    for agent in 0..draft.agents.len() {
        draft.agents[agent].parent = match draft.agents[agent].spawn {
            Some(spawn) => draft.steps[spawn.step as usize].agent,
            None => NONE,
        };
    }
    for start in 0..draft.agents.len() {
        let mut depth = 0_u32;
        let mut at = start;
        while draft.agents[at].parent != NONE {
            at = draft.agents[at].parent as usize;
            depth += 1;
            if depth as usize > draft.agents.len() {
                cut(draft, start);
                depth = 0;
                break;
            }
        }
        draft.agents[start].depth = depth;
    }
}

fn cut(draft: &mut Draft<'_>, agent: usize) {
    let record = draft.agents[agent].spawn_evidence.first().copied();
    draft.issue(Code::ParentCycle, draft.agents[agent].native_id, record);
    draft.agents[agent].spawn = None;
    draft.agents[agent].parent = NONE;
    draft.edges.retain(|edge| {
        edge.kind != unspool_model::EdgeKind::SubagentSpawn
            || draft.timeline[agent].first().is_none_or(|first| *first != edge.to)
    });
}

/// Parents of steps, and their flat order.
pub(crate) fn arrange(draft: &mut Draft<'_>) {
    for agent in 0..draft.timeline.len() {
        let first = draft.timeline[agent].first().copied().unwrap_or(NONE);
        let spawn = draft.agents[agent].spawn.map_or(NONE, |spawn| spawn.step);
        let is_sub = !matches!(draft.agents[agent].origin, crate::agents::Origin::Main(_)) || spawn != NONE;
        for n in draft.timeline[agent].clone() {
            let step = &draft.steps[n as usize];
            let trigger = if step.run == NONE { NONE } else { draft.runs[step.run as usize].trigger };
            let parent = if step.kind == StepKind::ToolCall && step.caller != NONE {
                step.caller
            } else if n == first && is_sub {
                spawn
            } else if is_sub {
                first
            } else if trigger == n {
                NONE
            } else {
                trigger
            };
            draft.steps[n as usize].parent = parent;
        }
    }
    number(draft);
}

/// Depth-first order, children by time and, within an agent, as they follow each other; without recursion.
fn number(draft: &mut Draft<'_>) {
    let mut children: Vec<Vec<u32>> = vec![Vec::new(); draft.steps.len()];
    let mut stack: Vec<u32> = Vec::new();
    for n in 0..draft.steps.len() {
        let index = u32::try_from(n).unwrap_or(NONE);
        match draft.steps[n].parent {
            NONE => stack.push(index),
            parent => children[parent as usize].push(index),
        }
    }
    // A step without a time of its own counts as of the time its agent had reached.
    let mut key: Vec<(Timestamp, usize)> = vec![(Timestamp::NONE, 0); draft.steps.len()];
    for timeline in &draft.timeline {
        let mut reached = Timestamp::NONE;
        for (position, n) in timeline.iter().enumerate() {
            reached = reached.later(draft.place_of(&draft.steps[*n as usize]).0);
            key[*n as usize] = (reached, position);
        }
    }
    let order = |draft: &Draft<'_>, list: &mut Vec<u32>| {
        list.sort_by_cached_key(|n| {
            let agent = &draft.agents[draft.steps[*n as usize].agent as usize];
            let (reached, position) = key[*n as usize];
            (reached, draft.text(agent.native_id).to_string(), position)
        });
        list.reverse();
    };
    order(draft, &mut stack);
    let mut seen = vec![false; draft.steps.len()];
    let mut seq = 0;
    loop {
        while let Some(n) = stack.pop() {
            if std::mem::replace(&mut seen[n as usize], true) {
                continue;
            }
            draft.steps[n as usize].seq = seq;
            seq += 1;
            let mut below = std::mem::take(&mut children[n as usize]);
            order(draft, &mut below);
            stack.extend(below);
        }
        // Steps in a circle hang from nothing; they are cut loose rather than lost.
        let Some(left) = seen.iter().position(|seen| !seen) else { break };
        let record = draft.first_record(u32::try_from(left).unwrap_or(NONE));
        draft.issue(Code::ParentCycle, unspool_model::Sym::EMPTY, Some(record));
        draft.steps[left].parent = NONE;
        stack.push(u32::try_from(left).unwrap_or(NONE));
    }
}
