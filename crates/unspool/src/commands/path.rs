//! `unspool path`: the critical path of a session, run or agent.

use crate::args::{Args, Places};
use crate::error::CliError;
use crate::figures::{duration, percent, plural};
use crate::load::load;
use crate::output::print_document;
use crate::table::{Cell, Column, cell, styled, write_table};
use crate::term::{BOLD, CYAN, DIM, GREEN, PLAIN, RED, YELLOW, columns, cut, lines_of, paint};
use anstyle::Style;
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::PathBuf;
use unspool_formats::Detail;
use unspool_model::{Agent, Flow, Interner, StepKind};
use unspool_view::labels::short_model;
use unspool_view::path::{
    Change, Class, PathDoc, Scope, ScopeDoc, ScopePathDoc, SegmentDoc, SessionPathDoc, WhatIfDoc,
    session_path,
};

#[derive(clap::Args)]
pub(crate) struct PathArgs {
    /// A session id or a unique start of one, or a file or folder.
    #[arg(value_name = "SESSION|PATH")]
    target: PathBuf,
    #[command(flatten)]
    places: Places,
    /// One run: its number, from 1, or the start of its id.
    #[arg(long, value_name = "N|ID", conflicts_with = "agent")]
    run: Option<String>,
    /// One agent with everything it started: a part of its type, name or id.
    #[arg(long, value_name = "TEXT")]
    agent: Option<String>,
    /// How long it would take if this took FACTOR times as long; may be given several times.
    ///
    /// `tool:NAME`, `model:NAME`, `agent:NAME`, or one of model, tool, human, retry, idle and other for all of it.
    #[arg(long = "what-if", value_name = "WHAT=FACTOR", value_parser = Change::parse)]
    changes: Vec<Change>,
    /// Every piece of the path, however short, and every session.
    #[arg(long)]
    full: bool,
    /// As JSON, with the slack of every step.
    #[arg(long)]
    json: bool,
}

/// How many pieces of a path are shown unless all are asked for: the longest.
const SHOWN_PIECES: usize = 30;

/// How many sessions are shown unless all are asked for: the first.
const SHOWN_SESSIONS: usize = 20;

pub(crate) fn run(args: &Args, wanted: &PathArgs) -> Result<(), CliError> {
    let loaded = load(args, std::slice::from_ref(&wanted.target), &wanted.places.look_in, Detail::Full)?;
    let text = &loaded.corpus.batch.text;
    let mut sessions = Vec::new();
    let mut missed = None;
    let limit = if wanted.full || wanted.json { usize::MAX } else { SHOWN_SESSIONS };
    let mut tried = 0;
    for flow in loaded.flows() {
        if sessions.len() == limit {
            break;
        }
        tried += 1;
        match scope(wanted, &flow, text) {
            Ok(scope) => {
                let doc = session_path(&flow, text, scope, &wanted.changes);
                match useless_change(&doc, &flow, text) {
                    None => sessions.push(doc),
                    Some(error) => missed = missed.or(Some(error)),
                }
            }
            Err(error @ CliError::AmbiguousThing { .. }) => return Err(error),
            Err(error) => missed = missed.or(Some(error)),
        }
    }
    if let (true, Some(error)) = (sessions.is_empty(), missed) {
        return Err(error);
    }
    let doc = PathDoc { schema: "unspool.path/1", sessions };
    if wanted.json {
        return print_document(&doc);
    }
    let mut out = anstream::stdout().lock();
    for (n, session) in doc.sessions.iter().enumerate() {
        if n > 0 {
            writeln!(out)?;
        }
        write_session(&mut out, session, wanted.full)?;
    }
    let untold = loaded.sessions.len() - tried;
    if untold > 0 {
        let line = format!(
            "{} not shown; --full or --json shows all, an id one",
            plural(untold as u64, "more session")
        );
        writeln!(out, "\n{}", paint(DIM, &line))?;
    }
    Ok(())
}

/// What part of a session is asked for.
fn scope(wanted: &PathArgs, flow: &Flow, text: &Interner) -> Result<Scope, CliError> {
    let session = || {
        let native = flow.session.native_ids.first().map(|id| text.get(*id).to_string());
        native.unwrap_or_else(|| flow.session.id.show('x'))
    };
    let missing = |what, wanted: &str, candidates| CliError::NoSuchPart {
        session: session(),
        what,
        wanted: wanted.into(),
        candidates,
    };
    if let Some(run) = &wanted.run {
        let number = run.parse::<usize>().ok().and_then(|n| n.checked_sub(1));
        let by_number = number.filter(|n| *n < flow.runs.len());
        let by_id = |run: &str| {
            let ids = flow.runs.iter().map(|one| one.id.show('u')).enumerate();
            ids.filter(|(_, id)| id.starts_with(run)).map(|(n, _)| n).collect()
        };
        let line = |n: &usize| {
            let run = &flow.runs[*n];
            let trigger = flow.steps.get(run.trigger as usize);
            let input = trigger.map(|step| text.get(step.preview)).unwrap_or_default();
            format!("{}  {}  {}", n + 1, run.id.show('u'), cut(input, 40))
        };
        let like: Vec<usize> = by_number.map_or_else(|| by_id(run), |n| vec![n]);
        let found = match like.as_slice() {
            [] => {
                let all: Vec<usize> = (0..flow.runs.len()).collect();
                return Err(missing("run", run, all.iter().map(line).collect()));
            }
            [only] => *only,
            several => {
                let candidates = several.iter().map(line).collect();
                return Err(CliError::AmbiguousThing { wanted: run.clone(), candidates });
            }
        };
        return Ok(Scope::Run(u32::try_from(found).unwrap_or(u32::MAX)));
    }
    if let Some(part) = &wanted.agent {
        let subs = || flow.agents.iter().filter(|agent| !agent.main && !agent.internal);
        return match agents_like(flow, text, part).as_slice() {
            [] => Err(missing("agent", part, subs().map(|agent| agent_line(agent, text)).collect())),
            [only] => Ok(Scope::Agent(*only)),
            several => {
                let candidates =
                    several.iter().map(|n| agent_line(&flow.agents[*n as usize], text)).collect();
                Err(CliError::AmbiguousThing { wanted: part.clone(), candidates })
            }
        };
    }
    Ok(Scope::Session)
}

/// Agents whose id, type or name has this in it; one whose id it is comes alone.
fn agents_like(flow: &Flow, text: &Interner, part: &str) -> Vec<u32> {
    let part = part.to_lowercase();
    let is_like = |agent: &Agent| unspool_view::labels::agent_has(text, agent, &part);
    let is_it =
        |agent: &Agent| agent.id.show('a') == part || text.get(agent.native_id).eq_ignore_ascii_case(&part);
    let all = || (0_u32..).zip(&flow.agents);
    match all().find(|(_, agent)| is_it(agent)) {
        Some((n, _)) => vec![n],
        None => all().filter(|(_, agent)| is_like(agent)).map(|(n, _)| n).collect(),
    }
}

fn agent_line(agent: &Agent, text: &Interner) -> String {
    let id = agent.id.show('a');
    let words = [agent.kind, agent.name, agent.native_id].map(|sym| text.get(sym));
    let words = words.into_iter().filter(|word| !word.is_empty());
    std::iter::once(id.as_str()).chain(words).collect::<Vec<_>>().join("  ")
}

/// A change that touches nothing is a typing error; what it may have meant is listed.
fn useless_change(doc: &SessionPathDoc, flow: &Flow, text: &Interner) -> Option<CliError> {
    let useless =
        doc.path.what_if.iter().flat_map(|what_if| &what_if.changes).find(|one| one.touched == 0)?;
    let names: BTreeSet<String> = flow
        .steps
        .iter()
        .filter_map(|step| match step.kind {
            StepKind::ToolCall => Some(format!("tool:{}", text.get(step.name))),
            StepKind::ModelCall => Some(format!("model:{}", text.get(step.model))),
            _ => None,
        })
        .collect();
    Some(CliError::NoSuchChange { change: useless.text.clone(), candidates: names.into_iter().collect() })
}

fn write_session(out: &mut dyn Write, session: &SessionPathDoc, full: bool) -> io::Result<()> {
    let path = &session.path;
    let screen = columns().unwrap_or(usize::MAX);
    let id = session.native_ids.first().unwrap_or(&session.id);
    let what = if path.sums.scope == "session" { String::new() } else { format!("{} ", path.sums.scope) };
    let title = path.sums.title.as_deref().unwrap_or(id);
    writeln!(out, "{}", paint(BOLD, &cut(&format!("{what}{title}"), screen)))?;
    for line in lines_of(&summary(&path.sums), screen) {
        writeln!(out, "{line}")?;
    }
    for line in lines_of(&caveats(path), screen) {
        writeln!(out, "{}", paint(DIM, &line))?;
    }
    if path.segments.is_empty() {
        let why =
            if path.sums.steps_timed == 0 { "no step has a time" } else { "all steps are of one moment" };
        writeln!(out, "{}", paint(DIM, &format!("no path: {why}")))?;
    } else {
        writeln!(out)?;
        write_pieces(out, path, full, screen)?;
    }
    if path.sums.scope == "session" && session.runs.len() > 1 {
        writeln!(out)?;
        write_runs(out, &session.runs)?;
    }
    if let Some(what_if) = &path.what_if {
        writeln!(out)?;
        write_what_if(out, what_if, screen)?;
    }
    Ok(())
}

fn summary(sums: &ScopeDoc) -> Vec<String> {
    let mut parts = vec![format!(
        "wall clock {} = path {} + gaps {}",
        duration(sums.wall_ms),
        duration(sums.path_ms),
        duration(sums.gaps_ms)
    )];
    let classes = Class::ALL.into_iter().filter(|class| sums.split.of(*class) > 0);
    parts.extend(classes.map(|class| {
        let ms = sums.split.of(class);
        format!("{} {} ({})", class.name(), duration(ms), share(ms, sums.wall_ms))
    }));
    if sums.parallelism.peak > 0 {
        parts.push(format!(
            "at once {:.1} on average, {} at most",
            sums.parallelism.average, sums.parallelism.peak
        ));
    }
    parts
}

fn caveats(path: &ScopePathDoc) -> Vec<String> {
    let sums = &path.sums;
    let mut parts = Vec::new();
    if sums.estimated_ms > 0 {
        parts.push(format!("~ {} of it with estimated or missing times", duration(sums.estimated_ms)));
    }
    if sums.inferred_links > 0 {
        parts.push(format!("{} along it", plural(sums.inferred_links, "inferred link")));
    }
    if sums.joints > 0 {
        parts.push(format!(
            "{} where only other work tells what went on before",
            plural(sums.joints, "joint")
        ));
    }
    if let Some(left_out) = &path.left_out {
        parts.push(format!(
            "{} left out, with them {}",
            plural(left_out.internal_agents, "internal agent"),
            duration(left_out.wall_with_them_ms)
        ));
    }
    if sums.steps_untimed > 0 {
        parts.push(format!("{} without any time", plural(sums.steps_untimed, "step")));
    }
    if path.unused_edges > 0 {
        parts.push(format!("{} against the clock left out", plural(path.unused_edges, "link")));
    }
    parts
}

/// A part of a whole in percent; nothing of nothing.
#[expect(clippy::cast_precision_loss, reason = "shown with two digits")]
fn share(part: i64, whole: i64) -> String {
    if whole <= 0 { String::new() } else { percent(part as f64 / whole as f64) }
}

fn style_of(class: &str) -> Style {
    match Class::of_name(class) {
        Some(Class::Model) => CYAN,
        Some(Class::Tool) => GREEN,
        Some(Class::Human) => YELLOW,
        Some(Class::Retry) => RED,
        Some(Class::Idle) => DIM,
        Some(Class::Other) | None => PLAIN,
    }
}

fn write_pieces(out: &mut dyn Write, path: &ScopePathDoc, full: bool, screen: usize) -> io::Result<()> {
    let mut lengths: Vec<i64> = path.segments.iter().map(|piece| piece.ms).collect();
    lengths.sort_unstable_by_key(|ms| std::cmp::Reverse(*ms));
    let least = if full { 0 } else { lengths.get(SHOWN_PIECES - 1).copied().unwrap_or(0) };
    let shown: Vec<&SegmentDoc> = path.segments.iter().filter(|piece| piece.ms >= least).collect();
    let table = [
        Column::number("AT"),
        Column::number("TIME"),
        Column::number("SHARE"),
        Column::text("SPENT ON"),
        Column::rest("AGENT", 8).spare(1),
        Column::rest("STEP", 16),
    ];
    let rows: Vec<Vec<Cell>> = shown.iter().map(|piece| piece_cells(piece, path.sums.wall_ms)).collect();
    write_table(out, &table, &rows)?;
    let hidden = path.segments.len() - shown.len();
    if hidden > 0 {
        let rest: i64 = path.segments.iter().filter(|piece| piece.ms < least).map(|piece| piece.ms).sum();
        let line = format!(
            "{} hidden, {} in all; --full shows them",
            plural(hidden as u64, "shorter piece"),
            duration(rest)
        );
        writeln!(out, "{}", paint(DIM, &cut(&line, screen)))?;
    }
    Ok(())
}

fn piece_cells(piece: &SegmentDoc, wall_ms: i64) -> Vec<Cell> {
    let mark = if piece.estimated { "~" } else { "" };
    let is_model = piece.kind == StepKind::ModelCall.name();
    let name = piece.name.as_deref().map(|name| if is_model { short_model(name) } else { name });
    let words = [name, piece.preview.as_deref()];
    let mut what = words.into_iter().flatten().collect::<Vec<_>>().join("  ");
    if what.is_empty() {
        what = piece.kind.replace('_', " ");
    }
    if piece.step_id.is_none() {
        what = format!("before {what}");
    }
    if piece.unexplained {
        what = format!("(nothing says why) {what}");
    } else if piece.inferred {
        what = format!("(link inferred) {what}");
    }
    vec![
        cell(duration(piece.at_ms)),
        cell(format!("{mark}{}", duration(piece.ms))),
        cell(share(piece.ms, wall_ms)),
        styled(piece.class, style_of(piece.class)),
        cell(piece.agent.as_deref().unwrap_or("main")),
        cell(what),
    ]
}

/// A row per run: what its time was spent on.
pub(super) fn write_runs(out: &mut dyn Write, runs: &[ScopeDoc]) -> io::Result<()> {
    let table = [
        Column::number("RUN"),
        Column::number("TIME"),
        Column::number("MODEL"),
        Column::number("TOOL"),
        Column::number("HUMAN").spare(2),
        Column::number("RETRY").spare(4),
        Column::number("IDLE").spare(1),
        Column::number("AT ONCE").spare(3),
        Column::rest("INPUT", 16),
    ];
    let time = |ms: i64| cell(if ms > 0 { duration(ms) } else { String::new() });
    let row = |(n, run): (usize, &ScopeDoc)| {
        vec![
            cell((n + 1).to_string()),
            cell(duration(run.wall_ms)),
            time(run.split.model_ms),
            time(run.split.tool_ms),
            time(run.split.human_ms),
            time(run.split.retry_ms),
            time(run.split.idle_ms),
            cell(if run.parallelism.peak > 0 {
                format!("{:.1}", run.parallelism.average)
            } else {
                String::new()
            }),
            cell(run.title.as_deref().unwrap_or_default()),
        ]
    };
    let rows: Vec<Vec<Cell>> = runs.iter().enumerate().map(row).collect();
    write_table(out, &table, &rows)
}

fn write_what_if(out: &mut dyn Write, what_if: &WhatIfDoc, screen: usize) -> io::Result<()> {
    let changes: Vec<&str> = what_if.changes.iter().map(|change| change.text.as_str()).collect();
    let touched: u64 = what_if.changes.iter().map(|change| change.touched).sum();
    let on_path = what_if.changes.iter().fold(0, |sum: i64, change| sum.saturating_add(change.on_path_ms));
    let saved = match what_if.saved_ms {
        0 => "no time saved".to_string(),
        saved @ 1.. => format!("{} saved ({})", duration(saved), share(saved, what_if.before_ms)),
        lost => format!("{} more ({})", duration(-lost), share(-lost, what_if.before_ms)),
    };
    let parts = [
        format!("what if {}", changes.join(", ")),
        format!("{} instead of {}", duration(what_if.after_ms), duration(what_if.before_ms)),
        saved,
        format!("{} change, {} of them on the path", plural(touched, "piece"), duration(on_path)),
        "estimated: all else stays as it was".to_string(),
    ];
    for line in lines_of(&parts, screen) {
        writeln!(out, "{}", line.replacen("what if", &paint(BOLD, "what if"), 1))?;
    }
    Ok(())
}
