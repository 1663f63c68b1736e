//! All endpoints.

use super::endpoint::{Ask, Endpoint};
use super::{
    health, live, oddities, openapi, prometheus, questions, report, runs, search, sessions, subtasks, usage,
};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use std::borrow::Cow;
use std::sync::LazyLock;
use unspool_answers::{Answer, AskSession, SESSION_ENDPOINTS};
use unspool_view::diff::DiffDoc;
use unspool_view::limits::UsageWindowsDoc;
use unspool_view::screen::WordsDoc;

/// Everything that can be asked, in the order people read it.
pub(crate) static ENDPOINTS: LazyLock<Vec<Endpoint>> = LazyLock::new(|| {
    let mut of_session = SESSION_ENDPOINTS.iter().map(about_session);
    let whole = of_session.next();
    BEFORE
        .iter()
        .copied()
        .chain(whole)
        .chain([LINE])
        .chain(of_session)
        .chain(BEHIND.iter().copied())
        .collect()
});

/// What is asked about one session is listed, and answered, without a server, too.
fn about_session(endpoint: &unspool_answers::Endpoint<AskSession>) -> Endpoint {
    let &unspool_answers::Endpoint { path, about, params, answer, example, ask } = endpoint;
    Endpoint { path, about, params, answer, example, ask: Ask::Session(ask) }
}

/// What comes before what is asked about one session.
const BEFORE: &[Endpoint] = &[
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
        path: "/api/v1/facets",
        about: "The values by which sessions can be told apart, with how many sessions have each",
        params: sessions::FILTERS,
        answer: Answer::of::<sessions::FacetsDoc>(),
        example: "?errors=true",
        ask: Ask::All(sessions::facets),
    },
    Endpoint {
        path: "/api/v1/search",
        about: "Sessions in which words stand, with the steps and the words around them",
        params: search::SEARCH,
        answer: Answer::of::<search::SearchDoc>(),
        example: "?q=rounding+%22connection+timeout%22",
        ask: Ask::All(search::search),
    },
];

/// A session in a list; the rest of what is asked about one needs no list.
const LINE: Endpoint = Endpoint {
    path: "/api/v1/sessions/{id}/line",
    about: "A session in one line, as in the list",
    params: &[],
    answer: Answer::of::<sessions::SessionLineDoc>(),
    example: "",
    ask: Ask::Line(sessions::line),
};

/// What follows what is asked about one session.
const BEHIND: &[Endpoint] = &[
    Endpoint {
        path: "/api/v1/sessions/{id}/report",
        about: "A session as one HTML file with this page inside, which needs no server and no network",
        params: report::REPORT,
        answer: Answer::Media("text/html; charset=utf-8"),
        example: "?redact=true",
        ask: Ask::Line(report::report),
    },
    Endpoint {
        path: "/api/v1/query",
        about: "The steps for which a query holds, in one session or the newest",
        params: unspool_answers::QUERY,
        answer: Answer::of::<unspool_answers::QueryAnswerDoc>(),
        example: "?q=is:error",
        ask: Ask::Now(questions::query),
    },
    Endpoint {
        path: "/api/v1/diff",
        about: "What differs between two sessions, runs or agents",
        params: unspool_answers::DIFF,
        answer: Answer::of::<DiffDoc>(),
        example: "?a=ID&b=ID",
        ask: Ask::All(questions::diff),
    },
    Endpoint {
        path: "/api/v1/issues",
        about: "What was odd, in all sessions and in records of none, with samples; what drifted is marked",
        params: oddities::ISSUES,
        answer: Answer::of::<oddities::IssuesDoc>(),
        example: "?source=files",
        ask: Ask::All(oddities::issues),
    },
    Endpoint {
        path: "/api/v1/issues/records/{loose}",
        about: "The bytes of a record that an issue names and no session has",
        params: &[],
        answer: Answer::Media("application/octet-stream"),
        example: "",
        ask: Ask::Now(oddities::record),
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
        path: "/api/v1/usage",
        about: "Tokens by key, window of some hours and model",
        params: usage::USAGE,
        answer: Answer::of::<UsageWindowsDoc>(),
        example: "?hours=5",
        ask: Ask::Now(usage::answer),
    },
    Endpoint {
        path: "/api/v1/proxy/runs/{run}",
        about: "What the proxy carried for a command of `unspool run`",
        params: &[],
        answer: Answer::of::<runs::ProxyRunDoc>(),
        example: "",
        ask: Ask::Now(runs::answer),
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
