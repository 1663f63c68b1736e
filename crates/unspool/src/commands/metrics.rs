//! `unspool metrics`: numbers about the graph of a session, its steps, agents and runs.

use super::path::write_runs;
use crate::args::{Args, Places};
use crate::error::CliError;
use crate::figures::{NOT_STATED, count, duration, percent_if_any, plural};
use crate::load::load;
use crate::output::print_document;
use crate::table::{Cell, Column, cell, styled, write_table};
use crate::term::{BOLD, CYAN, DIM, PLAIN, RED, columns, cut, lines_of, paint};
use clap::ValueEnum;
use std::cmp::Reverse;
use std::io::{self, Write};
use std::path::PathBuf;
use unspool_formats::Detail;
use unspool_view::metrics::{
    AgentMetricsDoc, AgentTypeDoc, MetricsDoc, NodeMetricsDoc, SessionMetricsDoc, ToolUseDoc, metrics,
};

#[derive(clap::Args)]
pub(crate) struct MetricsArgs {
    /// Files, folders or `-`, or session ids (default: the usual places).
    #[arg(value_name = "SESSION|PATH")]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    places: Places,
    /// What the numbers are about.
    #[arg(long, value_name = "WHAT", default_value = "graph")]
    by: By,
    /// How many steps or agents of a session; 0 for all.
    #[arg(long, short = 'n', value_name = "N", default_value_t = 20)]
    limit: usize,
    /// As JSON: everything about graph, steps, agents and runs.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum By {
    /// The graph as a whole.
    Graph,
    /// Steps, those that held the session up longest first.
    Node,
    /// Agents, those that lived longest first.
    Agent,
    /// Agents of one type together.
    AgentType,
    /// Runs.
    Run,
}

pub(crate) fn run(args: &Args, wanted: &MetricsArgs) -> Result<(), CliError> {
    let loaded = load(args, &wanted.paths, &wanted.places.look_in, Detail::Full)?;
    let sessions = loaded.flows().map(|flow| metrics(&flow, &loaded.corpus.batch.text));
    if wanted.json {
        let doc = MetricsDoc { schema: "unspool.metrics/1", sessions: sessions.collect() };
        return print_document(&doc);
    }
    let mut out = anstream::stdout().lock();
    for (n, session) in sessions.enumerate() {
        if n > 0 {
            writeln!(out)?;
        }
        write_session(&mut out, &session, wanted)?;
    }
    Ok(())
}

fn write_session(out: &mut dyn Write, session: &SessionMetricsDoc, wanted: &MetricsArgs) -> io::Result<()> {
    let screen = columns().unwrap_or(usize::MAX);
    let id: String = session.native_ids.first().unwrap_or(&session.id).chars().take(8).collect();
    let title = session.title.as_deref().unwrap_or_default();
    writeln!(out, "{}", paint(BOLD, &cut(format!("{id}  {title}").trim_end(), screen)))?;
    let limit = if wanted.limit == 0 { usize::MAX } else { wanted.limit };
    match wanted.by {
        By::Graph => write_graph(out, session, screen),
        By::Node => write_nodes(out, &session.nodes, limit),
        By::Agent => write_agents(out, &session.agents, limit),
        By::AgentType => write_types(out, &session.agent_types),
        By::Run => write_runs(out, &session.runs),
    }
}

fn write_graph(out: &mut dyn Write, session: &SessionMetricsDoc, screen: usize) -> io::Result<()> {
    let (graph, time) = (&session.graph, &session.session);
    let inferred = |n: u64| if n > 0 { format!(" ({n} inferred)") } else { String::new() };
    let mut shape = vec![
        plural(graph.nodes, "step"),
        format!("{} of all kinds{}", plural(graph.edges, "edge"), inferred(graph.inferred_edges)),
        format!("longest chain {}", plural(graph.depth, "edge")),
        format!("tree {} deep", plural(graph.tree_depth, "step")),
        format!("{:.1} children on average, {} at most", graph.branching_factor, graph.max_children),
        format!("{} answered", plural(graph.tool_dependencies, "tool call")),
    ];
    if graph.nodes_with_reach < graph.nodes {
        shape.push("what steps lead to was not counted: too many edges".into());
    }
    let kinds = graph.edges_by_kind.iter();
    let edges = kinds.map(|kind| format!("{} {}{}", kind.kind, count(kind.count), inferred(kind.inferred)));
    let agents = vec![
        plural(session.agents.len() as u64, "agent"),
        format!("{} started by a step{}", graph.spawns, inferred(graph.inferred_spawns)),
        format!("{} deep", graph.agent_depth),
    ];
    let clock = vec![
        format!("wall clock {}", duration(time.wall_ms)),
        format!("{} at work on the path", duration(time.path_ms)),
        format!("{} nothing", duration(time.gaps_ms)),
        format!("at once {:.1} on average, {} at most", time.parallelism.average, time.parallelism.peak),
    ];
    let failures = &session.failures;
    let failed = vec![
        plural(failures.failures.len() as u64, "failed step"),
        format!("{} overcome", failures.overcome),
        format!("{} ended by failure", plural(failures.runs_ended, "run")),
    ];
    let parts = [
        ("graph", shape),
        ("edges", edges.collect()),
        ("agents", agents),
        ("time", clock),
        ("failures", failed),
    ];
    for (heading, parts) in parts {
        for (n, line) in lines_of(&parts, screen.saturating_sub(10)).iter().enumerate() {
            let heading = if n == 0 { heading } else { "" };
            writeln!(out, "{}  {line}", paint(CYAN, &format!("{heading:<8}")))?;
        }
    }
    Ok(())
}

fn write_nodes(out: &mut dyn Write, nodes: &[NodeMetricsDoc], limit: usize) -> io::Result<()> {
    let mut order: Vec<&NodeMetricsDoc> = nodes.iter().collect();
    order.sort_by_key(|node| (Reverse(node.on_critical_path), Reverse(node.own_ms)));
    let table = [
        Column::text("STEP"),
        Column::number("TIME"),
        Column::number("WITH ALL BELOW").spare(4),
        Column::number("SLACK"),
        Column::number("IN").spare(6),
        Column::number("OUT").spare(5),
        Column::number("BELOW").spare(2),
        Column::number("LEADS TO").spare(1),
        Column::number("AGENTS").spare(3),
        Column::rest("WHAT", 12),
    ];
    let time = |node: &NodeMetricsDoc, ms: Option<i64>| {
        let mark = if node.estimated { "~" } else { "" };
        cell(ms.map(|ms| format!("{mark}{}", duration(ms))).unwrap_or_default())
    };
    let row = |node: &NodeMetricsDoc| {
        let slack = match node.slack_ms {
            Some(_) if node.on_critical_path => "on path".into(),
            slack => slack.map(duration).unwrap_or_default(),
        };
        vec![
            cell(node.id.get(..9).unwrap_or(&node.id)),
            time(node, node.own_ms),
            time(node, node.inclusive_ms),
            cell(slack),
            cell(count(node.in_degree)),
            cell(count(node.out_degree)),
            cell(count(node.descendants)),
            cell(node.reaches.map_or_else(|| "?".into(), count)),
            some(node.agents_below, PLAIN),
            cell(node.name.clone().unwrap_or_else(|| node.kind.replace('_', " "))),
        ]
    };
    let rows: Vec<Vec<Cell>> = order.iter().take(limit).map(|node| row(node)).collect();
    write_table(out, &table, &rows)?;
    write_hidden(out, nodes.len().saturating_sub(limit), "step")
}

fn write_agents(out: &mut dyn Write, agents: &[AgentMetricsDoc], limit: usize) -> io::Result<()> {
    let mut order: Vec<&AgentMetricsDoc> = agents.iter().collect();
    order.sort_by_key(|agent| Reverse(agent.lifetime_ms));
    let table = [
        Column::text("AGENT"),
        Column::number("LIFETIME"),
        Column::number("STEPS"),
        Column::number("STARTED").spare(1),
        Column::number("FAILED"),
        Column::number("OF CALLS").spare(2),
        Column::number("PASSED ON").spare(3),
        Column::rest("TYPE", 8),
        Column::rest("TOOLS", 16),
    ];
    let row = |agent: &&AgentMetricsDoc| {
        vec![
            cell(agent.id.get(..9).unwrap_or(&agent.id)),
            cell(agent.lifetime_ms.map(duration).unwrap_or_default()),
            cell(count(agent.steps)),
            some(agent.spawned, PLAIN),
            some(agent.errors, RED),
            cell(agent.error_rate.map_or_else(|| NOT_STATED.into(), percent_if_any)),
            some(agent.errors_propagated, PLAIN),
            cell(agent.agent_type.as_str()),
            cell(tools(&agent.tools)),
        ]
    };
    let rows: Vec<Vec<Cell>> = order.iter().take(limit).map(row).collect();
    write_table(out, &table, &rows)?;
    write_hidden(out, agents.len().saturating_sub(limit), "agent")
}

fn write_types(out: &mut dyn Write, types: &[AgentTypeDoc]) -> io::Result<()> {
    let table = [
        Column::rest("TYPE", 12),
        Column::number("AGENTS"),
        Column::number("SHARE").spare(1),
        Column::number("PER HOUR").spare(4),
        Column::number("P50"),
        Column::number("P95").spare(2),
        Column::number("FAILED"),
        Column::number("OF CALLS").spare(3),
        Column::rest("TOOLS", 16),
    ];
    let row = |one: &AgentTypeDoc| {
        let time = |ms: Option<i64>| cell(ms.map(duration).unwrap_or_default());
        let lifetimes = one.lifetimes.as_ref();
        vec![
            cell(one.agent_type.as_str()),
            cell(count(one.agents)),
            cell(percent_if_any(one.spawn_share)),
            cell(one.spawns_per_hour.map(|rate| format!("{rate:.1}")).unwrap_or_default()),
            time(lifetimes.map(|lifetimes| lifetimes.p50_ms)),
            time(lifetimes.map(|lifetimes| lifetimes.p95_ms)),
            some(one.errors, RED),
            cell(one.error_rate.map_or_else(|| NOT_STATED.into(), percent_if_any)),
            cell(tools(&one.tools)),
        ]
    };
    let rows: Vec<Vec<Cell>> = types.iter().map(row).collect();
    write_table(out, &table, &rows)
}

/// `Bash 12 (3✗), Read 4`.
fn tools(tools: &[ToolUseDoc]) -> String {
    let one = |tool: &ToolUseDoc| {
        let failed = if tool.errors > 0 { format!(" ({}✗)", tool.errors) } else { String::new() };
        format!("{} {}{failed}", tool.name, count(tool.calls))
    };
    tools.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// A count, or nothing where there is none.
fn some(n: u64, style: anstyle::Style) -> Cell {
    styled(if n > 0 { count(n) } else { String::new() }, style)
}

fn write_hidden(out: &mut dyn Write, hidden: usize, noun: &str) -> io::Result<()> {
    if hidden == 0 {
        return Ok(());
    }
    let line = format!("{} not shown; -n 0 shows all", plural(hidden as u64, &format!("more {noun}")));
    writeln!(out, "{}", paint(DIM, &line))
}
