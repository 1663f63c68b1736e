//! A session's graph with everything in its place, and what chooses its parts.

use crate::asked::{Asked, Param, Sort, bad, word};
use crate::call::{Call, Neighbours, Seen};
use crate::error::ApiError;
use crate::parts;
use crate::questions::parse;
use crate::reply::Reply;
use crate::windows::ids;
use http::StatusCode;
use unspool_model::{Confidence, EdgeKind, Flow, StepKind};
use unspool_view::export::graph_json::Of;
use unspool_view::export::{join, name_lanes};
use unspool_view::graph::{
    Filter, Graph, GroupBy, Level, Pattern, StatusFilter, View, from_process, graph, pattern,
};
use unspool_view::layout::{Direction, Options, Routing};
use unspool_view::query::{Moment, Period, Scope, select};
use unspool_view::screen::{InsteadOfDoc, MAX_GRAPH_NODES, PlacedGraphDoc, placed_graph};
use unspool_view::search::look;
use unspool_view::workflow::{Grouping, Processes};

/// What is drawn.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Drawn {
    Dag,
    Workflow,
    Process,
    /// No graph, but runs can be chosen.
    Runs,
    /// No graph.
    Nothing,
}

impl Drawn {
    const ALL: [Drawn; 3] = [Drawn::Dag, Drawn::Workflow, Drawn::Process];

    fn name(self) -> &'static str {
        match self {
            Drawn::Dag => "dag",
            Drawn::Workflow => "workflow",
            Drawn::Process => "process",
            Drawn::Runs => "runs",
            Drawn::Nothing => "nothing",
        }
    }
}

pub(crate) const GRAPH: &[Param] = &[
    Param::new(
        "view",
        Sort::Text,
        "dag (what led to what; the usual), workflow (steps of one name are one node) or process (what runs have in common)",
    ),
    Param::new("level", Sort::Text, "what a node is: step (the usual), model-call, agent or run"),
    Param::new("group_by", Sort::Text, "what the boxes around nodes are: agent (the usual), run or nothing"),
    Param::new("agent", Sort::Texts, "only agents whose type, name or id contains this"),
    Param::new("kind", Sort::Texts, "only steps of this kind"),
    Param::new("tool", Sort::Texts, "only calls of this tool"),
    Param::new("after", Sort::Text, "only what began later: a moment, a day, or 2h for two hours ago"),
    Param::new("before", Sort::Text, "only what began earlier"),
    Param::new("status", Sort::Text, "only steps that ended so: error, ok or pending"),
    Param::new("edge", Sort::Texts, "only edges of this kind"),
    Param::new("min_confidence", Sort::Share, "only edges believed at least this much, from 0 to 1"),
    Param::new(
        "sequential",
        Sort::Flag,
        "guess that conversations that follow each other closely belong together",
    ),
    Param::new("full", Sort::Flag, "system and hook steps and injected messages, too"),
    Param::new("open", Sort::Texts, "at level=agent, id of an agent whose steps are nodes of their own"),
    Param::new("shut", Sort::Texts, "at a finer level, id of an agent that is one node with all it started"),
    Param::new("where", Sort::Text, "only steps for which a query holds"),
    Param::new("run", Sort::Texts, "only steps of this run: its number from 1, or its id"),
    Param::new(
        "project",
        Sort::Flag,
        "a process: of all sessions of the same working directory, the newest `max_process_sessions` (50)",
    ),
    Param::new(
        "min_share",
        Sort::Share,
        "of a process, what at least this share of its runs have, from 0 to 1",
    ),
    Param::new("direction", Sort::Text, "where edges lead: down (the usual) or right"),
    Param::new("routing", Sort::Text, "how edges run: spline (the usual) or orthogonal"),
    Param::new(
        "all_steps",
        Sort::Flag,
        "ids of all steps of a node, also beyond the first `max_node_steps` (1,000)",
    ),
    Param::new(
        "fit",
        Sort::Flag,
        "the next coarser level that has nodes, and no more than `max_graph_nodes` (20,000), instead of a refusal",
    ),
];

const STATUSES: [(StatusFilter, &str); 3] =
    [(StatusFilter::Error, "error"), (StatusFilter::Ok, "ok"), (StatusFilter::Pending, "pending")];
const GROUPS: [(GroupBy, &str); 3] =
    [(GroupBy::Agent, "agent"), (GroupBy::Run, "run"), (GroupBy::Nothing, "nothing")];
const DIRECTIONS: [(Direction, &str); 2] = [(Direction::Down, "down"), (Direction::Right, "right")];
const ROUTINGS: [(Routing, &str); 2] = [(Routing::Spline, "spline"), (Routing::Orthogonal, "orthogonal")];

/// What says something about a graph of the flow only, not about a pattern.
const OF_FLOW: [&str; 7] = ["level", "group_by", "edge", "min_confidence", "sequential", "open", "shut"];
/// What chooses steps.
const OF_STEPS: [&str; 8] = ["agent", "kind", "tool", "after", "before", "status", "full", "where"];
/// What chooses runs.
const OF_RUNS: [&str; 1] = ["run"];
/// Sessions that a process is made of, at most: `max_process_sessions`.
const MAX_PROCESS_SESSIONS: usize = 50;

/// Refuses to choose parts of what has no such parts.
pub(crate) fn check_chosen(asked: &Asked, what: Drawn) -> Result<(), ApiError> {
    let refused: &[&[&str]] = match what {
        Drawn::Dag => &[],
        Drawn::Workflow => &[&OF_FLOW],
        Drawn::Runs => &[&OF_FLOW, &OF_STEPS],
        Drawn::Process | Drawn::Nothing => &[&OF_FLOW, &OF_STEPS, &OF_RUNS],
    };
    let mut refused = refused.iter().copied().flatten().filter(|name| asked.text(name).is_some());
    match refused.next() {
        None => Ok(()),
        Some(name) => {
            let message = format!("`{name}` says nothing about what is asked for here");
            Err(ApiError::bad_request("bad_parameter", message).with_hint("leave it out, or ask for a graph"))
        }
    }
}

pub(crate) fn placed(seen: &Seen, call: &Call) -> Result<Reply, ApiError> {
    let asked = &call.asked;
    let (flow, batch) = (&*seen.snapshot.flow, &seen.snapshot.corpus.batch);
    let usual = Options::default();
    let options = Options {
        direction: word(asked, "direction", &DIRECTIONS)?.unwrap_or_default(),
        routing: word(asked, "routing", &ROUTINGS)?.unwrap_or_default(),
        ..usual
    };
    let drawn = asked.one_of("view", &Drawn::ALL, Drawn::name)?.unwrap_or(Drawn::Dag);
    check_chosen(asked, drawn)?;
    let mut view = view(seen, asked, GroupBy::Agent)?;
    let mut graph = match drawn {
        Drawn::Workflow => pattern_of(seen, asked, &view, Grouping::Path)?.graph(flow, batch),
        Drawn::Process => process(seen, asked)?,
        Drawn::Dag | Drawn::Runs | Drawn::Nothing => chosen(seen, asked, &view)?,
    };
    let mut instead_of = None;
    if drawn == Drawn::Dag && asked.flag("fit")? {
        loop {
            // A coarser level may show nothing of steps that there are, as model calls do of spans without any; that is no answer.
            let is_empty = instead_of.is_some() && graph.nodes.is_empty();
            let Some(coarser) =
                coarser(view.level).filter(|_| is_empty || graph.nodes.len() > MAX_GRAPH_NODES)
            else {
                break;
            };
            let left = InsteadOfDoc { level: view.level.name(), nodes: graph.nodes.len() };
            instead_of.get_or_insert(left);
            (view.level, view.open) = (coarser, Vec::new());
            graph = chosen(seen, asked, &view)?;
        }
    }
    if graph.nodes.len() > MAX_GRAPH_NODES {
        let message = format!(
            "the graph has {} nodes, over the limit `max_graph_nodes` ({MAX_GRAPH_NODES})",
            graph.nodes.len()
        );
        return Err(ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, "too_many_nodes", message).with_hint(
            "ask for level=agent, for view=workflow, or for fewer steps by `agent`, `tool` or `where`",
        ));
    }
    let (flow, of) = match drawn {
        Drawn::Workflow => (flow, Of::Workflow),
        Drawn::Process => (&Flow::default(), Of::Process),
        Drawn::Dag | Drawn::Runs | Drawn::Nothing => (flow, Of::Flow(view.level)),
    };
    let key = format!("{} {asked:?}", seen.snapshot.flow.session.id.show('x'));
    let before = seen.layouts.get(&key);
    let (doc, layout) = placed_graph(flow, batch, &graph, of, &options, before.as_deref());
    seen.layouts.put(key, layout);
    let doc = if asked.flag("all_steps")? { doc } else { doc.with_first_steps() };
    Ok(Reply::json(PlacedGraphDoc { instead_of, ..doc }))
}

/// The next coarser level.
fn coarser(level: Level) -> Option<Level> {
    Level::ALL.into_iter().skip_while(|one| *one != level).nth(1)
}

/// How to look at a flow, as asked for.
pub(crate) fn view(seen: &Seen, asked: &Asked, usual_group: GroupBy) -> Result<View, ApiError> {
    asked.all("agent").try_for_each(|part| parts::some_agent_has(seen, part))?;
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
            began: began(seen, asked)?,
            status: word(asked, "status", &STATUSES)?,
            edges: asked.some_of("edge", &EdgeKind::ALL, EdgeKind::name)?,
            min_confidence: min_confidence.transpose()?,
        },
        sequential: asked.flag("sequential")?,
        full: asked.flag("full")?,
        open: ids(asked, "open")?,
        shut: ids(asked, "shut")?,
    })
}

/// When steps that are asked for began.
fn began(seen: &Seen, asked: &Asked) -> Result<Period, ApiError> {
    let now = seen.now();
    let moment = |name: &str| {
        let read = |text: &str| {
            Moment::parse(text).ok_or_else(|| bad(name, text, "like 2026-01-18T19:55:26Z, or 2h"))
        };
        asked.text(name).map(read).transpose()
    };
    let after = moment("after")?.map(|moment| moment.after(now)).unwrap_or_default();
    let began = after.and(moment("before")?.map(|moment| moment.before(now)).unwrap_or_default());
    if began.is_empty() {
        let error = ApiError::bad_request(
            "bad_parameter",
            "nothing begins later than `after` and earlier than `before`",
        );
        return Err(error.with_hint("exchange the two"));
    }
    Ok(began)
}

/// Calls back with whether each step is one for which the query holds.
fn with_wanted<T>(
    seen: &Seen,
    asked: &Asked,
    draw: impl FnOnce(&dyn Fn(usize) -> bool) -> T,
) -> Result<T, ApiError> {
    let (flow, batch) = (&seen.snapshot.flow, &seen.snapshot.corpus.batch);
    let runs: Vec<usize> = asked.all("run").map(|run| parts::run(seen, run)).collect::<Result<_, _>>()?;
    let in_runs = |step: usize| runs.is_empty() || runs.contains(&(flow.steps[step].run as usize));
    let Some(text) = asked.text("where") else { return Ok(draw(&in_runs)) };
    let query = parse("where", text)?;
    let answers = look(&query, flow, batch, &mut seen.snapshot.natives());
    let scope = Scope { flow, batch, prices: &seen.prices, now: seen.now() };
    let selected = select(&query, &scope, &answers.selections());
    Ok(draw(&|step| selected.has(step) && in_runs(step)))
}

/// A session's graph with the steps that were chosen.
pub(crate) fn chosen(seen: &Seen, asked: &Asked, view: &View) -> Result<Graph, ApiError> {
    let (flow, batch) = (&seen.snapshot.flow, &seen.snapshot.corpus.batch);
    let prices = &seen.prices;
    let mut graph = with_wanted(seen, asked, |wanted| graph(flow, batch, prices, view, wanted))?;
    if view.group_by == GroupBy::Run {
        name_lanes(flow, &mut graph);
    }
    Ok(graph)
}

/// The pattern of the steps that were chosen.
pub(crate) fn pattern_of(
    seen: &Seen,
    asked: &Asked,
    view: &View,
    grouping: Grouping,
) -> Result<Pattern, ApiError> {
    let (flow, batch) = (&seen.snapshot.flow, &seen.snapshot.corpus.batch);
    let prices = &seen.prices;
    with_wanted(seen, asked, |wanted| pattern(flow, batch, prices, view, grouping, wanted))
}

/// The processes behind the runs of a session, drawn as one.
pub(crate) fn process(seen: &Seen, asked: &Asked) -> Result<Graph, ApiError> {
    let share = |text: &str| {
        let share = text.parse::<f64>().ok().filter(|share| (0.0..=1.0).contains(share));
        share.ok_or_else(|| bad("min_share", text, "a number from 0 to 1"))
    };
    let least = asked.text("min_share").map(share).transpose()?.unwrap_or(0.0);
    let gathered = processes(seen, asked)?;
    let told = gathered.told();
    let drawn = gathered.processes.finish().into_iter().map(|(kind, process)| {
        let title = kind.title();
        let graph = from_process(&title, &process, least);
        (title, graph)
    });
    let mut graph = join(drawn.collect(), "processes");
    graph.title = [graph.title, told].join("").trim().to_string();
    Ok(graph)
}

/// The processes behind the runs of some sessions.
pub(crate) struct Gathered {
    pub(crate) processes: Processes,
    sessions: usize,
    left_out: u64,
}

impl Gathered {
    /// Of how many sessions, when it is more than the one that was asked about.
    fn told(&self) -> String {
        match (self.sessions, self.left_out) {
            (1, 0) => String::new(),
            (sessions, 0) => format!(" of {sessions} sessions"),
            (sessions, more) => {
                format!(" of {sessions} sessions; {more} older ones left out (`max_process_sessions`)")
            }
        }
    }
}

/// The processes behind the runs of a session, or of all sessions of its working directory.
pub(crate) fn processes(seen: &Seen, asked: &Asked) -> Result<Gathered, ApiError> {
    let mut processes = Processes::default();
    let mut sessions = 1;
    let is_project = asked.flag("project")?;
    let (own, prices) = (&seen.snapshot, &seen.prices);
    processes.add(&own.flow, &own.corpus.batch, prices);
    let Some(cwd) = own.flow.session.cwd.some().filter(|_| is_project) else {
        return Ok(Gathered { processes, sessions, left_out: 0 });
    };
    let cwd = own.corpus.batch.text.get(cwd);
    let Neighbours { others, left_out } = seen.sessions.of_project(cwd, MAX_PROCESS_SESSIONS)?;
    for other in others.iter().filter(|other| other.flow.session.id != own.flow.session.id) {
        processes.add(&other.flow, &other.corpus.batch, prices);
        sessions += 1;
    }
    Ok(Gathered { processes, sessions, left_out })
}
