//! A session's graph with everything in its place, and what chooses its parts.

use super::asked::{Asked, Param, Sort, bad};
use super::endpoint::{Call, Seen};
use super::questions::parse;
use super::reply::Reply;
use crate::error::ApiError;
use axum::http::StatusCode;
use unspool_model::{Confidence, EdgeKind, StepKind};
use unspool_view::export::name_lanes;
use unspool_view::graph::{Filter, Graph, GroupBy, Level, StatusFilter, View, from_workflow, graph};
use unspool_view::labels::session_title;
use unspool_view::layout::{Direction, Options, Routing};
use unspool_view::query::{Scope, select};
use unspool_view::screen::{MAX_GRAPH_NODES, placed_graph};
use unspool_view::search::look;
use unspool_view::workflow::{self, Grouping, Workflow, items};

/// What is drawn.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Drawn {
    Dag,
    Workflow,
}

impl Drawn {
    pub(crate) const ALL: [Drawn; 2] = [Drawn::Dag, Drawn::Workflow];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Drawn::Dag => "dag",
            Drawn::Workflow => "workflow",
        }
    }
}

pub(crate) const GRAPH: &[Param] = &[
    Param::new(
        "view",
        Sort::Text,
        "dag (what led to what; the usual) or workflow (steps of one name are one node)",
    ),
    Param::new("level", Sort::Text, "what a node is: step (the usual), model-call, agent or run"),
    Param::new("group_by", Sort::Text, "what the boxes around nodes are: agent (the usual), run or nothing"),
    Param::new("agent", Sort::Texts, "only agents whose type, name or id contains this"),
    Param::new("kind", Sort::Texts, "only steps of this kind"),
    Param::new("tool", Sort::Texts, "only calls of this tool"),
    Param::new("after", Sort::Moment, "only what ended then or later"),
    Param::new("before", Sort::Moment, "only what began then or earlier"),
    Param::new("status", Sort::Text, "only steps that ended so: error, ok or pending"),
    Param::new("edge", Sort::Texts, "only edges of this kind"),
    Param::new("min_confidence", Sort::Share, "only edges believed at least this much, from 0 to 1"),
    Param::new(
        "sequential",
        Sort::Flag,
        "guess that conversations that follow each other closely belong together",
    ),
    Param::new("full", Sort::Flag, "system and hook steps and injected messages, too"),
    Param::new("where", Sort::Text, "only steps for which a query holds"),
    Param::new("direction", Sort::Text, "where edges lead: down (the usual) or right"),
    Param::new("routing", Sort::Text, "how edges run: spline (the usual) or orthogonal"),
];

const STATUSES: [(StatusFilter, &str); 3] =
    [(StatusFilter::Error, "error"), (StatusFilter::Ok, "ok"), (StatusFilter::Pending, "pending")];
const GROUPS: [(GroupBy, &str); 3] =
    [(GroupBy::Agent, "agent"), (GroupBy::Run, "run"), (GroupBy::Nothing, "nothing")];
const DIRECTIONS: [(Direction, &str); 2] = [(Direction::Down, "down"), (Direction::Right, "right")];
const ROUTINGS: [(Routing, &str); 2] = [(Routing::Spline, "spline"), (Routing::Orthogonal, "orthogonal")];

/// One of some words, and what it stands for.
pub(crate) fn word<T: Copy>(
    asked: &Asked,
    name: &str,
    all: &[(T, &'static str)],
) -> Result<Option<T>, ApiError> {
    Ok(asked.one_of(name, all, |(_, word)| word)?.map(|(value, _)| value))
}

pub(crate) fn placed(seen: &Seen, call: &Call) -> Result<Reply, ApiError> {
    let asked = &call.asked;
    let usual = Options::default();
    let options = Options {
        direction: word(asked, "direction", &DIRECTIONS)?.unwrap_or_default(),
        routing: word(asked, "routing", &ROUTINGS)?.unwrap_or_default(),
        ..usual
    };
    let drawn = asked.one_of("view", &Drawn::ALL, Drawn::name)?.unwrap_or(Drawn::Dag);
    let view = view(asked, GroupBy::Agent)?;
    let graph = match drawn {
        Drawn::Dag => chosen(seen, asked, &view)?,
        Drawn::Workflow => pattern(seen),
    };
    if graph.nodes.len() > MAX_GRAPH_NODES {
        let message = format!(
            "the graph has {} nodes, over the limit `max_graph_nodes` ({MAX_GRAPH_NODES})",
            graph.nodes.len()
        );
        return Err(ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, "too_many_nodes", message).with_hint(
            "ask for level=agent, for view=workflow, or for fewer steps by `agent`, `tool` or `where`",
        ));
    }
    let level = (drawn == Drawn::Dag).then(|| view.level.name());
    Ok(Reply::json(placed_graph(&seen.snapshot.flow, &graph, level, &options)))
}

/// How to look at a flow, as asked for.
pub(crate) fn view(asked: &Asked, usual_group: GroupBy) -> Result<View, ApiError> {
    let min_confidence = asked.text("min_confidence").map(|text| {
        let share = text.parse::<f64>().ok().filter(|share| (0.0..=1.0).contains(share));
        let parts = share.and_then(|share| format!("{:.0}", share * 1e4).parse().ok());
        parts
            .map(Confidence::from_ten_thousandths)
            .ok_or_else(|| bad("min_confidence", text, "a number from 0 to 1"))
    });
    Ok(View {
        level: asked.one_of("level", &Level::ALL, Level::name)?.unwrap_or_default(),
        group_by: word(asked, "group_by", &GROUPS)?.unwrap_or(usual_group),
        filter: Filter {
            agents: asked.texts("agent"),
            kinds: asked.some_of("kind", &StepKind::ALL, StepKind::name)?,
            tools: asked.texts("tool"),
            after: asked.moment("after")?,
            before: asked.moment("before")?,
            status: word(asked, "status", &STATUSES)?,
            edges: asked.some_of("edge", &EdgeKind::ALL, EdgeKind::name)?,
            min_confidence: min_confidence.transpose()?,
        },
        sequential: asked.flag("sequential")?,
        full: asked.flag("full")?,
    })
}

/// A session's graph with the steps for which the query holds.
pub(crate) fn chosen(seen: &Seen, asked: &Asked, view: &View) -> Result<Graph, ApiError> {
    let snapshot = &seen.snapshot;
    let (flow, batch) = (&snapshot.flow, &snapshot.corpus.batch);
    let options = seen.app.engine.options();
    let mut graph = match asked.text("where") {
        None => graph(flow, batch, &options.prices, view, &|_| true),
        Some(text) => {
            let query = parse("where", text)?;
            let answers = look(&query, flow, batch, &mut snapshot.natives());
            let scope = Scope { flow, batch, prices: &options.prices, now: (options.now)() };
            let selected = select(&query, &scope, &answers.selections());
            graph(flow, batch, &options.prices, view, &|step| selected.has(step))
        }
    };
    if view.group_by == GroupBy::Run {
        name_lanes(flow, &mut graph);
    }
    Ok(graph)
}

/// The pattern of a session as a graph.
pub(crate) fn pattern(seen: &Seen) -> Graph {
    let (flow, batch) = (&seen.snapshot.flow, &seen.snapshot.corpus.batch);
    from_workflow(&session_title(flow, batch), &workflow_of(seen, Grouping::Path))
}

/// The pattern of a session.
pub(crate) fn workflow_of(seen: &Seen, grouping: Grouping) -> Workflow {
    let (flow, batch) = (&seen.snapshot.flow, &seen.snapshot.corpus.batch);
    let items = items(flow, batch, &seen.app.engine.options().prices, None);
    workflow::workflow(&items, &workflow::Options { grouping, ..workflow::Options::default() })
}
