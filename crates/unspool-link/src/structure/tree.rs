//! Depth by agent scope, and the timeline tree in which every step has one place.
//!
//! A tool call stands under the model call that asked for it, an agent's first step under the call that started
//! it, an agent's other steps under its first step, and the main agent's steps under the user input that
//! started their run. Where spans enclose each other, a step stands under the one around it.

use crate::draft::Draft;
use crate::rules;
use unspool_model::flow::NONE;
use unspool_model::{Code, EdgeKind, StepKind, Sym, Timestamp};

/// Parents and depths of agents. A circle of spawns, which only contradictory records can make, is cut.
pub(crate) fn depths(draft: &mut Draft<'_>) {
    for agent in 0..draft.agents.len() {
        draft.agents[agent].parent = match draft.agents[agent].spawn {
            Some(spawn) => draft.steps[spawn.step as usize].agent,
            None => NONE,
        };
    }
    for circle in circles(draft) {
        // Cut at the first id in text order, wherever the circle was entered.
        if let Some(agent) = circle.into_iter().min_by_key(|n| draft.text(draft.agents[*n].native_id)) {
            cut(draft, agent);
        }
    }
    let mut known = vec![false; draft.agents.len()];
    for start in 0..draft.agents.len() {
        let mut path = Vec::new();
        let mut at = start;
        while !known[at] && draft.agents[at].parent != NONE {
            path.push(at);
            at = draft.agents[at].parent as usize;
        }
        known[at] = true;
        let mut depth = draft.agents[at].depth;
        for agent in path.into_iter().rev() {
            depth += 1;
            draft.agents[agent].depth = depth;
            known[agent] = true;
        }
    }
}

/// The agents on each circle of parents. What hangs below a circle is not on it.
fn circles(draft: &Draft<'_>) -> Vec<Vec<usize>> {
    let mut walked = vec![usize::MAX; draft.agents.len()];
    let mut circles = Vec::new();
    for start in 0..draft.agents.len() {
        let mut at = start;
        while walked[at] == usize::MAX {
            walked[at] = start;
            match draft.agents[at].parent {
                NONE => break,
                parent => at = parent as usize,
            }
        }
        if walked[at] == start && draft.agents[at].parent != NONE {
            let mut circle = vec![at];
            let mut next = draft.agents[at].parent as usize;
            while next != at && circle.len() <= draft.agents.len() {
                circle.push(next);
                match draft.agents[next].parent {
                    NONE => break,
                    parent => next = parent as usize,
                }
            }
            if next == at {
                circles.push(circle);
            }
        }
    }
    circles
}

fn cut(draft: &mut Draft<'_>, agent: usize) {
    let record = draft.agents[agent].spawn_evidence.first().copied();
    draft.issue(Code::ParentCycle, draft.agents[agent].native_id, record);
    draft.agents[agent].spawn = None;
    draft.agents[agent].parent = NONE;
    let first = draft.timeline[agent].first().copied().unwrap_or(NONE);
    let steps = &draft.steps;
    draft.edges.retain(|edge| match edge.kind {
        EdgeKind::SubagentSpawn => edge.to != first,
        EdgeKind::SubagentReturn => steps[edge.from as usize].agent as usize != agent,
        _ => true,
    });
}

/// Parents of steps, and their flat order.
pub(crate) fn arrange(draft: &mut Draft<'_>) {
    for agent in 0..draft.timeline.len() {
        let first = draft.timeline[agent].first().copied().unwrap_or(NONE);
        let spawn = draft.agents[agent].spawn.map_or(NONE, |spawn| spawn.step);
        let is_sub = !draft.agents[agent].is_main() || spawn != NONE;
        for position in 0..draft.timeline[agent].len() {
            let n = draft.timeline[agent][position];
            let step = &draft.steps[n as usize];
            let trigger = if step.run == NONE { NONE } else { draft.runs[step.run as usize].trigger };
            let parent = if trigger == n && !is_sub {
                NONE
            } else if step.kind == StepKind::ToolCall && step.caller != NONE {
                step.caller
            } else if n == first && is_sub {
                spawn
            } else if let Some(around) = draft.around.get(&n) {
                *around
            } else if is_sub {
                first
            } else {
                trigger
            };
            draft.steps[n as usize].parent = parent;
        }
    }
    rules::told::parents(draft);
    number(draft);
}

/// Depth-first order, children by time and, within an agent, as they follow each other; without recursion.
fn number(draft: &mut Draft<'_>) {
    let (starts, children) = children(draft);
    let below = |n: u32| &children[starts[n as usize] as usize..starts[n as usize + 1] as usize];
    // The last range holds what hangs from nothing.
    let roots = u32::try_from(draft.steps.len()).unwrap_or(NONE);
    let mut stack: Vec<u32> = below(roots).iter().rev().copied().collect();
    let mut seen = vec![false; draft.steps.len()];
    let (mut seq, mut left) = (0, 0);
    loop {
        while let Some(n) = stack.pop() {
            if std::mem::replace(&mut seen[n as usize], true) {
                continue;
            }
            draft.steps[n as usize].seq = seq;
            seq += 1;
            stack.extend(below(n).iter().rev());
        }
        // Steps in a circle hang from nothing; they are cut loose rather than lost.
        while seen.get(left) == Some(&true) {
            left += 1;
        }
        if left == seen.len() {
            break;
        }
        let index = u32::try_from(left).unwrap_or(NONE);
        draft.issue(Code::ParentCycle, Sym::EMPTY, Some(draft.first_record(index)));
        draft.steps[left].parent = NONE;
        stack.push(index);
    }
}

/// The children of every step in order, as ranges of one list; the range after the last step's is that of the roots.
fn children(draft: &Draft<'_>) -> (Vec<u32>, Vec<u32>) {
    let mut agents: Vec<usize> = (0..draft.agents.len()).collect();
    unspool_model::sort_by_meaning(&mut agents, |n| draft.text(draft.agents[*n].native_id));
    let mut rank = vec![0_usize; agents.len()];
    for (position, agent) in agents.into_iter().enumerate() {
        rank[agent] = position;
    }
    // A step without a time of its own counts as of the time its agent had reached.
    let mut order: Vec<(Timestamp, usize, u32)> = Vec::with_capacity(draft.steps.len());
    for (agent, timeline) in draft.timeline.iter().enumerate() {
        let mut reached = Timestamp::NONE;
        for n in timeline {
            reached = reached.later(draft.place_of(&draft.steps[*n as usize]).0);
            order.push((reached, rank[agent], *n));
        }
    }
    // Stable: steps of one agent stay as they follow each other.
    order.sort_by_key(|(reached, rank, _)| (*reached, *rank));
    let slot = |n: u32| match draft.steps[n as usize].parent {
        NONE => draft.steps.len(),
        parent => parent as usize,
    };
    let mut starts = vec![0_u32; draft.steps.len() + 2];
    for (_, _, n) in &order {
        starts[slot(*n) + 1] += 1;
    }
    for n in 1..starts.len() {
        starts[n] += starts[n - 1];
    }
    let mut next = starts.clone();
    let mut children = vec![0; order.len()];
    for (_, _, n) in order {
        let at = &mut next[slot(n)];
        children[*at as usize] = n;
        *at += 1;
    }
    (starts, children)
}
