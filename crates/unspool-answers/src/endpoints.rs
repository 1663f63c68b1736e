//! All that can be asked about one session.

use crate::call::{Answer, AskSession, Call, Endpoint, Seen};
use crate::error::ApiError;
use crate::reply::Reply;
use crate::{export, graph, numbers, steps, windows};
use unspool_view::explain::Explanation;
use unspool_view::failures::FailuresDoc;
use unspool_view::findings::FindingsDoc;
use unspool_view::flow_json::{SessionDoc, session_doc};
use unspool_view::metrics::MetricsDoc;
use unspool_view::path::{PathDoc, PathStripDoc};
use unspool_view::query::{FieldValuesDoc, field_values};
use unspool_view::screen::{
    self, ChainDoc, LinksDoc, NumbersDoc, PlacedGraphDoc, RangeDoc, RunsDoc, StepDetailDoc, TimelineDoc,
    TreeWindowDoc, TroubleDoc,
};

/// Everything that can be asked about a session, in the order people read it.
pub static SESSION_ENDPOINTS: &[Endpoint<AskSession>] = &[
    Endpoint {
        path: "/api/v1/sessions/{id}",
        about: "A session whole, by its id or a native one",
        params: &[],
        answer: Answer::of::<SessionDoc>(),
        example: "",
        ask: flow,
    },
    Endpoint {
        path: "/api/v1/sessions/{id}/tree",
        about: "A window of the rows of a session's tree",
        params: windows::TREE,
        answer: Answer::of::<TreeWindowDoc>(),
        example: "?from=0&to=50&depth=1",
        ask: windows::tree,
    },
    Endpoint {
        path: "/api/v1/sessions/{id}/graph",
        about: "A session's graph with everything in its place",
        params: graph::GRAPH,
        answer: Answer::of::<PlacedGraphDoc>(),
        example: "?level=agent",
        ask: graph::placed,
    },
    Endpoint {
        path: "/api/v1/sessions/{id}/timeline",
        about: "A window of a session's timeline, as much as can be told apart at a zoom",
        params: windows::TIMELINE,
        answer: Answer::of::<TimelineDoc>(),
        example: "?px=800",
        ask: windows::timeline,
    },
    Endpoint {
        path: "/api/v1/sessions/{id}/range",
        about: "Sums over what began in a range of a session's timeline, and a query that finds it",
        params: windows::RANGE,
        answer: Answer::of::<RangeDoc>(),
        example: "?from_ns=0&to_ns=60000000000",
        ask: windows::range,
    },
    Endpoint {
        path: "/api/v1/sessions/{id}/chain",
        about: "What led to steps or agents and what they led to, along the edges that the graph shows",
        params: windows::CHAIN,
        answer: Answer::of::<ChainDoc>(),
        example: "?of=STEP",
        ask: windows::chain,
    },
    Endpoint {
        path: "/api/v1/sessions/{id}/runs",
        about: "A window of a session's runs, each with its steps in rows by agent",
        params: windows::RUNS,
        answer: Answer::of::<RunsDoc>(),
        example: "?from=0&to=20",
        ask: windows::runs,
    },
    Endpoint {
        path: "/api/v1/sessions/{id}/steps/{step}",
        about: "One step whole: its records as they were written, what led to it and what it led to, and why",
        params: &[],
        answer: Answer::of::<StepDetailDoc>(),
        example: "",
        ask: steps::step,
    },
    Endpoint {
        path: "/api/v1/sessions/{id}/records/{record}",
        about: "The bytes of a record, exactly as they came",
        params: steps::RECORD,
        answer: Answer::Media("*/*"),
        example: "",
        ask: steps::record,
    },
    Endpoint {
        path: "/api/v1/sessions/{id}/values",
        about: "The values that fields of a query have in a session, to be offered while somebody types",
        params: &[],
        answer: Answer::of::<FieldValuesDoc>(),
        example: "",
        ask: values,
    },
    Endpoint {
        path: "/api/v1/sessions/{id}/explain/{thing}",
        about: "Why: a step or agent by any id or the start of one, or an edge as FROM..TO",
        params: &[],
        answer: Answer::of::<Explanation>(),
        example: "",
        ask: steps::explain,
    },
    Endpoint {
        path: "/api/v1/sessions/{id}/numbers",
        about: "Sums, tables and growth of contexts that fit on a screen, and what they rest on",
        params: numbers::NUMBERS,
        answer: Answer::of::<NumbersDoc>(),
        example: "?until_ms=60000",
        ask: numbers::numbers,
    },
    Endpoint {
        path: "/api/v1/sessions/{id}/metrics",
        about: "Numbers about a session's graph, steps, agents and runs",
        params: &[],
        answer: Answer::of::<MetricsDoc>(),
        example: "",
        ask: numbers::metrics,
    },
    Endpoint {
        path: "/api/v1/sessions/{id}/path",
        about: "What held the session up, and how long it would take if something took another time",
        params: numbers::PATH,
        answer: Answer::of::<PathDoc>(),
        example: "?what_if=model=0.5",
        ask: numbers::path,
    },
    Endpoint {
        path: "/api/v1/sessions/{id}/path/strip",
        about: "What held the session up, in short: its sums, a strip of so many pixels, and which steps are on it",
        params: numbers::STRIP,
        answer: Answer::of::<PathStripDoc>(),
        example: "?px=800",
        ask: numbers::strip,
    },
    Endpoint {
        path: "/api/v1/sessions/{id}/trouble",
        about: "Which agents failed, at what, why, and who had started them",
        params: &[],
        answer: Answer::of::<TroubleDoc>(),
        example: "",
        ask: trouble,
    },
    Endpoint {
        path: "/api/v1/sessions/{id}/failures",
        about: "What failed, why, and what that touched",
        params: &[],
        answer: Answer::of::<FailuresDoc>(),
        example: "",
        ask: numbers::failures,
    },
    Endpoint {
        path: "/api/v1/sessions/{id}/findings",
        about: "What is worth a look",
        params: numbers::FINDINGS,
        answer: Answer::of::<FindingsDoc>(),
        example: "",
        ask: numbers::findings,
    },
    Endpoint {
        path: "/api/v1/sessions/{id}/templates",
        about: "Prompts that are one text with something filled in",
        params: &[],
        answer: Answer::of::<FindingsDoc>(),
        example: "",
        ask: numbers::templates,
    },
    Endpoint {
        path: "/api/v1/sessions/{id}/export",
        about: "A session as a file in a format other tools open",
        params: export::EXPORT,
        answer: Answer::Media("*/*"),
        example: "?format=svg&view=timeline",
        ask: export::export,
    },
    Endpoint {
        path: "/api/v1/sessions/{id}/links",
        about: "What people said about a session's links",
        params: &[],
        answer: Answer::of::<LinksDoc>(),
        example: "",
        ask: links,
    },
];

fn flow(seen: &Seen, _: &Call) -> Result<Reply, ApiError> {
    let (prices, snapshot) = (seen.prices.clone(), seen.snapshot.clone());
    Ok(Reply::written("application/json", move |out| {
        Ok(serde_json::to_writer(out, &session_doc(&snapshot.flow, &snapshot.corpus.batch, &prices))?)
    }))
}

fn values(seen: &Seen, _: &Call) -> Result<Reply, ApiError> {
    Ok(Reply::json(field_values(&seen.snapshot.flow, &seen.snapshot.corpus.batch)))
}

fn trouble(seen: &Seen, _: &Call) -> Result<Reply, ApiError> {
    Ok(Reply::json(screen::trouble(&seen.snapshot.flow, &seen.snapshot.corpus.batch)))
}

fn links(seen: &Seen, _: &Call) -> Result<Reply, ApiError> {
    Ok(Reply::json(screen::links(&seen.snapshot.flow, &seen.snapshot.corpus.batch)))
}
