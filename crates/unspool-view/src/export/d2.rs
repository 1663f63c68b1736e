//! A graph as a D2 diagram: a box per run or agent, or, to drill down, a picture of its own for each.
//!
//! In: a graph. Out: D2 text; nodes are `s1`, `s2`, …, boxes `run_1`, … or `box_1`, …. Never here: layout.

use super::nested::{Nested, Visit};
use super::text::{BOX, LOOKS, beside, class_of, heading, one_line, showable, snippet};
use crate::graph::{Edge, Graph};
use rustc_hash::FxHashSet;
use std::fmt::Write as _;
use std::io::{Result, Write};

/// How a graph is laid on boards.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Boards {
    /// Each outermost box is a board of its own, which a click on the box opens; the first board shows only the boxes.
    pub drill_down: bool,
    /// Outermost boxes follow each other: runs do.
    pub chained: bool,
}

/// Writes a graph.
pub fn write(out: &mut impl Write, graph: &Graph, boards: Boards) -> Result<()> {
    let nested = Nested::new(graph);
    let prefix = if boards.chained { "run" } else { "box" };
    let drawing = Drawing { graph, prefix, paths: paths(graph, &nested, prefix) };
    writeln!(out, "# {}", one_line(&graph.title))?;
    writeln!(out, "# {} nodes, {} edges", graph.nodes.len(), graph.edges.len())?;
    if let Some(notice) = nested.notice() {
        writeln!(out, "# {notice}")?;
    }
    writeln!(out, "direction: down")?;
    classes(out)?;
    if graph.nodes.is_empty() {
        return writeln!(out, "note: \"Nothing to show\"");
    }
    if boards.drill_down && !nested.outermost().is_empty() {
        drawing.overview(out, &nested, boards.chained)?;
        writeln!(out, "layers: {{")?;
        for group in nested.outermost() {
            writeln!(out, "  {}: {{\n    direction: down", drawing.key_of(*group))?;
            drawing.board(out, &nested.inside(*group), "    ")?;
            writeln!(out, "  }}")?;
        }
        writeln!(out, "}}")
    } else {
        drawing.board(out, &nested.walk(), "")?;
        if boards.chained { drawing.chain(out, &nested, &drawing.linked_boxes()) } else { Ok(()) }
    }
}

fn classes(out: &mut impl Write) -> Result<()> {
    writeln!(out, "classes: {{")?;
    for look in LOOKS.iter().chain([&BOX]) {
        let radius = if look.class == BOX.class { 8 } else { 6 };
        writeln!(
            out,
            "  {}: {{ style: {{ fill: \"{}\"; stroke: \"{}\"; border-radius: {radius} }} }}",
            look.class, look.fill, look.line
        )?;
    }
    writeln!(out, "}}")
}

/// Where each node is: the keys of the boxes it lies in, and its own.
fn paths(graph: &Graph, nested: &Nested, prefix: &str) -> Vec<String> {
    let key_of = |group: usize| format!("{prefix}_{}", group + 1);
    let mut boxes: Vec<String> = Vec::with_capacity(graph.groups.len());
    for (n, parent) in nested.parents.iter().enumerate() {
        let above = parent.and_then(|parent| boxes.get(parent));
        boxes.push(above.map_or_else(|| key_of(n), |above| format!("{above}.{}", key_of(n))));
    }
    let path = |(n, group): (usize, Option<u32>)| match group.and_then(|group| boxes.get(group as usize)) {
        Some(above) => format!("{above}.s{}", n + 1),
        None => format!("s{}", n + 1),
    };
    graph.nodes.iter().map(|node| node.group).enumerate().map(path).collect()
}

struct Drawing<'g> {
    graph: &'g Graph,
    /// What the keys of boxes begin with.
    prefix: &'static str,
    paths: Vec<String>,
}

impl Drawing<'_> {
    fn key_of(&self, group: usize) -> String {
        format!("{}_{}", self.prefix, group + 1)
    }

    /// Boxes and nodes as visited, and the edges between those nodes.
    fn board(&self, out: &mut impl Write, visits: &[(usize, Visit)], margin: &str) -> Result<()> {
        let mut shown = vec![false; self.graph.nodes.len()];
        for (depth, visit) in visits {
            let indent = format!("{margin}{}", "  ".repeat(*depth));
            match visit {
                Visit::Open(n) => {
                    let label = quoted(&snippet(&self.graph.groups[*n].label));
                    writeln!(out, "{indent}{}: {label} {{\n{indent}  class: {}", self.key_of(*n), BOX.class)?;
                }
                Visit::Node(n) => {
                    shown[*n] = true;
                    self.node(out, *n, &indent)?;
                }
                Visit::Close(_) => writeln!(out, "{indent}}}")?,
            }
        }
        for edge in
            self.graph.edges.iter().filter(|edge| shown[edge.from as usize] && shown[edge.to as usize])
        {
            let (from, to) = (&self.paths[edge.from as usize], &self.paths[edge.to as usize]);
            writeln!(out, "{margin}{from} {} {to}: {}", arrow(edge), line(edge))?;
        }
        Ok(())
    }

    fn node(&self, out: &mut impl Write, n: usize, indent: &str) -> Result<()> {
        let node = &self.graph.nodes[n];
        writeln!(
            out,
            "{indent}s{}: {{\n{indent}  class: {}\n{indent}  shape: rectangle",
            n + 1,
            class_of(node)
        )?;
        writeln!(out, "{indent}  label: |md\n{indent}    {}&#46; {}", n + 1, coded(&heading(node)))?;
        writeln!(out, "\n{indent}    ---\n")?;
        if !node.detail.is_empty() {
            writeln!(out, "{indent}    {}\n\n{indent}    ---\n", coded(&snippet(&node.detail)))?;
        }
        writeln!(out, "{indent}    id: {}\n{indent}  |", coded(&one_line(&node.id)))?;
        if !node.detail.is_empty() {
            writeln!(out, "{indent}  tooltip: {}", quoted(&tagless(&showable(&node.detail))))?;
        }
        if node.pending {
            writeln!(out, "{indent}  style.stroke-dash: 4")?;
        }
        writeln!(out, "{indent}}}")
    }

    /// Only the outermost boxes, what leads from one to another, and nodes that lie in none.
    fn overview(&self, out: &mut impl Write, nested: &Nested, chained: bool) -> Result<()> {
        let loose: Vec<(usize, Visit)> = nested.loose().iter().map(|n| (0, Visit::Node(*n))).collect();
        self.board(out, &loose, "")?;
        for group in nested.outermost() {
            let (key, label) = (self.key_of(*group), quoted(&snippet(&self.graph.groups[*group].label)));
            writeln!(out, "{key}: {label} {{ class: {}; link: layers.{key} }}", BOX.class)?;
        }
        let links = self.linked_boxes();
        for (from, to) in &links {
            writeln!(out, "{from} -> {to}")?;
        }
        if chained { self.chain(out, nested, &links) } else { Ok(()) }
    }

    /// What leads from one outermost box, or node that lies in none, to another.
    fn linked_boxes(&self) -> Vec<(String, String)> {
        let outermost = |node: u32| {
            let path = &self.paths[node as usize];
            path.split_once('.').map_or(path.as_str(), |(first, _)| first).to_string()
        };
        let ends = self.graph.edges.iter().map(|edge| (outermost(edge.from), outermost(edge.to)));
        let is_box = |key: &str| key.starts_with(self.prefix);
        let mut seen = FxHashSet::default();
        ends.filter(|(from, to)| from != to && (is_box(from) || is_box(to)))
            .filter(|ends| seen.insert(ends.clone()))
            .collect()
    }

    /// Boxes in a row, where nothing else leads from one to the next.
    fn chain(&self, out: &mut impl Write, nested: &Nested, links: &[(String, String)]) -> Result<()> {
        let links: FxHashSet<&(String, String)> = links.iter().collect();
        for pair in nested.outermost().windows(2) {
            let ends = (self.key_of(pair[0]), self.key_of(pair[1]));
            if !links.contains(&ends) {
                writeln!(out, "{} -> {}", ends.0, ends.1)?;
            }
        }
        Ok(())
    }
}

fn arrow(edge: &Edge) -> &'static str {
    if edge.both_ways { "<->" } else { "->" }
}

/// An edge's label and style.
fn line(edge: &Edge) -> String {
    let mut styles = Vec::new();
    if edge.relation.is_spawn() || edge.inferred {
        styles.push("stroke-dash: 4");
    }
    if edge.is_error {
        styles.push("stroke: \"#FF6B6B\"");
    }
    let label = quoted(&beside(edge));
    if styles.is_empty() { label } else { format!("{label} {{ style: {{ {} }} }}", styles.join("; ")) }
}

/// A text without tags: D2 shows a tooltip as it is but refuses one whose tags are not well formed. What follows `<` is kept
/// apart from it by a space without width.
fn tagless(text: &str) -> String {
    text.replace('<', "<\u{200b}")
}

/// A text in double quotes.
fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '$' => quoted.push_str("\\$"),
            '\n' => quoted.push_str("\\n"),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// A text for one line of Markdown: whatever means something to D2 (`|`, `$`), Markdown or HTML is an entity.
fn coded(text: &str) -> String {
    let mut coded = String::with_capacity(text.len());
    for (n, c) in text.chars().enumerate() {
        let first = n == 0 && matches!(c, '-' | '+' | '=' | '#');
        if first || "&<>|$\\`*_[]{}~^#".contains(c) {
            let _ = write!(coded, "&#{};", u32::from(c));
        } else {
            coded.push(c);
        }
    }
    coded
}
