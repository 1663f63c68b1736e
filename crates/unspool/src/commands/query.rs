//! `unspool query`: the steps for which a query holds, over one session or many.

use crate::args::Args;
use crate::asked::{Asked, refused};
use crate::error::CliError;
use crate::figures::{count, duration, minute, money, plural};
use crate::load::{load, settings};
use crate::table::{Cell, Column, cell, styled, write_table};
use crate::term::{CYAN, DIM, RED, columns, cut, paint};
use std::cell::Cell as Counter;
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use unspool_formats::Detail;
use unspool_model::{Flow, Witness};
use unspool_view::document::{Each, write_document};
use unspool_view::query::Query;
use unspool_view::query_json::{QueryDoc, SessionHits, StepHit, session_hits};

#[derive(clap::Args)]
pub(crate) struct QueryArgs {
    /// What to look for, in single quotes: `tool:Bash is:error`. docs/query.md has the language.
    #[arg(value_name = "QUERY", allow_hyphen_values = true)]
    query: String,
    /// Files, folders or `-`, or session ids (default: the usual places).
    #[arg(value_name = "SESSION|PATH")]
    paths: Vec<PathBuf>,
    /// Look for the sessions here instead of in the usual places.
    #[arg(long = "in", value_name = "PATH")]
    places: Vec<PathBuf>,
    /// Show at most so many steps, the first ones; 0 for all.
    #[arg(long, short = 'n', value_name = "N", default_value_t = 0)]
    limit: usize,
    /// Only how many steps there are, per session.
    #[arg(long, conflicts_with = "json")]
    count: bool,
    /// As JSON.
    #[arg(long)]
    json: bool,
}

/// Exits with 0 when a step was found and with 1 when none was, as grep does.
pub(crate) fn run(args: &Args, wanted: &QueryArgs) -> Result<ExitCode, CliError> {
    let query = Query::parse(&wanted.query).map_err(|error| refused(&wanted.query, &error))?;
    let now = settings(args)?.as_of;
    let loaded = load(args, &wanted.paths, &wanted.places, Detail::Full)?;
    let asked = Asked::new(&loaded, &query, now);
    let limit = if wanted.limit == 0 { usize::MAX } else { wanted.limit };
    let found = if wanted.json {
        write_json(&asked, limit)?
    } else if wanted.count {
        write_counts(&asked)?
    } else {
        write_steps(&asked, limit)?
    };
    Ok(if found > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What a query means in one session, with at most so many steps.
fn hits(asked: &Asked<'_>, flow: &Flow, limit: usize) -> SessionHits {
    let (batch, prices) = (&asked.loaded.corpus.batch, &asked.loaded.prices);
    let (selected, answers) = asked.select(flow);
    session_hits(flow, batch, prices, &selected, &answers, limit)
}

fn write_json(asked: &Asked<'_>, limit: usize) -> Result<usize, CliError> {
    let mut out = BufWriter::new(std::io::stdout().lock());
    let (found, listed) = (Counter::new(0), Counter::new(0));
    let sessions = Each(|| {
        let hits = asked.loaded.flows().map(|flow| hits(asked, &flow, limit - listed.get()));
        hits.filter(|session| session.found > 0).inspect(|session| {
            found.set(found.get() + session.found);
            listed.set(listed.get() + session.steps.len());
        })
    });
    write_document(&mut out, &QueryDoc::new(asked.query.to_string(), sessions))?;
    out.flush()?;
    Ok(found.get())
}

fn write_counts(asked: &Asked<'_>) -> Result<usize, CliError> {
    let mut rows = Vec::new();
    let mut found = 0;
    for flow in asked.loaded.flows() {
        let session = hits(asked, &flow, 0);
        if session.found > 0 {
            found += session.found;
            rows.push(vec![
                cell(session.found.to_string()),
                cell(session.of_steps.to_string()),
                styled(short_session(&session), CYAN),
                cell(session.title.unwrap_or_default()),
            ]);
        }
    }
    let mut out = anstream::stdout().lock();
    let table = [
        Column::number("FOUND"),
        Column::number("STEPS"),
        Column::rest("SESSION", 12),
        Column::rest("TITLE", 20),
    ];
    if !rows.is_empty() {
        write_table(&mut out, &table, &rows)?;
    }
    let all = asked.loaded.sessions.len() as u64;
    let line = format!("{} in {} of {}", plural(found as u64, "step"), rows.len(), plural(all, "session"));
    writeln!(out, "{}", paint(DIM, &line))?;
    Ok(found)
}

fn write_steps(asked: &Asked<'_>, limit: usize) -> Result<usize, CliError> {
    let mut out = anstream::stdout().lock();
    let mut shown: Vec<(String, StepHit)> = Vec::new();
    let (mut found, mut sessions, mut unread) = (0, 0, 0);
    for flow in asked.loaded.flows() {
        let session = hits(asked, &flow, limit - shown.len());
        let name = short_session(&session);
        sessions += u64::from(session.found > 0);
        found += session.found;
        unread += session.unread_records;
        shown.extend(session.steps.into_iter().map(|step| (name.clone(), step)));
    }
    if !shown.is_empty() {
        write_table_of(&mut out, &shown)?;
    }
    let mut line = match found {
        0 => format!("no step matches {}", asked.query),
        _ => format!("{} in {}", plural(found as u64, "step"), plural(sessions, "session")),
    };
    if shown.len() < found {
        line = format!("{line}, the first {} shown", shown.len());
    }
    writeln!(out, "{}", paint(DIM, &line))?;
    if unread > 0 {
        let streams = &asked.loaded.corpus.batch.streams;
        let is_export = streams.iter().any(|stream| stream.witness == Witness::Answer);
        let why = if is_export { ": an export holds first words, not what was said" } else { "" };
        crate::term::note(&format!("{} could not be looked into{why}", plural(unread, "record")));
    }
    Ok(found)
}

/// Columns of what a failed step did, before why it failed.
const SAID_BEFORE_ERROR: usize = 32;

/// Columns of what stands before a hit, on a screen.
const BEFORE_HIT: usize = 16;

/// Writes the columns that hold something. On one day, the time of day is enough.
fn write_table_of(out: &mut dyn Write, steps: &[(String, StepHit)]) -> std::io::Result<()> {
    let day = |step: &StepHit| step.started_at.as_ref().and_then(|at| at.get(..10).map(String::from));
    let one_day = steps.windows(2).all(|pair| day(&pair[0].1) == day(&pair[1].1));
    let table = [
        Column::rest("SESSION", 8),
        Column::number("STEP"),
        Column::text(if one_day { "TIME (UTC)" } else { "STARTED (UTC)" }).spare(2),
        Column::rest("AGENT", 8).spare(3),
        Column::rest("WHAT", 9),
        Column::number("TOOK").spare(1),
        Column::number("TOKENS").spare(4),
        Column::number("COST").spare(5),
        Column::rest("TEXT", 28),
    ];
    let mut rows: Vec<Vec<Cell>> =
        steps.iter().map(|(session, step)| step_cells(session, step, one_day)).collect();
    let filled: Vec<bool> = (0..table.len()).map(|n| rows.iter().any(|row| !row[n].is_empty())).collect();
    for row in &mut rows {
        let mut filled = filled.iter();
        row.retain(|_| filled.next() == Some(&true));
    }
    let table = table.iter().zip(&filled).filter(|(_, yes)| **yes);
    write_table(out, &table.map(|(column, _)| *column).collect::<Vec<Column>>(), &rows)
}

fn step_cells(session: &str, step: &StepHit, one_day: bool) -> Vec<Cell> {
    let said = step.intent.as_ref().or(step.preview.as_ref()).map_or("", String::as_str);
    let text = match (step.snippets.first(), &step.error) {
        (Some(hit), _) => format!("{}[{}]{}", before_hit(&hit.before), hit.hit, hit.after),
        // What failed and why, both as far as there is room.
        (None, Some(error)) if error.starts_with(said) => format!("✗ {error}"),
        (None, Some(error)) => format!("{} ✗ {error}", cut(said, SAID_BEFORE_ERROR)).trim_start().to_string(),
        (None, None) => said.to_string(),
    };
    let what = match (step.kind, step.name.as_deref()) {
        ("tool_call", Some(name)) => name.to_string(),
        ("model_call", Some(name)) => super::show::short_model(name).to_string(),
        (kind, _) => kind.to_string(),
    };
    let cost = step.cost_usd.map(|cost| money(cost, 0));
    let unpriced = || if step.tokens.is_some_and(|tokens| tokens > 0) { "?".into() } else { String::new() };
    vec![
        styled(session, CYAN),
        cell(format!("#{}", step.seq)),
        cell(match step.started_at.as_ref().and_then(|at| at.get(11..19)) {
            Some(time) if one_day => time.to_string(),
            _ => minute(step.started_at.as_deref()),
        }),
        cell(step.agent.as_str()),
        if step.is_error { styled(what, RED) } else { cell(what) },
        cell(step.duration_ms.map(duration).unwrap_or_default()),
        cell(step.tokens.filter(|tokens| *tokens > 0).map(count).unwrap_or_default()),
        cell(cost.filter(|_| step.tokens != Some(0)).unwrap_or_else(unpriced)),
        cell(text),
    ]
}

/// What stands before a hit, short enough on a screen for the hit to be seen.
fn before_hit(text: &str) -> String {
    let letters = text.chars().count();
    if columns().is_none() || letters <= BEFORE_HIT {
        return text.to_string();
    }
    format!("…{}", text.chars().skip(letters - BEFORE_HIT).collect::<String>())
}

/// Enough of the session's id to type.
fn short_session(session: &SessionHits) -> String {
    let native = session.native_ids.first().map_or(session.id.as_str(), String::as_str);
    super::ls::short_native(native)
}
