//! One file per command.

mod export;

use crate::args::{Args, Color, Command};
use crate::error::CliError;

pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    match args.color {
        Color::Auto => {}
        Color::Always => anstream::ColorChoice::Always.write_global(),
        Color::Never => anstream::ColorChoice::Never.write_global(),
    }
    match &args.command {
        Some(Command::Export(export)) => export::run(args, export),
        _ => Ok(()),
    }
}
