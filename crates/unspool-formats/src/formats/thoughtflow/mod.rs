//! The `ThoughtFlow` event log: one JSON object per line, as sessions, runs and steps begin and end.
//!
//! Runs were renamed conversations on the way; both spellings are read. A line names its run but rarely its session, and
//! the end of a step says neither its label nor its begin, so the reader remembers both.

mod payload;
pub(crate) mod step;

pub(crate) use payload::Payload;

use crate::fields::Oddities;
use crate::format::{Descriptor, Format, Framing, Reader, Rejected, Scope, Sniff, rejection, stem};
use crate::json::{Json, RawStr};
use crate::sink::Sink;
use std::borrow::Cow;
use std::collections::BTreeMap;
use step::{Place, Told, ToldRun, moment, needs};
use unspool_model::{Code, EventKind, KeyKind, Role, Timestamp, Witness};

/// The log of events.
pub(crate) struct Events;

static DESCRIPTOR: Descriptor = Descriptor {
    id: "thoughtflow-events",
    title: "ThoughtFlow event log",
    evidence: "The published model and its later spelling with conversations, checked November 2026",
    witness: Witness::Transcript,
    in_order: true,
};

/// How many lines of the head vote on the format.
const SNIFF_LINES: usize = 32;

#[derive(Default)]
struct Fields<'a> {
    kind: Option<RawStr<'a>>,
    session: Option<RawStr<'a>>,
    run: Option<RawStr<'a>>,
    step: Option<RawStr<'a>>,
    label: Option<RawStr<'a>>,
    channel: Option<RawStr<'a>>,
    status: Option<RawStr<'a>>,
    duration_ms: Option<i64>,
    at: Option<&'a [u8]>,
    started: Option<&'a [u8]>,
    ended: Option<&'a [u8]>,
    needs: Option<&'a [u8]>,
    payload: Option<&'a [u8]>,
    oddities: Oddities<'a>,
}

impl Format for Events {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn sniff(&self, _name: &str, head: &[u8]) -> Sniff {
        let lines = head.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
        let (mut all, mut mine) = (0_usize, 0_usize);
        for line in lines.take(SNIFF_LINES) {
            all += 1;
            mine += usize::from(is_event(line));
        }
        let score = if mine == 0 { 0 } else { 50 + u8::try_from(45 * mine / all).unwrap_or(45) };
        Sniff { score, framing: Framing::Lines }
    }

    fn scope(&self, name: &str) -> Scope {
        let session = if name == "-" { "" } else { stem(name) };
        Scope { session: session.into(), ..Scope::default() }
    }

    fn record_type(&self, record: &[u8]) -> String {
        let mut fields = Fields::default();
        let _ = fields.read(&mut Json::new(record));
        fields.kind.map(RawStr::decode).unwrap_or_default().into_owned()
    }

    fn open(&self) -> Box<dyn Reader> {
        Box::new(Log::default())
    }
}

/// Whether a line is an event of the log. It may be cut at its end.
fn is_event(line: &[u8]) -> bool {
    let (mut known, mut ids) = (false, 0);
    let _ = Json::new(line).object(|json, key| {
        match key {
            b"type" => known = json.string()?.is_some_and(|kind| sort_of(kind.raw).is_some()),
            b"session_id" | b"conversation_id" | b"run_id" | b"step_id" => {
                ids += 1;
                json.skip()?;
            }
            _ => json.skip()?,
        }
        Ok(())
    });
    known && ids > 0
}

/// What a line tells of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sort {
    Session,
    RunBegin,
    RunEnd,
    StepBegin,
    StepEnd,
}

fn sort_of(kind: &[u8]) -> Option<Sort> {
    Some(match kind {
        b"session.created" | b"session.started" | b"session.ended" | b"activity.checkpoint" => Sort::Session,
        b"conversation.started" | b"run.started" => Sort::RunBegin,
        b"conversation.completed"
        | b"conversation.aborted"
        | b"conversation.canceled"
        | b"conversation.cancelled"
        | b"conversation.error"
        | b"run.completed"
        | b"run.aborted"
        | b"run.canceled"
        | b"run.cancelled"
        | b"run.error" => Sort::RunEnd,
        b"step.started" => Sort::StepBegin,
        b"step.completed" => Sort::StepEnd,
        _ => return None,
    })
}

impl<'a> Fields<'a> {
    fn read(&mut self, json: &mut Json<'a>) -> Result<(), crate::json::Malformed> {
        json.object(|json, key| {
            let odd = &mut self.oddities;
            match key {
                b"type" => odd.text(json, key, &mut self.kind),
                b"session_id" => odd.text(json, key, &mut self.session),
                b"conversation_id" | b"run_id" => odd.text(json, key, &mut self.run),
                b"step_id" => odd.text(json, key, &mut self.step),
                b"label" => odd.text(json, key, &mut self.label),
                b"channel" => odd.text(json, key, &mut self.channel),
                b"status" => odd.text(json, key, &mut self.status),
                b"duration_ms" => odd.integer(json, key, &mut self.duration_ms),
                b"timestamp" => odd.raw(json, key, &mut self.at),
                b"started_at" => odd.raw(json, key, &mut self.started),
                b"ended_at" => odd.raw(json, key, &mut self.ended),
                b"depends_on" => odd.raw(json, key, &mut self.needs),
                b"payload" => odd.raw(json, key, &mut self.payload),
                _ => json.skip(),
            }
        })
    }
}

/// What the log has said so far.
#[derive(Default)]
struct Log {
    session: String,
    /// Steps that began, by key.
    begun: BTreeMap<String, Begun>,
}

struct Begun {
    label: String,
    call: String,
    started: Timestamp,
}

impl Reader for Log {
    fn read(&mut self, record: &[u8], out: &mut Sink<'_>) -> Result<(), Rejected> {
        let mut fields = Fields::default();
        let mut json = Json::new(record);
        fields.read(&mut json).and_then(|()| json.end()).map_err(|error| rejection(error, record))?;
        fields.oddities.report(out);
        if let Some(session) = fields.session.map(RawStr::decode).filter(|session| !session.is_empty()) {
            self.session = session.into_owned();
        } else if self.session.is_empty() {
            let stream = out.stream();
            self.session = out.text_of(stream.session).to_string();
        }
        out.identity_within(&[&self.session]);
        let kind = fields.kind.map(RawStr::decode).unwrap_or_default();
        let sort = sort_of(kind.as_bytes());
        if sort.is_none() {
            out.issue(Code::UnknownType, &kind);
        }
        self.emit(sort.unwrap_or(Sort::Session), &kind, &fields, out);
        Ok(())
    }
}

impl Log {
    fn emit(&mut self, sort: Sort, kind: &str, fields: &Fields<'_>, out: &mut Sink<'_>) {
        let run = fields.run.map(RawStr::decode).unwrap_or_default();
        let (started, ended) = (moment(fields.started, out), moment(fields.ended, out));
        let at = moment(fields.at, out);
        match sort {
            Sort::Session => {
                let place = Place { session: &self.session, run: "" };
                // Its own moment says more than that of the line.
                let own = if kind == "session.ended" { ended } else { started };
                let at = if own.is_some() { own } else { at.later(started).later(ended) };
                out.begin(EventKind::SessionInfo, at);
                out.key(KeyKind::Session, Role::Refers, place.session).name(kind).end();
            }
            Sort::RunBegin => {
                let told = ToldRun {
                    channel: fields.channel.map(RawStr::decode).unwrap_or_default(),
                    started: if started.is_some() { started } else { at },
                    ..ToldRun::default()
                };
                told.emit(&Place { session: &self.session, run: &run }, out);
            }
            Sort::RunEnd => {
                // The type says how it ended where the status does not.
                let by_type = kind.rsplit('.').next().unwrap_or_default();
                let told = ToldRun {
                    channel: fields.channel.map(RawStr::decode).unwrap_or_default(),
                    status: fields.status.map_or(Cow::Borrowed(by_type), RawStr::decode),
                    ended: if ended.is_some() { ended } else { at },
                    has_end: true,
                    ..ToldRun::default()
                };
                told.emit(&Place { session: &self.session, run: &run }, out);
            }
            Sort::StepBegin => self.step_begin(&run, if at.is_some() { at } else { started }, fields, out),
            Sort::StepEnd => self.step_end(&run, if at.is_some() { at } else { ended }, fields, out),
        }
    }

    fn step_begin(&mut self, run: &str, at: Timestamp, fields: &Fields<'_>, out: &mut Sink<'_>) {
        let place = Place { session: &self.session, run };
        let id = fields.step.map(RawStr::decode).unwrap_or_default();
        let label = fields.label.map(RawStr::decode).unwrap_or_default();
        let given = Payload::read(fields.payload);
        let begun = Begun {
            label: label.to_string(),
            call: given.call().unwrap_or_default().into_owned(),
            started: at,
        };
        self.begun.insert(place.step(&id), begun);
        let told = Told {
            needs: needs(fields.needs, &place, out),
            id,
            label,
            started: at,
            has_begin: true,
            given,
            ..Told::default()
        };
        told.emit(&place, out);
    }

    /// The end of a step may be all that is told of it: that is how errors of tools are logged.
    fn step_end(&mut self, run: &str, at: Timestamp, fields: &Fields<'_>, out: &mut Sink<'_>) {
        let place = Place { session: &self.session, run };
        let id = fields.step.map(RawStr::decode).unwrap_or_default();
        let begun = self.begun.get(&place.step(&id));
        let own = fields.label.map(RawStr::decode).unwrap_or_default();
        // An error that ends a call under the call's own id is the call's.
        let label = match begun {
            Some(begun) if own.is_empty() || !begun.label.is_empty() => Cow::Borrowed(begun.label.as_str()),
            _ => own.clone(),
        };
        let mut gave = Payload::read(fields.payload);
        if own == "tool_error" || matches!(fields.status.map(|status| status.raw), Some(b"error" | b"failed"))
        {
            gave.fail();
        }
        let told = Told {
            needs: needs(fields.needs, &place, out),
            id,
            label,
            started: begun.map(|begun| begun.started).unwrap_or_default(),
            ended: at,
            duration_ms: fields.duration_ms,
            has_begin: begun.is_some(),
            has_end: true,
            call: begun.map(|begun| begun.call.clone()).unwrap_or_default().into(),
            given: Payload::default(),
            gave,
        };
        told.emit(&place, out);
    }
}
