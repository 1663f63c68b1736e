//! Linked families for whoever asks, and the way back to their bytes.
//!
//! In: a session's id. Out: its flow as it is now, and the bytes of its records. What was published lately is at hand; the rest is read from
//! the log and linked again.

use super::decode::decode;
use super::files::{self, Version};
use super::numbers::Numbers;
use super::parts::Parts;
use super::{Shared, held, streams};
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use unspool_link::{Corpus, FamilyKey, Piece, Table, pieces};
use unspool_model::{Batch, Flow, Id, RecordIx};
use unspool_store::{Families, FamilyId, GroundError, Log, LogError, StreamPart};
use unspool_view::search::NativeBytes;

/// A session as it was at one moment. It never changes.
pub struct Snapshot {
    /// All records of its family.
    pub corpus: Arc<Corpus>,
    /// Which session of them.
    pub session: usize,
    /// The session.
    pub flow: Arc<Flow>,
    /// Another one whenever the session may be different, in this process and the next.
    pub version: u64,
    shared: Arc<Log>,
    parts: Arc<BTreeMap<String, Vec<StreamPart>>>,
}

impl Snapshot {
    /// The way back to the bytes of its records.
    pub fn natives(&self) -> NativeLog<'_> {
        NativeLog { log: &self.shared, parts: &self.parts, batch: &self.corpus.batch, stream: None }
    }

    /// All bytes of a stream, by the name its records know it by.
    pub fn stream(&self, name: &str) -> Option<Vec<u8>> {
        stream(&self.shared, &self.parts, name)
    }

    /// Where in the log a record lies that arrived whole, and not as a part of a file.
    pub fn position(&self, record: RecordIx) -> Option<u64> {
        let batch = &self.corpus.batch;
        let stream = batch.streams.get(batch.records.get(record as usize)?.stream as usize)?;
        let name = batch.text.get(stream.name);
        if self.parts.contains_key(name) { None } else { streams::position(name) }
    }

    /// The name a stream is read by, given the one its records know it by: that of a file is the same for all of its versions.
    pub fn read_name<'a>(&self, name: &'a str) -> &'a str {
        if self.parts.contains_key(name) { files::path_of(name) } else { name }
    }
}

fn stream(log: &Log, parts: &BTreeMap<String, Vec<StreamPart>>, name: &str) -> Option<Vec<u8>> {
    match parts.get(name) {
        Some(parts) => Version { log, parts: parts.iter(), seen: 0 }.whole().ok(),
        None => Some(log.read(streams::position(name)?).ok()??.bytes),
    }
}

/// Reads bytes of records from the log.
pub struct NativeLog<'a> {
    log: &'a Log,
    parts: &'a BTreeMap<String, Vec<StreamPart>>,
    batch: &'a Batch,
    /// The stream that was read last.
    stream: Option<(u32, Vec<u8>)>,
}

impl NativeBytes for NativeLog<'_> {
    fn bytes(&mut self, record: RecordIx) -> Option<&[u8]> {
        let record = self.batch.records.get(record as usize)?;
        if self.stream.as_ref().is_none_or(|(stream, _)| *stream != record.stream) {
            let name = self.batch.text.get(self.batch.streams.get(record.stream as usize)?.name);
            self.stream = Some((record.stream, stream(self.log, self.parts, name)?));
        }
        let (_, whole) = self.stream.as_ref()?;
        let start = usize::try_from(record.offset).ok()?;
        whole.get(start..start.checked_add(record.len as usize)?)
    }

    fn readable(&mut self, record: RecordIx) -> Option<Cow<'_, str>> {
        self.bytes(record).map(unspool_formats::readable)
    }
}

/// A linked family.
#[derive(Clone)]
pub(crate) struct Linked {
    pub(crate) corpus: Arc<Corpus>,
    /// Where the parts of its files lie.
    pub(crate) parts: Arc<BTreeMap<String, Vec<StreamPart>>>,
    /// Flows that were made already because somebody is going to ask for them.
    flows: Arc<[Arc<Flow>]>,
    /// Those of its sessions that somebody asked for.
    made: Arc<Mutex<FxHashMap<usize, Arc<Snapshot>>>>,
}

impl Linked {
    pub(crate) fn new(
        corpus: Corpus,
        parts: BTreeMap<String, Vec<StreamPart>>,
        flows: Vec<Arc<Flow>>,
    ) -> Linked {
        Linked { corpus: Arc::new(corpus), parts: Arc::new(parts), flows: flows.into(), made: Arc::default() }
    }

    /// One of its sessions; made once.
    fn session(&self, n: usize, version: u64, log: &Arc<Log>) -> Arc<Snapshot> {
        if let Some(made) = held(&self.made).get(&n) {
            return Arc::clone(made);
        }
        let snapshot = Arc::new(Snapshot {
            flow: self.flows.get(n).cloned().unwrap_or_else(|| Arc::new(self.corpus.flow(n))),
            session: n,
            version,
            corpus: Arc::clone(&self.corpus),
            shared: Arc::clone(log),
            parts: Arc::clone(&self.parts),
        });
        Arc::clone(held(&self.made).entry(n).or_insert(snapshot))
    }
}

pub(crate) struct Snapshots {
    state: Mutex<State>,
    max_bytes: usize,
    numbers: Arc<Numbers>,
}

#[derive(Default)]
struct State {
    linked: FxHashMap<FamilyId, Kept>,
    weight: usize,
    uses: u64,
    /// `uses` at the last rest.
    rested: u64,
    /// Grows with everything that is published or kept.
    published: u64,
}

struct Kept {
    linked: Linked,
    weight: usize,
    used: u64,
    version: u64,
}

impl Snapshots {
    /// Versions are numbers that only ever grow.
    pub(crate) fn new(max_bytes: usize, numbers: &Arc<Numbers>) -> Snapshots {
        let state = State { published: numbers.first(), ..State::default() };
        Snapshots { state: Mutex::new(state), max_bytes, numbers: Arc::clone(numbers) }
    }

    pub(crate) fn publish(&self, family: FamilyId, linked: Linked) {
        let mut state = held(&self.state);
        state.published += 1;
        self.numbers.used(state.published);
        state.put(family, linked, self.max_bytes);
    }

    /// Lets go of everything.
    pub(crate) fn clear(&self) {
        let mut state = held(&self.state);
        state.published += 1;
        state.linked.clear();
        state.weight = 0;
    }

    /// A family became part of another one.
    pub(crate) fn drop(&self, family: FamilyId) {
        let mut state = held(&self.state);
        state.published += 1;
        state.remove(family);
    }

    /// Whether anything is kept.
    pub(crate) fn are_kept(&self) -> bool {
        !held(&self.state).linked.is_empty()
    }

    /// Lets go of what nobody has asked for since the last rest.
    pub(crate) fn rest(&self) {
        let mut state = held(&self.state);
        let uses = state.uses;
        let since = std::mem::replace(&mut state.rested, uses);
        let idle: Vec<FamilyId> =
            state.linked.iter().filter(|(_, kept)| kept.used <= since).map(|(family, _)| *family).collect();
        for family in idle {
            state.remove(family);
        }
        state.linked.shrink_to_fit();
    }

    /// What is kept of a family and its version, or how much was published so far.
    fn get(&self, family: FamilyId) -> Result<(Linked, u64), u64> {
        let mut state = held(&self.state);
        state.uses += 1;
        let (uses, published) = (state.uses, state.published);
        let found = state.linked.get_mut(&family).ok_or(published)?;
        found.used = uses;
        Ok((found.linked.clone(), found.version))
    }

    /// Keeps what somebody read from the log, unless something newer may have been published meanwhile. Its version.
    fn offer(&self, family: FamilyId, linked: &Linked, published: u64) -> u64 {
        let mut state = held(&self.state);
        let is_newest = state.published == published;
        state.published += 1;
        self.numbers.used(state.published);
        if is_newest {
            state.put(family, linked.clone(), self.max_bytes);
        }
        state.published
    }
}

impl State {
    fn put(&mut self, family: FamilyId, linked: Linked, most: usize) {
        self.remove(family);
        let weight = linked.corpus.batch.weight();
        self.uses += 1;
        self.weight += weight;
        self.linked.insert(family, Kept { linked, weight, used: self.uses, version: self.published });
        if self.weight > most {
            let mut order: Vec<(u64, FamilyId)> =
                self.linked.iter().map(|(family, kept)| (kept.used, *family)).collect();
            order.sort_unstable();
            for (_, oldest) in order {
                if self.weight <= most / 4 * 3 || oldest == family {
                    break;
                }
                self.remove(oldest);
            }
        }
    }

    fn remove(&mut self, family: FamilyId) {
        if let Some(kept) = self.linked.remove(&family) {
            self.weight -= kept.weight;
        }
    }
}

impl Shared {
    /// The bytes of a record that an issue names and no session has.
    pub(crate) fn loose_record(&self, record: Id) -> Result<Option<Vec<u8>>, GroundError> {
        self.heed(self.find_loose_record(record))
    }

    fn find_loose_record(&self, record: Id) -> Result<Option<Vec<u8>>, GroundError> {
        let mut families = held(&self.families);
        families.follow()?;
        let known = families.loose()?.into_iter().find(|(_, issue)| issue.records.contains(&record));
        drop(families);
        let Some((family, _)) = known else { return Ok(None) };
        let read = read_family(&self.log, &self.families, family, &self.options.table)?;
        let batch = read.parts.into_batch();
        let found = (0..).zip(&batch.records).find(|(_, one)| one.id == record).map(|(n, _)| n);
        let mut natives = NativeLog { log: &self.log, parts: &read.files, batch: &batch, stream: None };
        Ok(found.and_then(|n| natives.bytes(n)).map(<[u8]>::to_vec))
    }

    pub(crate) fn snapshot(&self, session: Id) -> Result<Option<Arc<Snapshot>>, GroundError> {
        self.heed(self.find_snapshot(session))
    }

    fn find_snapshot(&self, session: Id) -> Result<Option<Arc<Snapshot>>, GroundError> {
        let mut family = self.family_of(session)?;
        while let Some(known) = family {
            let (linked, version) = match self.snapshots.get(known) {
                Ok(found) => found,
                Err(published) => {
                    let read = read_family(&self.log, &self.families, known, &self.options.table)?;
                    family = self.family_of(session)?;
                    if family != Some(known) {
                        // It became part of another one meanwhile.
                        continue;
                    }
                    if !read.damaged.is_empty() {
                        self.notices.lose_of([session.show('x')]);
                        self.notice_damaged(&read.damaged);
                    }
                    let now = (self.options.now)();
                    let corpus = Corpus::new(read.parts.into_batch(), self.options.table.clone(), now);
                    let linked = Linked::new(corpus, read.files, Vec::new());
                    let version = self.snapshots.offer(known, &linked, published);
                    (linked, version)
                }
            };
            let found = (0..linked.corpus.len()).find(|n| linked.corpus.session_id(*n) == session);
            return Ok(found.map(|n| linked.session(n, version, &self.log)));
        }
        Ok(None)
    }

    fn family_of(&self, session: Id) -> Result<Option<FamilyId>, GroundError> {
        let mut families = held(&self.families);
        families.follow()?;
        Ok(families.of_session(session)?)
    }
}

/// A family's records as the log has them.
#[derive(Default)]
pub(crate) struct Read {
    /// The records.
    pub(crate) parts: Parts,
    /// Where the parts of its files lie.
    pub(crate) files: BTreeMap<String, Vec<StreamPart>>,
    /// Entries that cannot be read.
    pub(crate) damaged: Vec<u64>,
}

/// Who is asked which records are whose: somebody's own index, or one that is shared and held no longer than for a question.
pub(crate) trait Index {
    fn ask<T>(&self, question: impl FnOnce(&Families) -> T) -> T;
}

impl Index for Families {
    fn ask<T>(&self, question: impl FnOnce(&Families) -> T) -> T {
        question(self)
    }
}

impl Index for Mutex<Families> {
    fn ask<T>(&self, question: impl FnOnce(&Families) -> T) -> T {
        question(&held(self))
    }
}

/// Reads all records of a family from the log. What is damaged there is passed over, and said.
pub(crate) fn read_family(
    log: &Log,
    families: &impl Index,
    family: FamilyId,
    table: &Table,
) -> Result<Read, GroundError> {
    let mut read = Read::default();
    let positions = families.ask(|families| families.entries(family))?;
    let found = in_parallel(&positions, |position| Found::at(log, *position, table));
    for (position, found) in positions.into_iter().zip(found) {
        match found? {
            Found::Nothing => {}
            Found::Damaged => read.damaged.push(position),
            Found::Body { batch, pieces } => {
                if let Some(own) = only(*batch, &pieces, families, family)? {
                    let _is_new = read.parts.add_body(position, own);
                }
            }
            Found::File { stream } => {
                let whole = whole_stream(log, families, position, &stream, &mut read.damaged)?;
                let Some(WholeStream { batch, files, .. }) = whole else { continue };
                let pieces = pieces(&batch, table);
                read.files.extend(files);
                if let Some(own) = only(batch, &pieces, families, family)? {
                    read.parts.set_file(position, own);
                }
            }
        }
    }
    Ok(read)
}

/// What is at a position of the log.
enum Found {
    Nothing,
    Damaged,
    /// A body, read; and which of its records belong together.
    Body {
        batch: Box<Batch>,
        pieces: Vec<Piece>,
    },
    /// A part of a file.
    File {
        stream: String,
    },
}

impl Found {
    fn at(log: &Log, position: u64, table: &Table) -> Result<Found, GroundError> {
        let stream = match log.stream_at(position) {
            Ok(Some(stream)) => stream,
            Ok(None) => return Ok(Found::Nothing),
            Err(LogError::Damaged { .. }) => return Ok(Found::Damaged),
            Err(error) => return Err(error.into()),
        };
        let sort = streams::Sort::of(&stream);
        if matches!(sort, streams::Sort::File { .. }) {
            return Ok(Found::File { stream });
        }
        let mut damaged = Vec::new();
        let Some(entry) = files::sound(log, position, &mut damaged)? else {
            return Ok(if damaged.is_empty() { Found::Nothing } else { Found::Damaged });
        };
        Ok(decode(sort, &entry.bytes).map_or(Found::Nothing, |read| {
            let read = read.named(sort, position);
            let pieces = pieces(&read.batch, table);
            Found::Body { batch: Box::new(read.batch), pieces }
        }))
    }
}

/// Positions that are worth another thread.
const PARALLEL: usize = 4;

/// Does the same for each of them, on as many threads as there are processors; in order.
fn in_parallel<I: Sync, O: Send>(all: &[I], work: impl Fn(&I) -> O + Sync) -> Vec<O> {
    let worth = all.len() / PARALLEL;
    // To ask how many processors there are takes longer than to read what is small.
    let threads =
        if worth < 2 { 1 } else { std::thread::available_parallelism().map_or(1, usize::from).min(worth) };
    if threads < 2 {
        return all.iter().map(work).collect();
    }
    let next = AtomicUsize::new(0);
    let share = || {
        let mut done: Vec<(usize, O)> = Vec::new();
        while let Some((n, one)) =
            Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|n| Some((n, all.get(n)?)))
        {
            done.push((n, work(one)));
        }
        done
    };
    let mut done: Vec<(usize, O)> = std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(share)).collect();
        let mut done = share();
        for other in others {
            match other.join() {
                Ok(more) => done.extend(more),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        done
    });
    done.sort_unstable_by_key(|(n, _)| *n);
    done.into_iter().map(|(_, one)| one).collect()
}

/// One stream, read.
pub(crate) struct WholeStream {
    pub(crate) batch: Batch,
    /// The parts of the versions it is read from, by their names, when it is a file.
    pub(crate) files: Vec<(String, Vec<StreamPart>)>,
    /// Its first entry.
    pub(crate) first: u64,
}

/// The stream of an entry; `None` when no format knows it.
pub(crate) fn whole_stream(
    log: &Log,
    families: &impl Index,
    position: u64,
    stream: &str,
    damaged: &mut Vec<u64>,
) -> Result<Option<WholeStream>, GroundError> {
    let sort = streams::Sort::of(stream);
    let streams::Sort::File { path } = sort else {
        let Some(entry) = files::sound(log, position, damaged)? else { return Ok(None) };
        let decoded = decode(sort, &entry.bytes).map(|read| read.named(sort, position));
        return Ok(decoded.map(|read| WholeStream { batch: read.batch, files: Vec::new(), first: position }));
    };
    let parts = families.ask(|families| families.stream(stream))?;
    let first = parts.first().map_or(position, |part| part.position);
    let read = files::read(log, path, &parts, damaged)?;
    let versions = files::versions(&parts);
    let count = versions.len();
    let named = versions.into_iter().enumerate();
    let files = named.map(|(n, version)| (files::version_name(path, n, count), version)).collect();
    Ok(read.map(|read| WholeStream { batch: read.batch, files, first }))
}

/// The records of a stream that belong to one family.
fn only(
    batch: Batch,
    pieces: &[Piece],
    families: &impl Index,
    family: FamilyId,
) -> Result<Option<Batch>, GroundError> {
    if let [_] = pieces {
        return Ok(Some(batch));
    }
    let mut records: Vec<RecordIx> = Vec::new();
    for piece in pieces {
        if families.ask(|families| families.find(&numbers(&piece.keys)))? == Some(family) {
            records.extend(&piece.records);
        }
    }
    records.sort_unstable();
    Ok((!records.is_empty()).then(|| batch.pick(&records)))
}

/// Keys as the index keeps them.
pub(crate) fn numbers(keys: &[FamilyKey]) -> Vec<(u64, bool)> {
    keys.iter().map(|key| (key.hash, key.joins)).collect()
}
