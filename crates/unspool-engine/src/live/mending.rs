//! Damage is mended whoever comes upon it.
//!
//! In: what a reader was told by a database, and records that the log has lost. Out: orders for the deriver and for whoever keeps the index of
//! words: they make it again. Nobody waits for that.

use super::derive::Deriver;
use super::repair::TEXTS;
use super::{Shared, held};
use std::error::Error;
use std::ops::Range;
use std::path::Path;
use std::time::{Duration, Instant};
use unspool_model::Id;
use unspool_store::{FamilyId, Filter, GroundError, Question, StoreError};

/// A database is mended at a reader's word no more often than this.
const EVERY: Duration = Duration::from_secs(60);

/// When a database was mended, and how often.
#[derive(Clone, Copy)]
pub(crate) struct Mended {
    at: Option<Instant>,
    times: u32,
}

/// Which database is damaged, and what it said, if that is what an error says.
fn damage<'a>(error: &'a (dyn Error + 'static)) -> Option<(&'a str, &'a str)> {
    let store = error.downcast_ref::<StoreError>().and_then(StoreError::damage);
    store.or_else(|| error.downcast_ref::<GroundError>().and_then(GroundError::damage))
}

/// Whether that is the name of the index of words.
fn is_texts(name: &str) -> bool {
    Path::new(name).file_name().is_some_and(|file| file == TEXTS)
}

/// Whether an error says that the index of words is damaged.
pub(crate) fn is_damage_of_texts(error: &GroundError) -> bool {
    error.damage().is_some_and(|(name, _)| is_texts(name))
}

impl Shared {
    /// Passes an answer on. If it says that a database is damaged, that is mended.
    pub(crate) fn heed<T, E: Error + 'static>(&self, answer: Result<T, E>) -> Result<T, E> {
        if let Err(error) = &answer
            && let Some((name, why)) = damage(error)
        {
            self.mend(name, why);
        }
        answer
    }

    fn mend(&self, name: &str, why: &str) {
        if is_texts(name) {
            self.indexing.damaged(why);
            return;
        }
        let mut mended = held(&self.mended);
        let one = mended.entry(name.into()).or_insert(Mended { at: None, times: 0 });
        if one.at.is_some_and(|at| at.elapsed() < EVERY) {
            return;
        }
        one.at = Some(Instant::now());
        drop(mended);
        let error = StoreError::Damaged { name: name.into(), why: why.into() };
        self.order(move |deriver| {
            let end = deriver.shared.queue.next();
            if deriver.start_over_until_it_works(error.into(), end) {
                deriver.show(end, 0);
            }
        });
    }

    /// Whether a database in which nothing but its content is wrong is to be made again. Once: if that does not help, nothing will.
    pub(crate) fn may_replace(&self, name: &str) -> bool {
        let mut mended = held(&self.mended);
        let one = mended.entry(name.into()).or_insert(Mended { at: None, times: 0 });
        one.times += 1;
        one.times == 1
    }

    /// Lets the deriver do something between two rounds.
    pub(crate) fn order(&self, work: impl FnOnce(&mut Deriver) + Send + 'static) {
        held(&self.orders).push(Box::new(work));
        self.queue.interrupt();
    }

    /// Records are lost: what came of them is made again without them.
    pub(crate) fn go_on_without(&self, lost: Vec<Range<u64>>) {
        if !lost.is_empty() {
            self.order(move |deriver| deriver.go_on_without(&lost));
        }
    }
}

impl Deriver {
    /// Derives the families of lost records again, from what is left of them.
    fn go_on_without(&mut self, lost: &[Range<u64>]) {
        if let Err(error) = self.mark_families_of(lost) {
            self.start_over_until_it_works(error, self.shared.queue.next());
        }
    }

    fn mark_families_of(&mut self, lost: &[Range<u64>]) -> Result<(), GroundError> {
        let mut touched: Vec<FamilyId> = Vec::new();
        for range in lost {
            touched.extend(self.families.lose(range)?);
        }
        touched.sort_unstable();
        touched.dedup();
        let now = (self.shared.options.now)();
        for family in &touched {
            self.say_whose(&self.families.sessions_of(*family)?)?;
            let known = self.hot.take(*family).unwrap_or_default();
            self.files.remove(family);
            self.shared.snapshots.drop(*family);
            let one = self.hot.of(*family);
            (one.shown, one.dirty) = (known.shown, Some(known.dirty.unwrap_or((self.placed, now))));
        }
        self.growing.retain(|_, family| touched.binary_search(family).is_err());
        Ok(())
    }

    /// Says of which sessions records are lost.
    fn say_whose(&self, sessions: &[Id]) -> Result<(), GroundError> {
        for some in sessions.chunks(1000) {
            let mut filter = Filter::default();
            filter.only_among(some.iter().copied().collect());
            let question = Question { filter, limit: 1000, ..Question::default() };
            for row in self.ground.store().sessions(&question)?.sessions {
                self.shared.notices.lose_of(row.native_ids.iter().cloned().chain([row.id.show('x')]));
            }
        }
        Ok(())
    }
}
