//! What `ThoughtFlow` records themselves say of a session, its runs and steps, as they were written.
//!
//! In: a flow, and the bytes of its records. Out: labels, payloads, dependencies, and fields that only their writer understands. Never here:
//! records of other formats, which have no payloads.

use crate::search::{NativeBytes, witnesses};
use rustc_hash::FxHashMap;
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use unspool_model::{Batch, Event, EventKind, Flow, KeyKind, Outcome, RecordIx, Role, Step, Sym, Timestamp};

/// A log of events, one per line.
const EVENTS: &str = "thoughtflow-events";
/// A file with everything in it; each of its steps is a record.
const CONSOLIDATED: &str = "thoughtflow-json";

/// Fields that stand elsewhere in the document, whatever they are told of: ids, times, and what follows from both.
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
];
/// The same of a session, a run and a step.
const OF_SESSION: &[&str] = &["runs", "conversations"];
const OF_RUN: &[&str] = &["channel", "status", "steps"];
const OF_STEP: &[&str] = &["label", "depends_on", "payload", "payload_started", "payload_completed"];

/// Something exactly as it was written.
pub(super) type Raw = Box<RawValue>;
pub(super) type Fields = BTreeMap<String, Raw>;

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
    pub(super) others: Others,
}

/// What is said of the session itself and of its runs.
#[derive(Default)]
pub(super) struct Told {
    pub(super) started: Timestamp,
    pub(super) ended: Timestamp,
    pub(super) others: Others,
    /// By the key of the run; they are looked up, and nothing is ordered by them.
    pub(super) runs: FxHashMap<Sym, Others>,
}

/// Fields that only their sender understands.
#[derive(Default)]
pub(super) struct Others {
    pub(super) fields: Fields,
    /// The last number behind a name under which something else was said.
    numbers: FxHashMap<String, usize>,
}

/// What the records of steps say, as they were written.
#[derive(Default)]
pub(super) struct Said {
    place_of: FxHashMap<RecordIx, u32>,
    all: Vec<Fields>,
}

impl Said {
    /// Reads each record once, in the order they lie in their streams: to give a stream back may mean to read all of it.
    pub(super) fn of(batch: &Batch, flow: &Flow, natives: &mut dyn NativeBytes) -> Said {
        let mut said = Said::default();
        for (record, _) in witnesses(flow, batch) {
            if is_event(batch, record).is_none() || said.by(record).is_some() {
                continue;
            }
            if let Some(fields) = natives.bytes(record).and_then(fields_of) {
                said.place_of.insert(record, u32::try_from(said.all.len()).unwrap_or(u32::MAX));
                said.all.push(fields);
            }
        }
        said
    }

    fn by(&self, record: RecordIx) -> Option<&Fields> {
        self.all.get(*self.place_of.get(&record)? as usize)
    }
}

/// What is told by ends is heard behind all else, in whichever order it came: only what they say otherwise is theirs.
const ENDS_LAST: [bool; 2] = [false, true];

/// What is said of a step, by the ids it is said under, in the order of the records.
pub(super) fn told_of(batch: &Batch, flow: &Flow, step: &Step, said: &Said) -> Vec<ToldStep> {
    let mut told: Vec<ToldStep> = Vec::new();
    for are_ends in ENDS_LAST {
        for record in flow.witnesses_of(step) {
            let Some(is_event) = is_event(batch, *record) else { continue };
            let Some(fields) = said.by(*record) else { continue };
            let id = text(fields, "step_id");
            let at = told.iter().position(|one| one.id == id).unwrap_or_else(|| {
                told.push(ToldStep { id, ..ToldStep::default() });
                told.len() - 1
            });
            let is_end = is_event && text(fields, "type") == "step.completed";
            if is_end == are_ends {
                told[at].hear(fields.clone(), is_event, is_end);
            }
        }
    }
    told
}

/// What is said of the session and its runs.
pub(super) fn told_of_session(batch: &Batch, flow: &Flow, natives: &mut dyn NativeBytes) -> Told {
    let mut told = Told::default();
    let mut said: Vec<(Option<Sym>, bool, Fields)> = Vec::new();
    for event in &batch.events {
        let is_session = event.kind == EventKind::SessionInfo;
        if !(is_session || event.kind == EventKind::Context) {
            continue;
        }
        let Some(is_event) = is_event(batch, event.record) else { continue };
        // What is there twice was said once.
        if batch.records[event.record as usize].outcome == Outcome::Duplicate {
            continue;
        }
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
        let run = batch.key(event, KeyKind::Run, Role::Provides);
        let kind = text(&fields, "type");
        let is_end = kind == "session.ended" || run.is_some() && !kind.ends_with(".started");
        said.push((run, is_end, fields));
    }
    for are_ends in ENDS_LAST {
        for (run, is_end, fields) in said.iter().filter(|(_, is_end, _)| *is_end == are_ends) {
            match run {
                Some(run) => told.runs.entry(*run).or_default().keep(fields, *is_end, OF_RUN),
                None => told.others.keep(fields, *is_end, OF_SESSION),
            }
        }
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

    fn hear(&mut self, mut fields: Fields, is_event: bool, is_end: bool) {
        self.facts(&fields);
        if is_event {
            self.event(&mut fields, is_end);
        } else {
            self.consolidated(&mut fields);
        }
        self.others.keep(&fields, is_end, OF_STEP);
    }

    /// A line of the log.
    fn event(&mut self, fields: &mut Fields, is_end: bool) {
        let payload = fields.remove("payload");
        let at = moment(fields, "timestamp");
        if is_end {
            self.has_end = true;
            self.ended = self.ended.later(if at.is_some() { at } else { moment(fields, "ended_at") });
            later(&mut self.gave, payload);
        } else {
            self.started = self.started.earlier(if at.is_some() { at } else { moment(fields, "started_at") });
            later(&mut self.given, payload);
        }
    }

    /// A step of a consolidated file.
    fn consolidated(&mut self, fields: &mut Fields) {
        self.started = self.started.earlier(moment(fields, "started_at"));
        self.ended = self.ended.later(moment(fields, "ended_at"));
        self.given = self.given.take().or(fields.remove("payload_started"));
        self.gave = self.gave.take().or(fields.remove("payload_completed"));
        self.has_end |= self.ended.is_some() || self.duration_ms.is_some() || self.gave.is_some();
    }
}

/// Of what is said again the last counts, unless it says nothing.
fn later(known: &mut Option<Raw>, said: Option<Raw>) {
    if known.is_none() || said.as_ref().is_some_and(|said| said.get() != "null") {
        *known = said;
    }
}

impl Others {
    /// Keeps fields that nobody here understands. What is said otherwise under a name that is taken gets another: `NAME_completed` where an end says so,
    /// and numbers from 2 on where that is not enough. Nothing takes the place of anything.
    fn keep(&mut self, fields: &Fields, is_end: bool, known: &[&str]) {
        let is_other = |name: &str| !KNOWN.contains(&name) && !known.contains(&name);
        let others = || fields.iter().filter(|(name, _)| is_other(name));
        // A name that was sent comes before one that is made.
        for (name, raw) in others() {
            self.say(name, raw);
        }
        for (name, raw) in others() {
            if self.say(name, raw) {
                continue;
            }
            let (name, first) = if is_end { (format!("{name}_completed"), 1) } else { (name.clone(), 2) };
            let mut number = self.numbers.get(&name).copied().unwrap_or(first);
            while !self.say(&if number == 1 { name.clone() } else { format!("{name}_{number}") }, raw) {
                number += 1;
            }
            self.numbers.insert(name, number);
        }
    }

    /// Says something under a name; false when something else is said there already.
    fn say(&mut self, name: &str, raw: &Raw) -> bool {
        let known = self.fields.get(name);
        let is_same = known.is_none_or(|known| dense(known.get()).eq(dense(raw.get())));
        if known.is_none() {
            self.fields.insert(name.into(), raw.clone());
        }
        is_same
    }
}

/// JSON without the white space between its parts, which files for people have and logs have not.
fn dense(json: &str) -> impl Iterator<Item = u8> {
    let (mut is_text, mut is_escaped) = (false, false);
    json.bytes().filter(move |byte| {
        is_text ^= *byte == b'"' && !is_escaped;
        is_escaped = *byte == b'\\' && !is_escaped;
        is_text || !byte.is_ascii_whitespace()
    })
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
