//! What was asked for, and whether it makes sense together.

use super::ExportArgs;
use crate::args::moment;
use crate::error::CliError;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use unspool_model::{Confidence, EdgeKind, StepKind, Timestamp};
use unspool_view::export::{Format, View};
use unspool_view::graph::{self, Filter, GroupBy, Level, StatusFilter};

/// What a graph shows.
#[derive(clap::Args)]
#[command(next_help_heading = "What a graph shows")]
pub(crate) struct GraphArgs {
    /// What a node is (default: step).
    #[arg(long, value_name = "LEVEL", value_parser = named(&Level::ALL, Level::name, about_level))]
    level: Option<Level>,
    /// What the boxes around nodes are (default: agent; in D2, run).
    #[arg(long, value_name = "WHAT", value_parser = named(&GROUPS, group_name, about_group))]
    group_by: Option<GroupBy>,
    /// Only agents whose type, name or id contains this; may be repeated.
    #[arg(long, value_name = "TEXT")]
    agent: Vec<String>,
    /// Only steps of this kind; may be repeated.
    #[arg(long, value_name = "KIND", value_parser = named(&StepKind::ALL, StepKind::name, nothing))]
    kind: Vec<StepKind>,
    /// Only calls of this tool; may be repeated.
    #[arg(long, value_name = "TOOL")]
    tool: Vec<String>,
    /// Only what ended then or later (RFC 3339).
    #[arg(long, value_name = "TIME", value_parser = moment)]
    after: Option<Timestamp>,
    /// Only what began then or earlier (RFC 3339).
    #[arg(long, value_name = "TIME", value_parser = moment)]
    before: Option<Timestamp>,
    /// Only steps that ended so.
    #[arg(long, value_name = "STATUS", value_parser = named(&STATUSES, status_name, nothing))]
    status: Option<StatusFilter>,
    /// Only edges of this kind; may be repeated.
    #[arg(long, value_name = "KIND", value_parser = named(&EdgeKind::ALL, EdgeKind::name, nothing))]
    edge: Vec<EdgeKind>,
    /// Only edges believed at least this much, from 0 to 1.
    #[arg(long, value_name = "N", value_parser = confidence)]
    min_confidence: Option<Confidence>,
    /// Guess that conversations of one sort that follow each other closely belong together.
    #[arg(long)]
    sequential: bool,
    /// System and hook steps and injected messages too.
    #[arg(long)]
    full: bool,
    /// D2: a board for each box, opened by a click on it.
    #[arg(long)]
    drill_down: bool,
}

/// What is written.
pub(super) struct Choice {
    pub(super) format: Format,
    pub(super) view: View,
    pub(super) graph: graph::View,
    pub(super) drill_down: bool,
    /// Boxes are runs.
    pub(super) lanes: bool,
}

/// Accepts the names of some things, each with a line of help.
pub(super) fn named<T: Copy + Send + Sync + 'static>(
    all: &'static [T],
    name: fn(T) -> &'static str,
    about: fn(T) -> &'static str,
) -> impl TypedValueParser<Value = T> {
    let shown = all.iter().map(|one| {
        let value = PossibleValue::new(name(*one));
        if about(*one).is_empty() { value } else { value.help(about(*one)) }
    });
    PossibleValuesParser::new(shown)
        .try_map(move |text| all.iter().copied().find(|one| name(*one) == text).ok_or("is no such name"))
}

fn nothing<T>(_: T) -> &'static str {
    ""
}

fn about_level(level: Level) -> &'static str {
    match level {
        Level::Step => "one step",
        Level::ModelCall => "one call of a model; what tools did in between is an edge",
        Level::Agent => "one agent",
        Level::Run => "one run: from an input to the last thing it caused",
    }
}

const GROUPS: [GroupBy; 3] = [GroupBy::Agent, GroupBy::Run, GroupBy::Nothing];

fn group_name(group: GroupBy) -> &'static str {
    match group {
        GroupBy::Agent => "agent",
        GroupBy::Run => "run",
        GroupBy::Nothing => "nothing",
    }
}

fn about_group(group: GroupBy) -> &'static str {
    match group {
        GroupBy::Agent => "a box per sub-agent, inside that of the agent that started it",
        GroupBy::Run => "a box per run",
        GroupBy::Nothing => "no boxes",
    }
}

const STATUSES: [StatusFilter; 3] = [StatusFilter::Error, StatusFilter::Ok, StatusFilter::Pending];

fn status_name(status: StatusFilter) -> &'static str {
    match status {
        StatusFilter::Error => "error",
        StatusFilter::Ok => "ok",
        StatusFilter::Pending => "pending",
    }
}

/// A share of one as typed.
fn confidence(text: &str) -> Result<Confidence, String> {
    let wrong = || "write a number from 0 to 1".to_string();
    let share = text.parse::<f64>().ok().filter(|share| (0.0..=1.0).contains(share)).ok_or_else(wrong)?;
    format!("{:.0}", share * 1e4).parse().map(Confidence::from_ten_thousandths).map_err(|_| wrong())
}

/// What the arguments mean, or why they mean nothing.
pub(super) fn check(export: &ExportArgs) -> Result<Choice, CliError> {
    let args = &export.graph;
    if !export.native.is_empty() {
        let other = export.format.map(|_| "--format").or(export.view.map(|_| "--view")).or(args.given());
        if let Some(other) = other {
            return refuse(
                format!("`--native` and `{other}` do not go together"),
                "records are written as they are; leave one of the two out",
            );
        }
    }
    let format = format(export)?;
    let view = view(export, format)?;
    if let Some(option) = args.given().filter(|_| view != View::Graph) {
        let hint = match view {
            View::Workflow => "a workflow is the pattern of everything; `--view graph` can be filtered",
            _ => "graphs can be filtered: `--format graph-json`, csv, d2, dot, mermaid or graphml",
        };
        return refuse(
            format!(
                "`{option}` chooses what a graph shows, and {} writes the {}",
                format.name(),
                view.name()
            ),
            hint,
        );
    }
    if args.drill_down && format != Format::D2 {
        return refuse(
            format!("`--drill-down` is for D2, not for {}", format.name()),
            "only D2 has boards that a click opens; try `--format d2`",
        );
    }
    let level = level(args, format)?;
    args.check_nodes(level)?;
    let usual = if format == Format::D2 { GroupBy::Run } else { GroupBy::default() };
    let graph = graph::View {
        level,
        group_by: args.group_by.unwrap_or(usual),
        filter: Filter {
            agents: args.agent.clone(),
            kinds: args.kind.clone(),
            tools: args.tool.clone(),
            after: args.after,
            before: args.before,
            status: args.status,
            edges: args.edge.clone(),
            min_confidence: args.min_confidence,
        },
        sequential: args.sequential,
        full: args.full,
    };
    let lanes = view == View::Graph && graph.group_by == GroupBy::Run;
    Ok(Choice { format, view, graph, drill_down: args.drill_down, lanes })
}

fn refuse<T>(why: String, hint: &'static str) -> Result<T, CliError> {
    Err(CliError::Usage { why, hint })
}

/// The format that was named, else the one the file's ending tells.
fn format(export: &ExportArgs) -> Result<Format, CliError> {
    let file = export.output.as_ref().filter(|path| path.as_os_str() != "-");
    match (export.format, file) {
        (Some(format), _) => Ok(format),
        (None, Some(path)) if export.native.is_empty() => {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            Format::of_file(&name).map_or_else(
                || refuse(format!("the ending of {name} tells no format"), "name one with `--format`"),
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
        (Format::Causality, Some(_)) => refuse(
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
            refuse(
                format!("{} cannot show the {}, only: {}", format.name(), view.name(), shown.join(", ")),
                "docs/exports.md has a table of what each format carries",
            )
        }
    }
}

impl GraphArgs {
    /// The first option that was used.
    fn given(&self) -> Option<&'static str> {
        let used = [
            ("--level", self.level.is_some()),
            ("--group-by", self.group_by.is_some()),
            ("--agent", !self.agent.is_empty()),
            ("--kind", !self.kind.is_empty()),
            ("--tool", !self.tool.is_empty()),
            ("--after", self.after.is_some()),
            ("--before", self.before.is_some()),
            ("--status", self.status.is_some()),
            ("--edge", !self.edge.is_empty()),
            ("--min-confidence", self.min_confidence.is_some()),
            ("--sequential", self.sequential),
            ("--full", self.full),
        ];
        used.into_iter().find(|(_, used)| *used).map(|(name, _)| name)
    }

    /// Whether any step can be left at all.
    fn check_nodes(&self, level: Level) -> Result<(), CliError> {
        if self.after.zip(self.before).is_some_and(|(after, before)| after > before) {
            return refuse("`--after` is later than `--before`".into(), "exchange the two");
        }
        let lacks = |kind: StepKind| !self.kind.is_empty() && !self.kind.contains(&kind);
        if level == Level::ModelCall && (!self.tool.is_empty() || lacks(StepKind::ModelCall)) {
            return refuse(
                "at level model-call only model calls are nodes, and these are left out".into(),
                "use `--level step` to choose tools and kinds",
            );
        }
        if !self.tool.is_empty() && lacks(StepKind::ToolCall) {
            return refuse(
                "`--tool` keeps only tool calls, and `--kind` leaves them out".into(),
                "leave one of the two out, or add `--kind tool_call`",
            );
        }
        Ok(())
    }
}
