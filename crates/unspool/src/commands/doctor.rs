//! `unspool doctor`: what could not be read or linked, what is unknown, and the line that would mend it.

use crate::args::{Args, DoctorArgs};
use crate::error::CliError;
use crate::load::load;
use crate::term::{BOLD, CYAN, DIM, GREEN, RED, YELLOW, paint, plain};
use std::collections::BTreeMap;
use std::io::Write;
use unspool_formats::Detail;
use unspool_model::{Code, Severity};
use unspool_view::doctor::{DetailDoc, Doctor, DoctorDoc, FindingDoc};

/// Details shown per code; the count says how many there are.
const SHOWN_DETAILS: usize = 6;

pub(crate) fn run(args: &Args, doctor: &DoctorArgs) -> Result<(), CliError> {
    let loaded = load(args, &doctor.paths, &doctor.places.look_in, Detail::Numbers)?;
    let (corpus, batch) = (&loaded.corpus, &loaded.corpus.batch);
    let mut examined = Doctor::default();
    for flow in loaded.flows() {
        examined.add(&flow, batch, &loaded.prices);
    }
    for issue in corpus.loose_issues() {
        examined.issue(&issue, batch);
    }
    let report = examined.finish(loaded.counts(), batch, |tool| corpus.table.is_known_tool(tool));
    if doctor.json {
        let mut out = std::io::stdout().lock();
        serde_json::to_writer_pretty(&mut out, &report)?;
        writeln!(out)?;
        return Ok(());
    }
    print(&report)
}

/// What was read as what: streams, what could not be linked, and every other format that claimed the same streams.
fn print_formats(report: &DoctorDoc, out: &mut impl Write) -> Result<(), CliError> {
    let name = |format: &Option<String>| format.clone().unwrap_or_else(|| "(not recognised)".into());
    let width = report.formats.iter().map(|row| name(&row.format).len()).max().unwrap_or(0);
    for row in &report.formats {
        let streams = if row.streams == 1 { "stream" } else { "streams" };
        write!(out, "  {:<width$} {:>6} {streams}", name(&row.format), row.streams)?;
        if let Some(share) = row.unlinked_share {
            write!(
                out,
                ", not linked: {} of {} agents, {} of {} spawns ({:.1} %)",
                row.unlinked_subagents,
                row.subagents,
                row.unlinked_spawns,
                row.spawns,
                share * 100.0
            )?;
        }
        writeln!(out)?;
        for rival in &row.rivals {
            let claimed = format!(
                "also claimed by {}: {} of them, with at most {} of 100, {} less at the closest",
                rival.format, rival.streams, rival.score, rival.margin
            );
            writeln!(out, "    {}", paint(YELLOW, &claimed))?;
        }
    }
    Ok(())
}

fn print(report: &DoctorDoc) -> Result<(), CliError> {
    let mut out = anstream::stdout().lock();
    let counts = &report.counts;
    writeln!(
        out,
        "{} {} = {} stored + {} copies + {} not readable",
        paint(BOLD, "records "),
        counts.records,
        counts.stored,
        counts.duplicate,
        counts.rejected
    )?;
    writeln!(out, "{} {}", paint(BOLD, "sessions"), report.sessions)?;
    writeln!(
        out,
        "{} {}: {} linked by id, {} by inference, {} not linked",
        paint(BOLD, "agents  "),
        report.subagents,
        report.linked_by_id,
        report.linked_by_inference,
        report.unlinked,
    )?;
    print_formats(report, &mut out)?;
    if report.findings.is_empty() {
        writeln!(out, "{}", paint(GREEN, "nothing odd"))?;
    }
    for finding in &report.findings {
        let style = match finding.severity {
            word if word == Severity::Error.name() => RED,
            word if word == Severity::Warning.name() => YELLOW,
            _ => DIM,
        };
        writeln!(
            out,
            "\n{} {}",
            paint(style.bold(), &format!("{} ×{}", finding.code, finding.count)),
            finding.sentence
        )?;
        print_details(finding, &mut out)?;
        if let Some(fix) = &finding.fix {
            writeln!(out, "    to mend it, put this into the configuration file:")?;
            for line in fix.lines() {
                writeln!(out, "      {}", paint(CYAN, &plain(line)))?;
            }
        }
    }
    Ok(())
}

/// What a finding is about, the most frequent first, and where it was seen first. Files of one name are one line.
fn print_details(finding: &FindingDoc, out: &mut impl Write) -> Result<(), CliError> {
    let lines = if finding.code == Code::UnknownFormat.name() {
        by_file_name(&finding.details)
    } else {
        let line = |detail: &DetailDoc| {
            let what = (detail.detail != finding.sentence).then(|| detail.detail.clone());
            (detail.count, what, detail.place.clone())
        };
        finding.details.iter().map(line).collect()
    };
    let told = lines.iter().filter(|(_, what, place)| what.is_some() || place.is_some());
    for (count, what, place) in told.take(SHOWN_DETAILS) {
        let what = what.as_deref().map(plain).unwrap_or_default();
        let place = place.as_ref().map(|place| format!("first in {}", plain(place))).unwrap_or_default();
        let gap = if what.is_empty() || place.is_empty() { "" } else { "  " };
        writeln!(out, "    {count:>6} × {what}{gap}{}", paint(DIM, &place))?;
    }
    if lines.len() > SHOWN_DETAILS {
        let more = format!("… and {} more (--json)", lines.len() - SHOWN_DETAILS);
        writeln!(out, "    {}", paint(DIM, &more))?;
    }
    Ok(())
}

/// Files, added up by their names; the first in order stands for those that share one.
fn by_file_name(files: &[DetailDoc]) -> Vec<(u64, Option<String>, Option<String>)> {
    let mut by_name: BTreeMap<&str, (u64, &str)> = BTreeMap::new();
    for file in files {
        let name = file.detail.rsplit(['/', '\\']).next().unwrap_or_default();
        by_name.entry(name).or_insert((0, &file.detail)).0 += file.count;
    }
    let mut lines: Vec<_> = by_name
        .into_iter()
        .map(|(name, (count, first))| match count {
            1 => (1, Some(first.to_string()), None),
            _ => (count, Some(name.to_string()), Some(first.to_string())),
        })
        .collect();
    lines.sort_by_key(|(count, _, _)| std::cmp::Reverse(*count));
    lines
}
