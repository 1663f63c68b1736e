//! What led to some steps and what they led to, along the edges that the graph of the session shows.
//!
//! In: steps. Out: positions in the depth-first order of the tree, as stretches: a chain through a whole session is short to tell.

use crate::graph::shown_edges;
use crate::path::stretches;
use crate::query::Selection;
use schemars::JsonSchema;
use serde::Serialize;
use unspool_model::Flow;

/// What led to some steps and what they led to.
#[derive(Serialize, JsonSchema)]
pub struct ChainDoc {
    /// The session.
    pub session_id: String,
    /// Positions of the steps themselves.
    pub of: Vec<u32>,
    /// What led to them: stretches of positions, the first and the last of each.
    pub causes: Vec<[u32; 2]>,
    /// What they led to, likewise.
    pub effects: Vec<[u32; 2]>,
    /// How many steps led to them.
    pub cause_count: usize,
    /// How many steps they led to.
    pub effect_count: usize,
}

/// Whose causes and effects are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChainEnd {
    /// Of a step.
    Step(usize),
    /// What led to the first of two steps, and what the second led to.
    Edge(usize, usize),
    /// Of every step of an agent.
    Agent(usize),
}

/// What led to these and what they led to.
pub fn chain(flow: &Flow, ends: &[ChainEnd]) -> ChainDoc {
    let none = || Selection::none(flow.steps.len());
    let (mut first, mut last) = (none(), none());
    for end in ends {
        match end {
            ChainEnd::Step(step) => {
                first.add(*step);
                last.add(*step);
            }
            ChainEnd::Edge(from, to) => {
                first.add(*from);
                last.add(*to);
            }
            ChainEnd::Agent(agent) => {
                let own = flow.steps.iter().enumerate().filter(|(_, step)| step.agent as usize == *agent);
                for (step, _) in own {
                    first.add(step);
                    last.add(step);
                }
            }
        }
    }
    let shown = shown_edges(flow);
    let causes = reachable(flow, &shown, &first, |from, to| (to, from));
    let effects = reachable(flow, &shown, &last, |from, to| (from, to));
    let mut of: Vec<u32> = positions(&first).chain(positions(&last)).collect();
    of.sort_unstable();
    of.dedup();
    ChainDoc {
        session_id: flow.session.id.show('x'),
        of,
        cause_count: causes.count(),
        effect_count: effects.count(),
        causes: stretches(positions(&causes)),
        effects: stretches(positions(&effects)),
    }
}

/// Steps that shown edges lead to from these; those it begins with are in it only when an edge leads back to them.
fn reachable(
    flow: &Flow,
    shown: &[bool],
    begin: &Selection,
    near_far: impl Fn(u32, u32) -> (u32, u32),
) -> Selection {
    let steps = flow.steps.len();
    let edges = || {
        let shown = flow.edges.iter().zip(shown).filter(|(_, shown)| **shown);
        shown.map(|(edge, _)| near_far(edge.from, edge.to))
    };
    // The far ends of each step's edges, as ranges of one list.
    let mut starts = vec![0_u32; steps + 1];
    for (near, _) in edges() {
        starts[near as usize + 1] += 1;
    }
    for n in 0..steps {
        starts[n + 1] += starts[n];
    }
    let mut next = starts.clone();
    let mut far_ends = vec![0_u32; starts.last().copied().unwrap_or(0) as usize];
    for (near, far) in edges() {
        let place = &mut next[near as usize];
        far_ends[*place as usize] = far;
        *place += 1;
    }
    let mut found = Selection::none(steps);
    let mut waiting: Vec<usize> = begin.iter().collect();
    while let Some(step) = waiting.pop() {
        for far in &far_ends[starts[step] as usize..starts[step + 1] as usize] {
            let far = *far as usize;
            if !found.has(far) {
                found.add(far);
                waiting.push(far);
            }
        }
    }
    found
}

fn positions(steps: &Selection) -> impl Iterator<Item = u32> {
    steps.iter().filter_map(|step| u32::try_from(step).ok())
}

#[cfg(test)]
mod tests {
    use super::{ChainEnd, chain};
    use crate::drawn::Drawn;

    /// 0 model, 1 tool, 2 another tool, 3 model that reads the result of 1.
    fn drawn() -> Drawn {
        let mut drawn = Drawn::new();
        let model = drawn.model(0, (0, 5));
        let read = drawn.tool(model, "Read", "", (5, 9));
        drawn.tool(model, "Bash", "", (5, 20));
        let next = drawn.model(0, (21, 25));
        drawn.result(read, next);
        drawn
    }

    #[test]
    fn a_chain_goes_up_and_down_and_leaves_out_what_is_beside_it() {
        let drawn = drawn();
        let told = chain(&drawn.flow, &[ChainEnd::Step(1)]);
        assert_eq!((told.of, told.causes, told.effects), (vec![1], vec![[0, 0]], vec![[3, 3]]));
        let first = chain(&drawn.flow, &[ChainEnd::Step(0)]);
        assert_eq!((first.effects, first.effect_count, first.cause_count), (vec![[1, 3]], 3, 0));
    }

    #[test]
    fn a_chain_goes_into_the_agent_that_was_started_and_through_what_it_was_told() {
        let mut drawn = Drawn::new();
        drawn.input(0);
        let model = drawn.model(0, (1, 5));
        let call = drawn.tool(model, "Task", "", (5, 90));
        let agent = drawn.agent(call, "Explore", 6);
        drawn.model(agent, (7, 20));
        let told = chain(&drawn.flow, &[ChainEnd::Step(2)]);
        assert_eq!((told.causes, told.effects), (vec![[0, 1]], vec![[3, 4]]));
    }

    #[test]
    fn an_edge_has_what_led_to_its_begin_and_what_its_end_led_to() {
        let drawn = drawn();
        let told = chain(&drawn.flow, &[ChainEnd::Edge(0, 1)]);
        assert_eq!((told.of, told.causes, told.effects), (vec![0, 1], vec![], vec![[3, 3]]));
    }

    #[test]
    fn an_agent_has_that_of_all_its_steps() {
        let drawn = drawn();
        let told = chain(&drawn.flow, &[ChainEnd::Agent(0)]);
        assert_eq!((told.of.len(), told.causes, told.effects), (4, vec![[0, 1]], vec![[1, 3]]));
    }
}
