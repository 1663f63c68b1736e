//! `unspool explain`: why a link is believed, why not another, how a number was counted.

use crate::args::{Args, ExplainArgs};
use crate::error::CliError;
use crate::load::load;
use crate::term::{BOLD, CYAN, paint, plain};
use std::io::Write;
use unspool_formats::Detail;
use unspool_view::explain::{Answer, Candidate, Search};

pub(crate) fn run(args: &Args, wanted: &ExplainArgs) -> Result<(), CliError> {
    let loaded = load(args, std::slice::from_ref(&wanted.target), &wanted.places.look_in, Detail::Full)?;
    let mut search = Search::new(&wanted.what);
    for flow in loaded.flows() {
        search.add(&flow, &loaded.corpus.batch, &loaded.prices);
    }
    let explanation = match search.finish() {
        Answer::One(explanation) => explanation,
        Answer::Nothing => {
            return Err(CliError::NoSuchThing {
                session: wanted.target.display().to_string(),
                wanted: wanted.what.clone(),
            });
        }
        Answer::Several(candidates) => {
            let line = |one: &Candidate| format!("{}  {} in session {}", one.id, one.title, one.session);
            return Err(CliError::AmbiguousThing {
                wanted: wanted.what.clone(),
                candidates: candidates.iter().map(line).collect(),
            });
        }
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
