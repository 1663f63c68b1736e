//! `unspool stats`: sums per session, agent type, tool, model or day.

use super::ls::{write_footer, write_sessions};
use crate::args::{Args, By, StatsArgs};
use crate::error::CliError;
use crate::figures::{NOT_STATED, count, duration, money, plural};
use crate::load::{Loaded, load};
use crate::table::{Cell, Column, cell, styled, write_table};
use crate::term::{BOLD, DIM, RED, columns, lines_of, paint};
use std::io::{BufWriter, Write};
use unspool_formats::Detail;
use unspool_view::flow_json::UsageDoc;
use unspool_view::stats::{Stats, StatsDoc, StatsRow};

pub(crate) fn run(args: &Args, stats: &StatsArgs) -> Result<(), CliError> {
    let loaded = load(args, &stats.paths, &stats.places.look_in, Detail::Numbers)?;
    let doc = collect(&loaded);
    if stats.json {
        let mut out = BufWriter::new(std::io::stdout().lock());
        serde_json::to_writer(&mut out, &doc)?;
        writeln!(out)?;
        out.flush()?;
        return Ok(());
    }
    let mut out = anstream::stdout().lock();
    match stats.by {
        By::Session => write_sessions(&mut out, &doc.sessions)?,
        By::Agent => write_rows(&mut out, "AGENT TYPE", "AGENTS", &doc.agents)?,
        By::Tool => write_rows(&mut out, "TOOL", "CALLS", &doc.tools)?,
        By::Model => write_rows(&mut out, "MODEL", "CALLS", &doc.models)?,
        By::Day => write_rows(&mut out, "DAY (UTC)", "SESSIONS", &doc.days)?,
    }
    let totals = &doc.totals;
    let mut sums =
        vec![format!("total {}, {}", plural(totals.steps, "step"), plural(totals.errors, "error"))];
    match &totals.usage {
        Some(usage) => sums.extend([
            format!("input {}", count(usage.input)),
            format!("cache read {}", count(usage.cache_read)),
            format!("cache write {}", count(usage.cache_write)),
            format!("output {}", count(usage.output)),
            format!("reasoning {}", count(usage.reasoning)),
        ]),
        None => sums.push("tokens not stated".into()),
    }
    sums.extend(totals.cost_usd.map(|cost| money(cost, totals.unpriced_calls)));
    for line in lines_of(&sums, columns().unwrap_or(usize::MAX)) {
        writeln!(out, "{}", line.replacen("total", &paint(BOLD, "total"), 1))?;
    }
    if totals.unpriced_calls > 0 {
        let line = format!(
            "{} of models without a price; `unspool doctor` names them",
            plural(totals.unpriced_calls, "call")
        );
        writeln!(out, "{}", paint(DIM, &line))?;
    }
    write_footer(&mut out, &loaded)
}

/// Flows are added up one by one; none is kept.
fn collect(loaded: &Loaded) -> StatsDoc {
    let mut stats = Stats::default();
    for flow in loaded.flows() {
        stats.add(&flow, &loaded.corpus.batch, &loaded.prices);
    }
    for issue in loaded.corpus.loose_issues() {
        stats.issue(&issue, &loaded.corpus.batch);
    }
    stats.finish(loaded.counts(), &loaded.corpus.batch)
}

fn write_rows(
    out: &mut dyn Write,
    what: &'static str,
    counted: &'static str,
    rows: &[StatsRow],
) -> std::io::Result<()> {
    let columns = [
        Column::rest(what, 16),
        Column::number(counted),
        Column::number("STEPS").spare(8),
        Column::number("ERRORS").spare(1),
        Column::number("INPUT").spare(5),
        Column::number("CACHE READ").spare(4),
        Column::number("CACHE WRITE").spare(6),
        Column::number("OUTPUT").spare(3),
        Column::number("REASONING").spare(7),
        Column::number("COST"),
        Column::number("TIME").spare(2),
        Column::number("P50").spare(10),
        Column::number("P95").spare(9),
    ];
    let mut order: Vec<&StatsRow> = rows.iter().collect();
    if what != "DAY (UTC)" {
        let cost = |row: &StatsRow| row.totals.cost_usd.unwrap_or_default();
        order.sort_by(|a, b| cost(b).total_cmp(&cost(a)).then(b.count.cmp(&a.count)));
    }
    let cells: Vec<Vec<Cell>> = order.iter().map(|row| row_cells(row)).collect();
    write_table(out, &columns, &cells)
}

fn row_cells(row: &StatsRow) -> Vec<Cell> {
    let totals = &row.totals;
    let not_stated = if totals.model_calls > 0 { NOT_STATED } else { "" };
    let tokens = |bucket: fn(&UsageDoc) -> u64| {
        let stated = totals.usage.as_ref().map(bucket);
        cell(stated.map_or_else(|| not_stated.into(), |n| if n > 0 { count(n) } else { String::new() }))
    };
    let time = |ms: Option<i64>| cell(ms.map(duration).unwrap_or_default());
    let cost = totals.cost_usd.map_or_else(|| not_stated.into(), |cost| money(cost, totals.unpriced_calls));
    vec![
        cell(row.name.as_str()),
        cell(count(row.count)),
        cell(count(totals.steps)),
        if totals.errors > 0 { styled(count(totals.errors), RED) } else { cell("") },
        tokens(|usage| usage.input),
        tokens(|usage| usage.cache_read),
        tokens(|usage| usage.cache_write),
        tokens(|usage| usage.output),
        tokens(|usage| usage.reasoning),
        cell(cost),
        time(row.durations.as_ref().map(|d| d.total_ms)),
        time(row.durations.as_ref().map(|d| d.p50_ms)),
        time(row.durations.as_ref().map(|d| d.p95_ms)),
    ]
}
