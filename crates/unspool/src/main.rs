//! The `unspool` binary: the rim between people and the library. One file per command.

mod args;
mod asked;
mod commands;
mod error;
mod figures;
mod graph_args;
mod load;
mod natives;
mod output;
mod progress;
mod table;
mod term;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    if commands::hook::is_asked_for() {
        return commands::hook::main();
    }
    let args = args::Args::parse();
    match commands::run(&args) {
        Ok(code) => code,
        Err(error) => error.report(),
    }
}
