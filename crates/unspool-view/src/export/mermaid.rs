//! A graph as a Mermaid flowchart.
//!
//! In: a graph. Out: Mermaid text; boxes are subgraphs, nodes are `n0`, `n1`, …. Never here: layout.

use super::nested::{Nested, Visit};
use super::text::{BOX, LOOKS, beside, class_of, heading, name, snippet};
use crate::graph::{Edge, Graph};
use std::fmt::Write as _;
use std::io::{Result, Write};

/// Writes a graph.
pub fn write(out: &mut impl Write, graph: &Graph) -> Result<()> {
    writeln!(out, "flowchart TD")?;
    if !graph.title.is_empty() {
        writeln!(out, "  accTitle: {}", plain(&name(&graph.title)))?;
    }
    for look in LOOKS.iter().chain([&BOX]) {
        writeln!(out, "  classDef {} fill:{},stroke:{},color:#1B1F24", look.class, look.fill, look.line)?;
    }
    let nested = Nested::new(graph);
    if let Some(notice) = nested.notice() {
        writeln!(out, "  %% {notice}")?;
    }
    for (depth, visit) in nested.walk() {
        let indent = "  ".repeat(depth + 1);
        match visit {
            Visit::Open(n) => {
                writeln!(out, "{indent}subgraph g{n}[\"{}\"]", coded(&snippet(&graph.groups[n].label)))?;
            }
            Visit::Node(n) => {
                let node = &graph.nodes[n];
                let mut label = coded(&heading(node));
                if !node.detail.is_empty() {
                    label = format!("{label}<br/>{}", coded(&snippet(&node.detail)));
                }
                writeln!(out, "{indent}n{n}[\"{label}\"]:::{}", class_of(node))?;
            }
            Visit::Close(_) => writeln!(out, "{indent}end")?,
        }
    }
    for n in 0..graph.groups.len() {
        writeln!(out, "  class g{n} {}", BOX.class)?;
    }
    for edge in &graph.edges {
        writeln!(out, "  n{} {}|\"{}\"| n{}", edge.from, arrow(edge), coded(&beside(edge)), edge.to)?;
    }
    for (n, _) in graph.edges.iter().enumerate().filter(|(_, edge)| edge.is_error) {
        writeln!(out, "  linkStyle {n} stroke:#FF6B6B")?;
    }
    Ok(())
}

fn arrow(edge: &Edge) -> &'static str {
    match (edge.both_ways, edge.relation.is_spawn() || edge.inferred) {
        (true, true) => "<-.->",
        (true, false) => "<-->",
        (false, true) => "-.->",
        (false, false) => "-->",
    }
}

/// A text in which nothing means anything to Mermaid, Markdown or HTML: what might is a code.
fn coded(text: &str) -> String {
    let mut coded = String::with_capacity(text.len());
    // What Markdown takes for the start of a list.
    let mut starts_list = true;
    for c in text.chars() {
        // Mermaid marks its own codes with this ligature.
        let safe = !c.is_ascii() && c != 'ﬂ' || c.is_ascii_alphanumeric() || " ,()/:'!?".contains(c);
        if safe || !starts_list && matches!(c, '.' | '-') {
            coded.push(c);
        } else {
            let _ = write!(coded, "#{};", u32::from(c));
        }
        starts_list &= c.is_ascii_digit();
    }
    coded
}

/// A text for a line of its own, where there are no codes.
fn plain(text: &str) -> String {
    text.chars().map(|c| if matches!(c, ';' | '#' | '%' | '{' | '}') { ' ' } else { c }).collect()
}
