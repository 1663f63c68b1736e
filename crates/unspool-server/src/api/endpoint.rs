//! The way from a request to whoever answers it, and how answers are known again.

use super::reply::{Outcome, send};
use super::tally::Tally;
use crate::app::App;
use crate::error::ApiError;
use axum::extract::{RawPathParams, State};
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::IntoResponse;
use axum::routing::{MethodRouter, get};
use std::ops::Deref;
use std::sync::Arc;
use unspool_answers::{AskSession, Asked, Neighbours, Records, Reply, Seen, Sessions};
use unspool_engine::live::Snapshot;
use unspool_model::Id;
use unspool_store::{Filter, GroundError, Question};
use unspool_view::search::NativeBytes;

/// Something that can be asked.
pub(crate) type Endpoint = unspool_answers::Endpoint<Ask>;

/// Who answers, and how the answer is known again.
#[derive(Clone, Copy)]
pub(crate) enum Ask {
    /// About a session, known by its version.
    Session(AskSession),
    /// The same of what only a list of sessions knows.
    Line(fn(&Snapshot, &Call) -> Result<Reply, ApiError>),
    /// About all sessions, known by the last change, the last that the index of texts knows and the last the server said about itself.
    All(fn(&Call) -> Result<Reply, ApiError>),
    /// About this moment, known by its bytes.
    Now(fn(&Call) -> Result<Reply, ApiError>),
    /// Goes on until somebody ends it.
    Live,
}

/// One request.
pub(crate) struct Call {
    pub(crate) app: Arc<App>,
    pub(crate) tally: Arc<Tally>,
    question: unspool_answers::Call,
}

impl Deref for Call {
    type Target = unspool_answers::Call;

    fn deref(&self) -> &unspool_answers::Call {
        &self.question
    }
}

/// The bytes of a session's records in the log.
struct Logged(Arc<Snapshot>);

impl Records for Logged {
    fn natives(&self) -> Box<dyn NativeBytes + '_> {
        Box::new(self.0.natives())
    }
}

/// The sessions in the store.
struct Stored(Arc<App>);

impl Sessions for Stored {
    fn of_project(&self, cwd: &str, most: usize) -> Result<Neighbours, unspool_answers::ApiError> {
        let engine = &self.0.engine;
        let filter = Filter { cwd: Some(cwd.into()), ..Filter::default() };
        let question = Question { filter, descending: true, limit: most, ..Question::default() };
        let failed = |error: GroundError| ApiError::from(error).0;
        let page = engine.sessions(&question).map_err(|error| failed(error.into()))?;
        let left_out = page.matching.saturating_sub(page.sessions.len() as u64);
        let mut others = Vec::with_capacity(page.sessions.len());
        for row in page.sessions {
            // One that is gone meanwhile has become part of another.
            others.extend(engine.snapshot(row.id).map_err(failed)?.map(|snapshot| told(&snapshot)));
        }
        Ok(Neighbours { others, left_out })
    }
}

fn told(snapshot: &Arc<Snapshot>) -> unspool_answers::Snapshot {
    unspool_answers::Snapshot {
        corpus: Arc::clone(&snapshot.corpus),
        flow: Arc::clone(&snapshot.flow),
        records: Arc::new(Logged(Arc::clone(snapshot))),
    }
}

/// A session, as answers about it are made from.
pub(crate) fn seen(app: &Arc<App>, snapshot: &Arc<Snapshot>) -> Seen {
    let options = app.engine.options();
    Seen {
        snapshot: told(snapshot),
        sessions: Arc::new(Stored(Arc::clone(app))),
        layouts: Arc::clone(&app.layouts),
        prices: Arc::clone(&options.prices),
        now: (options.now)(),
    }
}

/// The way of a request to whoever answers.
pub(crate) fn route(endpoint: &'static Endpoint, n: usize, tally: &Arc<Tally>) -> MethodRouter<Arc<App>> {
    let tally = Arc::clone(tally);
    get(move |State(app): State<Arc<App>>, path: RawPathParams, uri: Uri, headers: HeaderMap| {
        let path = path.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
        let tally = Arc::clone(&tally);
        async move {
            let response = match Asked::read(uri.query().unwrap_or_default(), endpoint.params) {
                Ok(asked) => {
                    let question = unspool_answers::Call { asked, path };
                    let call = Call { app, tally: Arc::clone(&tally), question };
                    let known = known_tags(&headers);
                    send(move || outcome(endpoint, &call, known.as_deref())).await
                }
                Err(error) => Err(error.into()),
            };
            let response = response.unwrap_or_else(IntoResponse::into_response);
            tally.add(n, response.status());
            response
        }
    })
}

fn outcome(endpoint: &Endpoint, call: &Call, known: Option<&str>) -> Result<Outcome, ApiError> {
    // A tag is taken before the answer, so that it is never newer than that.
    let about = |answer: &dyn Fn(&Arc<Snapshot>) -> Result<Reply, ApiError>| {
        let snapshot = find(&call.app, call.part("id"))?;
        // What a query means may depend on the moment, and a project on other sessions.
        if ["where", "project", "after", "before"].iter().any(|name| call.asked.text(name).is_some()) {
            return Ok(Outcome::untagged(answer(&snapshot)?, known));
        }
        Outcome::tagged(tag_of(&snapshot), known, || answer(&snapshot))
    };
    match endpoint.ask {
        Ask::Session(answer) => about(&|snapshot| Ok(answer(&seen(&call.app, snapshot), call)?)),
        Ask::Line(answer) => about(&|snapshot| answer(snapshot, call)),
        Ask::All(answer) => {
            let engine = &call.app.engine;
            let (last, indexed, said) = (engine.changes().last(), engine.indexed(), engine.said());
            let tag = format!("W/\"a{last:x}.{indexed:x}.{said:x}\"");
            Outcome::tagged(tag, known, || answer(call))
        }
        Ask::Now(answer) => Ok(Outcome::untagged(answer(call)?, known)),
        Ask::Live => Err(ApiError::new(StatusCode::NOT_FOUND, "no_such_path", "nothing answers here")),
    }
}

/// What everything that is made of a session is known by.
pub(crate) fn tag_of(snapshot: &Snapshot) -> String {
    format!("W/\"s{:x}\"", snapshot.version)
}

/// The tags that whoever asks has.
pub(crate) fn known_tags(headers: &HeaderMap) -> Option<String> {
    headers.get(header::IF_NONE_MATCH).and_then(|value| value.to_str().ok()).map(String::from)
}

/// The session of that id, or of that native id.
pub(crate) fn find(app: &App, id: &str) -> Result<Arc<Snapshot>, ApiError> {
    let missing = |own: &str| {
        if app.engine.is_lost(id) || app.engine.is_lost(own) {
            let message = format!("the records of session {id} are lost: the record log is damaged");
            return ApiError::new(StatusCode::GONE, "records_lost", message).with_hint(
                "/api/v1/issues?code=log_damaged says what is; `unspool db check` lists everything",
            );
        }
        ApiError::not_found("session", id).with_hint("/api/v1/sessions lists them")
    };
    let known = if let Some(known) = Id::parse(id, 'x') {
        known
    } else {
        let filter = Filter { native_id: Some(id.into()), ..Filter::default() };
        let question = Question { filter, descending: true, limit: 1, ..Question::default() };
        app.engine.sessions(&question)?.sessions.first().map(|row| row.id).ok_or_else(|| missing(id))?
    };
    app.engine.snapshot(known)?.ok_or_else(|| missing(&known.show('x')))
}
