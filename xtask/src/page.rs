//! The page: built from `web/` into the crate that serves it, checked, and tried in a real browser.
//!
//! In: `web/`. Out: `crates/unspool-server/page/`, or what is wrong. Never here: what the page does.

use crate::tools::{finish, install, npm_ci, works};
use crate::{answers, say};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where the built page lies, below the repository's root.
const BUILT: &str = "crates/unspool-server/page";
/// All files of it.
const FILES: &[&str] = &["index.html", "app.js", "app.css"];
/// Where the build goes, told to it by this name.
const OUT: &str = "UNSPOOL_PAGE_OUT";
/// What the page may weigh: the script, packed, in bytes.
const MAX_SCRIPT_GZIP: usize = 150_000;

/// Builds the page.
pub(crate) fn build(root: &Path) -> Result<(), String> {
    let web = ready(root)?;
    npm(&web, "types", &[])?;
    npm(&web, "check", &[])?;
    npm(&web, "build", &[(OUT, &root.join(BUILT))])?;
    answers::build(root)
}

/// Checks the sources, builds them aside and compares: the committed page must be what its sources make.
pub(crate) fn check(root: &Path) -> Result<(), String> {
    let web = ready(root)?;
    npm(&web, "check", &[])?;
    npm(&web, "test", &[])?;
    let aside = target(root).join("page");
    npm(&web, "build", &[(OUT, &aside)])?;
    let mut made: Vec<String> = fs::read_dir(&aside)
        .map_err(|error| error.to_string())?
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    made.sort();
    let mut wanted = FILES.to_vec();
    wanted.sort_unstable();
    if made != wanted {
        return Err(format!("the build makes {}, not {}", made.join(", "), wanted.join(", ")));
    }
    for file in FILES {
        if fs::read(aside.join(file)).ok() != fs::read(root.join(BUILT).join(file)).ok() {
            return Err(format!("{BUILT}/{file} is not what web/ makes; run `cargo xtask page`"));
        }
    }
    weigh(&aside.join("app.js"))?;
    answers::check(root)
}

/// Tries the page in Chromium against a server of that binary.
pub(crate) fn end_to_end(root: &Path, binary: Option<&str>) -> Result<(), String> {
    let web = ready(root)?;
    if !works("chromium", &["--version"]) {
        install("chromium")?;
    }
    let binary = binary.map_or_else(|| target(root).join("release/unspool"), PathBuf::from);
    let binary = std::path::absolute(binary).map_err(|error| error.to_string())?;
    npm(&web, "e2e", &[("UNSPOOL_BIN", &binary)])
}

fn target(root: &Path) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from)
}

fn ready(root: &Path) -> Result<PathBuf, String> {
    let web = root.join("web");
    npm_ci(&web, "what the page is built with")?;
    Ok(web)
}

/// Runs a script of the page's package.
fn npm(web: &Path, script: &str, told: &[(&str, &Path)]) -> Result<(), String> {
    let mut command = Command::new("npm");
    command.args(["run", "--silent", "--loglevel=error", script]).current_dir(web);
    command.envs(told.iter().copied());
    finish(command.status(), &format!("`npm run {script}` in web/ failed"))
}

fn weigh(script: &Path) -> Result<(), String> {
    let packed = Command::new("gzip").arg("-9c").arg(script).output().map_err(|error| error.to_string())?;
    let bytes = packed.stdout.len();
    say(&format!("   the script is {bytes} bytes, packed"));
    if bytes <= MAX_SCRIPT_GZIP && bytes > 0 {
        Ok(())
    } else {
        Err(format!("the script is {bytes} bytes packed, {MAX_SCRIPT_GZIP} at most"))
    }
}
