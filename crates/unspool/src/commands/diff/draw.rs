//! A comparison as text: what is compared, sums, where it first parts, steps.

use crate::figures::{NOT_STATED, count, duration, minute, money, plural};
use crate::table::{Cell, Column, cell, styled, write_table};
use crate::term::{BOLD, CYAN, DIM, GREEN, PLAIN, RED, YELLOW, columns, cut, lines_of, paint, text_width};
use anstyle::Style;
use std::io::{self, Write};
use unspool_view::diff::{
    AgentDiff, Change, DiffDoc, Field, FieldChange, SideDoc, StepDiff, StepSide, ToolDiff,
};
use unspool_view::flow_json::TotalsDoc;

/// The widest that lines of steps are drawn when there is no screen.
const USUAL_COLUMNS: usize = 120;

pub(super) fn write(out: &mut dyn Write, diff: &DiffDoc, steps: Option<usize>) -> io::Result<()> {
    let width = columns().unwrap_or(USUAL_COLUMNS);
    side(out, "A", &diff.a, width)?;
    side(out, "B", &diff.b, width)?;
    writeln!(out)?;
    if diff.same {
        return writeln!(out, "nothing differs, in {}", plural(diff.counts.same, "step"));
    }
    summary(out, diff, width)?;
    writeln!(out)?;
    totals(out, diff)?;
    tools(out, &diff.tools)?;
    models(out, diff, width)?;
    agents(out, &diff.agents)?;
    match steps {
        Some(limit) => write_steps(out, diff, limit, width),
        None => Ok(()),
    }
}

fn side(out: &mut dyn Write, letter: &str, side: &SideDoc, width: usize) -> io::Result<()> {
    let native = side.native_ids.first().map_or(side.session_id.as_str(), String::as_str);
    let id = crate::commands::ls::short_native(native);
    let part = match (&side.run_id, &side.agent_id) {
        (Some(run), _) => format!(" run {}", run.get(..9).unwrap_or(run)),
        (_, Some(agent)) => format!(" agent {}", agent.get(..9).unwrap_or(agent)),
        _ => String::new(),
    };
    let said =
        if part.is_empty() { side.title.as_ref() } else { side.prompt.as_ref().or(side.title.as_ref()) };
    let head = format!("{letter}  {id}{part}  {}  ", minute(side.started_at.as_deref()));
    let room = width.saturating_sub(text_width(&head)).max(8);
    let said = cut(said.map_or("(no prompt)", String::as_str), room);
    writeln!(out, "{}{said}", paint(BOLD, &head))
}

fn summary(out: &mut dyn Write, diff: &DiffDoc, width: usize) -> io::Result<()> {
    let counts = &diff.counts;
    let mut parts = vec![
        format!("{} the same", plural(counts.same + counts.figures, "step")),
        format!("{} changed", count(counts.changed)),
        format!("{} only in A", count(counts.removed)),
        format!("{} only in B", count(counts.added)),
    ];
    if diff.unaligned_steps > 0 {
        parts.push(format!(
            "{} too different to align (max_diff_edits)",
            plural(diff.unaligned_steps as u64, "step")
        ));
    }
    for line in lines_of(&parts, width) {
        writeln!(out, "{line}")?;
    }
    let Some(first) = &diff.first_divergence else {
        return writeln!(out, "only times and tokens differ");
    };
    let place =
        |letter: &str, side: &Option<StepSide>| side.as_ref().map(|side| format!("{letter} #{}", side.seq));
    let places: Vec<String> = [place("A", &first.a), place("B", &first.b)].into_iter().flatten().collect();
    writeln!(out, "they first part in {} at {}:", paint(BOLD, &first.agent), places.join(", "))?;
    step(out, first, width)
}

/// The change of a number, with its sign.
fn signed(a: i128, b: i128, show: impl Fn(u128) -> String) -> Cell {
    let sign = match b.cmp(&a) {
        std::cmp::Ordering::Less => "−",
        std::cmp::Ordering::Equal => return cell("="),
        std::cmp::Ordering::Greater => "+",
    };
    let share = match (a, (b - a).unsigned_abs() * 100 / a.unsigned_abs().max(1)) {
        (0, _) => String::new(),
        (_, percent @ ..MANY_PERCENT) => format!(" ({sign}{percent}%)"),
        _ => format!(" (×{})", b / a),
    };
    styled(format!("{sign}{}{share}", show((b - a).unsigned_abs())), if b > a { YELLOW } else { GREEN })
}

/// From here on, how many times as much says more than percent.
const MANY_PERCENT: u128 = 900;

fn number(n: u128) -> String {
    count(u64::try_from(n).unwrap_or(u64::MAX))
}

/// A figure of one side; none where no source states it.
type Figure = fn(&TotalsDoc) -> Option<u64>;

const FIGURES: [(&str, Figure); 9] = [
    ("steps", |sums| Some(sums.steps)),
    ("model calls", |sums| Some(sums.model_calls)),
    ("tool calls", |sums| Some(sums.tool_calls)),
    ("errors", |sums| Some(sums.errors)),
    ("input tokens", |sums| sums.usage.as_ref().map(|usage| usage.input)),
    ("cache read", |sums| sums.usage.as_ref().map(|usage| usage.cache_read)),
    ("cache write", |sums| sums.usage.as_ref().map(|usage| usage.cache_write)),
    ("output tokens", |sums| sums.usage.as_ref().map(|usage| usage.output)),
    ("reasoning", |sums| sums.usage.as_ref().map(|usage| usage.reasoning)),
];

fn totals(out: &mut dyn Write, diff: &DiffDoc) -> io::Result<()> {
    let (a, b) = (&diff.totals.a, &diff.totals.b);
    let mut rows = Vec::new();
    for (name, of) in FIGURES {
        let (x, y) = (of(a), of(b));
        if x.unwrap_or(0) + y.unwrap_or(0) > 0 {
            let shown = |n: Option<u64>| cell(n.map_or_else(|| NOT_STATED.to_string(), count));
            let change = x.zip(y).map_or_else(|| cell("?"), |(x, y)| signed(x.into(), y.into(), number));
            rows.push(vec![cell(name), shown(x), shown(y), change]);
        }
    }
    let unpriced_calls = a.unpriced_calls + b.unpriced_calls;
    if a.cost_usd.unwrap_or(0.0) + b.cost_usd.unwrap_or(0.0) > 0.0 || unpriced_calls > 0 {
        let shown = |n: u128| money(dollars(n), 0);
        let change = match (a.cost_usd, b.cost_usd) {
            (Some(x), Some(y)) if unpriced_calls == 0 => signed(millionths(x), millionths(y), shown),
            _ => cell("?"),
        };
        let cost = |side: &TotalsDoc| {
            side.cost_usd.map_or_else(|| NOT_STATED.to_string(), |cost| money(cost, side.unpriced_calls))
        };
        rows.push(vec![cell("cost"), cell(cost(a)), cell(cost(b)), change]);
    }
    if let (Some(x), Some(y)) = (a.duration_ms, b.duration_ms) {
        let shown = |ms: u128| duration(i64::try_from(ms).unwrap_or(i64::MAX));
        rows.push(vec![
            cell("time"),
            cell(duration(x)),
            cell(duration(y)),
            signed(x.into(), y.into(), shown),
        ]);
    }
    let columns = [Column::text("TOTAL"), Column::number("A"), Column::number("B"), Column::number("CHANGE")];
    write_table(out, &columns, &rows)
}

#[expect(clippy::cast_possible_truncation, reason = "costs are far below the limit, and shown only")]
fn millionths(dollars: f64) -> i128 {
    (dollars * 1e6).round() as i128
}

#[expect(clippy::cast_precision_loss, reason = "shown with two digits")]
fn dollars(millionths: u128) -> f64 {
    millionths as f64 / 1e6
}

fn tools(out: &mut dyn Write, tools: &[ToolDiff]) -> io::Result<()> {
    let differ = tools.iter().filter(|tool| (tool.a.calls, tool.a.errors) != (tool.b.calls, tool.b.errors));
    let rows: Vec<Vec<Cell>> = differ
        .map(|tool| {
            let calls = |side: &unspool_view::diff::ToolSide| match (side.calls, side.errors) {
                (0, _) => cell("—"),
                (calls, 0) => cell(count(calls)),
                (calls, errors) => styled(format!("{} ({}✗)", count(calls), count(errors)), RED),
            };
            let note = match (tool.a.calls, tool.b.calls) {
                (0, _) => styled("only in B", GREEN),
                (_, 0) => styled("only in A", RED),
                (a, b) => signed(a.into(), b.into(), number),
            };
            vec![cell(tool.name.as_str()), calls(&tool.a), calls(&tool.b), note]
        })
        .collect();
    if rows.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    let columns =
        [Column::rest("TOOL", 12), Column::number("A"), Column::number("B"), Column::number("CHANGE")];
    write_table(out, &columns, &rows)
}

fn models(out: &mut dyn Write, diff: &DiffDoc, width: usize) -> io::Result<()> {
    if diff.models.a == diff.models.b {
        return Ok(());
    }
    let names = |names: &[String]| if names.is_empty() { "none".into() } else { names.join(", ") };
    writeln!(out)?;
    writeln!(out, "{}", cut(&format!("models in A: {}", names(&diff.models.a)), width))?;
    writeln!(out, "{}", cut(&format!("models in B: {}", names(&diff.models.b)), width))
}

fn agents(out: &mut dyn Write, agents: &[AgentDiff]) -> io::Result<()> {
    let sub = agents.len() > 1;
    let is_told = |agent: &&AgentDiff| sub || !agent.fields.is_empty();
    let differ = agents.iter().filter(|agent| agent.change != Change::Figures).filter(is_told);
    let rows: Vec<Vec<Cell>> = differ
        .map(|agent| {
            let (sign, style) = mark(agent.change);
            let steps = |side: &Option<unspool_view::diff::AgentSide>| {
                side.as_ref().map_or_else(|| "—".into(), |side| count(side.totals.steps))
            };
            let tokens = |side: &Option<unspool_view::diff::AgentSide>| {
                let usage = side.as_ref().and_then(|side| side.totals.usage.as_ref());
                usage.map_or(0, |u| u.input + u.cache_read + u.cache_write + u.output + u.reasoning)
            };
            let prompt = agent.a.as_ref().or(agent.b.as_ref()).and_then(|side| side.prompt.clone());
            vec![
                styled(sign, style),
                cell(format!("{}{}", agent.agent, own_changes(agent))),
                cell(steps(&agent.a)),
                cell(steps(&agent.b)),
                signed(tokens(&agent.a).into(), tokens(&agent.b).into(), number),
                cell(prompt.unwrap_or_default()),
            ]
        })
        .collect();
    if rows.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    let columns = [
        Column::text(" "),
        Column::rest("AGENT", 10),
        Column::number("STEPS A"),
        Column::number("STEPS B"),
        Column::number("TOKENS").spare(1),
        Column::rest("PROMPT", 16),
    ];
    write_table(out, &columns, &rows)
}

/// ` (status completed → failed)`; a type that differs stands in the label.
fn own_changes(agent: &AgentDiff) -> String {
    let fields = agent.fields.iter().filter(|field| !matches!(field.field, Field::Type | Field::Name));
    let side = |text: &Option<String>| text.clone().unwrap_or_else(|| NOT_STATED.into());
    let told: Vec<String> = fields
        .map(|field| format!("{} {} → {}", field.field.name(), side(&field.a), side(&field.b)))
        .collect();
    if told.is_empty() { String::new() } else { format!(" ({})", told.join(", ")) }
}

fn mark(change: Change) -> (&'static str, Style) {
    match change {
        Change::Added => ("+", GREEN),
        Change::Removed => ("−", RED),
        Change::Changed => ("~", YELLOW),
        Change::Figures => ("=", PLAIN),
    }
}

fn write_steps(out: &mut dyn Write, diff: &DiffDoc, limit: usize, width: usize) -> io::Result<()> {
    let meant: Vec<&StepDiff> = diff.steps.iter().filter(|step| step.change != Change::Figures).collect();
    let mut agent = None;
    for one in meant.iter().take(limit) {
        if agent != Some(one.agent.as_str()) {
            writeln!(out, "\n{}", paint(CYAN, &cut(&one.agent, width)))?;
            agent = Some(one.agent.as_str());
        }
        step(out, one, width)?;
    }
    if meant.len() > limit {
        let line = format!("… and {} more (--limit 0 shows all)", meant.len() - limit);
        writeln!(out, "{}", paint(DIM, &line))?;
    }
    let figures = diff.counts.figures;
    if figures > 0 {
        let line = format!("times or tokens only: {} (--json lists them)", plural(figures, "step"));
        writeln!(out, "\n{}", paint(DIM, &line))?;
    }
    Ok(())
}

/// Columns of a step's number and mark.
const HEAD: usize = 9;

fn step(out: &mut dyn Write, diff: &StepDiff, width: usize) -> io::Result<()> {
    let Some(side) = diff.b.as_ref().or(diff.a.as_ref()) else { return Ok(()) };
    let (sign, style) = mark(diff.change);
    let head = format!("  {sign} {:<5}", format!("#{}", side.seq));
    let failed = if side.is_error { " ✗" } else { "" };
    let name = match (side.kind, &side.name) {
        ("tool_call", Some(name)) => name.clone(),
        (kind, _) => kind.to_string(),
    };
    let meant: Vec<&FieldChange> = diff.fields.iter().filter(|change| !change.field.is_figure()).collect();
    // An intent that was made from the input says nothing more than it.
    let has_words = meant.iter().any(|change| matches!(change.field, Field::Input | Field::Text));
    let told = meant.iter().filter(|change| change.field != Field::Intent || !has_words);
    if diff.change == Change::Changed {
        let named: Vec<&str> = told.clone().map(|change| change.field.name()).collect();
        let line = format!("{name}{failed}  {} changed", named.join(", "));
        writeln!(out, "{} {}", paint(style, &head), cut(&line, width.saturating_sub(HEAD + 1)))?;
        for change in told {
            for (letter, value, style) in [("A", &change.a, RED), ("B", &change.b, GREEN)] {
                let value = value.as_deref().unwrap_or("—");
                let line = cut(&format!("{letter} {value}"), width.saturating_sub(HEAD + 3));
                writeln!(out, "{}{}", " ".repeat(HEAD + 3), paint(style, &line))?;
            }
        }
        return Ok(());
    }
    let line = format!("{name}{failed}  {}", side.text.as_deref().unwrap_or_default());
    let line = cut(line.trim_end(), width.saturating_sub(HEAD + 1));
    writeln!(out, "{} {}", paint(style, &head), paint(style, &line))
}
