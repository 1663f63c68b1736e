//! `unspool timeline`: what happened when, as bars of text.

use crate::args::{Args, Places};
use crate::error::CliError;
use crate::load::load;
use crate::term::{BOLD, DIM, PLAIN, RED, columns, paint, plain};
use std::io::Write;
use std::path::PathBuf;
use unspool_formats::Detail;
use unspool_view::draw::text::Charset;
use unspool_view::draw::{TimelinePicture, gantt};

#[derive(clap::Args)]
pub(crate) struct TimelineArgs {
    /// A session id or a unique start of one, or a file or folder.
    #[arg(value_name = "SESSION|PATH")]
    target: PathBuf,
    #[command(flatten)]
    places: Places,
    /// Draw with characters that every terminal has.
    #[arg(long)]
    ascii: bool,
    /// What the client asked for itself, too: titles, quota, token counts.
    #[arg(long)]
    full: bool,
}

/// The width of a drawing that goes to a file or a program.
const PIPED_COLUMNS: usize = 120;

pub(crate) fn run(args: &Args, wanted: &TimelineArgs) -> Result<(), CliError> {
    let loaded = load(args, std::slice::from_ref(&wanted.target), &wanted.places.look_in, Detail::Full)?;
    let charset = if wanted.ascii { Charset::Ascii } else { Charset::Unicode };
    let width = columns().unwrap_or(PIPED_COLUMNS);
    let mut out = anstream::stdout().lock();
    for (n, flow) in loaded.flows().enumerate() {
        if n > 0 {
            writeln!(out)?;
        }
        let (picture, _) = TimelinePicture::of(&flow, &loaded.corpus.batch, wanted.full);
        writeln!(out, "{}", paint(BOLD, &plain(&picture.title)))?;
        for line in gantt(&picture, width, charset) {
            let failed = line.of.is_some_and(|bar| picture.bars[bar].is_error);
            let style = if failed { RED } else { PLAIN };
            let name = if line.of.is_some() { line.name } else { paint(DIM, &line.name) };
            writeln!(out, "{name} {}", paint(style, &line.bar))?;
        }
        if let Some(mut note) = picture.left_out.words() {
            if picture.left_out.internal > 0 {
                note.push_str(" (--full)");
            }
            writeln!(out, "{}", paint(DIM, &note))?;
        }
    }
    Ok(())
}
