//! Numbers of small sessions, and what holds for every flow.

use super::metrics;
use crate::drawn::{Drawn, wild};
use proptest::prelude::*;

/// A model call starts two agents; one of them fails at what it does.
fn session() -> Drawn {
    let mut drawn = Drawn::new();
    drawn.input(0);
    let ask = drawn.model(0, (0, 10));
    let first = drawn.tool(ask, "Task", "a", (10, 100));
    let one = drawn.agent(first, "Explore", 11);
    let inner = drawn.model(one, (11, 20));
    let grep = drawn.tool(inner, "Grep", "x", (20, 90));
    let second = drawn.tool(ask, "Task", "b", (10, 60));
    let two = drawn.agent(second, "Explore", 11);
    let failed = drawn.model(two, (11, 50));
    drawn.fail(failed);
    drawn.fail(second);
    drawn.flow.agents[two as usize].last_step = failed;
    let answer = drawn.model(0, (100, 110));
    drawn.result(first, answer);
    drawn.result(second, answer);
    assert_eq!(drawn.flow.steps[grep as usize].parent, inner);
    drawn
}

#[test]
fn graph_nodes_and_agents() {
    let doc = metrics(&session().flow, &session().batch.text);
    let graph = &doc.graph;
    assert_eq!((graph.nodes, graph.spawns, graph.tool_dependencies, graph.agent_depth), (10, 2, 2, 1));
    assert_eq!((graph.depth, graph.max_children), (2, 2), "model, call, answer or agent");
    let ask = &doc.nodes[1];
    assert_eq!((ask.children, ask.agents_below, ask.reaches), (2, 2, Some(5)));
    assert_eq!((ask.inclusive_ms, ask.on_critical_path, ask.slack_ms), (Some(100), true, Some(0)));
    assert_eq!(doc.agents[0].spawned, 2);
    assert_eq!((doc.agents[2].errors, doc.agents[2].errors_propagated), (1, 1));
    let explore = doc.agent_types.iter().find(|row| row.agent_type == "Explore").unwrap();
    assert_eq!((explore.agents, explore.errors, explore.tools.len()), (2, 1, 1));
    assert!((explore.spawn_share - 1.0).abs() < 1e-9);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn sums_are_those_of_the_parts(drawn in wild()) {
        let doc = metrics(&drawn.flow, &drawn.batch.text);
        let steps = drawn.flow.steps.len() as u64;
        prop_assert_eq!(doc.graph.edges, doc.graph.edges_by_kind.iter().map(|kind| kind.count).sum::<u64>());
        prop_assert_eq!(doc.agents.iter().map(|agent| agent.steps).sum::<u64>(), steps);
        let errors = drawn.flow.steps.iter().filter(|step| step.is_error).count();
        prop_assert_eq!(doc.failures.failures.len(), errors);
        let below: u64 = doc.nodes.iter().map(|node| node.children).sum();
        prop_assert_eq!(below + doc.graph.roots, steps);
        prop_assert_eq!(doc.graph.nodes_with_reach, steps);
        prop_assert!(doc.nodes.iter().all(|node| node.reaches.is_none_or(|reaches| reaches <= steps)));
    }
}
