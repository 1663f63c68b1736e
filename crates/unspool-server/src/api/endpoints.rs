//! All endpoints.

use super::endpoint::{Answer, Ask, Endpoint};
use super::{
    export, graph, health, live, numbers, oddities, openapi, prometheus, questions, search, sessions, steps,
    subtasks, windows,
};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use std::borrow::Cow;
use unspool_view::diff::DiffDoc;
use unspool_view::explain::Explanation;
use unspool_view::failures::FailuresDoc;
use unspool_view::findings::FindingsDoc;
use unspool_view::flow_json::SessionDoc;
use unspool_view::metrics::MetricsDoc;
use unspool_view::path::{PathDoc, PathStripDoc};
use unspool_view::screen::{ChainDoc, PlacedGraphDoc, StepDetailDoc, TimelineDoc, TreeWindowDoc, WordsDoc};

/// Everything that can be asked, in the order people read it.
pub(crate) static ENDPOINTS: &[Endpoint] = &[
    Endpoint {
        path: "/api/v1/health",
        about: "How it stands: records, steps, what waits",
        params: &[],
        answer: Answer::of::<health::HealthDoc>(),
        example: "",
        ask: Ask::Now(health::health),
    },
    Endpoint {
        path: "/api/v1/sessions",
        about: "A page of sessions",
        params: sessions::LIST,
        answer: Answer::of::<sessions::SessionListDoc>(),
        example: "?sort=cost&limit=20",
        ask: Ask::All(sessions::list),
    },
    Endpoint {
        path: "/api/v1/search",
        about: "Sessions in which words stand, with the steps and the words around them",
        params: search::SEARCH,
        answer: Answer::of::<search::SearchDoc>(),
        example: "?q=rounding+%22connection+timeout%22",
        ask: Ask::All(search::search),
    },
    Endpoint {
        path: "/api/v1/sessions/{id}",
        about: "A session whole, by its id or a native one",
        params: &[],
        answer: Answer::of::<SessionDoc>(),
        example: "",
        ask: Ask::Session(sessions::flow),
    },
    Endpoint {
        path: "/api/v1/sessions/{id}/line",
        about: "A session in one line, as in the list",
        params: &[],
        answer: Answer::of::<sessions::SessionLineDoc>(),
        example: "",
        ask: Ask::Session(sessions::line),
    },
    Endpoint {
        path: "/api/v1/sessions/{id}/tree",
        about: "A window of the rows of a session's tree",
        params: windows::TREE,
        answer: Answer::of::<TreeWindowDoc>(),
        example: "?from=0&to=50&depth=1",
        ask: Ask::Session(windows::tree),
    },
    Endpoint {
        path: "/api/v1/sessions/{id}/graph",
        about: "A session's graph with everything in its place",
        params: graph::GRAPH,
        answer: Answer::of::<PlacedGraphDoc>(),
        example: "?level=agent",
        ask: Ask::Session(graph::placed),
    },
    Endpoint {
        path: "/api/v1/sessions/{id}/timeline",
        about: "A window of a session's timeline, as much as can be told apart at a zoom",
        params: windows::TIMELINE,
        answer: Answer::of::<TimelineDoc>(),
        example: "?px=800",
        ask: Ask::Session(windows::timeline),
    },
    Endpoint {
        path: "/api/v1/sessions/{id}/chain",
        about: "What led to steps or agents and what they led to, along the edges that the graph shows",
        params: windows::CHAIN,
        answer: Answer::of::<ChainDoc>(),
        example: "?of=STEP",
        ask: Ask::Session(windows::chain),
    },
    Endpoint {
        path: "/api/v1/sessions/{id}/steps/{step}",
        about: "One step whole: its records as they were written, what led to it and what it led to, and why",
        params: &[],
        answer: Answer::of::<StepDetailDoc>(),
        example: "",
        ask: Ask::Session(steps::step),
    },
    Endpoint {
        path: "/api/v1/sessions/{id}/records/{record}",
        about: "The bytes of a record, exactly as they came",
        params: &[],
        answer: Answer::Media("application/octet-stream"),
        example: "",
        ask: Ask::Session(steps::record),
    },
    Endpoint {
        path: "/api/v1/sessions/{id}/explain/{thing}",
        about: "Why: a step or agent by any id or the start of one, or an edge as FROM..TO",
        params: &[],
        answer: Answer::of::<Explanation>(),
        example: "",
        ask: Ask::Session(steps::explain),
    },
    Endpoint {
        path: "/api/v1/sessions/{id}/metrics",
        about: "Numbers about a session's graph, steps, agents and runs",
        params: &[],
        answer: Answer::of::<MetricsDoc>(),
        example: "",
        ask: Ask::Session(numbers::metrics),
    },
    Endpoint {
        path: "/api/v1/sessions/{id}/path",
        about: "What held the session up, and how long it would take if something took another time",
        params: numbers::PATH,
        answer: Answer::of::<PathDoc>(),
        example: "?what_if=model=0.5",
        ask: Ask::Session(numbers::path),
    },
    Endpoint {
        path: "/api/v1/sessions/{id}/path/strip",
        about: "What held the session up, in short: its sums, a strip of so many pixels, and which steps are on it",
        params: numbers::STRIP,
        answer: Answer::of::<PathStripDoc>(),
        example: "?px=800",
        ask: Ask::Session(numbers::strip),
    },
    Endpoint {
        path: "/api/v1/sessions/{id}/failures",
        about: "What failed, why, and what that touched",
        params: &[],
        answer: Answer::of::<FailuresDoc>(),
        example: "",
        ask: Ask::Session(numbers::failures),
    },
    Endpoint {
        path: "/api/v1/sessions/{id}/findings",
        about: "What is worth a look",
        params: numbers::FINDINGS,
        answer: Answer::of::<FindingsDoc>(),
        example: "",
        ask: Ask::Session(numbers::findings),
    },
    Endpoint {
        path: "/api/v1/sessions/{id}/templates",
        about: "Prompts that are one text with something filled in",
        params: &[],
        answer: Answer::of::<FindingsDoc>(),
        example: "",
        ask: Ask::Session(numbers::templates),
    },
    Endpoint {
        path: "/api/v1/sessions/{id}/export",
        about: "A session as a file in a format other tools open",
        params: export::EXPORT,
        answer: Answer::Media("*/*"),
        example: "?format=svg&view=timeline",
        ask: Ask::Session(export::export),
    },
    Endpoint {
        path: "/api/v1/query",
        about: "The steps for which a query holds, in one session or the newest",
        params: questions::QUERY,
        answer: Answer::of::<questions::QueryAnswerDoc>(),
        example: "?q=is:error",
        ask: Ask::Now(questions::query),
    },
    Endpoint {
        path: "/api/v1/diff",
        about: "What differs between two sessions, runs or agents",
        params: questions::DIFF,
        answer: Answer::of::<DiffDoc>(),
        example: "?a=ID&b=ID",
        ask: Ask::All(questions::diff),
    },
    Endpoint {
        path: "/api/v1/issues",
        about: "What was odd, over all sessions, with samples; what drifted is marked",
        params: &[],
        answer: Answer::of::<oddities::IssuesDoc>(),
        example: "",
        ask: Ask::All(oddities::issues),
    },
    Endpoint {
        path: "/api/v1/receipts",
        about: "What became of the records of each source: seen, stored, duplicate, rejected",
        params: &[],
        answer: Answer::of::<oddities::ReceiptsDoc>(),
        example: "",
        ask: Ask::Now(oddities::receipts),
    },
    Endpoint {
        path: "/api/v1/links",
        about: "What people said about links",
        params: &[],
        answer: Answer::of::<oddities::LinksDoc>(),
        example: "",
        ask: Ask::Now(oddities::links),
    },
    Endpoint {
        path: "/api/v1/live",
        about: "Changes as server-sent events: `ready`, `change`, and `reset` when some were missed",
        params: live::LIVE,
        answer: Answer::Media("text/event-stream"),
        example: "?session=ID",
        ask: Ask::Live,
    },
    Endpoint {
        path: "/api/v1/schema",
        about: "The words documents use, with their meanings, looks and colours",
        params: &[],
        answer: Answer::of::<WordsDoc>(),
        example: "",
        ask: Ask::Now(openapi::words),
    },
    Endpoint {
        path: "/api/requests/{id}/subtasks",
        about: "Sub-tasks of a request, by its id, or the conversations of a session",
        params: &[],
        answer: Answer::of::<SubTasksAnswer>(),
        example: "",
        ask: Ask::All(subtasks::subtasks),
    },
    Endpoint {
        path: "/metrics",
        about: "How it stands, for Prometheus",
        params: &[],
        answer: Answer::Media(prometheus::MEDIA),
        example: "",
        ask: Ask::Now(prometheus::metrics),
    },
    Endpoint {
        path: "/api/v1/openapi.json",
        about: "This list for programs, as OpenAPI 3.1",
        params: &[],
        answer: Answer::Media("application/json"),
        example: "",
        ask: Ask::Now(openapi::openapi),
    },
    Endpoint {
        path: "/api/v1/docs",
        about: "This list for people",
        params: &[],
        answer: Answer::Media("text/html; charset=utf-8"),
        example: "",
        ask: Ask::Now(openapi::page),
    },
];

/// One request, or all conversations of a session.
struct SubTasksAnswer;

impl JsonSchema for SubTasksAnswer {
    fn schema_name() -> Cow<'static, str> {
        "SubTasksAnswer".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        use unspool_view::export::subtasks::{ConversationNode, ConversationsDoc, RequestDoc};
        let request = generator.subschema_for::<RequestDoc>();
        let conversations = generator.subschema_for::<ConversationsDoc<Vec<ConversationNode>>>();
        schemars::json_schema!({ "anyOf": [request, conversations] })
    }
}
