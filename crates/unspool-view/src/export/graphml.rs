//! A graph as `GraphML`, for networkx, yEd, Gephi and the like.
//!
//! In: a graph. Out: XML with typed keys; the graph is flat, and each node says which box it lies in. Never here: layout.

use super::figures::{figures, group};
use super::text::showable;
use crate::draw::xml;
use crate::graph::{Edge, Graph, Node};
use std::io::{Result, Write};

/// Name and type of what is said of each node.
const NODE_KEYS: [(&str, &str); 20] = [
    ("id", "string"),
    ("label", "string"),
    ("detail", "string"),
    ("kind", "string"),
    ("group", "string"),
    ("group_label", "string"),
    ("started_at", "string"),
    ("ended_at", "string"),
    ("busy_ms", "long"),
    ("steps", "long"),
    ("model_calls", "long"),
    ("tool_calls", "long"),
    ("errors", "long"),
    ("input_tokens", "long"),
    ("cache_read_tokens", "long"),
    ("cache_write_tokens", "long"),
    ("output_tokens", "long"),
    ("reasoning_tokens", "long"),
    ("cost_usd", "double"),
    ("is_error", "boolean"),
];

/// Name and type of what is said of each edge.
const EDGE_KEYS: [(&str, &str); 7] = [
    ("relation", "string"),
    ("label", "string"),
    ("count", "long"),
    ("confidence", "double"),
    ("inferred", "boolean"),
    ("is_error", "boolean"),
    ("both_ways", "boolean"),
];

/// Writes a graph.
pub fn write(out: &mut impl Write, graph: &Graph) -> Result<()> {
    writeln!(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>")?;
    writeln!(out, "<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">")?;
    writeln!(out, "  <key id=\"title\" for=\"graph\" attr.name=\"title\" attr.type=\"string\"/>")?;
    for (of, keys) in [("node", &NODE_KEYS[..]), ("edge", &EDGE_KEYS[..])] {
        for (name, kind) in keys {
            writeln!(
                out,
                "  <key id=\"{of}_{name}\" for=\"{of}\" attr.name=\"{name}\" attr.type=\"{kind}\"/>"
            )?;
        }
    }
    writeln!(out, "  <graph id=\"g\" edgedefault=\"directed\">")?;
    writeln!(out, "    <data key=\"title\">{}</data>", escaped(&graph.title))?;
    for (n, node) in graph.nodes.iter().enumerate() {
        writeln!(out, "    <node id=\"n{n}\">")?;
        data(out, "node", &NODE_KEYS, node_values(graph, node))?;
        writeln!(out, "    </node>")?;
    }
    for (n, edge) in graph.edges.iter().enumerate() {
        writeln!(out, "    <edge id=\"e{n}\" source=\"n{}\" target=\"n{}\">", edge.from, edge.to)?;
        data(out, "edge", &EDGE_KEYS, edge_values(edge))?;
        writeln!(out, "    </edge>")?;
    }
    writeln!(out, "  </graph>\n</graphml>")
}

/// What is empty is left out.
fn data(out: &mut impl Write, of: &str, keys: &[(&str, &str)], values: Vec<String>) -> Result<()> {
    for ((name, _), value) in keys.iter().zip(values).filter(|(_, value)| !value.is_empty()) {
        writeln!(out, "      <data key=\"{of}_{name}\">{}</data>", escaped(&value))?;
    }
    Ok(())
}

fn node_values(graph: &Graph, node: &Node) -> Vec<String> {
    let said = [node.id.clone(), node.label.clone(), node.detail.clone(), node.kind.to_string()];
    let failed = [node.is_error.to_string()];
    said.into_iter().chain(group(graph, node)).chain(figures(node)).chain(failed).collect()
}

fn edge_values(edge: &Edge) -> Vec<String> {
    vec![
        edge.relation.name().to_string(),
        edge.label.clone(),
        edge.count.to_string(),
        edge.confidence.as_f64().to_string(),
        edge.inferred.to_string(),
        edge.is_error.to_string(),
        edge.both_ways.to_string(),
    ]
}

/// A text between tags.
fn escaped(text: &str) -> String {
    xml::escaped(&showable(text))
}
