//! The one thread that derives: from acknowledged entries to what is shown.
//!
//! In: entries in the order of the log. Out: commits, snapshots and news. A family that takes long to link is linked less often, so that it
//! never takes all the time; what the store has not seen of it is derived again after a crash.

use super::changes::{change, gone_change};
use super::decode::Decoded;
use super::facts::facts;
use super::hot::{Hot, HotFamily, Shown};
use super::queue::Waiting;
use super::shown::ShownSession;
use super::snapshots::{Linked, numbers, read_family, whole_stream};
use super::tally::{by_source, loose};
use super::{Change, Health, Notice, Shared, held, streams};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use unspool_link::{Corpus, pieces};
use unspool_model::{Batch, Code, Flow, Id, RecordIx, Status, Timestamp};
use unspool_store::rows::Checkpoint;
use unspool_store::{Commit, Families, FamilyId, Ground, GroundError, RecordCounts, StoreError, StreamPart};

/// Bytes of entries that are derived together.
const ROUND_BYTES: u64 = 4 << 20;
/// A family rests so many times as long as it took to link.
const REST: u32 = 2;
/// One that is over `max_family_records` rests longer.
const LONG_REST: u32 = 20;
/// It is let off so much of it: news is not to wait for what takes little.
const LET_OFF: Duration = Duration::from_millis(40);
/// While more is waiting, nothing is linked for as long as it took the last time, and no longer than this: much of what comes belongs together.
const TOGETHER: Duration = Duration::from_millis(200);
/// While no more bytes than this wait, what was linked in so long is shown before the rest is linked.
const LITTLE_BYTES: u64 = 256 << 10;
const AT_ONCE: Duration = Duration::from_millis(3);
/// Where deriving gives way: while more comes than is derived, it rests so many times as long as it worked, and no longer than this.
const GIVE_WAY: u32 = 3;
const LONGEST_GIVE_WAY: Duration = Duration::from_millis(500);
/// After so long without anything new, memory is given back.
const IDLE: Duration = Duration::from_secs(10);
/// Then it is looked after what was asked for meanwhile only so often.
const ASLEEP: Duration = Duration::from_secs(60);

pub(crate) struct Deriver {
    pub(super) shared: Arc<Shared>,
    pub(super) ground: Ground,
    pub(super) families: Families,
    pub(super) hot: Hot,
    pub(super) version: u64,
    /// Where the parts of files lie that are hot.
    pub(super) files: FxHashMap<FamilyId, BTreeMap<String, Vec<StreamPart>>>,
    /// The family of each file that grew lately, by its name in the log.
    pub(super) growing: FxHashMap<String, FamilyId>,
    pub(super) numbers: RecordCounts,
    /// Entries whose families are not known yet.
    pub(super) backlog: VecDeque<Waiting>,
    /// Until then nothing is linked while more is waiting.
    pub(super) gather_until: Instant,
    /// All entries before this position have been placed.
    pub(super) placed: u64,
    /// Where the log ended when the process began.
    pub(super) first_end: u64,
    /// How far files have been read, which no commit has said yet.
    pub(super) checkpoints: Vec<Checkpoint>,
    /// Sessions that are no more, which no commit has said yet.
    pub(super) gone: Vec<Id>,
    /// Something was noted of streams that no format knows, which no commit has said yet.
    pub(super) noted: bool,
    /// When what is too old or too much is looked for next.
    pub(super) retain_at: Option<Instant>,
    /// When sessions that run are looked at next, and whether any may.
    pub(super) running_due: Instant,
    pub(super) any_running: bool,
}

/// What came of the families of one round.
#[derive(Default)]
struct Round {
    commit: Commit,
    changes: Vec<Change>,
    linked: Vec<(FamilyId, Linked)>,
    shown: Vec<(FamilyId, Shown)>,
}

impl Deriver {
    pub(crate) fn new(
        shared: Arc<Shared>,
        ground: Ground,
        families: Families,
    ) -> Result<Deriver, StoreError> {
        let version = ground.store().standing()?.version;
        let first_end = ground.log().end();
        shared.indexing.shown(version, (shared.options.now)());
        let mut deriver = Deriver {
            shared,
            ground,
            families,
            hot: Hot::default(),
            version,
            files: FxHashMap::default(),
            growing: FxHashMap::default(),
            numbers: RecordCounts::default(),
            backlog: VecDeque::new(),
            gather_until: Instant::now(),
            placed: 0,
            first_end,
            checkpoints: Vec::new(),
            gone: Vec::new(),
            noted: false,
            retain_at: None,
            running_due: Instant::now(),
            any_running: true,
        };
        deriver.numbers = deriver.families.counts(None)?;
        deriver.tell();
        deriver.say_what_was_left();
        Ok(deriver)
    }

    /// Derives until the engine is closed, and then what is left.
    pub(crate) fn run(&mut self) {
        if !self.catch_up() {
            return;
        }
        loop {
            self.retain_when_due();
            self.look_at_running_when_due();
            let stopping = self.shared.stopping.load(Ordering::Acquire);
            let patience = self.patience(stopping);
            let pulled = self.shared.queue.pull(ROUND_BYTES, patience, &self.shared.stopping);
            self.carry_out_orders();
            if pulled.is_empty() && self.hot.oldest_dirty().is_none() {
                if stopping {
                    return;
                }
                self.let_go();
                continue;
            }
            let (began, end) = (Instant::now(), self.shared.log.end());
            if !self.round(pulled, stopping) && stopping {
                return;
            }
            let more_comes = self.shared.is_behind() && self.shared.log.end() > end;
            if more_comes && self.shared.options.gives_way {
                self.rest((began.elapsed() * GIVE_WAY).min(LONGEST_GIVE_WAY));
            }
        }
    }

    /// How long there is to wait until some family has rested, or memory may be given back.
    fn patience(&self, stopping: bool) -> Duration {
        let now = Instant::now();
        let rest = |family: &FamilyId| {
            let until = self.hot.get(*family).and_then(|one| one.rest_until);
            until.map_or(Duration::ZERO, |until| until.saturating_duration_since(now))
        };
        if stopping {
            return Duration::ZERO;
        }
        let idle = if self.hot.is_empty() && !self.shared.snapshots.are_kept() { ASLEEP } else { IDLE };
        let retain = self.retain_at.map_or(idle, |at| at.saturating_duration_since(now));
        self.hot.dirty().iter().map(rest).min().unwrap_or(idle).min(retain)
    }

    /// Nothing has come for a while: what was kept at hand is let go, and read again when it is needed.
    fn let_go(&mut self) {
        self.hot.clear();
        self.files.clear();
        self.growing.clear();
        self.shared.snapshots.rest();
        self.shared.changes.rest();
        self.shared.log.rest();
        self.shared.notices.rest();
        self.ground.store().rest();
        self.families.rest();
        held(&self.shared.reader).rest();
        held(&self.shared.families).rest();
    }

    /// One round; false when the disk refused until the process had to end.
    fn round(&mut self, pulled: Vec<Waiting>, stopping: bool) -> bool {
        let room: u64 = pulled.iter().map(|entry| entry.room).sum();
        self.backlog.extend(pulled);
        if let Err(error) = self.place_and_derive(stopping)
            && !self.start_over_until_it_works(error, self.shared.queue.next())
        {
            return false;
        }
        self.show(self.shared.queue.next(), room);
        true
    }

    /// Says how far everything is shown; so many bytes wait no more.
    pub(super) fn show(&mut self, next: u64, bytes: u64) {
        let dirty = self.hot.oldest_dirty();
        let shown = dirty.map_or(next, |(position, _)| position);
        self.shared.queue.shown(shown, bytes, dirty.map_or(Timestamp::NONE, |(_, at)| at));
        self.hot.fit(self.shared.options.max_hot_bytes);
    }

    pub(super) fn place_and_derive(&mut self, all: bool) -> Result<(), GroundError> {
        while let Some(mut waiting) = self.backlog.pop_front() {
            let decoded = waiting.decoded();
            self.checkpoints.append(&mut waiting.place.checkpoints);
            self.place(&waiting, decoded)?;
            self.placed = waiting.position + 1;
        }
        let more_waits = self.shared.queue.is_ready();
        let began = Instant::now();
        if !all && more_waits && began < self.gather_until {
            return Ok(());
        }
        let derived = self.derive(all);
        self.gather_until = Instant::now() + began.elapsed().min(TOGETHER);
        derived
    }

    /// Finds the families of an entry's records.
    fn place(&mut self, waiting: &Waiting, decoded: Option<Decoded>) -> Result<(), GroundError> {
        let Waiting { position, place, stream, received, bytes, .. } = waiting;
        self.families.set_size(*position, *bytes)?;
        let dirty = (*position, *received);
        let is_file = matches!(streams::Sort::of(stream), streams::Sort::File { .. });
        if is_file {
            self.families.add_to_stream(stream, StreamPart { position: *position, offset: place.offset })?;
            if let Some(family) = self.growing.get(stream) {
                // It is read when its family is linked, however many parts come until then.
                let family = self.families.settle(*family);
                let one = self.hot.of(family);
                one.stale.insert(stream.clone(), *position);
                one.dirty = Some(one.dirty.unwrap_or(dirty));
                return Ok(());
            }
        }
        let is_first = !is_file || self.families.stream(stream)?.len() == 1;
        let families = match decoded.filter(|_| is_first) {
            Some(Decoded { batch, .. }) => self.place_batch(batch, (*position, is_file), dirty)?,
            None => self.place_stream(stream, *position, dirty)?,
        };
        if let (streams::Sort::File { path }, Some(family)) = (streams::Sort::of(stream), families.first()) {
            self.growing.insert(stream.clone(), *family);
            for family in families.iter().filter(|_| is_first) {
                let part = StreamPart { position: *position, offset: place.offset };
                self.files.entry(*family).or_default().insert(path.into(), vec![part]);
            }
        }
        Ok(())
    }

    /// Reads a stream from the log and finds the families of its records.
    fn place_stream(
        &mut self,
        stream: &str,
        position: u64,
        dirty: (u64, Timestamp),
    ) -> Result<Vec<FamilyId>, GroundError> {
        let mut damaged = Vec::new();
        let whole = whole_stream(&self.shared.log, &self.families, position, stream, &mut damaged)?;
        self.shared.notice_damaged(&damaged);
        let Some(whole) = whole else {
            if damaged.is_empty() {
                self.note_unknown(stream, position)?;
            }
            return Ok(Vec::new());
        };
        let is_file = !whole.files.is_empty();
        if is_file {
            self.forget_unknown(stream, position)?;
        }
        let families = self.place_batch(whole.batch, (whole.first, is_file), dirty)?;
        for family in &families {
            self.files.entry(*family).or_default().extend(whole.files.iter().cloned());
        }
        Ok(families)
    }

    /// Finds the families of a stream's records.
    fn place_batch(
        &mut self,
        batch: Batch,
        (entry, is_file): (u64, bool),
        dirty: (u64, Timestamp),
    ) -> Result<Vec<FamilyId>, GroundError> {
        let pieces = pieces(&batch, &self.shared.options.table);
        let mut placed: Vec<(FamilyId, Vec<RecordIx>)> = Vec::with_capacity(pieces.len());
        for piece in pieces {
            let found = self.families.place(&numbers(&piece.keys))?;
            for other in found.absorbed {
                self.absorb(found.family, other);
            }
            if found.new {
                self.hot.of(found.family).whole = true;
            }
            placed.push((found.family, piece.records));
        }
        let mut by_family: BTreeMap<FamilyId, Vec<RecordIx>> = BTreeMap::new();
        for (family, records) in placed {
            by_family.entry(self.families.settle(family)).or_default().extend(records);
        }
        let families: Vec<FamilyId> = by_family.keys().copied().collect();
        let mut batch = Some(batch);
        for (family, mut records) in by_family {
            self.families.add_entry(family, entry)?;
            let part = if families.len() == 1 {
                batch.take()
            } else {
                records.sort_unstable();
                batch.as_ref().map(|batch| batch.pick(&records))
            };
            let one = self.hot.of(family);
            one.dirty = Some(one.dirty.unwrap_or(dirty));
            if let Some(part) = part {
                if is_file { one.set_file(entry, part) } else { one.add_body(entry, part) }
            }
        }
        Ok(families)
    }

    fn absorb(&mut self, family: FamilyId, other: FamilyId) {
        self.shared.snapshots.drop(other);
        if let Some(files) = self.files.remove(&other) {
            self.files.entry(family).or_default().extend(files);
        }
        let other = self.hot.take(other).unwrap_or_default();
        self.hot.of(family).absorb(other);
    }

    /// Links the families that changed and have rested, and shows what came of it.
    pub(super) fn derive(&mut self, all: bool) -> Result<(), GroundError> {
        let now = Instant::now();
        let mut round = Round::default();
        let mut derived: Vec<FamilyId> = Vec::new();
        self.read_grown(now, all)?;
        let mut due = self.due(now, all);
        // Whoever waits longest comes first.
        due.sort_by_key(|family| self.hot.get(*family).and_then(|one| one.dirty));
        let is_little = !all && self.shared.queue.waiting().0 <= LITTLE_BYTES;
        for family in due {
            self.family(family, &mut round)?;
            derived.push(family);
            if is_little && now.elapsed() >= AT_ONCE {
                break;
            }
        }
        derived.sort_unstable();
        if derived.is_empty() && self.gone.is_empty() && !self.noted {
            return Ok(());
        }
        self.families.save(self.placed)?;
        let now = (self.shared.options.now)();
        round.changes.extend(self.gone.iter().map(|id| gone_change(*id, now)));
        round.commit.gone.clone_from(&self.gone);
        let undone = self.hot.dirty().into_iter().filter(|family| derived.binary_search(family).is_err());
        let undone = undone.filter_map(|family| self.hot.get(family)?.dirty).map(|(position, _)| position);
        self.version += 1;
        round.commit.checkpoints = self.checkpoints.clone();
        round.commit.version = self.version;
        round.commit.through = undone.min().unwrap_or(self.placed);
        self.ground.commit(&round.commit)?;
        self.shared.ahead.written();
        self.gone.clear();
        self.noted = false;
        self.checkpoints.clear();
        for (family, shown) in round.shown {
            let one = self.hot.of(family);
            (one.dirty, one.shown) = (None, shown);
        }
        for (family, linked) in round.linked {
            self.shared.snapshots.publish(family, linked);
        }
        self.tell();
        self.shared.indexing.shown(self.version, now);
        self.shared.changes.publish(round.changes);
        Ok(())
    }

    /// Families that changed and have rested, in order.
    fn due(&self, now: Instant, all: bool) -> Vec<FamilyId> {
        let mut due = self.hot.dirty();
        let rested = |one: &HotFamily| one.rest_until.is_none_or(|until| until <= now);
        due.retain(|family| all || self.hot.get(*family).is_none_or(rested));
        due
    }

    /// Reads the files of these families that have grown. That may join families.
    fn read_grown(&mut self, now: Instant, all: bool) -> Result<(), GroundError> {
        for family in self.due(now, all) {
            let Some(mut one) = self.hot.take(family) else { continue };
            let (stale, dirty) = (std::mem::take(&mut one.stale), one.dirty.unwrap_or_default());
            self.hot.put(family, one);
            for (stream, position) in stale {
                let began = Instant::now();
                self.place_stream(&stream, position, dirty)?;
                let family = self.families.settle(family);
                self.hot.of(family).reading += began.elapsed();
            }
        }
        Ok(())
    }

    fn family(&mut self, family: FamilyId, round: &mut Round) -> Result<(), GroundError> {
        let began = Instant::now();
        let table = &self.shared.options.table;
        let mut one = self.hot.take(family).unwrap_or_default();
        if !one.whole {
            let read = read_family(&self.shared.log, &self.families, family, table)?;
            self.shared.notice_damaged(&read.damaged);
            one.replace(read.parts);
            self.files.insert(family, read.files);
        }
        let positions = one.parts.positions();
        let corpus = Corpus::new(one.parts.batch(), table.clone(), (self.shared.options.now)());
        let mut shown = Shown::default();
        let mut ids: Vec<Id> = Vec::new();
        let mut agents = (0, 0);
        let mut flows: Vec<Arc<Flow>> = Vec::new();
        let is_heard = self.shared.changes.are_heard();
        for n in 0..corpus.len() {
            let flow = Arc::new(corpus.flow(n));
            for agent in flow.agents.iter().filter(|agent| !agent.main && !agent.internal) {
                agents = (agents.0 + 1, agents.1 + u64::from(agent.spawn.is_none()));
            }
            let facts = facts(&flow, (&corpus, n), &self.shared.options.prices, positions.clone());
            let now = ShownSession::of(&facts, &flow, &corpus.batch);
            let known = one.shown.get(&flow.session.id);
            let change = change(&facts, known, &now, (self.shared.options.now)());
            ids.push(flow.session.id);
            shown.insert(flow.session.id, now);
            self.any_running |= facts.session.status == Status::Running.name();
            round.changes.push(change);
            round.commit.sessions.push(facts);
            if is_heard {
                flows.push(flow);
            }
        }
        let gone = self.families.set_sessions(family, &ids)?;
        self.gone.extend(gone);
        let mut counts = by_source(&corpus.batch);
        if let Some(first) = counts.values_mut().next() {
            first.steps = shown.values().map(|one| one.steps.len() as u64).sum();
            first.sessions = ids.len() as u64;
            (first.subagents, first.unlinked) = agents;
        }
        self.families.set_loose(family, &loose(&corpus))?;
        let old = self.families.set_counts(family, &counts)?;
        self.numbers =
            counts.values().fold(self.numbers.replaced(old, RecordCounts::default()), |sum, one| {
                sum.replaced(RecordCounts::default(), *one)
            });
        let parts = self.files.get(&family).cloned().unwrap_or_default();
        round.linked.push((family, Linked::new(corpus, parts, flows)));
        round.shown.push((family, shown));
        let took = began.elapsed() + std::mem::take(&mut one.reading);
        let is_large = one.parts.records() > self.shared.options.max_family_records;
        self.large(family, is_large, one.parts.records(), &ids);
        let rest = if is_large { LONG_REST } else { REST };
        one.rest_until = (took * rest).checked_sub(LET_OFF).map(|rest| Instant::now() + rest);
        self.hot.put(family, one);
        Ok(())
    }

    /// Takes note of families over `max_family_records`, and says so once for each; health counts them.
    fn large(&self, family: FamilyId, is_large: bool, records: usize, sessions: &[Id]) {
        let mut large = held(&self.shared.large);
        if !is_large {
            large.remove(&family);
        } else if large.insert(family) {
            let limit = self.shared.options.max_family_records;
            let named = sessions
                .first()
                .map_or_else(|| "no session".into(), |id| format!("session {}", id.show('x')));
            let others = match sessions.len() {
                0 | 1 => String::new(),
                count => format!(" and {} others", count - 1),
            };
            let words = format!(
                "{named}{others}: {records} records that belong together are more than `max_family_records` ({limit}); they are linked less often, and \
                 news of them comes later"
            );
            let session = sessions.first().copied();
            self.shared.notices.say(Notice { session, ..Notice::new(Code::FamilyTooLarge, words) });
        }
    }

    /// Says how much there is.
    pub(super) fn tell(&self) {
        let RecordCounts { stored, duplicate, rejected, steps, sessions, subagents, unlinked } = self.numbers;
        *held(&self.shared.numbers) = Health {
            records_stored: stored,
            records_duplicate: duplicate,
            records_rejected: rejected,
            steps_visible: steps,
            sessions,
            subagents,
            unlinked,
            ..Health::default()
        };
    }
}
