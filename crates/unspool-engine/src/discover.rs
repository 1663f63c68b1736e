//! Finding the files to read.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use walkdir::WalkDir;

/// One thing to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// What people see and what gives streams their order.
    pub name: String,
    /// Where it lies; `None` = standard input.
    pub path: Option<PathBuf>,
    /// Size when it was found.
    pub bytes: u64,
}

/// What was found under some paths.
#[derive(Debug, Default)]
pub struct Found {
    /// Files to read, in order of name.
    pub sources: Vec<Source>,
    /// Files in folders whose names do not look like data.
    pub not_data: u64,
    /// Paths that could not be opened, with the reason.
    pub unreadable: Vec<(String, String)>,
}

/// Looks for data under the paths: files as given, folders with all below them, `-` for standard input.
pub fn discover(paths: &[PathBuf]) -> Found {
    let mut found = Found::default();
    let mut files = Vec::new();
    let mut stdin = None;
    // Only several roots, or links, can lead to one file twice.
    let mut may_repeat = paths.len() > 1;
    for path in paths {
        if path.as_os_str() == "-" {
            stdin = Some(Source { name: "-".into(), path: None, bytes: 0 });
            continue;
        }
        match std::fs::metadata(path) {
            Err(error) => found.unreadable.push((show(path), error.to_string())),
            Ok(meta) if meta.is_dir() => may_repeat |= walk(path, &mut found, &mut files),
            Ok(meta) => files.push((path.clone(), meta.len())),
        }
    }
    // One file reached by two paths is read once, under the first name in order.
    let mut by_real_path: BTreeMap<PathBuf, Source> = BTreeMap::new();
    for (path, bytes) in files {
        let real = may_repeat.then(|| std::fs::canonicalize(&path).ok()).flatten();
        let real = real.unwrap_or_else(|| path.clone());
        let source = Source { name: show(&path), path: Some(path), bytes };
        let slot = by_real_path.entry(real).or_insert_with(|| source.clone());
        if source.name < slot.name {
            *slot = source;
        }
    }
    found.sources = by_real_path.into_values().chain(stdin).collect();
    found.sources.sort_by(|a, b| a.name.cmp(&b.name));
    found
}

/// Collects the data files below a folder; says whether it met a link.
fn walk(root: &Path, found: &mut Found, files: &mut Vec<(PathBuf, u64)>) -> bool {
    let mut met_link = false;
    for entry in WalkDir::new(root).follow_links(true) {
        match entry {
            Err(error) => {
                let path = error.path().unwrap_or(root);
                let why = error.io_error().map_or_else(|| "a loop of links".into(), ToString::to_string);
                found.unreadable.push((show(path), why));
            }
            Ok(entry) => {
                met_link |= entry.path_is_symlink();
                if entry.file_type().is_dir() {
                    continue;
                }
                if !entry.file_type().is_file() {
                    found.unreadable.push((show(entry.path()), "neither a file nor a folder".into()));
                    continue;
                }
                if looks_like_data(entry.path()) {
                    let bytes = entry.metadata().map_or(0, |meta| meta.len());
                    files.push((entry.into_path(), bytes));
                } else {
                    found.not_data += 1;
                }
            }
        }
    }
    met_link
}

fn looks_like_data(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    matches!(extension, Some("jsonl" | "json" | "ndjson" | "pb" | "binpb" | "otlp"))
}

/// A path as a stream's name: forward slashes, no leading `./`.
fn show(path: &Path) -> String {
    let text = path.to_string_lossy();
    text.strip_prefix("./").unwrap_or(&text).to_string()
}

/// The folders in which agents usually leave their sessions, as far as they exist.
pub fn usual_places() -> Vec<PathBuf> {
    let mut places = Vec::new();
    if let Some(list) = std::env::var_os("CLAUDE_CONFIG_DIR") {
        // The variable may hold several folders, separated by commas.
        places.extend(list.to_string_lossy().split(',').map(|dir| Path::new(dir.trim()).join("projects")));
    }
    if let Some(home) = std::env::home_dir() {
        places.push(home.join(".claude/projects"));
        places.push(home.join(".config/claude/projects"));
    }
    places.retain(|place| place.is_dir());
    places.dedup();
    places
}
