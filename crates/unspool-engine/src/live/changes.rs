//! The news: what became different, in order, with numbers by which a listener can go on where it stopped.
//!
//! In: what the deriver publishes. Out: changes behind a number. Only the last are kept; who is too slow is told to look at the whole again
//! instead of being buffered for.

use super::held;
use rustc_hash::{FxHashMap, FxHasher};
use std::collections::VecDeque;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex};
use tokio::sync::watch;
use unspool_model::{Id, Timestamp};
use unspool_store::rows::{SessionFacts, SessionRow, StepRow};

/// So many changes are kept for listeners: `max_changes_kept`.
const MAX_CHANGES_KEPT: usize = 8192;

/// A session became different.
#[derive(Clone, Debug)]
pub struct Change {
    /// Grows by one with each change; greater than all numbers of processes that began in earlier seconds, so that a number of one of
    /// them is never taken for one of this.
    pub sequence: u64,
    /// When it was published.
    pub at: Timestamp,
    /// Which session.
    pub session: Id,
    /// What is known of it now; `None` when it is no more.
    pub row: Option<Arc<SessionRow>>,
    /// Steps that are new or different.
    pub steps: Vec<Id>,
    /// Steps that are no more.
    pub removed: Vec<Id>,
    /// What it was before is not known: everything may be different.
    pub whole: bool,
}

/// Some news.
#[derive(Clone, Debug, Default)]
pub struct Feed {
    /// In order.
    pub changes: Vec<Arc<Change>>,
    /// There was more, which is not kept any longer: look at the whole again.
    pub missed: bool,
}

/// All news that are kept.
pub struct Changes {
    kept: Mutex<VecDeque<Arc<Change>>>,
    last: watch::Sender<u64>,
}

impl Changes {
    /// None yet; they are counted from a number.
    pub(crate) fn counted_from(first: u64) -> Changes {
        Changes { kept: Mutex::default(), last: watch::Sender::new(first) }
    }

    pub(crate) fn publish(&self, changes: Vec<Change>) {
        if changes.is_empty() {
            return;
        }
        let mut kept = held(&self.kept);
        let mut sequence = *self.last.borrow();
        for change in changes {
            sequence += 1;
            kept.push_back(Arc::new(Change { sequence, ..change }));
        }
        while kept.len() > MAX_CHANGES_KEPT {
            kept.pop_front();
        }
        drop(kept);
        self.last.send_replace(sequence);
    }

    /// The number of the last change.
    pub fn last(&self) -> u64 {
        *self.last.borrow()
    }

    /// Changes behind a number.
    pub fn since(&self, sequence: u64) -> Feed {
        let kept = held(&self.kept);
        let first = kept.front().map_or(self.last().saturating_add(1), |change| change.sequence);
        let from = kept.partition_point(|change| change.sequence <= sequence);
        let missed = sequence + 1 < first || sequence > self.last();
        Feed { changes: kept.range(from..).cloned().collect(), missed }
    }

    /// Tells when there is more; closed when the engine is.
    pub fn watch(&self) -> watch::Receiver<u64> {
        self.last.subscribe()
    }

    /// Whether anybody listens.
    pub(crate) fn are_heard(&self) -> bool {
        self.last.receiver_count() > 0
    }

    pub(crate) fn close(&self) {
        self.last.send_replace(u64::MAX);
    }
}

/// A session is no more.
pub(crate) fn gone_change(session: Id, at: Timestamp) -> Change {
    Change { sequence: 0, at, session, row: None, steps: Vec::new(), removed: Vec::new(), whole: true }
}

fn hash(row: &StepRow) -> u64 {
    let mut hasher = FxHasher::default();
    row.hash(&mut hasher);
    hasher.finish()
}

/// What is different from what was shown, and what is shown now.
pub(crate) fn change(
    facts: &SessionFacts,
    known: Option<&[(Id, u64)]>,
    at: Timestamp,
) -> (Change, Vec<(Id, u64)>) {
    let now: Vec<(Id, u64)> = facts.steps.iter().map(|row| (row.id, hash(row))).collect();
    let mut change = Change {
        sequence: 0,
        at,
        session: facts.session.id,
        row: Some(Arc::new(facts.session.clone())),
        steps: Vec::new(),
        removed: Vec::new(),
        whole: known.is_none(),
    };
    match known {
        Some(known) => {
            let before: FxHashMap<Id, u64> = known.iter().copied().collect();
            let after: FxHashMap<Id, u64> = now.iter().copied().collect();
            let differs = |(id, hash): &&(Id, u64)| before.get(id) != Some(hash);
            change.steps = now.iter().filter(differs).map(|(id, _)| *id).collect();
            change.removed =
                known.iter().filter(|(id, _)| !after.contains_key(id)).map(|(id, _)| *id).collect();
        }
        None => change.steps = now.iter().map(|(id, _)| *id).collect(),
    }
    (change, now)
}
