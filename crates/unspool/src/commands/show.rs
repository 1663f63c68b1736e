//! `unspool show`: a session as a tree.

use crate::args::{Args, ShowArgs};
use crate::error::CliError;
use crate::figures::{count, duration, minute, money, plural};
use crate::load::{Loaded, load};
use crate::term::{BOLD, DIM, PLAIN, RED, YELLOW, cut, paint, plain, width};
use std::io::Write;
use unspool_formats::Detail;
use unspool_model::{Agent, Batch, Flow, IntentSource, Severity, Step, StepKind};
use unspool_view::flow_json::session_doc;
use unspool_view::rows::{Filter, Row, Rows, rows};
use unspool_view::{Pricer, Prices, Totals};

pub(crate) fn run(args: &Args, show: &ShowArgs) -> Result<(), CliError> {
    let loaded = load(args, std::slice::from_ref(&show.target), &show.places, Detail::Full)?;
    let filter =
        Filter { agent: show.agent.clone(), depth: show.depth, errors: show.errors, full: show.full };
    if show.json {
        let docs: Vec<_> =
            loaded.flows().map(|flow| session_doc(&flow, &loaded.corpus.batch, &loaded.prices)).collect();
        let mut out = std::io::stdout().lock();
        serde_json::to_writer(&mut out, &docs)?;
        writeln!(out)?;
        return Ok(());
    }
    print(&loaded, &filter)
}

pub(crate) fn print(loaded: &Loaded, filter: &Filter) -> Result<(), CliError> {
    let mut out = anstream::stdout().lock();
    for (n, flow) in loaded.flows().enumerate() {
        if n > 0 {
            writeln!(out)?;
        }
        let rows = rows(&flow, &loaded.corpus.batch, &loaded.prices, filter);
        Tree {
            flow: &flow,
            batch: &loaded.corpus.batch,
            prices: &loaded.prices,
            rows: &rows,
            full: filter.full,
            errors: filter.errors,
        }
        .write(&mut out)?;
    }
    if loaded.sessions.is_empty() {
        return Err(CliError::NothingFound("the records hold no session".into()));
    }
    Ok(())
}

struct Tree<'a> {
    flow: &'a Flow,
    batch: &'a Batch,
    prices: &'a Prices,
    rows: &'a Rows,
    full: bool,
    errors: bool,
}

/// Width of the figures on the right: duration, tokens, cost.
const FIGURES_WIDTH: usize = 30;

impl Tree<'_> {
    fn write(&self, out: &mut dyn Write) -> std::io::Result<()> {
        self.head(out)?;
        if self.rows.rows.is_empty() {
            writeln!(out, "nothing matches the filter")?;
        }
        for row in &self.rows.rows {
            match row {
                Row::Agent { agent, closed } => self.agent(out, *agent as usize, *closed)?,
                Row::Step { step, indent } => self.step(out, *step as usize, *indent)?,
                Row::Hidden { count, depth } => {
                    let how = if self.errors { "without errors" } else { "of the client's own (--full)" };
                    let line = format!("{}… {} {how}", rail(*depth), plural(u64::from(*count), "step"));
                    writeln!(out, "{}{}", " ".repeat(10), paint(DIM, &line))?;
                }
            }
        }
        self.issues(out)
    }

    fn text(&self, sym: unspool_model::Sym) -> &str {
        self.batch.text.get(sym)
    }

    fn head(&self, out: &mut dyn Write) -> std::io::Result<()> {
        let session = &self.flow.session;
        let title = session.title.some().map_or("(no prompt)", |title| self.text(title));
        writeln!(out, "{}", paint(BOLD, &cut(title, width())))?;
        let natives: Vec<&str> = session.native_ids.iter().map(|id| self.text(*id)).collect();
        let sums = &self.rows.sums.session;
        let started = session.started.is_some().then(|| session.started.to_string());
        let took = session.ended.ms_since(session.started).map(duration).unwrap_or_default();
        writeln!(out, "{}", paint(DIM, &plain(&format!("session {}", natives.join(", ")))))?;
        let mut facts =
            vec![minute(started.as_deref()), took, plural(self.flow.agents.len() as u64, "agent")];
        facts.push(plural(sums.steps, "step"));
        facts.push(format!("{} tokens", count(sums.usage.total())));
        facts.push(money(sums.cost.dollars(), sums.unpriced_calls));
        facts.retain(|fact| !fact.is_empty());
        write!(out, "{}", paint(DIM, &facts.join(" · ")))?;
        if sums.errors > 0 {
            write!(out, " · {}", paint(RED, &plural(sums.errors, "error")))?;
        }
        writeln!(out, "\n")
    }

    fn agent(&self, out: &mut dyn Write, n: usize, closed: bool) -> std::io::Result<()> {
        let agent = &self.flow.agents[n];
        let subtree = &self.rows.sums.subtree[n];
        let rail = rail(agent.depth.saturating_sub(1));
        let corner = match (agent.depth, closed) {
            (0, _) => "",
            (_, true) => "├▸ ",
            (_, false) => "├─ ",
        };
        let kind = match (agent.main, agent.internal, self.text(agent.kind)) {
            (true, _, "") => "main".to_string(),
            (true, _, kind) => format!("main {kind}"),
            (_, true, kind) => format!("internal {kind}"),
            (_, _, "") => "agent".to_string(),
            (_, _, kind) => kind.to_string(),
        };
        let name = agent.name.some().filter(|_| !agent.main).map(|name| format!(" “{}”", self.text(name)));
        let id =
            if agent.main { String::new() } else { format!(" {}", short_id(self.text(agent.native_id))) };
        let label = format!("{}{}", kind.trim_end(), name.unwrap_or_default());
        let status = agent.status.name();
        let mark = link_mark(agent);
        let steps = if closed { format!("({} steps)", subtree.steps) } else { String::new() };
        let others =
            rail.chars().count() + 3 + id.len() + status.len() + visible_len(&mark) + steps.len() + 5;
        let room = width().saturating_sub(10 + FIGURES_WIDTH + others).max(20);
        let mut line = paint(DIM, &format!("{rail}{corner}"));
        line.push_str(&paint(BOLD.fg_color(Some(anstyle::AnsiColor::Cyan.into())), &cut(&label, room)));
        line.push_str(&paint(DIM, &plain(&id)));
        for part in [paint(super::ls::status_style(status), status), mark, paint(DIM, &steps)] {
            if visible_len(&part) > 0 {
                line.push(' ');
                line.push_str(&part);
            }
        }
        write_line(out, "", &line, agent.ended.ms_since(agent.started), Some(subtree))
    }

    fn step(&self, out: &mut dyn Write, n: usize, indent: u32) -> std::io::Result<()> {
        let step = &self.flow.steps[n];
        let starts_run = self.flow.runs.get(step.run as usize).is_some_and(|run| run.trigger as usize == n);
        let rail = rail(step.depth);
        let (mark, style) = match step.kind {
            _ if starts_run => ("▶ ", BOLD),
            StepKind::UserMessage => ("› ", PLAIN),
            StepKind::ModelCall => ("● ", PLAIN),
            StepKind::ToolCall => ("", PLAIN),
            StepKind::Compaction => ("⇊ ", YELLOW),
            _ => ("· ", DIM),
        };
        let error = if step.is_error { " ✗" } else { "" };
        let style = if step.is_error { RED } else { style };
        let pending = if step.pending { " (no result)" } else { "" };
        let indent = "  ".repeat(indent as usize);
        let used = 10 + rail.chars().count() + indent.len() + FIGURES_WIDTH + 4;
        let room = if self.full { usize::MAX } else { width().saturating_sub(used).max(24) };
        let ending = format!("{pending}{error}");
        let text =
            cut(&format!("{mark}{}", self.describe(step)), room.saturating_sub(ending.chars().count()));
        let text = format!("{text}{ending}");
        let line = format!("{}{indent}{}", paint(DIM, &rail), paint(style, &text));
        let time = step.started.is_some().then(|| step.started.to_string());
        let time = time.as_deref().and_then(|at| at.get(11..19)).unwrap_or("");
        let took = step.duration_ms.get().filter(|_| step.kind != StepKind::UserMessage);
        write_line(
            out,
            time,
            &line,
            took,
            Some(&Pricer::new(self.flow, &self.batch.text, self.prices).step(step)),
        )
    }

    fn describe(&self, step: &Step) -> String {
        let (name, preview) = (self.text(step.name), self.text(step.preview));
        match step.kind {
            StepKind::UserMessage => preview.to_string(),
            StepKind::ModelCall => {
                let model = short_model(name);
                if preview.is_empty() { model.to_string() } else { format!("{model}  {preview}") }
            }
            StepKind::ToolCall => {
                let intent = self.text(step.intent);
                match step.intent_source {
                    IntentSource::None => name.to_string(),
                    IntentSource::Data if !preview.is_empty() && preview != intent => {
                        format!("{name}  {intent} — {preview}")
                    }
                    _ => format!("{name}  {intent}"),
                }
            }
            StepKind::Compaction => "context compacted".to_string(),
            StepKind::Generic => format!("{name} {preview}").trim_end().to_string(),
            kind => format!("{} {name} {preview}", kind.name()).trim_end().to_string(),
        }
    }

    fn issues(&self, out: &mut dyn Write) -> std::io::Result<()> {
        let serious: Vec<_> = self
            .flow
            .issues
            .iter()
            .filter(|issue| self.full || issue.code.severity() < Severity::Info)
            .collect();
        if serious.is_empty() {
            return Ok(());
        }
        writeln!(out)?;
        for issue in serious {
            let style = match issue.code.severity() {
                Severity::Error => RED,
                Severity::Warning => YELLOW,
                Severity::Info => DIM,
            };
            let detail = issue.detail.some().map(|d| format!(" ({})", self.text(d))).unwrap_or_default();
            let line = plain(&format!("{} ×{}{detail}", issue.code.name(), issue.count));
            writeln!(out, "{} {}", paint(style, &line), paint(DIM, issue.code.sentence()))?;
        }
        Ok(())
    }
}

/// The lines that lead down from the agents above.
fn rail(depth: u32) -> String {
    "│  ".repeat(depth as usize)
}

/// Inferred links are marked; exact ones need no word.
fn link_mark(agent: &Agent) -> String {
    match agent.spawn {
        Some(spawn) if spawn.rule.inferred() => {
            let text = format!("~ {} {:.2}", spawn.rule.name(), spawn.confidence.as_f64());
            paint(YELLOW, &text)
        }
        Some(_) => String::new(),
        None if agent.main || agent.internal => String::new(),
        None => paint(YELLOW, "? spawn not found"),
    }
}

/// A line with its figures at the right edge.
fn write_line(
    out: &mut dyn Write,
    time: &str,
    text: &str,
    took_ms: Option<i64>,
    sums: Option<&Totals>,
) -> std::io::Result<()> {
    let took = took_ms.map(duration).unwrap_or_default();
    let tokens = sums.map(|s| s.usage.total()).filter(|n| *n > 0).map(count).unwrap_or_default();
    let cost = sums
        .filter(|s| s.steps > 0 && s.usage.total() > 0)
        .map(|s| money(s.cost.dollars(), s.unpriced_calls))
        .unwrap_or_default();
    let figures = format!("{took:>9} {tokens:>8} {cost:>9}");
    let shown = visible_len(text);
    let gap = width().saturating_sub(10 + shown + FIGURES_WIDTH).max(1);
    let figures = if took.is_empty() && tokens.is_empty() {
        String::new()
    } else {
        format!("{}{}", " ".repeat(gap), paint(DIM, &figures))
    };
    writeln!(out, "{} {text}{}", paint(DIM, &format!("{time:<9}")), figures.trim_end())
}

/// An agent's id; of a uuid, the part that is enough to type.
fn short_id(id: &str) -> &str {
    match id.split_once('-') {
        Some((first, _)) if first.len() == 8 && id.len() == 36 => first,
        // A span's id is enough without its trace's.
        _ => id.rsplit_once('/').map_or(id, |(_, span)| span),
    }
}

/// A model's name without the vendor and the release date.
fn short_model(name: &str) -> &str {
    let name = name.strip_prefix("claude-").unwrap_or(name);
    match name.rsplit_once('-') {
        Some((short, date)) if date.len() == 8 && date.bytes().all(|b| b.is_ascii_digit()) => short,
        _ => name,
    }
}

/// Characters without colour codes.
fn visible_len(text: &str) -> usize {
    let mut len = 0;
    let mut in_code = false;
    for character in text.chars() {
        match character {
            '\u{1b}' => in_code = true,
            'm' if in_code => in_code = false,
            _ if !in_code => len += 1,
            _ => {}
        }
    }
    len
}
