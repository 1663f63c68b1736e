//! A session as it was shown last, in short: hashes of what it has, by which it is told what is different now.
//!
//! A long session is linked again for every few lines that come, so nothing is kept but numbers, and what stands unchanged at the
//! beginning and at the end of a list is passed over before anything else is looked at.

use rustc_hash::{FxHashMap, FxHashSet, FxHasher};
use std::hash::{Hash, Hasher};
use unspool_model::{Batch, EdgeKind, Flow, Id};
use unspool_store::rows::SessionFacts;

/// Edges of a change that are told one by one: `max_change_edges`.
const MAX_CHANGE_EDGES: usize = 1024;

/// The ends of edges, and what relation they are: what an edge is known again by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EdgeEnds {
    /// The step that caused.
    pub from: Id,
    /// The step that followed.
    pub to: Id,
    /// What relation.
    pub kind: EdgeKind,
}

/// Edges that are different.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EdgeChanges {
    /// Those that have edges that are new or different; none when there are more than `max_change_edges`.
    pub changed: Vec<EdgeEnds>,
    /// Those that have none any more; none when there are more than `max_change_edges`.
    pub removed: Vec<EdgeEnds>,
    /// How many both are.
    pub count: usize,
}

impl EdgeChanges {
    /// Not all of them are told.
    pub fn is_cut(&self) -> bool {
        self.changed.len() + self.removed.len() < self.count
    }
}

/// What is different beside steps, edges and agents, of which no more is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OtherChanges {
    /// Its runs.
    pub runs: bool,
    /// What was odd.
    pub issues: bool,
    /// What people said about links.
    pub links: bool,
}

/// Ids and hashes, in order.
type Hashed = Vec<(Id, u64)>;

/// A session as it was shown.
#[derive(Default)]
pub(crate) struct ShownSession {
    pub(crate) steps: Hashed,
    edges: Vec<ShownEdge>,
    agents: Hashed,
    runs: u64,
    issues: u64,
    links: u64,
}

/// An edge; its ends are places in the list of steps.
#[derive(Clone, Copy)]
struct ShownEdge {
    hash: u64,
    from: u32,
    to: u32,
    kind: EdgeKind,
}

/// What is new or different, and what is no more.
type Difference = (Vec<Id>, Vec<Id>);

impl ShownSession {
    pub(crate) fn of(facts: &SessionFacts, flow: &Flow, batch: &Batch) -> ShownSession {
        let steps = flow.steps.iter().map(|step| step.id).zip(facts.steps.hashes().iter().copied());
        let edges = flow.edges.iter().zip(facts.edges.hashes());
        let said = flow.links.iter();
        let said = said.map(|link| {
            let record = batch.records.get(link.record as usize).map(|record| record.id);
            (record, link.standing.name())
        });
        ShownSession {
            steps: steps.collect(),
            edges: edges
                .map(|(edge, hash)| ShownEdge { hash: *hash, from: edge.from, to: edge.to, kind: edge.kind })
                .collect(),
            agents: facts.agents.iter().map(|agent| (agent.id, hash_of(agent))).collect(),
            runs: hash_of(&facts.runs),
            issues: hash_of(&facts.issues),
            links: hash_of(&said.collect::<Vec<_>>()),
        }
    }

    pub(crate) fn steps_since(&self, before: &ShownSession) -> Difference {
        difference(&before.steps, &self.steps)
    }

    pub(crate) fn agents_since(&self, before: &ShownSession) -> Difference {
        difference(&before.agents, &self.agents)
    }

    pub(crate) fn others_since(&self, before: &ShownSession) -> OtherChanges {
        OtherChanges {
            runs: self.runs != before.runs,
            issues: self.issues != before.issues,
            links: self.links != before.links,
        }
    }

    /// Nothing is known of an earlier one: how many there are.
    pub(crate) fn all_edges(&self) -> EdgeChanges {
        EdgeChanges { count: self.edges.len(), ..EdgeChanges::default() }
    }

    pub(crate) fn edges_since(&self, before: &ShownSession) -> EdgeChanges {
        let (old, new) = (&before.edges[..], &self.edges[..]);
        let is_same = |(one, other): &(&ShownEdge, &ShownEdge)| one.hash == other.hash;
        let mut head = old.iter().zip(new).take_while(is_same).count();
        let rest = old[head..].iter().rev().zip(new[head..].iter().rev());
        let mut tail = rest.take_while(is_same).count();
        if head + tail == old.len() && head + tail == new.len() {
            return EdgeChanges::default();
        }
        // Edges with the same ends stand beside each other, and are told together.
        let splits = |edges: &[ShownEdge], at: usize| {
            let pair = at.checked_sub(1).and_then(|before| edges.get(before)).zip(edges.get(at));
            pair.is_some_and(|(one, other)| one.ends() == other.ends())
        };
        while head > 0 && (splits(old, head) || splits(new, head)) {
            head -= 1;
        }
        while tail > 0 && (splits(old, old.len() - tail) || splits(new, new.len() - tail)) {
            tail -= 1;
        }
        let (old, new) = (&old[head..old.len() - tail], &new[head..new.len() - tail]);
        let hashes = |edges: &[ShownEdge]| edges.iter().map(|edge| edge.hash).collect::<FxHashSet<u64>>();
        let (known, left) = (hashes(old), hashes(new));
        let gone = old.iter().filter(|edge| !left.contains(&edge.hash)).filter_map(|edge| before.ends(*edge));
        let come = new.iter().filter(|edge| !known.contains(&edge.hash)).filter_map(|edge| self.ends(*edge));
        let mut different: Vec<EdgeEnds> = gone.chain(come).collect();
        different.sort_unstable();
        different.dedup();
        let count = different.len();
        if count > MAX_CHANGE_EDGES {
            return EdgeChanges { count, ..EdgeChanges::default() };
        }
        let there: FxHashSet<EdgeEnds> = new.iter().filter_map(|edge| self.ends(*edge)).collect();
        let (changed, removed) = different.into_iter().partition(|ends| there.contains(ends));
        EdgeChanges { changed, removed, count }
    }

    fn ends(&self, edge: ShownEdge) -> Option<EdgeEnds> {
        let step = |n: u32| self.steps.get(n as usize).map(|(id, _)| *id);
        Some(EdgeEnds { from: step(edge.from)?, to: step(edge.to)?, kind: edge.kind })
    }
}

impl ShownEdge {
    fn ends(&self) -> (u32, u32, EdgeKind) {
        (self.from, self.to, self.kind)
    }
}

fn hash_of(what: &impl Hash) -> u64 {
    let mut hasher = FxHasher::default();
    what.hash(&mut hasher);
    hasher.finish()
}

fn difference(before: &[(Id, u64)], now: &[(Id, u64)]) -> Difference {
    let same = before.iter().zip(now).take_while(|(before, now)| before == now).count();
    let (before, now) = (&before[same..], &now[same..]);
    let known: FxHashMap<Id, u64> = before.iter().copied().collect();
    let left: FxHashSet<Id> = now.iter().map(|(id, _)| *id).collect();
    let differs = |(id, hash): &&(Id, u64)| known.get(id) != Some(hash);
    let changed = now.iter().filter(differs).map(|(id, _)| *id).collect();
    (changed, before.iter().map(|(id, _)| *id).filter(|id| !left.contains(id)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(n: usize) -> Id {
        Id::of(&[&n.to_le_bytes()])
    }

    /// Steps by number, and edges as from, to and hash, in the order of a flow.
    fn shown(steps: &[usize], edges: &[(u32, u32, u64)]) -> ShownSession {
        let kind = EdgeKind::DependsOn;
        let edge = |(from, to, hash): &(u32, u32, u64)| ShownEdge { hash: *hash, from: *from, to: *to, kind };
        ShownSession {
            steps: steps.iter().map(|n| (id(*n), 0)).collect(),
            edges: edges.iter().map(edge).collect(),
            ..ShownSession::default()
        }
    }

    fn ends(pairs: &[(usize, usize)]) -> Vec<EdgeEnds> {
        let one = |(from, to): &(usize, usize)| EdgeEnds {
            from: id(*from),
            to: id(*to),
            kind: EdgeKind::DependsOn,
        };
        let mut ends: Vec<EdgeEnds> = pairs.iter().map(one).collect();
        ends.sort_unstable();
        ends
    }

    #[test]
    fn edges_that_are_new_different_or_gone_are_told_by_their_ends() {
        let before = shown(&[0, 1, 2, 3], &[(0, 1, 10), (1, 2, 11), (2, 3, 12)]);
        assert_eq!(before.edges_since(&before), EdgeChanges::default());
        // A step before all others: places move, ends stay.
        let now = shown(&[9, 0, 1, 2, 3], &[(1, 2, 10), (2, 3, 21), (1, 4, 13)]);
        let told = now.edges_since(&before);
        assert_eq!((told.changed, told.removed), (ends(&[(1, 2), (0, 3)]), ends(&[(2, 3)])));
        assert_eq!(told.count, 3);
    }

    #[test]
    fn edges_between_the_same_steps_are_told_together() {
        let before = shown(&[0, 1, 2], &[(0, 1, 10), (0, 1, 11), (1, 2, 12)]);
        let now = shown(&[0, 1, 2], &[(0, 1, 10), (1, 2, 12)]);
        let told = now.edges_since(&before);
        // One of two is gone: the other is still there, so the ends are not.
        assert_eq!((told.changed, told.removed, told.count), (ends(&[(0, 1)]), Vec::new(), 1));
    }

    #[test]
    fn too_many_edges_are_counted() {
        let edges: Vec<(u32, u32, u64)> = (0..1100).map(|n| (n, n + 1, u64::from(n))).collect();
        let steps: Vec<usize> = (0..1101).collect();
        let told = shown(&steps, &edges).edges_since(&shown(&steps, &[]));
        assert_eq!((told.changed.len(), told.count, told.is_cut()), (0, 1100, true));
        let told = shown(&steps, &edges).edges_since(&shown(&steps, &edges[..1000]));
        assert_eq!((told.changed.len(), told.count, told.is_cut()), (100, 100, false));
    }
}
