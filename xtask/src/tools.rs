//! Programs that checks need: whether they are there, and how they get there.

use crate::say;
use std::fs;
use std::path::Path;
use std::process::{Command, ExitStatus};

/// Success, or what a failure means.
pub(crate) fn finish(status: std::io::Result<ExitStatus>, what: &str) -> Result<(), String> {
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => Err(what.to_string()),
        Err(error) => Err(format!("{what}: {error}")),
    }
}

/// Whether a program runs.
pub(crate) fn works(program: &str, args: &[&str]) -> bool {
    Command::new(program).args(args).output().is_ok_and(|output| output.status.success())
}

/// Installs a package by the system's package manager.
pub(crate) fn install(package: &str) -> Result<(), String> {
    say(&format!("   installing {package}"));
    let apt = |args: &[&str]| {
        Command::new("apt-get").args(args).output().is_ok_and(|output| output.status.success())
    };
    let done = apt(&["install", "-y", "-q", package])
        || (apt(&["update", "-q"]) && apt(&["install", "-y", "-q", package]));
    if done {
        Ok(())
    } else {
        Err(format!("{package} is missing and could not be installed (Debian package {package})"))
    }
}

/// Installs what a folder's lock file names, and nothing else; nothing is done when that is there.
pub(crate) fn npm_ci(folder: &Path, what: &str) -> Result<(), String> {
    if !works("node", &["--version"]) || !works("npm", &["--version"]) {
        install("npm")?;
    }
    let stamp = folder.join("node_modules/.installed-lock.json");
    let lock = fs::read(folder.join("package-lock.json")).map_err(|error| error.to_string())?;
    if fs::read(&stamp).ok().as_ref() == Some(&lock) {
        return Ok(());
    }
    say(&format!("   installing {what}"));
    let npm = Command::new("npm")
        .args(["ci", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"])
        .current_dir(folder)
        .status();
    finish(npm, &format!("`npm ci` in {} failed; {what} are missing", folder.display()))?;
    fs::write(&stamp, &lock).map_err(|error| error.to_string())
}
