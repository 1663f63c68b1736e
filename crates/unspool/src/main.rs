//! The `unspool` binary: the rim between people and the library. One file per command.

mod args;
mod asked;
mod commands;
mod error;
mod figures;
mod graph_args;
mod load;
mod natives;
mod open_files;
mod output;
mod progress;
mod recorded;
mod redaction;
mod retention;
mod server;
mod table;
mod term;

use clap::Parser;
use std::process::ExitCode;

/// Many small things are allocated by many threads, and memory is to be given back when they are done: the system's allocator does neither well.
#[cfg(not(target_env = "msvc"))]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

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
