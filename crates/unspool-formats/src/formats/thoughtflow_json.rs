//! Consolidated `ThoughtFlow` JSON: a session with its runs (or conversations) and their steps, written at its end.
//!
//! Every step is a record of its own, and so is what stands before a run's steps. A torn file gives every step before
//! the tear.

use super::thoughtflow::Payload;
use super::thoughtflow::step::{Place, Told, ToldRun, moment, needs};
use crate::fields::Oddities;
use crate::format::{Descriptor, Format, Framing, Reader, Rejected, Scope, Sniff, rejection, stem};
use crate::json::{Json, Kind, Malformed, RawStr};
use crate::sink::Sink;
use std::borrow::Cow;
use unspool_model::{Code, EventKind, KeyKind, Role, Witness};

/// The consolidated file.
pub(crate) struct Consolidated;

static DESCRIPTOR: Descriptor = Descriptor {
    id: "thoughtflow-json",
    title: "Consolidated ThoughtFlow JSON",
    evidence: "The published model and its later spelling with conversations, checked November 2026",
    witness: Witness::Transcript,
    in_order: true,
};

impl Format for Consolidated {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn sniff(&self, _name: &str, head: &[u8]) -> Sniff {
        let top = Top::read(&mut Json::new(head));
        let has_session = top.session.is_some();
        let score = match top.runs.first() {
            // The head may end inside the first run.
            Some(runs) if runs_look_right(runs.clone()) => 80 + 10 * u8::from(has_session),
            _ => 0,
        };
        Sniff { score, framing: Framing::Whole }
    }

    fn scope(&self, name: &str) -> Scope {
        let session = if name == "-" { "" } else { stem(name) };
        Scope { session: session.into(), ..Scope::default() }
    }

    fn record_type(&self, record: &[u8]) -> String {
        let mut label = None;
        let _ = Json::new(record).object(|json, key| {
            if key == b"label" {
                label = json.string()?;
                return Ok(());
            }
            json.skip()
        });
        label.map_or_else(|| "run".into(), |label| label.decode().into_owned())
    }

    fn open(&self) -> Box<dyn Reader> {
        Box::new(Consolidated)
    }
}

/// Whether the first run has steps, or an id of its own. An empty list of runs says nothing.
fn runs_look_right(mut runs: Json<'_>) -> bool {
    let mut right = false;
    let _ = runs.array(|json| {
        let run = Run::read(&mut json.clone());
        right |= run.steps.is_some() && run.has_id || run.named;
        json.skip()
    });
    right
}

/// The session's own fields, and where its runs lie.
#[derive(Default)]
struct Top<'a> {
    session: Option<RawStr<'a>>,
    started: Option<&'a [u8]>,
    ended: Option<&'a [u8]>,
    runs: Vec<Json<'a>>,
    oddities: Oddities<'a>,
    torn: Option<Malformed>,
}

impl<'a> Top<'a> {
    fn read(json: &mut Json<'a>) -> Top<'a> {
        let mut top = Top::default();
        let odd = &mut top.oddities;
        let read = json.object(|json, key| match key {
            b"session_id" => odd.text(json, key, &mut top.session),
            b"started_at" => odd.raw(json, key, &mut top.started),
            b"ended_at" => odd.raw(json, key, &mut top.ended),
            b"runs" | b"conversations" if json.kind()? == Kind::Array => {
                top.runs.push(json.clone());
                json.skip()
            }
            b"runs" | b"conversations" => {
                odd.wrong_type(key);
                json.skip()
            }
            _ => json.skip(),
        });
        top.torn = read.and_then(|()| json.end()).err();
        top
    }
}

/// A run's own fields, and where its steps lie.
#[derive(Default)]
struct Run<'a> {
    id: Option<RawStr<'a>>,
    /// The id is spelled as only runs spell theirs.
    named: bool,
    has_id: bool,
    channel: Option<RawStr<'a>>,
    status: Option<RawStr<'a>>,
    started: Option<&'a [u8]>,
    ended: Option<&'a [u8]>,
    steps: Option<Json<'a>>,
    oddities: Oddities<'a>,
    torn: bool,
}

impl<'a> Run<'a> {
    fn read(json: &mut Json<'a>) -> Run<'a> {
        let mut run = Run::default();
        let odd = &mut run.oddities;
        let read = json.object(|json, key| match key {
            b"run_id" | b"conversation_id" => {
                run.named = true;
                odd.text(json, key, &mut run.id)
            }
            // One writer lost the proper name of the field for runs that were still open.
            b"id" if !run.named => odd.text(json, key, &mut run.id),
            b"channel" => odd.text(json, key, &mut run.channel),
            b"status" => odd.text(json, key, &mut run.status),
            b"started_at" => odd.raw(json, key, &mut run.started),
            b"ended_at" => odd.raw(json, key, &mut run.ended),
            b"steps" if json.kind()? == Kind::Array => {
                run.steps = Some(json.clone());
                json.skip()
            }
            b"steps" => {
                odd.wrong_type(key);
                json.skip()
            }
            _ => json.skip(),
        });
        run.torn = read.is_err();
        run.has_id = run.id.is_some();
        run
    }
}

impl Reader for Consolidated {
    fn read(&mut self, frame: &[u8], out: &mut Sink<'_>) -> Result<(), Rejected> {
        let top = Top::read(&mut Json::new(frame));
        if let (Some(error), true) = (top.torn, top.runs.is_empty()) {
            return Err(rejection(error, frame));
        }
        let session = match top.session.map(RawStr::decode).filter(|session| !session.is_empty()) {
            Some(session) => session.into_owned(),
            None => out.text_of(out.stream().session).to_string(),
        };
        let mut walk = Walk { session: &session, top: &top, left: frame, first: true };
        for runs in &top.runs {
            let _ = runs.clone().array(|json| {
                walk.run(json.clone(), out);
                json.skip()
            });
        }
        if walk.first {
            walk.session_facts(out);
            out.identity_within(&[&session]);
        }
        top.torn.map_or(Ok(()), |error| Err(rejection(error, frame)))
    }
}

/// The way through the file.
struct Walk<'t, 'a> {
    session: &'t str,
    top: &'t Top<'a>,
    /// What no record holds yet: the first one begins with the file.
    left: &'a [u8],
    first: bool,
}

impl<'a> Walk<'_, 'a> {
    fn run(&mut self, mut json: Json<'a>, out: &mut Sink<'_>) {
        if !matches!(json.kind(), Ok(Kind::Object)) {
            return;
        }
        let start = if self.first { self.left } else { json.rest() };
        let run = Run::read(&mut json);
        // What stands before the steps tells of the run; a run without steps is told by all of it.
        let behind = match &run.steps {
            Some(steps) => steps.rest(),
            None if run.torn => return,
            None => json.rest(),
        };
        out.part(start.get(..start.len().saturating_sub(behind.len())).unwrap_or(start));
        if self.first {
            self.session_facts(out);
            self.first = false;
        }
        run.oddities.report(out);
        let id = run.id.map(RawStr::decode).unwrap_or_default();
        let place = Place { session: self.session, run: &id };
        out.identity_within(&[self.session, &id]);
        let ended = moment(run.ended, out);
        let told = ToldRun {
            channel: run.channel.map(RawStr::decode).unwrap_or_default(),
            status: run.status.map(RawStr::decode).unwrap_or_default(),
            started: moment(run.started, out),
            has_end: ended.is_some() || run.status.is_some(),
            ended,
        };
        told.emit(&place, out);
        if let Some(mut steps) = run.steps {
            // A step that is torn ends the list; what is left of the file is one record that could not be read.
            let _ = steps.array(|json| {
                let raw = json.raw()?;
                out.part(raw);
                out.identity_within(&[self.session, &id]);
                emit_step(raw, &place, out);
                Ok(())
            });
        }
    }

    fn session_facts(&self, out: &mut Sink<'_>) {
        self.top.oddities.report(out);
        let at = moment(self.top.started, out);
        out.begin(EventKind::SessionInfo, at);
        out.key(KeyKind::Session, Role::Refers, self.session).name("session.created").end();
        let ended = moment(self.top.ended, out);
        if ended.is_some() {
            out.begin(EventKind::SessionInfo, ended);
            out.key(KeyKind::Session, Role::Refers, self.session).name("session.ended").end();
        }
    }
}

fn emit_step(raw: &[u8], place: &Place<'_>, out: &mut Sink<'_>) {
    if raw.first() != Some(&b'{') {
        out.issue(Code::WrongType, "steps");
        return;
    }
    let step = Step::read(raw);
    step.oddities.report(out);
    let ended = moment(step.ended, out);
    let has_end =
        ended.is_some() || step.duration_ms.is_some() || step.gave.is_some_and(|raw| raw != b"null");
    let needs = needs(step.needs, place, out);
    let mut gave = Payload::read(step.gave);
    if matches!(step.status.map(|status| status.raw), Some(b"error" | b"failed")) {
        gave.fail();
    }
    let told = Told {
        id: step.id.map(RawStr::decode).unwrap_or_default(),
        label: step.label.map(RawStr::decode).unwrap_or_default(),
        needs,
        started: moment(step.started, out),
        ended,
        duration_ms: step.duration_ms,
        has_begin: true,
        has_end,
        call: Cow::Borrowed(""),
        given: Payload::read(step.given),
        gave,
    };
    told.emit(place, out);
}

#[derive(Default)]
struct Step<'a> {
    id: Option<RawStr<'a>>,
    label: Option<RawStr<'a>>,
    status: Option<RawStr<'a>>,
    duration_ms: Option<i64>,
    started: Option<&'a [u8]>,
    ended: Option<&'a [u8]>,
    needs: Option<&'a [u8]>,
    given: Option<&'a [u8]>,
    gave: Option<&'a [u8]>,
    oddities: Oddities<'a>,
}

impl<'a> Step<'a> {
    fn read(raw: &'a [u8]) -> Step<'a> {
        let mut step = Step::default();
        let odd = &mut step.oddities;
        let _ = Json::new(raw).object(|json, key| match key {
            b"step_id" => odd.text(json, key, &mut step.id),
            b"label" => odd.text(json, key, &mut step.label),
            b"status" => odd.text(json, key, &mut step.status),
            b"duration_ms" => odd.integer(json, key, &mut step.duration_ms),
            b"started_at" => odd.raw(json, key, &mut step.started),
            b"ended_at" => odd.raw(json, key, &mut step.ended),
            b"depends_on" => odd.raw(json, key, &mut step.needs),
            b"payload_started" => odd.raw(json, key, &mut step.given),
            b"payload_completed" => odd.raw(json, key, &mut step.gave),
            _ => json.skip(),
        });
        step
    }
}
