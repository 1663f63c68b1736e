//! `unspool` alone: the newest sessions in the usual places, and what to type next.

use super::{demo, ls};
use crate::args::Args;
use crate::error::CliError;
use crate::load::load;
use crate::term::{BOLD, CYAN, DIM, paint};
use std::io::Write;
use unspool_engine::usual_places;
use unspool_formats::Detail;

/// How many sessions fit a first look.
const NEWEST: usize = 15;

pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    let places = usual_places();
    let loaded = match load(args, &places, &[], Detail::Numbers) {
        Ok(loaded) if !loaded.corpus.is_empty() => loaded,
        // A program gets an empty list or an error, not the demo.
        Err(error) if args.json => return Err(error),
        Ok(loaded) if args.json => loaded,
        Ok(_) | Err(CliError::NothingFound(_) | CliError::NotRecognised(_)) => return nothing_found(args),
        Err(error) => return Err(error),
    };
    let mut rows = ls::session_rows(&loaded);
    let older = rows.len().saturating_sub(NEWEST);
    rows.drain(..older);
    if args.json {
        return ls::write_json(&rows);
    }
    let mut out = anstream::stdout().lock();
    ls::write_sessions(&mut out, &rows)?;
    if older > 0 {
        let line = format!("… and {older} older ones: unspool ls");
        writeln!(out, "{}", paint(DIM, &line))?;
    }
    ls::write_footer(&mut out, &loaded)?;
    let example =
        rows.last().and_then(|row| row.native_ids.first()).map_or("ID", |id| id.get(..8).unwrap_or(id));
    writeln!(out)?;
    for (command, what) in [
        (format!("unspool show {example}"), "the tree: who started whom, what it cost, what failed"),
        ("unspool stats --by agent".into(), "where tokens and money went"),
        ("unspool doctor".into(), "what could not be linked or read"),
    ] {
        writeln!(out, "  {}  {what}", paint(CYAN, &format!("{command:<26}")))?;
    }
    Ok(())
}

/// Somebody who has no sessions yet still sees what they would get.
fn nothing_found(args: &Args) -> Result<(), CliError> {
    {
        let mut out = anstream::stdout().lock();
        writeln!(
            out,
            "{}",
            paint(BOLD, "No sessions found in the usual places (~/.claude/projects, ~/.codex/sessions, …).")
        )?;
        writeln!(out, "Give a file or folder, for example {}.", paint(CYAN, "unspool ls PATH"))?;
        writeln!(out, "This is what a session looks like:\n")?;
    }
    demo::show(args)
}
