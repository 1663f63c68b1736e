//! `unspool report`: sessions as one HTML file.

use crate::args::{Args, Places};
use crate::error::CliError;
use crate::figures::{count, plural};
use crate::load::{Loaded, load};
use crate::output::write_to;
use crate::term::{note, plain};
use std::io::Write;
use std::path::{Path, PathBuf};
use unspool_formats::Detail;
use unspool_report::{Asked, Masked, Report, Whole};

#[derive(clap::Args)]
pub(crate) struct ReportArgs {
    /// A session id or a unique start of one, or a file or folder; several are in one report.
    #[arg(value_name = "SESSION|PATH", required = true)]
    targets: Vec<PathBuf>,
    #[command(flatten)]
    places: Places,
    /// The file to write; `-` for standard output.
    #[arg(long, short = 'o', value_name = "FILE", default_value = "unspool-report.html")]
    output: PathBuf,
    /// Mask what looks like a key, token or password, and say how many there were.
    #[arg(long)]
    redact: bool,
}

/// A report of more sessions is refused: `max_report_sessions`.
const MAX_REPORT_SESSIONS: usize = 1_000;

pub(crate) fn run(args: &Args, wanted: &ReportArgs) -> Result<(), CliError> {
    let loaded = load(args, &wanted.targets, &wanted.places.look_in, Detail::Full)?;
    let report = make(&loaded, wanted.redact)?;
    write_to(Some(&wanted.output), |out| Ok(out.write_all(&report.html)?))?;
    tell(&wanted.output, &report);
    Ok(())
}

fn make(loaded: &Loaded, redact: bool) -> Result<Report, CliError> {
    if loaded.sessions.is_empty() {
        return Err(CliError::Data {
            why: "there is no session to report on".into(),
            hint: Some("`unspool doctor PATH` tells what became of its records".into()),
        });
    }
    if loaded.sessions.len() > MAX_REPORT_SESSIONS {
        let why = format!(
            "these are {} sessions, over the limit `max_report_sessions` ({MAX_REPORT_SESSIONS})",
            loaded.sessions.len()
        );
        return Err(CliError::Usage { why, hint: "name the sessions by their ids; `unspool ls` lists them" });
    }
    let mut whole = |shown: &str| {
        let bytes = loaded.natives.whole(shown).ok()?;
        Some(Whole { name: shown.into(), bytes })
    };
    let asked = Asked {
        corpus: &loaded.corpus,
        sessions: &loaded.sessions,
        prices: &loaded.prices,
        redact: redact.then_some(&loaded.redact),
        whole: &mut whole,
    };
    let failed = |error: unspool_report::MakeError| CliError::Data { why: error.to_string(), hint: None };
    unspool_server::report(asked).map_err(failed)
}

/// Says what was written, and what is to be known about it.
fn tell(output: &Path, report: &Report) {
    let Report { html, sessions, steps, masked, notices, .. } = report;
    let sessions = plural(*sessions as u64, "session");
    let steps = plural(*steps as u64, "step");
    let shown = plain(&output.display().to_string());
    let _ =
        writeln!(anstream::stderr().lock(), "{shown}: {sessions}, {steps}, {}B", count(html.len() as u64));
    if let Some(masked) = masked {
        note(&masks(masked));
    }
    for notice in notices {
        note(notice);
    }
}

fn masks(masked: &[Masked]) -> String {
    let total: u64 = masked.iter().map(|one| one.count).sum();
    if total == 0 {
        return "nothing in it looks like a secret; look yourself before you share it".into();
    }
    let kinds: Vec<String> = masked.iter().map(|one| format!("{} {}", one.count, one.kind)).collect();
    format!("{} masked ({}); look yourself before you share it", plural(total, "secret"), kinds.join(", "))
}
