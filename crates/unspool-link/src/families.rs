//! Families: records that no rule of grouping can ever join lie in different families, so that a family can be linked alone.
//!
//! In: a batch, as decoded. Out: its pieces, and for each piece the keys that make it one family with others. Keys are numbers that
//! can be kept. A family may hold several sessions: its keys say who *may* belong together, linking says who does.
//!
//! Every join in `grouping` and `conversations` has its key here; `unspool-testkit` checks that linking all families one by one gives
//! what linking everything at once gives.

use crate::Table;
use crate::conversations::name_by;
use rustc_hash::FxHashMap;
use unspool_model::{
    AttrName, Batch, Event, EventKind, Id, KeyKind, Outcome, RecordIx, Role, Stream, Sym, Timestamp, Witness,
};

/// Records of one stream that belong together, and what they are known by.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Piece {
    /// In the order of the batch.
    pub records: Vec<RecordIx>,
    /// Sorted.
    pub keys: Vec<FamilyKey>,
}

/// Something by which pieces may become one family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FamilyKey {
    /// A hash of what it is.
    pub hash: u64,
    /// All pieces with this key are one family. Otherwise they are as soon as any piece says so.
    pub joins: bool,
}

/// How many of the shortest beginnings of a conversation it is known by. Requests of one conversation share the shortest; a
/// few more are for those whose first requests were not recorded.
const SHORTEST_HISTORIES: usize = 3;

/// A request that takes longer than so many pauses is of no session but its own, so far as pauses tell.
const MOST_PAUSES: i64 = 144;

/// Cuts the records of a batch into pieces.
pub fn pieces(batch: &Batch, table: &Table) -> Vec<Piece> {
    let mut cut = Cut { batch, table, pieces: Vec::new(), keys: Vec::new() };
    let mut first = 0;
    while let Some(record) = batch.records.get(first) {
        let len = batch.records[first..].iter().take_while(|other| other.stream == record.stream).count();
        cut.stream(record.stream, first..first + len);
        first += len;
    }
    cut.pieces
}

struct Cut<'a> {
    batch: &'a Batch,
    table: &'a Table,
    pieces: Vec<Piece>,
    /// Keys of the piece at hand.
    keys: Vec<FamilyKey>,
}

impl Cut<'_> {
    fn stream(&mut self, stream: u32, records: std::ops::Range<usize>) {
        let row = self.batch.streams[stream as usize];
        let all = records.map(|n| u32::try_from(n).unwrap_or(u32::MAX));
        if row.witness == Witness::Answer {
            all.for_each(|record| self.given(record));
            return;
        }
        if row.in_order || row.witness != Witness::Telemetry {
            self.piece(&row, all.collect(), true);
            return;
        }
        // Spans lie in a stream as they were sent, those of many traces together.
        let mut of_key: FxHashMap<Sym, usize> = FxHashMap::default();
        let mut lists: Vec<Vec<RecordIx>> = Vec::new();
        let mut unnamed: Vec<RecordIx> = Vec::new();
        let mut current: Option<usize> = None;
        for record in all {
            let head = self.batch.events_of(record).first();
            let named = head.and_then(|head| {
                let key = |kind| self.batch.key(head, kind, Role::Refers);
                key(KeyKind::Trace).or_else(|| key(KeyKind::Session))
            });
            if let Some(name) = named {
                let at = *of_key.entry(name).or_insert_with(|| {
                    lists.push(Vec::new());
                    lists.len() - 1
                });
                current = Some(at);
            }
            match current {
                Some(at) => lists[at].push(record),
                None => unnamed.push(record),
            }
        }
        match lists.as_mut_slice() {
            [only] => only.splice(0..0, unnamed).for_each(drop),
            _ if !unnamed.is_empty() => self.piece(&row, unnamed, true),
            _ => {}
        }
        for records in lists {
            self.piece(&row, records, false);
        }
    }

    /// Adds a piece. `named` when it goes by what its stream's name says, too.
    fn piece(&mut self, row: &Stream, records: Vec<RecordIx>, named: bool) {
        self.keys.clear();
        self.key("container", row.container);
        if named {
            self.key("session", row.session.some().unwrap_or(row.own_session));
        }
        for record in &records {
            if self.batch.records[*record as usize].outcome != Outcome::Rejected {
                self.record(row, *record);
            }
        }
        if self.keys.is_empty() {
            // A copy of it is of the same family.
            let first = records.first().map(|first| self.batch.records[*first as usize].id);
            self.push("record", &first.unwrap_or_default().to_bytes(), true);
        }
        self.add(records);
    }

    /// Adds a piece with the keys at hand.
    fn add(&mut self, records: Vec<RecordIx>) {
        let mut keys = std::mem::take(&mut self.keys);
        keys.sort_unstable();
        keys.dedup();
        self.pieces.push(Piece { records, keys });
    }

    /// A session of an export, or what is none in one. Records of that session are of its family, because they count more.
    fn given(&mut self, record: RecordIx) {
        let (batch, given) = (self.batch, &self.batch.given.sessions);
        self.keys.clear();
        if let Ok(at) = given.binary_search_by_key(&record, |given| given.record) {
            let session = &given[at].flow.session;
            self.push("given", &session.id.to_bytes(), true);
            for native in &session.native_ids {
                self.key("session", *native);
                self.key("request", *native);
            }
        }
        self.push("record", &batch.records[record as usize].id.to_bytes(), true);
        self.add(vec![record]);
    }

    fn record(&mut self, row: &Stream, record: RecordIx) {
        let batch = self.batch;
        let events = batch.events_of(record);
        let Some(head) = events.first() else { return };
        for (kind, role, sort) in [
            (KeyKind::Session, Role::Refers, "session"),
            (KeyKind::Trace, Role::Refers, "session"),
            (KeyKind::Uuid, Role::Provides, "uuid"),
            (KeyKind::Uuid, Role::Refers, "uuid"),
            (KeyKind::LogicalParent, Role::Refers, "uuid"),
        ] {
            if let Some(value) = batch.key(head, kind, role) {
                self.key(sort, value);
            }
        }
        for event in events {
            self.event(event);
        }
        if row.witness == Witness::Wire {
            // What was recorded of it earlier has the same id, and so has an export of a session that is named after it.
            self.push("request", name_by(batch.records[record as usize].id).as_bytes(), true);
            self.request(head, events);
        }
    }

    fn event(&mut self, event: &Event) {
        let batch = self.batch;
        if let Some(origin) = batch.key(event, KeyKind::ForkedFrom, Role::Refers) {
            self.key("session", origin);
        }
        if event.kind == EventKind::SpawnLink
            && let Some(agent) = batch.key(event, KeyKind::Agent, Role::Provides)
        {
            self.key("session", agent);
        }
        if event.kind == EventKind::DeclaredLink
            && let Some(message) = batch.key(event, KeyKind::Message, Role::Refers)
        {
            // Recorded traffic that names no session is known by its messages.
            self.key("message", message);
        }
        for role in [Role::Provides, Role::Refers] {
            if let Some(teammate) = batch.key(event, KeyKind::Teammate, role) {
                self.key("teammate", teammate);
            }
        }
        if batch.kinds.has(KeyKind::SpanLink) {
            for key in batch.keys_of(event).iter().filter(|key| key.kind == KeyKind::SpanLink) {
                if let Some((trace, _)) = batch.text.get(key.value).rsplit_once('/') {
                    self.push("session", trace.as_bytes(), true);
                }
            }
        }
        if event.kind == EventKind::ToolCall
            && self.table.is_spawn_tool(batch.text.get(event.name))
            && let Some(prompt) = batch.key(event, KeyKind::PromptHash, Role::Provides)
        {
            self.push("prompt", batch.text.get(prompt).as_bytes(), false);
        }
    }

    /// What a recorded request is known by: its conversation, and where it names no session, who called and when.
    fn request(&mut self, head: &Event, events: &[Event]) {
        let batch = self.batch;
        let Some(context) = events.iter().find(|event| event.kind == EventKind::Context) else { return };
        let of = |kind: KeyKind, role: Role| {
            let all = events.iter().flat_map(|event| batch.keys_of(event));
            all.filter(move |key| key.kind == kind && key.role == role).map(|key| key.value)
        };
        let before: Vec<Sym> = of(KeyKind::History, Role::Refers).collect();
        let shortest = before.iter().rev().take(SHORTEST_HISTORIES).copied();
        let own =
            of(KeyKind::History, Role::Provides).take(if before.len() < SHORTEST_HISTORIES { 2 } else { 0 });
        for history in shortest.chain(own).collect::<Vec<_>>() {
            self.key("history", history);
        }
        for role in [Role::Provides, Role::Refers] {
            for message in of(KeyKind::Message, role).collect::<Vec<_>>() {
                self.key("message", message);
            }
            for summary in of(KeyKind::Summary, role).collect::<Vec<_>>() {
                self.key("summary", summary);
            }
        }
        if batch.key(head, KeyKind::Session, Role::Refers).is_none() {
            for prompt in of(KeyKind::PromptHash, Role::Refers).collect::<Vec<_>>() {
                self.key("prompt", prompt);
            }
            let call = events.iter().find(|event| event.kind == EventKind::ModelCall);
            let ended = call.and_then(|call| batch.attr_int(call, AttrName::EndedAt));
            self.moments(head, context.at, ended.map_or(context.at, Timestamp::from_ns));
        }
    }

    /// Requests of one caller less than a pause apart share one of these.
    fn moments(&mut self, head: &Event, started: Timestamp, ended: Timestamp) {
        let caller =
            self.batch.key(head, KeyKind::User, Role::Refers).filter(|_| self.table.session_by_caller);
        let caller = self.batch.text.get(caller.unwrap_or_default()).as_bytes();
        let pause_ns = self.table.session_gap_ms.saturating_mul(1_000_000).max(1);
        let Some(first) = started.ns() else { return };
        let first = first.div_euclid(pause_ns);
        let last = ended.ns().map_or(first, |last| last.div_euclid(pause_ns));
        for window in first..=last.clamp(first, first.saturating_add(MOST_PAUSES)).saturating_add(1) {
            let hash = Id::of(&[b"moment", caller, &window.to_le_bytes()]).low();
            self.keys.push(FamilyKey { hash, joins: true });
        }
    }

    fn key(&mut self, sort: &str, value: Sym) {
        if !value.is_empty() {
            let text = self.batch.text.get(value);
            self.push(sort, text.as_bytes(), true);
        }
    }

    fn push(&mut self, sort: &str, value: &[u8], joins: bool) {
        self.keys.push(FamilyKey { hash: Id::of(&[sort.as_bytes(), value]).low(), joins });
    }
}
