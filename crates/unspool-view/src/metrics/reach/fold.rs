//! Folds nodes of a graph that are always reached together, and unfolds counts made of what is left.
//!
//! In: arcs that lead forward. Out: a smaller graph with weights. Never here: counting.

use rustc_hash::{FxHashMap, FxHashSet};
use unspool_model::flow::NONE;

/// Folding goes on while it gets somewhere, at most so often; what is left then is counted as it is.
const MAX_ROUNDS: usize = 200;

/// A graph folded into heavier nodes. The first nodes are the original ones.
pub(super) struct Folded {
    weight: Vec<u64>,
    /// The node this one was folded into, and the weight of what it leads to inside of it.
    into: Vec<(u32, u64)>,
    /// Leads to nothing outside of what it was folded from.
    is_end: Vec<bool>,
    pairs: Vec<(u32, u32)>,
    alive: Vec<u32>,
}

/// How many arcs come and go, and one of each.
#[derive(Clone, Copy)]
struct Ends {
    incoming: u32,
    outgoing: u32,
    from: u32,
    to: u32,
}

impl Folded {
    /// From arcs without repetition.
    pub(super) fn new(nodes: usize, pairs: Vec<(u32, u32)>) -> Folded {
        let mut folded = Folded {
            weight: vec![1; nodes],
            into: vec![(NONE, 0); nodes],
            is_end: vec![false; nodes],
            pairs,
            alive: (0..u32::try_from(nodes).unwrap_or(NONE)).collect(),
        };
        for _ in 0..MAX_ROUNDS {
            let before = (folded.alive.len(), folded.pairs.len());
            folded.fold_ends();
            folded.fold_twins();
            folded.fold_chains();
            if before == (folded.alive.len(), folded.pairs.len()) {
                break;
            }
        }
        folded
    }

    fn ends(&self) -> Vec<Ends> {
        let none = Ends { incoming: 0, outgoing: 0, from: NONE, to: NONE };
        let mut ends = vec![none; self.weight.len()];
        for (from, to) in &self.pairs {
            let source = &mut ends[*from as usize];
            (source.outgoing, source.to) = (source.outgoing + 1, *to);
            let target = &mut ends[*to as usize];
            (target.incoming, target.from) = (target.incoming + 1, *from);
        }
        ends
    }

    fn add(&mut self, weight: u64) -> u32 {
        self.weight.push(weight);
        self.into.push((NONE, 0));
        self.is_end.push(false);
        u32::try_from(self.weight.len() - 1).unwrap_or(NONE)
    }

    /// Puts arcs on the nodes that others were folded into.
    fn settle(&mut self) {
        let into = &self.into;
        let now = |node: u32| match into[node as usize].0 {
            NONE => node,
            other => other,
        };
        for (from, to) in &mut self.pairs {
            (*from, *to) = (now(*from), now(*to));
        }
        self.pairs.retain(|(from, to)| from != to);
        self.pairs.sort_unstable();
        self.pairs.dedup();
        self.alive.retain(|node| into[*node as usize].0 == NONE && !self.is_end[*node as usize]);
    }

    /// An end that only one node leads to becomes weight of that node.
    fn fold_ends(&mut self) {
        let ends = self.ends();
        let hangs = |node: u32| ends[node as usize].outgoing == 0 && ends[node as usize].incoming == 1;
        let mut holders: FxHashMap<u32, u32> = FxHashMap::default();
        let mut next = Vec::new();
        for node in self.alive.clone() {
            if !hangs(node) {
                continue;
            }
            let holder = ends[node as usize].from;
            let weight = self.weight[node as usize];
            let heavier = match holders.get(&holder) {
                Some(heavier) => *heavier,
                None => {
                    let heavier = self.add(self.weight[holder as usize]);
                    self.into[holder as usize] = (heavier, 0);
                    holders.insert(holder, heavier);
                    next.push(heavier);
                    heavier
                }
            };
            self.weight[heavier as usize] += weight;
            self.into[holder as usize].1 += weight;
            self.is_end[node as usize] = true;
        }
        let is_end = &self.is_end;
        self.pairs.retain(|(_, to)| !is_end[*to as usize]);
        self.alive.extend(next);
        self.settle();
    }

    /// Nodes with the same only cause and only effect are one; an arc past such a node says nothing new.
    fn fold_twins(&mut self) {
        let ends = self.ends();
        let mut first: FxHashMap<(u32, u32), u32> = FxHashMap::default();
        let mut merged: FxHashMap<(u32, u32), u32> = FxHashMap::default();
        let mut next = Vec::new();
        for node in self.alive.clone() {
            let Ends { incoming, outgoing, from, to } = ends[node as usize];
            if incoming != 1 || outgoing != 1 {
                continue;
            }
            let Some(twin) = first.get(&(from, to)).copied() else {
                first.insert((from, to), node);
                continue;
            };
            let both = match merged.get(&(from, to)) {
                Some(both) => *both,
                None => {
                    let both = self.add(self.weight[twin as usize]);
                    self.into[twin as usize] = (both, 0);
                    merged.insert((from, to), both);
                    next.push(both);
                    both
                }
            };
            self.weight[both as usize] += self.weight[node as usize];
            self.into[node as usize] = (both, 0);
        }
        let past: FxHashSet<(u32, u32)> = first.into_keys().collect();
        self.pairs.retain(|pair| !past.contains(pair));
        self.alive.extend(next);
        self.settle();
    }

    /// Nodes that are reached one through the other are one.
    fn fold_chains(&mut self) {
        let ends = self.ends();
        let follows = |node: u32| {
            let Ends { outgoing, to, .. } = ends[node as usize];
            (outgoing == 1 && ends[to as usize].incoming == 1).then_some(to)
        };
        let mut next = Vec::new();
        for start in self.alive.clone() {
            let Ends { incoming, from, .. } = ends[start as usize];
            let is_inner = incoming == 1 && ends[from as usize].outgoing == 1;
            if is_inner || follows(start).is_none() {
                continue;
            }
            let mut chain = vec![start];
            while let Some(to) = chain.last().and_then(|last| follows(*last)) {
                chain.push(to);
            }
            let whole = self.add(0);
            let mut behind = 0;
            for node in chain.into_iter().rev() {
                self.into[node as usize] = (whole, behind);
                behind += self.weight[node as usize];
            }
            self.weight[whole as usize] = behind;
            next.push(whole);
        }
        self.alive.extend(next);
        self.settle();
    }

    /// The folded graph, its nodes numbered anew: weights and arcs.
    pub(super) fn core(&self) -> (Vec<u64>, Vec<(u32, u32)>) {
        let mut number = vec![NONE; self.weight.len()];
        for (n, node) in (0_u32..).zip(&self.alive) {
            number[*node as usize] = n;
        }
        let weights = self.alive.iter().map(|node| self.weight[*node as usize]).collect();
        let pairs = self.pairs.iter().map(|(from, to)| (number[*from as usize], number[*to as usize]));
        (weights, pairs.collect())
    }

    /// Counts of the original nodes from those of the folded graph's.
    pub(super) fn unfold(&self, nodes: usize, counts: &[u64]) -> Vec<u64> {
        let mut known = vec![0_u64; self.weight.len()];
        for (node, count) in self.alive.iter().zip(counts) {
            known[*node as usize] = *count;
        }
        // A node is folded into one that was made later.
        for node in (0..self.weight.len()).rev() {
            let (into, inside) = self.into[node];
            if into != NONE {
                known[node] = known[into as usize] + inside;
            }
        }
        known.truncate(nodes);
        known
    }
}
