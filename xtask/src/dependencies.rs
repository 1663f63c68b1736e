//! What we depend on: where it comes from and under which licence.

use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// Licences that ask for no more than a notice.
const ALLOWED: &[&str] = &[
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "ISC",
    "MIT",
    "MIT-0",
    "NCSA",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
    "0BSD",
    "CC0-1.0",
];

pub(crate) fn check(root: &Path) -> Result<(), String> {
    let mut broken = Vec::new();
    for manifest in ["Cargo.toml", "fuzz/Cargo.toml"] {
        for package in packages(root, manifest)? {
            let name = package["name"].as_str().unwrap_or_default();
            match package["source"].as_str() {
                None => continue,
                Some(source) if source.starts_with("registry+") => {}
                Some(source) => {
                    broken.push(format!("{name} comes from {source}; depend on released crates only"));
                }
            }
            let licence = package["license"].as_str().unwrap_or_default();
            if !is_allowed(licence) {
                broken.push(format!("{name} is under `{licence}`; see ALLOWED in xtask/src/dependencies.rs"));
            }
        }
    }
    if broken.is_empty() { Ok(()) } else { Err(broken.join("\n")) }
}

fn packages(root: &Path, manifest: &str) -> Result<Vec<Value>, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version=1", "--locked", "--manifest-path", manifest])
        .current_dir(root)
        .output()
        .map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let metadata: Value = serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())?;
    Ok(metadata["packages"].as_array().cloned().unwrap_or_default())
}

/// An expression is allowed when one side of every `OR` and all sides of every `AND` are.
fn is_allowed(expression: &str) -> bool {
    let plain = expression.replace(['(', ')'], "").replace('/', " OR ");
    plain.split(" AND ").all(|part| part.split(" OR ").any(|licence| ALLOWED.contains(&licence.trim())))
}
