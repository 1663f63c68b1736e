//! Numbers and verdicts about a session, as the commands of the same names write them.

use crate::asked::{Param, Sort, bad};
use crate::call::{Call, Seen};
use crate::error::ApiError;
use crate::parts;
use crate::reply::Reply;
use unspool_view::failures::{FailuresDoc, session_failures_in_full};
use unspool_view::findings::{FINDERS, FindingsDoc, findings as find};
use unspool_view::metrics::{MetricsDoc, metrics as measure};
use unspool_view::path::{Change, PathDoc, Scope, path_strip, session_path};
use unspool_view::screen::{self, MAX_TIMELINE_PX};
use unspool_view::templates::{Gathered, Templates};

pub(crate) fn metrics(seen: &Seen, _: &Call) -> Result<Reply, ApiError> {
    let session = measure(&seen.snapshot.flow, &seen.snapshot.corpus.batch.text);
    Ok(Reply::json(MetricsDoc { schema: "unspool.metrics/1", sessions: vec![session] }))
}

pub(crate) const NUMBERS: &[Param] = &[Param::new(
    "until_ms",
    Sort::Whole,
    "only what had begun so many milliseconds after the first moment; all of it if not given",
)];

/// The numbers that fit on a screen.
pub(crate) fn numbers(seen: &Seen, call: &Call) -> Result<Reply, ApiError> {
    let (flow, batch) = (&seen.snapshot.flow, &seen.snapshot.corpus.batch);
    let until_ms = call.asked.number("until_ms")?;
    Ok(Reply::json(screen::numbers(flow, batch, &seen.prices, until_ms)))
}

pub(crate) fn failures(seen: &Seen, _: &Call) -> Result<Reply, ApiError> {
    let session = session_failures_in_full(&seen.snapshot.flow, &seen.snapshot.corpus.batch.text);
    Ok(Reply::json(FailuresDoc { schema: "unspool.failures/1", sessions: vec![session] }))
}

pub(crate) const FINDINGS: &[Param] = &[Param::new("only", Sort::Texts, "only findings of this sort")];

pub(crate) fn findings(seen: &Seen, call: &Call) -> Result<Reply, ApiError> {
    let codes: Vec<&'static str> = FINDERS.iter().map(|finder| finder.code).collect();
    let only = call.asked.some_of("only", &codes, |code| code)?;
    let prices = &seen.prices;
    let mut session = find(&seen.snapshot.flow, &seen.snapshot.corpus.batch, prices);
    session.findings.retain(|one| only.is_empty() || only.contains(&one.code));
    let Gathered { templates, unmatched } = gathered(seen);
    Ok(Reply::json(FindingsDoc {
        schema: "unspool.findings/1",
        sessions: vec![session],
        templates,
        unmatched_prompts: unmatched,
    }))
}

/// What a session has prompts of, without its findings.
pub(crate) fn templates(seen: &Seen, _: &Call) -> Result<Reply, ApiError> {
    let Gathered { templates, unmatched } = gathered(seen);
    let (schema, sessions) = ("unspool.findings/1", Vec::new());
    Ok(Reply::json(FindingsDoc { schema, sessions, templates, unmatched_prompts: unmatched }))
}

fn gathered(seen: &Seen) -> Gathered {
    let mut templates = Templates::default();
    let prices = &seen.prices;
    templates.add(&seen.snapshot.flow, &seen.snapshot.corpus.batch.text, prices);
    templates.finish()
}

pub(crate) const PATH: &[Param] = &[
    Param::new("run", Sort::Text, "one run: its number from 1, or its id"),
    Param::new("agent", Sort::Text, "one agent with everything it started: its id, type or name"),
    Param::new(
        "what_if",
        Sort::Texts,
        "how long it would take if this took FACTOR times as long: WHAT=FACTOR",
    ),
];

pub(crate) fn path(seen: &Seen, call: &Call) -> Result<Reply, ApiError> {
    let asked = &call.asked;
    let place = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    let scope = match (asked.text("run"), asked.text("agent")) {
        (Some(_), Some(_)) => {
            let error = ApiError::bad_request("bad_parameter", "`run` and `agent` do not go together");
            return Err(error.with_hint("leave one of the two out"));
        }
        (Some(run), None) => Scope::Run(place(parts::run(seen, run)?)),
        (None, Some(agent)) => Scope::Agent(place(parts::agent(seen, agent)?)),
        (None, None) => Scope::Session,
    };
    let change = |text: &str| Change::parse(text).map_err(|why| bad("what_if", text, &why));
    let changes: Vec<Change> = asked.all("what_if").map(change).collect::<Result<_, _>>()?;
    let text = &seen.snapshot.corpus.batch.text;
    let session = session_path(&seen.snapshot.flow, text, scope, &changes);
    let told = session.path.what_if.iter().flat_map(|what_if| &what_if.changes);
    if let Some(useless) = told.into_iter().find(|change| change.touched == 0) {
        return Err(bad(
            "what_if",
            &useless.text,
            "nothing of it is there: name a tool, model or agent that is",
        ));
    }
    Ok(Reply::json(PathDoc { schema: "unspool.path/1", sessions: vec![session] }))
}

/// Pixels of a strip when nobody says how many.
const USUAL_STRIP_PX: u32 = 1_200;

pub(crate) const STRIP: &[Param] = &[Param::new(
    "px",
    Sort::Whole,
    "pixels there are for it; 1,200 if not given, `max_timeline_px` (20,000) at most",
)];

/// The path as a strip, with its sums.
pub(crate) fn strip(seen: &Seen, call: &Call) -> Result<Reply, ApiError> {
    let px = call.asked.number("px")?.unwrap_or(USUAL_STRIP_PX).clamp(1, MAX_TIMELINE_PX);
    Ok(Reply::json(path_strip(&seen.snapshot.flow, &seen.snapshot.corpus.batch.text, px)))
}
