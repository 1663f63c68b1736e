//! Which sessions the emitter remembers.
//!
//! In: the name of a session that events came for. Out: what is remembered of it, to be held by one at a time. Never here: what that is.

use super::ledger::Ledger;
use crate::app::Limits;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What is remembered of a session; nothing, when it is to be looked up.
type Slot = Arc<Mutex<Option<Ledger>>>;

/// The sessions that are remembered.
#[derive(Default)]
pub(crate) struct Ledgers {
    all: Mutex<All>,
    /// Events for which nobody could say whether what they end began.
    unchecked: AtomicU64,
}

#[derive(Default)]
struct All {
    kept: BTreeMap<String, Kept>,
    /// Runs and steps of all of them.
    ids: usize,
    uses: u64,
}

#[derive(Default)]
struct Kept {
    slot: Slot,
    ids: usize,
    /// The number of its last use.
    used: u64,
}

pub(super) fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Ledgers {
    /// What is remembered of a session. Others are forgotten for it when there are too many.
    pub(super) fn of(&self, session: &str, limits: &Limits) -> Slot {
        let mut all = held(&self.all);
        all.uses += 1;
        let used = all.uses;
        let has_no_place = all.kept.len() >= limits.emitted_sessions && !all.kept.contains_key(session);
        if has_no_place || all.ids >= limits.emitted_ids {
            all.forget_others(session, limits);
        }
        let kept = all.kept.entry(session.into()).or_default();
        kept.used = used;
        Arc::clone(&kept.slot)
    }

    /// Takes note of how many runs and steps of a session are remembered. Whoever says so has hold of it.
    pub(super) fn weigh(&self, session: &str, ids: usize) {
        let mut all = held(&self.all);
        let Some(kept) = all.kept.get_mut(session) else { return };
        let before = std::mem::replace(&mut kept.ids, ids);
        all.ids = all.ids.saturating_sub(before) + ids;
    }

    /// Counts an event for which nobody could say whether what it ends began.
    pub(super) fn pass(&self) {
        self.unchecked.fetch_add(1, Ordering::Relaxed);
    }

    /// Events for which nobody could say whether what they end began.
    pub(crate) fn unchecked(&self) -> u64 {
        self.unchecked.load(Ordering::Relaxed)
    }

    /// The same in words for people.
    pub(crate) fn notice(&self, limits: &Limits) -> Option<String> {
        let (count, limit) = (self.unchecked(), limits.session_ids);
        (count > 0).then(|| {
            format!(
                "{count} ThoughtFlow events were taken without a look whether what they end began: their sessions have more runs and steps than `max_session_ids` ({limit})"
            )
        })
    }
}

impl All {
    /// Forgets what was used longest ago and nobody has hold of, until a quarter is free.
    fn forget_others(&mut self, session: &str, limits: &Limits) {
        let is_idle = |name: &str, kept: &Kept| name != session && Arc::strong_count(&kept.slot) == 1;
        let idle = self.kept.iter().filter(|(name, kept)| is_idle(name, kept));
        let mut idle: Vec<(u64, String)> = idle.map(|(name, kept)| (kept.used, name.clone())).collect();
        idle.sort_unstable();
        for (_, name) in idle {
            let is_enough =
                self.kept.len() <= limits.emitted_sessions / 4 * 3 && self.ids <= limits.emitted_ids / 4 * 3;
            if is_enough {
                return;
            }
            let ids = self.kept.remove(&name).map_or(0, |kept| kept.ids);
            self.ids = self.ids.saturating_sub(ids);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Ledgers, held};
    use crate::app::Limits;

    #[test]
    fn what_was_used_longest_ago_is_forgotten_and_nothing_that_is_in_use() {
        let limits = Limits { emitted_sessions: 4, emitted_ids: 1000, ..Limits::default() };
        let ledgers = Ledgers::default();
        let in_use = ledgers.of("a", &limits);
        for name in ["b", "c", "d", "b", "e"] {
            ledgers.of(name, &limits);
            ledgers.weigh(name, 10);
        }
        drop(in_use);
        let known = || held(&ledgers.all).kept.keys().cloned().collect::<Vec<_>>().concat();
        assert_eq!((known().as_str(), held(&ledgers.all).ids), ("abde", 30));
        // One with much in it costs the others their place, once, and keeps its own.
        ledgers.weigh("e", 1200);
        ledgers.of("e", &limits);
        assert_eq!((known().as_str(), held(&ledgers.all).ids), ("e", 1200));
        ledgers.of("f", &limits);
        assert_eq!((known().as_str(), held(&ledgers.all).ids), ("f", 0));
    }
}
