//! `unspool relink`: everything stored is linked again, and what is different is said.

use super::rebuild::{options, settle};
use super::serve::opening;
use crate::args::Args;
use crate::error::CliError;
use crate::figures::count;
use crate::load::{RULES_FILE, read_rules};
use crate::output::print_document;
use crate::table::{Column, cell, write_table};
use clap::Args as ClapArgs;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use unspool_engine::live::{LinkChange, Relink, Relinked};

/// Links that are told one by one unless something else is asked for.
const EXAMPLES: usize = 10;

#[derive(ClapArgs)]
pub(crate) struct RelinkArgs {
    /// Only say what would be different.
    #[arg(long)]
    dry_run: bool,

    /// Settings of linking in the place of the folder's `rules.toml`; kept as that, unless with --dry-run.
    #[arg(long, value_name = "FILE")]
    rules: Option<PathBuf>,

    /// So many different links are told one by one.
    #[arg(long, value_name = "N", default_value_t = EXAMPLES)]
    examples: usize,

    /// Where everything is kept (default: `$UNSPOOL_DATA_DIR`, else unspool in your data folder).
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,

    /// As JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct RelinkDoc {
    schema: &'static str,
    dry_run: bool,
    sessions_before: u64,
    sessions_after: u64,
    sessions_touched: u64,
    links_added: u64,
    links_removed: u64,
    links_changed: u64,
    rules: BTreeMap<String, RuleDoc>,
    examples: Vec<ExampleDoc>,
}

#[derive(Serialize)]
struct RuleDoc {
    before: u64,
    after: u64,
}

#[derive(Serialize)]
struct ExampleDoc {
    session_id: String,
    from: String,
    to: String,
    kind: String,
    before: Option<WorthDoc>,
    after: Option<WorthDoc>,
}

#[derive(Serialize)]
struct WorthDoc {
    rule: String,
    confidence: f64,
}

pub(crate) fn run(args: &Args, relink: &RelinkArgs) -> Result<(), CliError> {
    let mut options = options(args, relink.data_dir.as_deref(), "relink")?;
    let folder = options.folder.clone();
    if let Some(path) = &relink.rules {
        // The folder's own rules do not count beside it.
        options.table = read_rules(path, crate::load::settings(args)?.table)?;
    }
    let begun = Relink::begin(options, relink.dry_run).map_err(|error| opening(&error))?;
    if let (Some(path), false) = (&relink.rules, relink.dry_run) {
        // Before the work: whoever goes on after an interruption goes on with them.
        keep_rules(path, &folder)?;
    }
    settle(&begun.engine)?;
    let found = begun.finish(relink.examples).map_err(|error| opening(&error))?;
    if relink.json { print_document(&document(found, relink.dry_run)) } else { draw(&found, relink.dry_run) }
}

/// Makes a file the folder's rules.
fn keep_rules(path: &Path, folder: &Path) -> Result<(), CliError> {
    let to = folder.join(RULES_FILE);
    let is_same = path.canonicalize().ok().is_some_and(|path| to.canonicalize().ok() == Some(path));
    let unwritable =
        |why: std::io::Error| CliError::Unwritable { path: to.display().to_string(), why: why.to_string() };
    if is_same { Ok(()) } else { std::fs::copy(path, &to).map(drop).map_err(unwritable) }
}

fn document(found: Relinked, dry_run: bool) -> RelinkDoc {
    #[expect(clippy::cast_precision_loss, reason = "at most ten thousand")]
    let worth = |worth: Option<(String, i64)>| {
        worth.map(|(rule, confidence)| WorthDoc { rule, confidence: confidence as f64 / 10_000.0 })
    };
    let example = |one: LinkChange| ExampleDoc {
        session_id: one.session.show('x'),
        from: one.from.show('s'),
        to: one.to.show('s'),
        kind: one.kind,
        before: worth(one.before),
        after: worth(one.after),
    };
    let rule = |(name, (before, after)): (String, (u64, u64))| (name, RuleDoc { before, after });
    RelinkDoc {
        schema: "unspool.relink/1",
        dry_run,
        sessions_before: found.sessions.0,
        sessions_after: found.sessions.1,
        sessions_touched: found.touched,
        links_added: found.added,
        links_removed: found.removed,
        links_changed: found.changed,
        rules: found.rules.into_iter().map(rule).collect(),
        examples: found.examples.into_iter().map(example).collect(),
    }
}

fn draw(found: &Relinked, dry_run: bool) -> Result<(), CliError> {
    let mut out = anstream::stdout().lock();
    let (would, sessions) = (if dry_run { "would be" } else { "were" }, found.sessions.1);
    writeln!(
        out,
        "{} links {would} added, {} removed, {} changed, in {} of {} sessions",
        count(found.added),
        count(found.removed),
        count(found.changed),
        count(found.touched),
        count(sessions)
    )?;
    writeln!(out)?;
    let rows = found.rules.iter();
    let rows =
        rows.map(|(rule, (before, after))| vec![cell(rule), cell(count(*before)), cell(count(*after))]);
    let columns = [Column::text("rule"), Column::number("before"), Column::number("after")];
    write_table(&mut out, &columns, &rows.collect::<Vec<_>>())?;
    if !found.examples.is_empty() {
        writeln!(out)?;
    }
    for one in &found.examples {
        let worth = |worth: &Option<(String, i64)>| {
            worth
                .as_ref()
                .map_or_else(|| "nothing".into(), |(rule, worth)| format!("{rule} {}", share(*worth)))
        };
        let (before, after) = (worth(&one.before), worth(&one.after));
        let (session, from, to) = (one.session.show('x'), one.from.show('s'), one.to.show('s'));
        writeln!(out, "{session}  {}  {from} → {to}: {before} → {after}", one.kind)?;
    }
    let told = found.examples.len() as u64;
    let left_out = (found.added + found.removed + found.changed).saturating_sub(told);
    if left_out > 0 && told > 0 {
        writeln!(out, "and {} more; --examples N tells more of them", count(left_out))?;
    }
    Ok(())
}

/// Ten-thousandths as a share of one.
fn share(worth: i64) -> String {
    let text = format!("{}.{:04}", worth / 10_000, worth % 10_000);
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}
