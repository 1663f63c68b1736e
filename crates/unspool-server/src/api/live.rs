//! The live stream: changes of sessions as events, from now on or from a number on.
//!
//! Nothing is buffered for a listener: it takes the next change when it has sent the last one. Who is so slow that changes are no longer
//! kept, or comes back too late, is told to look at the whole again. Whose token is revoked hears nothing more: the stream ends.

use super::blocking;
use super::endpoint::{Endpoint, find};
use super::sessions::SessionLineDoc;
use super::tally::Tally;
use crate::app::App;
use crate::error::ApiError;
use crate::guard::Pass;
use crate::notices::Notice;
use axum::Extension;
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
use unspool_engine::live::{Change, EdgeEnds, Snapshot};
use unspool_model::{Edge, Id};
use unspool_store::{Filter, Question};
use unspool_view::flow_json::{EdgeDoc, StepDoc, edge_doc, step_doc};

/// A change with more steps tells only their ids: `max_change_steps`.
const MAX_CHANGE_STEPS: usize = 1024;
/// A change with more steps does not even tell their ids: `max_change_ids`.
const MAX_CHANGE_IDS: usize = 10_000;
/// Sessions that a listener who missed changes is told of at once: `max_reset_sessions`.
const MAX_RESET_SESSIONS: usize = 100;
/// Events that are made together, and wait for the connection; the next are made when these are on their way.
const EVENTS_AHEAD: usize = 32;
/// A comment is sent when there was nothing for so long, so that nobody takes the silence for the end.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// How often a stream on which nothing is told sees whether its token is still good.
const PASS_INTERVAL: Duration = Duration::from_secs(1);

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
    /// Edges of the kinds that are new or different between two steps, as they are now; empty when there are more than `max_change_edges` (1,024).
    edges: Vec<EdgeDoc>,
    /// Where there are none of a kind any more; empty when there are more than `max_change_edges` (1,024).
    edges_removed: Vec<EdgeEndsDoc>,
    /// How many pairs of steps have edges of a kind that are new, different or no more.
    edge_count: usize,
    /// Ids of agents that are new or different; empty when there are more than `max_change_ids` (10,000).
    agent_ids: Vec<String>,
    /// Ids of agents that are no more; empty when there are more than `max_change_ids` (10,000).
    agents_removed: Vec<String>,
    /// What else is different, of which no more is told: `runs`, `issues`, `links` (what people said about them).
    others: Vec<&'static str>,
    /// More may be different than is told here: look at the session again.
    whole: bool,
}

/// Between which steps there is no edge of a kind any more.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "LiveEdgeEndsDoc")]
pub(crate) struct EdgeEndsDoc {
    /// Step that caused.
    from: String,
    /// Step that followed.
    to: String,
    /// As in an edge.
    kind: &'static str,
}

/// Changes were missed: how things stand now, in their stead.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "LiveResetDoc")]
pub(crate) struct ResetDoc {
    /// The number of the last change; those behind it follow.
    sequence: u64,
    /// The session that is listened to, or those that ended last, at most `max_reset_sessions` (100), as they are now.
    sessions: Vec<SessionLineDoc>,
    /// How many sessions are not told of here: ask for the list.
    left_out: u64,
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
    /// By which token; none where nobody is asked for one.
    pass: Option<Pass>,
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
    get(move |State(app): State<Arc<App>>, pass: Option<Extension<Pass>>, uri: Uri, headers: HeaderMap| {
        let (tally, stopping) = (Arc::clone(&tally), stopping.clone());
        let pass = pass.map(|Extension(pass)| pass);
        async move {
            let opened = match Asked::read(uri.query().unwrap_or_default(), endpoint.params) {
                Ok(asked) => listener(app, pass, asked, headers).await,
                Err(error) => Err(error.into()),
            };
            let response = opened.map_or_else(IntoResponse::into_response, |who| stream(who, stopping));
            tally.add(n, response.status());
            response
        }
    })
}

async fn listener(
    app: Arc<App>,
    pass: Option<Pass>,
    asked: Asked,
    headers: HeaderMap,
) -> Result<Listener, ApiError> {
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
        Ok(Listener { app, pass, session, natives, with_steps, at })
    };
    blocking(work).await?
}

fn stream(listener: Listener, stopping: Stopping) -> Response {
    let (out, events) = mpsc::channel(EVENTS_AHEAD);
    tokio::spawn(async move {
        let Stopping(mut stopped) = stopping;
        let (closed, pass) = (out.clone(), listener.pass.clone());
        // Whatever comes first ends it: the listener, its token, the server, or the engine.
        tokio::select! {
            () = tell(listener, out) => {}
            _ = stopped.wait_for(|stopped| *stopped) => {}
            () = closed.closed() => {}
            () = revoked(pass) => {}
        }
    });
    Sse::new(ReceiverStream::new(events)).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)).into_response()
}

/// Waits until a token is no longer good; for ever where there is none.
async fn revoked(pass: Option<Pass>) {
    let Some(pass) = pass else { return std::future::pending().await };
    while pass.holds().await {
        tokio::time::sleep(PASS_INTERVAL).await;
    }
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
    /// Whether its token is still good. It is asked before anything is told, and not only now and then: what is revoked is worthless at once.
    async fn may_hear(&self) -> bool {
        match &self.pass {
            Some(pass) => pass.holds().await,
            None => true,
        }
    }

    /// Tells what changed since the last time; nothing when nobody listens any more, or may.
    async fn catch_up(&mut self, last: u64, is_first: bool, out: &Out) -> Option<()> {
        let feed = self.app.engine.changes().since(self.at);
        if feed.missed {
            self.at = last;
            return self.reset(out).await;
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
            if !self.may_hear().await {
                return None;
            }
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
                if !self.may_hear().await {
                    return None;
                }
                let event = Event::default().event(notice.name).json_data(&notice.data).ok()?;
                out.send(Ok(event)).await.ok()
            }
            Ok(_) => Some(()),
            Err(RecvError::Lagged(_)) => self.reset(out).await,
            Err(RecvError::Closed) => None,
        }
    }

    /// Tells how things stand, in the stead of everything that was missed.
    async fn reset(&self, out: &Out) -> Option<()> {
        let (app, session, sequence) = (Arc::clone(&self.app), self.session, self.at);
        let document = blocking(move || reset_doc(&app, session, sequence)).await.ok()?;
        if !self.may_hear().await {
            return None;
        }
        send(out, "reset", sequence, &document).await
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

fn reset_doc(app: &App, session: Option<Id>, sequence: u64) -> ResetDoc {
    let mut filter = Filter::default();
    if let Some(session) = session {
        filter.only_among([session].into());
    }
    let sort = unspool_store::Sort::Ended;
    let question =
        Question { filter, sort, descending: true, limit: MAX_RESET_SESSIONS, ..Question::default() };
    // A store that does not answer has said so elsewhere; whoever listens asks for the list and hears of it.
    let page = app.engine.sessions(&question).unwrap_or_default();
    ResetDoc {
        sequence,
        left_out: page.matching.saturating_sub(page.sessions.len() as u64),
        sessions: page.sessions.iter().map(SessionLineDoc::from).collect(),
    }
}

fn change_doc(app: &App, change: &Change, with_steps: bool) -> ChangeDoc {
    let many = change.steps.len();
    let told = if with_steps { told_docs(app, change) } else { Some((Vec::new(), Vec::new())) };
    let is_many = |ids: &[Id]| ids.len() > MAX_CHANGE_IDS;
    let is_cut = with_steps && (many > MAX_CHANGE_STEPS || change.edges.is_cut())
        || [&change.steps, &change.removed, &change.agents, &change.agents_removed]
            .into_iter()
            .any(|ids| is_many(ids))
        || told.is_none();
    let ids = |ids: &[Id], letter: char| {
        if is_many(ids) { Vec::new() } else { ids.iter().map(|id| id.show(letter)).collect() }
    };
    let ends = |ends: &EdgeEnds| EdgeEndsDoc {
        from: ends.from.show('s'),
        to: ends.to.show('s'),
        kind: ends.kind.name(),
    };
    let others =
        [("runs", change.others.runs), ("issues", change.others.issues), ("links", change.others.links)];
    let (steps, edges) = told.unwrap_or_default();
    ChangeDoc {
        sequence: change.sequence,
        at: change.at.to_string(),
        session_id: change.session.show('x'),
        session: change.row.as_deref().map(SessionLineDoc::from),
        steps,
        step_ids: ids(&change.steps, 's'),
        step_count: many,
        removed: ids(&change.removed, 's'),
        edges,
        edges_removed: change.edges.removed.iter().map(ends).collect(),
        edge_count: change.edges.count,
        agent_ids: ids(&change.agents, 'a'),
        agents_removed: ids(&change.agents_removed, 'a'),
        others: others.into_iter().filter(|(_, is)| *is).map(|(name, _)| name).collect(),
        whole: change.whole || is_cut,
    }
}

/// The steps and edges as they are now, in order; nothing when the session cannot be had.
fn told_docs(app: &App, change: &Change) -> Option<(Vec<StepDoc>, Vec<EdgeDoc>)> {
    let with_steps = !change.steps.is_empty() && change.steps.len() <= MAX_CHANGE_STEPS;
    if !with_steps && change.edges.changed.is_empty() {
        return Some((Vec::new(), Vec::new()));
    }
    let snapshot = app.engine.snapshot(change.session).ok()??;
    let (flow, batch) = (&snapshot.flow, &snapshot.corpus.batch);
    let mut steps = Vec::new();
    if with_steps {
        let wanted: BTreeSet<Id> = change.steps.iter().copied().collect();
        let changed = flow.steps.iter().enumerate().filter(|(_, step)| wanted.contains(&step.id));
        steps = changed.map(|(n, _)| step_doc(flow, batch, n)).collect();
    }
    let mut edges = Vec::new();
    if !change.edges.changed.is_empty() {
        let wanted: BTreeSet<EdgeEnds> = change.edges.changed.iter().copied().collect();
        let step = |n: u32| flow.steps.get(n as usize).map(|step| step.id);
        let is_wanted = |edge: &&Edge| {
            let ends = step(edge.from).zip(step(edge.to));
            ends.is_some_and(|(from, to)| wanted.contains(&EdgeEnds { from, to, kind: edge.kind }))
        };
        edges = flow.edges.iter().filter(is_wanted).map(|edge| edge_doc(flow, batch, edge)).collect();
    }
    Some((steps, edges))
}
