//! Sessions of spans: a trace that names none is one, and traces that lie in or link to each other are together.

use super::{NO_NATIVE, Natives};
use crate::union::Union;
use rustc_hash::FxHashMap;
use unspool_model::{Batch, Event, KeyKind, Role, Sym, Witness};

/// Sessions of traces. Few spans of a trace name the session; those that do name it for all.
pub(super) struct Traces {
    sessions: FxHashMap<Sym, Vec<Sym>>,
    /// Spans of traces without a session that link to other traces.
    links: Vec<(Sym, Sym)>,
}

impl Traces {
    pub(super) fn new(batch: &Batch, first_event: &[u32], streams: &[(u32, Vec<u32>)]) -> Traces {
        let mut sessions: FxHashMap<Sym, Vec<Sym>> = FxHashMap::default();
        if batch.streams.iter().all(|stream| stream.witness != Witness::Telemetry) {
            return Traces { sessions, links: Vec::new() };
        }
        for record in streams.iter().flat_map(|(_, records)| records) {
            let Some(head) = batch.events.get(first_event[*record as usize] as usize) else { continue };
            let Some(trace) = batch.key(head, KeyKind::Trace, Role::Refers) else { continue };
            if let Some(session) = batch.key(head, KeyKind::Session, Role::Refers) {
                let list = sessions.entry(trace).or_default();
                if !list.contains(&session) {
                    list.push(session);
                }
            }
        }
        let mut found: Vec<&mut Vec<Sym>> = sessions.values_mut().collect();
        for list in &mut found {
            list.sort_unstable_by_key(|session| batch.text.get(*session));
        }
        Traces { sessions, links: links(batch) }
    }

    /// The session a record names, or that of its trace; a trace that names none is one.
    pub(super) fn session(&self, batch: &Batch, head: &Event) -> Option<Sym> {
        batch.key(head, KeyKind::Session, Role::Refers).or_else(|| {
            let trace = batch.key(head, KeyKind::Trace, Role::Refers)?;
            Some(self.sessions.get(&trace).and_then(|list| list.first().copied()).unwrap_or(trace))
        })
    }

    /// The session that a trace got a name by.
    pub(super) fn named(&self, trace: Sym) -> Option<Sym> {
        self.sessions.get(&trace).and_then(|list| list.first().copied())
    }

    /// Joins sessions whose spans lie in each other, and traces without a session to those they link to.
    pub(super) fn join(&self, natives: &Natives<'_>, union: &mut Union) {
        let number = |session: &Sym| natives.number.get(session).copied();
        if self.sessions.values().any(|list| list.len() > 1) {
            join_parents(natives, union);
        }
        let of = |trace: &Sym| {
            let session = self.sessions.get(trace).and_then(|list| list.first()).unwrap_or(trace);
            number(session)
        };
        for (own, other) in &self.links {
            let nameless = !self.sessions.contains_key(own) || !self.sessions.contains_key(other);
            if let (true, Some(own), Some(other)) = (nameless, of(own), of(other)) {
                union.join(own, other);
            }
        }
    }
}

/// A span that names another session than the span around it makes both one. Copies of records are of no session.
pub(super) fn join_parents(natives: &Natives<'_>, union: &mut Union) {
    let batch = natives.batch;
    let placed = || {
        let own = batch.events.iter().map(|event| (event, natives.of_record[event.record as usize]));
        own.filter(|(_, native)| *native != NO_NATIVE)
    };
    let mut providers: FxHashMap<Sym, Vec<u32>> = FxHashMap::default();
    for (event, native) in placed() {
        if let Some(span) = batch.key(event, KeyKind::Span, Role::Provides) {
            let natives = providers.entry(span).or_default();
            if natives.last() != Some(&native) {
                natives.push(native);
            }
        }
    }
    for (event, native) in placed() {
        let parent = batch.key(event, KeyKind::Span, Role::Refers);
        for other in parent.and_then(|span| providers.get(&span)).into_iter().flatten() {
            union.join(native, *other);
        }
    }
}

/// Traces that link to others: own trace and the other.
fn links(batch: &Batch) -> Vec<(Sym, Sym)> {
    let mut found = Vec::new();
    for event in &batch.events {
        for key in batch.keys_of(event).iter().filter(|key| key.kind == KeyKind::SpanLink) {
            let own = batch.key(event, KeyKind::Trace, Role::Refers);
            let other =
                batch.text.get(key.value).rsplit_once('/').and_then(|(trace, _)| batch.text.find(trace));
            if let (Some(own), Some(other)) = (own, other)
                && own != other
            {
                found.push((own, other));
            }
        }
    }
    found
}
