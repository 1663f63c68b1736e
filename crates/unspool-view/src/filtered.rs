//! A session's document with only what a filter shows.
//!
//! In: the whole document and the rows of the tree. Out: the same document, its lists shortened. Never here: sums, which
//! stay those of the whole, so that what is missing can be told.

use crate::flow_json::SessionDoc;
use crate::rows::Row;
use std::collections::BTreeSet;

/// Keeps the agents and steps of the rows, the runs they belong to, and the edges between them.
///
/// Agents that the tree draws closed are kept without their steps. A parent may be among what is left out.
pub fn keep_rows(mut document: SessionDoc, rows: &[Row]) -> SessionDoc {
    let (mut agents, mut steps) = (BTreeSet::new(), BTreeSet::new());
    for row in rows {
        match row {
            Row::Agent { agent, .. } => _ = agents.insert(*agent as usize),
            Row::Step { step, .. } => _ = steps.insert(*step as usize),
            Row::Hidden { .. } => {}
        }
    }
    document.agents = chosen(document.agents, &agents);
    document.steps = chosen(document.steps, &steps);
    let ids: BTreeSet<&str> = document.steps.iter().map(|step| step.id.as_str()).collect();
    let runs: BTreeSet<&str> = document.steps.iter().filter_map(|step| step.run_id.as_deref()).collect();
    document.edges.retain(|edge| ids.contains(edge.from.as_str()) && ids.contains(edge.to.as_str()));
    document.runs.retain(|run| runs.contains(run.id.as_str()));
    document
}

/// The elements at these places.
fn chosen<T>(list: Vec<T>, places: &BTreeSet<usize>) -> Vec<T> {
    let numbered = list.into_iter().enumerate();
    numbered.filter(|(n, _)| places.contains(n)).map(|(_, one)| one).collect()
}
