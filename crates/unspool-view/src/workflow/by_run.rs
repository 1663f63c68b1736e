//! The items of all runs of a flow, made once.
//!
//! In: a flow. Out: for each run, the items it would have alone. Never here: how an item is made, which `from_flow` says.

use super::{Item, Items};
use crate::prices::Prices;
use unspool_model::{Batch, Flow};

/// By run: its steps, and the agents that hold them.
pub(super) fn items_by_run<'b>(flow: &Flow, batch: &'b Batch, prices: &Prices) -> Vec<Vec<Item<'b>>> {
    let mut steps: Vec<Vec<u32>> = vec![Vec::new(); flow.runs.len()];
    for (n, step) in (0_u32..).zip(&flow.steps) {
        if let Some(steps) = steps.get_mut(step.run as usize) {
            steps.push(n);
        }
    }
    let all = Items::new(flow, batch, prices, false);
    steps.into_iter().map(|steps| all.only(steps.into_iter())).collect()
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
