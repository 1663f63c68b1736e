//! What is too old or too much goes: whole sessions, with everything that is known of them.
//!
//! In: how long and how much to keep. Out: what went. Sessions whose records may belong together are one family and go together. Their records
//! are dropped from the log first: from then on nothing brings them back, wherever a crash comes between.

use super::changes::gone_change;
use super::derive::Deriver;
use super::{Engine, held};
use crate::artifacts::Artifacts;
use rustc_hash::FxHashSet;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::mpsc;
use std::time::{Duration, Instant};
use unspool_model::{Id, Timestamp};
use unspool_store::{FamilyId, GroundError, LogSize, Question};

/// How often it is looked.
const EVERY: Duration = Duration::from_secs(3600);
/// How often the end of the process is looked for while an order is carried out.
const GLANCE: Duration = Duration::from_millis(100);
const DAY_MS: i64 = 86_400_000;

/// Something the deriver does between two rounds.
pub(crate) type Order = Box<dyn FnOnce(&mut Deriver) + Send>;

/// How long and how much of something to keep; what is not said is kept for ever.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Keep {
    /// Sessions whose last moment is longer ago go.
    pub max_age_ms: Option<i64>,
    /// The oldest sessions go while the records of all, as they were received, come to more bytes.
    pub max_bytes: Option<u64>,
}

impl Keep {
    /// So many days.
    pub fn days(days: i64) -> Keep {
        Keep { max_age_ms: Some(days.saturating_mul(DAY_MS)), max_bytes: None }
    }
}

/// How long and how much to keep, of everything and of some sources (`otlp-http`, `hooks`, `files`, …).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Retention {
    /// Of everything.
    pub all: Keep,
    /// Of some sources: their age takes the place of that above, their bytes count beside those above.
    pub sources: BTreeMap<String, Keep>,
}

impl Retention {
    /// Whether everything is kept for ever.
    pub fn is_nothing(&self) -> bool {
        *self == Retention::default()
    }

    /// How old something from these sources may be: as the most patient of them says.
    fn age_of(&self, sources: &[String]) -> Option<i64> {
        let age = |source| self.sources.get(source).and_then(|keep| keep.max_age_ms).or(self.all.max_age_ms);
        if sources.is_empty() {
            return self.all.max_age_ms;
        }
        let ages: Option<Vec<i64>> = sources.iter().map(age).collect();
        ages?.into_iter().max()
    }
}

/// What went, or would go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// Sessions.
    pub sessions: u64,
    /// Their steps.
    pub steps: u64,
    /// Bytes of their records, as they were received.
    pub bytes: u64,
    /// Segments of the log that were deleted with them; the rest is for `compact`.
    pub log: LogSize,
}

/// A family that may have to go.
struct Candidate {
    family: FamilyId,
    /// Its last moment.
    last: Option<i64>,
    bytes: u64,
    steps: u64,
    sessions: Vec<Id>,
    /// What their sources call them.
    natives: Vec<String>,
    sources: Vec<String>,
}

impl Engine {
    /// Deletes what is not to be kept; with `dry`, only says what that would be. The reason when it could not.
    pub fn prune(&self, retention: &Retention, dry: bool) -> Result<Pruned, String> {
        let (answer, answered) = mpsc::channel();
        let retention = retention.clone();
        self.shared.order(move |deriver| {
            // Nobody waits any more if this fails.
            drop(answer.send(deriver.prune(&retention, dry)));
        });
        loop {
            match answered.recv_timeout(GLANCE) {
                Ok(answer) => return answer,
                Err(mpsc::RecvTimeoutError::Timeout) if !self.shared.stopping.load(Ordering::Acquire) => {}
                Err(_) => return Err("the server is shutting down".into()),
            }
        }
    }
}

impl Deriver {
    pub(super) fn carry_out_orders(&mut self) {
        let orders = std::mem::take(&mut *held(&self.shared.orders));
        for order in orders {
            order(self);
        }
    }

    /// Applies what the engine was told to keep, once at the start and then every hour.
    pub(super) fn retain_when_due(&mut self) {
        let retention = self.shared.options.retention.clone();
        if retention.is_nothing() || self.retain_at.is_some_and(|at| at > Instant::now()) {
            return;
        }
        self.retain_at = Some(Instant::now() + EVERY);
        match self.prune(&retention, false) {
            Ok(Pruned { sessions: 0, .. }) => {}
            Ok(Pruned { sessions, steps, bytes, .. }) => self.shared.mention(format!(
                "retention: {sessions} sessions with {steps} steps and {bytes} bytes of records were deleted"
            )),
            Err(why) => self.shared.mention(format!("retention could not be applied: {why}")),
        }
    }

    fn prune(&mut self, retention: &Retention, dry: bool) -> Result<Pruned, String> {
        self.pruned(retention, dry).map_err(|error| {
            let why = error.to_string();
            // What was half done is thrown away, as after any failure.
            self.start_over_until_it_works(error, self.shared.queue.next());
            why
        })
    }

    fn pruned(&mut self, retention: &Retention, dry: bool) -> Result<Pruned, GroundError> {
        let now = (self.shared.options.now)();
        let going = choose(self.candidates()?, retention, now);
        let mut pruned = Pruned {
            sessions: going.iter().map(|one| one.sessions.len() as u64).sum(),
            steps: going.iter().map(|one| one.steps).sum(),
            bytes: going.iter().map(|one| one.bytes).sum(),
            log: LogSize::default(),
        };
        if dry || going.is_empty() {
            return Ok(pruned);
        }
        let families: Vec<FamilyId> = going.iter().map(|one| one.family).collect();
        self.families.save(self.placed)?;
        let positions = self.families.positions_of(&families)?;
        pruned.log = self.shared.log.drop_records(&positions)?;
        self.families.forget(&families)?;
        self.families.save(self.placed)?;
        self.families.refresh()?;
        let gone: FxHashSet<FamilyId> = families.iter().copied().collect();
        self.growing.retain(|_, family| !gone.contains(family));
        for family in &families {
            self.hot.take(*family);
            self.files.remove(family);
            self.shared.snapshots.drop(*family);
        }
        let artifacts = Artifacts::of(&self.shared.options.folder);
        going.iter().flat_map(|one| &one.natives).for_each(|native| artifacts.remove(native));
        let sessions: Vec<Id> = going.into_iter().flat_map(|one| one.sessions).collect();
        let retired = self.ground.retire(&sessions)?.log;
        pruned.log.segments += retired.segments;
        pruned.log.bytes += retired.bytes;
        pruned.log.records += retired.records;
        self.shared.indexing.forgotten();
        self.numbers = self.families.counts(None)?;
        self.tell();
        self.shared.changes.publish(sessions.into_iter().map(|id| gone_change(id, now)).collect());
        Ok(pruned)
    }

    /// All families that are shown as they are.
    fn candidates(&self) -> Result<Vec<Candidate>, GroundError> {
        let mut found: BTreeMap<FamilyId, Candidate> = BTreeMap::new();
        let mut question = Question { limit: 1000, ..Question::default() };
        loop {
            let page = self.ground.store().sessions(&question)?;
            for row in page.sessions {
                let Some(family) = self.families.of_session(row.id)? else { continue };
                let one = found.entry(family).or_insert_with(|| Candidate {
                    family,
                    last: None,
                    bytes: 0,
                    steps: 0,
                    sessions: Vec::new(),
                    natives: Vec::new(),
                    sources: Vec::new(),
                });
                one.last = one.last.max(row.ended_ns.or(row.started_ns));
                one.bytes += row.native_bytes.max(0).cast_unsigned();
                one.steps += row.step_count.max(0).cast_unsigned();
                one.sessions.push(row.id);
                one.natives.extend(row.native_ids);
            }
            question.after = page.next;
            if question.after.is_none() {
                break;
            }
        }
        let is_dirty = |family: &FamilyId| self.hot.get(*family).is_some_and(|one| one.dirty.is_some());
        let mut shown: Vec<Candidate> = found.into_values().filter(|one| !is_dirty(&one.family)).collect();
        for one in &mut shown {
            one.sources = self.families.sources(one.family)?;
        }
        Ok(shown)
    }
}

/// Those that are too old, and the oldest of those that are too much.
fn choose(mut candidates: Vec<Candidate>, retention: &Retention, now: Timestamp) -> Vec<Candidate> {
    candidates.sort_by_key(|one| (one.last, one.family));
    let is_old = |one: &Candidate| {
        let age = one.last.and_then(|last| now.ms_since(Timestamp::from_ns(last)));
        age.zip(retention.age_of(&one.sources)).is_some_and(|(age, most)| age > most)
    };
    let mut goes: Vec<bool> = candidates.iter().map(is_old).collect();
    let scopes = retention.sources.iter().map(|(source, keep)| (Some(source), keep.max_bytes));
    for (source, most) in scopes.chain([(None, retention.all.max_bytes)]) {
        let Some(most) = most else { continue };
        let counts = |one: &Candidate| source.is_none_or(|source| one.sources.contains(source));
        let kept = candidates.iter().zip(&goes).filter(|(one, goes)| !**goes && counts(one));
        let mut bytes: u64 = kept.map(|(one, _)| one.bytes).sum();
        for (one, goes) in candidates.iter().zip(&mut goes) {
            if bytes > most && !*goes && counts(one) {
                *goes = true;
                bytes -= one.bytes;
            }
        }
    }
    let mut goes = goes.into_iter();
    candidates.retain(|_| goes.next().unwrap_or(false));
    candidates
}
