//! `unspool show`: a session as a tree.

use crate::args::{Args, ShowArgs};
use crate::error::CliError;
use crate::figures::{count, duration, minute, money, plural};
use crate::load::{Loaded, load};
use crate::term::{BOLD, DIM, PLAIN, RED, YELLOW, cut, lines_of, paint, plain, text_width, width};
use std::io::{BufWriter, Write};
use unspool_formats::Detail;
use unspool_model::{
    Agent, AgentSource, Batch, Code, Flow, IntentSource, RequestKind, Severity, Step, StepKind,
};
use unspool_view::document::Each;
use unspool_view::filtered::keep_rows;
use unspool_view::flow_json::session_doc;
use unspool_view::rows::{Filter, Row, Rows, rows};
use unspool_view::{Pricer, Totals};

pub(crate) fn run(args: &Args, show: &ShowArgs) -> Result<(), CliError> {
    let loaded = load(args, std::slice::from_ref(&show.target), &show.places.look_in, Detail::Full)?;
    show.agent.as_ref().map_or(Ok(()), |agent| loaded.check_agent(agent))?;
    let filter = Filter {
        agent: show.agent.clone(),
        depth: show.depth,
        errors: show.errors,
        full: show.full || show.json,
        ..Filter::default()
    };
    if show.json {
        let (batch, prices) = (&loaded.corpus.batch, &loaded.prices);
        let document = |flow: Flow| {
            let whole = session_doc(&flow, batch, prices);
            if filter.chooses() { keep_rows(whole, &rows(&flow, batch, prices, &filter).rows) } else { whole }
        };
        let mut out = BufWriter::new(std::io::stdout().lock());
        serde_json::to_writer(&mut out, &Each(|| loaded.flows().map(document)))?;
        writeln!(out)?;
        out.flush()?;
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
        let batch = &loaded.corpus.batch;
        let rows = rows(&flow, batch, &loaded.prices, filter);
        let pricer = Pricer::new(&flow, &batch.text, &loaded.prices);
        let width = width();
        let ids = flow.agents.iter().map(|agent| batch.text.get(agent.native_id));
        let (figures, telling) = (Figures::fit(width), telling(ids.collect()));
        Tree { flow: &flow, batch, rows: &rows, filter, width, figures, telling }.write(&mut out, pricer)?;
    }
    if loaded.sessions.is_empty() {
        return Err(CliError::NothingFound("the records hold no session".into()));
    }
    Ok(())
}

struct Tree<'a> {
    flow: &'a Flow,
    batch: &'a Batch,
    rows: &'a Rows,
    filter: &'a Filter,
    /// Columns to draw to.
    width: usize,
    figures: Figures,
    /// Columns of an id's start that tells it from the others, with an ellipsis.
    telling: usize,
}

/// The label of an agent is not cut below this, however little room there is.
const LEAST_LABEL: usize = 8;
/// The same for its id, with an ellipsis.
const LEAST_ID: usize = 9;

/// Columns of the time of day at the left edge, with the gap behind it.
const TIME_WIDTH: usize = 10;

/// How wide the figures at the right edge are: time taken, tokens, cost.
#[derive(Clone, Copy)]
struct Figures {
    took: usize,
    tokens: usize,
    cost: usize,
}

impl Figures {
    /// Roomy on a wide screen, close together on a narrow one.
    fn fit(width: usize) -> Figures {
        if width < 100 {
            Figures { took: 7, tokens: 6, cost: 8 }
        } else {
            Figures { took: 9, tokens: 8, cost: 9 }
        }
    }

    /// With a gap before each.
    fn width(self) -> usize {
        self.took + self.tokens + self.cost + 4
    }

    fn draw(self, took_ms: Option<i64>, sums: &Totals) -> String {
        let took = took_ms.map(duration).unwrap_or_default();
        let tokens = sums.stated_usage().map(|usage| count(usage.total())).unwrap_or_default();
        let cost = sums.stated_dollars().map(|cost| money(cost, sums.unpriced_calls)).unwrap_or_default();
        let line = format!("{took:>0$} {tokens:>1$} {cost:>2$}", self.took, self.tokens, self.cost);
        line.trim_end().to_string()
    }
}

impl Tree<'_> {
    fn write(&self, out: &mut dyn Write, mut pricer: Pricer<'_>) -> std::io::Result<()> {
        self.head(out)?;
        if self.rows.rows.is_empty() {
            let all_read = self.flow.steps.is_empty();
            writeln!(
                out,
                "{}",
                if all_read { "its records hold no steps" } else { "nothing matches the filter" }
            )?;
        }
        for row in &self.rows.rows {
            match row {
                Row::Agent { agent, closed } => self.agent(out, *agent as usize, *closed)?,
                Row::Step { step, indent } => self.step(out, *step as usize, *indent, &mut pricer)?,
                Row::Hidden { count, depth } => {
                    let how =
                        if self.filter.errors { "without errors" } else { "of the client's own (--full)" };
                    let line = format!("{}… {} {how}", rail(*depth), plural(u64::from(*count), "step"));
                    writeln!(out, "{}{}", " ".repeat(TIME_WIDTH), paint(DIM, &line))?;
                }
            }
        }
        self.issues(out, &mut pricer)
    }

    fn text(&self, sym: unspool_model::Sym) -> &str {
        self.batch.text.get(sym)
    }

    fn head(&self, out: &mut dyn Write) -> std::io::Result<()> {
        let session = &self.flow.session;
        let title = session.title.some().map_or("(no prompt)", |title| self.text(title));
        writeln!(out, "{}", paint(BOLD, &cut(title, self.width)))?;
        let natives: Vec<&str> = session.native_ids.iter().map(|id| self.text(*id)).collect();
        let sums = &self.rows.sums.session;
        let started = session.started.is_some().then(|| session.started.to_string());
        let took = session.ended.ms_since(session.started).map(duration).unwrap_or_default();
        writeln!(out, "{}", paint(DIM, &plain(&format!("session {}", natives.join(", ")))))?;
        let mut facts =
            vec![minute(started.as_deref()), took, plural(self.flow.agents.len() as u64, "agent")];
        facts.push(plural(sums.steps, "step"));
        match sums.stated_usage() {
            Some(usage) => facts.push(format!("{} tokens", count(usage.total()))),
            None => facts.push("tokens not stated".into()),
        }
        facts.extend(sums.stated_dollars().map(|dollars| money(dollars, sums.unpriced_calls)));
        facts.retain(|fact| !fact.is_empty());
        let errors = plural(sums.errors, "error");
        if sums.errors > 0 {
            facts.push(errors.clone());
        }
        for line in lines_of(&facts, self.width) {
            match line.strip_suffix(&errors).filter(|_| sums.errors > 0) {
                Some(before) => writeln!(out, "{}{}", paint(DIM, before), paint(RED, &errors))?,
                None => writeln!(out, "{}", paint(DIM, &line))?,
            }
        }
        writeln!(out)
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
        let known_as = format!("{}{}", if agent.kind_inferred { "~" } else { "" }, self.text(agent.kind));
        let kind = match (agent.main, agent.internal, known_as.as_str()) {
            (true, _, "") => "main".to_string(),
            (true, _, kind) => format!("main {kind}"),
            (_, true, kind) => format!("internal {kind}"),
            (_, _, "") => "agent".to_string(),
            (_, _, kind) => kind.to_string(),
        };
        let name = agent.name.some().filter(|_| !agent.main).map(|name| format!(" “{}”", self.text(name)));
        let label = format!("{}{}", kind.trim_end(), name.unwrap_or_default());
        let id = self.shown_id(agent);
        let status = agent.status.name();
        let steps = if closed { format!("({})", plural(subtree.steps, "step")) } else { String::new() };
        // What stands behind the label. The less room, the shorter the id; the rule of a link is then left to `explain`.
        let behind = |id_width: usize| {
            [
                paint(DIM, &cut(id, id_width)),
                paint(super::ls::status_style(status), status),
                link_mark(agent, id_width < usize::MAX),
                paint(DIM, &steps),
            ]
        };
        let room = |parts: &[String; 4]| {
            let parts = parts.iter().map(|part| visible_len(part)).filter(|len| *len > 0);
            let before = TIME_WIDTH + text_width(&rail) + text_width(corner);
            let taken = before + parts.map(|len| len + 1).sum::<usize>() + self.figures.width();
            self.width.saturating_sub(taken)
        };
        let mut parts = behind(usize::MAX);
        for (label_width, id_width) in [(20, self.telling), (LEAST_LABEL, LEAST_ID)] {
            if room(&parts) < label_width.min(text_width(&label)) {
                parts = behind(id_width);
            }
        }
        let room = room(&parts).max(LEAST_LABEL);
        let mut line = paint(DIM, &format!("{rail}{corner}"));
        line.push_str(&paint(BOLD.fg_color(Some(anstyle::AnsiColor::Cyan.into())), &cut(&label, room)));
        for part in parts.iter().filter(|part| visible_len(part) > 0) {
            line.push(' ');
            line.push_str(part);
        }
        self.line(out, "", &line, agent.ended.ms_since(agent.started), subtree)
    }

    /// Enough of an agent's id to type. A main agent needs none unless the session is a family that has several.
    fn shown_id(&self, agent: &Agent) -> &str {
        let id = self.text(agent.native_id);
        let mains = || self.flow.agents.iter().filter(|other| other.main && agent.main);
        if mains().count() == 1 {
            return "";
        }
        let alike = mains().filter(|other| short_id(self.text(other.native_id)) == short_id(id)).count();
        if alike > 1 { id } else { short_id(id) }
    }

    fn step(
        &self,
        out: &mut dyn Write,
        n: usize,
        indent: u32,
        pricer: &mut Pricer<'_>,
    ) -> std::io::Result<()> {
        let step = &self.flow.steps[n];
        let starts_run = self.flow.runs.get(step.run as usize).is_some_and(|run| run.trigger as usize == n);
        let rail = rail(self.flow.depth_of(step));
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
        let used = TIME_WIDTH + text_width(&rail) + indent.len() + self.figures.width();
        let room = if self.filter.full { usize::MAX } else { self.width.saturating_sub(used).max(16) };
        let ending = format!("{pending}{error}{}", self.owner_mark(step));
        let room = room.saturating_sub(text_width(&ending));
        let why = self.why(n);
        // What was done and what went wrong share the line; neither may push the other out.
        let for_why = text_width(&why).min(room / 2);
        let text = cut(&format!("{mark}{}{}", self.request_mark(n), self.describe(step)), room - for_why);
        let why = cut(&why, room - text_width(&text));
        let text = format!("{text}{ending}{why}");
        let line = format!("{}{indent}{}", paint(DIM, &rail), paint(style, &text));
        let time = step.started.is_some().then(|| step.started.to_string());
        let time = time.as_deref().and_then(|at| at.get(11..19)).unwrap_or("");
        let took = step.duration_ms.get().filter(|_| step.kind != StepKind::UserMessage);
        self.line(out, time, &line, took, &pricer.step(step))
    }

    /// What a recorded request was for, unless its step or its agent bears that name.
    fn request_mark(&self, n: usize) -> String {
        let step = &self.flow.steps[n];
        let request = u32::try_from(n).ok().and_then(|n| self.flow.request_of(n)).map(RequestKind::name);
        let agent = self.flow.agents.get(step.agent as usize).map(|agent| self.text(agent.native_id));
        let known = |name: &&str| agent != Some(*name) && self.text(step.name) != *name;
        request.filter(known).map(|name| format!("[{}] ", name.replace('_', " "))).unwrap_or_default()
    }

    /// Whose a step is, where that is not stated but would be read as if it were; what most spans inherit only in full.
    fn owner_mark(&self, step: &Step) -> &'static str {
        let is_named =
            self.flow.agents.get(step.agent as usize).is_some_and(|agent| agent.kind.some().is_some());
        match step.agent_source {
            AgentSource::Assumed if is_named && step.kind != StepKind::UserMessage => " ~ agent assumed",
            AgentSource::Inherited if self.filter.full => " ~ agent inherited",
            _ => "",
        }
    }

    /// A line with its figures at the right edge.
    fn line(
        &self,
        out: &mut dyn Write,
        time: &str,
        text: &str,
        took_ms: Option<i64>,
        sums: &Totals,
    ) -> std::io::Result<()> {
        write!(out, "{} {text}", paint(DIM, &format!("{time:<0$}", TIME_WIDTH - 1)))?;
        let figures = self.figures.draw(took_ms, sums);
        if !figures.is_empty() {
            let used = TIME_WIDTH + visible_len(text) + self.figures.width();
            let gap = " ".repeat(self.width.saturating_sub(used) + 2);
            write!(out, "{gap}{}", paint(DIM, &figures))?;
        }
        writeln!(out)
    }

    /// What went wrong, where that is not what the step shows anyway.
    fn why(&self, n: usize) -> String {
        let step = &self.flow.steps[n];
        match self.flow.error_of(n).some().map(|error| self.text(error)) {
            Some(error) if error != self.text(step.preview) => format!("  {error}"),
            _ => String::new(),
        }
    }

    fn describe(&self, step: &Step) -> String {
        let (name, preview) = (self.text(step.name), self.text(step.preview));
        match step.kind {
            StepKind::UserMessage if preview.is_empty() => "(no text)".to_string(),
            StepKind::UserMessage => preview.to_string(),
            StepKind::ModelCall => {
                let model = if name.is_empty() { "(model not named)" } else { short_model(name) };
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

    fn issues(&self, out: &mut dyn Write, pricer: &mut Pricer<'_>) -> std::io::Result<()> {
        let is_shown = |code: Code| self.filter.full || code.is_worth_a_look();
        let found = self.flow.issues.iter().filter(|issue| is_shown(issue.code));
        let found = found.map(|issue| (issue.code, issue.count, self.text(issue.detail).to_string()));
        let unpriced = pricer.unpriced_models();
        let models: Vec<&str> = unpriced.keys().copied().filter(|model| !model.is_empty()).collect();
        let calls = unpriced.values().sum::<u64>();
        let models = (calls > 0).then(|| (Code::UnknownModel, calls, models.join(", ")));
        let all: Vec<(Code, u64, String)> = found.chain(models).collect();
        if !all.is_empty() {
            writeln!(out)?;
        }
        for (code, count, detail) in all {
            let style = match code.severity() {
                Severity::Error => RED,
                Severity::Warning => YELLOW,
                Severity::Info => DIM,
            };
            let detail = if detail.is_empty() { String::new() } else { format!(" ({detail})") };
            let line = plain(&format!("{} ×{count}{detail}", code.name()));
            writeln!(out, "{} {}", paint(style, &line), paint(DIM, code.sentence()))?;
        }
        Ok(())
    }
}

/// The lines that lead down from the agents above.
fn rail(depth: u32) -> String {
    "│  ".repeat(depth as usize)
}

/// Inferred links are marked, briefly when there is little room; exact ones need no word.
fn link_mark(agent: &Agent, brief: bool) -> String {
    match agent.spawn {
        Some(spawn) if spawn.is_inferred() => {
            let rule = if brief { "" } else { spawn.rule.name() };
            let text = format!("~ {rule} {:.2}", spawn.confidence.as_f64()).replace("  ", " ");
            paint(YELLOW, &text)
        }
        Some(_) => String::new(),
        None if agent.main || agent.internal => String::new(),
        None if brief => paint(YELLOW, "?"),
        None => paint(YELLOW, "? spawn not found"),
    }
}

/// An agent's id; of a uuid, the part that is enough to type.
fn short_id(id: &str) -> &str {
    match id.split_once('-') {
        Some((first, _)) if first.len() == 8 && id.len() == 36 => first,
        // A span's id is enough without its trace's.
        _ => id.rsplit_once('/').map_or(id, |(_, span)| span),
    }
}

/// How many columns the starts of these ids need so that no two are alike, with an ellipsis.
fn telling(mut ids: Vec<&str>) -> usize {
    ids.sort_unstable();
    let alike = |pair: &[&str]| pair[0].chars().zip(pair[1].chars()).take_while(|(a, b)| a == b).count();
    ids.windows(2).map(|pair| alike(pair) + 2).max().unwrap_or(0).max(LEAST_ID)
}

/// A model's name without the place it is served from, the vendor and the release date.
pub(crate) fn short_model(name: &str) -> &str {
    let name = name.rsplit_once("/models/").map_or(name, |(_, name)| name);
    let name = name.strip_prefix("claude-").unwrap_or(name);
    match name.rsplit_once('-') {
        Some((short, date)) if date.len() == 8 && date.bytes().all(|b| b.is_ascii_digit()) => short,
        _ => name,
    }
}

/// Columns a text takes, without colour codes.
fn visible_len(text: &str) -> usize {
    text_width(&anstream::adapter::strip_str(text).to_string())
}
