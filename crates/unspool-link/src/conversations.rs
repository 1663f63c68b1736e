//! Conversations in recorded traffic: which request goes on from which.
//!
//! An API remembers nothing, so every request repeats its conversation. A request goes on from the latest earlier one whose
//! whole history, best with its answer, is the longest beginning of its own. What was not recorded is stepped over. Compacted
//! conversations go on from the answer that wrote their summary. Where nobody names a session, a pause or another
//! caller ends it.
//!
//! Never: a request that came later, or too long before; a helper's request, which only looks like the first of a
//! conversation.

use crate::Table;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::hash_map::Entry;
use unspool_model::{
    AttrName, Batch, Code, Event, EventFlags, EventKind, Id, KeyKind, Outcome, RecordIx, RequestKind, Role,
    Sym, Timestamp, Witness,
};

/// What recorded traffic says about who talks with whom.
#[derive(Default)]
pub(crate) struct Conversations {
    /// The conversation of each recorded request, by record.
    of_record: FxHashMap<RecordIx, Sym>,
    /// The request each request goes on from, by record.
    parents: FxHashMap<RecordIx, RecordIx>,
    /// Sessions found for requests that name none, by record.
    sessions: FxHashMap<RecordIx, Sym>,
    /// What a helper's request is for, by record.
    helpers: FxHashMap<RecordIx, Sym>,
}

impl Conversations {
    /// Whether no traffic was recorded.
    pub(crate) fn is_empty(&self) -> bool {
        self.of_record.is_empty()
    }

    /// The conversation a recorded request belongs to.
    pub(crate) fn of(&self, record: RecordIx) -> Option<Sym> {
        self.of_record.get(&record).copied()
    }

    /// The session found for a request that names none.
    pub(crate) fn session(&self, record: RecordIx) -> Option<Sym> {
        self.sessions.get(&record).copied()
    }

    /// What a helper's request is for.
    pub(crate) fn helper(&self, record: RecordIx) -> Option<Sym> {
        self.helpers.get(&record).copied()
    }

    /// Each request that goes on from another, with that other.
    pub(crate) fn links(&self) -> impl Iterator<Item = (RecordIx, RecordIx)> + '_ {
        self.parents.iter().map(|(child, parent)| (*child, *parent))
    }

    /// The request a request goes on from.
    pub(crate) fn parent(&self, record: RecordIx) -> Option<RecordIx> {
        self.parents.get(&record).copied()
    }
}

/// One recorded request.
struct Seen {
    record: RecordIx,
    /// The event that carries its conversation; further ones may follow it.
    event: u32,
    started: Timestamp,
    ended: Timestamp,
    /// The whole history, and that with the answer.
    whole: Sym,
    answered: Sym,
    histories: u32,
    message: Sym,
    exchange: Sym,
    system: Sym,
    session: Sym,
    agent: Sym,
    user: Sym,
    purpose: Sym,
    failed: bool,
    /// It may go on from a history that it does not name.
    left_out: bool,
}

pub(crate) fn resolve(batch: &mut Batch, table: &Table, rank: &[u32]) -> Conversations {
    let mut seen = collect(batch);
    let mut found = Conversations::default();
    if seen.is_empty() {
        return found;
    }
    // A parent has the shorter history, where clocks do not tell.
    seen.sort_by_key(|one| {
        let record = &batch.records[one.record as usize];
        (one.started, one.histories, rank[record.stream as usize], record.ordinal)
    });
    let roots = link(batch, table, &seen, &mut found);
    note_left_out(batch, &seen, &roots);
    for (one, root) in seen.iter().zip(&roots) {
        let id = batch.records[seen[*root].record as usize].id;
        let name = batch.text.intern(&format!("conversation-{}", id.short()));
        found.of_record.insert(one.record, name);
    }
    sessions(batch, table, &seen, &roots, &mut found);
    found
}

/// Says which conversations seem to begin with a long history: what they go on from may be one they do not name.
fn note_left_out(batch: &mut Batch, seen: &[Seen], roots: &[usize]) {
    let begins = seen.iter().zip(roots).enumerate().filter(|(n, (_, root))| n == *root);
    for (_, (one, _)) in begins.filter(|(_, (one, _))| one.left_out) {
        let limit = batch.text.intern("max_near_histories");
        let stream = batch.records[one.record as usize].stream;
        batch.issues.add(Code::LimitReached, limit, stream, Some(one.record));
    }
}

/// What a client asks for to shorten its own conversation is part of it; other helpers stand apart.
fn is_helper(batch: &Batch, purpose: Sym) -> bool {
    !purpose.is_empty() && !is_compaction(batch, purpose)
}

fn is_compaction(batch: &Batch, purpose: Sym) -> bool {
    batch.text.get(purpose) == RequestKind::Compaction.name()
}

fn collect(batch: &Batch) -> Vec<Seen> {
    let mut seen: Vec<Seen> = Vec::new();
    if batch.streams.iter().all(|stream| stream.witness != Witness::Wire) {
        return seen;
    }
    let mut record = u32::MAX;
    let mut head: Option<&Event> = None;
    let mut call: Option<&Event> = None;
    for (n, event) in (0_u32..).zip(&batch.events) {
        if event.record != record {
            (record, head, call) = (event.record, Some(event), None);
        }
        if event.kind == EventKind::ModelCall {
            call = Some(event);
        }
        let provided = || {
            batch
                .keys_of(event)
                .iter()
                .filter(|key| key.kind == KeyKind::History && key.role == Role::Provides)
        };
        let further = seen.last().is_some_and(|last| last.record == record);
        if event.kind != EventKind::Context || batch.records[record as usize].outcome != Outcome::Stored {
            continue;
        }
        let refers = batch
            .keys_of(event)
            .iter()
            .filter(|key| key.kind == KeyKind::History && key.role == Role::Refers);
        let histories = u32::try_from(refers.count()).unwrap_or(u32::MAX);
        if further {
            if let Some(last) = seen.last_mut() {
                last.histories = last.histories.saturating_add(histories);
            }
            continue;
        }
        if batch.stream_of(record).witness != Witness::Wire {
            continue;
        }
        let of_head = |kind| head.and_then(|head| batch.key(head, kind, Role::Refers)).unwrap_or_default();
        let ended = call.and_then(|call| batch.attr_int(call, AttrName::EndedAt));
        seen.push(Seen {
            record,
            event: n,
            started: event.at,
            ended: ended.map_or(event.at, Timestamp::from_ns),
            whole: provided().next().map(|key| key.value).unwrap_or_default(),
            answered: provided().nth(1).map(|key| key.value).unwrap_or_default(),
            histories,
            message: call
                .and_then(|call| batch.key(call, KeyKind::Message, Role::Provides))
                .unwrap_or_default(),
            exchange: call
                .and_then(|call| batch.key(call, KeyKind::Exchange, Role::Provides))
                .unwrap_or_default(),
            system: batch.key(event, KeyKind::System, Role::Refers).unwrap_or_default(),
            session: of_head(KeyKind::Session),
            agent: of_head(KeyKind::Agent),
            user: of_head(KeyKind::User),
            purpose: batch.attr_text(event, AttrName::Purpose).unwrap_or_default(),
            failed: event.flags.has(EventFlags::API_ERROR),
            left_out: batch.attr_int(event, AttrName::HistoriesLeftOut).is_some(),
        });
    }
    seen
}

/// Requests so far, by what later ones may say of them.
#[derive(Default)]
struct Index {
    /// By their whole history with their answer, and without.
    answered: FxHashMap<Sym, Vec<usize>>,
    whole: FxHashMap<Sym, Vec<usize>>,
    /// Failed attempts that were not tried again yet, by their whole history.
    failed: FxHashMap<Sym, Vec<usize>>,
    messages: FxHashMap<Sym, usize>,
    summaries: FxHashMap<Sym, Vec<usize>>,
    /// System prompts of clients that repeat answers as they were given.
    faithful: FxHashSet<Sym>,
}

/// Finds each request's parent; gives the first request of each one's conversation.
fn link(batch: &Batch, table: &Table, seen: &[Seen], found: &mut Conversations) -> Vec<usize> {
    let mut index = Index { faithful: faithful(batch, seen), ..Index::default() };
    let mut roots: Vec<usize> = Vec::with_capacity(seen.len());
    let mut parents: Vec<Option<usize>> = Vec::with_capacity(seen.len());
    for (n, one) in seen.iter().enumerate() {
        if is_helper(batch, one.purpose) {
            found.helpers.insert(one.record, one.purpose);
            roots.push(n);
            parents.push(None);
            continue;
        }
        let same = repeated(table, seen, &mut index, one);
        let parent = match same {
            Some(first) => parents[first],
            None => parent(batch, table, seen, &index, n),
        };
        let root = match (same, parent) {
            (Some(first), _) => roots[first],
            (None, Some(parent)) => roots[parent],
            (None, None) => n,
        };
        if let Some(parent) = parent {
            found.parents.insert(one.record, seen[parent].record);
        }
        parents.push(parent);
        roots.push(root);
        if !one.whole.is_empty() {
            index.whole.entry(one.whole).or_default().push(n);
            if one.failed {
                index.failed.entry(one.whole).or_default().push(n);
            }
        }
        if !one.answered.is_empty() {
            index.answered.entry(one.answered).or_default().push(n);
        }
        if !one.message.is_empty() {
            index.messages.entry(one.message).or_insert(n);
        }
        for key in batch.keys_of(&batch.events[one.event as usize]) {
            if key.kind == KeyKind::Summary && key.role == Role::Provides {
                index.summaries.entry(key.value).or_default().push(n);
            }
        }
    }
    compacted(batch, table, seen, &index, &mut roots, found);
    roots
}

/// Clients, by their system prompts, that are seen to repeat an answer as it was given.
fn faithful(batch: &Batch, seen: &[Seen]) -> FxHashSet<Sym> {
    let answered: FxHashSet<Sym> =
        seen.iter().map(|one| one.answered).filter(|sym| !sym.is_empty()).collect();
    let repeats = |one: &&Seen| histories(batch, one).any(|history| answered.contains(&history));
    seen.iter().filter(repeats).map(|one| one.system).collect()
}

/// Conversations that open with a summary go on from the answer that wrote it, if nothing else is known to come before them.
fn compacted(
    batch: &Batch,
    table: &Table,
    seen: &[Seen],
    index: &Index,
    roots: &mut [usize],
    found: &mut Conversations,
) {
    let mut moved: FxHashMap<usize, usize> = FxHashMap::default();
    let settle = |moved: &FxHashMap<usize, usize>, mut root: usize| {
        while let Some(next) = moved.get(&root) {
            root = *next;
        }
        root
    };
    for n in 0..seen.len() {
        let one = &seen[n];
        if roots[n] != n || is_helper(batch, one.purpose) {
            continue;
        }
        let keys = batch.keys_of(&batch.events[one.event as usize]).iter();
        let mut summaries = keys.filter(|key| key.kind == KeyKind::Summary && key.role == Role::Refers);
        let written = summaries.find_map(|key| {
            let summary = key.value;
            let list = index.summaries.get(&summary)?;
            let fits = |other: &&usize| {
                in_window(table, &seen[**other], one)
                    && agree(&seen[**other], one)
                    && settle(&moved, roots[**other]) != n
            };
            list.iter().rev().find(fits).copied()
        });
        if let Some(written) = written {
            moved.insert(n, settle(&moved, roots[written]));
            found.parents.insert(one.record, seen[written].record);
        }
    }
    for root in roots {
        *root = settle(&moved, *root);
    }
}

/// Whether a request is early enough, and not too early, for another to go on from it.
fn in_window(table: &Table, earlier: &Seen, later: &Seen) -> bool {
    let waited = later.started.ms_since(earlier.started);
    waited.is_none_or(|ms| (0..=table.conversation_window_ms).contains(&ms))
}

/// An earlier recording of the same request: the same answer, or an attempt that failed shortly before and was not tried
/// again yet.
fn repeated(table: &Table, seen: &[Seen], index: &mut Index, one: &Seen) -> Option<usize> {
    let same = index.messages.get(&one.message).filter(|_| !one.message.is_empty());
    // Two exchanges are two requests, though an API may answer both with one id.
    if let Some(same) = same.filter(|same| one.exchange.is_empty() || seen[**same].exchange.is_empty()) {
        return Some(*same);
    }
    let list = index.failed.get_mut(&one.whole)?;
    let fits = |n: &usize| {
        let other = &seen[*n];
        let waited = one.started.ms_since(other.ended);
        waited.is_none_or(|ms| (0..=table.session_gap_ms).contains(&ms))
            && agree(other, one)
            && other.system == one.system
    };
    list.iter().rposition(fits).map(|at| list.remove(at))
}

/// Whether two requests may be of one conversation by what they say of themselves.
fn agree(a: &Seen, b: &Seen) -> bool {
    let fits = |a: Sym, b: Sym| a.is_empty() || b.is_empty() || a == b;
    fits(a.session, b.session) && a.agent == b.agent
}

fn parent(batch: &Batch, table: &Table, seen: &[Seen], index: &Index, n: usize) -> Option<usize> {
    let one = &seen[n];
    let first = &batch.events[one.event as usize];
    if let Some(previous) = batch.key(first, KeyKind::Message, Role::Refers)
        && let Some(parent) = index.messages.get(&previous)
    {
        return Some(*parent);
    }
    for history in histories(batch, one) {
        // The same words under another system prompt are another's, unless the answer was the same, too.
        let answered = index.answered.get(&history);
        if let Some(best) = latest(seen, one, answered, |other| in_window(table, other, one)) {
            return Some(best);
        }
        let fits = |other: &Seen| {
            let same_system = other.system == one.system || is_compaction(batch, one.purpose);
            // Two conversations may open alike; what the model answered tells them apart.
            let other_answer =
                other.histories == 0 && !other.answered.is_empty() && index.faithful.contains(&one.system);
            in_window(table, other, one) && same_system && !other_answer
        };
        if let Some(best) = latest(seen, one, index.whole.get(&history), fits) {
            return Some(best);
        }
    }
    None
}

/// The latest request that fits, best one of the same system prompt and the same caller. It is mostly the last of the list,
/// and the others need no look then: many requests may begin alike.
fn latest(
    seen: &[Seen],
    one: &Seen,
    list: Option<&Vec<usize>>,
    fits: impl Fn(&Seen) -> bool,
) -> Option<usize> {
    let mut best: Option<((bool, bool), usize)> = None;
    for n in list?.iter().rev() {
        let other = &seen[*n];
        let worth = (other.system == one.system, other.user == one.user);
        if best.is_none_or(|(known, _)| worth > known) && agree(other, one) && fits(other) {
            best = Some((worth, *n));
            if worth == (true, true) {
                break;
            }
        }
    }
    best.map(|(_, n)| n)
}

/// The histories a request may go on from, the longest first.
fn histories<'b>(batch: &'b Batch, one: &Seen) -> impl Iterator<Item = Sym> + 'b {
    let record = one.record;
    let events = batch.events[one.event as usize..].iter().take_while(move |event| event.record == record);
    events
        .filter(|event| event.kind == EventKind::Context)
        .flat_map(|event| batch.keys_of(event))
        .filter(|key| key.kind == KeyKind::History && key.role == Role::Refers)
        .map(|key| key.value)
}

/// Sessions of requests that name none: that of their conversation if any of it names one, else those of one caller
/// without a long pause between them.
fn sessions(batch: &mut Batch, table: &Table, seen: &[Seen], roots: &[usize], found: &mut Conversations) {
    let mut named: FxHashMap<usize, Sym> = FxHashMap::default();
    for (one, root) in seen.iter().zip(roots) {
        if !one.session.is_empty() {
            named.entry(*root).or_insert(one.session);
        }
    }
    let mut by_user: FxHashMap<Sym, Vec<usize>> = FxHashMap::default();
    let mut users: Vec<Sym> = Vec::new();
    for (n, one) in seen.iter().enumerate().filter(|(_, one)| one.session.is_empty()) {
        if let Some(session) = named.get(&roots[n]) {
            found.sessions.insert(one.record, *session);
            continue;
        }
        let user = if table.session_by_caller { one.user } else { Sym::EMPTY };
        let list = by_user.entry(user).or_default();
        if list.is_empty() {
            users.push(user);
        }
        list.push(n);
    }
    let mut of_stream: FxHashMap<u32, Sym> = FxHashMap::default();
    for user in users {
        let mut reached = Timestamp::NONE;
        let mut current = Sym::EMPTY;
        for n in by_user[&user].iter().filter(|n| seen[**n].started.is_some()) {
            let one = &seen[*n];
            let pause = one.started.ms_since(reached).unwrap_or(0);
            if current.is_empty() || pause > table.session_gap_ms {
                current = named_by(batch, one);
            }
            reached = reached.later(one.ended);
            of_stream.entry(batch.records[one.record as usize].stream).or_insert(current);
            found.sessions.insert(one.record, current);
        }
    }
    // What has no time is of the first session of its stream.
    let untimed = seen.iter().filter(|one| one.session.is_empty() && !one.started.is_some());
    for one in untimed {
        if let Entry::Vacant(slot) = found.sessions.entry(one.record) {
            let stream = batch.records[one.record as usize].stream;
            slot.insert(*of_stream.entry(stream).or_insert_with(|| named_by(batch, one)));
        }
    }
}

fn named_by(batch: &mut Batch, first: &Seen) -> Sym {
    let id = batch.records[first.record as usize].id;
    batch.text.intern(&name_by(id))
}

/// The name of a session that nobody names: by its first request.
pub(crate) fn name_by(first: Id) -> String {
    format!("log-{}", first.short())
}
