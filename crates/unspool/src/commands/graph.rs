//! `unspool graph`: what led to what, as lines of text.

use crate::args::{Args, Places};
use crate::asked::Asked;
use crate::error::CliError;
use crate::figures::{duration, plural};
use crate::graph_args::{GraphArgs, chosen_graph, chosen_pattern};
use crate::load::{load, settings};
use crate::term::{BOLD, CYAN, DIM, PLAIN, RED, YELLOW, columns, paint};
use std::io::{self, Write};
use std::path::PathBuf;
use unspool_formats::Detail;
use unspool_view::draw::Picture;
use unspool_view::draw::text::{Charset, Line, TextOptions, legend, lines};
use unspool_view::graph::{Graph, GroupBy, Level};
use unspool_view::workflow::Grouping;

#[derive(clap::Args)]
pub(crate) struct DrawArgs {
    /// A session id or a unique start of one, or a file or folder.
    #[arg(value_name = "SESSION|PATH")]
    target: PathBuf,
    #[command(flatten)]
    places: Places,
    /// Draw the pattern instead: steps of one name are one node, with how often one followed the other.
    #[arg(long)]
    workflow: bool,
    /// Draw with characters that every terminal has.
    #[arg(long)]
    ascii: bool,
    #[command(flatten)]
    graph: GraphArgs,
}

/// The width of a drawing that goes to a file or a program.
const PIPED_COLUMNS: usize = 100;

pub(crate) fn run(args: &Args, wanted: &DrawArgs) -> Result<(), CliError> {
    let level = wanted.graph.level.unwrap_or_default();
    let now = settings(args)?.as_of;
    wanted.graph.check_nodes(level, now)?;
    if let (true, Some(option)) = (wanted.workflow, wanted.graph.given_beside_filters()) {
        return crate::graph_args::usage(
            format!("`{option}` is about what led to what, and `--workflow` draws what followed what"),
            "leave one of the two out; filters like `--agent`, `--tool` and `--where` go with both",
        );
    }
    let query = wanted.graph.query()?;
    let loaded = load(args, std::slice::from_ref(&wanted.target), &wanted.places.look_in, Detail::Full)?;
    wanted.graph.check_agents(&loaded)?;
    let asked = query.as_ref().map(|query| Asked::new(&loaded, query, now));
    let options = text_options(wanted.ascii);
    let mut out = anstream::stdout().lock();
    for (n, flow) in loaded.flows().enumerate() {
        if n > 0 {
            writeln!(out)?;
        }
        let view = wanted.graph.view(level, GroupBy::Agent, now);
        let graph = if wanted.workflow {
            let pattern = chosen_pattern(&loaded, &flow, &view, Grouping::Path, asked.as_ref());
            pattern.graph(&flow, &loaded.corpus.batch)
        } else {
            chosen_graph(&loaded, &flow, &view, asked.as_ref())
        };
        let what = if wanted.workflow { "the pattern" } else { level_words(level) };
        draw(&mut out, &graph, what, &options)?;
    }
    writeln!(out, "\n{}", paint(DIM, legend(options.charset)))?;
    Ok(())
}

/// How to draw on this screen.
pub(super) fn text_options(ascii: bool) -> TextOptions {
    let charset = if ascii { Charset::Ascii } else { Charset::Unicode };
    TextOptions { width: columns().unwrap_or(PIPED_COLUMNS), charset }
}

fn level_words(level: Level) -> &'static str {
    match level {
        Level::Step => "a line per step",
        Level::ModelCall => "a line per model call",
        Level::Agent => "a line per agent",
        Level::Run => "a line per run",
    }
}

pub(super) fn draw(out: &mut dyn Write, graph: &Graph, what: &str, options: &TextOptions) -> io::Result<()> {
    let picture = Picture::of(graph);
    writeln!(out, "{}", paint(BOLD, &crate::term::plain(&graph.title)))?;
    writeln!(out, "{}", paint(DIM, &summary(graph, what)))?;
    writeln!(out)?;
    for line in lines(&picture, options) {
        let is_error = line.of.is_some_and(|node| picture.boxes[node].is_error);
        writeln!(out, "{}", coloured(&line, is_error))?;
    }
    Ok(())
}

/// What is drawn and what is not.
fn summary(graph: &Graph, what: &str) -> String {
    let tally = &graph.tally;
    let mut words = vec![what.to_string(), plural(graph.nodes.len() as u64, "node")];
    words.push(plural(graph.edges.len() as u64, "edge"));
    for (share, name) in [(&tally.contracted, "not drawn"), (&tally.filtered, "left out by the filter")] {
        if share.totals.steps > 0 {
            let took = share.busy_ms.filter(|ms| *ms > 0);
            let took = took.map_or_else(String::new, |ms| format!(", {}", duration(ms)));
            words.push(format!("{} {name}{took}", plural(share.totals.steps, "step")));
        }
    }
    if tally.order_edges > 0 {
        words.push(format!("{} of mere order not drawn", plural(tally.order_edges, "edge")));
    }
    words.join(" · ")
}

fn coloured(line: &Line, is_error: bool) -> String {
    let parts = [
        ("", DIM, &line.lanes),
        (" ", CYAN, &line.frame),
        (" ", if is_error { RED } else { PLAIN }, &line.label),
        (" ", YELLOW, &line.marks),
        ("  ", DIM, &line.detail),
    ];
    let mut text = String::new();
    for (room, style, part) in parts {
        if !part.is_empty() {
            text.push_str(room);
            text.push_str(&paint(style, part));
        }
    }
    text
}
