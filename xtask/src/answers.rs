//! What answers inside a report: the crate `unspool-report-wasm` as WebAssembly, packed, beside the page in the crate that serves it.
//!
//! In: the sources. Out: `crates/unspool-server/report/`, or what is wrong. The same sources and compiler make the same bytes in any folder of any
//! machine, and no path of that machine is in them.

use crate::say;
use crate::tools::{finish, works};
use std::fs;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where it lies, below the repository's root.
const BUILT: &str = "crates/unspool-server/report";
const PACKED: &str = "answers.wasm.deflate";
/// The compiler it was made with.
const COMPILER: &str = "built-with.txt";
const TARGET: &str = "wasm32-unknown-unknown";
/// What every report may carry of it, packed, in bytes: in letters, a quarter more, and with the page, that is less than 1.5 MB.
const MAX_PACKED: usize = 1_040_000;

/// How hard it is packed: more takes longer and saves next to nothing.
const ITERATIONS: NonZeroU64 = NonZeroU64::new(3).unwrap();

/// Builds it.
pub(crate) fn build(root: &Path) -> Result<(), String> {
    let packed = packed(root)?;
    let folder = root.join(BUILT);
    let write =
        |name: &str, bytes: &[u8]| fs::write(folder.join(name), bytes).map_err(|error| error.to_string());
    fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    write(PACKED, &packed)?;
    write(COMPILER, compiler()?.as_bytes())
}

/// Builds it aside and compares, if this is the compiler it was made with.
pub(crate) fn check(root: &Path) -> Result<(), String> {
    let folder = root.join(BUILT);
    let made_with = fs::read_to_string(folder.join(COMPILER)).unwrap_or_default();
    let here = compiler()?;
    if made_with != here {
        say(&format!(
            "   NOT COMPARED: {BUILT}/{PACKED} was made with {}, and this is {}",
            made_with.trim(),
            here.trim()
        ));
        return Ok(());
    }
    if fs::read(folder.join(PACKED)).ok() == Some(packed(root)?) {
        Ok(())
    } else {
        Err(format!("{BUILT}/{PACKED} is not what its sources make; run `cargo xtask page`"))
    }
}

fn compiler() -> Result<String, String> {
    let told = Command::new("rustc").arg("--version").output().map_err(|error| error.to_string())?;
    String::from_utf8(told.stdout).map_err(|error| error.to_string())
}

fn packed(root: &Path) -> Result<Vec<u8>, String> {
    let wasm = compiled(root)?;
    let mut packed = Vec::new();
    let options = zopfli::Options { iteration_count: ITERATIONS, ..zopfli::Options::default() };
    zopfli::compress(options, zopfli::Format::Deflate, wasm.as_slice(), &mut packed)
        .map_err(|error| error.to_string())?;
    say(&format!("   what answers in a report is {} bytes, packed {}", wasm.len(), packed.len()));
    if packed.len() > MAX_PACKED {
        return Err(format!(
            "what answers in a report is {} bytes packed, {MAX_PACKED} at most",
            packed.len()
        ));
    }
    Ok(packed)
}

fn compiled(root: &Path) -> Result<Vec<u8>, String> {
    ready()?;
    let paths = paths(root)?;
    let flags: Vec<String> =
        paths.iter().map(|(path, name)| format!("--remap-path-prefix={}={name}", path.display())).collect();
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--quiet", "--locked", "--profile", "in-report", "--target", TARGET]);
    cargo.args(["--package", "unspool-report-wasm"]).current_dir(root);
    cargo.env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}")).env("CARGO_INCREMENTAL", "0");
    finish(cargo.status(), "what answers in a report cannot be compiled")?;
    let wasm = target.join(TARGET).join("in-report/unspool_report_wasm.wasm");
    let wasm = fs::read(wasm).map_err(|error| error.to_string())?;
    // A path of the machine would tell of it, and make another file on the next one.
    let has = |text: &str| wasm.windows(text.len()).any(|part| part == text.as_bytes());
    match paths.iter().map(|(path, _)| path.display().to_string()).find(|path| has(path)) {
        Some(path) => Err(format!("what answers in a report has the path {path} in it")),
        None => Ok(wasm),
    }
}

/// Folders whose names must not be in it, and what stands for them. The last that fits counts.
fn paths(root: &Path) -> Result<Vec<(PathBuf, &'static str)>, String> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home =
        home.or_else(|| Some(std::env::home_dir()?.join(".cargo"))).ok_or("there is no home folder")?;
    let sources = fs::read_dir(home.join("registry/src")).into_iter().flatten().flatten();
    let sources = sources.map(|entry| (entry.path(), "dependencies"));
    let root = fs::canonicalize(root).map_err(|error| error.to_string())?;
    Ok([(home.clone(), "cargo"), (root, "unspool")].into_iter().chain(sources).collect())
}

/// Makes sure that the compiler can make it.
fn ready() -> Result<(), String> {
    let told = Command::new("rustc").args(["--print", "target-libdir", "--target", TARGET]).output();
    let folder =
        told.map(|told| String::from_utf8_lossy(&told.stdout).trim().to_string()).unwrap_or_default();
    if !folder.is_empty() && Path::new(&folder).is_dir() {
        return Ok(());
    }
    say(&format!("   installing the compiler's target {TARGET}"));
    if works("rustup", &["target", "add", TARGET]) {
        Ok(())
    } else {
        Err(format!("the compiler has no target {TARGET}; `rustup target add {TARGET}` installs it"))
    }
}
