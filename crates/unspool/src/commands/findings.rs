//! `unspool findings`: waste and trouble, and task templates.

use crate::args::{Args, Places};
use crate::error::CliError;
use crate::figures::{NOT_STATED, count, duration, money, percent, plural};
use crate::load::load;
use crate::output::print_document;
use crate::table::{Cell, Column, cell, write_table};
use crate::term::{BOLD, DIM, YELLOW, columns, cut, paint, plain, text_width, wrapped};
use std::io::{self, Write};
use std::path::PathBuf;
use unspool_formats::Detail;
use unspool_view::findings::{CostDoc, FINDERS, FindingDoc, FindingsDoc, SessionFindingsDoc, findings};
use unspool_view::templates::{MAX_CANDIDATES, TemplateDoc, Templates};

#[derive(clap::Args)]
pub(crate) struct FindingsArgs {
    /// Files, folders or `-`, or session ids (default: the usual places).
    paths: Vec<PathBuf>,
    #[command(flatten)]
    places: Places,
    /// Only findings of these sorts, as in `retry_storm,slow_step`.
    #[arg(long, value_name = "CODE", value_delimiter = ',')]
    only: Vec<String>,
    /// As JSON, with the steps of each finding.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, wanted: &FindingsArgs) -> Result<(), CliError> {
    let codes = || FINDERS.iter().map(|finder| finder.code);
    if let Some(unknown) = wanted.only.iter().find(|code| !codes().any(|known| known == code.as_str())) {
        let candidates =
            FINDERS.iter().map(|finder| format!("{}  {}", finder.code, finder.sentence)).collect();
        return Err(CliError::NoSuchFinder { wanted: unknown.clone(), candidates });
    }
    let loaded = load(args, &wanted.paths, &wanted.places.look_in, Detail::Full)?;
    let mut templates = Templates::default();
    let mut sessions = Vec::new();
    for flow in loaded.flows() {
        templates.add(&flow, &loaded.corpus.batch.text, &loaded.prices);
        let mut session = findings(&flow, &loaded.corpus.batch, &loaded.prices);
        session
            .findings
            .retain(|one| wanted.only.is_empty() || wanted.only.iter().any(|code| code == one.code));
        sessions.push(session);
    }
    let gathered = templates.finish();
    let doc = FindingsDoc {
        schema: "unspool.findings/1",
        sessions,
        templates: gathered.templates,
        unmatched_prompts: gathered.unmatched,
    };
    if wanted.json {
        return print_document(&doc);
    }
    let mut out = anstream::stdout().lock();
    write_all(&mut out, &doc, wanted.only.is_empty())?;
    Ok(())
}

fn write_all(out: &mut dyn Write, doc: &FindingsDoc, with_templates: bool) -> io::Result<()> {
    let screen = columns().unwrap_or(usize::MAX);
    let with = || doc.sessions.iter().filter(|session| !session.findings.is_empty());
    for session in with() {
        write_session(out, session, screen)?;
        writeln!(out)?;
    }
    let without = doc.sessions.len() - with().count();
    if without > 0 {
        let line = format!("nothing found in {}", plural(without as u64, "session"));
        writeln!(out, "{}", paint(DIM, &line))?;
    }
    if with_templates && !doc.templates.is_empty() {
        writeln!(out, "\n{}", paint(BOLD, "Task templates (told from the first words of prompts)"))?;
        write_templates(out, &doc.templates)?;
    }
    if with_templates && doc.unmatched_prompts > 0 {
        let line = format!(
            "{} compared with the first {MAX_CANDIDATES} patterns only; templates may be missing",
            plural(doc.unmatched_prompts, "prompt")
        );
        writeln!(out, "{}", paint(DIM, &cut(&line, screen)))?;
    }
    Ok(())
}

fn write_session(out: &mut dyn Write, session: &SessionFindingsDoc, screen: usize) -> io::Result<()> {
    let id = session.native_ids.first().unwrap_or(&session.id);
    let title = session.title.as_deref().unwrap_or_default();
    let short: String = id.chars().take(8).collect();
    writeln!(out, "{}", paint(BOLD, &cut(format!("{short}  {title}").trim_end(), screen)))?;
    for finding in &session.findings {
        write_finding(out, finding, screen)?;
    }
    Ok(())
}

/// What it is, and a line for where it begins and what it cost.
fn write_finding(out: &mut dyn Write, finding: &FindingDoc, screen: usize) -> io::Result<()> {
    let code = format!("{:<16}", finding.code);
    let room = screen.saturating_sub(text_width(&code) + 3);
    for (n, line) in wrapped(&plain(&finding.title), room).iter().enumerate() {
        let head = if n == 0 { paint(YELLOW, &code) } else { " ".repeat(text_width(&code)) };
        writeln!(out, "  {head} {line}")?;
    }
    let first = finding.step_ids.first().map(|id| format!("from {}", id.get(..9).unwrap_or(id)));
    let steps = plural(finding.step_ids.len() as u64, "step");
    let inferred = finding.inferred.then(|| "inferred".to_string());
    let parts = [Some(steps), first, inferred, cost(&finding.cost)];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let line = format!("{:<19}{}", "", parts.join(" · "));
    writeln!(out, "{}", paint(DIM, &cut(&line, screen)))
}

/// Time, tokens and money, as far as they are known.
fn cost(cost: &CostDoc) -> Option<String> {
    let mark = if cost.estimated { "~" } else { "" };
    let money = cost.usd.map(|dollars| money(dollars, cost.unpriced_calls));
    let parts = [
        cost.ms.filter(|ms| *ms > 0).map(duration),
        cost.tokens.map(|tokens| format!("{} tokens", count(tokens))),
        money,
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| format!("cost {mark}{}", parts.join(", ")))
}

fn write_templates(out: &mut dyn Write, templates: &[TemplateDoc]) -> io::Result<()> {
    let table = [
        Column::number("TIMES"),
        Column::number("SUCCESS"),
        Column::number("P50").spare(2),
        Column::number("P95").spare(3),
        Column::number("TOKENS P50").spare(4),
        Column::number("COST P50").spare(5),
        Column::rest("TYPE", 8).spare(1),
        Column::rest("PATTERN", 16),
    ];
    let rows: Vec<Vec<Cell>> = templates.iter().map(template_cells).collect();
    write_table(out, &table, &rows)
}

fn template_cells(template: &TemplateDoc) -> Vec<Cell> {
    let time = |ms: Option<i64>| cell(ms.map(duration).unwrap_or_default());
    let durations = template.durations.as_ref();
    let tokens = template.tokens.as_ref().map(|tokens| count(tokens.p50));
    let cost = template.cost_usd.as_ref().map(|cost| money(cost.p50, 0));
    let stated = |figure: Option<String>| cell(figure.unwrap_or_else(|| NOT_STATED.into()));
    vec![
        cell(count(template.count)),
        cell(template.success_rate.map_or_else(|| "?".into(), percent)),
        time(durations.map(|durations| durations.p50_ms)),
        time(durations.map(|durations| durations.p95_ms)),
        stated(tokens),
        stated(cost),
        cell(template.agent_type.as_deref().unwrap_or_default()),
        cell(template.pattern.as_str()),
    ]
}
