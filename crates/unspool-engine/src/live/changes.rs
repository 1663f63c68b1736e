//! The news: what became different, in order, with numbers by which a listener can go on where it stopped.
//!
//! In: what the deriver publishes. Out: changes behind a number. Only the last are kept; who is too slow is told to look at the whole again
//! instead of being buffered for.

use super::held;
use super::numbers::Numbers;
use super::shown::{EdgeChanges, EdgeEnds, OtherChanges, ShownSession};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use tokio::sync::watch;
use unspool_model::{Id, Timestamp};
use unspool_store::rows::{SessionFacts, SessionRow};

/// So many changes are kept for listeners: `max_changes_kept`.
const MAX_CHANGES_KEPT: usize = 8192;
/// They take so many bytes: `max_changes_kept_bytes`. The last one is kept however large it is.
const MAX_CHANGES_KEPT_BYTES: usize = 16 << 20;
/// And so many when nothing has happened for a while: whoever still listens has heard them.
const RESTING_BYTES: usize = 1 << 20;

/// A session became different.
#[derive(Clone, Debug)]
pub struct Change {
    /// Grows by one with each change; greater than all numbers of earlier processes, so that a number of one of them is never taken for one of
    /// this.
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
    /// Edges that are new, different or no more.
    pub edges: EdgeChanges,
    /// Agents that are new or different.
    pub agents: Vec<Id>,
    /// Agents that are no more.
    pub agents_removed: Vec<Id>,
    /// What else is different.
    pub others: OtherChanges,
    /// What it was before is not known: everything may be different.
    pub whole: bool,
}

impl Change {
    /// About how many bytes it takes.
    fn bytes(&self) -> usize {
        let ids = [&self.steps, &self.removed, &self.agents, &self.agents_removed];
        let ids: usize = ids.iter().map(|ids| ids.capacity()).sum();
        let edges = self.edges.changed.capacity() + self.edges.removed.capacity();
        let row =
            self.row.as_ref().map_or(0, |row| size_of::<SessionRow>() + row.title.len() + row.cwd.len());
        size_of::<Change>() + ids * size_of::<Id>() + edges * size_of::<EdgeEnds>() + row
    }
}

/// Some news.
#[derive(Clone, Debug, Default)]
pub struct Feed {
    /// In order.
    pub changes: Vec<Arc<Change>>,
    /// There was more, which is not kept any longer: look at the whole again.
    pub missed: bool,
}

#[derive(Default)]
struct Kept {
    changes: VecDeque<Arc<Change>>,
    bytes: usize,
}

impl Kept {
    fn push(&mut self, change: Change) {
        self.bytes += change.bytes();
        self.changes.push_back(Arc::new(change));
    }

    /// Lets go of the oldest until the rest fits.
    fn fit(&mut self, most_bytes: usize) {
        while self.changes.len() > MAX_CHANGES_KEPT || (self.changes.len() > 1 && self.bytes > most_bytes) {
            self.bytes -= self.changes.pop_front().map_or(0, |change| change.bytes());
        }
    }
}

/// All news that are kept.
pub struct Changes {
    kept: Mutex<Kept>,
    last: watch::Sender<u64>,
    numbers: Arc<Numbers>,
}

impl Changes {
    /// None yet; they have numbers that only ever grow.
    pub(crate) fn new(numbers: &Arc<Numbers>) -> Changes {
        let last = watch::Sender::new(numbers.first());
        Changes { kept: Mutex::default(), last, numbers: Arc::clone(numbers) }
    }

    pub(crate) fn publish(&self, changes: Vec<Change>) {
        if changes.is_empty() {
            return;
        }
        let mut kept = held(&self.kept);
        let mut sequence = *self.last.borrow();
        self.numbers.used(sequence + changes.len() as u64);
        for change in changes {
            sequence += 1;
            kept.push(Change { sequence, ..change });
        }
        kept.fit(MAX_CHANGES_KEPT_BYTES);
        drop(kept);
        self.last.send_replace(sequence);
    }

    /// The number of the last change.
    pub fn last(&self) -> u64 {
        *self.last.borrow()
    }

    /// Changes behind a number.
    pub fn since(&self, sequence: u64) -> Feed {
        let kept = &held(&self.kept).changes;
        let first = kept.front().map_or(self.last().saturating_add(1), |change| change.sequence);
        let from = kept.partition_point(|change| change.sequence <= sequence);
        let missed = sequence + 1 < first || sequence > self.last();
        Feed { changes: kept.range(from..).cloned().collect(), missed }
    }

    /// Nothing happens for a while: most of them are let go.
    pub(crate) fn rest(&self) {
        let mut kept = held(&self.kept);
        kept.fit(RESTING_BYTES);
        kept.changes.shrink_to_fit();
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
    Change {
        sequence: 0,
        at,
        session,
        row: None,
        steps: Vec::new(),
        removed: Vec::new(),
        edges: EdgeChanges::default(),
        agents: Vec::new(),
        agents_removed: Vec::new(),
        others: OtherChanges::default(),
        whole: true,
    }
}

/// What is different from what was shown.
pub(crate) fn change(
    facts: &SessionFacts,
    known: Option<&ShownSession>,
    now: &ShownSession,
    at: Timestamp,
) -> Change {
    let nothing = ShownSession::default();
    let before = known.unwrap_or(&nothing);
    let (steps, removed) = now.steps_since(before);
    let (agents, agents_removed) = now.agents_since(before);
    Change {
        sequence: 0,
        at,
        session: facts.session.id,
        row: Some(Arc::new(facts.session.clone())),
        steps,
        removed,
        edges: known.map_or_else(|| now.all_edges(), |known| now.edges_since(known)),
        agents,
        agents_removed,
        others: now.others_since(before),
        whole: known.is_none(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Changes, MAX_CHANGES_KEPT_BYTES, RESTING_BYTES, gone_change};
    use crate::live::numbers::Numbers;
    use std::sync::Arc;
    use unspool_model::{Id, Timestamp};

    #[test]
    fn what_is_kept_for_listeners_has_a_size() {
        let folder = tempfile::tempdir().unwrap();
        let (numbers, _) = Numbers::open(folder.path(), || Timestamp::NONE);
        let changes = Changes::new(&Arc::new(numbers));
        let before = changes.last();
        let mut large = gone_change(Id::of(&[b"a"]), Timestamp::NONE);
        large.steps = vec![Id::of(&[b"step"]); RESTING_BYTES / size_of::<Id>() / 4 * 3];
        let most = MAX_CHANGES_KEPT_BYTES / (RESTING_BYTES / 4 * 3);
        changes.publish(vec![large.clone(); most]);
        assert!(!changes.since(before).missed);
        changes.publish(vec![large.clone()]);
        assert!(changes.since(before).missed, "the first had to go");
        assert_eq!(changes.since(before + 1).changes.len(), most);
        changes.rest();
        let last = changes.last() - 1;
        assert!(changes.since(last - 1).missed && !changes.since(last).missed);
        assert_eq!(changes.since(last).changes.len(), 1);
        large.steps = vec![Id::of(&[b"step"]); MAX_CHANGES_KEPT_BYTES];
        changes.publish(vec![large]);
        assert_eq!(changes.since(last + 1).changes.len(), 1, "the last is kept however large it is");
    }
}
