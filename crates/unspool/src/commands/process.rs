//! `unspool process`: one process behind the runs of many sessions.

use super::graph::text_options;
use crate::args::{Args, Places};
use crate::error::CliError;
use crate::figures::{NOT_STATED, count, duration, percent_if_any, plural};
use crate::graph_args::{named, share};
use crate::load::load;
use crate::output::print_document;
use crate::table::{Cell, Column, cell, styled, write_table};
use crate::term::{BOLD, CYAN, DIM, PLAIN, RED, columns, cut, paint, plain};
use std::collections::HashMap;
use std::io::{self, Write};
use std::path::PathBuf;
use unspool_formats::Detail;
use unspool_view::draw::text::legend;
use unspool_view::graph::from_process;
use unspool_view::workflow::{
    DifferenceDoc, FEWEST_RUNS, Kind, MAX_COMPARED, OneProcessDoc, ProcessBy, ProcessNodeDoc, Processes,
    TransitionDoc,
};

#[derive(clap::Args)]
pub(crate) struct ProcessArgs {
    /// Files, folders or `-`, or session ids (default: the usual places).
    #[arg(value_name = "SESSION|PATH")]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    places: Places,
    /// What runs are gathered by.
    #[arg(long, value_name = "WHAT", default_value = "project", value_parser = named(&BYS, by_name, by_about))]
    by: ProcessBy,
    /// Show how this run differs from the common path, or from the runs nearest to it: the start of its id.
    #[arg(long, value_name = "RUN")]
    run: Option<String>,
    /// Draw it as a graph instead.
    #[arg(long, conflicts_with_all = ["run", "json"])]
    draw: bool,
    /// Draw only nodes and transitions that at least this share of the runs have, from 0 to 1 (default: all).
    #[arg(long, value_name = "N", requires = "draw", value_parser = share)]
    min_share: Option<f64>,
    /// Draw with characters that every terminal has.
    #[arg(long, requires = "draw")]
    ascii: bool,
    /// How many nodes, transitions and variants; 0 for all.
    #[arg(long, short = 'n', value_name = "N", default_value_t = 12)]
    limit: usize,
    /// As JSON, with every node, transition and variant.
    #[arg(long)]
    json: bool,
}

const BYS: [ProcessBy; 2] = [ProcessBy::Project, ProcessBy::Agent];

fn by_name(by: ProcessBy) -> &'static str {
    match by {
        ProcessBy::Project => "project",
        ProcessBy::Agent => "agent",
    }
}

fn by_about(by: ProcessBy) -> &'static str {
    match by {
        ProcessBy::Project => "the kind of agent and the folder it worked in",
        ProcessBy::Agent => "the kind of agent, wherever it worked",
    }
}

pub(crate) fn run(args: &Args, wanted: &ProcessArgs) -> Result<(), CliError> {
    let loaded = load(args, &wanted.paths, &wanted.places.look_in, Detail::Full)?;
    let mut processes = Processes::new(wanted.by);
    for flow in loaded.flows() {
        processes.add(&flow, &loaded.corpus.batch, &loaded.prices);
    }
    let mut out = anstream::stdout().lock();
    if wanted.draw {
        return draw(&mut out, processes, wanted);
    }
    let mut doc = processes.doc();
    if let Some(run) = &wanted.run {
        doc.processes.retain(|process| has_run(process, run));
        if doc.processes.is_empty() {
            return Err(CliError::NoSuchRun(run.clone()));
        }
    }
    if wanted.json {
        return print_document(&doc);
    }
    for (n, process) in doc.processes.iter().enumerate() {
        if n > 0 {
            writeln!(out)?;
        }
        let screen = columns().unwrap_or(usize::MAX);
        let names = Names::new(process);
        write_head(&mut out, process, screen)?;
        match &wanted.run {
            Some(run) => write_run(&mut out, process, &names, run, screen)?,
            None => write_process(&mut out, process, &names, wanted.limit, screen)?,
        }
    }
    Ok(())
}

/// Draws each process as lines of text.
fn draw(out: &mut dyn Write, processes: Processes, wanted: &ProcessArgs) -> Result<(), CliError> {
    let options = text_options(wanted.ascii);
    for (n, (kind, process)) in processes.finish().into_iter().enumerate() {
        if n > 0 {
            writeln!(out)?;
        }
        let mut graph = from_process(&kind.title(), &process, wanted.min_share.unwrap_or(0.0));
        // A line has no room for the words of every arrow that reaches it.
        graph.edges.iter_mut().for_each(|edge| edge.label.clear());
        super::graph::draw(
            out,
            &graph,
            &format!("the process of {}", plural(process.runs, "run")),
            &options,
        )?;
    }
    writeln!(out, "\n{}", paint(DIM, legend(options.charset)))?;
    Ok(())
}

fn has_run(process: &OneProcessDoc, run: &str) -> bool {
    process.variants.iter().flat_map(|variant| &variant.run_ids).any(|id| id.starts_with(run))
}

fn write_head(out: &mut dyn Write, process: &OneProcessDoc, screen: usize) -> io::Result<()> {
    let kind = Kind { agent: process.agent.clone(), project: process.project.clone() };
    let line = format!(
        "{}: {} of {}, {} failed{}",
        plain(&kind.title()),
        plural(process.runs, "run"),
        plural(process.sessions, "session"),
        process.failed,
        if process.failed > 0 {
            format!(" ({})", percent_if_any(process.failure_rate))
        } else {
            String::new()
        }
    );
    writeln!(out, "{}", paint(BOLD, &cut(&line, screen)))
}

fn write_process(
    out: &mut dyn Write,
    process: &OneProcessDoc,
    names: &Names<'_>,
    limit: usize,
    screen: usize,
) -> io::Result<()> {
    let limit = if limit == 0 { usize::MAX } else { limit };
    let nodes: Vec<&ProcessNodeDoc> =
        process.nodes.iter().filter(|node| !matches!(node.node_type, "start" | "end")).collect();
    write_nodes(out, &nodes, names, limit)?;
    write_edges(out, process, names, limit)?;
    write_variants(out, process, names, limit)?;
    writeln!(out, "\n{}", paint(DIM, &cut(&verdict(process), screen)))?;
    if process.uncompared_variants > 0 {
        let line = format!(
            "MAX_COMPARED: differences are looked for among the {MAX_COMPARED} most frequent variants, not among {}",
            plural(process.uncompared_variants, "rarer one")
        );
        writeln!(out, "{}", paint(DIM, &cut(&line, screen)))?;
    }
    Ok(())
}

/// Whether most runs go the same way.
fn verdict(process: &OneProcessDoc) -> String {
    let most = process.variants.first();
    let most_runs = most.map_or(0, |variant| variant.run_ids.len() as u64);
    match process.runs_apart {
        Some(0) => "all runs follow the common path".into(),
        Some(apart) => {
            let first = process.variants.iter().filter(|variant| variant.difference.is_some());
            let first = first.flat_map(|variant| &variant.run_ids).next();
            let first = first.map_or("", |first| short(first));
            let others = if apart == 1 {
                format!("{first} does not")
            } else {
                format!("{apart} do not, {first} among them")
            };
            let runs = plural(process.runs, "run");
            format!("common path: {most_runs} of {runs} follow the first variant; {others}; --run shows how")
        }
        None if process.runs < FEWEST_RUNS => {
            format!("fewer than {FEWEST_RUNS} runs: too few to tell what is common")
        }
        None => format!(
            "no common path: the most frequent variant has {most_runs} of {}; --run compares a run with the variant nearest to it",
            plural(process.runs, "run")
        ),
    }
}

fn write_nodes(
    out: &mut dyn Write,
    nodes: &[&ProcessNodeDoc],
    names: &Names<'_>,
    limit: usize,
) -> io::Result<()> {
    let table = [
        Column::number("RUNS"),
        Column::number("SHARE"),
        Column::number("TIMES"),
        Column::number("FAILED"),
        Column::number("MEDIAN"),
        Column::text("TYPE").spare(1),
        Column::rest("NODE", 20),
    ];
    let row = |node: &&ProcessNodeDoc| {
        vec![
            cell(count(node.runs)),
            cell(percent_if_any(node.run_share)),
            cell(count(node.count)),
            styled(percent_if_any(node.failure_rate), if node.errors > 0 { RED } else { PLAIN }),
            cell(node.median_ms.map_or_else(|| NOT_STATED.into(), duration)),
            cell(node.node_type),
            cell(names.of(&node.id)),
        ]
    };
    let rows: Vec<Vec<Cell>> = nodes.iter().take(limit).map(row).collect();
    write_table(out, &table, &rows)?;
    write_hidden(out, nodes.len().saturating_sub(limit), "node")
}

fn write_edges(
    out: &mut dyn Write,
    process: &OneProcessDoc,
    names: &Names<'_>,
    limit: usize,
) -> io::Result<()> {
    let table = [
        Column::number("RUNS"),
        Column::number("SHARE"),
        Column::number("TIMES"),
        Column::rest("TRANSITION", 30),
    ];
    let row = |edge: &unspool_view::workflow::ProcessEdgeDoc| {
        let arrow = if edge.enters { "⇒" } else { "→" };
        vec![
            cell(count(edge.runs)),
            cell(percent_if_any(edge.run_share)),
            cell(count(edge.count)),
            cell(format!("{} {arrow} {}", names.of(&edge.source), names.of(&edge.target))),
        ]
    };
    writeln!(out)?;
    let rows: Vec<Vec<Cell>> = process.edges.iter().take(limit).map(row).collect();
    write_table(out, &table, &rows)?;
    write_hidden(out, process.edges.len().saturating_sub(limit), "transition")
}

fn write_variants(
    out: &mut dyn Write,
    process: &OneProcessDoc,
    names: &Names<'_>,
    limit: usize,
) -> io::Result<()> {
    let table = [
        Column::number("RUNS"),
        Column::number("SHARE"),
        Column::number("FAILED"),
        Column::number("MEDIAN"),
        Column::rest("VARIANT", 30),
    ];
    let row = |variant: &unspool_view::workflow::VariantDoc| {
        let nodes = variant.node_ids.iter().filter(|id| !id.starts_with("__"));
        let nodes: Vec<String> = nodes.map(|id| names.of(id)).collect();
        vec![
            cell(count(variant.run_ids.len() as u64)),
            cell(percent_if_any(variant.share)),
            styled(percent_if_any(variant.failure_rate), if variant.failed > 0 { RED } else { PLAIN }),
            cell(variant.median_ms.map(duration).unwrap_or_default()),
            cell(nodes.join(", ")),
        ]
    };
    writeln!(out)?;
    let rows: Vec<Vec<Cell>> = process.variants.iter().take(limit).map(row).collect();
    write_table(out, &table, &rows)?;
    write_hidden(out, process.variants.len().saturating_sub(limit), "variant")
}

fn write_hidden(out: &mut dyn Write, hidden: usize, noun: &str) -> io::Result<()> {
    if hidden == 0 {
        return Ok(());
    }
    let line = format!("{} not shown; -n 0 shows all", plural(hidden as u64, &format!("more {noun}")));
    writeln!(out, "{}", paint(DIM, &line))
}

/// How runs whose id begins so differ from the common path, or from the nearest variant.
fn write_run(
    out: &mut dyn Write,
    process: &OneProcessDoc,
    names: &Names<'_>,
    run: &str,
    screen: usize,
) -> io::Result<()> {
    for variant in &process.variants {
        for id in variant.run_ids.iter().filter(|id| id.starts_with(run)) {
            writeln!(out, "run {id}")?;
            match &variant.difference {
                Some(difference) => write_difference(out, process, difference, names, screen)?,
                None if process.common_variant.is_some() => writeln!(out, "  follows the common path")?,
                None => writeln!(out, "  goes as all runs do")?,
            }
        }
    }
    Ok(())
}

fn write_difference(
    out: &mut dyn Write,
    process: &OneProcessDoc,
    difference: &DifferenceDoc,
    names: &Names<'_>,
    screen: usize,
) -> io::Result<()> {
    let nodes = |ids: &[String]| ids.iter().map(|id| names.of(id)).collect::<Vec<String>>();
    let edges = |edges: &[TransitionDoc]| {
        let one = |edge: &TransitionDoc| format!("{} → {}", names.of(&edge.source), names.of(&edge.target));
        edges.iter().map(one).collect::<Vec<String>>()
    };
    let other = usize::try_from(difference.from_variant).ok().and_then(|at| process.variants.get(at));
    let runs = other.map_or(0, |other| other.run_ids.len() as u64);
    let with = if process.common_variant.is_some() { "the common path" } else { "the nearest variant" };
    writeln!(out, "  compared with {with}, which {} of {} follow", runs, plural(process.runs, "run"))?;
    let parts = [
        ("has besides", nodes(&difference.added_nodes)),
        ("goes besides", edges(&difference.added_edges)),
        ("lacks", nodes(&difference.missing_nodes)),
        ("does not go", edges(&difference.missing_edges)),
    ];
    for (heading, lines) in parts.iter().filter(|(_, lines)| !lines.is_empty()) {
        writeln!(out, "  {}", paint(CYAN, heading))?;
        for line in lines {
            writeln!(out, "    {}", cut(line, screen.saturating_sub(4)))?;
        }
    }
    Ok(())
}

/// So many names stand for a node; where it lies deeper, an ellipsis stands for the outer ones.
const MAX_NAMES: usize = 6;

/// What nodes are called: their name behind those of the agents they lie in.
struct Names<'a> {
    nodes: HashMap<&'a str, &'a ProcessNodeDoc>,
}

impl<'a> Names<'a> {
    fn new(process: &'a OneProcessDoc) -> Names<'a> {
        Names { nodes: process.nodes.iter().map(|node| (node.id.as_str(), node)).collect() }
    }

    fn of(&self, id: &str) -> String {
        let Some(node) = self.nodes.get(id) else { return id.into() };
        let mut parts = vec![node.name.as_str()];
        let mut above = node.parent.as_deref();
        while let Some(node) = above.and_then(|id| self.nodes.get(id)) {
            if parts.len() == MAX_NAMES {
                parts.push("…");
                break;
            }
            parts.push(&node.name);
            above = node.parent.as_deref();
        }
        parts.reverse();
        parts.join(" › ")
    }
}

fn short(id: &str) -> &str {
    id.get(..9).unwrap_or(id)
}
