//! What people say about links: what was said, and saying something.
//!
//! In: a verdict about two steps or agents of a session. Out: a record in the log, and what became of it once it is shown. What can be said is
//! worked out from the flow (`unspool_view::screen`); here it is kept and waited for.

use super::blocking;
use super::endpoint::find;
use crate::app::App;
use crate::body;
use crate::error::ApiError;
use axum::Json;
use axum::Router;
use axum::body::Body;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, post};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::{Arc, PoisonError};
use std::time::Duration;
use unspool_engine::live::{Arrival, Snapshot, source};
use unspool_model::{Id, Timestamp, Verdict};
use unspool_view::screen::{self, Refusal, SaidDoc, Wanted};

/// How long an answer waits until what was said is shown. After that it says that it is kept and not shown yet.
const PATIENCE: Duration = Duration::from_secs(5);

/// What somebody wants to say about a link.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LinkWantedDoc {
    /// `confirm`, `deny`, `add`, or `remove` to take back what was said before.
    action: String,
    /// The cause: a step or agent by its id, or the id its source gave it.
    from: String,
    /// The effect; of a spawn, the agent or any step of it.
    to: String,
    /// What relation: a kind of edge, or `spawn`, `return`, `result`, `data`. Where only one can be meant, it can be left out.
    #[serde(default)]
    kind: Option<String>,
    /// Anything worth knowing about it.
    #[serde(default)]
    note: Option<String>,
    /// Who says so.
    #[serde(default)]
    who: Option<String>,
}

/// What was said, once it is kept.
#[derive(Serialize, JsonSchema)]
pub(crate) struct LinkKeptDoc {
    /// The session.
    session_id: String,
    /// It is shown. Otherwise it is on the disk and shown as soon as the session is linked again.
    visible: bool,
    /// What was said, where it is shown.
    link: Option<SaidDoc>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Who {
    who: Option<String>,
}

/// Paths under which something is said.
pub(crate) const SAY: &str = "/api/v1/sessions/{id}/links";
pub(crate) const TAKE_BACK: &str = "/api/v1/sessions/{id}/links/{link}";

pub(crate) fn routes() -> Router<Arc<App>> {
    Router::new().route(SAY, post(say)).route(TAKE_BACK, delete(take_back))
}

async fn say(
    State(app): State<Arc<App>>,
    Path(session): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    let bytes = body::read(&app, &headers, body).await?;
    let wanted: LinkWantedDoc = serde_json::from_slice(&bytes).map_err(|error| {
        ApiError::bad_request("bad_link", format!("the body says nothing about a link: {error}"))
            .with_hint(r#"send {"action": "confirm", "from": STEP, "to": STEP or AGENT, "kind": "spawn"}; docs/links.md has more"#)
    })?;
    let verdict = Verdict::ALL.into_iter().find(|one| one.name() == wanted.action).ok_or_else(|| {
        ApiError::bad_request("unknown_action", format!("there is no action `{}`", wanted.action))
            .with_hint("confirm, deny, add or remove")
    })?;
    blocking(move || {
        keep(&app, &session, |snapshot, now| {
            let wanted = Wanted {
                verdict,
                from: &wanted.from,
                to: &wanted.to,
                kind: wanted.kind.as_deref(),
                who: wanted.who.as_deref().unwrap_or_default(),
                note: wanted.note.as_deref().unwrap_or_default(),
            };
            screen::declare(&snapshot.flow, &snapshot.corpus.batch, &wanted, now).map_err(refused)
        })
    })
    .await?
}

async fn take_back(
    State(app): State<Arc<App>>,
    Path((session, link)): Path<(String, String)>,
    asked: Result<Query<Who>, QueryRejection>,
) -> Result<Response, ApiError> {
    let Query(Who { who }) = asked.map_err(|error| {
        ApiError::bad_request("unknown_parameter", error.body_text()).with_hint("`?who=NAME` is all there is")
    })?;
    let who = who.unwrap_or_default();
    blocking(move || {
        keep(&app, &session, |snapshot, now| {
            let id = Id::parse(&link, 'r').ok_or_else(|| no_such_link(&link))?;
            let line = screen::take_back(&snapshot.flow, &snapshot.corpus.batch, id, &who, now);
            line.map_err(refused)
        })
    })
    .await?
}

fn no_such_link(link: &str) -> ApiError {
    ApiError::not_found("link", link).with_hint("the session's `links` lists what was said, with ids")
}

fn refused(refusal: Refusal) -> ApiError {
    let status = match refusal.code {
        "no_such_end" | "no_such_link" => StatusCode::NOT_FOUND,
        "circle" | "already_said" | "already_there" | "nothing_said" | "ambiguous_end" | "superseded" => {
            StatusCode::CONFLICT
        }
        _ => StatusCode::BAD_REQUEST,
    };
    ApiError::new(status, refusal.code, refusal.message).with_hint(refusal.hint)
}

/// Keeps the record that `line` makes of the session as it is, and waits until it is shown. One at a time, so that what is said later is later.
fn keep(
    app: &App,
    session: &str,
    line: impl FnOnce(&Snapshot, Timestamp) -> Result<String, ApiError>,
) -> Result<Response, ApiError> {
    let _turn = app.saying.lock().unwrap_or_else(PoisonError::into_inner);
    let snapshot = find(app, session)?;
    let before = snapshot.flow.links.len();
    let line = line(&snapshot, (app.engine.options().now)())?;
    let arrival =
        Arrival::Body { source: source::LINKS.into(), name: "links.jsonl".into(), bytes: line.into_bytes() };
    app.engine.take(arrival)?;
    let visible = app.engine.settle_within(PATIENCE);
    let now = find(app, session)?;
    let newest = now.flow.links.last().filter(|_| visible && now.flow.links.len() > before);
    let answer = LinkKeptDoc {
        session_id: now.flow.session.id.show('x'),
        visible: newest.is_some(),
        link: newest.map(|link| screen::said(&now.flow, &now.corpus.batch, link)),
    };
    let status = if answer.visible { StatusCode::OK } else { StatusCode::ACCEPTED };
    Ok((status, Json(answer)).into_response())
}
