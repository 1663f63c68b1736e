//! Runs the fuzz targets for a short while, from the fixtures as seeds, with the stable compiler.
//!
//! `cargo fuzz run TARGET` works too where that tool is installed; this needs nothing but a C++ compiler.

use crate::say;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Seconds per target in CI.
pub(crate) const BRIEF_S: u32 = 10;

/// What makes a binary tell libFuzzer which code an input reached.
const INSTRUMENT: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table --cfg fuzzing";

pub(crate) fn run(root: &Path, seconds: u32) -> Result<(), String> {
    need_compiler()?;
    let host = host()?;
    // With `--target`, the flags do not reach build scripts.
    let mut build = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    build
        .args([
            "build",
            "--release",
            "--locked",
            "--quiet",
            "--target",
            &host,
            "--manifest-path",
            "fuzz/Cargo.toml",
        ])
        .args(["--target-dir", "fuzz/target"])
        .env("RUSTFLAGS", INSTRUMENT)
        .current_dir(root);
    finish(&mut build, "building the fuzz targets")?;
    for target in targets(root) {
        let corpus = root.join("fuzz/corpus").join(&target);
        seed(root, &corpus)?;
        let mut fuzz = Command::new(root.join("fuzz/target").join(&host).join("release").join(&target));
        fuzz.arg(format!("-max_total_time={seconds}"))
            .args(["-max_len=4096", "-verbosity=0", "-print_final_stats=0"])
            .arg(format!("-artifact_prefix={}/", artifacts(root)?.display()))
            .arg(&corpus)
            .current_dir(root);
        finish(&mut fuzz, &format!("fuzz target {target} (its input lies in fuzz/artifacts)"))?;
        say(&format!("   {target}: {seconds} s without a finding"));
    }
    Ok(())
}

fn finish(command: &mut Command, what: &str) -> Result<(), String> {
    let status = command.status().map_err(|error| format!("{what}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{what} failed")) }
}

fn need_compiler() -> Result<(), String> {
    let works =
        |program: &str| Command::new(program).arg("--version").output().is_ok_and(|o| o.status.success());
    if works("c++") {
        return Ok(());
    }
    finish(
        Command::new("apt-get").args(["install", "-y", "-q", "g++"]),
        "installing a C++ compiler (Debian package g++)",
    )
}

fn host() -> Result<String, String> {
    let output = Command::new("rustc").arg("-vV").output().map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_string).ok_or_else(|| "rustc does not name its host".to_string())
}

/// The targets are the files; a test that was forgotten in the manifest fails to be found here.
fn targets(root: &Path) -> Vec<String> {
    let entries = fs::read_dir(root.join("fuzz/fuzz_targets")).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.filter_map(|entry| Some(entry.path().file_stem()?.to_string_lossy().into_owned())).collect();
    names.sort();
    names
}

fn artifacts(root: &Path) -> Result<PathBuf, String> {
    let folder = root.join("fuzz/artifacts");
    fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    Ok(folder)
}

/// Every fixture is a seed.
fn seed(root: &Path, corpus: &Path) -> Result<(), String> {
    fs::create_dir_all(corpus).map_err(|error| error.to_string())?;
    let mut folders = vec![root.join("fixtures")];
    let mut count = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else {
                count += 1;
                fs::copy(&path, corpus.join(format!("fixture-{count}")))
                    .map_err(|error| error.to_string())?;
            }
        }
    }
    Ok(())
}
