//! The growing log of each session that is emitted: where it ends, and what has begun in it.
//!
//! In: events of a session. Out: lines at the end of its log, or a refusal when they end what nobody began. What is not remembered is looked up in what
//! is kept, so that forgetting costs time and nothing else.

use super::fields::Fields;
use super::remembered::held;
use crate::app::App;
use crate::error::ApiError;
use axum::http::StatusCode;
use std::collections::BTreeSet;
use unspool_engine::encoded;
use unspool_engine::live::{Arrival, Part, Refused, sent_in_parts, source};
use unspool_model::{Id, Key, KeyKind, Role};
use unspool_store::{Filter, GroundError, Question};

/// Where they come from, in receipts and for retention.
const SOURCE: &str = source::THOUGHTFLOW;

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
pub(super) struct Ledger {
    path: String,
    end: u64,
    /// The session is known, from here or from elsewhere.
    is_known: bool,
    /// Hashes of the keys of its runs and steps; none when there are more than `max_session_ids`.
    known: Option<BTreeSet<u64>>,
}

/// Writes events to the end of their session's log, and says how many of them end what nobody began.
pub(super) fn write(app: &App, session: &str, events: Vec<Fields>, must: &Must) -> Result<usize, ApiError> {
    let mut bytes = Vec::new();
    let mut told = Vec::new();
    for event in events {
        told.push(Told::of(session, &event));
        bytes.extend_from_slice(event.line().as_bytes());
    }
    let limit = app.engine.options().max_pending_bytes;
    if app.engine.health().pending_bytes + bytes.len() as u64 > limit {
        return Err(Refused::Busy { limit }.into());
    }
    let slot = app.ledgers.of(session, &app.limits);
    let mut slot = held(&slot);
    let written = append(app, session, &mut slot, bytes, &told, must);
    let ids = slot.as_ref().and_then(|ledger| ledger.known.as_ref()).map_or(0, BTreeSet::len);
    app.ledgers.weigh(session, ids);
    written
}

fn append(
    app: &App,
    session: &str,
    slot: &mut Option<Ledger>,
    bytes: Vec<u8>,
    told: &[Told],
    must: &Must,
) -> Result<usize, ApiError> {
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
    let mut unknown = 0;
    for told in told {
        match ledger.learn(told, app.limits.session_ids) {
            Some(was_known) if told.needs_begin => unknown += usize::from(!was_known),
            None if told.needs_begin => app.ledgers.pass(),
            _ => {}
        }
    }
    *slot = Some(ledger);
    Ok(unknown)
}

/// What an event speaks of.
struct Told {
    run: Option<u64>,
    step: Option<u64>,
    /// It is no beginning and does not say what it is about, so that something must have begun before.
    needs_begin: bool,
}

impl Told {
    fn of(session: &str, event: &Fields) -> Told {
        let run = ["run_id", "conversation_id"].map(|name| event.text(name));
        let run = run.into_iter().find(|run| !run.is_empty());
        let step = Some(event.text("step_id")).filter(|step| !step.is_empty());
        let kind = event.text("type");
        let is_begin = kind.ends_with(".created") || kind.ends_with(".started");
        Told {
            run: run.as_deref().map(|run| run_key(session, run)),
            step: step.as_deref().map(|step| step_key(session, run.as_deref().unwrap_or_default(), step)),
            needs_begin: !is_begin && (step.is_some() || run.is_some()) && event.text("label").is_empty(),
        }
    }
}

impl Ledger {
    fn check(&self, session: &str, must: &Must) -> Result<(), ApiError> {
        let (is_known, what, message) = match must {
            Must::Nothing => return Ok(()),
            Must::KnowSession => (self.is_known, "unknown_session", format!("no session `{session}` began")),
            Must::KnowRun(run) => {
                let is_known = self.knows(run_key(session, run));
                (is_known, "unknown_run", format!("no run `{run}` began in session `{session}`"))
            }
            Must::KnowStep(run, step) => {
                let is_known = self.knows(step_key(session, run, step));
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

    /// Where nobody can say, it counts as known.
    fn knows(&self, key: u64) -> bool {
        self.known.as_ref().is_none_or(|known| known.contains(&key))
    }

    /// Remembers what an event speaks of. Whether that was known before; nobody can say when it is too much to be remembered.
    fn learn(&mut self, told: &Told, most: usize) -> Option<bool> {
        let known = self.known.as_mut()?;
        let was_known = told.step.or(told.run).is_none_or(|key| known.contains(&key));
        known.extend(told.run.iter().chain(&told.step));
        self.known.take_if(|known| known.len() > most);
        Some(was_known)
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
    read(app, session).map_err(|error| {
        ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "not_kept", error.to_string())
            .with_hint("nothing of it was kept; send it again")
    })
}

fn read(app: &App, session: &str) -> Result<Ledger, GroundError> {
    let name = format!("{}.jsonl", encoded(session));
    let before = format!("{SOURCE}/{name}");
    let path = sent_in_parts(SOURCE, &name);
    let (path, end) = match app.engine.file_end(&before)? {
        0 => (path.clone(), app.engine.file_end(&path)?),
        end => (before, end),
    };
    let (mut is_known, mut known) = (end > 0, BTreeSet::new());
    let is_own = |key: &str| key.strip_prefix(session).is_some_and(|rest| rest.starts_with('/'));
    // It may be known from files, too, and an export of it stands beside it under the same name.
    let filter = Filter { native_id: Some(session.into()), ..Filter::default() };
    let mut question = Question { filter, ..Question::default() };
    loop {
        let page = app.engine.sessions(&question)?;
        for row in page.sessions {
            is_known = true;
            // One that is gone meanwhile has become part of another.
            let Some(snapshot) = app.engine.snapshot(row.id)? else { continue };
            let batch = &snapshot.corpus.batch;
            // What a step depends on need not be there.
            let is_there = |key: &&Key| match key.kind {
                KeyKind::Run => true,
                KeyKind::Step => key.role == Role::Provides,
                _ => false,
            };
            let keys = batch.keys.iter().filter(is_there).map(|key| (key.kind, batch.text.get(key.value)));
            known.extend(keys.filter(|(_, key)| is_own(key)).map(|(kind, key)| hash(kind, key)));
        }
        let is_too_much = known.len() > app.limits.session_ids;
        question.after = page.next.filter(|_| !is_too_much);
        if question.after.is_none() {
            return Ok(Ledger { path, end, is_known, known: (!is_too_much).then_some(known) });
        }
    }
}
