//! Graphs as tables, as RFC 4180 has them: one of the nodes, one of the edges.
//!
//! In: graphs, each with the flow it was made from. Out: lines of comma-separated values. Never here: what a graph shows.

use super::figures::{figures, group};
use crate::graph::{Graph, Node};
use std::io::{Result, Write};
use unspool_model::{Batch, Flow, Step};

const NODE_COLUMNS: [&str; 29] = [
    "session_id",
    "id",
    "kind",
    "label",
    "detail",
    "group_id",
    "group",
    "agent_id",
    "run_id",
    "parent_id",
    "tool_use_id",
    "message_id",
    "model",
    "started_at",
    "ended_at",
    "busy_ms",
    "steps",
    "model_calls",
    "tool_calls",
    "errors",
    "input_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "output_tokens",
    "reasoning_tokens",
    "cost_usd",
    "unpriced_calls",
    "is_error",
    "pending",
];

const EDGE_COLUMNS: [&str; 10] = [
    "session_id",
    "from",
    "to",
    "relation",
    "label",
    "count",
    "confidence",
    "inferred",
    "is_error",
    "both_ways",
];

/// Writes the head of the table of nodes.
pub fn node_head(out: &mut impl Write) -> Result<()> {
    writeln!(out, "{}\r", NODE_COLUMNS.join(","))
}

/// Writes the head of the table of edges.
pub fn edge_head(out: &mut impl Write) -> Result<()> {
    writeln!(out, "{}\r", EDGE_COLUMNS.join(","))
}

/// Writes a line per node. What only a single step has is empty for a node that stands for several.
pub fn nodes(out: &mut impl Write, session: &str, flow: &Flow, batch: &Batch, graph: &Graph) -> Result<()> {
    for node in &graph.nodes {
        row(out, &node_cells(flow, batch, graph, node, session))?;
    }
    Ok(())
}

/// Writes a line per edge.
pub fn edges(out: &mut impl Write, session: &str, graph: &Graph) -> Result<()> {
    for edge in &graph.edges {
        let cells: [String; EDGE_COLUMNS.len()] = [
            session.to_string(),
            graph.nodes[edge.from as usize].id.clone(),
            graph.nodes[edge.to as usize].id.clone(),
            edge.relation.name().into(),
            edge.label.clone(),
            edge.count.to_string(),
            edge.confidence.as_f64().to_string(),
            edge.inferred.to_string(),
            edge.is_error.to_string(),
            edge.both_ways.to_string(),
        ];
        row(out, &cells)?;
    }
    Ok(())
}

fn node_cells(flow: &Flow, batch: &Batch, graph: &Graph, node: &Node, session: &str) -> Vec<String> {
    let single = match node.steps.as_slice() {
        [step] => flow.steps.get(*step as usize),
        _ => None,
    };
    let of_step = |get: &dyn Fn(&Step) -> Option<String>| single.and_then(get).unwrap_or_default();
    let [group_id, group_label] = group(graph, node);
    let said = [
        session.into(),
        node.id.clone(),
        node.kind.into(),
        node.label.clone(),
        node.detail.clone(),
        group_id,
        group_label,
        of_step(&|step| Some(flow.agents.get(step.agent as usize)?.id.show('a'))),
        of_step(&|step| Some(flow.runs.get(step.run as usize)?.id.show('u'))),
        of_step(&|step| Some(flow.steps.get(step.parent as usize)?.id.show('s'))),
        of_step(&|step| Some(batch.text.get(step.tool_use_id).into())),
        of_step(&|step| Some(batch.text.get(step.message_id).into())),
        of_step(&|step| Some(batch.text.get(step.model).into())),
    ];
    let marks = [node.totals.unpriced_calls.to_string(), node.is_error.to_string(), node.pending.to_string()];
    said.into_iter().chain(figures(node)).chain(marks).collect()
}

fn row(out: &mut impl Write, cells: &[String]) -> Result<()> {
    for (n, cell) in cells.iter().enumerate() {
        if n > 0 {
            out.write_all(b",")?;
        }
        write_cell(out, cell)?;
    }
    out.write_all(b"\r\n")
}

/// A cell, in quotes where it must be. One that a spreadsheet would take for a formula begins with an apostrophe.
fn write_cell(out: &mut impl Write, cell: &str) -> Result<()> {
    let guard = if cell.starts_with(['=', '+', '-', '@', '\t', '\r']) { "'" } else { "" };
    if cell.contains(['"', ',', '\n', '\r', '\0']) || cell.trim() != cell {
        write!(out, "\"{guard}{}\"", cell.replace('"', "\"\"").replace('\0', "\u{fffd}"))
    } else {
        write!(out, "{guard}{cell}")
    }
}
