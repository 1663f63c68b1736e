//! Windows of a session: rows of its tree, its timeline by zoom, its runs.

use crate::asked::{Asked, Param, Sort, bad};
use crate::call::{Call, Seen};
use crate::error::ApiError;
use crate::parts;
use crate::reply::Reply;
use unspool_model::Id;
use unspool_view::rows::Filter;
use unspool_view::screen::{
    ChainEnd, RunsAsked, TimelineAsked, TreeAsked, chain as chain_of, range as range_of, runs_window,
    timeline_window, tree_window,
};

/// Rows of a window when nobody says how many.
const USUAL_ROWS: usize = 200;
/// Runs of a window when nobody says how many.
const USUAL_RUNS: usize = 20;
/// Steps of a run when nobody says how many.
const USUAL_RUN_STEPS: usize = 60;
/// Pixels of a timeline when nobody says how many.
const USUAL_PX: u32 = 1_200;

pub(crate) const TREE: &[Param] = &[
    Param::new("from", Sort::Whole, "the first row, from 0"),
    Param::new(
        "to",
        Sort::Whole,
        "behind the last row; 200 rows if not given, `max_tree_rows` (2,000) at most",
    ),
    Param::new("depth", Sort::Whole, "agents are open down to this depth"),
    Param::new("busiest", Sort::Flag, "only sub-agents that did more than 66 % of the work are open"),
    Param::new("open", Sort::Texts, "id of an agent that is open whatever its depth"),
    Param::new("shut", Sort::Texts, "id of an agent that is closed"),
    Param::new("agent", Sort::Text, "only agents whose type, name or id contains this"),
    Param::new("errors", Sort::Flag, "only failed steps and what led to them"),
    Param::new("full", Sort::Flag, "system and hook steps and what the client injected, too"),
    Param::new("find", Sort::Text, "id of a step whose row is looked for"),
];

pub(crate) fn tree(seen: &Seen, call: &Call) -> Result<Reply, ApiError> {
    let asked = &call.asked;
    let from: usize = asked.number("from")?.unwrap_or(0);
    let to = asked.number("to")?.unwrap_or(from.saturating_add(USUAL_ROWS));
    let filter = Filter {
        agent: asked.text("agent").map(String::from),
        depth: asked.number("depth")?,
        busiest: asked.flag("busiest")?,
        errors: asked.flag("errors")?,
        full: asked.flag("full")?,
        open: ids(asked, "open")?,
        shut: ids(asked, "shut")?,
    };
    filter.agent.iter().try_for_each(|part| parts::some_agent_has(seen, part))?;
    let find = asked.text("find").map(|text| id(text, "find", 's')).transpose()?;
    let (flow, batch) = (&seen.snapshot.flow, &seen.snapshot.corpus.batch);
    let window = TreeAsked { filter, window: from..to, find };
    Ok(Reply::json(tree_window(flow, batch, &seen.prices, &window)))
}

/// Ids of agents.
pub(crate) fn ids(asked: &Asked, name: &str) -> Result<Vec<Id>, ApiError> {
    asked.all(name).map(|text| id(text, name, 'a')).collect()
}

fn id(text: &str, name: &str, kind: char) -> Result<Id, ApiError> {
    Id::parse(text, kind).ok_or_else(|| bad(name, text, &format!("an id begins with `{kind}`")))
}

pub(crate) const TIMELINE: &[Param] = &[
    Param::new("from_ns", Sort::Whole, "from when, in nanoseconds since the first moment"),
    Param::new("to_ns", Sort::Whole, "to when, in nanoseconds since the first moment"),
    Param::new(
        "px",
        Sort::Whole,
        "pixels there are for it; 1,200 if not given, `max_timeline_px` (20,000) at most",
    ),
    Param::new("folded", Sort::Flag, "long stretches in which nothing happened take next to no pixels"),
    Param::new("full", Sort::Flag, "what the client asked for itself, too: steps of internal agents"),
];

pub(crate) fn timeline(seen: &Seen, call: &Call) -> Result<Reply, ApiError> {
    let asked = TimelineAsked {
        from_ns: call.asked.number("from_ns")?,
        to_ns: call.asked.number("to_ns")?,
        px: call.asked.number("px")?.unwrap_or(USUAL_PX),
        folded: call.asked.flag("folded")?,
        full: call.asked.flag("full")?,
        running_window_ms: seen.snapshot.corpus.table.running_window_ms,
    };
    in_order(asked.from_ns, asked.to_ns)?;
    Ok(Reply::json(timeline_window(&seen.snapshot.flow, &seen.snapshot.corpus.batch, &asked)))
}

pub(crate) const RANGE: &[Param] = &[
    Param::new(
        "from_ns",
        Sort::Whole,
        "from when, in nanoseconds since the first moment; its begin if not given",
    ),
    Param::new("to_ns", Sort::Whole, "to when, in nanoseconds since the first moment; its end if not given"),
];

pub(crate) fn range(seen: &Seen, call: &Call) -> Result<Reply, ApiError> {
    let from_ns = call.asked.number("from_ns")?.unwrap_or(0);
    let to_ns = call.asked.number("to_ns")?.unwrap_or(i64::MAX);
    in_order(Some(from_ns), Some(to_ns))?;
    let (flow, batch) = (&seen.snapshot.flow, &seen.snapshot.corpus.batch);
    Ok(Reply::json(range_of(flow, batch, &seen.prices, (from_ns, to_ns))))
}

fn in_order(from_ns: Option<i64>, to_ns: Option<i64>) -> Result<(), ApiError> {
    if from_ns.zip(to_ns).is_some_and(|(from, to)| from > to) {
        let error = ApiError::bad_request("bad_parameter", "`from_ns` is behind `to_ns`");
        return Err(error.with_hint("exchange the two"));
    }
    Ok(())
}

pub(crate) const RUNS: &[Param] = &[
    Param::new("from", Sort::Whole, "the first run, from 0"),
    Param::new("to", Sort::Whole, "behind the last run; 20 runs if not given, `max_runs` (100) at most"),
    Param::new("run", Sort::Text, "only this run: its number from 1, or its id"),
    Param::new(
        "steps",
        Sort::Whole,
        "the first so many steps of each; 60 if not given, `max_run_steps` (2,000) at most",
    ),
    Param::new("full", Sort::Flag, "system and hook steps and injected messages, too"),
    Param::new("times", Sort::Flag, "how the time of each was spent, too"),
];

pub(crate) fn runs(seen: &Seen, call: &Call) -> Result<Reply, ApiError> {
    let asked = &call.asked;
    let window = if let Some(run) = asked.text("run") {
        let n = parts::run(seen, run)?;
        n..n + 1
    } else {
        let from: usize = asked.number("from")?.unwrap_or(0);
        from..asked.number("to")?.unwrap_or(from.saturating_add(USUAL_RUNS))
    };
    let asked = RunsAsked {
        window,
        steps: asked.number("steps")?.unwrap_or(USUAL_RUN_STEPS),
        full: asked.flag("full")?,
        times: asked.flag("times")?,
    };
    let (flow, batch) = (&seen.snapshot.flow, &seen.snapshot.corpus.batch);
    Ok(Reply::json(runs_window(flow, batch, &seen.prices, &asked)))
}

/// Things whose chain is asked for at once: `max_chain_ends`.
const MAX_CHAIN_ENDS: usize = 100;

pub(crate) const CHAIN: &[Param] = &[Param::new(
    "of",
    Sort::Texts,
    "id of a step or agent, or STEP..STEP for what led to the first and what the second led to; `max_chain_ends` (100) of them at most",
)];

/// What led to some things and what they led to.
pub(crate) fn chain(seen: &Seen, call: &Call) -> Result<Reply, ApiError> {
    let flow = &seen.snapshot.flow;
    let asked: Vec<&str> = call.asked.all("of").collect();
    if asked.is_empty() {
        let error = ApiError::bad_request("missing_parameter", "`of` is missing");
        return Err(error.with_hint("the id of a step or agent, or STEP..STEP"));
    }
    if asked.len() > MAX_CHAIN_ENDS {
        let message =
            format!("{} things are over the limit `max_chain_ends` ({MAX_CHAIN_ENDS})", asked.len());
        return Err(ApiError::bad_request("bad_parameter", message).with_hint("ask for fewer"));
    }
    let step = |text: &str| {
        let id = id(text, "of", 's')?;
        let found = flow.steps.iter().position(|step| step.id == id);
        found.ok_or_else(|| {
            ApiError::not_found("step", text).with_hint("the tree of the session lists its steps")
        })
    };
    let end = |text: &str| {
        if let Some((from, to)) = text.split_once("..") {
            return Ok(ChainEnd::Edge(step(from)?, step(to)?));
        }
        match Id::parse(text, 'a').and_then(|id| flow.agents.iter().position(|agent| agent.id == id)) {
            Some(agent) => Ok(ChainEnd::Agent(agent)),
            None => step(text).map(ChainEnd::Step),
        }
    };
    let ends = asked.into_iter().map(end).collect::<Result<Vec<ChainEnd>, ApiError>>()?;
    Ok(Reply::json(chain_of(flow, &ends)))
}
