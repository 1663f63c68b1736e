//! House rules as a program: `cargo xtask ci` is exactly what CI runs.
//!
//! In: the repository. Out: success, or every broken rule with the command that mends it. Never here: product code.

mod answers;
mod bench;
mod ci;
mod clients;
mod dependencies;
mod docs;
mod fuzz;
mod page;
mod picture;
mod tidy;
mod tools;
mod validate;

use std::path::PathBuf;
use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask COMMAND
  ci             everything CI checks: format, lints, tidy, docs, tests, exports, the page, a brief fuzz
  format         format every source file, also those that `cargo fmt` does not see
  tidy           house rules: dependency direction, file sizes, docs complete
  docs [--check] write (or check) the generated documents and fuzz targets
  validate [BIN] read exports with the readers of their formats (default: of the release binary)
  page [--check] build the page from web/ (or check that the built one is what its sources make)
  page --e2e [BIN]
                 try the page in Chromium (default: served by the release binary)
  clients [BIN]  let real clients talk to a real server (default: the release binary)
  picture        draw the README's pictures from the release binary's output
  fuzz [SECONDS] run every fuzz target, one per decoder, for so long (default: briefly)
  bench [DIR]    measure the figures of docs/benchmarks.md
  bench-layout [DIR]
                 measure the layout of graphs, and write the graphs to DIR for other engines";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let root = root();
    let result = match args.as_slice() {
        ["ci"] => ci::run(&root),
        ["format"] => ci::format(&root, false),
        ["tidy"] => tidy::run(&root),
        ["docs"] => docs::write(&root),
        ["docs", "--check"] => docs::check(&root),
        ["validate"] => validate::run(&root, None),
        ["validate", binary] => validate::run(&root, Some(binary)),
        ["page"] => page::build(&root),
        ["page", "--check"] => page::check(&root),
        ["page", "--e2e"] => page::end_to_end(&root, None),
        ["page", "--e2e", binary] => page::end_to_end(&root, Some(binary)),
        ["clients"] => clients::run(&root, None),
        ["clients", binary] => clients::run(&root, Some(binary)),
        ["picture"] => picture::write(&root),
        ["fuzz"] => fuzz::run(&root, fuzz::Seconds::BRIEF),
        ["fuzz", seconds] => match seconds.parse() {
            Ok(seconds) => fuzz::run(&root, fuzz::Seconds::each(seconds)),
            Err(_) => Err(USAGE.to_string()),
        },
        ["bench"] => bench::run(&root, None),
        ["bench", dir] => bench::run(&root, Some(dir)),
        ["bench-layout"] => bench::layout(&root, None),
        ["bench-layout", dir] => bench::layout(&root, Some(dir)),
        _ => Err(USAGE.to_string()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            say(&message);
            ExitCode::FAILURE
        }
    }
}

/// The repository's root: the folder above this crate's.
fn root() -> PathBuf {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    here.parent().map(PathBuf::from).unwrap_or(here)
}

/// Tells the person at the terminal.
#[expect(clippy::print_stderr, reason = "this program talks to people")]
fn say(message: &str) {
    eprintln!("{message}");
}
