//! A graph for Graphviz.
//!
//! In: a graph. Out: DOT text; boxes are clusters, nodes are `n0`, `n1`, … with their own id as `id`. Never here: layout.

use super::nested::{Nested, Visit};
use super::text::{BOX, LOOKS, beside, class_of, heading, name, showable, snippet};
use crate::graph::{Edge, Graph, Node};
use std::io::{Result, Write};

/// Writes a graph.
pub fn write(out: &mut impl Write, graph: &Graph) -> Result<()> {
    writeln!(out, "digraph unspool {{")?;
    writeln!(
        out,
        "  graph [label={}, labelloc=t, rankdir=TB, fontname=\"Helvetica\"];",
        quoted(&name(&graph.title))
    )?;
    writeln!(out, "  node [shape=box, style=\"rounded,filled\", fontname=\"Helvetica\"];")?;
    writeln!(out, "  edge [fontname=\"Helvetica\", fontsize=10];")?;
    let nested = Nested::new(graph);
    if let Some(notice) = nested.notice() {
        writeln!(out, "  // {notice}")?;
    }
    for (depth, visit) in nested.walk() {
        let indent = "  ".repeat(depth + 1);
        match visit {
            Visit::Open(n) => {
                let group = &graph.groups[n];
                writeln!(out, "{indent}subgraph cluster_{n} {{")?;
                let (label, id) = (quoted(&snippet(&group.label)), quoted(&showable(&group.id)));
                writeln!(out, "{indent}  label={label}; id={id}; style=\"rounded,filled\";")?;
                writeln!(out, "{indent}  fillcolor=\"{}\"; color=\"{}\";", BOX.fill, BOX.line)?;
            }
            Visit::Node(n) => writeln!(out, "{indent}n{n} [{}];", node(&graph.nodes[n]))?,
            Visit::Close(_) => writeln!(out, "{indent}}}")?,
        }
    }
    for edge in &graph.edges {
        writeln!(out, "  n{} -> n{} [{}];", edge.from, edge.to, attributes(edge))?;
    }
    writeln!(out, "}}")
}

fn node(node: &Node) -> String {
    let mut label = heading(node);
    if !node.detail.is_empty() {
        label = format!("{label}\n{}", snippet(&node.detail));
    }
    let look = LOOKS.iter().find(|look| look.class == class_of(node)).unwrap_or(&BOX);
    let dashed = if node.pending { ", style=\"rounded,filled,dashed\"" } else { "" };
    format!(
        "label={}, id={}, class=\"{}\", fillcolor=\"{}\", color=\"{}\"{dashed}",
        quoted(&label),
        quoted(&showable(&node.id)),
        node.kind,
        look.fill,
        look.line
    )
}

fn attributes(edge: &Edge) -> String {
    let mut all = format!("label={}, class=\"{}\"", quoted(&beside(edge)), edge.relation.name());
    if edge.relation.is_spawn() {
        all += ", style=dashed";
    } else if edge.inferred {
        all += ", style=dotted";
    }
    if edge.is_error {
        all += ", color=\"#FF6B6B\"";
    }
    if edge.both_ways {
        all += ", dir=both";
    }
    all
}

/// A text in quotes. A backslash begins an escape and `&` an entity, so both are written as themselves.
fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '&' => quoted.push_str("&amp;"),
            '\n' => quoted.push_str("\\n"),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}
