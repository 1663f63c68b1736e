//! Finding the files to read.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use unspool_formats::plain_name;
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

/// How names of data end, behind the dot and before `.gz` or `.zst`.
pub const DATA_ENDINGS: [&str; 6] = ["json", "jsonl", "ndjson", "pb", "binpb", "otlp"];

/// Whether a file's name ends as data does, packed or not.
pub fn looks_like_data(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    let extension = Path::new(plain_name(&name)).extension().and_then(|extension| extension.to_str());
    extension.is_some_and(|extension| DATA_ENDINGS.contains(&extension))
}

/// A path as a stream's name: forward slashes, no leading `./`.
fn show(path: &Path) -> String {
    let text = path.to_string_lossy();
    text.strip_prefix("./").unwrap_or(&text).to_string()
}

/// Where one agent usually keeps its sessions.
struct Place {
    /// A variable that moves its home, and the folder of that place which is the home. It may hold several folders,
    /// separated by commas.
    variable: (&'static str, &'static str),
    /// Its homes below the user's.
    homes: &'static [&'static str],
    /// What of a home holds sessions.
    sessions: &'static [&'static str],
}

const PLACES: &[Place] = &[
    Place {
        variable: ("CLAUDE_CONFIG_DIR", ""),
        homes: &[".claude", ".config/claude"],
        sessions: &["projects"],
    },
    Place { variable: ("CODEX_HOME", ""), homes: &[".codex"], sessions: &["sessions", "archived_sessions"] },
    Place { variable: ("COPILOT_HOME", ""), homes: &[".copilot"], sessions: &["session-state"] },
    Place {
        variable: ("GEMINI_CLI_HOME", ".gemini"),
        homes: &[".gemini"],
        sessions: &["tmp", "antigravity-cli/brain"],
    },
    Place { variable: ("PI_CODING_AGENT_DIR", ""), homes: &[".pi/agent"], sessions: &["sessions"] },
    Place { variable: ("OPENCLAW_STATE_DIR", ""), homes: &[".openclaw"], sessions: &["agents"] },
    Place { variable: ("KIMI_CODE_HOME", ""), homes: &[".kimi-code"], sessions: &["sessions"] },
    Place { variable: ("VIBE_HOME", ""), homes: &[".vibe"], sessions: &["logs/session"] },
    Place { variable: ("", ""), homes: &[".qwen"], sessions: &["projects"] },
    Place { variable: ("", ""), homes: &[".kiro"], sessions: &["sessions/cli"] },
    Place { variable: ("", ""), homes: &[".factory"], sessions: &["sessions"] },
    Place { variable: ("", ""), homes: &[".grok"], sessions: &["sessions"] },
];

/// The folders in which agents usually leave their sessions, as far as they exist.
pub fn usual_places() -> Vec<PathBuf> {
    let mut places = Vec::new();
    let user = std::env::home_dir();
    for place in PLACES {
        let named = std::env::var_os(place.variable.0).unwrap_or_default();
        let named = named.to_string_lossy();
        let named = named.split(',').map(str::trim).filter(|folder| !folder.is_empty());
        let named = named.map(|folder| Path::new(folder).join(place.variable.1));
        let usual = user.iter().flat_map(|user| place.homes.iter().map(|home| user.join(home)));
        for home in named.chain(usual) {
            places.extend(place.sessions.iter().map(|sessions| home.join(sessions)));
        }
    }
    places.retain(|place| place.is_dir());
    let mut seen = std::collections::BTreeSet::new();
    places.retain(|place| seen.insert(place.clone()));
    places
}

#[cfg(test)]
mod tests {
    use super::looks_like_data;
    use std::path::Path;

    #[test]
    fn data_is_known_by_its_ending_packed_or_not() {
        for name in ["a/b.jsonl", "b.json", "c.ndjson", "d.jsonl.zst", "e.json.gz", "f.binpb"] {
            assert!(looks_like_data(Path::new(name)), "{name}");
        }
        for name in ["a.md", "b.zst", "c.tar.gz", "jsonl", "d.txt"] {
            assert!(!looks_like_data(Path::new(name)), "{name}");
        }
    }
}
