//! What was asked for, and whether it makes sense together.

use super::ExportArgs;
use crate::error::CliError;
use crate::graph_args::{GraphArgs, usage};
use unspool_model::Timestamp;
use unspool_view::draw::Theme;
use unspool_view::export::{Format, View};
use unspool_view::graph::{self, GroupBy, Level};
use unspool_view::query::Query;

/// What is written.
pub(super) struct Choice {
    pub(super) format: Format,
    pub(super) view: View,
    pub(super) graph: graph::View,
    /// Which steps a graph shows.
    pub(super) query: Option<Query>,
    pub(super) drill_down: bool,
    pub(super) theme: Theme,
    /// Boxes are runs.
    pub(super) lanes: bool,
    /// A process shows what at least this share of its runs have.
    pub(super) min_share: f64,
}

/// What the arguments mean, or why they mean nothing.
pub(super) fn check(export: &ExportArgs, now: Timestamp) -> Result<Choice, CliError> {
    let args = &export.graph;
    if !export.native.is_empty() {
        let other = export.format.map(|_| "--format").or(export.view.map(|_| "--view")).or(args.given());
        if let Some(other) = other {
            return usage(
                format!("`--native` and `{other}` do not go together"),
                "records are written as they are; leave one of the two out",
            );
        }
    }
    let format = format(export)?;
    let view = view(export, format)?;
    check_options(export, format, view)?;
    let level = level(args, format)?;
    args.check_nodes(level, now)?;
    let usual = if format == Format::D2 { GroupBy::Run } else { GroupBy::default() };
    let graph = args.view(level, usual, now);
    let lanes = view == View::Graph && graph.group_by == GroupBy::Run;
    Ok(Choice {
        format,
        view,
        graph,
        drill_down: export.drill_down,
        lanes,
        query: args.query()?,
        theme: export.theme.unwrap_or_default(),
        min_share: export.min_share.unwrap_or(0.0),
    })
}

/// Whether the options say something about the view and the format.
fn check_options(export: &ExportArgs, format: Format, view: View) -> Result<(), CliError> {
    let (option, hint) = match view {
        View::Graph => (None, ""),
        View::Workflow => (
            export.graph.given_beside_filters(),
            "a workflow has what followed what; filters like `--agent`, `--tool` and `--where` choose its steps",
        ),
        View::Process => {
            (export.graph.given(), "a process is of whole runs; `--min-share` leaves out what is rare")
        }
        _ => (
            export.graph.given(),
            "graphs can be filtered: `--format graph-json`, csv, d2, dot, mermaid, svg or graphml",
        ),
    };
    if let Some(option) = option {
        let (format, view) = (format.name(), view.name());
        return usage(format!("`{option}` chooses what a graph shows, and {format} writes the {view}"), hint);
    }
    if export.min_share.is_some() && view != View::Process {
        return usage(
            format!("`--min-share` is for a process, not for the {}", view.name()),
            "add `--view process`, or leave it out",
        );
    }
    if export.drill_down && format != Format::D2 {
        return usage(
            format!("`--drill-down` is for D2, not for {}", format.name()),
            "only D2 has boards that a click opens; try `--format d2`",
        );
    }
    if export.theme.is_some() && format != Format::Svg {
        return usage(
            format!("`--theme` is for SVG, not for {}", format.name()),
            "other formats leave colours to their readers; try `--format svg`",
        );
    }
    Ok(())
}

/// The format that was named, else the one the file's ending tells.
fn format(export: &ExportArgs) -> Result<Format, CliError> {
    let file = export.output.as_ref().filter(|path| path.as_os_str() != "-");
    match (export.format, file) {
        (Some(format), _) => Ok(format),
        (None, Some(path)) if export.native.is_empty() => {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            Format::of_file(&name).map_or_else(
                || usage(format!("the ending of {name} tells no format"), "name one with `--format`"),
                Ok,
            )
        }
        _ => Ok(Format::Json),
    }
}

/// Steps, unless something else was asked for; the inference graph has model calls only.
fn level(args: &GraphArgs, format: Format) -> Result<Level, CliError> {
    match (format, args.level) {
        (Format::Causality, None | Some(Level::ModelCall)) => Ok(Level::ModelCall),
        (Format::Causality, Some(_)) => usage(
            "the nodes of causality-json are model calls".into(),
            "leave `--level` out, or try `--format graph-json`",
        ),
        (_, level) => Ok(level.unwrap_or_default()),
    }
}

fn view(export: &ExportArgs, format: Format) -> Result<View, CliError> {
    let views = format.views();
    let usual = views.first().copied().unwrap_or(View::Flow);
    match export.view {
        None => Ok(usual),
        Some(view) if views.contains(&view) => Ok(view),
        Some(view) => {
            let shown: Vec<&str> = views.iter().map(|view| view.name()).collect();
            usage(
                format!("{} cannot show the {}, only: {}", format.name(), view.name(), shown.join(", ")),
                "docs/exports.md has a table of what each format carries",
            )
        }
    }
}
