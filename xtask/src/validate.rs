//! Exports read by the readers of their formats: D2's compiler, Graphviz, Mermaid's parser, networkx, librsvg.
//!
//! In: the release binary and sessions with hostile names. Out: success, or every file a reader refused or read otherwise
//! than it was meant. What a reader needs is installed by its ordinary package manager; a tool that is missing fails.

mod hostile;

use crate::tools::{finish, install, npm_ci, works};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What is drawn of each session: a name, and the arguments that ask for it.
const DRAWN: &[(&str, &[&str])] = &[
    ("step", &[]),
    ("full", &["--full", "--sequential", "--group-by", "agent"]),
    ("model-call", &["--level", "model-call"]),
    ("agents", &["--level", "agent"]),
    ("runs", &["--level", "run"]),
    ("workflow", &["--view", "workflow"]),
    ("process", &["--view", "process"]),
];

/// The formats that are read back.
const ENDINGS: &[&str] = &["graph.json", "svg", "d2", "mmd", "dot", "graphml", "csv", "edges.csv"];

/// Formats of whole sessions: they must be readable at all; what they say is tested elsewhere.
const WHOLE: &[&str] = &[
    "flow.json",
    "tree.json",
    "trace.json",
    "speedscope.json",
    "otlp.json",
    "thoughtflow.json",
    "causality.json",
    "workflow.json",
    "subtasks.json",
];

/// Sessions of the demo that are drawn.
const DEMO: &[&str] = &["shop", "ledger", "research"];

/// Fixtures that are drawn besides the demo and the hostile session.
const FIXTURES: &[&str] = &["otlp-json/gen-ai", "codex-rollout/subagent", "claude-code-transcript/sidechain"];

pub(crate) fn run(root: &Path, binary: Option<&str>) -> Result<(), String> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let binary = binary.map_or_else(|| target.join("release/unspool"), PathBuf::from);
    let tools = Tools::ready(root)?;
    let work = target.join("validate");
    let _ = fs::remove_dir_all(&work);
    let exports = work.join("exports");
    fs::create_dir_all(&exports).map_err(|error| error.to_string())?;
    let unspool = Unspool { binary, home: work.clone(), exports: exports.clone() };
    unspool.run(&["demo", "--write", &shown(&work.join("demo"))])?;
    hostile::write(&work.join("hostile")).map_err(|error| error.to_string())?;
    for session in DEMO {
        unspool.export(&format!("demo-{session}"), &work.join("demo").join(session))?;
    }
    unspool.export("hostile", &work.join("hostile"))?;
    for fixture in FIXTURES {
        unspool.export(&fixture.replace('/', "-"), &root.join("fixtures").join(fixture))?;
    }
    graphviz(&exports)?;
    pictures(&exports)?;
    let node = Command::new("node").arg("check.mjs").arg(&exports).current_dir(&tools.folder).status();
    finish(node, "D2, Mermaid or Graphviz read an export otherwise than it was meant")?;
    let python = Command::new(tools.python).arg("check.py").arg(&exports).current_dir(&tools.folder).status();
    finish(python, "networkx or Python read an export otherwise than it was meant")
}

fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// The program under test, with a home of its own.
struct Unspool {
    binary: PathBuf,
    home: PathBuf,
    exports: PathBuf,
}

impl Unspool {
    fn run(&self, args: &[&str]) -> Result<(), String> {
        let output = Command::new(&self.binary)
            .args(args)
            .env("HOME", &self.home)
            .env_remove("UNSPOOL_CONFIG")
            .output();
        let output = output.map_err(|error| format!("build the release binary first: {error}"))?;
        if output.status.success() {
            return Ok(());
        }
        Err(format!("`unspool {}`: {}", args.join(" "), String::from_utf8_lossy(&output.stderr)))
    }

    fn export(&self, name: &str, session: &Path) -> Result<(), String> {
        let session = shown(session);
        for (drawn, args) in DRAWN {
            for ending in ENDINGS {
                let file = shown(&self.exports.join(format!("{name}-{drawn}.{ending}")));
                self.run(&[&["export", &session, "-o", &file], *args].concat())?;
            }
        }
        for ending in WHOLE {
            let file = shown(&self.exports.join(format!("{name}.{ending}")));
            self.run(&["export", &session, "-o", &file])?;
        }
        let file = shown(&self.exports.join(format!("{name}.timeline.svg")));
        self.run(&["export", &session, "-o", &file, "--view", "timeline"])?;
        let file = shown(&self.exports.join(format!("{name}-step.drill.d2")));
        self.run(&["export", &session, "-o", &file, "--drill-down"])
    }
}

/// Draws every DOT file and keeps what Graphviz understood. A warning fails too.
fn graphviz(exports: &Path) -> Result<(), String> {
    for file in with_extension(exports, "dot") {
        let output = Command::new("dot")
            .args(["-Tsvg", "-O", "-Tdot_json"])
            .arg(&file)
            .output()
            .map_err(|error| format!("dot: {error}"))?;
        if !output.status.success() || !output.stderr.is_empty() {
            return Err(format!("dot {}: {}", file.display(), String::from_utf8_lossy(&output.stderr)));
        }
        let (made, wanted) = (format!("{}.dot_json", shown(&file)), format!("{}.json", shown(&file)));
        fs::rename(&made, &wanted).map_err(|error| format!("{made}: {error}"))?;
    }
    Ok(())
}

/// Draws every SVG as a picture. A warning fails too.
fn pictures(exports: &Path) -> Result<(), String> {
    let is_own = |file: &PathBuf| !shown(file).ends_with(".dot.svg");
    for file in with_extension(exports, "svg").into_iter().filter(is_own) {
        let drawn = file.with_extension("png");
        let output = Command::new("rsvg-convert")
            .args(["--unlimited", "--keep-aspect-ratio", "--width=2000", "--height=2000", "-o"])
            .args([&drawn, &file])
            .output();
        let output = output.map_err(|error| format!("rsvg-convert: {error}"))?;
        let is_drawn = fs::metadata(&drawn).is_ok_and(|made| made.len() > 0);
        if !output.status.success() || !output.stderr.is_empty() || !is_drawn {
            let why = String::from_utf8_lossy(&output.stderr);
            return Err(format!("rsvg-convert {}: {why}", file.display()));
        }
    }
    Ok(())
}

/// The files of a folder that end so, in order.
fn with_extension(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let files = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> =
        files.filter(|path| path.extension() == Some(OsStr::new(extension))).collect();
    files.sort();
    files
}

/// What the readers need.
struct Tools {
    /// Where the checks and their packages lie.
    folder: PathBuf,
    /// A Python that has networkx.
    python: &'static str,
}

impl Tools {
    fn ready(root: &Path) -> Result<Tools, String> {
        let folder = root.join("tools/validators");
        if !works("dot", &["-V"]) {
            install("graphviz")?;
        }
        if !works("rsvg-convert", &["--version"]) {
            install("librsvg2-bin")?;
        }
        npm_ci(&folder, "the readers of D2 and Mermaid")?;
        let has_networkx = |python: &&str| works(python, &["-c", "import networkx"]);
        let pythons = ["python3", "/usr/bin/python3"];
        let find = || pythons.into_iter().find(has_networkx);
        if find().is_none() {
            install("python3-networkx")?;
        }
        let python = find().ok_or("no Python has networkx; GraphML cannot be checked")?;
        Ok(Tools { folder, python })
    }
}
