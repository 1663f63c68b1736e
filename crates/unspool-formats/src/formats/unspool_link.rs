//! What people say about links, as Unspool itself keeps it: one object per line, with `"unspool": "link"`.
//!
//! Ends are ids of steps and agents, or the ids their sources gave them. What is said is weighed by the linker, which knows the ends.

use crate::chat::{matching_lines, score};
use crate::format::{Descriptor, Format, Framing, Reader, Rejected, Sniff, rejection};
use crate::object::Object;
use crate::sink::Sink;
use memchr::memmem;
use unspool_model::{AttrName, Code, EdgeKind, EventKind, KeyKind, Role, Rule, Timestamp, Verdict, Witness};

pub(crate) struct Links;

static DESCRIPTOR: Descriptor = Descriptor {
    id: "unspool-link",
    title: "Unspool links",
    evidence: "Our own (docs/links.md)",
    witness: Witness::Notice,
    in_order: false,
};

impl Format for Links {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn sniff(&self, _name: &str, head: &[u8]) -> Sniff {
        if memmem::find(head, b"\"unspool\"").is_none() {
            return Sniff::NO;
        }
        let (own, all) = matching_lines(head, is_link);
        Sniff { score: score((own, all), 90, 99), framing: Framing::Lines }
    }

    fn record_type(&self, record: &[u8]) -> String {
        Object::of(record).text("action").into_owned()
    }

    fn open(&self) -> Box<dyn Reader> {
        Box::new(Links)
    }
}

fn is_link(line: &Object<'_>) -> bool {
    line.text("unspool") == "link"
}

impl Reader for Links {
    fn read(&mut self, record: &[u8], out: &mut Sink<'_>) -> Result<(), Rejected> {
        let line = Object::read(record).map_err(|error| rejection(error, record))?;
        let at = line.time("at", out);
        if !at.is_some() {
            // Nothing else tells two equal ones apart.
            out.identity_needs_place();
        }
        let session = line.text("session");
        let (action, kind) = (line.text("action"), line.text("kind"));
        let verdict = Verdict::ALL.into_iter().find(|one| one.name() == action);
        let relation = EdgeKind::ALL.into_iter().find(|one| one.name() == kind && one.can_be_declared());
        let (Some(_), Some(_), true) = (verdict, relation, is_link(&line)) else {
            out.issue(Code::UnknownType, &format!("link/{action}/{kind}"));
            of_session_only(&session, out);
            return Ok(());
        };
        let ends = [("from", Role::Provides), ("to", Role::Refers)];
        if let Some((missing, _)) = ends.iter().find(|(name, _)| line.text(name).is_empty()) {
            out.issue(Code::WrongType, missing);
            of_session_only(&session, out);
            return Ok(());
        }
        out.begin(EventKind::DeclaredLink, at);
        out.key(KeyKind::Session, Role::Refers, &session);
        out.key(KeyKind::Message, Role::Refers, &line.text("message"));
        for (name, role) in ends {
            out.key(KeyKind::LinkEnd, role, &line.text(name));
        }
        out.text(AttrName::Verdict, &action).text(AttrName::EdgeKind, &kind);
        out.text(AttrName::Author, &line.text("who")).text(AttrName::Description, &line.text("note"));
        was(&line.object("was"), out);
        Ok(())
    }
}

/// What cannot be understood says at least which session it is about.
fn of_session_only(session: &str, out: &mut Sink<'_>) {
    if !session.is_empty() {
        out.begin(EventKind::Context, Timestamp::NONE).key(KeyKind::Session, Role::Refers, session);
    }
}

/// What the rules had said when it was said.
fn was(was: &Object<'_>, out: &mut Sink<'_>) {
    let rule = was.text("rule");
    if Rule::ALL.iter().all(|known| known.name() != rule) {
        return;
    }
    let written = was.get("confidence").and_then(|raw| std::str::from_utf8(raw).ok());
    let share: f64 = written.and_then(|text| text.parse().ok()).unwrap_or(1.0);
    #[expect(clippy::cast_possible_truncation, reason = "between 0 and 10,000")]
    let confidence = (share.clamp(0.0, 1.0) * 10_000.0).round() as i64;
    out.text(AttrName::LinkRule, &rule).int(AttrName::LinkConfidence, confidence);
}
