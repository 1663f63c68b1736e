//! Order inside a span: what it did one after the other.
//!
//! In: a flow and the times of its moments. Out: arcs from the end of an enclosed step to the beginning of the next ones in the same
//! step. Never here: order inside an agent, which the flow's edges tell.

use super::moments::{UNTIMED, begin, end};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use unspool_model::{EdgeKind, Flow};

/// A step that lies inside the one its edge comes from.
#[derive(PartialEq, Eq, PartialOrd, Ord, Clone, Copy)]
struct Enclosed {
    around: u32,
    began: i64,
    step: u32,
}

/// For every step inside another: the steps in the same one that had ended when it began, as cause and effect. Each end leads to the first
/// beginning after it, and every beginning waits at least for the latest end.
pub(super) fn sibling_arcs(flow: &Flow, at: &[i64]) -> Vec<(u32, u32)> {
    let mut arcs = Vec::new();
    let mut open: BinaryHeap<Reverse<(i64, u32)>> = BinaryHeap::new();
    let mut latest = None;
    let mut around = None;
    for one in enclosed(flow, at) {
        if around.replace(one.around) != Some(one.around) {
            open.clear();
            latest = None;
        }
        if let Some(latest) = latest {
            arcs.push((end(latest), begin(one.step)));
        }
        while let Some(Reverse((ended, before))) = open.peek().copied()
            && ended <= one.began
        {
            open.pop();
            arcs.push((end(before), begin(one.step)));
            latest = Some(before);
        }
        open.push(Reverse((at[end(one.step) as usize], one.step)));
    }
    arcs
}

/// Enclosed steps by what is around them, in order of their beginnings.
fn enclosed(flow: &Flow, at: &[i64]) -> Vec<Enclosed> {
    let times = |step: u32| (at[begin(step) as usize], at[end(step) as usize]);
    let edges = flow.edges.iter().filter(|edge| edge.kind != EdgeKind::Sequence && edge.from != edge.to);
    let inside = edges.filter_map(|edge| {
        let ((from, until), (began, ended)) = (times(edge.from), times(edge.to));
        let lies_inside =
            from != UNTIMED && began != UNTIMED && from <= began && ended <= until && from < until;
        lies_inside.then_some(Enclosed { around: edge.from, began, step: edge.to })
    });
    let mut inside: Vec<Enclosed> = inside.collect();
    inside.sort_unstable();
    inside.dedup();
    inside
}
