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
fn a_known_zero_is_a_time_and_an_unknown_one_is_not() {
    let times = [Some(0), Some(0), Some(9), None];
    let runs: Vec<RunPattern> =
        times.map(|took| run("r", &[item("1", "look", 0, took), item("2", "ask", 1, None)])).into();
    let process = process(&runs);
    assert_eq!((node(&process, "look").median_ms, node(&process, "look").total_ms()), (Some(0), Some(9)));
    assert_eq!((node(&process, "ask").median_ms, node(&process, "ask").total_ms()), (None, None));
}
