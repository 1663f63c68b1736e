//! How steps stand to each other: tree, spawns, order, edges.
//!
//! In: some steps of a flow. Out: the steps that stand so to one of them, in one walk over steps or edges. Never here:
//! comparing every step with every other.

use super::fields::Relation;
use super::selection::Selection;
use rustc_hash::{FxHashMap, FxHashSet};
use unspool_model::flow::NONE;
use unspool_model::{EdgeKind, Flow, StepKind};

/// The steps that stand so to one of these.
pub(super) fn related(relation: Relation, flow: &Flow, to: &Selection) -> Selection {
    match relation {
        Relation::Under => under(flow, to),
        Relation::Above => above(flow, to),
        Relation::SpawnedBy => spawned_by(flow, to),
        Relation::Spawns => spawns(flow, to),
        Relation::FollowedBy => in_run(flow, to, (0..flow.steps.len()).rev()),
        Relation::PrecededBy => in_run(flow, to, 0..flow.steps.len()),
        Relation::Next => beside(flow, to, (0..flow.steps.len()).rev()),
        Relation::Previous => beside(flow, to, 0..flow.steps.len()),
        Relation::Calls => neighbours(flow, to, |from, to| (to, from)),
        Relation::CalledBy => neighbours(flow, to, |from, to| (from, to)),
        Relation::CausedBy => reachable(flow, to, |from, to| (from, to)),
        Relation::Causes => reachable(flow, to, |from, to| (to, from)),
    }
}

/// Parents come before their children.
fn under(flow: &Flow, of: &Selection) -> Selection {
    let mut found = of.clone();
    for (n, step) in flow.steps.iter().enumerate() {
        if step.parent != NONE && found.has(step.parent as usize) {
            found.add(n);
        }
    }
    found
}

fn above(flow: &Flow, of: &Selection) -> Selection {
    let mut found = of.clone();
    for (n, step) in flow.steps.iter().enumerate().rev() {
        if step.parent != NONE && found.has(n) {
            found.add(step.parent as usize);
        }
    }
    found
}

fn spawned_by(flow: &Flow, by: &Selection) -> Selection {
    let is_spawned =
        |agent: &unspool_model::Agent| agent.spawn.is_some_and(|spawn| by.has(spawn.step as usize));
    let agents: Vec<bool> = flow.agents.iter().map(is_spawned).collect();
    Selection::all(flow.steps.len())
        .filter(|n| agents.get(flow.steps[n].agent as usize).is_some_and(|yes| *yes))
}

fn spawns(flow: &Flow, wanted: &Selection) -> Selection {
    let mut found = Selection::none(flow.steps.len());
    for n in wanted.iter() {
        let agent = flow.agents.get(flow.steps[n].agent as usize);
        if let Some(spawn) = agent.and_then(|agent| agent.spawn) {
            found.add(spawn.step as usize);
        }
    }
    found
}

/// Steps that come behind one of these in a walk, in the same agent and run.
fn in_run(flow: &Flow, of: &Selection, walk: impl Iterator<Item = usize>) -> Selection {
    let mut found = Selection::none(flow.steps.len());
    let mut met: FxHashSet<(u32, u32)> = FxHashSet::default();
    for n in walk {
        let step = &flow.steps[n];
        let place = (step.agent, step.run);
        if met.contains(&place) {
            found.add(n);
        }
        if of.has(n) {
            met.insert(place);
        }
    }
    found
}

/// Steps that are the next of their agent and kind behind one of these in a walk.
fn beside(flow: &Flow, of: &Selection, walk: impl Iterator<Item = usize>) -> Selection {
    let mut found = Selection::none(flow.steps.len());
    let mut last: FxHashMap<(u32, StepKind), bool> = FxHashMap::default();
    for n in walk {
        let step = &flow.steps[n];
        if last.insert((step.agent, step.kind), of.has(n)) == Some(true) {
            found.add(n);
        }
    }
    found
}

/// Steps at the far end of a call whose near end is one of these.
fn neighbours(flow: &Flow, of: &Selection, near_far: impl Fn(u32, u32) -> (u32, u32)) -> Selection {
    let mut found = Selection::none(flow.steps.len());
    for edge in flow.edges.iter().filter(|edge| edge.kind == EdgeKind::Calls) {
        let (near, far) = near_far(edge.from, edge.to);
        if of.has(near as usize) {
            found.add(far as usize);
        }
    }
    found
}

/// Steps that can be reached from these by edges that are more than order. Those it begins with are in it only when an
/// edge leads back to them.
fn reachable(flow: &Flow, from: &Selection, near_far: impl Fn(u32, u32) -> (u32, u32)) -> Selection {
    let steps = flow.steps.len();
    let edges = || {
        let causal = flow.edges.iter().filter(|edge| edge.kind != EdgeKind::Sequence);
        let ends = causal.map(|edge| near_far(edge.from, edge.to));
        ends.filter(|(near, far)| (*near as usize) < steps && (*far as usize) < steps)
    };
    // The far ends of each step's edges, as ranges of one list.
    let mut ends = vec![0_u32; steps + 1];
    for (near, _) in edges() {
        ends[near as usize + 1] += 1;
    }
    for n in 0..steps {
        ends[n + 1] += ends[n];
    }
    let mut next = ends.clone();
    let mut far_ends = vec![0_u32; ends.last().copied().unwrap_or(0) as usize];
    for (near, far) in edges() {
        let place = &mut next[near as usize];
        far_ends[*place as usize] = far;
        *place += 1;
    }
    let mut found = Selection::none(steps);
    let mut waiting: Vec<usize> = from.iter().collect();
    while let Some(step) = waiting.pop() {
        for far in &far_ends[ends[step] as usize..ends[step + 1] as usize] {
            let far = *far as usize;
            if !found.has(far) {
                found.add(far);
                waiting.push(far);
            }
        }
    }
    found
}
