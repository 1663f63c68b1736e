//! Which records belong to one session: union over native session ids, containers, replays, chains that cross
//! files, forks and teams.

use crate::Table;
use crate::union::Union;
use rustc_hash::FxHashMap;
use unspool_model::{Batch, Event, EventKind, Key, KeyKind, Outcome, Role, Sym, Timestamp, Witness};

/// One session's events.
#[derive(Default)]
pub(crate) struct Group {
    /// Events in the order of streams and records; all events of a record are together.
    pub(crate) events: Vec<u32>,
    /// For each event, the native session of its record.
    pub(crate) event_native: Vec<Sym>,
    /// Native session ids, sorted by text.
    pub(crate) natives: Vec<Sym>,
    /// Issues found while reading its records, as indices into the batch's.
    pub(crate) issues: Vec<u32>,
    pub(crate) started: Timestamp,
    /// Records, also those without events.
    pub(crate) records: u32,
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

/// Different records with one uuid that replays are looked for among; more than a few means that uuids mean nothing.
const MAX_DIFFERENT: usize = 16;

pub(crate) fn group(batch: &Batch, table: &Table, rank: &[u32], first_event: &[u32]) -> Vec<Group> {
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
        natives.place_stream(*stream, records, &traces);
    }
    let chains = Chains::new(batch, &natives, &streams);
    natives.place_titles(&chains);
    let mut union = Union::new(natives.list.len());
    join_containers(&natives, &streams, &mut union);
    traces.join(&natives, &mut union);
    chains.join(&natives, &mut union);
    join_forks(&natives, &mut union);
    join_teams(&natives, table, &mut union);
    collect(batch, &natives, &streams, &mut union)
}

/// The counted records of each stream, streams in order of name.
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
    fn place_stream(&mut self, stream: u32, records: &[u32], traces: &Traces) {
        let mut only: Option<u32> = None;
        let mut several = false;
        for record in records {
            let Some(head) = self.head(*record).copied() else { continue };
            if let Some(session) = traces.session(self.batch, &head) {
                let number = self.intern(session);
                self.of_record[*record as usize] = number;
                several |= only.is_some_and(|other| other != number);
                only.get_or_insert(number);
            }
        }
        let row = self.batch.streams[stream as usize];
        let named = row.session.some().unwrap_or(row.name);
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

/// Sessions of traces. Few spans of a trace name the session; those that do name it for all.
struct Traces {
    sessions: FxHashMap<Sym, Vec<Sym>>,
    /// Spans of traces without a session that link to other traces.
    links: Vec<(Sym, Sym)>,
}

impl Traces {
    fn new(batch: &Batch, first_event: &[u32], streams: &[(u32, Vec<u32>)]) -> Traces {
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
            list.sort_by_key(|session| batch.text.get(*session));
        }
        Traces { sessions, links: links(batch) }
    }

    /// The session a record names, or that of its trace; a trace that names none is one.
    fn session(&self, batch: &Batch, head: &Event) -> Option<Sym> {
        batch.key(head, KeyKind::Session, Role::Refers).or_else(|| {
            let trace = batch.key(head, KeyKind::Trace, Role::Refers)?;
            Some(self.sessions.get(&trace).and_then(|list| list.first().copied()).unwrap_or(trace))
        })
    }

    /// Joins sessions whose spans lie in each other, and traces without a session to those they link to.
    fn join(&self, natives: &Natives<'_>, union: &mut Union) {
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

/// A span that names another session than the span around it makes both one.
fn join_parents(natives: &Natives<'_>, union: &mut Union) {
    let batch = natives.batch;
    let mut provider: FxHashMap<Sym, u32> = FxHashMap::default();
    for event in &batch.events {
        if let Some(span) = batch.key(event, KeyKind::Span, Role::Provides) {
            provider.insert(span, natives.of_record[event.record as usize]);
        }
    }
    for event in &batch.events {
        let own = natives.of_record[event.record as usize];
        let parent = batch.key(event, KeyKind::Span, Role::Refers).and_then(|span| provider.get(&span));
        if let Some(parent) = parent.copied().filter(|parent| *parent != NO_NATIVE && own != NO_NATIVE) {
            union.join(own, parent);
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

/// Who provides each uuid.
struct Chains<'b> {
    batch: &'b Batch,
    /// First providing record by uuid.
    first: Vec<u32>,
    /// Further providers, in order.
    more: FxHashMap<Sym, Vec<u32>>,
}

impl<'b> Chains<'b> {
    fn new(batch: &'b Batch, natives: &Natives<'b>, streams: &[(u32, Vec<u32>)]) -> Chains<'b> {
        let mut chains =
            Chains { batch, first: vec![u32::MAX; batch.text.len()], more: FxHashMap::default() };
        for record in streams.iter().flat_map(|(_, records)| records) {
            let Some(head) = natives.head(*record) else { continue };
            if let Some(uuid) = batch.key(head, KeyKind::Uuid, Role::Provides) {
                let first = &mut chains.first[uuid.index()];
                if *first == u32::MAX {
                    *first = *record;
                } else {
                    chains.more.entry(uuid).or_default().push(*record);
                }
            }
        }
        chains
    }

    fn providers(&self, uuid: Sym) -> impl Iterator<Item = u32> + '_ {
        let first = self.first.get(uuid.index()).copied().filter(|record| *record != u32::MAX);
        first.into_iter().chain(self.more.get(&uuid).into_iter().flatten().copied())
    }

    /// Joins sessions that share replayed records, and sessions whose chain goes on from another's record.
    fn join(&self, natives: &Natives<'_>, union: &mut Union) {
        let mut replayed: Vec<_> = self.more.iter().collect();
        replayed.sort_by_key(|(uuid, _)| self.batch.text.get(**uuid));
        for (uuid, _) in replayed {
            // Different records of one uuid are few, copies may be many: each is compared with the different ones so far.
            let mut different: Vec<u32> = Vec::new();
            for record in self.providers(*uuid) {
                let known =
                    different.iter().find(|a| is_replay(self.batch, natives.head(**a), natives.head(record)));
                match known {
                    Some(known) => {
                        union.join(natives.of_record[*known as usize], natives.of_record[record as usize]);
                    }
                    None if different.len() < MAX_DIFFERENT => different.push(record),
                    None => {}
                }
            }
        }
        for (record, native) in natives.of_record.iter().enumerate() {
            let Some(head) = natives.head(u32::try_from(record).unwrap_or(u32::MAX)) else { continue };
            if *native == NO_NATIVE || head.kind == EventKind::SessionInfo {
                continue;
            }
            for kind in [KeyKind::Uuid, KeyKind::LogicalParent] {
                if let Some(parent) = self.batch.key(head, kind, Role::Refers)
                    && let Some(other) = self.only_foreign_provider(parent, *native, natives)
                {
                    union.join(*native, other);
                }
            }
        }
    }

    /// The other session that provides a uuid, when the own one does not and no third one does.
    fn only_foreign_provider(&self, uuid: Sym, own: u32, natives: &Natives<'_>) -> Option<u32> {
        let mut found = None;
        for provider in self.providers(uuid) {
            let native = natives.of_record[provider as usize];
            if native == own || found.is_some_and(|other| other != native) {
                return None;
            }
            found = Some(native);
        }
        found.filter(|native| *native != NO_NATIVE)
    }
}

/// Whether two records of different sessions with one uuid are one record, replayed. A moment alone is not enough:
/// they must share an id or a prompt.
fn is_replay(batch: &Batch, a: Option<&Event>, b: Option<&Event>) -> bool {
    let has_content = |event: &Event| batch.keys_of(event).iter().any(|key| is_content(*key));
    same_content(batch, a, b) && a.is_some_and(has_content)
}

/// Whether a key says what a record is. The request a message answers may be missing or another one in a replay.
fn is_content(key: Key) -> bool {
    let (kind, role) = (key.kind, key.role);
    matches!(kind, KeyKind::Message | KeyKind::ToolUse | KeyKind::PromptHash)
        || (kind == KeyKind::Request && role == Role::Provides)
}

/// Whether two records with one uuid say the same: same moment, same ids, same prompt.
pub(crate) fn same_content(batch: &Batch, a: Option<&Event>, b: Option<&Event>) -> bool {
    let (Some(a), Some(b)) = (a, b) else { return false };
    let relevant = |event: &Event| {
        let keys = batch.keys_of(event).iter();
        keys.filter(|key| is_content(**key)).map(|key| key.value).collect::<Vec<_>>()
    };
    a.kind == b.kind && a.at == b.at && relevant(a) == relevant(b)
}

fn join_containers(natives: &Natives<'_>, streams: &[(u32, Vec<u32>)], union: &mut Union) {
    let mut first: FxHashMap<Sym, u32> = FxHashMap::default();
    for (stream, records) in streams {
        let container = natives.batch.streams[*stream as usize].container;
        let native = records.iter().map(|r| natives.of_record[*r as usize]).find(|n| *n != NO_NATIVE);
        if let (Some(container), Some(native)) = (container.some(), native) {
            union.join(*first.entry(container).or_insert(native), native);
        }
    }
}

fn join_forks(natives: &Natives<'_>, union: &mut Union) {
    for event in &natives.batch.events {
        if let Some(origin) = natives.batch.key(event, KeyKind::ForkedFrom, Role::Refers)
            && let Some(origin) = natives.number.get(&origin)
        {
            let own = natives.of_record[event.record as usize];
            if own != NO_NATIVE {
                union.join(own, *origin);
            }
        }
    }
}

/// A teammate that runs as its own process has a session of its own. It joins the session of the latest call that
/// started a teammate of its name before it began. The call names it in its input or in its result; a result is
/// written a while after the teammate began.
fn join_teams(natives: &Natives<'_>, table: &Table, union: &mut Union) {
    let batch = natives.batch;
    let mut spawned: FxHashMap<Sym, Vec<(Timestamp, u32)>> = FxHashMap::default();
    let mut began: FxHashMap<(Sym, u32), Timestamp> = FxHashMap::default();
    for event in &batch.events {
        let native = natives.of_record[event.record as usize];
        if native == NO_NATIVE || batch.records[event.record as usize].outcome != Outcome::Stored {
            continue;
        }
        let provides = batch.key(event, KeyKind::Teammate, Role::Provides);
        match event.kind {
            EventKind::ToolCall if table.is_spawn_tool(batch.text.get(event.name)) => {
                if let Some(teammate) = batch.key(event, KeyKind::Teammate, Role::Refers) {
                    spawned.entry(teammate).or_default().push((event.at, native));
                }
            }
            EventKind::SpawnLink => {
                if let Some(teammate) = provides {
                    let at = event.at.plus_ms(-table.type_window_ms);
                    spawned.entry(teammate).or_default().push((at, native));
                }
            }
            _ => {
                if let Some(teammate) = provides {
                    let first = began.entry((teammate, native)).or_insert(event.at);
                    *first = first.earlier(event.at);
                }
            }
        }
    }
    let name = |native: u32| batch.text.get(natives.list[native as usize]);
    let mut began: Vec<_> = began.into_iter().collect();
    began.sort_by_key(|((teammate, native), at)| (*at, batch.text.get(*teammate), name(*native)));
    for ((teammate, native), at) in began {
        let Some(spawns) = spawned.get(&teammate) else { continue };
        let latest = at.plus_ms(table.coarse_clock_tolerance_ms);
        let fits = spawns.iter().filter(|(spawn_at, _)| !at.is_some() || *spawn_at <= latest);
        if let Some((_, parent)) = fits.max_by_key(|(at, native)| (*at, std::cmp::Reverse(name(*native)))) {
            union.join(native, *parent);
        }
    }
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
            group.event_native.push(natives.list[native as usize]);
            group.started = group.started.earlier(event.at);
            at += 1;
        }
    }
    place_issues(batch, natives, streams, union, &group_of, &mut groups);
    groups.retain(|group| !group.events.is_empty());
    for group in &mut groups {
        group.natives.sort_by_key(|native| batch.text.get(*native));
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
