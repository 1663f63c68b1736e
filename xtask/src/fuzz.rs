//! Runs the fuzz targets for a short while, from the fixtures as seeds, with the stable compiler.
//!
//! `cargo fuzz run TARGET` works too where that tool is installed; this needs nothing but a C++ compiler.

use crate::docs::Document;
use crate::say;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// How long targets run.
#[derive(Clone, Copy)]
pub(crate) struct Seconds {
    /// The target of one decoder.
    pub(crate) decoder: u32,
    /// The target of a property of all.
    pub(crate) property: u32,
}

impl Seconds {
    /// For CI.
    pub(crate) const BRIEF: Seconds = Seconds { decoder: 1, property: 4 };

    /// The same for every target.
    pub(crate) fn each(seconds: u32) -> Seconds {
        Seconds { decoder: seconds, property: seconds }
    }
}

/// What makes a binary tell libFuzzer which code an input reached.
const INSTRUMENT: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table --cfg fuzzing";

pub(crate) fn run(root: &Path, seconds: Seconds) -> Result<(), String> {
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
        let decoder = decoders().find(|format| target_of(format) == target);
        let seeds = root.join("fixtures").join(decoder.unwrap_or_default());
        let seconds = if decoder.is_some() { seconds.decoder } else { seconds.property };
        let corpus = root.join("fuzz/corpus").join(&target);
        seed(&seeds, &corpus)?;
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

/// The ids of the formats, each of which has a target.
fn decoders() -> impl Iterator<Item = &'static str> {
    unspool_formats::FORMATS.iter().map(|format| format.descriptor().id)
}

/// The target that drives one decoder.
fn target_of(format: &str) -> String {
    format!("decode_{}", format.replace('-', "_"))
}

/// Where the generated part of the manifest begins.
const TARGETS_HEAD: &str = "# The targets, written by `cargo xtask docs`.\n";

/// A target per decoder, and the manifest that names all targets.
pub(crate) fn generated(root: &Path) -> Vec<Document> {
    let mut documents: Vec<Document> = decoders()
        .map(|format| Document {
            path: format!("fuzz/fuzz_targets/{}.rs", target_of(format)),
            text: format!(
                "//! Any bytes read as `{format}` are records that keep I3 and I8. Written by `cargo xtask docs`.\n\
                 #![no_main]\n\nunspool_fuzz::decodes!(\"{format}\");\n"
            ),
        })
        .collect();
    let mut names = targets(root);
    names.extend(decoders().map(target_of));
    names.sort();
    names.dedup();
    let manifest = fs::read_to_string(root.join("fuzz/Cargo.toml")).unwrap_or_default();
    let (written, _) = manifest.split_once(TARGETS_HEAD).unwrap_or((&manifest, ""));
    let mut text = format!("{written}{TARGETS_HEAD}");
    for name in names {
        let _ = write!(
            text,
            "\n[[bin]]\nname = \"{name}\"\npath = \"fuzz_targets/{name}.rs\"\ntest = false\ndoc = false\nbench = false\n"
        );
    }
    documents.push(Document { path: "fuzz/Cargo.toml".into(), text });
    documents
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

/// The targets are the files.
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

/// Every file below the folder is a seed.
fn seed(seeds: &Path, corpus: &Path) -> Result<(), String> {
    fs::create_dir_all(corpus).map_err(|error| error.to_string())?;
    let mut folders = vec![seeds.to_path_buf()];
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
