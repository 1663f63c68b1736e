//! From a step to everything it led to.
//!
//! In: a flow and a step. Out: the steps it leads to, nearest first. Never here: recursion.

use crate::dag::Arcs;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::VecDeque;
use unspool_model::{EdgeKind, Flow};

/// A step that another one led to.
#[derive(Serialize, JsonSchema, Debug, PartialEq, Eq)]
pub struct TouchedDoc {
    /// The step.
    pub step_id: String,
    /// Edges between.
    pub distance: u32,
    /// Only the order of an agent's steps leads there.
    pub by_order: bool,
}

/// Everything a step led to along causal edges; with `order`, also what merely came after it in its agent or in one it led to, marked.
pub fn touched(flow: &Flow, step: u32, order: bool) -> Vec<TouchedDoc> {
    let causal = flow.edges.iter().filter(|edge| edge.kind != EdgeKind::Sequence);
    let causal = Arcs::new(flow.steps.len(), causal.map(|edge| (edge.from, edge.to)));
    let all = Arcs::new(flow.steps.len(), flow.edges.iter().map(|edge| (edge.from, edge.to)));
    let mut found: Vec<(u32, u32, bool)> = Vec::new();
    let mut seen = vec![false; flow.steps.len()];
    if step as usize >= seen.len() {
        return Vec::new();
    }
    seen[step as usize] = true;
    walk(&causal, vec![(step, 0)], &mut seen, |step, distance| found.push((step, distance, false)));
    if order {
        let starts =
            std::iter::once((step, 0)).chain(found.iter().map(|(step, distance, _)| (*step, *distance)));
        let starts = starts.collect();
        walk(&all, starts, &mut seen, |step, distance| found.push((step, distance, true)));
    }
    let doc = |(step, distance, by_order): (u32, u32, bool)| TouchedDoc {
        step_id: flow.steps[step as usize].id.show('s'),
        distance,
        by_order,
    };
    found.into_iter().map(doc).collect()
}

/// Visits what is not seen yet, nearest to the starts first.
fn walk(arcs: &Arcs, starts: Vec<(u32, u32)>, seen: &mut [bool], mut visit: impl FnMut(u32, u32)) {
    let mut next: VecDeque<(u32, u32)> = starts.into();
    while let Some((at, distance)) = next.pop_front() {
        for to in arcs.of(at) {
            if !std::mem::replace(&mut seen[*to as usize], true) {
                visit(*to, distance + 1);
                next.push_back((*to, distance + 1));
            }
        }
    }
}
