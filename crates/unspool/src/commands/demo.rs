//! `unspool demo`: a small made-up session that comes with the program.

use super::show;
use crate::args::{Args, DemoArgs};
use crate::error::CliError;
use crate::load::load;
use crate::term::{CYAN, DIM, paint};
use std::io::Write;
use std::path::Path;
use unspool_formats::Detail;
use unspool_view::rows::Filter;

macro_rules! demo_files {
    ($($path:literal),* $(,)?) => {
        &[$(($path, include_str!(concat!("../../demo/", $path))),)*]
    };
}

/// The files, by their path under a projects folder.
const FILES: &[(&str, &str)] = demo_files![
    "shop/5e55a9e0-0c0a-4b0d-9d3e-0000000000d0.jsonl",
    "shop/5e55a9e0-0c0a-4b0d-9d3e-0000000000d0/subagents/agent-a1f00d0000000001a.jsonl",
    "shop/5e55a9e0-0c0a-4b0d-9d3e-0000000000d0/subagents/agent-a1f00d0000000001a.meta.json",
    "shop/5e55a9e0-0c0a-4b0d-9d3e-0000000000d0/subagents/agent-a1f00d0000000002b.jsonl",
    "shop/5e55a9e0-0c0a-4b0d-9d3e-0000000000d0/subagents/agent-a1f00d0000000002b.meta.json",
    "shop/5e55a9e0-0c0a-4b0d-9d3e-0000000000d0/subagents/agent-a1f00d0000000003c.jsonl",
    "shop/5e55a9e0-0c0a-4b0d-9d3e-0000000000d0/subagents/agent-a1f00d0000000004d.jsonl",
];

pub(crate) fn run(args: &Args, demo: &DemoArgs) -> Result<(), CliError> {
    let Some(folder) = &demo.write else { return show(args) };
    write(folder)?;
    let mut out = anstream::stdout().lock();
    let example = format!("unspool show {}", folder.display());
    writeln!(out, "wrote {} files; try {}", FILES.len(), paint(CYAN, &example))?;
    Ok(())
}

/// Shows the demo through the same path a user's files take.
pub(crate) fn show(args: &Args) -> Result<(), CliError> {
    let folder = tempfile::tempdir()?;
    write(folder.path())?;
    let loaded = load(args, &[folder.path().to_path_buf()], &[], Detail::Full)?;
    show::print(&loaded, &Filter::default())?;
    let mut out = anstream::stdout().lock();
    writeln!(
        out,
        "\n{}",
        paint(
            DIM,
            "A made-up session; `unspool demo --write DIR` writes its files to try other commands on."
        )
    )?;
    Ok(())
}

fn write(folder: &Path) -> Result<(), CliError> {
    for (path, text) in FILES {
        let path = folder.join(path);
        let folder = path.parent().unwrap_or(folder);
        std::fs::create_dir_all(folder).map_err(|why| unwritable(folder, &why))?;
        std::fs::write(&path, text).map_err(|why| unwritable(&path, &why))?;
    }
    Ok(())
}

fn unwritable(path: &Path, why: &std::io::Error) -> CliError {
    CliError::Unwritable { path: path.display().to_string(), why: why.to_string() }
}
