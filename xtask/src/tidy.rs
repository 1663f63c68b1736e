//! House rules that no compiler checks.

use std::fs;
use std::path::{Path, PathBuf};

/// Who may depend on whom. Arrows point one way: a crate may use those to its right, and nothing else of ours.
const ALLOWED: &[(&str, &[&str])] = &[
    ("unspool-model", &[]),
    ("unspool-formats", &["unspool-model"]),
    ("unspool-link", &["unspool-model"]),
    ("unspool-view", &["unspool-model"]),
    ("unspool-answers", &["unspool-link", "unspool-model", "unspool-view"]),
    ("unspool-redact", &[]),
    ("unspool-replay", &["unspool-formats", "unspool-model", "unspool-redact"]),
    (
        "unspool-report",
        &[
            "unspool-answers",
            "unspool-formats",
            "unspool-link",
            "unspool-model",
            "unspool-redact",
            "unspool-view",
        ],
    ),
    ("unspool-proxy", &["unspool-redact"]),
    ("unspool-report-wasm", &["unspool-model", "unspool-report"]),
    ("unspool-store", &["unspool-model"]),
    (
        "unspool-engine",
        &["unspool-formats", "unspool-link", "unspool-model", "unspool-store", "unspool-view"],
    ),
    (
        "unspool-server",
        &[
            "unspool-answers",
            "unspool-engine",
            "unspool-model",
            "unspool-proxy",
            "unspool-redact",
            "unspool-report",
            "unspool-store",
            "unspool-view",
        ],
    ),
    (
        "unspool",
        &[
            "unspool-engine",
            "unspool-formats",
            "unspool-link",
            "unspool-model",
            "unspool-replay",
            "unspool-report",
            "unspool-server",
            "unspool-view",
        ],
    ),
    ("unspool-testkit", &["unspool-formats", "unspool-link", "unspool-model", "unspool-view"]),
    ("unspool-specs", &["unspool-formats", "unspool-link", "unspool-model", "unspool-view"]),
];

/// Crates that touch no world.
const PURE: &[&str] =
    &["unspool-model", "unspool-formats", "unspool-link", "unspool-view", "unspool-answers"];

/// A file longer than this fails.
const MAX_LINES: usize = 700;

/// Documents that must exist.
const DOCUMENTS: &[&str] = &[
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "LICENSE",
    "docs/commands.md",
    "docs/query.md",
    "docs/configuration.md",
    "docs/linking.md",
    "docs/benchmarks.md",
    "docs/formats.md",
    "docs/exports.md",
    "docs/store.md",
    "docs/page.md",
];

pub(crate) fn run(root: &Path) -> Result<(), String> {
    let mut broken = Vec::new();
    dependencies(root, &mut broken);
    sources(root, &mut broken);
    pure_lints(root, &mut broken);
    documents(root, &mut broken);
    limits(root, &mut broken);
    if broken.is_empty() { Ok(()) } else { Err(broken.join("\n")) }
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

fn crates(root: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> =
        fs::read_dir(root.join("crates")).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    found.sort();
    found
}

fn name_of(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn dependencies(root: &Path, broken: &mut Vec<String>) {
    for path in crates(root) {
        let name = name_of(&path);
        let Some((_, allowed)) = ALLOWED.iter().find(|(known, _)| *known == name) else {
            broken
                .push(format!("crate {name} has no place in xtask/src/tidy.rs ALLOWED and ARCHITECTURE.md"));
            continue;
        };
        let manifest: toml::Table = read(&path.join("Cargo.toml")).parse().unwrap_or_default();
        let Some(dependencies) = manifest.get("dependencies").and_then(|table| table.as_table()) else {
            continue;
        };
        for dependency in dependencies.keys().filter(|name| name.starts_with("unspool")) {
            if !allowed.contains(&dependency.as_str()) {
                broken.push(format!(
                    "{name} must not depend on {dependency}: dependencies point one way (I11)"
                ));
            }
        }
        if PURE.contains(&name.as_str()) {
            for banned in ["tokio", "walkdir", "tempfile", "rayon", "notify"] {
                if dependencies.contains_key(banned) {
                    broken.push(format!("{name} is pure and must not use {banned} (I9)"));
                }
            }
        }
    }
}

fn sources(root: &Path, broken: &mut Vec<String>) {
    for path in rust_files(root) {
        source(root, &path, broken);
    }
}

/// Every source file of ours, also those that only a macro declares.
pub(crate) fn rust_files(root: &Path) -> Vec<PathBuf> {
    rust_files_in(["crates", "xtask", "fuzz"].map(|name| root.join(name)).into())
}

fn rust_files_in(mut folders: Vec<PathBuf>) -> Vec<PathBuf> {
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                if !matches!(name_of(&path).as_str(), "target" | "corpus" | "artifacts") {
                    folders.push(path);
                }
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

fn source(root: &Path, path: &Path, broken: &mut Vec<String>) {
    let text = read(path);
    let shown = path.strip_prefix(root).unwrap_or(path).display().to_string();
    let lines = text.lines().count();
    if lines > MAX_LINES {
        broken.push(format!("{shown} has {lines} lines; split it (at most {MAX_LINES})"));
    }
    if !text.starts_with("//!") && !text.starts_with("#!") {
        broken.push(format!(
            "{shown} does not begin with what comes in, what goes out, what is never done here (//!)"
        ));
    }
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    if ["utils", "util", "helpers", "helper", "manager", "misc", "common"].contains(&stem.as_str()) {
        broken.push(format!("{shown}: name the file after what it does"));
    }
}

fn pure_lints(root: &Path, broken: &mut Vec<String>) {
    let file = |name: &str| read(&root.join("crates").join(name).join("clippy.toml"));
    let first = file(PURE[0]);
    for name in PURE {
        if file(name) != first || first.is_empty() {
            broken.push(format!("crates/{name}/clippy.toml must equal that of {} (I9)", PURE[0]));
        }
    }
}

/// Everything a user can type, set or meet is documented.
fn documents(root: &Path, broken: &mut Vec<String>) {
    for name in DOCUMENTS {
        if read(&root.join(name)).trim().is_empty() {
            broken.push(format!("{name} is missing"));
        }
    }
    let mut mentions = |document: &str, what: &str, words: Vec<String>| {
        let text = read(&root.join(document));
        for word in words {
            if !text.contains(&format!("`{word}`")) {
                broken.push(format!("{document} does not mention {what} `{word}`"));
            }
        }
    };
    mentions(
        "docs/linking.md",
        "rule",
        unspool_model::Rule::ALL.iter().map(|rule| rule.name().into()).collect(),
    );
    mentions(
        "docs/formats.md",
        "format",
        unspool_formats::FORMATS.iter().map(|format| format.descriptor().id.into()).collect(),
    );
    mentions(
        "docs/exports.md",
        "format",
        unspool_view::export::Format::ALL.iter().map(|format| format.name().into()).collect(),
    );
    mentions("docs/commands.md", "command", commands(root));
    mentions("docs/configuration.md", "setting", settings(root));
    mentions("ARCHITECTURE.md", "crate", ALLOWED.iter().map(|(name, _)| (*name).into()).collect());
}

/// Crates whose limits a user meets by name. Those of reading and linking are told by `limit_reached`, with their name.
const LIMITED: &[&str] = &[
    "unspool",
    "unspool-answers",
    "unspool-engine",
    "unspool-proxy",
    "unspool-server",
    "unspool-store",
    "unspool-view",
];

/// Every limit that has a name in the code has it in a document, with what happens beyond it (I12).
fn limits(root: &Path, broken: &mut Vec<String>) {
    let documents = fs::read_dir(root.join("docs")).into_iter().flatten().flatten().map(|entry| entry.path());
    let documents: String = documents.chain([root.join("ARCHITECTURE.md")]).map(|path| read(&path)).collect();
    for path in
        LIMITED.iter().flat_map(|name| rust_files_in(vec![root.join("crates").join(name).join("src")]))
    {
        let text = read(&path);
        for name in text.split('`').skip(1).filter(|word| is_limit(word)) {
            if !documents.contains(&format!("`{name}`")) {
                let shown = path.strip_prefix(root).unwrap_or(&path).display();
                broken.push(format!("no document says what `{name}` of {shown} limits"));
            }
        }
    }
}

fn is_limit(word: &str) -> bool {
    word.starts_with("max_") && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
}

/// The variants of `enum Command`, as typed.
fn commands(root: &Path) -> Vec<String> {
    let text = read(&root.join("crates/unspool/src/commands/mod.rs"));
    let modules = text.lines().filter_map(|line| line.strip_prefix("mod ")?.strip_suffix(';'));
    modules.filter(|name| *name != "home").map(|name| format!("unspool {}", name.replace('_', "-"))).collect()
}

/// The keys of the linker's table.
fn settings(root: &Path) -> Vec<String> {
    let table: toml::Table =
        read(&root.join("crates/unspool-link/src/table.toml")).parse().unwrap_or_default();
    table.keys().cloned().collect()
}
