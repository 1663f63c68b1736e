//! One file per command.

mod demo;
mod doctor;
mod explain;
mod export;
mod findings;
mod home;
mod inspect;
mod ls;
mod path;
mod show;
mod stats;

pub(crate) use findings::FindingsArgs;
pub(crate) use path::PathArgs;

use crate::args::{Args, Color, Command};
use crate::error::CliError;

pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    match args.color {
        Color::Auto => {}
        Color::Always => anstream::ColorChoice::Always.write_global(),
        Color::Never => anstream::ColorChoice::Never.write_global(),
    }
    match &args.command {
        None => home::run(args),
        Some(Command::Ls(ls)) => ls::run(args, ls),
        Some(Command::Show(show)) => show::run(args, show),
        Some(Command::Stats(stats)) => stats::run(args, stats),
        Some(Command::Explain(explain)) => explain::run(args, explain),
        Some(Command::Path(path)) => path::run(args, path),
        Some(Command::Findings(findings)) => findings::run(args, findings),
        Some(Command::Export(export)) => export::run(args, export),
        Some(Command::Inspect(inspect)) => inspect::run(args, inspect),
        Some(Command::Doctor(doctor)) => doctor::run(args, doctor),
        Some(Command::Demo(demo)) => demo::run(args, demo),
    }
}
