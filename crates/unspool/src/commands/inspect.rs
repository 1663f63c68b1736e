//! `unspool inspect`: what each format made of a file, and what is in it.

use crate::args::{Args, InspectArgs};
use crate::error::CliError;
use crate::load::{no_data_in, read_found, settings};
use crate::term::{BOLD, DIM, YELLOW, paint, plain};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::Write;
use unspool_engine::{discover, inspect_head, spool};
use unspool_formats::{Detail, Framing, best, scores};
use unspool_model::AttrName;
use unspool_view::flow_json::{CountsDoc, IssueDoc, issue_doc};

#[derive(Serialize)]
struct Report {
    file: String,
    bytes: u64,
    /// Each format's claim, best first.
    scores: Vec<Score>,
    format: Option<&'static str>,
    framing: Option<&'static str>,
    evidence: Option<&'static str>,
    counts: Option<CountsDoc>,
    sessions: usize,
    versions: Vec<String>,
    record_types: BTreeMap<String, u64>,
    issues: Vec<IssueDoc>,
}

#[derive(Serialize)]
struct Score {
    format: &'static str,
    score: u8,
}

pub(crate) fn run(args: &Args, inspect: &InspectArgs) -> Result<(), CliError> {
    let settings = settings(args)?;
    let path = inspect.file.display().to_string();
    let unreadable =
        |error: std::io::Error| CliError::Unreadable { path: path.clone(), why: error.to_string() };
    let mut found = discover(std::slice::from_ref(&inspect.file));
    let source = match (found.sources.as_slice(), found.unreadable.first()) {
        ([one], _) => one,
        ([], Some((path, why))) => return Err(CliError::Unreadable { path: path.clone(), why: why.clone() }),
        ([], None) => return Err(CliError::NothingFound(no_data_in(&path))),
        (several, _) => return Err(CliError::NotOneFile { path, count: several.len() }),
    };
    // What is inspected is read twice: to see what it is, and to read it as that.
    let spooled = spool(source).map_err(unreadable)?;
    if let Some(spooled) = &spooled {
        found.sources = vec![spooled.source.clone()];
    }
    let source = &found.sources[0];
    let head = inspect_head(source).map_err(unreadable)?;
    let claims = scores(&source.name, &head);
    let chosen = best(&source.name, &head);
    let mut report = Report {
        file: source.name.clone(),
        bytes: source.bytes,
        scores: claims.iter().map(|(f, s)| Score { format: f.descriptor().id, score: s.score }).collect(),
        format: chosen.map(|(format, _)| format.descriptor().id),
        framing: chosen.map(|(_, sniff)| match sniff.framing {
            Framing::Lines => "one record per line",
            Framing::Whole => "the file is one text",
            Framing::Binary => "the file is binary",
            Framing::Messages => "a message per frame",
        }),
        evidence: chosen.map(|(format, _)| format.descriptor().evidence),
        counts: None,
        sessions: 0,
        versions: Vec::new(),
        record_types: BTreeMap::new(),
        issues: Vec::new(),
    };
    if let Some((format, _)) = chosen {
        let loaded = read_found(&found, settings, Detail::Numbers, &path)?;
        let batch = &loaded.corpus.batch;
        report.counts = Some(loaded.counts());
        report.sessions = loaded.corpus.len();
        let mut reader = loaded.natives.reader(batch);
        for record in &batch.records {
            let bytes = reader.bytes(record).map_err(unreadable)?;
            *report.record_types.entry(format.record_type(bytes)).or_default() += 1;
        }
        let mut versions: Vec<String> = batch
            .events
            .iter()
            .filter_map(|event| batch.attr_text(event, AttrName::Version))
            .map(|version| batch.text.get(version).to_string())
            .collect();
        versions.sort();
        versions.dedup();
        report.versions = versions;
        report.issues = loaded.corpus.reading_issues().iter().map(|issue| issue_doc(issue, batch)).collect();
    }
    if inspect.json {
        let mut out = std::io::stdout().lock();
        serde_json::to_writer_pretty(&mut out, &report)?;
        writeln!(out)?;
    } else {
        print(&report)?;
    }
    if report.format.is_none() {
        return Err(CliError::NoFormat(report.file));
    }
    Ok(())
}

fn print(report: &Report) -> Result<(), CliError> {
    let mut out = anstream::stdout().lock();
    writeln!(out, "{} ({} bytes)", paint(BOLD, &plain(&report.file)), report.bytes)?;
    for score in &report.scores {
        let mark = if Some(score.format) == report.format { "→" } else { " " };
        writeln!(out, "  {mark} {:>3}  {}", score.score, score.format)?;
    }
    if let (Some(framing), Some(evidence)) = (report.framing, report.evidence) {
        writeln!(out, "{}", paint(DIM, &format!("{framing}; {evidence}")))?;
    }
    if let Some(counts) = &report.counts {
        writeln!(
            out,
            "records {} = {} stored + {} copies + {} not readable · sessions {} · versions {}",
            counts.records,
            counts.stored,
            counts.duplicate,
            counts.rejected,
            report.sessions,
            if report.versions.is_empty() { "not stated".into() } else { report.versions.join(", ") },
        )?;
    }
    for (name, count) in &report.record_types {
        writeln!(out, "  {count:>7} × {}", plain(name))?;
    }
    for issue in &report.issues {
        writeln!(
            out,
            "{} {}",
            paint(YELLOW, &format!("{} ×{}", issue.code, issue.count)),
            plain(&issue.detail)
        )?;
    }
    Ok(())
}
