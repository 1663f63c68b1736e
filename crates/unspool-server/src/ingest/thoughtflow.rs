//! The `ThoughtFlow` emitter: sessions, runs and steps begin and end over HTTP, and are kept as the lines of that format's event log.
//!
//! In: events, or requests that say the same in their paths. Out: lines in one growing log per session, so that its reader knows what began
//! before. When a session ends, its artifacts are written and announced; who asks for them gets them as its flow is then.

use crate::api::{Outcome, blocking, find, known_tags, send, tag_of};
use crate::app::App;
use crate::artifacts::{self, Artifact};
use crate::body;
use crate::error::ApiError;
use crate::notices::Notice;
use axum::Json;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, Uri, header};
use axum::response::Response;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use unspool_answers::Reply;
use unspool_engine::encoded;

mod fields;
mod ledger;
mod remembered;

use fields::Fields;
use ledger::{Must, write};
pub(crate) use remembered::Ledgers;

type Answer = Result<Json<Value>, ApiError>;

/// Events as their log has them, one per line.
pub(crate) async fn events(State(app): State<Arc<App>>, uri: Uri, headers: HeaderMap, body: Body) -> Answer {
    let bytes = body::read(&app, &headers, body).await?;
    let mut logs: BTreeMap<String, Vec<Fields>> = BTreeMap::new();
    let mut session = String::new();
    let mut count = 0_u64;
    for value in serde_json::Deserializer::from_slice(&bytes).into_iter::<Fields>() {
        let event = value.map_err(|error| not_events(&format!("event {}: {error}", count + 1)))?;
        if event.text("type").is_empty() {
            return Err(not_events("an event has no `type`"));
        }
        let named = event.text("session_id");
        if !named.is_empty() {
            session = named;
        }
        if session.is_empty() {
            return Err(not_events("an event has no `session_id`, and none before it has"));
        }
        logs.entry(session.clone()).or_default().push(event);
        count += 1;
    }
    if count == 0 {
        return Err(not_events("there is none"));
    }
    let (mut artifacts, mut unknown) = (Vec::new(), 0);
    for (session, events) in logs {
        let has_ended = events.iter().any(|event| event.text("type") == "session.ended");
        unknown += append(&app, &session, events, Must::Nothing).await?;
        if has_ended {
            artifacts.push(announce(&app, &session, &uri, &headers).await?);
        }
    }
    Ok(Json(json!({"events": count, "unknown": unknown, "artifacts": artifacts})))
}

pub(crate) async fn session_start(State(app): State<Arc<App>>, headers: HeaderMap, body: Body) -> Answer {
    let mut fields = fields(&app, &headers, body).await?;
    let session = id_of(&mut fields, "session_id", "sess")?;
    let event = event("session.created", &[("session_id", &session)], fields);
    append(&app, &session, vec![event], Must::Nothing).await?;
    Ok(Json(json!({"session_id": session})))
}

pub(crate) async fn session_end(
    State(app): State<Arc<App>>,
    Path(session): Path<String>,
    uri: Uri,
    headers: HeaderMap,
    body: Body,
) -> Answer {
    let fields = fields(&app, &headers, body).await?;
    let event = event("session.ended", &[("session_id", &session)], fields);
    append(&app, &session, vec![event], Must::KnowSession).await?;
    announce(&app, &session, &uri, &headers).await.map(Json)
}

pub(crate) async fn run_start(
    State(app): State<Arc<App>>,
    Path(session): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Answer {
    let mut fields = fields(&app, &headers, body).await?;
    let run = id_of(&mut fields, "run_id", "run")?;
    let event = event("run.started", &[("session_id", &session), ("run_id", &run)], fields);
    append(&app, &session, vec![event], Must::Nothing).await?;
    Ok(Json(json!({"session_id": session, "run_id": run})))
}

pub(crate) async fn run_end(
    State(app): State<Arc<App>>,
    Path((session, run)): Path<(String, String)>,
    headers: HeaderMap,
    body: Body,
) -> Answer {
    let fields = fields(&app, &headers, body).await?;
    let event = event("run.completed", &[("session_id", &session), ("run_id", &run)], fields);
    append(&app, &session, vec![event], Must::KnowRun(run.clone())).await?;
    Ok(Json(json!({"session_id": session, "run_id": run})))
}

pub(crate) async fn step_start(
    State(app): State<Arc<App>>,
    Path((session, run)): Path<(String, String)>,
    headers: HeaderMap,
    body: Body,
) -> Answer {
    let mut fields = fields(&app, &headers, body).await?;
    if fields.text("label").is_empty() {
        return Err(ApiError::bad_request("no_label", "a step has no `label`").with_hint(
            "one of user_message, assistant_message, tool_call, tool_output, tool_error, generic",
        ));
    }
    let step = id_of(&mut fields, "step_id", "step")?;
    let ids = [("session_id", session.as_str()), ("run_id", &run), ("step_id", &step)];
    append(&app, &session, vec![event("step.started", &ids, fields)], Must::Nothing).await?;
    Ok(Json(json!({"session_id": session, "run_id": run, "step_id": step})))
}

pub(crate) async fn step_end(
    State(app): State<Arc<App>>,
    Path((session, run, step)): Path<(String, String, String)>,
    headers: HeaderMap,
    body: Body,
) -> Answer {
    let fields = fields(&app, &headers, body).await?;
    let ids = [("session_id", session.as_str()), ("run_id", &run), ("step_id", &step)];
    // One that says what it is may be told by its end alone: errors of tools are.
    let must = match fields.text("label").as_str() {
        "" => Must::KnowStep(run.clone(), step.clone()),
        _ => Must::Nothing,
    };
    append(&app, &session, vec![event("step.completed", &ids, fields)], must).await?;
    Ok(Json(json!({"session_id": session, "run_id": run, "step_id": step})))
}

/// `SESSION.json` or `SESSION.d2`, from the flow as it is now.
pub(crate) async fn artifact(
    State(app): State<Arc<App>>,
    Path(file): Path<String>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let missing = || ApiError::not_found("artifact", &file).with_hint("ask for SESSION.json or SESSION.d2");
    let (session, ending) = file.rsplit_once('.').ok_or_else(missing)?;
    let wanted = Artifact::ALL.into_iter().find(|artifact| artifact.ending() == ending);
    let (session, wanted) = (session.to_string(), wanted.ok_or_else(missing)?);
    let known = known_tags(&headers);
    send(move || {
        let snapshot = find(&app, &session)?;
        let made = || Ok(Reply::ready(wanted.media(), wanted.make(&app.engine, &snapshot)?));
        Outcome::tagged(tag_of(&snapshot), known.as_deref(), made)
    })
    .await
}

/// The fields a request gives; none are given by an empty body.
async fn fields(app: &App, headers: &HeaderMap, body: Body) -> Result<Fields, ApiError> {
    let bytes = body::read(app, headers, body).await?;
    if bytes.trim_ascii().is_empty() {
        return Ok(Fields::default());
    }
    serde_json::from_slice(&bytes).map_err(|error| {
        ApiError::bad_request("not_json", format!("the body is no JSON object: {error}"))
            .with_hint("docs/server.md has the fields of each request")
    })
}

/// The id that was given, or one that is made.
fn id_of(fields: &mut Fields, name: &'static str, prefix: &str) -> Result<String, ApiError> {
    match fields.take(name) {
        Some(Value::String(id)) if !id.is_empty() => Ok(id),
        None | Some(Value::Null) => {
            let mut random = [0_u8; 8];
            let failed = |_| ApiError::bad_request("no_id", "no id could be made").with_hint("send one");
            getrandom::fill(&mut random).map_err(failed)?;
            Ok(format!("{prefix}_{:016x}", u64::from_be_bytes(random)))
        }
        Some(_) => Err(ApiError::bad_request("bad_id", format!("`{name}` is no text"))
            .with_hint("send a text that is not empty, or leave it out")),
    }
}

fn event(kind: &str, ids: &[(&str, &str)], mut fields: Fields) -> Fields {
    for (name, value) in [("type", kind)].iter().chain(ids) {
        fields.set(name, value);
    }
    fields
}

fn not_events(why: &str) -> ApiError {
    ApiError::bad_request("no_event", format!("the body is no log of events: {why}"))
        .with_hint("nothing of it was kept; send JSON objects with `type` and `session_id`, one per line")
}

/// Adds events to a session's log, and says how many end what nobody began. One that names no moment happened now.
async fn append(
    app: &Arc<App>,
    session: &str,
    mut events: Vec<Fields>,
    must: Must,
) -> Result<usize, ApiError> {
    let now = (app.engine.options().now)();
    for event in &mut events {
        if !["timestamp", "started_at", "ended_at"].iter().any(|name| event.has(name)) {
            event.set("timestamp", &now.to_string());
        }
        if !event.has("session_id") {
            event.set("session_id", session);
        }
    }
    let (app, session) = (Arc::clone(app), session.to_string());
    blocking(move || write(&app, &session, events, &must)).await?
}

/// Waits until the session is shown as it ended, writes its artifacts and tells where they are.
async fn announce(app: &Arc<App>, session: &str, uri: &Uri, headers: &HeaderMap) -> Result<Value, ApiError> {
    let (writing, ended) = (Arc::clone(app), session.to_string());
    let write = move || {
        writing.engine.settle();
        let found = find(&writing, &ended);
        let found = found
            .map_err(|error| error.with_hint("its events are kept, and make no session of that name"))?;
        artifacts::write(&writing.engine, &found, &ended)
    };
    blocking(write).await??;
    let said = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    // Over HTTP/2 it stands in the address.
    let host = uri.authority().map(Authority::as_str).or(said).unwrap_or("localhost");
    let url = |ending: &str| format!("http://{host}/thoughtflow/{}.{ending}", encoded(session));
    let data = json!({"session_id": session, "url_json": url("json"), "url_d2": url("d2")});
    let notice = Notice { name: "thoughtflow.artifacts", session: session.into(), data: data.clone() };
    app.notices.tell(notice);
    Ok(data)
}
