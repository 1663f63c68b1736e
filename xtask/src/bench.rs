//! The figures of docs/benchmarks.md, measured on a corpus made with a fixed seed.

use crate::say;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// One thing to measure.
struct Case {
    name: &'static str,
    megabytes: u64,
    what: What,
}

/// What it is measured on.
#[derive(Clone, Copy, PartialEq)]
enum What {
    /// A folder of sessions.
    Sessions,
    /// One session file.
    Single,
    /// A log of recorded requests that repeat their history.
    Traffic,
}

impl What {
    /// The name of the data, the generator's option, and the question asked.
    fn facts(self) -> (&'static str, Option<&'static str>, &'static [&'static str]) {
        match self {
            What::Sessions => ("projects-", None, &["stats", "--json"]),
            What::Single => ("single-", Some("--single"), &["stats", "--json"]),
            What::Traffic => ("traffic-", Some("--traffic"), &["export", "--format", "json"]),
        }
    }
}

const CASES: &[Case] = &[
    Case { name: "10 MB of sessions", megabytes: 10, what: What::Sessions },
    Case { name: "100 MB of sessions", megabytes: 100, what: What::Sessions },
    Case { name: "1 GB of sessions", megabytes: 1024, what: What::Sessions },
    Case { name: "one file of 2 GB", megabytes: 2048, what: What::Single },
    Case { name: "500 MB of traffic", megabytes: 500, what: What::Traffic },
];

pub(crate) fn run(root: &Path, dir: Option<&str>) -> Result<(), String> {
    let dir = dir.map_or_else(|| std::env::temp_dir().join("unspool-bench"), PathBuf::from);
    std::fs::create_dir_all(&dir).map_err(|error| error.to_string())?;
    command(root, "cargo", &["build", "--release", "--locked", "-p", "unspool", "-p", "unspool-testkit"])?;
    let unspool = root.join("target/release/unspool");
    say(&format!("{:<22} {:>8} {:>8} {:>8} {:>9}", "case", "user s", "sys s", "wall s", "RSS MB"));
    for case in CASES {
        let data = data(root, &dir, case)?;
        // The first run warms the file cache.
        let mut best: Option<Figures> = None;
        for _ in 0..4 {
            let data = data.to_string_lossy();
            let question: Vec<&str> = case.what.facts().2.iter().copied().chain([data.as_ref()]).collect();
            let figures = measure(&unspool, &question)?;
            if best.as_ref().is_none_or(|best| figures.cpu() < best.cpu()) {
                best = Some(figures);
            }
        }
        show(case.name, best.as_ref());
    }
    spans(root, &dir, &unspool)?;
    command(root, &root.join("target/release/bench-answers").to_string_lossy(), &[])?;
    command(root, &root.join("target/release/bench-numbers").to_string_lossy(), &[])?;
    let mut starts = Vec::new();
    for _ in 0..20 {
        let started = Instant::now();
        measure(&unspool, &["--help"])?;
        starts.push(started.elapsed().as_secs_f64() * 1000.0);
    }
    starts.sort_by(f64::total_cmp);
    say(&format!("unspool --help: {:.1} ms (median of 20, with starting the process)", starts[10]));
    Ok(())
}

/// A million spans of an agent framework, in both encodings.
fn spans(root: &Path, dir: &Path, unspool: &Path) -> Result<(), String> {
    for (name, file) in [("1 M spans, protobuf", "spans.pb"), ("1 M spans, JSON", "spans.jsonl")] {
        let path = dir.join(file);
        let text = path.to_string_lossy().into_owned();
        if !path.exists() {
            let generator = root.join("target/release/bench-data");
            command(root, &generator.to_string_lossy(), &["--spans", &text, "1"])?;
        }
        let mut best: Option<Figures> = None;
        for _ in 0..4 {
            let figures = measure(unspool, &["stats", "--json", &text])?;
            if best.as_ref().is_none_or(|best| figures.cpu() < best.cpu()) {
                best = Some(figures);
            }
        }
        show(name, best.as_ref());
        if let Some(best) = best {
            say(&format!("{:<22} {:>8.0} spans per second of processor time", "", 1e6 / best.cpu()));
        }
        command(root, &root.join("target/release/bench-link").to_string_lossy(), &[&text])?;
    }
    Ok(())
}

fn data(root: &Path, dir: &Path, case: &Case) -> Result<PathBuf, String> {
    let (name, option, _) = case.what.facts();
    let path = dir.join(format!("{name}{}", case.megabytes));
    let path = if option.is_some() { path.with_extension("jsonl") } else { path };
    if !path.exists() {
        let generator = root.join("target/release/bench-data");
        let (text, size) = (path.to_string_lossy().into_owned(), case.megabytes.to_string());
        let args: Vec<&str> = option.into_iter().chain([text.as_str(), size.as_str()]).collect();
        command(root, &generator.to_string_lossy(), &args)?;
    }
    Ok(path)
}

/// Measures the layout of graphs of some shapes and sizes.
pub(crate) fn layout(root: &Path, dir: Option<&str>) -> Result<(), String> {
    let build =
        ["run", "--quiet", "--release", "--locked", "-p", "unspool-testkit", "--bin", "bench-layout", "--"];
    let args: Vec<&str> = build.into_iter().chain(dir).collect();
    command(root, "cargo", &args)
}

fn command(root: &Path, program: &str, args: &[&str]) -> Result<(), String> {
    let status =
        Command::new(program).args(args).current_dir(root).status().map_err(|error| error.to_string())?;
    if status.success() { Ok(()) } else { Err(format!("`{program} {}` failed", args.join(" "))) }
}

struct Figures {
    user_s: f64,
    sys_s: f64,
    wall_s: f64,
    rss_mb: f64,
}

impl Figures {
    fn cpu(&self) -> f64 {
        self.user_s + self.sys_s
    }
}

/// Runs a program under GNU time, which knows its processor time and peak memory.
fn measure(program: &Path, args: &[&str]) -> Result<Figures, String> {
    let output = Command::new("/usr/bin/time")
        .args(["-f", "%U %S %e %M"])
        .arg(program)
        .args(args)
        .output()
        .map_err(|error| format!("GNU time is needed (Debian package `time`): {error}"))?;
    let text = String::from_utf8_lossy(&output.stderr);
    let last = text.lines().last().unwrap_or_default();
    let numbers: Vec<f64> = last.split(' ').filter_map(|word| word.parse().ok()).collect();
    match numbers.as_slice() {
        [user_s, sys_s, wall_s, rss_kb] if output.status.success() => {
            Ok(Figures { user_s: *user_s, sys_s: *sys_s, wall_s: *wall_s, rss_mb: rss_kb / 1024.0 })
        }
        _ => Err(format!("`{} {}` failed: {text}", program.display(), args.join(" "))),
    }
}

fn show(name: &str, figures: Option<&Figures>) {
    if let Some(f) = figures {
        say(&format!("{name:<22} {:>8.2} {:>8.2} {:>8.2} {:>9.0}", f.user_s, f.sys_s, f.wall_s, f.rss_mb));
    }
}
