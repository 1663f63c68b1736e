//! Which items are one node.

use super::{END, Grouping, Item, ItemId, NodeType, Options, START, Workflow, WorkflowEdge, WorkflowNode};
use crate::totals::sum_of_known;
use rustc_hash::{FxHashMap, FxHashSet};
use unspool_model::Id;

/// What people see of an item without a name.
const NAMELESS: &str = "Operation";
/// So many names stand in a node's id; deeper nodes are known by a hash.
const MAX_PATH_NAMES: usize = 32;
/// The word for "no parent" in a node's id.
const ROOT: &str = "root";

/// Nodes, and the node of each item.
pub(super) struct Groups {
    /// Begin first, end last.
    pub(super) nodes: Vec<WorkflowNode>,
    /// By position in the sorted items; none for containers that were folded.
    pub(super) node_of: Vec<Option<u32>>,
    /// Position of each item's parent, if that is an item.
    pub(super) parent_of: Vec<Option<u32>>,
    /// Position of the item that asked for each item.
    pub(super) caller_of: Vec<Option<u32>>,
    /// What each item does, found or given.
    pub(super) types: Vec<NodeType>,
    /// Items that only hold others.
    pub(super) folded: Vec<ItemId>,
}

pub(super) fn group(items: &[&Item<'_>], options: &Options) -> Groups {
    let by_id: FxHashMap<&ItemId, u32> = items.iter().map(|item| &item.id).zip(0..).collect();
    let find = |id: &Option<ItemId>| id.as_ref().and_then(|id| by_id.get(id).copied());
    let parent_of: Vec<Option<u32>> =
        (0..).zip(items).map(|(n, item)| find(&item.parent).filter(|parent| *parent != n)).collect();
    let caller_of = items.iter().map(|item| find(&item.caller)).collect();
    let types = types(items, &parent_of);
    let inside = Inside::new(&parent_of);
    let folded = inside.folded();
    let node_of = match options.grouping {
        Grouping::Parent => by_parent(items, &folded),
        Grouping::Path => by_path(items, &folded, &inside),
    };
    let mut groups = Groups {
        nodes: Vec::new(),
        node_of,
        parent_of,
        caller_of,
        types,
        folded: items
            .iter()
            .zip(&folded)
            .filter(|(_, folded)| **folded)
            .map(|(item, _)| item.id.clone())
            .collect(),
    };
    groups.number_by_first_item();
    groups.fill(items, options.grouping);
    groups
}

/// Items of one name under one parent.
fn by_parent(items: &[&Item<'_>], folded: &[bool]) -> Vec<Option<u32>> {
    let mut index: FxHashMap<(Option<&ItemId>, &str), u32> = FxHashMap::default();
    let mut node_of = Vec::with_capacity(items.len());
    for (item, folded) in items.iter().zip(folded) {
        let next = u32::try_from(index.len()).unwrap_or(u32::MAX);
        let key = (item.parent.as_ref(), item.name.as_ref());
        node_of.push((!folded).then(|| *index.entry(key).or_insert(next)));
    }
    node_of
}

/// Items of one name under parents that are one node.
fn by_path(items: &[&Item<'_>], folded: &[bool], inside: &Inside) -> Vec<Option<u32>> {
    let mut index: FxHashMap<(Option<u32>, &str), u32> = FxHashMap::default();
    let mut node_of: Vec<Option<u32>> = vec![None; items.len()];
    for (n, parent) in inside.parents_first() {
        if !folded[n] {
            let next = u32::try_from(index.len()).unwrap_or(u32::MAX);
            let above = parent.and_then(|parent| node_of[parent]);
            node_of[n] = Some(*index.entry((above, items[n].name.as_ref())).or_insert(next));
        }
    }
    node_of
}

/// What lies in what.
struct Inside {
    children: Vec<Vec<u32>>,
    roots: Vec<u32>,
}

impl Inside {
    fn new(parent_of: &[Option<u32>]) -> Inside {
        let mut inside = Inside { children: vec![Vec::new(); parent_of.len()], roots: Vec::new() };
        for (n, parent) in (0_u32..).zip(parent_of) {
            match parent {
                Some(parent) => inside.children[*parent as usize].push(n),
                None => inside.roots.push(n),
            }
        }
        inside
    }

    /// Containers at the root that hold everything: a lone item with children, and the lone one below it.
    fn folded(&self) -> Vec<bool> {
        let mut folded = vec![false; self.children.len()];
        let mut level = &self.roots;
        while let [only] = level.as_slice() {
            let only = *only as usize;
            if self.children[only].is_empty() || std::mem::replace(&mut folded[only], true) {
                break;
            }
            level = &self.children[only];
        }
        folded
    }

    /// Every item once, behind its parent. Of items that lie in each other, the first counts as a root.
    fn parents_first(&self) -> Vec<(usize, Option<usize>)> {
        let len = self.children.len();
        let mut order: Vec<(usize, Option<usize>)> = self.roots.iter().map(|n| (*n as usize, None)).collect();
        let mut seen = vec![false; len];
        for root in &self.roots {
            seen[*root as usize] = true;
        }
        let (mut next, mut unseen) = (0, 0);
        loop {
            while let Some((at, _)) = order.get(next).copied() {
                next += 1;
                for child in self.children[at].iter().map(|child| *child as usize) {
                    if !std::mem::replace(&mut seen[child], true) {
                        order.push((child, Some(at)));
                    }
                }
            }
            while unseen < len && seen[unseen] {
                unseen += 1;
            }
            if unseen == len {
                return order;
            }
            seen[unseen] = true;
            order.push((unseen, None));
        }
    }
}

fn types(items: &[&Item<'_>], parent_of: &[Option<u32>]) -> Vec<NodeType> {
    let mut types: Vec<NodeType> = items.iter().map(|item| item.node_type.unwrap_or_default()).collect();
    // Whoever asks models or runs tools is an agent.
    for (item, parent) in items.iter().zip(parent_of) {
        if let (Some(NodeType::Llm | NodeType::Tool), Some(parent)) = (item.node_type, parent)
            && items[*parent as usize].node_type.is_none()
        {
            types[*parent as usize] = NodeType::Agent;
        }
    }
    for (item, node_type) in items.iter().zip(&mut types) {
        if item.node_type.is_none() && *node_type == NodeType::Default {
            *node_type = by_name(&item.name);
        }
    }
    types
}

/// What a name says, where nothing else does.
fn by_name(name: &str) -> NodeType {
    const WORDS: [(&[&str], NodeType); 6] = [
        (&["retriev", "rag", "search"], NodeType::Retrieval),
        (&["embed"], NodeType::Embedding),
        (&["router", "route"], NodeType::Router),
        (&["memory", "store", "cache"], NodeType::Memory),
        (&["guardrail"], NodeType::Guardrail),
        (&["tool", "function"], NodeType::Tool),
    ];
    let name = name.to_lowercase();
    let found = WORDS.iter().find(|(words, _)| words.iter().any(|word| name.contains(word)));
    found.map_or(NodeType::Default, |(_, node_type)| *node_type)
}

impl Groups {
    /// Numbers the nodes from 1 in the order of their first items; 0 is the begin.
    fn number_by_first_item(&mut self) {
        let mut number: FxHashMap<u32, u32> = FxHashMap::default();
        for node in self.node_of.iter_mut().flatten() {
            let next = u32::try_from(number.len() + 1).unwrap_or(u32::MAX);
            *node = *number.entry(*node).or_insert(next);
        }
    }

    fn fill(&mut self, items: &[&Item<'_>], grouping: Grouping) {
        let mut known: FxHashSet<String> = FxHashSet::default();
        self.nodes.push(WorkflowNode::end(START, "Start", NodeType::Start));
        for (n, item) in items.iter().enumerate() {
            let Some(node) = self.node_of[n] else { continue };
            if node as usize == self.nodes.len() {
                self.nodes.push(WorkflowNode {
                    display_name: shown_name(&item.name),
                    node_type: self.types[n],
                    ..WorkflowNode::default()
                });
                if grouping == Grouping::Parent {
                    let id = self.id_by_parent(items, n, &known);
                    known.insert(id.clone());
                    self.nodes[node as usize].id = id;
                }
            }
            self.nodes[node as usize].count(item);
        }
        // A parent may start after its children, where clocks disagree.
        for (node, parent) in self.node_of.iter().zip(&self.parent_of) {
            let above = parent.and_then(|parent| self.node_of[parent as usize]);
            if let (Some(node), Some(above)) = (node, above) {
                self.nodes[*node as usize].parent.get_or_insert(above);
            }
        }
        if grouping == Grouping::Path {
            self.name_by_path(items);
        }
        match self.nodes.len() {
            1 => self.nodes.clear(),
            _ => self.nodes.push(WorkflowNode::end(END, "End", NodeType::End)),
        }
    }

    /// A node's id by what it lies in: the span that is, or its own id where it was none or spans of two traces share one.
    fn id_by_parent(&self, items: &[&Item<'_>], n: usize, known: &FxHashSet<String>) -> String {
        let item = items[n];
        let span = self.parent_of[n].and_then(|parent| items[parent as usize].span);
        let by_span = span.map(|span| format!("{span}:{}", item.name)).filter(|id| !known.contains(id));
        by_span.unwrap_or_else(|| {
            let parent = item.parent.as_ref().map_or_else(|| ROOT.to_string(), ToString::to_string);
            format!("{parent}:{}", item.name)
        })
    }

    /// A node's id is the path of names to it, colons in names behind a backslash; where that is deep, a hash of it.
    fn name_by_path(&mut self, items: &[&Item<'_>]) {
        let mut name_of: Vec<&str> = vec![""; self.nodes.len()];
        for (item, node) in items.iter().zip(&self.node_of) {
            if let Some(node) = node {
                name_of[*node as usize] = &item.name;
            }
        }
        let mut depth_of: Vec<usize> = vec![0; self.nodes.len()];
        // Of each node: the last walk that came by.
        let mut walk_of: Vec<usize> = vec![0; self.nodes.len()];
        for n in 1..self.nodes.len() {
            // Up to a node that has its id, then down again.
            let mut chain = vec![n];
            walk_of[n] = n;
            let mut above = self.nodes[n].parent;
            while let Some(at) =
                above.map(|at| at as usize).filter(|at| depth_of[*at] == 0 && walk_of[*at] != n)
            {
                walk_of[at] = n;
                chain.push(at);
                above = self.nodes[at].parent;
            }
            while let Some(at) = chain.pop().filter(|at| depth_of[*at] == 0) {
                let parent = self.nodes[at].parent.map(|parent| parent as usize).filter(|p| depth_of[*p] > 0);
                let (path, depth) =
                    parent.map_or((ROOT, 0), |parent| (self.nodes[parent].id.as_str(), depth_of[parent]));
                let name = name_of[at].replace('\\', "\\\\").replace(':', "\\:");
                self.nodes[at].id = if depth < MAX_PATH_NAMES {
                    format!("{path}:{name}")
                } else {
                    Id::of(&[b"path", path.as_bytes(), name.as_bytes()]).show('p')
                };
                depth_of[at] = depth + 1;
            }
        }
    }

    pub(super) fn finish(self, edges: Vec<WorkflowEdge>) -> Workflow {
        Workflow {
            nodes: self.nodes,
            edges,
            folded: self.folded,
            auto_generated: true,
            ..Workflow::default()
        }
    }
}

fn shown_name(name: &str) -> String {
    if name.is_empty() { NAMELESS.to_string() } else { name.to_string() }
}

impl WorkflowNode {
    fn end(id: &str, name: &str, node_type: NodeType) -> WorkflowNode {
        WorkflowNode { id: id.into(), display_name: name.into(), node_type, ..WorkflowNode::default() }
    }

    fn count(&mut self, item: &Item<'_>) {
        self.item_ids.push(item.id.clone());
        self.span_ids.push(item.span.map(Into::into));
        self.errors += u64::from(item.is_error);
        let took_ms = item.took_ms.or_else(|| item.ended.ms_since(item.started));
        self.duration_ms = sum_of_known(self.duration_ms, took_ms.map(|ms| ms.max(0)));
        self.totals.add(&item.totals);
    }
}

/// The graph the source itself drew: nodes by their given ids, edges from their given parents. Nothing is added to it.
pub(super) fn manual(items: &[&Item<'_>]) -> Workflow {
    let mut nodes: Vec<WorkflowNode> = Vec::new();
    let mut index: FxHashMap<&str, u32> = FxHashMap::default();
    for item in items {
        let Some(manual) = &item.manual else { continue };
        let node = *index.entry(manual.id.as_str()).or_insert_with(|| {
            let named = [manual.display_name.as_str(), &item.name].into_iter().find(|name| !name.is_empty());
            nodes.push(WorkflowNode {
                id: manual.id.clone(),
                display_name: shown_name(named.unwrap_or_default()),
                node_type: NodeType::named(&manual.node_type).or(item.node_type).unwrap_or_default(),
                ..WorkflowNode::default()
            });
            u32::try_from(nodes.len() - 1).unwrap_or(u32::MAX)
        });
        nodes[node as usize].count(item);
    }
    let mut edges: Vec<WorkflowEdge> = Vec::new();
    let mut seen: FxHashMap<(u32, u32), usize> = FxHashMap::default();
    for manual in items.iter().filter_map(|item| item.manual.as_deref()) {
        let target = index[manual.id.as_str()];
        for source in manual.parents.iter().filter_map(|parent| index.get(parent.as_str()).copied()) {
            if source == target {
                continue;
            }
            let at = *seen.entry((source, target)).or_insert_with(|| {
                edges.push(WorkflowEdge { source, target, ..WorkflowEdge::default() });
                edges.len() - 1
            });
            edges[at].forward += 1;
        }
    }
    let folded = items.iter().filter(|item| item.manual.is_none()).map(|item| item.id.clone()).collect();
    Workflow { nodes, edges, folded, ..Workflow::default() }
}
