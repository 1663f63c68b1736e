//! Real clients against a real server: OpenTelemetry's SDK, instrumented programs, curl, hooks, schemathesis; and the SDKs of Anthropic and `OpenAI` through the proxy.
//!
//! In: the release binary. Out: success, or what a client saw otherwise than it should. What clients need is installed into the target folder.

use crate::say;
use crate::tools::{finish, install, works};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) fn run(root: &Path, binary: Option<&str>) -> Result<(), String> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let binary = binary.map_or_else(|| target.join("release/unspool"), PathBuf::from);
    let binary = fs::canonicalize(&binary).map_err(|error| format!("{}: {error}", binary.display()))?;
    let python = python(root, &target.join("clients"))?;
    if !works("curl", &["--version"]) {
        install("curl")?;
    }
    let check = root.join("tools/clients/check.py");
    let status = Command::new(&python).arg(check).arg(&binary).current_dir(target.join("clients")).status();
    finish(status, "a client saw something else than it should")?;
    let sdks = root.join("tools/clients/sdks.py");
    let model = made_up_model(root, &target)?;
    let status =
        Command::new(python).arg(sdks).arg(binary).arg(model).current_dir(target.join("clients")).status();
    finish(status, "an SDK saw something else through the proxy than directly")
}

/// The made-up LLM API that SDKs talk to.
fn made_up_model(root: &Path, target: &Path) -> Result<PathBuf, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let words = ["build", "--release", "--quiet", "--package", "unspool-testkit", "--bin", "made-up-model"];
    let built = Command::new(cargo).args(words).current_dir(root).status();
    finish(built, "the made-up model could not be built")?;
    Ok(target.join("release/made-up-model"))
}

/// A Python that has the clients, as `requirements.txt` names them.
fn python(root: &Path, folder: &Path) -> Result<PathBuf, String> {
    let wanted = root.join("tools/clients/requirements.txt");
    let (python, stamp) = (folder.join("bin/python"), folder.join("installed.txt"));
    let text = fs::read(&wanted).map_err(|error| error.to_string())?;
    if fs::read(&stamp).ok().as_ref() == Some(&text) {
        return Ok(python);
    }
    say("   installing clients");
    if !works("python3", &["-m", "ensurepip", "--version"]) {
        install("python3-venv")?;
    }
    let made = Command::new("python3").args(["-m", "venv"]).arg(folder).status();
    finish(made, "`python3 -m venv` failed")?;
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement"];
    let installed = Command::new(&python).args(pip).arg(&wanted).status();
    finish(installed, "`pip install` of tools/clients/requirements.txt failed")?;
    fs::write(&stamp, &text).map_err(|error| error.to_string())?;
    Ok(python)
}
