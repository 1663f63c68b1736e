//! `unspool failures`: what failed, where it came from, what it touched and how it ended.

use crate::args::{Args, Places};
use crate::error::CliError;
use crate::figures::plural;
use crate::load::load;
use crate::output::print_document;
use crate::term::{BOLD, DIM, GREEN, PLAIN, RED, columns, cut, paint, plain};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::PathBuf;
use unspool_formats::Detail;
use unspool_model::{Flow, Interner};
use unspool_view::failures::{
    FailureDoc, FailuresDoc, SessionFailuresDoc, Telling, session_failures, session_failures_in_full,
};

#[derive(clap::Args)]
pub(crate) struct FailuresArgs {
    /// Files, folders or `-`, or session ids (default: the usual places).
    #[arg(value_name = "SESSION|PATH")]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    places: Places,
    /// How many failures of a session; 0 for all.
    #[arg(long, short = 'n', value_name = "N", default_value_t = 20)]
    limit: usize,
    /// As JSON, with every cause, receiver and step that it led to.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, wanted: &FailuresArgs) -> Result<(), CliError> {
    let loaded = load(args, &wanted.paths, &wanted.places.look_in, Detail::Full)?;
    let text = &loaded.corpus.batch.text;
    if wanted.json {
        let sessions = loaded.flows().map(|flow| session_failures_in_full(&flow, text)).collect();
        return print_document(&FailuresDoc { schema: "unspool.failures/1", sessions });
    }
    let mut out = anstream::stdout().lock();
    let mut without = 0;
    for flow in loaded.flows() {
        let session = session_failures(&flow, text);
        if session.list.failures.is_empty() {
            without += 1;
        } else {
            write_session(&mut out, &session, &flow, text, wanted.limit)?;
            writeln!(out)?;
        }
    }
    if without > 0 {
        writeln!(out, "{}", paint(DIM, &format!("nothing failed in {}", plural(without, "session"))))?;
    }
    Ok(())
}

fn write_session(
    out: &mut dyn Write,
    session: &SessionFailuresDoc,
    flow: &Flow,
    text: &Interner,
    limit: usize,
) -> io::Result<()> {
    let screen = columns().unwrap_or(usize::MAX);
    let id: String = session.native_ids.first().unwrap_or(&session.id).chars().take(8).collect();
    let title = session.title.as_deref().unwrap_or_default();
    writeln!(out, "{}", paint(BOLD, &cut(format!("{id}  {title}").trim_end(), screen)))?;
    let failures = &session.list.failures;
    let mut outcomes: BTreeMap<&str, u64> = BTreeMap::new();
    for failure in failures {
        *outcomes.entry(failure.outcome).or_default() += 1;
    }
    let part = |(outcome, n): (&&str, &u64)| match *outcome {
        "ended_run" => format!("{n} ended {}", plural(session.list.runs_ended, "run")),
        "run_completed" => format!("{n} at the end of a completed run"),
        outcome => format!("{n} {}", outcome.replace('_', " ")),
    };
    let parts: Vec<String> = outcomes.iter().map(part).collect();
    writeln!(out, "{}: {}", plural(failures.len() as u64, "failed step"), parts.join(", "))?;
    let telling = Telling::new(flow, text);
    let name = |step: u32| in_short(flow, text, step);
    let limit = if limit == 0 { usize::MAX } else { limit };
    let failed = (0_u32..).zip(&flow.steps).filter(|(_, step)| step.is_error);
    for (failure, (n, _)) in failures.iter().zip(failed).take(limit) {
        write_failure(out, failure, &name(n), &telling.tell(n, &name), screen)?;
    }
    if let Some(hidden) = failures.len().checked_sub(limit).filter(|hidden| *hidden > 0) {
        let line = format!("{} not shown; -n 0 shows all", plural(hidden as u64, "more failure"));
        writeln!(out, "{}", paint(DIM, &line))?;
    }
    Ok(())
}

fn write_failure(
    out: &mut dyn Write,
    failure: &FailureDoc,
    name: &str,
    lines: &[String],
    screen: usize,
) -> io::Result<()> {
    let error = failure.error.as_deref().unwrap_or_default();
    let head = format!("{name}  {}", plain(error));
    writeln!(out, "  {} {}", paint(RED, "✗"), cut(head.trim_end(), screen.saturating_sub(4)))?;
    let how = match failure.outcome {
        "retried" | "worked_around" => GREEN,
        "ended_run" => RED,
        _ => PLAIN,
    };
    for (n, line) in lines.iter().enumerate() {
        let style = if n == 0 { how } else { DIM };
        writeln!(out, "      {}", paint(style, &cut(&plain(line), screen.saturating_sub(6))))?;
    }
    Ok(())
}

/// A step by the start of its id, and what it is.
fn in_short(flow: &Flow, text: &Interner, n: u32) -> String {
    let Some(step) = flow.steps.get(n as usize) else { return String::new() };
    let id = step.id.show('s');
    let name =
        step.name.some().map_or_else(|| step.kind.name().replace('_', " "), |name| text.get(name).into());
    format!("{} {}", id.get(..9).unwrap_or(&id), plain(&name))
}
