//! The items of all runs of a flow, made once.
//!
//! In: a flow. Out: for each run, the items it would have alone. Never here: how an item is made, which `from_flow` says.

use super::{Item, ItemId, items};
use crate::prices::Prices;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use unspool_model::{Batch, Flow, Id};

/// By run: its steps, and the agents that have one in it.
pub(super) fn items_by_run<'b>(flow: &Flow, batch: &'b Batch, prices: &Prices) -> Vec<Vec<Item<'b>>> {
    let mut runs_of_agent: FxHashMap<Id, BTreeSet<u32>> = FxHashMap::default();
    for step in &flow.steps {
        if let Some(agent) = flow.agents.get(step.agent as usize) {
            runs_of_agent.entry(agent.id).or_default().insert(step.run);
        }
    }
    let mut by_run = vec![Vec::new(); flow.runs.len()];
    for item in items(flow, batch, prices, None) {
        let runs: Vec<u32> = match &item.id {
            ItemId::Own('a', agent) => runs_of_agent.get(agent).into_iter().flatten().copied().collect(),
            _ => flow.steps.get(item.order as usize).map(|step| step.run).into_iter().collect(),
        };
        for run in runs {
            if let Some(items) = by_run.get_mut(run as usize) {
                items.push(item.clone());
            }
        }
    }
    by_run
}

#[cfg(test)]
mod tests {
    use super::items_by_run;
    use crate::drawn::wild;
    use crate::prices::Prices;
    use crate::workflow::items;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn each_run_has_the_items_it_has_alone(mut drawn in wild()) {
            for (n, agent) in (0_u32..).zip(&mut drawn.flow.agents) {
                agent.id = unspool_model::Id::of(&[b"agent", &n.to_le_bytes()]);
            }
            let (flow, batch, prices) = (&drawn.flow, &drawn.batch, Prices::default());
            for (n, run) in (0_u32..).zip(items_by_run(flow, batch, &prices)) {
                prop_assert_eq!(run, items(flow, batch, &prices, Some(n)));
            }
        }
    }
}
