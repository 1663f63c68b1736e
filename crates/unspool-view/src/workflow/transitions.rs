//! What followed what among the items of one parent.
//!
//! Items that ran side by side do not follow each other: those one model call asked for, those that overlap in time, and
//! those between two occurrences of the node they go out from and come back to.

use super::group::Groups;
use super::{Item, ItemId, NodeType, WorkflowEdge};
use rustc_hash::{FxHashMap, FxHashSet};
use unspool_model::Timestamp;

/// The node where everything begins.
const BEGIN: u32 = 0;

/// So many transitions are counted, and then no more: where many different things ran side by side after many others, all of them
/// follow all of those.
pub(super) const MAX_TRANSITIONS: u64 = 1_000_000;

/// Edges in the making, by the unordered pair of their nodes.
#[derive(Default)]
struct Edges {
    list: Vec<WorkflowEdge>,
    index: FxHashMap<(u32, u32), usize>,
    /// How many were added.
    added: u64,
    /// How many were not, because of the limit.
    left_out: u64,
}

impl Edges {
    fn add(&mut self, source: u32, target: u32, times: u64, enters: bool) {
        if source == target {
            return;
        }
        if self.added >= MAX_TRANSITIONS {
            self.left_out += 1;
            return;
        }
        self.added += 1;
        let pair = (source.min(target), source.max(target));
        let at = *self.index.entry(pair).or_insert_with(|| {
            self.list.push(WorkflowEdge { source, target, enters, ..WorkflowEdge::default() });
            self.list.len() - 1
        });
        let edge = &mut self.list[at];
        if edge.source == source {
            edge.forward += times;
        } else {
            edge.backward += times;
            edge.bidirectional = true;
        }
    }
}

/// What some siblings began and ended with.
struct Ends {
    first: Vec<u32>,
    last: Vec<u32>,
}

/// Edges, and how many transitions the limit left out.
pub(super) fn transitions(items: &[&Item<'_>], groups: &Groups) -> (Vec<WorkflowEdge>, u64) {
    let mut edges = Edges::default();
    let mut siblings: Vec<Vec<u32>> = Vec::new();
    let mut index: FxHashMap<Option<&ItemId>, usize> = FxHashMap::default();
    for (n, item) in (0_u32..).zip(items) {
        if groups.node_of[n as usize].is_none() {
            continue;
        }
        let at = *index.entry(item.parent.as_ref()).or_insert_with(|| {
            siblings.push(Vec::new());
            siblings.len() - 1
        });
        siblings[at].push(n);
    }
    let node = |item: u32| groups.node_of[item as usize].unwrap_or(BEGIN);
    let mut outermost: Vec<Ends> = Vec::new();
    for list in &siblings {
        let ends = walk(items, groups, list, &mut edges);
        let parent = groups.parent_of[list[0] as usize].and_then(|parent| groups.node_of[parent as usize]);
        match parent {
            Some(parent) => ends.first.iter().for_each(|item| edges.add(parent, node(*item), 1, true)),
            None => outermost.push(ends),
        }
    }
    // What lies in nothing that is drawn begins with the begin and ends with the end, so that the graph is one.
    let end = u32::try_from(groups.nodes.len().saturating_sub(1)).unwrap_or(BEGIN);
    for ends in &outermost {
        ends.first.iter().for_each(|item| edges.add(BEGIN, node(*item), 1, false));
        ends.last.iter().for_each(|item| edges.add(node(*item), end, 1, false));
    }
    (edges.list, edges.left_out)
}

/// Items that ran side by side.
#[derive(Default)]
struct Front {
    items: Vec<u32>,
    /// The items that asked for them.
    callers: FxHashSet<u32>,
    /// Ends of the two that end last, and which the last is.
    last_end: (Timestamp, Option<u32>),
    second_end: Timestamp,
}

impl Front {
    fn push(&mut self, items: &[&Item<'_>], groups: &Groups, item: u32) {
        self.items.push(item);
        self.callers.extend(groups.caller_of[item as usize]);
        let ended = items[item as usize].ended;
        if ended.ms_since(self.last_end.0).is_none_or(|ms| ms > 0) && ended.is_some() {
            self.second_end = self.last_end.0;
            self.last_end = (ended, Some(item));
        } else {
            self.second_end = self.second_end.later(ended);
        }
    }

    /// Whether an item runs beside one of these.
    fn runs_beside(&self, items: &[&Item<'_>], groups: &Groups, item: u32) -> bool {
        if self.callers.contains(&item) {
            return false;
        }
        let caller = groups.caller_of[item as usize];
        if caller.is_some_and(|caller| self.callers.contains(&caller)) {
            return true;
        }
        // What asked for the item may still run, and comes before it all the same.
        let of_others =
            if caller.is_some() && caller == self.last_end.1 { self.second_end } else { self.last_end.0 };
        items[item as usize].started.ms_since(of_others).is_some_and(|ms| ms < 0)
    }

    /// Hands over its nodes and how many items of each, and is empty.
    fn hand_over(&mut self, groups: &Groups, nodes: &mut Vec<(u32, u64)>) {
        nodes.clear();
        self.items.sort_unstable_by_key(|item| (groups.node_of[*item as usize], *item));
        for node in self.items.iter().filter_map(|item| groups.node_of[*item as usize]) {
            match nodes.last_mut() {
                Some((last, count)) if *last == node => *count += 1,
                _ => nodes.push((node, 1)),
            }
        }
        self.items.clear();
        self.callers.clear();
        self.last_end = (Timestamp::NONE, None);
        self.second_end = Timestamp::NONE;
    }
}

/// Walks one parent's items in order.
fn walk(items: &[&Item<'_>], groups: &Groups, list: &[u32], edges: &mut Edges) -> Ends {
    let mut last_of: FxHashMap<u32, u32> = FxHashMap::default();
    for item in list {
        if let Some(node) = groups.node_of[*item as usize] {
            last_of.insert(node, *item);
        }
    }
    let comes_again = |item: u32| {
        groups.node_of[item as usize].is_some_and(|node| last_of.get(&node).is_some_and(|last| *last > item))
    };
    let mut before: Vec<(u32, u64)> = Vec::new();
    let mut front = Front::default();
    let mut hub: Option<u32> = None;
    let mut first: Option<Vec<u32>> = None;
    for item in list.iter().copied() {
        let node = groups.node_of[item as usize];
        let comes_back = hub.is_some_and(|hub| {
            let hub = groups.node_of[hub as usize];
            hub != node && hub.is_some_and(|hub| last_of[&hub] > item)
        });
        let goes_out = comes_back
            && groups.types[item as usize] != NodeType::Llm
            && front.items.iter().any(|other| Some(*other) != hub);
        if !goes_out && !front.runs_beside(items, groups, item) {
            if first.is_none() && !front.items.is_empty() {
                first = Some(front.items.clone());
            }
            front.hand_over(groups, &mut before);
        }
        front.push(items, groups, item);
        for (other, times) in &before {
            edges.add(*other, node.unwrap_or(BEGIN), *times, false);
        }
        // Others may go out from it and come back to its node.
        let may_be_hub =
            matches!(items[item as usize].node_type, None | Some(NodeType::Llm | NodeType::Agent));
        if may_be_hub && comes_again(item) {
            hub = Some(item);
        }
    }
    Ends { first: first.unwrap_or_else(|| front.items.clone()), last: front.items }
}
