//! The sequence CI runs, step by step, stopping at the first failure.

use crate::{clients, dependencies, docs, fuzz, page, picture, say, tidy, validate};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

pub(crate) fn run(root: &Path) -> Result<(), String> {
    step("format", || format(root, true))?;
    step("tidy", || tidy::run(root))?;
    step("dependencies", || dependencies::check(root))?;
    step("docs", || docs::check(root))?;
    step("page", || page::check(root))?;
    step("lints", || {
        cargo(
            root,
            &["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"],
            "cargo clippy --fix",
        )
    })?;
    step("build", || cargo(root, &["build", "--release", "--locked"], "cargo build --release"))?;
    step("picture", || picture::check(root))?;
    step("tests", || cargo(root, &["test", "--workspace", "--locked", "--quiet"], "cargo test --workspace"))?;
    step("exports", || validate::run(root, None))?;
    step("page in a browser", || page::end_to_end(root, None))?;
    step("clients", || clients::run(root, None))?;
    step("fuzz", || fuzz::run(root, fuzz::Seconds::BRIEF))
}

/// Formats every source file, or checks that they are. `cargo fmt` follows `mod` lines and so misses what a macro declares.
pub(crate) fn format(root: &Path, is_check: bool) -> Result<(), String> {
    let rustfmt = std::env::var_os("RUSTFMT").unwrap_or_else(|| "rustfmt".into());
    let mut command = Command::new(rustfmt);
    command.args(["--edition", "2024", "--config-path"]).arg(root.join("rustfmt.toml"));
    command.args(is_check.then_some("--check")).args(tidy::rust_files(root));
    let status = command.current_dir(root).status().map_err(|error| error.to_string())?;
    if status.success() { Ok(()) } else { Err("`rustfmt` failed; try `cargo xtask format`".to_string()) }
}

fn step(name: &str, work: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
    say(&format!("== {name}"));
    let started = Instant::now();
    work().map_err(|why| format!("{name} failed: {why}"))?;
    say(&format!("== {name} ok ({:.1} s)", started.elapsed().as_secs_f64()));
    Ok(())
}

fn cargo(root: &Path, args: &[&str], mend: &str) -> Result<(), String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status =
        Command::new(cargo).args(args).current_dir(root).status().map_err(|error| error.to_string())?;
    if status.success() { Ok(()) } else { Err(format!("`cargo {}` failed; try `{mend}`", args.join(" "))) }
}
