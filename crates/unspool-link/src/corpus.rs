//! All records at hand: copies recognised, streams in order, sessions told apart.

use crate::conversations::{self, Conversations};
use crate::given::{self, Source};
use crate::grouping::{Group, group};
use crate::limits::Limits;
use crate::{Table, draft};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;
use unspool_model::issue::{Occurrence, add_up};
use unspool_model::prompt::text_hash;
use unspool_model::{
    Batch, Flow, GivenSession, Id, Issue, KeyKind, Outcome, RecordIx, Sym, Timestamp, Witness,
};

/// A batch ready for questions.
pub struct Corpus {
    /// The records and events.
    pub batch: Arc<Batch>,
    /// Names and windows.
    pub table: Table,
    /// The moment "running" is judged by; `NONE` = nothing runs.
    pub as_of: Timestamp,
    pub(crate) groups: Vec<Group>,
    /// All sessions, oldest first: the groups, and what exports gave.
    sessions: Vec<Source>,
    /// By record of a given session: what was odd while reading it.
    given_issues: FxHashMap<RecordIx, Vec<u32>>,
    pub(crate) stream_rank: Vec<u32>,
    /// Conversations in recorded traffic.
    pub(crate) conversations: Conversations,
    /// For each record, the first of its events.
    pub(crate) first_event: Vec<u32>,
    /// Hashes of the first messages of internal agents, as far as any record holds them.
    pub(crate) internal_prompts: Vec<Sym>,
    pub(crate) limits: Limits,
    /// Whether any source names its steps and runs; most do not, and need not be searched for them.
    pub(crate) has_names: bool,
    counts: Counts,
}

/// What became of the records. `records` is the sum of the others.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counts {
    /// All records read.
    pub records: u64,
    /// Read and kept.
    pub stored: u64,
    /// Seen before.
    pub duplicate: u64,
    /// Not readable; kept as bytes.
    pub rejected: u64,
}

impl Corpus {
    /// Recognises copies and sessions.
    pub fn new(mut batch: Batch, table: Table, as_of: Timestamp) -> Corpus {
        let stream_rank = rank_streams(&batch);
        mark_duplicates(&mut batch, &stream_rank);
        let first_event = first_events(&batch);
        let conversations = conversations::resolve(&mut batch, &table, &stream_rank);
        let groups = group(&batch, &table, &conversations, &stream_rank, &first_event);
        let sessions = given::sessions(&mut batch, &groups);
        let given_issues = given::issues(&batch);
        let counts = count(&batch);
        let hashes = table.internal_first_prompts.iter().filter_map(|prompt| text_hash(prompt));
        let internal_prompts = hashes.filter_map(|hash| batch.text.find(&hash)).collect();
        let limits = Limits::new(&mut batch.text);
        batch.text.forget_lookup();
        let has_names = batch.keys.iter().any(|key| matches!(key.kind, KeyKind::Step | KeyKind::Run));
        Corpus {
            batch: Arc::new(batch),
            table,
            as_of,
            groups,
            sessions,
            given_issues,
            stream_rank,
            conversations,
            first_event,
            internal_prompts,
            limits,
            has_names,
            counts,
        }
    }

    /// How many sessions there are.
    pub fn len(&self) -> usize {
        self.sessions.len()
    }

    /// Whether there are no sessions.
    pub fn is_empty(&self) -> bool {
        self.sessions.is_empty()
    }

    /// What became of the records.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// The flow of one session, computed anew; one that came linked is handed out as it came.
    pub fn flow(&self, session: usize) -> Flow {
        match self.sessions.get(session) {
            Some(Source::Group(n)) => draft::flow(self, &self.groups[*n]),
            Some(Source::Given(n)) => self.given_flow(&self.batch.given.sessions[*n]),
            None => Flow::default(),
        }
    }

    fn given_flow(&self, given: &GivenSession) -> Flow {
        let read = self.given_issues.get(&given.record).into_iter().flatten();
        let own = self.add_up(read.filter_map(|n| self.batch.issues.get(*n as usize)).copied());
        let mut flow = given.flow.clone();
        flow.issues = given::join_issues(own, &flow.issues, &self.batch.text);
        flow
    }

    /// All flows, oldest first.
    pub fn flows(&self) -> impl Iterator<Item = Flow> {
        (0..self.len()).map(|session| self.flow(session))
    }

    /// When a session began and the ids its sources gave it, without linking it.
    pub fn outline(&self, session: usize) -> (Timestamp, Vec<&str>) {
        let Some(source) = self.sessions.get(session) else { return (Timestamp::NONE, Vec::new()) };
        let (started, natives) = given::outline(*source, &self.batch, &self.groups);
        (started, natives.iter().map(|native| self.batch.text.get(*native)).collect())
    }

    /// The id of a session, without linking it.
    pub fn session_id(&self, session: usize) -> Id {
        match self.sessions.get(session) {
            Some(Source::Group(n)) => self.groups[*n].id(&self.batch),
            Some(Source::Given(n)) => self.batch.given.sessions[*n].flow.session.id,
            None => Id::default(),
        }
    }

    /// The records of a session that say something of it, in their order; copies elsewhere are not among them.
    pub fn records_of(&self, session: usize) -> Vec<RecordIx> {
        let mut records: Vec<RecordIx> = match self.sessions.get(session) {
            Some(Source::Group(n)) => {
                let group = &self.groups[*n];
                let told = group.events.iter().map(|event| self.batch.events[*event as usize].record);
                let odd = group.issues.iter().filter_map(|n| self.batch.issues.get(*n as usize));
                told.chain(odd.map(|issue| issue.record)).collect()
            }
            Some(Source::Given(n)) => vec![self.batch.given.sessions[*n].record],
            None => Vec::new(),
        };
        records.retain(|record| (*record as usize) < self.batch.records.len());
        records.sort_unstable();
        records.dedup();
        records
    }

    /// Whether a record says something of some session.
    pub fn is_told(&self, record: RecordIx) -> bool {
        self.first_event.get(record as usize).is_some_and(|event| *event != u32::MAX)
            || self.batch.given.sessions.iter().any(|given| given.record == record)
    }

    /// Issues that belong to no session, in the order of the catalogue.
    pub fn loose_issues(&self) -> Vec<Issue> {
        let own = self.add_up(self.loose());
        given::join_issues(own, &self.batch.given.issues, &self.batch.text)
    }

    /// The same, apart by what `source` makes of the stream they were seen in; what was seen in none stands with the first stream.
    pub fn loose_issues_by<'a>(&'a self, source: impl Fn(u32) -> &'a str) -> BTreeMap<&'a str, Vec<Issue>> {
        let mut apart: BTreeMap<&str, Vec<Occurrence>> = BTreeMap::new();
        for one in self.loose() {
            let stream =
                self.batch.records.get(one.record as usize).map_or(one.stream, |record| record.stream);
            let stream = if (stream as usize) < self.batch.streams.len() { stream } else { 0 };
            apart.entry(source(stream)).or_default().push(one);
        }
        let mut issues: BTreeMap<&str, Vec<Issue>> =
            apart.into_iter().map(|(name, all)| (name, self.add_up(all.into_iter()))).collect();
        if !self.batch.given.issues.is_empty() {
            let first = issues.entry(source(0)).or_default();
            *first = given::join_issues(std::mem::take(first), &self.batch.given.issues, &self.batch.text);
        }
        issues
    }

    fn loose(&self) -> impl Iterator<Item = Occurrence> {
        let of_groups = self.groups.iter().flat_map(|group| &group.issues);
        let of_given = self.given_issues.values().flatten();
        let placed: FxHashSet<u32> = of_groups.chain(of_given).copied().collect();
        let all = (0_u32..).zip(self.batch.issues.iter());
        all.filter(move |(n, one)| !placed.contains(n) && self.counts_issue(one)).map(|(_, one)| *one)
    }

    /// Everything that was odd while reading, whatever session it belongs to.
    pub fn reading_issues(&self) -> Vec<Issue> {
        self.add_up(self.batch.issues.iter().copied().filter(|one| self.counts_issue(one)))
    }

    /// What is odd about a copy was counted with the original.
    fn counts_issue(&self, one: &Occurrence) -> bool {
        self.batch.records.get(one.record as usize).is_none_or(|record| record.outcome != Outcome::Duplicate)
    }

    pub(crate) fn add_up(&self, occurrences: impl Iterator<Item = Occurrence>) -> Vec<Issue> {
        let place = |record: RecordIx| {
            let record = &self.batch.records[record as usize];
            (self.stream_rank[record.stream as usize], record.ordinal)
        };
        add_up(occurrences, &self.batch.text, place)
    }

    /// The record with this id.
    pub fn find_record(&self, id: Id) -> Option<RecordIx> {
        let found = self.batch.records.iter().position(|r| r.id == id && r.outcome != Outcome::Duplicate)?;
        u32::try_from(found).ok()
    }
}

/// The position of each stream among all: by its first moment, its last, what its format reads from its name, and its
/// content; those without a moment come last. Only between equal files does the name itself decide whose copy counts.
fn rank_streams(batch: &Batch) -> Vec<u32> {
    let mut span = vec![(Timestamp::NONE, Timestamp::NONE); batch.streams.len()];
    for event in &batch.events {
        let (first, last) = &mut span[batch.records[event.record as usize].stream as usize];
        *first = first.earlier(event.at);
        *last = last.later(event.at);
    }
    let mut order: Vec<usize> = (0..batch.streams.len()).collect();
    unspool_model::sort_by_meaning(&mut order, |n| {
        let (stream, (first, last)) = (&batch.streams[*n], span[*n]);
        let (order, name) = (batch.text.get(stream.order), batch.text.get(stream.name));
        // At one moment, what was said comes before what was measured of it, and notices come last.
        let sort = match stream.witness {
            Witness::Transcript => 0,
            Witness::Wire => 1,
            Witness::Telemetry => 2,
            Witness::Notice => 3,
            Witness::Answer => 4,
        };
        (sort, !first.is_some(), first, last, order, stream.content, name)
    });
    let mut rank = vec![0; order.len()];
    for (position, stream) in order.into_iter().enumerate() {
        rank[stream] = u32::try_from(position).unwrap_or(u32::MAX);
    }
    rank
}

/// Of records with one id, the longest counts, and of equal ones the first in the order of streams.
fn mark_duplicates(batch: &mut Batch, stream_rank: &[u32]) {
    let mut first: FxHashMap<Id, RecordIx> = FxHashMap::default();
    first.reserve(batch.records.len());
    let place = |batch: &Batch, n: RecordIx| {
        let record = &batch.records[n as usize];
        (Reverse(record.len), stream_rank[record.stream as usize], record.ordinal)
    };
    for n in 0..batch.records.len() {
        let record = batch.records[n];
        let n = u32::try_from(n).unwrap_or(u32::MAX);
        match first.get(&record.id) {
            None => _ = first.insert(record.id, n),
            Some(other) if place(batch, n) < place(batch, *other) => {
                batch.records[*other as usize].outcome = Outcome::Duplicate;
                first.insert(record.id, n);
            }
            Some(_) => batch.records[n as usize].outcome = Outcome::Duplicate,
        }
    }
}

fn first_events(batch: &Batch) -> Vec<u32> {
    let mut first = vec![u32::MAX; batch.records.len()];
    for (n, event) in batch.events.iter().enumerate().rev() {
        first[event.record as usize] = u32::try_from(n).unwrap_or(u32::MAX);
    }
    first
}

fn count(batch: &Batch) -> Counts {
    let mut counts = Counts { records: batch.records.len() as u64, ..Counts::default() };
    for record in &batch.records {
        match record.outcome {
            Outcome::Stored => counts.stored += 1,
            Outcome::Duplicate => counts.duplicate += 1,
            Outcome::Rejected => counts.rejected += 1,
        }
    }
    counts
}
