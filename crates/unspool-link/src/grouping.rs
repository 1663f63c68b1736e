//! Which records belong to one session: union over native session ids, containers, replays, chains that cross
//! files, forks, sessions that a call started, and teams.

use crate::Table;
use crate::conversations::Conversations;
use crate::union::Union;
use rustc_hash::FxHashMap;
use unspool_model::{
    Batch, Event, EventFlags, EventKind, Id, Key, KeyKind, Outcome, Role, Sym, Timestamp, Witness,
};

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
}

impl Group {
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
    let streams = records_by_stream(batch, rank, first_event);
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

/// The counted records of each stream, streams in order. Records that lie in no order go by time.
fn records_by_stream(batch: &Batch, rank: &[u32], first_event: &[u32]) -> Vec<(u32, Vec<u32>)> {
    let mut by_rank: Vec<(u32, Vec<u32>)> = vec![(0, Vec::new()); batch.streams.len()];
    for (stream, rank) in rank.iter().enumerate() {
        by_rank[*rank as usize].0 = u32::try_from(stream).unwrap_or(u32::MAX);
    }
    for (n, record) in batch.records.iter().enumerate() {
        if record.outcome == Outcome::Stored {
            by_rank[rank[record.stream as usize] as usize].1.push(u32::try_from(n).unwrap_or(u32::MAX));
        }
    }
    for (stream, records) in &mut by_rank {
        if batch.streams.get(*stream as usize).is_some_and(|stream| !stream.in_order) {
            let at =
                |record: u32| batch.events.get(first_event[record as usize] as usize).map(|event| event.at);
            records.sort_by_key(|record| at(*record));
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

/// A span that names another session than the span around it makes both one. Copies of records are of no session.
fn join_parents(natives: &Natives<'_>, union: &mut Union) {
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
            // Records of different sessions with one uuid are one record, replayed, if they say the same. A moment alone
            // is not enough: they must share an id or a prompt.
            let mut first: FxHashMap<Content, u32> = FxHashMap::default();
            let heads = || self.providers(*uuid).filter_map(|record| Some((record, natives.head(record)?)));
            let has_copy = heads().any(|(_, head)| head.flags.has(EventFlags::COPY));
            for (record, head) in heads() {
                let mut content = Content::of(self.batch, head);
                if has_copy {
                    // A copy may be dated when it was made.
                    content.at = Timestamp::NONE;
                }
                if !content.keys.is_empty() {
                    let known = *first.entry(content).or_insert(record);
                    union.join(natives.of_record[known as usize], natives.of_record[record as usize]);
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

/// What records with one uuid must have in common to be one: kind, moment, ids and prompt.
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct Content {
    kind: EventKind,
    at: Timestamp,
    keys: Vec<Sym>,
}

impl Content {
    pub(crate) fn of(batch: &Batch, event: &Event) -> Content {
        Content { kind: event.kind, at: event.at, keys: content_keys(batch, event).collect() }
    }

    /// Whether there is anything to compare.
    pub(crate) fn is_known(&self) -> bool {
        self.at.is_some() || !self.keys.is_empty()
    }
}

/// Whether two events have the same content. A copy may be dated when it was made.
pub(crate) fn same_content(batch: &Batch, a: &Event, b: &Event) -> bool {
    let is_copy = a.flags.has(EventFlags::COPY) || b.flags.has(EventFlags::COPY);
    a.kind == b.kind && (a.at == b.at || is_copy) && content_keys(batch, a).eq(content_keys(batch, b))
}

/// Whether a key says what a record is. The request a message answers may be missing or another one in a replay.
fn is_content(key: Key) -> bool {
    let (kind, role) = (key.kind, key.role);
    matches!(kind, KeyKind::Message | KeyKind::ToolUse | KeyKind::PromptHash)
        || (kind == KeyKind::Request && role == Role::Provides)
}

fn content_keys<'b>(batch: &'b Batch, event: &Event) -> impl Iterator<Item = Sym> + use<'b> {
    batch.keys_of(event).iter().filter(|key| is_content(**key)).map(|key| key.value)
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
    if !natives.batch.kinds.has(KeyKind::ForkedFrom) {
        return;
    }
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

/// A session that another one's call started, by the id that call was given.
fn join_started(natives: &Natives<'_>, union: &mut Union) {
    for event in natives.batch.events.iter().filter(|event| event.kind == EventKind::SpawnLink) {
        let own = natives.of_record[event.record as usize];
        if let Some(agent) = natives.batch.key(event, KeyKind::Agent, Role::Provides)
            && let Some(started) = natives.number.get(&agent)
            && own != NO_NATIVE
        {
            union.join(own, *started);
        }
    }
}

/// A teammate that runs as its own process has a session of its own. It joins the session of the latest call that
/// started a teammate of its name before it began. The call names it in its input or in its result; a result is
/// written a while after the teammate began.
fn join_teams(natives: &Natives<'_>, table: &Table, union: &mut Union) {
    let batch = natives.batch;
    if !batch.kinds.has(KeyKind::Teammate) {
        return;
    }
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

/// A conversation is one session, however long it paused and whoever called.
fn join_conversations(natives: &Natives<'_>, conversations: &Conversations, union: &mut Union) {
    let mut links: Vec<_> = conversations.links().collect();
    links.sort_unstable();
    for (child, parent) in links {
        let (child, parent) = (natives.of_record[child as usize], natives.of_record[parent as usize]);
        if child != NO_NATIVE && parent != NO_NATIVE {
            union.join(child, parent);
        }
    }
}

/// A recorded conversation that opens with the prompt of a spawn call belongs to the session of that call, where nobody
/// named its session.
fn join_subtasks(natives: &Natives<'_>, table: &Table, conversations: &Conversations, union: &mut Union) {
    if conversations.is_empty() {
        return;
    }
    let batch = natives.batch;
    let mut calls: FxHashMap<Sym, Vec<(Timestamp, u32)>> = FxHashMap::default();
    let mut opened: Vec<(Timestamp, u32, Sym)> = Vec::new();
    for event in &batch.events {
        let native = natives.of_record[event.record as usize];
        if native == NO_NATIVE {
            continue;
        }
        match event.kind {
            EventKind::ToolCall if table.is_spawn_tool(batch.text.get(event.name)) => {
                if let Some(prompt) = batch.key(event, KeyKind::PromptHash, Role::Provides) {
                    calls.entry(prompt).or_default().push((event.at, native));
                }
            }
            EventKind::Context if conversations.session(event.record).is_some() => {
                let prompts = batch.keys_of(event).iter();
                let prompts =
                    prompts.filter(|key| key.kind == KeyKind::PromptHash && key.role == Role::Refers);
                opened.extend(prompts.map(|key| (event.at, native, key.value)));
            }
            _ => {}
        }
    }
    for (at, native, prompt) in opened {
        let Some(calls) = calls.get(&prompt) else { continue };
        let fits = |called: Timestamp| {
            at.ms_since(called).is_none_or(|ms| (0..=table.prompt_window_ms).contains(&ms))
        };
        let name = |native: u32| batch.text.get(natives.list[native as usize]);
        let best = calls.iter().filter(|(called, _)| fits(*called));
        if let Some((_, parent)) =
            best.max_by_key(|(called, native)| (*called, std::cmp::Reverse(name(*native))))
        {
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
