//! The order of events in a session: in a stream as written, between streams by time. What is known to have caused a step
//! comes before it, whatever clocks say.

use crate::corpus::Corpus;
use crate::draft::Draft;
use crate::grouping::Group;
use rustc_hash::{FxHashMap, FxHashSet};
use unspool_model::flow::NONE;
use unspool_model::{Batch, Edge, EdgeKind, Timestamp};

/// A place in the order. Events of one stream never change places; a line whose clock went back counts as
/// written when the line before it was.
pub(crate) type Place = (Timestamp, u32);

/// For each event of the group, the latest time its stream had reached.
pub(crate) fn reached(corpus: &Corpus, group: &Group) -> Vec<Timestamp> {
    let batch: &Batch = &corpus.batch;
    let mut reached = Vec::with_capacity(group.events.len());
    let mut latest = Timestamp::NONE;
    let mut stream = u32::MAX;
    for event in &group.events {
        let event = &batch.events[*event as usize];
        let own = batch.records[event.record as usize].stream;
        if own != stream {
            stream = own;
            latest = Timestamp::NONE;
        }
        let in_order = batch.streams.get(own as usize).is_some_and(|stream| stream.in_order);
        latest = if in_order { latest.later(event.at) } else { event.at };
        reached.push(latest);
    }
    reached
}

/// Brings what asked for a step, encloses it or fed it before it in its agent's timeline. What is not late keeps its order.
pub(crate) fn causes_first(draft: &mut Draft<'_>) {
    let positions = positions(draft);
    let mut late: Vec<u32> = Vec::new();
    each_cause(draft, |cause, effect| {
        if positions[cause as usize] > positions[effect as usize] {
            late.push(draft.steps[effect as usize].agent);
        }
    });
    late.sort_unstable();
    late.dedup();
    if late.is_empty() {
        return;
    }
    let mut causes: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
    each_cause(draft, |cause, effect| {
        if late.binary_search(&draft.steps[effect as usize].agent).is_ok() {
            causes.entry(effect).or_default().push(cause);
        }
    });
    for own in causes.values_mut() {
        own.sort_unstable_by_key(|cause| positions[*cause as usize]);
    }
    for agent in late {
        let timeline = std::mem::take(&mut draft.timeline[agent as usize]);
        draft.timeline[agent as usize] = with_causes_first(timeline, &causes);
    }
}

/// Where each step stands in its agent's timeline.
pub(crate) fn positions(draft: &Draft<'_>) -> Vec<u32> {
    let mut positions = vec![NONE; draft.steps.len()];
    for timeline in &draft.timeline {
        for (n, step) in (0_u32..).zip(timeline) {
            positions[*step as usize] = n;
        }
    }
    positions
}

/// Every cause and effect inside one agent that is known for certain so far. What a source says a step depends on is shown as
/// stated and does not order steps.
fn each_cause(draft: &Draft<'_>, mut found: impl FnMut(u32, u32)) {
    let mut tell = |cause: u32, effect: u32| {
        if cause != effect && draft.steps[cause as usize].agent == draft.steps[effect as usize].agent {
            found(cause, effect);
        }
    };
    let orders = |edge: &&Edge| !edge.rule.inferred() && edge.kind != EdgeKind::DependsOn;
    for edge in draft.edges.iter().filter(orders) {
        tell(edge.from, edge.to);
    }
    for node in draft.spans.nodes.iter().filter(|node| !node.is_echo) {
        let Some(above) = draft.spans.nodes.get(node.parent as usize) else { continue };
        let (cause, effect) = (draft.event_step[above.event as usize], draft.event_step[node.event as usize]);
        if cause != NONE && effect != NONE {
            tell(cause, effect);
        }
    }
}

/// A circle of causes is entered where the timeline comes to it first.
fn with_causes_first(timeline: Vec<u32>, causes: &FxHashMap<u32, Vec<u32>>) -> Vec<u32> {
    let mut ordered = Vec::with_capacity(timeline.len());
    let mut entered: FxHashSet<u32> = FxHashSet::default();
    let mut path: Vec<(u32, usize)> = Vec::new();
    for step in timeline {
        if entered.insert(step) {
            path.push((step, 0));
        }
        while let Some((at, next)) = path.last_mut() {
            let Some(cause) = causes.get(at).and_then(|own| own.get(*next)) else {
                ordered.push(*at);
                path.pop();
                continue;
            };
            *next += 1;
            if entered.insert(*cause) {
                path.push((*cause, 0));
            }
        }
    }
    ordered
}
