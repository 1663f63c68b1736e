//! The shapes of the seed, and what must hold for all of them.

use super::{END, Item, Manual, NodeType, Options, START, Workflow, workflow};
use unspool_model::Timestamp;

fn item<'a>(id: &str, parent: Option<&str>, name: &'a str, at_ms: i64) -> Item<'a> {
    Item { parent: parent.map(Into::into), started: Timestamp::from_ms(at_ms), ..Item::new(id.into(), name) }
}

fn llm<'a>(id: &str, parent: Option<&str>, name: &'a str, at_ms: i64) -> Item<'a> {
    Item { node_type: Some(NodeType::Llm), ..item(id, parent, name, at_ms) }
}

fn found(items: &[Item<'_>]) -> Workflow {
    workflow(items, &Options::default())
}

/// Edges as text, without begin and end.
fn edges(graph: &Workflow) -> Vec<String> {
    let id = |node: u32| graph.nodes[node as usize].id.as_str();
    let name = |node: u32| id(node).rsplit_once(':').map_or(id(node), |(_, name)| name).to_string();
    let inner = graph.edges.iter().filter(|edge| id(edge.source) != START && id(edge.target) != END);
    inner
        .map(|edge| {
            let arrow = if edge.bidirectional { "<->" } else { "->" };
            format!("{}{arrow}{}", name(edge.source), name(edge.target))
        })
        .collect()
}

#[test]
fn a_loop_of_model_and_tool_is_two_nodes_and_one_double_edge() {
    let items = [
        llm("1", Some("root"), "generateText", 100),
        item("2", Some("root"), "search_web", 200),
        llm("3", Some("root"), "generateText", 300),
    ];
    let graph = found(&items);
    assert_eq!(graph.nodes.len(), 4);
    assert_eq!(graph.edges.len(), 3);
    assert_eq!(edges(&graph), ["generateText<->search_web"]);
    assert_eq!(graph.nodes[1].item_ids, ["1".into(), "3".into()]);
    assert_eq!(graph.nodes[1].node_type, NodeType::Llm);
    assert_eq!(graph.nodes[2].node_type, NodeType::Retrieval);
}

#[test]
fn time_that_nobody_states_is_no_zero() {
    let timed = Item { took_ms: Some(7), ..item("2", Some("root"), "make", 200) };
    let graph = found(&[item("1", Some("root"), "ask", 100), timed, item("3", Some("root"), "make", 300)]);
    let took: Vec<_> = graph.nodes[1..3].iter().map(|node| node.duration_ms).collect();
    assert_eq!(took, [None, Some(7)]);
    let drawn = crate::graph::from_workflow("", &graph);
    assert_eq!(drawn.nodes[1..3].iter().map(|node| node.busy_ms).collect::<Vec<_>>(), took);
}

#[test]
fn siblings_that_fan_out_are_not_chained_also_at_the_root() {
    for parent in [None, Some("p")] {
        let mut items = vec![
            item("1", parent, "llm", 10),
            item("2", parent, "toolB", 20),
            item("3", parent, "toolC", 30),
            item("4", parent, "llm", 40),
        ];
        if parent.is_some() {
            items.push(item("p", None, "agent", 0));
            items.push(item("p2", None, "other", 1));
        }
        let graph = found(&items);
        let found = edges(&graph);
        assert!(
            found.contains(&"llm<->toolB".to_string()) && found.contains(&"llm<->toolC".to_string()),
            "{found:?}"
        );
        assert!(!found.iter().any(|edge| edge.contains("toolB") && edge.contains("toolC")), "{found:?}");
        assert_eq!(found.contains(&"agent->llm".to_string()), parent.is_some());
    }
}

#[test]
fn calls_of_one_model_call_ran_side_by_side_and_a_pipeline_did_not() {
    let call = |id: &str, name: &'static str, at: i64| Item {
        caller: Some("m".into()),
        node_type: Some(NodeType::Tool),
        ended: Timestamp::from_ms(at + 5),
        ..item(id, None, name, at)
    };
    let items = [llm("m", None, "model", 0), call("a", "Read", 10), call("b", "Grep", 20)];
    assert_eq!(edges(&found(&items)), ["model->Read", "model->Grep"]);
    let items = [item("1", None, "load", 0), item("2", None, "clean", 10), item("3", None, "save", 20)];
    assert_eq!(edges(&found(&items)), ["load->clean", "clean->save"]);
}

#[test]
fn parents_keep_names_apart_and_lone_containers_are_folded() {
    let items = [
        item("1", Some("p1"), "op", 100),
        item("2", Some("p1"), "op", 200),
        item("3", Some("p2"), "op", 300),
    ];
    let graph = found(&items);
    let ids: Vec<&str> = graph.nodes.iter().map(|node| node.id.as_str()).collect();
    assert_eq!(ids, [START, "p1:op", "p2:op", END]);
    assert!(edges(&graph).is_empty(), "no edge from a node to itself, none between parents");
    let items = [
        item("agent", None, "invoke_agent planner", 100),
        item("c1", Some("agent"), "chat", 200),
        item("c2", Some("agent"), "chat", 400),
        item("b", Some("c1"), "Bash", 250),
        item("out", Some("agent"), "StructuredOutput", 500),
    ];
    let hide = Options { hide_names: vec!["Bash".into()], ..Options::default() };
    let graph = workflow(&items, &hide);
    let names: Vec<&str> = graph.nodes.iter().map(|node| node.display_name.as_str()).collect();
    assert_eq!(names, ["Start", "chat", "StructuredOutput", "End"]);
}

#[test]
fn what_the_source_draws_itself_wins_whole() {
    let manual = |id: &str, parents: &[&str]| {
        let parents = parents.iter().map(ToString::to_string).collect();
        Some(Box::new(Manual { id: id.into(), parents, ..Manual::default() }))
    };
    let items = [
        Item { manual: manual("n1", &[]), ..item("1", None, "x", 1) },
        Item { manual: manual("n2", &["n1"]), ..item("2", None, "", 2) },
        item("3", None, "unplaced", 3),
    ];
    let graph = found(&items);
    assert!(!graph.auto_generated);
    assert_eq!(graph.nodes.len(), 2);
    assert_eq!(graph.nodes[1].display_name, "Operation");
    assert_eq!(edges(&graph), ["n1->n2"]);
}

#[test]
fn nothing_gives_nothing_and_order_does_not_matter() {
    assert_eq!(found(&[]).nodes.len(), 0);
    let mut items = vec![
        llm("1", None, "m", 1),
        item("2", None, "t", 2),
        llm("3", None, "m", 3),
        item("4", Some("2"), "inner", 2),
    ];
    let graph = found(&items);
    items.reverse();
    assert_eq!(found(&items), graph);
    let total: usize = graph.nodes.iter().map(|node| node.item_ids.len()).sum();
    assert_eq!(total, items.len(), "every item is in one node");
}

#[test]
fn too_many_transitions_are_counted_and_left_out() {
    const SIDE_BY_SIDE: i64 = 1_100;
    let names: Vec<String> = (0..SIDE_BY_SIDE).map(|n| n.to_string()).collect();
    let mut items = Vec::new();
    for (round, begin) in [("a", 0), ("b", 2_000)] {
        for (n, name) in (0..).zip(&names) {
            let one = item(&format!("{round}{n}"), None, if round == "a" { name } else { "later" }, begin);
            let one = Item { ended: Timestamp::from_ms(begin + 1_000), ..one };
            items.push(if round == "a" { one } else { Item { name: format!("after {name}").into(), ..one } });
        }
    }
    let graph = found(&items);
    let all = SIDE_BY_SIDE * SIDE_BY_SIDE + 2 * SIDE_BY_SIDE;
    assert_eq!(graph.edges.len() as u64 + graph.transitions_left_out, u64::try_from(all).unwrap());
    assert!(graph.transitions_left_out > 0);
}
