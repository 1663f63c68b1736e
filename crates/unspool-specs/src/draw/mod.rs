//! A corpus as text: for each session its agents, its steps as a tree in their order, its edges and its issues; or a view of it.
//!
//! In: linked records. Out: the drawing that specifications state. Never here: anything that is not in the flow; what
//! is not drawn by default (times, witnesses) is drawn when a specification asks for it.

mod agents;
mod steps;
mod views;

use std::fmt::Write as _;
use unspool_link::Corpus;
use unspool_model::flow::NONE;
use unspool_model::{Batch, Confidence, EdgeKind, Flow, Issue, Sym, Usage};

/// What is drawn besides the structure.
#[derive(Clone, Copy, Debug, Default)]
pub struct Show {
    /// When each step started and how long it took.
    pub times: bool,
    /// How many records witness each step.
    pub witnesses: bool,
    /// Edges of mere sequence.
    pub sequence: bool,
    /// How it is known whose each step is.
    pub owners: bool,
    /// The folder each session is at work in, and whether that is inferred.
    pub folders: bool,
}

impl Show {
    /// Reads the words of a `show:` option.
    pub(crate) fn read(words: &str) -> Result<Show, String> {
        let mut show = Show::default();
        for word in words.split([',', ' ']).filter(|word| !word.is_empty()) {
            match word {
                "times" => show.times = true,
                "witnesses" => show.witnesses = true,
                "sequence" => show.sequence = true,
                "owners" => show.owners = true,
                "folders" => show.folders = true,
                other => {
                    return Err(format!(
                        "cannot show `{other}`; there are times, witnesses, sequence, owners and folders"
                    ));
                }
            }
        }
        Ok(show)
    }
}

/// Draws everything a corpus holds.
pub fn draw(corpus: &Corpus, show: Show) -> String {
    let mut out = String::new();
    for flow in corpus.flows() {
        draw_flow(&Drawn { flow: &flow, batch: &corpus.batch, show }, &mut out);
        out.push('\n');
    }
    let loose = issues(&corpus.loose_issues(), &corpus.batch);
    if !loose.is_empty() {
        out.push_str("issues of no session\n");
        out.push_str(&loose);
        out.push('\n');
    }
    let counts = corpus.counts();
    let _ = writeln!(
        out,
        "records {} = {} stored + {} duplicate + {} rejected",
        counts.records, counts.stored, counts.duplicate, counts.rejected
    );
    out
}

/// Draws a view of every session a corpus holds.
pub fn draw_view(corpus: &Corpus, words: &str) -> Result<String, String> {
    let mut out = String::new();
    for (n, flow) in corpus.flows().enumerate() {
        if n > 0 {
            out.push('\n');
        }
        views::draw(&Drawn { flow: &flow, batch: &corpus.batch, show: Show::default() }, words, &mut out)?;
    }
    Ok(out)
}

/// A flow and what its names resolve against.
struct Drawn<'f> {
    flow: &'f Flow,
    batch: &'f Batch,
    show: Show,
}

impl Drawn<'_> {
    fn text(&self, sym: Sym) -> &str {
        self.batch.text.get(sym)
    }
}

fn draw_flow(drawn: &Drawn<'_>, out: &mut String) {
    let session = &drawn.flow.session;
    let natives: Vec<&str> = session.native_ids.iter().map(|id| drawn.text(*id)).collect();
    let _ = write!(out, "session {}", natives.join(" + "));
    if !session.title.is_empty() && !session.title_inferred {
        let _ = write!(out, " titled {}", quoted(drawn.text(session.title)));
    }
    if drawn.show.folders && !session.cwd.is_empty() {
        let _ =
            write!(out, " {} {}", if session.cwd_inferred { "~in" } else { "in" }, drawn.text(session.cwd));
    }
    out.push('\n');
    agents::draw(drawn, out);
    steps::draw(drawn, out);
    let mut sum = Usage::default();
    for usage in &drawn.flow.usages {
        sum.add(usage);
    }
    if !sum.is_zero() {
        let _ = writeln!(out, "\n  tokens {}", usage(&sum));
    }
    edges(drawn, out);
    links(drawn, out);
    let found = issues(&drawn.flow.issues, drawn.batch);
    if !found.is_empty() {
        let _ = write!(out, "\n  issues\n{found}");
    }
    if drawn.flow.context_records > 0 {
        let _ = writeln!(out, "\n  records in no step {}", drawn.flow.context_records);
    }
}

fn edges(drawn: &Drawn<'_>, out: &mut String) {
    let rows: Vec<[String; 5]> = drawn
        .flow
        .edges
        .iter()
        .filter(|edge| drawn.show.sequence || edge.kind != EdgeKind::Sequence)
        .map(|edge| {
            let mark = if edge.is_error { " ✗" } else { "" };
            [
                steps::name(drawn, edge.from),
                format!("→ {}", steps::name(drawn, edge.to)),
                edge.kind.name().to_string(),
                edge.rule.name().to_string(),
                format!("{}{mark}", confidence(edge.confidence)),
            ]
        })
        .collect();
    if rows.is_empty() {
        return;
    }
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..5).map(width).collect();
    out.push_str("\n  edges\n");
    for row in &rows {
        let mut line = String::from("  ");
        for (cell, width) in row.iter().zip(&widths) {
            let _ = write!(line, "  {cell:<width$}");
        }
        let _ = writeln!(out, "{}", line.trim_end());
    }
}

/// What people said about links, in the order they said it.
fn links(drawn: &Drawn<'_>, out: &mut String) {
    if !drawn.flow.links.is_empty() {
        out.push_str("\n  said\n");
    }
    for link in &drawn.flow.links {
        let end = |sym: Sym, step: u32| match step {
            NONE => format!("({}?)", drawn.text(sym)),
            _ => steps::name(drawn, step),
        };
        let (from, to) = (end(link.from, link.from_step), end(link.to, link.to_step));
        let who = if link.who.is_empty() { "somebody" } else { drawn.text(link.who) };
        let _ = write!(out, "    {who}: {} {from} → {to} {}", link.verdict.name(), link.kind.name());
        if let Some((rule, worth)) = link.was {
            let _ = write!(out, ", was {} {}", rule.name(), confidence(worth));
        }
        if !link.note.is_empty() {
            let _ = write!(out, ", {}", quoted(drawn.text(link.note)));
        }
        let _ = writeln!(out, " = {}", link.standing.name());
    }
}

fn issues(issues: &[Issue], batch: &Batch) -> String {
    let mut lines: Vec<String> = issues
        .iter()
        .map(|issue| {
            let line = format!("    {} ×{} {}", issue.code.name(), issue.count, batch.text.get(issue.detail));
            format!("{}\n", line.trim_end())
        })
        .collect();
    lines.sort();
    lines.concat()
}

fn confidence(value: Confidence) -> String {
    if value == Confidence::EXACT { "1.0".into() } else { format!("{}", value.as_f64()) }
}

/// The buckets that are not empty.
fn usage(usage: &Usage) -> String {
    let long = usage.cache_write_long;
    let buckets = [
        ("in", usage.input),
        ("read", usage.cache_read),
        ("write", usage.cache_write),
        ("(1h", long),
        ("out", usage.output),
        ("think", usage.reasoning),
    ];
    let shown: Vec<String> = buckets
        .iter()
        .filter(|(_, count)| *count > 0)
        .map(|(name, count)| format!("{name} {count}{}", if *name == "(1h" { ")" } else { "" }))
        .collect();
    shown.join(" ")
}

/// The longest text shown of a message.
const QUOTE_CHARS: usize = 48;

fn quoted(text: &str) -> String {
    let mut short: String = text.chars().take(QUOTE_CHARS).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    format!("\"{short}\"")
}
