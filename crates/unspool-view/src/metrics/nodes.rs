//! Numbers of single steps.
//!
//! In: a flow, its reach and its path. Out: a row per step. Never here: sums over steps.

use crate::path::{Network, is_begin, step_of};
use schemars::JsonSchema;
use serde::Serialize;
use unspool_model::{Flow, Interner};

/// One step.
#[derive(Serialize, JsonSchema)]
pub struct NodeMetricsDoc {
    /// The step.
    pub id: String,
    /// Its kind.
    pub kind: &'static str,
    /// Its tool, model or other name.
    pub name: Option<String>,
    /// Edges that lead to it.
    pub in_degree: u64,
    /// Edges that lead from it.
    pub out_degree: u64,
    /// Steps directly below it in the timeline tree.
    pub children: u64,
    /// Steps below it in the timeline tree, at any depth. Exact.
    pub descendants: u64,
    /// Agents started by it or below it.
    pub agents_below: u64,
    /// Steps it leads to along causal edges, those of mere order not counted. Exact; null when counting was given up.
    pub reaches: Option<u64>,
    /// Milliseconds it took itself.
    pub own_ms: Option<i64>,
    /// Milliseconds from its beginning to the last end of anything below it in the timeline tree.
    pub inclusive_ms: Option<i64>,
    /// Its beginning is estimated or its end is missing.
    pub estimated: bool,
    /// Its end is on the critical path of the session.
    pub on_critical_path: bool,
    /// Milliseconds by which it could end later without making the session longer; null without a time.
    pub slack_ms: Option<i64>,
}

pub(super) fn nodes(
    flow: &Flow,
    text: &Interner,
    reach: Option<&[u64]>,
    network: &Network,
    path: &[u32],
) -> Vec<NodeMetricsDoc> {
    let row = |(n, step): (usize, &unspool_model::Step)| NodeMetricsDoc {
        id: step.id.show('s'),
        kind: step.kind.name(),
        name: step.name.some().map(|name| text.get(name).to_string()),
        in_degree: 0,
        out_degree: 0,
        children: 0,
        descendants: 0,
        agents_below: 0,
        reaches: reach.map(|reach| reach[n]),
        own_ms: step.duration_ms.get(),
        inclusive_ms: None,
        estimated: step.start_estimated || !step.started.is_some() || !step.ended.is_some(),
        on_critical_path: false,
        slack_ms: None,
    };
    let mut rows: Vec<NodeMetricsDoc> = flow.steps.iter().enumerate().map(row).collect();
    for edge in &flow.edges {
        rows[edge.from as usize].out_degree += 1;
        rows[edge.to as usize].in_degree += 1;
    }
    for spawn in flow.agents.iter().filter_map(|agent| agent.spawn) {
        rows[spawn.step as usize].agents_below += 1;
    }
    below(flow, &mut rows);
    let slack = network.slack();
    for (step, slot) in network.steps() {
        rows[step as usize].slack_ms = Some(slack[slot as usize]);
    }
    for slot in path {
        let moment = network.moments[*slot as usize];
        rows[step_of(moment) as usize].on_critical_path |= !is_begin(moment);
    }
    rows
}

/// Sums up the timeline tree. Parents come before children in `seq`, so that one walk from the end on does.
fn below(flow: &Flow, rows: &mut [NodeMetricsDoc]) {
    let mut last_end: Vec<_> = flow.steps.iter().map(|step| step.ended.later(step.started)).collect();
    for n in (0..flow.steps.len()).rev() {
        let step = &flow.steps[n];
        rows[n].inclusive_ms = last_end[n].ms_since(step.started).map(|ms| ms.max(0));
        let parent = step.parent as usize;
        if parent < n {
            rows[parent].children += 1;
            rows[parent].descendants += rows[n].descendants + 1;
            rows[parent].agents_below += rows[n].agents_below;
            last_end[parent] = last_end[parent].later(last_end[n]);
        }
    }
}
