//! What is too old or too much goes: whole sessions, with everything that is known of them.
//!
//! In: how long and how much to keep. Out: what went. Sessions whose records may belong together are one family and go together. Their records
//! are dropped from the log first: from then on nothing brings them back, wherever a crash comes between.

use super::changes::gone_change;
use super::derive::Deriver;
use super::{Engine, files, held};
use crate::artifacts::Artifacts;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::mpsc;
use std::time::{Duration, Instant};
use unspool_model::{Id, Timestamp};
use unspool_store::{FamilyId, GroundError, Held, LogSize, Question};

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
    /// Sessions whose last moment is longer ago go; those without a time by when they were received.
    pub max_age_ms: Option<i64>,
    /// The oldest sessions go while what the log holds of all, as it was received, comes to more bytes.
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
    /// Bytes of the log that go with them, as they were received: also those of copies and of earlier versions of files.
    pub bytes: u64,
    /// Bytes that stay with sessions.
    pub kept: u64,
    /// Bytes that stay and belong to no session. Nothing deletes them.
    pub loose: u64,
    /// Segments of the log that were deleted with them; the rest is for `compact`.
    pub log: LogSize,
}

/// A family that may have to go.
struct Candidate {
    family: FamilyId,
    /// Its last moment; where its records say none, when the last of them was received.
    last: Option<i64>,
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
        let pruned = match self.prune(&retention, false) {
            Ok(pruned) => pruned,
            Err(why) => return self.shared.mention(format!("retention could not be applied: {why}")),
        };
        let Pruned { sessions, steps, bytes, kept, loose, .. } = pruned;
        if sessions > 0 {
            self.shared.mention(format!(
                "retention: {sessions} sessions with {steps} steps and {bytes} bytes of records were deleted"
            ));
        }
        if loose > 0 && retention.all.max_bytes.is_some_and(|most| kept + loose > most) {
            // Without numbers: it is said once.
            self.shared.mention(
                "retention: the log holds more than `max_bytes`, because records that belong to no session count for nothing there \
                 and are not deleted; `unspool db prune --dry-run` says how many bytes they are"
                    .into(),
            );
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
        let (held, with_sessions) = (self.families.held()?, self.families.with_sessions()?);
        let going = choose(self.candidates()?, Bytes::of(&held), retention, now);
        let families: Vec<FamilyId> = going.iter().map(|one| one.family).collect();
        let bytes = self.families.bytes_of(&families)?;
        let of_sessions = of_any(&held, &with_sessions.into_iter().collect());
        let mut pruned = Pruned {
            sessions: going.iter().map(|one| one.sessions.len() as u64).sum(),
            steps: going.iter().map(|one| one.steps).sum(),
            bytes,
            kept: of_sessions.saturating_sub(bytes),
            loose: held.all.saturating_sub(of_sessions),
            log: LogSize::default(),
        };
        if dry || going.is_empty() {
            return Ok(pruned);
        }
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
                    steps: 0,
                    sessions: Vec::new(),
                    natives: Vec::new(),
                    sources: Vec::new(),
                });
                one.last = one.last.max(row.ended_ns.or(row.started_ns));
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
            if one.last.is_none() {
                one.last = self.received(one.family)?;
            }
        }
        Ok(shown)
    }

    /// When the last of a family's records was received, as far as the log can say it.
    fn received(&self, family: FamilyId) -> Result<Option<i64>, GroundError> {
        let mut last = Timestamp::NONE;
        for position in self.families.entries(family)? {
            let mut damaged = Vec::new();
            let Some(mut entry) = files::sound(&self.shared.log, position, &mut damaged)? else { continue };
            // A family has an entry for a file, which is its first part.
            if let Some(part) =
                self.families.stream(&entry.stream)?.last().filter(|part| part.position > position)
            {
                entry = files::sound(&self.shared.log, part.position, &mut damaged)?.unwrap_or(entry);
            }
            last = last.later(entry.received);
        }
        Ok(last.ns())
    }
}

/// The bytes that some families hold.
fn of_any(held: &Held, families: &FxHashSet<FamilyId>) -> u64 {
    let alone = held.alone.iter().filter(|(family, _)| families.contains(family)).map(|(_, bytes)| bytes);
    let is_one = |of: &[FamilyId]| of.iter().any(|family| families.contains(family));
    let shared = held.shared.iter().filter(|(_, of)| is_one(of)).map(|(bytes, _)| bytes);
    alone.chain(shared).sum()
}

/// What is held while families go one after the other.
struct Bytes<'a> {
    held: &'a Held,
    /// Of each entry that several families need: how many of them have not gone.
    left: Vec<usize>,
    /// Which of those entries a family needs.
    needs: FxHashMap<FamilyId, Vec<usize>>,
}

impl Bytes<'_> {
    fn of(held: &Held) -> Bytes<'_> {
        let mut needs: FxHashMap<FamilyId, Vec<usize>> = FxHashMap::default();
        for (n, (_, families)) in held.shared.iter().enumerate() {
            for family in families {
                needs.entry(*family).or_default().push(n);
            }
        }
        Bytes { held, left: held.shared.iter().map(|(_, families)| families.len()).collect(), needs }
    }

    /// A family goes. How many bytes go with it: those of an entry that others need stay.
    fn go(&mut self, family: FamilyId) -> u64 {
        let mut freed = self.held.alone.get(&family).copied().unwrap_or(0);
        for n in self.needs.get(&family).into_iter().flatten() {
            self.left[*n] -= 1;
            if self.left[*n] == 0 {
                freed += self.held.shared[*n].0;
            }
        }
        freed
    }
}

/// Those that are too old, and the oldest of those that are too much.
fn choose(
    mut candidates: Vec<Candidate>,
    mut bytes: Bytes<'_>,
    retention: &Retention,
    now: Timestamp,
) -> Vec<Candidate> {
    candidates.sort_by_key(|one| (one.last, one.family));
    let is_old = |one: &Candidate| {
        let age = one.last.and_then(|last| now.ms_since(Timestamp::from_ns(last)));
        age.zip(retention.age_of(&one.sources)).is_some_and(|(age, most)| age > most)
    };
    let mut goes: Vec<bool> = candidates.iter().map(is_old).collect();
    for (one, _) in candidates.iter().zip(&goes).filter(|(_, goes)| **goes) {
        bytes.go(one.family);
    }
    let scopes = retention.sources.iter().map(|(source, keep)| (Some(source), keep.max_bytes));
    for (source, most) in scopes.chain([(None, retention.all.max_bytes)]) {
        let Some(most) = most else { continue };
        let counts = |one: &Candidate| source.is_none_or(|source| one.sources.contains(source));
        let kept = candidates.iter().zip(&goes).filter(|(one, goes)| !**goes && counts(one));
        let mut left = of_any(bytes.held, &kept.map(|(one, _)| one.family).collect());
        for (one, goes) in candidates.iter().zip(&mut goes) {
            if left > most && !*goes && counts(one) {
                *goes = true;
                left = left.saturating_sub(bytes.go(one.family));
            }
        }
    }
    let mut goes = goes.into_iter();
    candidates.retain(|_| goes.next().unwrap_or(false));
    candidates
}
