//! `unspool explain`: why a link is believed, why not another, how a number was counted.

use crate::args::{Args, ExplainArgs};
use crate::error::CliError;
use crate::load::load;
use crate::term::{BOLD, CYAN, paint, plain};
use std::io::Write;
use unspool_formats::Detail;
use unspool_view::explain::explain;

pub(crate) fn run(args: &Args, wanted: &ExplainArgs) -> Result<(), CliError> {
    let loaded = load(args, std::slice::from_ref(&wanted.target), &wanted.places, Detail::Full)?;
    let explained = |flow| explain(&flow, &loaded.corpus.batch, &loaded.prices, &wanted.what);
    let found = loaded.flows().find_map(explained);
    let Some(explanation) = found else {
        return Err(CliError::NoSuchThing {
            session: wanted.target.display().to_string(),
            wanted: wanted.what.clone(),
        });
    };
    if wanted.json {
        let mut out = std::io::stdout().lock();
        serde_json::to_writer_pretty(&mut out, &explanation)?;
        writeln!(out)?;
        return Ok(());
    }
    let mut out = anstream::stdout().lock();
    writeln!(out, "{}", paint(BOLD, &plain(&explanation.title)))?;
    for section in &explanation.sections {
        writeln!(out, "\n{}", paint(CYAN, &section.heading))?;
        for line in &section.lines {
            writeln!(out, "  {}", plain(line))?;
        }
    }
    Ok(())
}
