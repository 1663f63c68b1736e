//! What a graph shows, as typed: level, boxes, filters, a query.

use crate::asked::{Asked, note_unread, refused};
use crate::error::CliError;
use crate::load::Loaded;
use crate::term::note;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use unspool_model::{Confidence, EdgeKind, Flow, StepKind, Timestamp};
use unspool_view::graph::{Filter, Graph, GroupBy, Level, Pattern, StatusFilter, View, graph, pattern};
use unspool_view::query::{Moment, Period, Query};
use unspool_view::workflow::Grouping;

/// What a graph shows.
#[derive(clap::Args)]
#[command(next_help_heading = "What a graph shows")]
pub(crate) struct GraphArgs {
    /// What a node is (default: step).
    #[arg(long, value_name = "LEVEL", value_parser = named(&Level::ALL, Level::name, about_level))]
    pub(crate) level: Option<Level>,
    /// What the boxes around nodes are (default: agent; in D2, run).
    #[arg(long, value_name = "WHAT", value_parser = named(&GROUPS, group_name, about_group))]
    pub(crate) group_by: Option<GroupBy>,
    /// Only agents whose type or name contains this or whose id begins with it; may be repeated.
    #[arg(long, value_name = "TEXT")]
    agent: Vec<String>,
    /// Only steps of this kind; may be repeated.
    #[arg(long, value_name = "KIND", value_parser = named(&StepKind::ALL, StepKind::name, nothing))]
    kind: Vec<StepKind>,
    /// Only calls of this tool; may be repeated.
    #[arg(long, value_name = "TOOL")]
    tool: Vec<String>,
    /// Only what began later, as `after:` in a query: 2026-01-18, 2026-01-18T19:55:26Z, or 2h for two hours ago.
    #[arg(long, value_name = "TIME", value_parser = query_moment)]
    after: Option<Moment>,
    /// Only what began earlier, as `before:` in a query.
    #[arg(long, value_name = "TIME", value_parser = query_moment)]
    before: Option<Moment>,
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
    /// Only steps for which a query holds, like `tool:Bash is:error`; docs/query.md has the language.
    #[arg(long = "where", value_name = "QUERY", allow_hyphen_values = true)]
    wanted: Option<String>,
}

/// Accepts the names of some things, each with a line of help.
pub(crate) fn named<T: Copy + Send + Sync + 'static>(
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

/// A moment as a query has it.
fn query_moment(text: &str) -> Result<Moment, String> {
    Moment::parse(text).ok_or_else(|| {
        "write it like 2026-01-18, 2026-01-18T19:55, 2026-01-18T19:55:26Z, or 2h for two hours ago".into()
    })
}

/// A share of one as typed.
fn confidence(text: &str) -> Result<Confidence, String> {
    let in_ten_thousandths = format!("{:.0}", share(text)? * 1e4);
    in_ten_thousandths.parse().map(Confidence::from_ten_thousandths).map_err(|_| "is no share of one".into())
}

/// Arguments that mean nothing together.
pub(crate) fn usage<T>(why: String, hint: &'static str) -> Result<T, CliError> {
    Err(CliError::Usage { why, hint })
}

impl GraphArgs {
    /// How to look at a flow.
    pub(crate) fn view(&self, level: Level, usual_group: GroupBy, now: Timestamp) -> View {
        View {
            level,
            group_by: self.group_by.unwrap_or(usual_group),
            filter: Filter {
                agents: self.agent.clone(),
                kinds: self.kind.clone(),
                tools: self.tool.clone(),
                began: self.began(now),
                status: self.status,
                edges: self.edge.clone(),
                min_confidence: self.min_confidence,
            },
            sequential: self.sequential,
            full: self.full,
            ..View::default()
        }
    }

    /// When steps that are asked for began; "ago" is judged by `now`.
    fn began(&self, now: Timestamp) -> Period {
        let after = self.after.map(|moment| moment.after(now)).unwrap_or_default();
        after.and(self.before.map(|moment| moment.before(now)).unwrap_or_default())
    }

    /// Whether there is an agent for each that is asked for.
    pub(crate) fn check_agents(&self, loaded: &Loaded) -> Result<(), CliError> {
        self.agent.iter().try_for_each(|agent| loaded.check_agent(agent))
    }

    /// The query that chooses steps.
    pub(crate) fn query(&self) -> Result<Option<Query>, CliError> {
        let parse = |text: &String| Query::parse(text).map_err(|error| refused(text, &error));
        self.wanted.as_ref().map(parse).transpose()
    }

    /// The first option that was used and says nothing about a pattern, whose edges are not those of the flow.
    pub(crate) fn given_beside_filters(&self) -> Option<&'static str> {
        let used = [
            ("--level", self.level.is_some()),
            ("--group-by", self.group_by.is_some()),
            ("--edge", !self.edge.is_empty()),
            ("--min-confidence", self.min_confidence.is_some()),
            ("--sequential", self.sequential),
        ];
        used.into_iter().find(|(_, used)| *used).map(|(name, _)| name)
    }

    /// The first option that was used.
    pub(crate) fn given(&self) -> Option<&'static str> {
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
            ("--where", self.wanted.is_some()),
        ];
        used.into_iter().find(|(_, used)| *used).map(|(name, _)| name)
    }

    /// Whether any step can be left at all.
    pub(crate) fn check_nodes(&self, level: Level, now: Timestamp) -> Result<(), CliError> {
        if self.began(now).is_empty() {
            return usage(
                "nothing begins later than `--after` and earlier than `--before`".into(),
                "exchange the two",
            );
        }
        let lacks = |kind: StepKind| !self.kind.is_empty() && !self.kind.contains(&kind);
        if level == Level::ModelCall && (!self.tool.is_empty() || lacks(StepKind::ModelCall)) {
            return usage(
                "at level model-call only model calls are nodes, and these are left out".into(),
                "use `--level step` to choose tools and kinds",
            );
        }
        if !self.tool.is_empty() && lacks(StepKind::ToolCall) {
            return usage(
                "`--tool` keeps only tool calls, and `--kind` leaves them out".into(),
                "leave one of the two out, or add `--kind tool_call`",
            );
        }
        Ok(())
    }
}

/// Calls back with whether each step of a session is one for which a query holds.
fn with_wanted<T>(
    loaded: &Loaded,
    flow: &Flow,
    asked: Option<&Asked<'_>>,
    draw: impl FnOnce(&dyn Fn(usize) -> bool) -> T,
) -> T {
    match asked.map(|asked| asked.select(flow)) {
        Some((selected, answers)) => {
            note_unread(loaded, answers.unread_records);
            draw(&|step| selected.has(step))
        }
        None => draw(&|_| true),
    }
}

/// A session's graph with the steps for which a query holds.
pub(crate) fn chosen_graph(loaded: &Loaded, flow: &Flow, view: &View, asked: Option<&Asked<'_>>) -> Graph {
    let (batch, prices) = (&loaded.corpus.batch, &loaded.prices);
    let graph = with_wanted(loaded, flow, asked, |wanted| graph(flow, batch, prices, view, wanted));
    if let Some(limit) = graph.tally.limit_reached {
        note(&format!(
            "max_contraction_visits: {limit} edges through steps that are not drawn were followed and then no more; \
             some may be missing"
        ));
    }
    graph
}

/// The pattern of the steps of a session for which a query holds.
pub(crate) fn chosen_pattern(
    loaded: &Loaded,
    flow: &Flow,
    view: &View,
    grouping: Grouping,
    asked: Option<&Asked<'_>>,
) -> Pattern {
    let (batch, prices) = (&loaded.corpus.batch, &loaded.prices);
    let found =
        with_wanted(loaded, flow, asked, |wanted| pattern(flow, batch, prices, view, grouping, wanted));
    let left_out = found.tally.transitions_left_out;
    if left_out > 0 {
        note(&format!(
            "max_transitions: {left_out} transitions between steps that ran side by side were not counted"
        ));
    }
    found
}

/// A part of one as typed.
pub(crate) fn share(text: &str) -> Result<f64, String> {
    let share = text.parse::<f64>().ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| "write a number from 0 to 1".into())
}
