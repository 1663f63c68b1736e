//! `unspool process`: one process behind the runs of many sessions.

use crate::args::Args;
use crate::error::CliError;
use crate::figures::{count, duration, plural};
use crate::load::load;
use crate::table::{Cell, Column, cell, styled, write_table};
use crate::term::{BOLD, CYAN, DIM, PLAIN, RED, columns, cut, paint};
use std::collections::HashMap;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use unspool_formats::Detail;
use unspool_view::workflow::{
    DeviationDoc, FEWEST_RUNS, OneProcessDoc, ProcessNodeDoc, Processes, TransitionDoc,
};

#[derive(clap::Args)]
pub(crate) struct ProcessArgs {
    /// Files, folders or `-`, or session ids (default: the usual places).
    #[arg(value_name = "SESSION|PATH")]
    paths: Vec<PathBuf>,
    /// Show where this run goes its own way: the start of its id.
    #[arg(long, value_name = "RUN")]
    run: Option<String>,
    /// How many nodes, transitions and variants; 0 for all.
    #[arg(long, short = 'n', value_name = "N", default_value_t = 12)]
    limit: usize,
    /// As JSON, with every node, transition, variant and deviation.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, wanted: &ProcessArgs) -> Result<(), CliError> {
    let loaded = load(args, &wanted.paths, &[], Detail::Full)?;
    let mut processes = Processes::default();
    for flow in loaded.flows() {
        processes.add(&flow, &loaded.corpus.batch, &loaded.prices);
    }
    let mut doc = processes.doc();
    if let Some(run) = &wanted.run {
        doc.processes.retain(|process| has_run(process, run));
        for process in &mut doc.processes {
            if let Some(deviations) = &mut process.deviations {
                deviations.retain(|deviation| deviation.run_id.starts_with(run.as_str()));
            }
        }
        if doc.processes.is_empty() {
            return Err(CliError::NoSuchRun(run.clone()));
        }
    }
    if wanted.json {
        let mut out = BufWriter::new(io::stdout().lock());
        unspool_view::document::write_document(&mut out, &doc)?;
        out.flush()?;
        return Ok(());
    }
    let mut out = anstream::stdout().lock();
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

fn has_run(process: &OneProcessDoc, run: &str) -> bool {
    process.variants.iter().flat_map(|variant| &variant.run_ids).any(|id| id.starts_with(run))
}

fn write_head(out: &mut dyn Write, process: &OneProcessDoc, screen: usize) -> io::Result<()> {
    let line = format!(
        "{}: {} of {}, {} failed{}",
        process.source,
        plural(process.runs, "run"),
        plural(process.sessions, "session"),
        process.failed,
        if process.failed > 0 { format!(" ({})", percent(process.failure_rate)) } else { String::new() }
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
    let line = match &process.deviations {
        None => format!("fewer than {FEWEST_RUNS} runs: too few to tell what is usual"),
        Some(none) if none.is_empty() => "no run goes its own way".into(),
        Some(some) => format!(
            "{} go their own way, {} among them; --run shows where",
            plural(some.len() as u64, "run"),
            some.first().map_or("", |first| short(&first.run_id))
        ),
    };
    writeln!(out, "\n{}", paint(DIM, &cut(&line, screen)))
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
            cell(percent(node.run_share)),
            cell(count(node.count)),
            styled(percent(node.failure_rate), if node.errors > 0 { RED } else { PLAIN }),
            cell(node.median_ms.map(duration).unwrap_or_default()),
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
            cell(percent(edge.run_share)),
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
            cell(percent(variant.share)),
            styled(percent(variant.failure_rate), if variant.failed > 0 { RED } else { PLAIN }),
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

/// Where runs whose id begins so go their own way.
fn write_run(
    out: &mut dyn Write,
    process: &OneProcessDoc,
    names: &Names<'_>,
    run: &str,
    screen: usize,
) -> io::Result<()> {
    let ids = process.variants.iter().flat_map(|variant| &variant.run_ids);
    for id in ids.filter(|id| id.starts_with(run)) {
        writeln!(out, "run {id}")?;
        let deviation = process.deviations.iter().flatten().find(|deviation| &deviation.run_id == id);
        match deviation {
            Some(deviation) => write_deviation(out, deviation, names, screen)?,
            None if process.deviations.is_none() => {
                writeln!(out, "  fewer than {FEWEST_RUNS} runs: too few to tell what is usual")?;
            }
            None => writeln!(out, "  goes as most runs do")?,
        }
    }
    Ok(())
}

fn write_deviation(
    out: &mut dyn Write,
    deviation: &DeviationDoc,
    names: &Names<'_>,
    screen: usize,
) -> io::Result<()> {
    let nodes = |ids: &[String]| ids.iter().map(|id| names.of(id)).collect::<Vec<String>>();
    let edges = |edges: &[TransitionDoc]| {
        let one = |edge: &TransitionDoc| format!("{} → {}", names.of(&edge.source), names.of(&edge.target));
        edges.iter().map(one).collect::<Vec<String>>()
    };
    let parts = [
        ("has, and few others have", nodes(&deviation.rare_nodes)),
        ("follows, as in few others", edges(&deviation.rare_edges)),
        ("has not, and most others have", nodes(&deviation.missing_nodes)),
        ("does not follow, as in most others", edges(&deviation.missing_edges)),
    ];
    for (heading, lines) in parts.iter().filter(|(_, lines)| !lines.is_empty()) {
        writeln!(out, "  {}", paint(CYAN, heading))?;
        for line in lines {
            writeln!(out, "    {}", cut(line, screen.saturating_sub(4)))?;
        }
    }
    Ok(())
}

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
        while let Some(node) =
            above.and_then(|id| self.nodes.get(id)).filter(|_| parts.len() < self.nodes.len())
        {
            parts.push(&node.name);
            above = node.parent.as_deref();
        }
        parts.reverse();
        parts.join(" › ")
    }
}

fn percent(part: f64) -> String {
    match part {
        _ if part <= 0.0 => String::new(),
        _ if part < 0.01 => "<1%".into(),
        _ => format!("{:.0}%", part * 100.0),
    }
}

fn short(id: &str) -> &str {
    id.get(..9).unwrap_or(id)
}
