//! What holds for every export of a graph: everything is in it once, the same each time, whatever things are called.

use super::d2::Boards;
use super::{csv, d2, dot, graph_json, graphml, join, mermaid, speedscope, subtasks};
use crate::drawn::Drawn;
use crate::graph::{Edge, Graph, Group, Level, Node, Relation};
use crate::prices::Prices;
use crate::totals::Totals;
use unspool_model::{Batch, Confidence, EdgeKind, Flow, Timestamp};

const HOSTILE: &[&str] = &[
    "end",
    "a \"quoted\" name",
    "pipes | and $ and \\ and ${x}",
    "two\nlines",
    "<b>&amp;</b>",
    "👩‍👧 שלום \u{202e}",
    "\u{0}\u{1b}[31m",
    "a b",
    "a_b",
    "",
    "=1+1",
];

fn node(name: &str, kind: &'static str, group: Option<u32>) -> Node {
    Node {
        id: format!("id:{name}"),
        label: name.into(),
        detail: name.into(),
        kind,
        group,
        totals: Totals { steps: 1, ..Totals::default() },
        ..Node::default()
    }
}

fn edge(from: u32, to: u32, kind: EdgeKind) -> Edge {
    Edge {
        from,
        to,
        relation: Relation::Flow(kind),
        count: 1,
        label: String::new(),
        confidence: Confidence::EXACT,
        inferred: false,
        is_error: false,
        through: Vec::new(),
        both_ways: false,
        link: None,
    }
}

/// A call that fails in a sub-agent, found by inference.
fn small() -> Graph {
    let mut failed = node("Bash", "tool_call", Some(0));
    (failed.is_error, failed.busy_ms) = (true, Some(250));
    failed.detail = "price < $5 | \"cheap\"".into();
    let spawn = Edge {
        confidence: Confidence::from_ten_thousandths(9_700),
        inferred: true,
        label: "Explore".into(),
        ..edge(1, 2, EdgeKind::SubagentSpawn)
    };
    Graph {
        title: "Find the bug".into(),
        nodes: vec![node("user", "user_message", None), node("opus", "model_call", None), failed],
        edges: vec![edge(0, 1, EdgeKind::Sequence), spawn],
        groups: vec![Group { id: "a1".into(), label: "Explore “look”".into(), parent: None }],
        ..Graph::default()
    }
}

fn hostile() -> Graph {
    let groups = HOSTILE.iter().zip(0_u32..);
    let groups = groups.map(|(name, n)| Group {
        id: format!("box:{name}"),
        label: (*name).into(),
        parent: n.checked_sub(1).filter(|_| n % 2 == 1),
    });
    let mut graph = Graph { title: HOSTILE.join(" "), groups: groups.collect(), ..Graph::default() };
    for (n, name) in (0_u32..).zip(HOSTILE) {
        graph.nodes.push(node(name, "tool_call", Some(n).filter(|n| n % 3 > 0)));
        if n > 0 {
            graph.edges.push(Edge { label: (*name).into(), ..edge(n - 1, n, EdgeKind::ToolResult) });
        }
    }
    graph
}

type Writer = fn(&mut Vec<u8>, &Graph) -> std::io::Result<()>;

fn text_of(write: Writer, graph: &Graph) -> String {
    let mut bytes = Vec::new();
    write(&mut bytes, graph).unwrap();
    String::from_utf8(bytes).unwrap()
}

fn boards(drill_down: bool) -> Boards {
    Boards { drill_down, chained: true }
}

#[test]
fn a_small_graph_in_dot() {
    insta::assert_snapshot!(text_of(dot::write, &small()));
}

#[test]
fn a_small_graph_in_mermaid() {
    insta::assert_snapshot!(text_of(mermaid::write, &small()));
}

#[test]
fn a_small_graph_in_d2() {
    insta::assert_snapshot!(text_of(|out, graph| d2::write(out, graph, boards(false)), &small()));
}

#[test]
fn a_small_graph_in_d2_to_drill_down() {
    insta::assert_snapshot!(text_of(|out, graph| d2::write(out, graph, boards(true)), &small()));
}

#[test]
fn a_small_graph_in_graphml() {
    insta::assert_snapshot!(text_of(graphml::write, &small()));
}

#[test]
fn small_tables() {
    let (flow, batch) = (Flow::default(), Batch::default());
    let mut bytes = Vec::new();
    csv::node_head(&mut bytes).unwrap();
    csv::nodes(&mut bytes, &flow.session.id.show('x'), &flow, &batch, &small()).unwrap();
    csv::edge_head(&mut bytes).unwrap();
    csv::edges(&mut bytes, &flow.session.id.show('x'), &small()).unwrap();
    insta::assert_snapshot!(String::from_utf8(bytes).unwrap().replace("\r\n", "\n"));
}

#[test]
fn a_small_graph_in_json() {
    let doc = graph_json::graph_doc(
        &Flow::default(),
        &Batch::default(),
        &small(),
        graph_json::Of::Flow(Level::Step),
    );
    insta::assert_snapshot!(serde_json::to_string_pretty(&doc).unwrap());
}

/// How many lines begin like this, whatever is before it.
fn lines(text: &str, start: &str) -> usize {
    text.lines().filter(|line| line.trim_start().starts_with(start)).count()
}

#[test]
fn every_node_box_and_edge_is_there_once_and_stands_on_its_own_lines() {
    let graph = hostile();
    let dot = text_of(dot::write, &graph);
    let mermaid = text_of(mermaid::write, &graph);
    let graphml = text_of(graphml::write, &graph);
    let plain = text_of(|out, graph| d2::write(out, graph, boards(false)), &graph);
    let drilled = text_of(|out, graph| d2::write(out, graph, boards(true)), &graph);
    for n in 0..graph.nodes.len() {
        assert_eq!(lines(&dot, &format!("n{n} [")), 1, "{dot}");
        assert_eq!(lines(&mermaid, &format!("n{n}[\"")), 1, "{mermaid}");
        assert_eq!(lines(&graphml, &format!("<node id=\"n{n}\">")), 1);
        assert_eq!(lines(&plain, &format!("s{}: {{", n + 1)), 1, "{plain}");
        assert_eq!(lines(&drilled, &format!("s{}: {{", n + 1)), 1, "{drilled}");
    }
    for n in 0..graph.groups.len() {
        assert_eq!(lines(&dot, &format!("subgraph cluster_{n} ")), 1);
        assert_eq!(lines(&mermaid, &format!("subgraph g{n}[")), 1);
        assert_eq!(lines(&plain, &format!("run_{}: ", n + 1)), 1);
    }
    for edge in &graph.edges {
        let (from, to) = (edge.from, edge.to);
        assert_eq!(lines(&dot, &format!("n{from} -> n{to} [")), 1);
        assert_eq!(lines(&mermaid, &format!("n{from} -->|\"")), 1);
        assert_eq!(graphml.matches(&format!("source=\"n{from}\" target=\"n{to}\"")).count(), 1);
        let ends = plain.lines().filter(|line| {
            let mut words = line.split_whitespace();
            let is = |path: Option<&str>, n: u32| {
                path.is_some_and(|path| {
                    path.trim_end_matches(':').rsplit('.').next() == Some(&format!("s{}", n + 1))
                })
            };
            is(words.next(), from) && words.next() == Some("->") && is(words.next(), to)
        });
        assert_eq!(ends.count(), 1, "{from} {to}: {plain}");
    }
}

#[test]
fn a_graph_is_written_the_same_each_time() {
    for write in [dot::write, mermaid::write, graphml::write] as [Writer; 3] {
        assert_eq!(text_of(write, &hostile()), text_of(write, &hostile()));
    }
}

#[test]
fn nothing_unprintable_is_left_in_pictures() {
    let write_d2: Writer = |out, graph| d2::write(out, graph, boards(false));
    for write in [dot::write, mermaid::write, graphml::write, write_d2] as [Writer; 4] {
        let text = text_of(write, &hostile());
        assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text}");
    }
}

#[test]
fn an_empty_graph_is_a_graph() {
    let empty = Graph::default();
    assert!(text_of(dot::write, &empty).ends_with("}\n"));
    assert!(text_of(mermaid::write, &empty).starts_with("flowchart TD\n"));
    assert!(text_of(|out, graph| d2::write(out, graph, boards(true)), &empty).contains("Nothing to show"));
}

#[test]
fn sessions_lie_in_boxes_of_their_own() {
    let one = join(vec![("x1".into(), small())], "sessions");
    assert_eq!((one.nodes.len(), one.groups.len(), one.title.as_str()), (3, 1, "Find the bug"));
    let two = join(vec![("x1".into(), small()), ("x2".into(), small())], "sessions");
    assert_eq!((two.nodes.len(), two.groups.len(), two.edges.len()), (6, 4, 4));
    assert_eq!(two.groups[3].parent, Some(2));
    assert_eq!((two.edges[2].from, two.edges[2].to), (3, 4));
    assert_eq!(two.nodes[5].id, "x2/id:Bash");
    let mut ids: Vec<&str> = two.nodes.iter().map(|node| node.id.as_str()).collect();
    ids.dedup();
    assert_eq!(ids.len(), 6);
}

#[test]
fn boxes_lie_only_so_deep_and_it_is_told() {
    let depth = 10_000_u32;
    let groups =
        (0..depth).map(|n| Group { id: format!("g{n}"), label: "a".into(), parent: n.checked_sub(1) });
    let node = |group: u32| Node {
        id: format!("n{group}"),
        label: "a".into(),
        kind: "tool_call",
        group: Some(group),
        ..Node::default()
    };
    let edge = |to: u32| Edge { from: to - 1, to, ..small().edges[0].clone() };
    let deep = Graph {
        groups: groups.collect(),
        nodes: (0..depth).map(node).collect(),
        edges: (1..depth).map(edge).collect(),
        ..Graph::default()
    };
    let write_d2: Writer = |out, graph| d2::write(out, graph, boards(false));
    for write in [dot::write, mermaid::write, write_d2] as [Writer; 3] {
        let text = text_of(write, &deep);
        assert!(text.contains("max_box_depth: 9936 boxes lie deeper than 64"), "{}", &text[..400]);
        assert!(text.len() < 32_000_000, "{}", text.len());
    }
}

#[test]
fn what_no_source_states_of_a_sub_task_is_not_zero() {
    let mut drawn = Drawn::of_words(&["user", "model:opus", "tool:Task"]);
    drawn.agent(2, "Explore", 3_000);
    let docs = subtasks::conversations(&drawn.flow, &drawn.batch, &Prices::default());
    let docs = serde_json::to_value(&docs).unwrap();
    let task = &docs[0]["subtasks"][0];
    assert!(task["total_tokens"].is_null() && task["tool_use_id"].is_null(), "{task}");
}

#[test]
fn a_profile_says_what_it_leaves_out() {
    let mut drawn = Drawn::of_words(&["user", "model:opus"]);
    let step = &mut drawn.flow.steps[1];
    (step.started, step.ended) = (Timestamp::NONE, Timestamp::NONE);
    let mut profiles = speedscope::Sessions::default();
    profiles.add(&drawn.flow, &drawn.batch);
    let name = serde_json::to_value(profiles.finish()).unwrap()["name"].as_str().unwrap().to_string();
    assert!(name.contains("1 step without a time left out"), "{name}");
}
