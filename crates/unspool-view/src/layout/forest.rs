//! Clusters as a forest: who lies in whom, made safe against parents that do not exist and rings of parents.
//!
//! In: the parent of each cluster. Out: depth, common ancestors. Never here: where a cluster is drawn.

/// A cluster's number, or `ROOT` for what lies in none.
pub(crate) type ClusterId = u32;
/// What holds everything.
pub(crate) const ROOT: ClusterId = u32::MAX;

/// Clusters with depths; outermost ones have depth 1.
#[derive(Default)]
pub(crate) struct Forest {
    parents: Vec<ClusterId>,
    depths: Vec<u32>,
    /// Inner clusters before outer ones.
    inner_first: Vec<ClusterId>,
}

impl Forest {
    /// From parents; a parent that closes a ring or does not exist counts as none.
    pub(crate) fn new(mut parents: Vec<ClusterId>) -> Forest {
        let count = parents.len();
        let mut depths = vec![0u32; count];
        let mut way: Vec<usize> = Vec::new();
        let mut on_way = vec![false; count];
        for start in 0..count {
            let mut at = start;
            let base = loop {
                if depths[at] > 0 {
                    break depths[at];
                }
                on_way[at] = true;
                way.push(at);
                let parent = parents[at] as usize;
                if parent >= count || on_way[parent] {
                    parents[at] = ROOT;
                    break 0;
                }
                at = parent;
            };
            for (depth, cluster) in (base + 1..).zip(way.drain(..).rev()) {
                depths[cluster] = depth;
                on_way[cluster] = false;
            }
        }
        let mut inner_first: Vec<ClusterId> = (0u32..).take(count).collect();
        unspool_model::sort_by_meaning(&mut inner_first, |cluster| {
            std::cmp::Reverse(depths[*cluster as usize])
        });
        Forest { parents, depths, inner_first }
    }

    pub(crate) fn len(&self) -> usize {
        self.parents.len()
    }

    pub(crate) fn inner_first(&self) -> &[ClusterId] {
        &self.inner_first
    }

    pub(crate) fn parent(&self, cluster: ClusterId) -> ClusterId {
        self.parents.get(cluster as usize).copied().unwrap_or(ROOT)
    }

    pub(crate) fn depth(&self, cluster: ClusterId) -> u32 {
        self.depths.get(cluster as usize).copied().unwrap_or(0)
    }

    /// The cluster and all it lies in, from the inside out.
    pub(crate) fn around(&self, cluster: ClusterId) -> impl Iterator<Item = ClusterId> + '_ {
        std::iter::successors(Some(cluster), |c| Some(self.parent(*c))).take_while(|c| *c != ROOT)
    }

    /// For each cluster when a walk through the forest enters and leaves it; the walk begins at 1.
    pub(crate) fn walk(&self) -> Vec<(u32, u32)> {
        let mut inner: Vec<Vec<ClusterId>> = vec![Vec::new(); self.len() + 1];
        for cluster in (0u32..).take(self.len()) {
            inner[(self.parent(cluster) as usize).min(self.len())].push(cluster);
        }
        let mut walk = vec![(0, 0); self.len()];
        let mut clock = 1;
        let mut stack: Vec<(usize, usize)> = vec![(self.len(), 0)];
        while let Some((at, done)) = stack.pop() {
            if let Some(&next) = inner[at].get(done) {
                stack.push((at, done + 1));
                walk[next as usize].0 = clock;
                clock += 1;
                stack.push((next as usize, 0));
            } else if at < self.len() {
                walk[at].1 = clock;
            }
        }
        walk
    }

    /// Where the ways out of two clusters meet: the innermost cluster that holds both, and on each side the outermost cluster below
    /// it (`ROOT` where there is none).
    pub(crate) fn meet(&self, mut a: ClusterId, mut b: ClusterId) -> Meeting {
        let (mut below_a, mut below_b) = (ROOT, ROOT);
        while a != b {
            if self.depth(a) >= self.depth(b) {
                below_a = a;
                a = self.parent(a);
            } else {
                below_b = b;
                b = self.parent(b);
            }
        }
        Meeting { common: a, below_a, below_b }
    }
}

/// Parents, where one that closes a ring or does not exist counts as none.
pub(crate) fn without_rings(parents: Vec<u32>) -> Vec<Option<u32>> {
    let forest = Forest::new(parents);
    (0u32..).take(forest.len()).map(|n| Some(forest.parent(n)).filter(|parent| *parent != ROOT)).collect()
}

/// See [`Forest::meet`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Meeting {
    pub(crate) common: ClusterId,
    pub(crate) below_a: ClusterId,
    pub(crate) below_b: ClusterId,
}

#[cfg(test)]
mod tests {
    use super::{Forest, Meeting, ROOT};

    #[test]
    fn rings_are_opened() {
        let forest = Forest::new(vec![1, 2, 0, 9, 2]);
        assert_eq!((0..5).map(|c| forest.depth(c)).collect::<Vec<_>>(), [3, 2, 1, 1, 2]);
        assert_eq!(forest.meet(0, 4), Meeting { common: 2, below_a: 1, below_b: 4 });
        assert_eq!(forest.meet(3, ROOT), Meeting { common: ROOT, below_a: 3, below_b: ROOT });
    }
}
