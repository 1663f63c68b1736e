//! The guess that is made only on demand: conversations of one sort that follow each other closely belong together.

use super::{Edge, Graph, Relation};
use unspool_model::flow::NONE;
use unspool_model::{Agent, Batch, Confidence, Flow};

/// A pause this long or longer speaks against a connection.
const LONGEST_PAUSE_MS: i64 = 5 * 60 * 1000;
/// What the guess is worth without a pause and with the longest one, in ten-thousandths.
const WORTH: (i64, i64) = (6_000, 4_000);

/// Links the last step of an agent to the first of the next agent of its kind, where nothing else leads to that.
pub(super) fn sequential(
    flow: &Flow,
    batch: &Batch,
    node_of: &[u32],
    min_confidence: Option<Confidence>,
    graph: &mut Graph,
) {
    let mut reached = vec![false; graph.nodes.len()];
    for edge in &graph.edges {
        reached[edge.to as usize] = true;
    }
    let ends = ends(flow, node_of);
    let loose = |agent: &Agent| agent.spawn.is_none() && !agent.internal;
    let mut agents: Vec<(usize, &Agent)> =
        flow.agents.iter().enumerate().filter(|(_, agent)| loose(agent)).collect();
    agents.sort_unstable_by_key(|(_, agent)| (batch.text.get(agent.kind), agent.started, agent.id));
    for pair in agents.windows(2) {
        let ((before_n, before), (after_n, after)) = (pair[0], pair[1]);
        let pause = after.started.ms_since(before.ended);
        let Some(pause) = pause.filter(|ms| (0..LONGEST_PAUSE_MS).contains(ms)) else { continue };
        let (Some((_, from)), Some((to, _))) = (ends[before_n], ends[after_n]) else { continue };
        let worth = WORTH.0 - (WORTH.0 - WORTH.1) * pause / LONGEST_PAUSE_MS;
        let confidence = Confidence::from_ten_thousandths(u16::try_from(worth).unwrap_or(0));
        let is_believed = min_confidence.is_none_or(|least| confidence >= least);
        if before.kind != after.kind || from == to || !is_believed {
            continue;
        }
        if std::mem::replace(&mut reached[to as usize], true) {
            continue;
        }
        graph.edges.push(Edge {
            from,
            to,
            relation: Relation::Sequential,
            count: 1,
            label: String::new(),
            confidence,
            inferred: true,
            is_error: false,
            through: Vec::new(),
            both_ways: false,
            link: None,
        });
    }
}

/// The first and the last node of each agent.
fn ends(flow: &Flow, node_of: &[u32]) -> Vec<Option<(u32, u32)>> {
    let mut ends = vec![None; flow.agents.len()];
    for (step, node) in flow.steps.iter().zip(node_of).filter(|(_, node)| **node != NONE) {
        if let Some(slot) = ends.get_mut(step.agent as usize) {
            *slot = Some((slot.map_or(*node, |(first, _)| first), *node));
        }
    }
    ends
}
