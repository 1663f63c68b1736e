//! A session as a report in Markdown: sums, agents, what failed, what was slow, and the tree.
//!
//! In: a flow, its batch and prices. Out: `CommonMark` with tables. Never here: a decision about what matters; order and
//! limits are those below.

use super::text::{name, snippet};
use crate::duration::duration;
use crate::labels;
use crate::prices::Prices;
use crate::totals::{Totals, totals};
use std::fmt::Write as _;
use std::io::{Result, Write};
use unspool_model::flow::NONE;
use unspool_model::{Batch, Flow, Usage};

/// So many errors and slow steps are listed; the rest is counted.
const LISTED: usize = 20;
/// Deeper steps stand on this level of the tree, and are counted.
const MAX_TREE_DEPTH: usize = 64;
/// So many lines of the tree are written; the rest is counted.
const TREE_LINES: usize = 500;

/// Writes a report on a session.
pub fn write(out: &mut impl Write, flow: &Flow, batch: &Batch, prices: &Prices) -> Result<()> {
    let report = Report { flow, batch };
    let sums = totals(flow, &batch.text, prices);
    writeln!(out, "# {}\n", plain(&name(&labels::session_title(flow, batch))))?;
    let ids: Vec<String> = flow.session.native_ids.iter().map(|id| code(batch.text.get(*id))).collect();
    writeln!(
        out,
        "Session {}, from {} to {}\n",
        ids.join(", "),
        moment(flow.session.started),
        moment(flow.session.ended)
    )?;
    report.sums(out, &sums.session)?;
    report.agents(out, &sums.subtree)?;
    report.errors(out)?;
    report.slowest(out)?;
    report.tree(out)
}

struct Report<'f> {
    flow: &'f Flow,
    batch: &'f Batch,
}

impl Report<'_> {
    fn sums(&self, out: &mut impl Write, sums: &Totals) -> Result<()> {
        let buckets: [fn(&Usage) -> u64; 5] = [
            |usage| usage.input,
            |usage| usage.cache_read,
            |usage| usage.cache_write,
            |usage| usage.output,
            |usage| usage.reasoning,
        ];
        writeln!(
            out,
            "| agents | runs | steps | model calls | tool calls | errors | time | tokens | cost |"
        )?;
        writeln!(out, "|---:|---:|---:|---:|---:|---:|---:|---:|---:|")?;
        writeln!(
            out,
            "| {} | {} | {} | {} | {} | {} | {} | {} | {} |\n",
            self.flow.agents.len(),
            self.flow.runs.len(),
            sums.steps,
            sums.model_calls,
            sums.tool_calls,
            sums.errors,
            took(sums.elapsed_ms()),
            stated(sums, Usage::total),
            cost(sums)
        )?;
        writeln!(
            out,
            "| input | cache read | cache write | output | reasoning |\n|---:|---:|---:|---:|---:|"
        )?;
        writeln!(out, "| {} |\n", buckets.map(|of| stated(sums, of)).join(" | "))
    }

    fn agents(&self, out: &mut impl Write, subtree: &[Totals]) -> Result<()> {
        writeln!(out, "## Agents\n\nSums include everything an agent started.\n")?;
        writeln!(out, "| agent | about | status | link | steps | errors | time | output | cost |")?;
        writeln!(out, "|---|---|---|---|---:|---:|---:|---:|---:|")?;
        for (agent, sums) in self.flow.agents.iter().zip(subtree) {
            let link = match agent.spawn {
                Some(spawn) if spawn.is_inferred() => {
                    format!("~ {} {:.2}", spawn.rule.name(), spawn.confidence.as_f64())
                }
                Some(spawn) => spawn.rule.name().into(),
                None if agent.main || agent.internal => String::new(),
                None => "not found".into(),
            };
            let indent = "&emsp;".repeat(agent.depth as usize);
            writeln!(
                out,
                "| {indent}{} | {} | {} | {link} | {} | {} | {} | {} | {} |",
                plain(&name(&labels::agent_name(self.batch, agent))),
                plain(&snippet(labels::agent_detail(self.batch, agent))),
                agent.status.name(),
                sums.steps,
                sums.errors,
                took(sums.elapsed_ms()),
                stated(sums, |usage| usage.output),
                cost(sums)
            )?;
        }
        writeln!(out)
    }

    fn errors(&self, out: &mut impl Write) -> Result<()> {
        let failed: Vec<usize> =
            (0..self.flow.steps.len()).filter(|n| self.flow.steps[*n].is_error).collect();
        if failed.is_empty() {
            return Ok(());
        }
        writeln!(out, "## Errors\n")?;
        for n in failed.iter().take(LISTED) {
            let why = plain(&snippet(self.batch.text.get(self.flow.error_of(*n))));
            writeln!(out, "- {}{}", self.line(*n), if why.is_empty() { why } else { format!(" — {why}") })?;
        }
        more(out, failed.len(), LISTED)
    }

    fn slowest(&self, out: &mut impl Write) -> Result<()> {
        let ms = |n: &usize| self.flow.steps[*n].duration_ms.get().unwrap_or(0);
        let mut steps: Vec<usize> = (0..self.flow.steps.len()).filter(|n| ms(n) > 0).collect();
        if steps.is_empty() {
            return Ok(());
        }
        steps.sort_by_key(|n| (std::cmp::Reverse(ms(n)), *n));
        writeln!(out, "## Slowest\n")?;
        for n in steps.iter().take(LISTED) {
            writeln!(out, "- {} {}", took(Some(ms(n))), self.line(*n))?;
        }
        more(out, steps.len(), LISTED)
    }

    fn tree(&self, out: &mut impl Write) -> Result<()> {
        writeln!(out, "## Tree\n")?;
        let mut depths: Vec<usize> = Vec::with_capacity(self.flow.steps.len());
        let mut deeper = 0;
        for (n, step) in self.flow.steps.iter().enumerate() {
            let above = if step.parent == NONE { None } else { depths.get(step.parent as usize) };
            depths.push(above.map_or(0, |depth| depth + 1));
            if n < TREE_LINES {
                deeper += usize::from(depths[n] > MAX_TREE_DEPTH);
                writeln!(out, "{}- {}", "  ".repeat(depths[n].min(MAX_TREE_DEPTH)), self.line(n))?;
            }
        }
        if deeper > 0 {
            writeln!(out, "\n{deeper} steps lie deeper than {MAX_TREE_DEPTH} levels and stand on that one")?;
        }
        more(out, self.flow.steps.len(), TREE_LINES)
    }

    /// A step on one line.
    fn line(&self, n: usize) -> String {
        let step = &self.flow.steps[n];
        let mut line = format!("**{}**", plain(&name(&labels::step_name(self.batch, step))));
        let about = plain(&snippet(labels::step_detail(self.batch, step)));
        if !about.is_empty() {
            let _ = write!(line, " {about}");
        }
        if step.is_error {
            line += " ✗";
        }
        if step.pending {
            line += " …";
        }
        line
    }
}

/// Says how many were not shown.
fn more(out: &mut impl Write, count: usize, shown: usize) -> Result<()> {
    match count.saturating_sub(shown) {
        0 => writeln!(out),
        more => writeln!(out, "\n… and {more} more\n"),
    }
}

fn moment(at: unspool_model::Timestamp) -> String {
    if at.is_some() { at.to_string() } else { "an unknown moment".into() }
}

fn took(ms: Option<i64>) -> String {
    ms.map_or_else(|| "?".into(), duration)
}

/// Tokens; a dash where no source states them.
fn stated(sums: &Totals, of: fn(&Usage) -> u64) -> String {
    sums.stated_usage().map_or_else(|| "—".into(), |usage| of(usage).to_string())
}

/// Dollars; `+` where part of the calls has no price, a dash where no source states what was used.
fn cost(sums: &Totals) -> String {
    let more = if sums.unpriced_calls > 0 { "+" } else { "" };
    sums.stated_dollars().map_or_else(|| "—".into(), |dollars| format!("${dollars:.4}{more}"))
}

/// A text that means nothing to Markdown or HTML, also in a cell of a table.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for (n, c) in text.chars().enumerate() {
        match c {
            '<' => plain.push_str("&lt;"),
            '&' => plain.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '$' | '#' | '>' | '!' | '{' | '}' => {
                plain.push('\\');
                plain.push(c);
            }
            '-' | '+' | '=' if n == 0 => {
                plain.push('\\');
                plain.push(c);
            }
            c => plain.push(c),
        }
    }
    plain
}

/// A text as code.
fn code(text: &str) -> String {
    format!("`{}`", name(text).replace('`', "'"))
}
