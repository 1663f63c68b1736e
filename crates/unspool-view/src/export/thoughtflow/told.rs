//! What `ThoughtFlow` records themselves say of a session, its runs and steps, as they were written.
//!
//! In: a flow, and the bytes of its records. Out: labels, payloads, dependencies, and fields that only their writer understands. Never here:
//! records of other formats, which have no payloads.

use crate::search::{NativeBytes, witnesses};
use rustc_hash::FxHashMap;
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use unspool_model::{Batch, Event, EventKind, Flow, KeyKind, RecordIx, Role, Step, Sym, Timestamp};

/// A log of events, one per line.
const EVENTS: &str = "thoughtflow-events";
/// A file with everything in it; each of its steps is a record.
const CONSOLIDATED: &str = "thoughtflow-json";

/// Fields that stand elsewhere in the document: ids, times, and what follows from both.
const KNOWN: &[&str] = &[
    "type",
    "session_id",
    "run_id",
    "conversation_id",
    "step_id",
    "timestamp",
    "started_at",
    "ended_at",
    "duration_ms",
    "channel",
    "label",
    "depends_on",
    "payload",
    "payload_started",
    "payload_completed",
    "runs",
    "conversations",
    "steps",
];

/// Something exactly as it was written.
pub(super) type Raw = Box<RawValue>;
type Fields = BTreeMap<String, Raw>;

/// What is said of one step under one id. A call and its output may have two.
#[derive(Default)]
pub(super) struct ToldStep {
    pub(super) id: String,
    pub(super) label: String,
    pub(super) needs: Vec<String>,
    pub(super) started: Timestamp,
    pub(super) ended: Timestamp,
    pub(super) duration_ms: Option<i64>,
    pub(super) has_end: bool,
    pub(super) given: Option<Raw>,
    pub(super) gave: Option<Raw>,
    pub(super) others: Fields,
}

/// What is said of the session itself and of its runs.
#[derive(Default)]
pub(super) struct Told {
    pub(super) started: Timestamp,
    pub(super) ended: Timestamp,
    pub(super) others: Fields,
    /// By the key of the run; they are looked up, and nothing is ordered by them.
    pub(super) runs: FxHashMap<Sym, Fields>,
}

/// What the records of steps say, as they were written.
pub(super) struct Said(FxHashMap<RecordIx, Fields>);

impl Said {
    /// Reads each record once, in the order they lie in their streams: to give a stream back may mean to read all of it.
    pub(super) fn of(batch: &Batch, flow: &Flow, natives: &mut dyn NativeBytes) -> Said {
        let mut said: FxHashMap<RecordIx, Fields> = FxHashMap::default();
        for (record, _) in witnesses(flow, batch) {
            if is_event(batch, record).is_none() || said.contains_key(&record) {
                continue;
            }
            if let Some(fields) = natives.bytes(record).and_then(fields_of) {
                said.insert(record, fields);
            }
        }
        Said(said)
    }
}

/// What is said of a step, by the ids it is said under, in the order of the records.
pub(super) fn told_of(batch: &Batch, flow: &Flow, step: &Step, said: &Said) -> Vec<ToldStep> {
    let mut told: Vec<ToldStep> = Vec::new();
    for record in flow.witnesses_of(step) {
        let Some(is_event) = is_event(batch, *record) else { continue };
        let Some(mut fields) = said.0.get(record).cloned() else { continue };
        let id = text(&fields, "step_id");
        let at = told.iter().position(|one| one.id == id).unwrap_or_else(|| {
            told.push(ToldStep { id, ..ToldStep::default() });
            told.len() - 1
        });
        let one = &mut told[at];
        one.facts(&fields);
        if is_event {
            one.event(&mut fields);
        } else {
            one.consolidated(&mut fields);
        }
    }
    told
}

/// What is said of the session and its runs.
pub(super) fn told_of_session(batch: &Batch, flow: &Flow, natives: &mut dyn NativeBytes) -> Told {
    let mut told = Told::default();
    for event in &batch.events {
        let is_session = event.kind == EventKind::SessionInfo;
        if !(is_session || event.kind == EventKind::Context) {
            continue;
        }
        let Some(is_event) = is_event(batch, event.record) else { continue };
        let session = batch.key(event, KeyKind::Session, Role::Refers);
        if session.is_none_or(|session| !flow.session.native_ids.contains(&session)) {
            continue;
        }
        if is_session {
            told.moment(batch, event);
        }
        // What stands before the steps of a run in a consolidated file is no document of its own.
        if !is_event {
            continue;
        }
        let Some(fields) = natives.bytes(event.record).and_then(fields_of) else { continue };
        let into = match batch.key(event, KeyKind::Run, Role::Provides) {
            Some(run) => told.runs.entry(run).or_default(),
            None => &mut told.others,
        };
        keep_others(into, fields, &["status"]);
    }
    told
}

impl Told {
    fn moment(&mut self, batch: &Batch, event: &Event) {
        match batch.text.get(event.name) {
            "session.created" | "session.started" => self.started = self.started.earlier(event.at),
            "session.ended" => self.ended = self.ended.later(event.at),
            _ => {}
        }
    }
}

impl ToldStep {
    /// What begins, ends and consolidated steps all may say.
    fn facts(&mut self, fields: &Fields) {
        let label = text(fields, "label");
        if self.label.is_empty() {
            self.label = label;
        }
        let needs = match value(fields, "depends_on") {
            Value::Array(list) => list,
            one => vec![one],
        };
        for need in needs {
            let need = need.as_str().unwrap_or_default().to_string();
            if !need.is_empty() && !self.needs.contains(&need) {
                self.needs.push(need);
            }
        }
        self.duration_ms = self.duration_ms.or(value(fields, "duration_ms").as_i64());
    }

    /// A line of the log.
    fn event(&mut self, fields: &mut Fields) {
        let payload = fields.remove("payload");
        let at = moment(fields, "timestamp");
        if text(fields, "type") == "step.completed" {
            self.has_end = true;
            self.ended = self.ended.later(if at.is_some() { at } else { moment(fields, "ended_at") });
            later(&mut self.gave, payload);
        } else {
            self.started = self.started.earlier(if at.is_some() { at } else { moment(fields, "started_at") });
            later(&mut self.given, payload);
        }
        keep_others(&mut self.others, std::mem::take(fields), &[]);
    }

    /// A step of a consolidated file.
    fn consolidated(&mut self, fields: &mut Fields) {
        self.started = self.started.earlier(moment(fields, "started_at"));
        self.ended = self.ended.later(moment(fields, "ended_at"));
        self.given = self.given.take().or(fields.remove("payload_started"));
        self.gave = self.gave.take().or(fields.remove("payload_completed"));
        self.has_end |= self.ended.is_some() || self.duration_ms.is_some() || self.gave.is_some();
        keep_others(&mut self.others, std::mem::take(fields), &[]);
    }
}

/// Of what is said again the last counts, unless it says nothing.
fn later(known: &mut Option<Raw>, said: Option<Raw>) {
    if known.is_none() || said.as_ref().is_some_and(|said| said.get() != "null") {
        *known = said;
    }
}

/// Keeps fields that nobody here understands. Where the end says something else than the beginning, both stay.
fn keep_others(into: &mut Fields, fields: Fields, also_known: &[&str]) {
    for (name, raw) in fields {
        if KNOWN.contains(&name.as_str()) || also_known.contains(&name.as_str()) {
            continue;
        }
        match into.get(&name) {
            Some(known) if known.get() != raw.get() => {
                into.insert(format!("{name}_completed"), raw);
            }
            Some(_) => {}
            None => {
                into.insert(name, raw);
            }
        }
    }
}

/// Whether a record is a line of a log; none when it is of another format.
fn is_event(batch: &Batch, record: RecordIx) -> Option<bool> {
    match batch.text.get(batch.stream_of(record).format) {
        EVENTS => Some(true),
        CONSOLIDATED => Some(false),
        _ => None,
    }
}

fn fields_of(bytes: &[u8]) -> Option<Fields> {
    serde_json::from_slice(bytes).ok()
}

fn value(fields: &Fields, name: &str) -> Value {
    fields.get(name).and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default()
}

fn text(fields: &Fields, name: &str) -> String {
    value(fields, name).as_str().unwrap_or_default().to_string()
}

fn moment(fields: &Fields, name: &str) -> Timestamp {
    let said = value(fields, name);
    let written = said.as_str().and_then(Timestamp::parse);
    written.or_else(|| said.as_i64().map(Timestamp::from_ms)).unwrap_or(Timestamp::NONE)
}
