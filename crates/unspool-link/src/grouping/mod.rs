//! Which records belong to one session: union over native session ids, containers, replays, chains that cross
//! files, forks, sessions that a call started, and teams.

mod chains;
mod content;
mod joins;
mod traces;

pub(crate) use content::{Content, same_content};

use crate::Table;
use crate::conversations::Conversations;
use crate::union::Union;
use chains::Chains;
use joins::{join_containers, join_conversations, join_forks, join_started, join_subtasks, join_teams};
use rustc_hash::FxHashMap;
use traces::Traces;
use unspool_model::{Batch, Event, EventKind, Id, KeyKind, Outcome, Role, Sym, Timestamp, Witness};

/// One session's events.
#[derive(Default)]
pub(crate) struct Group {
    /// Events in the order of streams and records; all events of a record are together.
    pub(crate) events: Vec<u32>,
    /// For each event, the native session of its record; empty where there is only one.
    event_native: Vec<Sym>,
    /// Native session ids, sorted by text.
    pub(crate) natives: Vec<Sym>,
    /// Issues found while reading its records, as indices into the batch's.
    pub(crate) issues: Vec<u32>,
    pub(crate) started: Timestamp,
    /// Records, also those without events.
    pub(crate) records: u32,
}

impl Group {
    /// The session's id, from the first of its native ids.
    pub(crate) fn id(&self, batch: &Batch) -> Id {
        let first = self.natives.first().copied().unwrap_or_default();
        Id::of(&[b"session", batch.text.get(first).as_bytes()])
    }

    /// Puts the records of each stream that keeps no order into that of time.
    fn order_by_time(&mut self, batch: &Batch, first_event: &[u32]) {
        let record_of = |event: u32| batch.events[event as usize].record as usize;
        let stream_of = |event: u32| batch.records[record_of(event)].stream;
        let mut start = 0;
        while let Some(first) = self.events.get(start).copied() {
            let stream = stream_of(first);
            let len = self.events[start..].iter().take_while(|event| stream_of(**event) == stream).count();
            let end = start + len;
            if !batch.streams[stream as usize].in_order {
                let began = |event: u32| batch.events[first_event[record_of(event)] as usize].at;
                let mut order: Vec<(Timestamp, usize)> =
                    self.events[start..end].iter().map(|event| began(*event)).zip(start..).collect();
                order.sort_by_key(|(at, _)| *at);
                permute(&mut self.events, start, &order);
                if !self.event_native.is_empty() {
                    permute(&mut self.event_native, start, &order);
                }
            }
            start = end;
        }
    }

    /// The native session of an event's record.
    pub(crate) fn native_of(&self, at: usize) -> Sym {
        let only = || self.natives.first().copied().unwrap_or_default();
        self.event_native.get(at).copied().unwrap_or_else(only)
    }
}

struct Natives<'b> {
    batch: &'b Batch,
    first_event: &'b [u32],
    /// Dense numbers of native sessions.
    number: FxHashMap<Sym, u32>,
    list: Vec<Sym>,
    /// For each record with events, its native session's number.
    of_record: Vec<u32>,
}

const NO_NATIVE: u32 = u32::MAX;

pub(crate) fn group(
    batch: &Batch,
    table: &Table,
    conversations: &Conversations,
    rank: &[u32],
    first_event: &[u32],
) -> Vec<Group> {
    let streams = records_by_stream(batch, rank);
    let mut natives = Natives {
        batch,
        first_event,
        number: FxHashMap::default(),
        list: Vec::new(),
        of_record: vec![NO_NATIVE; batch.records.len()],
    };
    let traces = Traces::new(batch, first_event, &streams);
    for (stream, records) in &streams {
        natives.place_stream(*stream, records, &traces, conversations);
    }
    let chains = Chains::new(batch, &natives, &streams);
    natives.place_titles(&chains);
    natives.place_links(&traces);
    let mut union = Union::new(natives.list.len());
    join_containers(&natives, &streams, &mut union);
    traces.join(&natives, &mut union);
    chains.join(&natives, &mut union);
    join_forks(&natives, &mut union);
    join_started(&natives, &mut union);
    join_teams(&natives, table, &mut union);
    join_conversations(&natives, conversations, &mut union);
    join_subtasks(&natives, table, conversations, &mut union);
    collect(batch, &natives, &streams, &mut union)
}

/// The counted records of each stream, streams in order.
fn records_by_stream(batch: &Batch, rank: &[u32]) -> Vec<(u32, Vec<u32>)> {
    let mut by_rank: Vec<(u32, Vec<u32>)> = vec![(0, Vec::new()); batch.streams.len()];
    for (stream, rank) in rank.iter().enumerate() {
        by_rank[*rank as usize].0 = u32::try_from(stream).unwrap_or(u32::MAX);
    }
    for (n, record) in batch.records.iter().enumerate() {
        if record.outcome == Outcome::Stored {
            by_rank[rank[record.stream as usize] as usize].1.push(u32::try_from(n).unwrap_or(u32::MAX));
        }
    }
    by_rank
}

impl Natives<'_> {
    fn head(&self, record: u32) -> Option<&Event> {
        self.batch.events.get(self.first_event[record as usize] as usize)
    }

    fn intern(&mut self, native: Sym) -> u32 {
        let next = u32::try_from(self.list.len()).unwrap_or(u32::MAX);
        let number = *self.number.entry(native).or_insert(next);
        if number == next {
            self.list.push(native);
        }
        number
    }

    /// Gives each record of a stream its native session: the one it names; else the stream's only one; else the
    /// one the name speaks of, or that of the record before it.
    fn place_stream(&mut self, stream: u32, records: &[u32], traces: &Traces, conversations: &Conversations) {
        let mut only: Option<u32> = None;
        let mut several = false;
        for record in records {
            let Some(head) = self.head(*record).copied() else { continue };
            let named = traces.session(self.batch, &head);
            if let Some(session) = named.or_else(|| conversations.session(*record)) {
                let number = self.intern(session);
                self.of_record[*record as usize] = number;
                several |= only.is_some_and(|other| other != number);
                only.get_or_insert(number);
            }
        }
        let row = self.batch.streams[stream as usize];
        let named = row.session.some().unwrap_or(row.own_session);
        let mut current = match only {
            Some(number) => number,
            None if records.iter().any(|record| self.head(*record).is_some()) => self.intern(named),
            None => return,
        };
        for record in records {
            let slot = &mut self.of_record[*record as usize];
            if *slot == NO_NATIVE {
                *slot = current;
            } else if several {
                current = *slot;
            }
        }
    }

    /// A title names the record it belongs to, which may be of another session than the file it stands in.
    fn place_titles(&mut self, chains: &Chains<'_>) {
        for record in 0..self.of_record.len() {
            let record = u32::try_from(record).unwrap_or(u32::MAX);
            let Some(head) = self.head(record) else { continue };
            if head.kind != EventKind::SessionInfo
                || self.batch.key(head, KeyKind::Session, Role::Refers).is_some()
            {
                continue;
            }
            if let Some(leaf) = self.batch.key(head, KeyKind::Uuid, Role::Refers)
                && let Some(provider) = chains.providers(leaf).next()
            {
                self.of_record[record as usize] = self.of_record[provider as usize];
            }
        }
    }
}

impl Natives<'_> {
    /// What was said about a link belongs to the session of its ends: it names a message of it where the session has no name of its own,
    /// and a trace may have got one since.
    fn place_links(&mut self, traces: &Traces) {
        let batch = self.batch;
        if !batch.kinds.has(KeyKind::LinkEnd) {
            return;
        }
        let said: Vec<&Event> =
            batch.events.iter().filter(|event| event.kind == EventKind::DeclaredLink).collect();
        let message = |event: &&Event| batch.key(event, KeyKind::Message, Role::Refers);
        let mut holder: FxHashMap<Sym, u32> =
            said.iter().filter_map(message).map(|m| (m, NO_NATIVE)).collect();
        let some = if holder.is_empty() { &[][..] } else { &batch.events };
        for event in some {
            let native = self.of_record[event.record as usize];
            if let Some(message) = batch.key(event, KeyKind::Message, Role::Provides)
                && let Some(slot) = holder.get_mut(&message)
                && batch.stream_of(event.record).witness == Witness::Wire
                && native != NO_NATIVE
            {
                // Of several sessions that hold it, the first by name.
                let name = |native: u32| batch.text.get(self.list[native as usize]);
                if *slot == NO_NATIVE || name(native) < name(*slot) {
                    *slot = native;
                }
            }
        }
        for event in said {
            let by_message = message(&event).and_then(|message| holder.get(&message).copied());
            let by_trace = || {
                let named = traces.named(batch.key(event, KeyKind::Session, Role::Refers)?)?;
                self.number.get(&named).copied()
            };
            let found = by_message.filter(|native| *native != NO_NATIVE).or_else(by_trace);
            if let Some(native) = found.filter(|_| self.of_record[event.record as usize] != NO_NATIVE) {
                self.of_record[event.record as usize] = native;
            }
        }
    }
}

/// Puts the elements of a list that begin at `start` into an order.
fn permute<T: Copy>(list: &mut [T], start: usize, order: &[(Timestamp, usize)]) {
    let moved: Vec<T> = order.iter().map(|(_, from)| list[*from]).collect();
    list[start..start + moved.len()].copy_from_slice(&moved);
}

fn collect(
    batch: &Batch,
    natives: &Natives<'_>,
    streams: &[(u32, Vec<u32>)],
    union: &mut Union,
) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let mut group_of: FxHashMap<u32, usize> = FxHashMap::default();
    for (native, text) in natives.list.iter().enumerate() {
        let root = union.find(u32::try_from(native).unwrap_or(u32::MAX));
        let at = *group_of.entry(root).or_insert_with(|| {
            groups.push(Group::default());
            groups.len() - 1
        });
        groups[at].natives.push(*text);
    }
    let find = |native: u32, union: &mut Union| group_of.get(&union.find(native)).copied();
    for record in streams.iter().flat_map(|(_, records)| records) {
        let native = natives.of_record[*record as usize];
        if native == NO_NATIVE {
            continue;
        }
        let Some(group) = find(native, union) else { continue };
        let group = &mut groups[group];
        group.records += 1;
        let mut at = natives.first_event[*record as usize];
        while let Some(event) = batch.events.get(at as usize).filter(|event| event.record == *record) {
            group.events.push(at);
            if group.natives.len() > 1 {
                group.event_native.push(natives.list[native as usize]);
            }
            group.started = group.started.earlier(event.at);
            at += 1;
        }
    }
    place_issues(batch, natives, streams, union, &group_of, &mut groups);
    groups.retain(|group| !group.events.is_empty());
    for group in &mut groups {
        group.order_by_time(batch, natives.first_event);
        group.natives.sort_unstable_by_key(|native| batch.text.get(*native));
        group.events.shrink_to_fit();
        group.event_native.shrink_to_fit();
    }
    groups.sort_by_cached_key(|group| {
        (
            group.started,
            group.natives.iter().map(|native| batch.text.get(*native).to_string()).collect::<Vec<_>>(),
        )
    });
    groups
}

/// An issue belongs to the session of its record, or of its stream. What is odd about a copy counts with the original.
fn place_issues(
    batch: &Batch,
    natives: &Natives<'_>,
    streams: &[(u32, Vec<u32>)],
    union: &mut Union,
    group_of: &FxHashMap<u32, usize>,
    groups: &mut [Group],
) {
    if batch.issues.is_empty() {
        return;
    }
    let mut of_stream: FxHashMap<u32, u32> = FxHashMap::default();
    for (stream, records) in streams {
        let native = records.iter().map(|r| natives.of_record[*r as usize]).find(|n| *n != NO_NATIVE);
        if let Some(native) = native {
            of_stream.insert(*stream, native);
        }
    }
    for (n, issue) in (0_u32..).zip(batch.issues.iter()) {
        let record = batch.records.get(issue.record as usize);
        if record.is_some_and(|record| record.outcome == Outcome::Duplicate) {
            continue;
        }
        let by_record =
            natives.of_record.get(issue.record as usize).copied().filter(|native| *native != NO_NATIVE);
        let native = by_record.or_else(|| of_stream.get(&issue.stream).copied());
        if let Some(group) = native.and_then(|native| group_of.get(&union.find(native))) {
            groups[*group].issues.push(n);
        }
    }
}
