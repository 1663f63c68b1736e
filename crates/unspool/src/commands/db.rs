//! `unspool db`: looking after what the server keeps, while it is stopped.

use super::rebuild::{options, settle};
use super::serve::opening;
use crate::args::Args;
use crate::error::CliError;
use crate::figures::count;
use crate::output::write_private_to;
use crate::retention::{age, bytes};
use crate::table::{Column, cell, write_table};
use clap::Subcommand;
use clap::builder::PossibleValuesParser;
use std::fs::File;
use std::io::{BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use unspool_engine::live::{Engine, Keep, Options, Retention, check, compact, export, import, source, stats};

/// Segments are written anew when more than one byte in so many is not wanted.
const HALF: u64 = 2;

#[derive(clap::Args)]
pub(crate) struct DbArgs {
    #[command(subcommand)]
    action: Action,

    /// Where everything is kept (default: `$UNSPOOL_DATA_DIR`, else unspool in your data folder).
    #[arg(long, global = true, value_name = "DIR")]
    data_dir: Option<PathBuf>,
}

#[derive(Subcommand)]
enum Action {
    /// How much there is: files, records by source, sessions, and how well they are packed.
    Stats,
    /// Read everything and say what is not as it should be; exits with 1 when something is not.
    Check,
    /// Delete whole sessions, the oldest first.
    Prune {
        /// Sessions whose last moment is longer ago: `30d`, `12h`.
        #[arg(long, value_name = "AGE", value_parser = age)]
        older_than: Option<i64>,
        /// The oldest, until the records of all others come to no more, as they were received: `500M`, `20G`.
        #[arg(long, value_name = "N", value_parser = bytes)]
        max_bytes: Option<u64>,
        /// Only sessions with records of this source, as `stats` names them.
        #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(source::ALL))]
        source: Option<String>,
        /// Only say what would go.
        #[arg(long)]
        dry_run: bool,
    },
    /// Give the room of deleted records back to the system.
    Compact,
    /// Write all records into one file, which only you can read.
    Export {
        /// The file, or `-` for standard output.
        #[arg(long, short, value_name = "FILE")]
        output: PathBuf,
    },
    /// Add the records of an export that are not there yet.
    Import {
        /// The file.
        file: PathBuf,
    },
}

pub(crate) fn run(args: &Args, db: &DbArgs) -> Result<ExitCode, CliError> {
    let options = options(args, db.data_dir.as_deref(), "db")?;
    match &db.action {
        Action::Stats => print_stats(&options)?,
        Action::Check => return print_check(&options),
        Action::Prune { older_than, max_bytes, source, dry_run } => {
            let keep = Keep { max_age_ms: *older_than, max_bytes: *max_bytes };
            if keep == Keep::default() {
                let why = "nothing to go by".into();
                return Err(CliError::Usage { why, hint: "say --older-than 30d or --max-bytes 20G" });
            }
            let retention = match source {
                Some(source) => {
                    Retention { sources: [(source.clone(), keep)].into(), ..Retention::default() }
                }
                None => Retention { all: keep, ..Retention::default() },
            };
            prune(options, &retention, *dry_run)?;
        }
        Action::Compact => {
            let done = compact(&options, HALF).map_err(|error| opening(&error))?;
            let (segments, freed) = (count(done.segments), count(done.bytes));
            say(&format!("{segments} segments were written anew; {freed} bytes of the log are free"))?;
            if done.left > 0 {
                let left = count(done.left);
                say(&format!(
                    "{left} segments were left as they are: less than half of their bytes is unwanted"
                ))?;
            }
            if done.damaged > 0 {
                say(&format!("{} segments are damaged and were left as they are", done.damaged))?;
            }
        }
        Action::Export { output } => {
            let mut written = Ok(0);
            write_private_to(output, |out| {
                written = export(&options, out);
                written.as_ref().map(drop).map_err(opening)
            })?;
            let records = written.map_err(|error| opening(&error))?;
            crate::term::note(&format!("{} records were written", count(records)));
        }
        Action::Import { file } => take_in(options, file)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn say(line: &str) -> Result<(), CliError> {
    Ok(writeln!(anstream::stdout().lock(), "{line}")?)
}

fn print_stats(options: &Options) -> Result<(), CliError> {
    let stats = stats(options).map_err(|error| opening(&error))?;
    let mut out = anstream::stdout().lock();
    let raw: u64 = stats.sources.values().map(|one| one.bytes).sum();
    let sources = stats.sources.iter();
    let sources =
        sources.map(|(source, size)| vec![cell(source), cell(count(size.entries)), cell(count(size.bytes))]);
    let columns = [Column::text("source"), Column::number("entries"), Column::number("bytes")];
    write_table(&mut out, &columns, &sources.collect::<Vec<_>>())?;
    let files = stats.files.iter().map(|(name, bytes)| vec![cell(name), cell(count(*bytes))]);
    writeln!(out)?;
    write_table(&mut out, &[Column::text("file"), Column::number("bytes")], &files.collect::<Vec<_>>())?;
    let disk: u64 = stats.files.iter().map(|(_, bytes)| bytes).sum();
    writeln!(
        out,
        "\n{} sessions with {} steps; {} bytes received, {} on the disk{}, {} segments",
        count(stats.totals.sessions),
        count(stats.totals.steps),
        count(raw),
        count(disk),
        compared(raw, disk),
        count(stats.segments)
    )?;
    Ok(())
}

/// How what is on the disk compares with what was received, if anything was.
fn compared(received: u64, disk: u64) -> String {
    let (more, less, word) =
        if disk > received { (disk, received, "more") } else { (received, disk, "less") };
    if less == 0 {
        return String::new();
    }
    #[expect(clippy::cast_precision_loss, reason = "shown with two digits")]
    let ratio = more as f64 / less as f64;
    format!(" ({ratio:.1} times {word})")
}

fn print_check(options: &Options) -> Result<ExitCode, CliError> {
    let found = check(options).map_err(|error| opening(&error))?;
    found.iter().try_for_each(|line| say(line))?;
    if found.is_empty() {
        say("everything is as it should be")?;
        return Ok(ExitCode::SUCCESS);
    }
    crate::term::note("`unspool rebuild` makes everything but the log again");
    Ok(ExitCode::from(1))
}

fn prune(options: Options, retention: &Retention, dry: bool) -> Result<(), CliError> {
    let engine = Engine::open_existing(options).map_err(|error| opening(&error))?;
    settle(&engine)?;
    let failed = |why| CliError::Data { why, hint: Some("nothing is half done; try again".into()) };
    let pruned = engine.prune(retention, dry).map_err(failed)?;
    engine.close();
    let (sessions, steps, bytes) = (count(pruned.sessions), count(pruned.steps), count(pruned.bytes));
    let verb = if dry { "would be" } else { "were" };
    say(&format!("{sessions} sessions with {steps} steps and {bytes} bytes of records {verb} deleted"))?;
    if let Some(most) = retention.all.max_bytes {
        let why = if pruned.kept > most {
            ", because they are at work or came together with what stays"
        } else {
            ""
        };
        say(&format!("{} bytes of sessions stay{why}", count(pruned.kept)))?;
        if pruned.loose > 0 {
            let loose = count(pruned.loose);
            say(&format!(
                "{loose} bytes beside them belong to no session; they do not count and are not deleted"
            ))?;
        }
    }
    if !dry && pruned.sessions > 0 {
        let freed = count(pruned.log.bytes);
        say(&format!(
            "{freed} bytes of the log are free; `unspool db compact` writes segments anew of which more than half is unwanted"
        ))?;
    }
    Ok(())
}

fn take_in(options: Options, file: &Path) -> Result<(), CliError> {
    let unreadable =
        |why: std::io::Error| CliError::Unreadable { path: file.display().to_string(), why: why.to_string() };
    let from = BufReader::new(File::open(file).map_err(unreadable)?);
    let imported = import(&options, from).map_err(|error| opening(&error))?;
    let engine = Engine::open(options).map_err(|error| opening(&error))?;
    settle(&engine)?;
    let sessions = engine.health().sessions;
    engine.close();
    let (added, known) = (count(imported.added), count(imported.known));
    say(&format!("{added} records were added, {known} were there before; {} sessions", count(sessions)))
}

#[cfg(test)]
mod tests {
    use super::compared;

    #[test]
    fn it_is_said_which_is_more() {
        assert_eq!((&*compared(300, 100), &*compared(100, 200)), (" (3.0 times less)", " (2.0 times more)"));
        assert_eq!((&*compared(5, 5), &*compared(0, 9), &*compared(0, 0)), (" (1.0 times less)", "", ""));
    }
}
