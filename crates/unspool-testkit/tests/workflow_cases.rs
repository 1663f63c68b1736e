//! Cases of another project's workflow graph. Skipped where the samples are not at hand; `workflow/tests.rs` has the shapes.
//!
//! Where this project's graph is different on purpose: nothing is hidden by its name unless the caller asks for it (the
//! original hides `Bash`, `Agent` and other tools), and fan-out is seen at the root, too.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use serde_json::Value;
use std::path::Path;
use unspool_model::Timestamp;
use unspool_view::workflow::{Item, Manual, NodeType, Options, Workflow, WorkflowEdge, workflow};

/// The names the original hides.
const HIDDEN: [&str; 13] = [
    "Bash",
    "Read",
    "Write",
    "Edit",
    "Glob",
    "Grep",
    "Agent",
    "TodoRead",
    "TodoWrite",
    "WebFetch",
    "WebSearch",
    "NotebookEdit",
    "LSP",
];

fn cases() -> Option<Vec<Value>> {
    let file = "../../../shared/data/otlp/expected/workflow-graph-cases.json";
    let text = std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).ok()?;
    let mut cases: Value = serde_json::from_slice(&text).unwrap();
    Some(cases["cases"].as_array_mut().map(std::mem::take).unwrap())
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_string()
}

fn item(span: &Value) -> Item {
    let node_type = if span["type"] == "GENERATION" {
        Some(NodeType::Llm)
    } else {
        span["data"].get("toolCalls").map(|_| NodeType::Tool)
    };
    let at = Timestamp::from_ms(span["startTime"].as_i64().unwrap());
    Item {
        id: text(&span["spanId"]),
        parent: span["parentSpanId"].as_str().map(Into::into),
        name: text(&span["name"]),
        node_type,
        started: at,
        manual: span["data"].get("graph.node.id").map(|id| Manual { id: text(id), ..Manual::default() }),
        ..Item::default()
    }
}

/// Edges between nodes that stand for something.
fn inner(graph: &Workflow) -> impl Iterator<Item = &WorkflowEdge> {
    let works = |node: u32| !graph.nodes[node as usize].item_ids.is_empty();
    graph.edges.iter().filter(move |edge| works(edge.source) && works(edge.target))
}

fn arrows(graph: &Workflow, spans: &[Item]) -> Vec<String> {
    let name = |node: u32| {
        let node = &graph.nodes[node as usize];
        let only = spans.iter().find(|span| [span.id.clone()] == node.item_ids[..] && span.id.len() == 1);
        only.filter(|span| span.parent.is_none())
            .map_or_else(|| node.display_name.clone(), |span| span.id.clone())
    };
    let arrow = |edge: &WorkflowEdge| if edge.bidirectional { "<->" } else { "->" };
    inner(graph).map(|edge| format!("{}{}{}", name(edge.source), arrow(edge), name(edge.target))).collect()
}

fn check(case: &Value, graph: &Workflow, spans: &[Item]) {
    let name = text(&case["name"]);
    let works: Vec<_> = graph.nodes.iter().filter(|node| !node.item_ids.is_empty()).collect();
    let named = |wanted: &str| works.iter().find(|node| node.display_name == wanted).unwrap();
    for (key, expected) in case["expect"].as_object().unwrap() {
        let count = expected.as_u64().and_then(|count| usize::try_from(count).ok());
        match key.as_str() {
            "work_nodes" if count.is_some() => assert_eq!(Some(works.len()), count, "{name}"),
            "work_nodes" => {
                let found: Vec<String> = works
                    .iter()
                    .map(|node| match node.item_ids.len() {
                        1 => node.display_name.clone(),
                        many => format!("{} x{many}", node.display_name),
                    })
                    .collect();
                assert_eq!(serde_json::json!(found), *expected, "{name}");
            }
            "total_nodes_with_start_end" => assert_eq!(Some(graph.nodes.len()), count, "{name}"),
            "edges_total" => assert_eq!(Some(graph.edges.len()), count, "{name}"),
            "execution_edges" => assert_eq!(Some(inner(graph).count()), count, "{name}"),
            "bidirectional_edges" => {
                assert_eq!(
                    Some(graph.edges.iter().filter(|edge| edge.bidirectional).count()),
                    count,
                    "{name}"
                );
            }
            "node" => {
                for (wanted, facts) in expected.as_object().unwrap() {
                    assert_eq!(serde_json::json!(named(wanted).item_ids), facts["spanIds"], "{name}");
                    assert!(text(&facts["type"]).starts_with(named(wanted).node_type.name()), "{name}");
                }
            }
            "nodes" if count.is_some() => assert_eq!(Some(graph.nodes.len()), count, "{name}"),
            "nodes" => {
                for (id, spans) in expected.as_object().unwrap() {
                    let node = works.iter().find(|node| node.id == *id).unwrap();
                    assert_eq!(serde_json::json!(node.item_ids), *spans, "{name}");
                }
            }
            "types" => {
                for (wanted, node_type) in expected.as_object().unwrap() {
                    assert_eq!(named(wanted).node_type.name(), text(node_type), "{name}");
                }
            }
            "edges" if count.is_some() => assert_eq!(Some(graph.edges.len()), count, "{name}"),
            "edges" => {
                let found = arrows(graph, spans);
                for edge in expected.as_array().unwrap() {
                    assert!(found.contains(&text(edge)), "{name}: {edge} is not in {found:?}");
                }
            }
            "absent" => {
                let found = arrows(graph, spans);
                for edge in expected.as_array().unwrap() {
                    assert!(!found.contains(&text(edge)), "{name}: {edge} is in {found:?}");
                }
            }
            "auto_generated" => assert_eq!(Some(graph.auto_generated), expected.as_bool(), "{name}"),
            "excluded" => {}
            other => panic!("{name}: nothing checks `{other}`"),
        }
    }
}

#[test]
fn the_cases_hold() {
    let Some(cases) = cases() else { return };
    assert!(cases.len() >= 10);
    for case in &cases {
        let spans: Vec<Item> = case["spans"].as_array().unwrap().iter().map(item).collect();
        let hide = case["expect"].get("excluded").is_some();
        let hide_names = if hide { HIDDEN.map(Into::into).to_vec() } else { Vec::new() };
        check(case, &workflow(&spans, &Options { hide_names, ..Options::default() }), &spans);
    }
}
