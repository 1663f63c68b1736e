//! `unspool ls`: one line per session.

use crate::args::{Args, ListArgs};
use crate::error::CliError;
use crate::figures::{NOT_STATED, count, duration, minute, money, plural};
use crate::load::{Loaded, load};
use crate::table::{Cell, Column, cell, styled, write_table};
use crate::term::{CYAN, DIM, GREEN, PLAIN, RED, YELLOW};
use anstyle::Style;
use std::io::Write;
use unspool_formats::Detail;
use unspool_model::Code;
use unspool_view::list::{SessionRow, session_row};
use unspool_view::totals;

pub(crate) fn run(args: &Args, ls: &ListArgs) -> Result<(), CliError> {
    let loaded = load(args, &ls.paths, &ls.places.look_in, Detail::Numbers)?;
    let mut rows = session_rows(&loaded);
    if ls.limit > 0 {
        rows.drain(..rows.len().saturating_sub(ls.limit));
    }
    if ls.json {
        return write_json(&rows);
    }
    let mut out = anstream::stdout().lock();
    write_sessions(&mut out, &rows)?;
    write_footer(&mut out, &loaded)
}

/// The lines for a program.
pub(crate) fn write_json(rows: &[SessionRow]) -> Result<(), CliError> {
    let mut out = std::io::stdout().lock();
    serde_json::to_writer_pretty(&mut out, rows)?;
    writeln!(out)?;
    Ok(())
}

/// Every session's line, oldest first.
pub(crate) fn session_rows(loaded: &Loaded) -> Vec<SessionRow> {
    let batch = &loaded.corpus.batch;
    let flows = loaded.flows();
    flows.map(|flow| session_row(&flow, batch, &totals(&flow, &batch.text, &loaded.prices).session)).collect()
}

pub(crate) fn write_sessions(out: &mut dyn Write, rows: &[SessionRow]) -> std::io::Result<()> {
    let columns = [
        Column::rest("SESSION", 10),
        Column::text("STARTED (UTC)").spare(1),
        Column::number("TOOK").spare(4),
        Column::text("STATUS").spare(2),
        Column::number("AGENTS").spare(6),
        Column::number("STEPS").spare(7),
        Column::number("ERRORS").spare(3),
        Column::number("TOKENS").spare(5),
        Column::number("COST"),
        Column::rest("TITLE", 12),
    ];
    let cells: Vec<Vec<Cell>> = rows.iter().map(session_cells).collect();
    write_table(out, &columns, &cells)?;
    let silent = rows.iter().filter(|row| row.tokens.is_none()).count();
    if silent > 0 {
        let line = format!("{NOT_STATED} tokens are not stated in {}", plural(silent as u64, "session"));
        writeln!(out, "{}", crate::term::paint(DIM, &line))?;
    }
    Ok(())
}

fn session_cells(row: &SessionRow) -> Vec<Cell> {
    let agents = match (row.subagents, row.inferred_links) {
        (0, _) => String::new(),
        (n, 0) => n.to_string(),
        (n, _) => format!("{n}~"),
    };
    vec![
        styled(short_id(row), CYAN),
        cell(minute(row.started_at.as_deref())),
        cell(row.duration_ms.map(duration).unwrap_or_default()),
        styled(row.status, status_style(row.status)),
        cell(agents),
        cell(count(row.steps)),
        if row.errors > 0 { styled(count(row.errors), RED) } else { cell("") },
        cell(row.tokens.map_or_else(|| NOT_STATED.into(), count)),
        cell(row.cost_usd.map_or_else(|| NOT_STATED.into(), |cost| money(cost, row.unpriced_calls))),
        row.title.as_ref().map_or_else(|| styled("(no prompt)", DIM), |title| cell(title.as_str())),
    ]
}

/// Enough of the native id to type: the first part of a uuid, else the whole.
fn short_id(row: &SessionRow) -> String {
    short_native(row.native_ids.first().map(String::as_str).unwrap_or_default())
}

/// The same of a native id.
pub(crate) fn short_native(native: &str) -> String {
    let file = native.rsplit('/').next().unwrap_or(native);
    match file.split_once('-') {
        Some((first, _)) if first.len() == 8 && file.len() == 36 => first.to_string(),
        _ => crate::term::cut(file, 24),
    }
}

pub(crate) fn status_style(status: &str) -> Style {
    match status {
        "completed" => GREEN,
        "failed" => RED,
        "running" => CYAN,
        "unknown" => YELLOW,
        _ => PLAIN,
    }
}

/// What became of the records, and what was odd, in one line.
pub(crate) fn write_footer(out: &mut dyn Write, loaded: &Loaded) -> Result<(), CliError> {
    let counts = loaded.corpus.counts();
    let sessions = plural(loaded.sessions.len() as u64, "session");
    let mut line = format!("{sessions} from {}", plural(counts.records, "record"));
    if counts.duplicate > 0 {
        line = format!("{line}, {} of them copies", counts.duplicate);
    }
    if counts.rejected > 0 {
        line = format!("{line}, {} not readable", counts.rejected);
    }
    writeln!(out, "{}", crate::term::paint(DIM, &line))?;
    let issues = loaded.corpus.loose_issues();
    for (codes, what) in [
        (&[Code::UnknownFormat, Code::UnreadableFile][..], "not read"),
        (&[Code::FileCut], "not read to the end"),
    ] {
        let files = issues.iter().filter(|issue| codes.contains(&issue.code)).map(|issue| issue.count).sum();
        if files > 0 {
            let line = format!("{} {what}; `unspool doctor` says why", plural(files, "file"));
            writeln!(out, "{}", crate::term::paint(YELLOW, &line))?;
        }
    }
    Ok(())
}
