//! What a view makes of a flow, as text: graphs, patterns, paths and findings.
//!
//! In: a flow and the words of a block's first line. Out: lines that name steps as the input does. Never here: what a view shows, which
//! `unspool-view` decides.

use super::{Drawn, steps};
use std::collections::HashMap;
use std::fmt::Write as _;
use unspool_model::{Flow, StepKind};
use unspool_view::Prices;
use unspool_view::findings::findings;
use unspool_view::graph::{Edge, Filter, Level, Node, StatusFilter, Tally, View, graph, pattern};
use unspool_view::path::{Class, Paths, Scope};
use unspool_view::workflow::{Grouping, Workflow};

/// Draws the view that the words name.
pub(super) fn draw(drawn: &Drawn<'_>, words: &str, out: &mut String) -> Result<(), String> {
    let (view, rest) = words.split_once(' ').unwrap_or((words, ""));
    match view {
        "graph" => draw_graph(drawn, &read_view(rest)?, out),
        "workflow" => draw_workflow(drawn, &read_view(&format!("step {rest}"))?, !rest.is_empty(), out),
        "path" if rest.is_empty() => draw_path(drawn, out),
        "findings" if rest.is_empty() => draw_findings(drawn, out),
        _ => return Err(format!("`{words}` is no view; there are graph LEVEL, workflow, path and findings")),
    }
    Ok(())
}

/// `model-call`, `step tool=Bash kind=model_call status=error full`.
fn read_view(words: &str) -> Result<View, String> {
    let mut words = words.split_whitespace();
    let level = words.next().unwrap_or_default();
    let level = Level::ALL.into_iter().find(|one| one.name() == level);
    let mut view = View {
        level: level.ok_or("a graph has a level: step, model-call, agent or run")?,
        ..View::default()
    };
    for word in words {
        let filter: &mut Filter = &mut view.filter;
        match word.split_once('=') {
            None if word == "full" => view.full = true,
            Some(("agent", agent)) => filter.agents.push(agent.into()),
            Some(("tool", tool)) => filter.tools.push(tool.into()),
            Some(("kind", kind)) => {
                let known = StepKind::ALL.iter().copied().find(|one| one.name() == kind);
                filter.kinds.push(known.ok_or_else(|| format!("there is no kind `{kind}`"))?);
            }
            Some(("status", "error")) => filter.status = Some(StatusFilter::Error),
            _ => {
                return Err(format!(
                    "`{word}` is no filter; there are agent=, tool=, kind=, status=error and full"
                ));
            }
        }
    }
    Ok(view)
}

fn draw_graph(drawn: &Drawn<'_>, view: &View, out: &mut String) {
    let graph = graph(drawn.flow, drawn.batch, &Prices::default(), view, &|_| true);
    let name = |n: u32| node_name(drawn, view.level, &graph.nodes[n as usize]);
    for (n, node) in (0_u32..).zip(&graph.nodes) {
        if !graph.edges.iter().any(|edge| edge.from == n || edge.to == n) {
            let _ = writeln!(out, "{}", node_name(drawn, view.level, node));
        }
    }
    for edge in &graph.edges {
        let _ = writeln!(
            out,
            "{} -> {} {}{}",
            name(edge.from),
            name(edge.to),
            edge.relation.name(),
            marks(drawn, edge)
        );
    }
    tally(&graph.tally, out);
}

fn marks(drawn: &Drawn<'_>, edge: &Edge) -> String {
    let mut marks = String::new();
    if edge.count > 1 {
        let _ = write!(marks, " ×{}", edge.count);
    }
    if !edge.through.is_empty() {
        let through: Vec<String> =
            edge.through.iter().map(|through| steps::name(drawn, through.step)).collect();
        let _ = write!(marks, " through {}", through.join(", "));
    }
    marks.push_str(if edge.inferred { " ~" } else { "" });
    marks.push_str(if edge.is_error { " ✗" } else { "" });
    marks
}

/// A graph accounts for every step.
fn tally(tally: &Tally, out: &mut String) {
    let _ = writeln!(
        out,
        "steps {} in nodes, {} between them, {} filtered",
        tally.shown.totals.steps, tally.contracted.totals.steps, tally.filtered.totals.steps
    );
}

fn node_name(drawn: &Drawn<'_>, level: Level, node: &Node) -> String {
    let Some(first) = node.steps.first() else { return node.label.clone() };
    let step = &drawn.flow.steps[*first as usize];
    match level {
        Level::Step | Level::ModelCall => steps::name(drawn, *first),
        Level::Run => format!("run-{}", step.run + 1),
        Level::Agent => match drawn.flow.agents.get(step.agent as usize) {
            Some(agent) if agent.main => "main".into(),
            Some(agent) => drawn.text(agent.native_id).into(),
            None => node.label.clone(),
        },
    }
}

/// Nodes by what they lie in, then what followed what: `->` along, `=>` into an agent, `<->` both ways.
fn draw_workflow(drawn: &Drawn<'_>, view: &View, is_filtered: bool, out: &mut String) {
    let prices = Prices::default();
    let pattern = pattern(drawn.flow, drawn.batch, &prices, view, Grouping::Parent, &|_| true);
    let found = &pattern.workflow;
    for node in &found.nodes {
        let times =
            if node.item_ids.len() > 1 { format!(" ×{}", node.item_ids.len()) } else { String::new() };
        let failed = if node.errors > 0 { format!(" {}✗", node.errors) } else { String::new() };
        let place = place(found, node.parent);
        let _ = writeln!(out, "{} {place}{}{times}{failed}", node.node_type.name(), node.display_name);
    }
    for edge in &found.edges {
        let name = |n: u32| {
            let node = &found.nodes[n as usize];
            format!("{}{}", place(found, node.parent), node.display_name)
        };
        let arrow = match (edge.bidirectional, edge.enters) {
            (true, _) => "<->",
            (_, true) => "=>",
            _ => "->",
        };
        let times = edge.forward + edge.backward;
        let times = if times > 1 { format!(" ×{times}") } else { String::new() };
        let _ = writeln!(out, "{} {arrow} {}{times}", name(edge.source), name(edge.target));
    }
    if is_filtered {
        tally(&pattern.tally, out);
    }
}

/// The nodes around a node, outermost first.
fn place(found: &Workflow, mut above: Option<u32>) -> String {
    let mut names = Vec::new();
    while let Some(node) = above.and_then(|n| found.nodes.get(n as usize)) {
        names.push(format!("{}/", node.display_name));
        above = node.parent.filter(|_| names.len() < found.nodes.len());
    }
    names.reverse();
    names.concat()
}

/// Pieces of the path in milliseconds since the first moment, then what they add up to.
fn draw_path(drawn: &Drawn<'_>, out: &mut String) {
    let names = names(drawn);
    let path = Paths::new(drawn.flow, &drawn.batch.text).path(Scope::Session, &[]);
    for piece in &path.segments {
        let (before, id) = match (&piece.step_id, &piece.before_step_id) {
            (Some(id), _) => ("", id),
            (None, Some(id)) => ("before ", id),
            (None, None) => continue,
        };
        let name = names.get(id).map_or("?", String::as_str);
        let estimated = if piece.estimated { " ~" } else { "" };
        let _ = writeln!(out, "{} +{} {} {before}{name}{estimated}", piece.at_ms, piece.ms, piece.class);
    }
    let sums = &path.sums;
    let parts: Vec<String> = Class::ALL
        .into_iter()
        .filter(|class| sums.split.of(*class) > 0)
        .map(|class| format!("{} {}", class.name(), sums.split.of(class)))
        .collect();
    let _ = writeln!(out, "wall clock {} = {}", sums.wall_ms, parts.join(" + "));
    for step in path.steps.iter().filter(|step| step.slack_ms > 0) {
        let name = names.get(&step.id).map_or("?", String::as_str);
        let _ = writeln!(out, "slack {} {name}", step.slack_ms);
    }
}

fn draw_findings(drawn: &Drawn<'_>, out: &mut String) {
    let names = names(drawn);
    let found = findings(drawn.flow, drawn.batch, &Prices::default());
    for finding in &found.findings {
        let steps: Vec<&str> =
            finding.step_ids.iter().filter_map(|id| Some(names.get(id)?.as_str())).collect();
        let _ = writeln!(out, "{} {}: {}", finding.code, steps.join(" "), finding.title);
    }
    if found.findings.is_empty() {
        out.push_str("nothing\n");
    }
}

/// What documents call a step, and what the input calls it.
fn names(drawn: &Drawn<'_>) -> HashMap<String, String> {
    let flow: &Flow = drawn.flow;
    (0_u32..).zip(&flow.steps).map(|(n, step)| (step.id.show('s'), steps::name(drawn, n))).collect()
}
