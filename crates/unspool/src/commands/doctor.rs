//! `unspool doctor`: what could not be read or linked, what is unknown, and the line that would mend it.

use super::stats::collect;
use crate::args::{Args, DoctorArgs};
use crate::error::CliError;
use crate::load::load;
use crate::term::{BOLD, CYAN, DIM, GREEN, RED, YELLOW, paint, plain};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::Write;
use unspool_formats::Detail;
use unspool_model::{Code, Severity};
use unspool_view::flow_json::CountsDoc;

/// Details shown per code; the count says how many there are.
const SHOWN_DETAILS: usize = 6;

#[derive(Serialize)]
struct Report {
    schema: &'static str,
    counts: CountsDoc,
    sessions: usize,
    subagents: usize,
    linked_by_id: usize,
    linked_by_inference: usize,
    findings: Vec<Finding>,
}

#[derive(Serialize)]
struct Finding {
    code: &'static str,
    severity: &'static str,
    count: u64,
    sentence: &'static str,
    details: Vec<Detailed>,
    /// What to write into the configuration file, or to do.
    fix: Option<String>,
}

#[derive(Serialize, Clone)]
struct Detailed {
    detail: String,
    count: u64,
}

pub(crate) fn run(args: &Args, doctor: &DoctorArgs) -> Result<(), CliError> {
    let loaded = load(args, &doctor.paths, &[], Detail::Numbers)?;
    let stats = collect(&loaded);
    let mut by_code: BTreeMap<Code, Vec<Detailed>> = BTreeMap::new();
    for issue in &stats.issues {
        let Some(code) = Code::ALL.iter().find(|code| code.name() == issue.code) else { continue };
        by_code.entry(*code).or_default().push(Detailed { detail: issue.detail.clone(), count: issue.count });
    }
    for model in stats.models.iter().filter(|model| model.totals.unpriced_calls > 0) {
        let unpriced = Detailed { detail: model.name.clone(), count: model.totals.unpriced_calls };
        by_code.entry(Code::UnknownModel).or_default().push(unpriced);
    }
    let first_day = stats.days.first().map_or("2025-01-01", |day| day.name.as_str()).to_string();
    let known = &loaded.corpus.table;
    let mut unknown_tools: Vec<Detailed> = stats
        .tools
        .iter()
        .filter(|tool| !known.is_known_tool(&tool.name))
        .map(|tool| Detailed { detail: tool.name.clone(), count: tool.count })
        .collect();
    unknown_tools.sort_by(|a, b| b.count.cmp(&a.count).then(a.detail.cmp(&b.detail)));
    if !unknown_tools.is_empty() {
        by_code.insert(Code::UnknownTool, unknown_tools);
    }
    let (mut subagents, mut inferred, mut linked) = (0, 0, 0);
    for flow in loaded.flows() {
        for agent in flow.agents.iter().filter(|agent| !agent.main && !agent.internal) {
            subagents += 1;
            linked += usize::from(agent.spawn.is_some_and(|spawn| !spawn.rule.inferred()));
            inferred += usize::from(agent.spawn.is_some_and(|spawn| spawn.rule.inferred()));
        }
    }
    let mut findings: Vec<Finding> =
        by_code.into_iter().map(|(code, details)| finding(code, details, &first_day)).collect();
    findings.sort_by_key(|finding| severity_rank(finding.severity));
    let report = Report {
        schema: "unspool.doctor/1",
        counts: stats.counts,
        sessions: stats.sessions.len(),
        subagents,
        linked_by_id: linked,
        linked_by_inference: inferred,
        findings,
    };
    if doctor.json {
        let mut out = std::io::stdout().lock();
        serde_json::to_writer_pretty(&mut out, &report)?;
        writeln!(out)?;
        return Ok(());
    }
    print(&report)
}

fn severity_rank(name: &str) -> u8 {
    ["error", "warning", "info"]
        .iter()
        .position(|word| *word == name)
        .map_or(3, |n| u8::try_from(n).unwrap_or(3))
}

fn finding(code: Code, mut details: Vec<Detailed>, first_day: &str) -> Finding {
    details.sort_by(|a, b| b.count.cmp(&a.count).then(a.detail.cmp(&b.detail)));
    let fix = match code {
        Code::SpawnToolUnknown => {
            let names: Vec<String> = details.iter().map(|d| format!("\"{}\"", d.detail)).collect();
            Some(format!("extra_spawn_tools = [{}]", names.join(", ")))
        }
        Code::UnknownModel => {
            let names: Vec<String> = details.iter().map(|d| format!("\"{}\"", d.detail)).collect();
            Some(format!(
                "[[price]]\nmodels = [{}]\nfrom = \"{first_day}\"\ninput = \"…\"\noutput = \"…\"\ncache_read = \"…\"\ncache_write = \"…\"",
                names.join(", ")
            ))
        }
        Code::SpawnGroupTooLarge => Some("max_joint_assignment = 1000".into()),
        _ => None,
    };
    Finding {
        code: code.name(),
        severity: code.severity().name(),
        count: details.iter().map(|d| d.count).sum(),
        sentence: code.sentence(),
        details,
        fix,
    }
}

fn print(report: &Report) -> Result<(), CliError> {
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
    let unlinked = report.subagents - report.linked_by_id - report.linked_by_inference;
    writeln!(
        out,
        "{} {}: {} linked by id, {} by inference, {unlinked} not linked",
        paint(BOLD, "agents  "),
        report.subagents,
        report.linked_by_id,
        report.linked_by_inference,
    )?;
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
        for detail in finding.details.iter().filter(|d| d.detail != finding.sentence).take(SHOWN_DETAILS) {
            writeln!(out, "    {:>6} × {}", detail.count, plain(&detail.detail))?;
        }
        if finding.details.len() > SHOWN_DETAILS {
            writeln!(
                out,
                "    {}",
                paint(DIM, &format!("… and {} more (--json)", finding.details.len() - SHOWN_DETAILS))
            )?;
        }
        if let Some(fix) = &finding.fix {
            writeln!(out, "    to mend it, put this into the configuration file:")?;
            for line in fix.lines() {
                writeln!(out, "      {}", paint(CYAN, &plain(line)))?;
            }
        }
    }
    Ok(())
}
