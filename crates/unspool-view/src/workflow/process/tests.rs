//! What small processes say, whatever the order of their runs.

use super::{Process, ProcessNode, RunPattern, process};
use crate::workflow::{Grouping, Item, Options};
use unspool_model::Timestamp;

fn item<'a>(id: &str, name: &'a str, at_ms: i64, took_ms: Option<i64>) -> Item<'a> {
    Item { started: Timestamp::from_ms(at_ms), took_ms, ..Item::new(id.into(), name) }
}

fn run(id: &str, items: &[Item<'_>]) -> RunPattern {
    let options = Options { grouping: Grouping::Path, ..Options::default() };
    RunPattern::new(id.into(), items, &options)
}

fn node<'p>(process: &'p Process, name: &str) -> &'p ProcessNode {
    process.nodes.iter().find(|node| node.display_name == name).unwrap()
}

#[test]
fn the_order_of_runs_does_not_matter() {
    let named = |display_name: &str, parent: u32, enters: bool| {
        let mut one = run("r", &[item("1", "look", 0, None), item("2", "ask", 1, None)]);
        let nodes = &mut one.workflow.nodes;
        let ask = nodes.iter_mut().find(|node| node.id.ends_with("ask")).unwrap();
        (ask.display_name, ask.parent) = (display_name.into(), Some(parent));
        one.workflow.edges.iter_mut().for_each(|edge| edge.enters = enters);
        one
    };
    let mut runs = [named("Ask", 0, false), named("ask", 1, true)];
    let there = process(&runs);
    runs.reverse();
    let back = process(&runs);
    assert_eq!((there.nodes, there.edges), (back.nodes, back.edges));
}

#[test]
fn a_known_zero_is_a_time_and_an_unknown_one_is_not() {
    let times = [Some(0), Some(0), Some(9), None];
    let runs: Vec<RunPattern> =
        times.map(|took| run("r", &[item("1", "look", 0, took), item("2", "ask", 1, None)])).into();
    let process = process(&runs);
    assert_eq!((node(&process, "look").median_ms, node(&process, "look").total_ms()), (Some(0), Some(9)));
    assert_eq!((node(&process, "ask").median_ms, node(&process, "ask").total_ms()), (None, None));
}
