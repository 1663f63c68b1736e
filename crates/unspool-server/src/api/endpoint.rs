//! Endpoints as data: what each is for, what can be asked there, what comes back, and who answers.

use super::asked::{Asked, Param};
use super::reply::{Outcome, Reply, send};
use super::tally::Tally;
use crate::app::App;
use crate::error::ApiError;
use axum::extract::{RawPathParams, State};
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::IntoResponse;
use axum::routing::{MethodRouter, get};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use std::sync::Arc;
use unspool_engine::live::Snapshot;
use unspool_model::Id;
use unspool_model::Timestamp;
use unspool_store::{Filter, Question};

/// Something that can be asked.
pub(crate) struct Endpoint {
    /// With `{name}` for what varies.
    pub(crate) path: &'static str,
    /// In one line.
    pub(crate) about: &'static str,
    pub(crate) params: &'static [Param],
    pub(crate) answer: Answer,
    /// Behind the path of an example; may be empty.
    pub(crate) example: &'static str,
    pub(crate) ask: Ask,
}

/// What comes back.
pub(crate) enum Answer {
    /// A document of that schema.
    Document(fn(&mut SchemaGenerator) -> Schema),
    /// Something of that media type.
    Media(&'static str),
}

impl Answer {
    pub(crate) const fn of<T: JsonSchema>() -> Answer {
        Answer::Document(SchemaGenerator::subschema_for::<T>)
    }
}

/// Who answers, and how the answer is known again.
pub(crate) enum Ask {
    /// About a session, known by its version.
    Session(fn(&Seen, &Call) -> Result<Reply, ApiError>),
    /// About all sessions, known by the last change and the last that the index of texts knows.
    All(fn(&Call) -> Result<Reply, ApiError>),
    /// About this moment; never the same.
    Now(fn(&Call) -> Result<Reply, ApiError>),
    /// Goes on until somebody ends it.
    Live,
}

/// One request.
pub(crate) struct Call {
    pub(crate) app: Arc<App>,
    pub(crate) tally: Arc<Tally>,
    pub(crate) asked: Asked,
    path: Vec<(String, String)>,
}

impl Call {
    /// What stands in the place of `{name}`.
    pub(crate) fn part(&self, name: &str) -> &str {
        self.path.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }
}

/// A session somebody asks about.
pub(crate) struct Seen {
    pub(crate) app: Arc<App>,
    pub(crate) snapshot: Arc<Snapshot>,
}

impl Seen {
    /// The moment it is asked.
    pub(crate) fn now(&self) -> Timestamp {
        (self.app.engine.options().now)()
    }
}

impl Endpoint {
    /// The way of a request to whoever answers.
    pub(crate) fn route(&'static self, n: usize, tally: &Arc<Tally>) -> MethodRouter<Arc<App>> {
        let tally = Arc::clone(tally);
        get(move |State(app): State<Arc<App>>, path: RawPathParams, uri: Uri, headers: HeaderMap| {
            let path = path.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
            let tally = Arc::clone(&tally);
            async move {
                let response = match Asked::read(&uri, self.params) {
                    Ok(asked) => {
                        let call = Call { app, tally: Arc::clone(&tally), asked, path };
                        let known = headers.get(header::IF_NONE_MATCH).and_then(|value| value.to_str().ok());
                        let known = known.map(String::from);
                        send(move || self.outcome(&call, known.as_deref())).await
                    }
                    Err(error) => Err(error),
                };
                let response = response.unwrap_or_else(IntoResponse::into_response);
                tally.add(n, response.status());
                response
            }
        })
    }

    fn outcome(&self, call: &Call, known: Option<&str>) -> Result<Outcome, ApiError> {
        // A tag is taken before the answer, so that it is never newer than that.
        let is_known = |tag: &str| known.is_some_and(|known| has_tag(known, tag));
        match self.ask {
            Ask::Session(answer) => {
                let seen = Seen { app: Arc::clone(&call.app), snapshot: find(&call.app, call.part("id"))? };
                let tag = format!("W/\"s{:x}\"", seen.snapshot.version);
                let reply = if is_known(&tag) { None } else { Some(answer(&seen, call)?) };
                // What a query means may depend on the moment, and a project on other sessions.
                let is_own = ["where", "project"].iter().all(|name| call.asked.text(name).is_none());
                let tag = Some(tag).filter(|_| is_own);
                Ok(Outcome { tag, reply })
            }
            Ask::All(answer) => {
                let engine = &call.app.engine;
                let tag = format!("W/\"a{:x}.{:x}\"", engine.changes().last(), engine.indexed());
                let reply = if is_known(&tag) { None } else { Some(answer(call)?) };
                Ok(Outcome { tag: Some(tag), reply })
            }
            Ask::Now(answer) => Ok(Outcome { tag: None, reply: Some(answer(call)?) }),
            Ask::Live => Err(ApiError::new(StatusCode::NOT_FOUND, "no_such_path", "nothing answers here")),
        }
    }
}

/// Whether a list of tags has one.
fn has_tag(known: &str, tag: &str) -> bool {
    known.split(',').map(str::trim).any(|one| one == "*" || one == tag || one == tag.trim_start_matches("W/"))
}

/// The session of that id, or of that native id.
pub(crate) fn find(app: &App, id: &str) -> Result<Arc<Snapshot>, ApiError> {
    let missing = || ApiError::not_found("session", id).with_hint("/api/v1/sessions lists them");
    let known = if let Some(known) = Id::parse(id, 'x') {
        known
    } else {
        let filter = Filter { native_id: Some(id.into()), ..Filter::default() };
        let question = Question { filter, descending: true, limit: 1, ..Question::default() };
        app.engine.sessions(&question)?.sessions.first().map(|row| row.id).ok_or_else(missing)?
    };
    app.engine.snapshot(known)?.ok_or_else(missing)
}
