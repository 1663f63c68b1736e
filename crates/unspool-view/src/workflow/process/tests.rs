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
fn without_a_common_path_a_variant_is_compared_with_the_nearest() {
    let run_of = |id: &str, names: &[&'static str]| {
        let items: Vec<Item<'_>> =
            names.iter().zip(0..).map(|(name, at)| item(&format!("{at}"), name, at, None)).collect();
        run(id, &items)
    };
    let names: [&[&str]; 6] =
        [&["a", "b"], &["a", "b"], &["a", "b", "c"], &["x", "y"], &["x", "y", "z"], &["a"]];
    let runs: Vec<RunPattern> =
        names.iter().zip("123456".chars()).map(|(n, id)| run_of(&id.to_string(), n)).collect();
    let found = process(&runs);
    assert_eq!((found.common, found.runs_apart(), found.uncompared()), (None, None, 0));
    let variant =
        |run: &str| found.variants.iter().find(|variant| variant.runs.iter().any(|id| id == run)).unwrap();
    let difference = variant("5").difference.as_ref().unwrap();
    assert_eq!(found.variants[difference.from as usize].runs, ["4"]);
    let names = |nodes: &[u32]| {
        nodes.iter().map(|n| found.nodes[*n as usize].display_name.clone()).collect::<Vec<_>>()
    };
    assert_eq!((names(&difference.added_nodes), difference.missing_nodes.len()), (vec!["z".to_string()], 0));
    let few = process(&runs[..2]);
    assert_eq!((few.common, few.variants.len()), (None, 1), "two runs are too few to be common");
    let many: Vec<RunPattern> =
        (0..5).map(|n| run_of(&n.to_string(), if n < 3 { names_of(0) } else { names_of(1) })).collect();
    let found = process(&many);
    assert_eq!((found.common, found.runs_apart()), (Some(0), Some(2)));
}

fn names_of(n: usize) -> &'static [&'static str] {
    [&["a", "b"][..], &["a", "c"]][n]
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
