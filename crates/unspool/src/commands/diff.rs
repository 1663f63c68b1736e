//! `unspool diff`: what differs between two sessions, runs or agents.

mod draw;
mod sides;

use crate::args::{Args, Places};
use crate::error::CliError;
use sides::Wanted;
use std::io::{BufWriter, Write};
use std::process::ExitCode;
use unspool_view::diff::diff;

#[derive(clap::Args)]
pub(crate) struct DiffArgs {
    /// The first: a session id or a unique start of one, or a file; with `:RUN` or `:AGENT` behind it, that part only.
    #[arg(value_name = "A")]
    a: String,
    /// The second; `:RUN` or `:AGENT` alone is another part of the first's session.
    #[arg(value_name = "B")]
    b: String,
    #[command(flatten)]
    places: Places,
    /// Only sums: no steps.
    #[arg(long, conflicts_with = "json")]
    stat: bool,
    /// Show at most so many steps; 0 for all.
    #[arg(long, short = 'n', value_name = "N", default_value_t = 40)]
    limit: usize,
    /// Exit with 1 when steps were added, removed or changed.
    #[arg(long)]
    exit_code: bool,
    /// As JSON: everything.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, wanted: &DiffArgs) -> Result<ExitCode, CliError> {
    let sides =
        sides::load_both(args, &Wanted::new(&wanted.a), &Wanted::new(&wanted.b), &wanted.places.look_in)?;
    let (a, b) = sides.sides();
    let found = diff(&a, &b);
    if wanted.json {
        let mut out = BufWriter::new(std::io::stdout().lock());
        serde_json::to_writer(&mut out, &found)?;
        writeln!(out)?;
        out.flush()?;
    } else {
        let limit = if wanted.limit == 0 { usize::MAX } else { wanted.limit };
        draw::write(&mut anstream::stdout().lock(), &found, (!wanted.stat).then_some(limit))?;
    }
    let differs = found.first_divergence.is_some();
    Ok(if wanted.exit_code && differs { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
