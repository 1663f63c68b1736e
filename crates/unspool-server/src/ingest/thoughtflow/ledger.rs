//! The growing log of each session that is emitted: where it ends, and what has begun in it.
//!
//! In: events of a session. Out: lines at the end of its log, or a refusal when they end what nobody began. What is not remembered is looked up in what
//! is kept, so that forgetting costs time and nothing else.

use super::text;
use crate::app::App;
use crate::error::ApiError;
use axum::http::StatusCode;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use unspool_engine::encoded;
use unspool_engine::live::{Arrival, Part, Refused, sent_in_parts};
use unspool_model::{Id, Key, KeyKind, Role};
use unspool_store::{Filter, GroundError, Question};

/// Logs that are remembered; others are looked up.
const REMEMBERED: usize = 4096;
/// Runs and steps of them that are remembered.
const REMEMBERED_IDS: usize = 1 << 20;

/// Where they come from, in receipts and for retention.
const SOURCE: &str = "thoughtflow";

/// What has to be known already for an event to be taken.
pub(super) enum Must {
    Nothing,
    KnowSession,
    /// A run of the session.
    KnowRun(String),
    /// A run, and a step of it.
    KnowStep(String, String),
}

/// A log that is written to.
struct Ledger {
    path: String,
    end: u64,
    /// The session is known, from here or from elsewhere.
    is_known: bool,
    /// Hashes of the keys of its runs and steps.
    known: BTreeSet<u64>,
}

/// The logs that are written to.
#[derive(Default)]
pub(crate) struct Ledgers {
    ledgers: Mutex<BTreeMap<String, Arc<Mutex<Option<Ledger>>>>>,
    ids: AtomicUsize,
}

impl Ledgers {
    fn of(&self, session: &str) -> Arc<Mutex<Option<Ledger>>> {
        let mut ledgers = held(&self.ledgers);
        if ledgers.len() >= REMEMBERED || self.ids.load(Ordering::Relaxed) >= REMEMBERED_IDS {
            ledgers.retain(|_, ledger| Arc::strong_count(ledger) > 1);
            self.ids.store(0, Ordering::Relaxed);
        }
        Arc::clone(ledgers.entry(session.into()).or_default())
    }
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Writes events to the end of their session's log, and says how many of them end what nobody began.
pub(super) fn write(
    app: &App,
    session: &str,
    events: Vec<Map<String, Value>>,
    must: &Must,
) -> Result<usize, ApiError> {
    let mut bytes = Vec::new();
    let mut told = Vec::new();
    for event in events {
        told.push(Told::of(session, &event));
        bytes.extend_from_slice(Value::Object(event).to_string().as_bytes());
        bytes.push(b'\n');
    }
    let limit = app.engine.options().max_pending_bytes;
    if app.engine.health().pending_bytes + bytes.len() as u64 > limit {
        return Err(Refused::Busy { limit }.into());
    }
    let slot = app.ledgers.of(session);
    let mut slot = held(&slot);
    let mut ledger = match slot.take() {
        Some(ledger) => ledger,
        None => looked_up(app, session)?,
    };
    if let Err(refused) = ledger.check(session, must) {
        *slot = Some(ledger);
        return Err(refused);
    }
    let length = bytes.len() as u64;
    let part = Part { path: ledger.path.clone(), offset: ledger.end, bytes, checkpoint: None };
    // When that fails, how far the log goes is looked up the next time.
    app.engine.take(Arrival::Part(part))?;
    ledger.end += length;
    ledger.is_known = true;
    let before = ledger.known.len();
    let unknown = told.into_iter().filter(|told| ledger.learn(told)).count();
    app.ledgers.ids.fetch_add(ledger.known.len() - before, Ordering::Relaxed);
    *slot = Some(ledger);
    Ok(unknown)
}

/// What an event speaks of.
struct Told {
    run: Option<u64>,
    step: Option<u64>,
    /// It ends something, and does not say what that was.
    is_end: bool,
}

impl Told {
    fn of(session: &str, event: &Map<String, Value>) -> Told {
        let run = ["run_id", "conversation_id"].map(|name| text(event, name));
        let run = run.into_iter().find(|run| !run.is_empty());
        let step = Some(text(event, "step_id")).filter(|step| !step.is_empty());
        let kind = text(event, "type");
        let is_begin = kind.ends_with(".created") || kind.ends_with(".started");
        Told {
            run: run.map(|run| run_key(session, run)),
            step: step.map(|step| step_key(session, run.unwrap_or_default(), step)),
            is_end: !is_begin && (step.is_some() || run.is_some()) && text(event, "label").is_empty(),
        }
    }
}

impl Ledger {
    fn check(&self, session: &str, must: &Must) -> Result<(), ApiError> {
        let (is_known, what, message) = match must {
            Must::Nothing => return Ok(()),
            Must::KnowSession => (self.is_known, "unknown_session", format!("no session `{session}` began")),
            Must::KnowRun(run) => {
                let is_known = self.known.contains(&run_key(session, run));
                (is_known, "unknown_run", format!("no run `{run}` began in session `{session}`"))
            }
            Must::KnowStep(run, step) => {
                let is_known = self.known.contains(&step_key(session, run, step));
                let message = format!("no step `{step}` began in run `{run}` of session `{session}`");
                (is_known, "unknown_step", message)
            }
        };
        if is_known {
            return Ok(());
        }
        let hint = match must {
            Must::KnowStep(..) => "nothing was kept; tell first that it began, or with a `label` what it was",
            _ => "nothing was kept; tell first that it began, or send the event to /v1/thoughtflow/events",
        };
        Err(ApiError::new(StatusCode::NOT_FOUND, what, message).with_hint(hint))
    }

    /// Remembers what an event speaks of; true when it ends what nobody began.
    fn learn(&mut self, told: &Told) -> bool {
        let is_known = told.step.or(told.run).is_none_or(|key| self.known.contains(&key));
        self.known.extend(told.run.iter().chain(&told.step));
        told.is_end && !is_known
    }
}

fn run_key(session: &str, run: &str) -> u64 {
    hash(KeyKind::Run, &format!("{session}/{run}"))
}

fn step_key(session: &str, run: &str, step: &str) -> u64 {
    hash(KeyKind::Step, &format!("{session}/{run}/{step}"))
}

fn hash(kind: KeyKind, key: &str) -> u64 {
    let kind: &[u8] = if kind == KeyKind::Run { b"run" } else { b"step" };
    Id::of(&[kind, key.as_bytes()]).low()
}

/// A session's log as it is kept. One that was begun as a file among others goes on there.
fn looked_up(app: &App, session: &str) -> Result<Ledger, ApiError> {
    // What the last process kept may not be derived yet.
    app.engine.settle();
    // Nobody may be refused for what could not be looked up.
    let ledger = read(app, session).map_err(|error| {
        ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "not_kept", error.to_string())
            .with_hint("nothing of it was kept; send it again")
    })?;
    app.ledgers.ids.fetch_add(ledger.known.len(), Ordering::Relaxed);
    Ok(ledger)
}

fn read(app: &App, session: &str) -> Result<Ledger, GroundError> {
    let name = format!("{}.jsonl", encoded(session));
    let before = format!("{SOURCE}/{name}");
    let path = sent_in_parts(SOURCE, &name);
    let (path, end) = match app.engine.file_end(&before)? {
        0 => (path.clone(), app.engine.file_end(&path)?),
        end => (before, end),
    };
    let mut ledger = Ledger { path, end, is_known: end > 0, known: BTreeSet::new() };
    // It may be known from files, too, and an export of it stands beside it under the same name.
    let filter = Filter { native_id: Some(session.into()), ..Filter::default() };
    let mut question = Question { filter, ..Question::default() };
    loop {
        let page = app.engine.sessions(&question)?;
        for row in page.sessions {
            ledger.is_known = true;
            // One that is gone meanwhile has become part of another.
            let Some(snapshot) = app.engine.snapshot(row.id)? else { continue };
            let batch = &snapshot.corpus.batch;
            // What a step depends on need not be there.
            let is_there = |key: &&Key| match key.kind {
                KeyKind::Run => true,
                KeyKind::Step => key.role == Role::Provides,
                _ => false,
            };
            let keys = batch.keys.iter().filter(is_there);
            ledger.known.extend(keys.map(|key| hash(key.kind, batch.text.get(key.value))));
        }
        question.after = page.next;
        if question.after.is_none() {
            return Ok(ledger);
        }
    }
}
