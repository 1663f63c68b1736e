//! The live stream: changes of sessions as events, from now on or from a number on.
//!
//! Nothing is buffered for a listener: it takes the next change when it has sent the last one. Who is so slow that changes are no longer
//! kept, or comes back too late, is told to look at the whole again.

use super::blocking;
use super::endpoint::{Endpoint, find};
use super::sessions::SessionLineDoc;
use super::tally::Tally;
use crate::app::App;
use crate::error::ApiError;
use crate::notices::Notice;
use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{mpsc, watch};
use tokio_stream::wrappers::ReceiverStream;
use unspool_answers::{Asked, Param, Sort, bad};
use unspool_engine::live::{Change, Snapshot};
use unspool_model::Id;
use unspool_view::flow_json::{StepDoc, step_doc};

/// A change with more steps tells only their ids: `max_change_steps`.
const MAX_CHANGE_STEPS: usize = 1024;
/// A change with more steps does not even tell their ids: `max_change_ids`.
const MAX_CHANGE_IDS: usize = 10_000;
/// Events that are made together, and wait for the connection; the next are made when these are on their way.
const EVENTS_AHEAD: usize = 32;
/// A comment is sent when there was nothing for so long, so that nobody takes the silence for the end.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Told when the server is about to end: streams end then, too.
#[derive(Clone)]
pub(crate) struct Stopping(pub(crate) watch::Receiver<bool>);

pub(crate) const LIVE: &[Param] = &[
    Param::new("session", Sort::Text, "only this session, with its steps; all sessions if not given"),
    Param::new(
        "steps",
        Sort::Flag,
        "the changed steps, too; they are told for one session, and not for all, if not given",
    ),
    Param::new("since", Sort::Whole, "go on behind this number, as `Last-Event-ID` does"),
];

/// A session became different.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "LiveChangeDoc")]
pub(crate) struct ChangeDoc {
    /// The number of the change; the id of the event.
    sequence: u64,
    /// When it was published.
    at: String,
    /// Which session.
    session_id: String,
    /// What is known of it now; null when it has become part of another.
    session: Option<SessionLineDoc>,
    /// Steps that are new or different, as they are now; empty when there are more than `max_change_steps` (1,024).
    steps: Vec<StepDoc>,
    /// Ids of the same; empty when there are more than `max_change_ids` (10,000).
    step_ids: Vec<String>,
    /// How many steps are new or different.
    step_count: usize,
    /// Ids of steps that are no more; empty when there are more than `max_change_ids` (10,000).
    removed: Vec<String>,
    /// More may be different than is told here: look at the session again.
    whole: bool,
}

/// Where the stream stands.
#[derive(Serialize, JsonSchema)]
pub(crate) struct StandingDoc {
    /// The number of the last change.
    sequence: u64,
}

/// Who listens, and to what.
struct Listener {
    app: Arc<App>,
    session: Option<Id>,
    /// The ids its sources gave the session.
    natives: Vec<String>,
    with_steps: bool,
    /// The last change that was told.
    at: u64,
}

pub(crate) fn route(
    endpoint: &'static Endpoint,
    n: usize,
    tally: &Arc<Tally>,
    stopping: Stopping,
) -> MethodRouter<Arc<App>> {
    let tally = Arc::clone(tally);
    get(move |State(app): State<Arc<App>>, uri: Uri, headers: HeaderMap| {
        let (tally, stopping) = (Arc::clone(&tally), stopping.clone());
        async move {
            let opened = match Asked::read(uri.query().unwrap_or_default(), endpoint.params) {
                Ok(asked) => listener(app, asked, headers).await,
                Err(error) => Err(error.into()),
            };
            let response = opened.map_or_else(IntoResponse::into_response, |who| stream(who, stopping));
            tally.add(n, response.status());
            response
        }
    })
}

async fn listener(app: Arc<App>, asked: Asked, headers: HeaderMap) -> Result<Listener, ApiError> {
    let work = move || {
        let last_event = headers.get("last-event-id").and_then(|value| value.to_str().ok());
        let since = match last_event.filter(|text| !text.is_empty()) {
            Some(text) => Some(text.parse().map_err(|_| bad("Last-Event-ID", text, "the id of an event"))?),
            None => asked.number("since")?,
        };
        let session = asked.text("session").map(|id| find(&app, id)).transpose()?;
        let natives = session.as_ref().map(|snapshot| natives(snapshot)).unwrap_or_default();
        let session = session.map(|snapshot| snapshot.flow.session.id);
        let with_steps = if asked.text("steps").is_some() { asked.flag("steps")? } else { session.is_some() };
        let at = since.unwrap_or_else(|| app.engine.changes().last());
        Ok(Listener { app, session, natives, with_steps, at })
    };
    blocking(work).await?
}

fn stream(listener: Listener, stopping: Stopping) -> Response {
    let (out, events) = mpsc::channel(EVENTS_AHEAD);
    tokio::spawn(async move {
        let Stopping(mut stopped) = stopping;
        let closed = out.clone();
        // Whatever comes first ends it: the listener, the server, or the engine.
        tokio::select! {
            () = tell(listener, out) => {}
            _ = stopped.wait_for(|stopped| *stopped) => {}
            () = closed.closed() => {}
        }
    });
    Sse::new(ReceiverStream::new(events)).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)).into_response()
}

type Out = mpsc::Sender<Result<Event, Infallible>>;

/// Tells changes one by one, and notices as they come, until nobody listens or nothing changes any more.
async fn tell(mut listener: Listener, out: Out) {
    let mut news = listener.app.engine.changes().watch();
    let mut notices = listener.app.notices.listen();
    let mut is_first = true;
    loop {
        let last = *news.borrow_and_update();
        if last == u64::MAX || listener.catch_up(last, std::mem::take(&mut is_first), &out).await.is_none() {
            return;
        }
        tokio::select! {
            changed = news.changed() => if changed.is_err() { return },
            notice = notices.recv() => if listener.notice(notice, &out).await.is_none() { return },
        }
    }
}

impl Listener {
    /// Tells what changed since the last time; nothing when nobody listens any more.
    async fn catch_up(&mut self, last: u64, is_first: bool, out: &Out) -> Option<()> {
        let feed = self.app.engine.changes().since(self.at);
        if feed.missed {
            self.at = last;
            return send(out, "reset", last, &StandingDoc { sequence: last }).await;
        }
        if is_first {
            send(out, "ready", self.at, &StandingDoc { sequence: self.at }).await?;
        }
        let at = feed.changes.last().map_or(self.at, |change| change.sequence);
        let told = |change: &Arc<Change>| self.session.is_none_or(|session| session == change.session);
        let wanted: Vec<Arc<Change>> = feed.changes.into_iter().filter(told).collect();
        for some in wanted.chunks(EVENTS_AHEAD) {
            let (app, with_steps, some) = (Arc::clone(&self.app), self.with_steps, some.to_vec());
            let event = move |change: &Arc<Change>| {
                event("change", change.sequence, &change_doc(&app, change, with_steps))
            };
            let made: Vec<Option<Event>> = blocking(move || some.iter().map(event).collect()).await.ok()?;
            for event in made {
                out.send(Ok(event?)).await.ok()?;
            }
        }
        self.at = at;
        Some(())
    }

    /// Tells a notice under its own name. A notice has no number: who comes back does not hear it again.
    async fn notice(&self, notice: Result<Arc<Notice>, RecvError>, out: &Out) -> Option<()> {
        match notice {
            Ok(notice) if self.session.is_none() || self.natives.contains(&notice.session) => {
                let event = Event::default().event(notice.name).json_data(&notice.data).ok()?;
                out.send(Ok(event)).await.ok()
            }
            Ok(_) => Some(()),
            Err(RecvError::Lagged(_)) => {
                send(out, "reset", self.at, &StandingDoc { sequence: self.at }).await
            }
            Err(RecvError::Closed) => None,
        }
    }
}

fn natives(snapshot: &Snapshot) -> Vec<String> {
    let text = &snapshot.corpus.batch.text;
    snapshot.flow.session.native_ids.iter().map(|id| text.get(*id).to_string()).collect()
}

fn event(name: &str, id: u64, document: &impl Serialize) -> Option<Event> {
    Event::default().event(name).id(id.to_string()).json_data(document).ok()
}

/// Nothing when nobody listens any more.
async fn send(out: &Out, name: &str, id: u64, document: &impl Serialize) -> Option<()> {
    out.send(Ok(event(name, id, document)?)).await.ok()
}

fn change_doc(app: &App, change: &Change, with_steps: bool) -> ChangeDoc {
    let many = change.steps.len();
    let steps =
        if with_steps && many <= MAX_CHANGE_STEPS { step_docs(app, change) } else { Some(Vec::new()) };
    let is_many = |ids: &[Id]| ids.len() > MAX_CHANGE_IDS;
    let is_cut = with_steps && many > MAX_CHANGE_STEPS
        || is_many(&change.steps)
        || is_many(&change.removed)
        || steps.is_none();
    let ids =
        |ids: &[Id]| if is_many(ids) { Vec::new() } else { ids.iter().map(|id| id.show('s')).collect() };
    ChangeDoc {
        sequence: change.sequence,
        at: change.at.to_string(),
        session_id: change.session.show('x'),
        session: change.row.as_deref().map(SessionLineDoc::from),
        steps: steps.unwrap_or_default(),
        step_ids: ids(&change.steps),
        step_count: many,
        removed: ids(&change.removed),
        whole: change.whole || is_cut,
    }
}

/// The steps as they are now, in order; nothing when the session cannot be had.
fn step_docs(app: &App, change: &Change) -> Option<Vec<StepDoc>> {
    if change.steps.is_empty() {
        return Some(Vec::new());
    }
    let snapshot = app.engine.snapshot(change.session).ok()??;
    let wanted: BTreeSet<Id> = change.steps.iter().copied().collect();
    let (flow, batch) = (&snapshot.flow, &snapshot.corpus.batch);
    let changed = flow.steps.iter().enumerate().filter(|(_, step)| wanted.contains(&step.id));
    Some(changed.map(|(n, _)| step_doc(flow, batch, n)).collect())
}
