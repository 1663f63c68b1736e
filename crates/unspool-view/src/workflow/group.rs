//! Which items are one node.

use super::{END, Item, NodeType, START, Workflow, WorkflowEdge, WorkflowNode};
use rustc_hash::{FxHashMap, FxHashSet};

/// What people see of an item without a name.
const NAMELESS: &str = "Operation";

/// Nodes, and the node of each item.
pub(super) struct Groups {
    pub(super) nodes: Vec<WorkflowNode>,
    /// By position in the sorted items; none for containers that were folded.
    pub(super) node_of: Vec<Option<usize>>,
    /// Position of each item's parent, if that is an item.
    pub(super) parent_of: Vec<Option<usize>>,
    /// What each item does, found or given.
    pub(super) types: Vec<NodeType>,
}

pub(super) fn group(items: &[&Item]) -> Groups {
    let by_id: FxHashMap<&str, usize> =
        items.iter().enumerate().map(|(n, item)| (item.id.as_str(), n)).collect();
    let parent_of: Vec<Option<usize>> = items
        .iter()
        .enumerate()
        .map(|(n, item)| {
            item.parent.as_deref().and_then(|id| by_id.get(id).copied()).filter(|parent| *parent != n)
        })
        .collect();
    let types = types(items, &parent_of);
    let folded = folded(items.len(), &parent_of);
    let mut nodes: Vec<WorkflowNode> = Vec::new();
    let mut index: FxHashMap<String, usize> = FxHashMap::default();
    let mut node_of = vec![None; items.len()];
    for (n, item) in items.iter().enumerate() {
        if folded.contains(&n) {
            continue;
        }
        let id = format!("{}:{}", item.parent.as_deref().unwrap_or("root"), item.name);
        let node = *index.entry(id.clone()).or_insert_with(|| {
            let display_name = if item.name.is_empty() { NAMELESS.to_string() } else { item.name.clone() };
            nodes.push(WorkflowNode { id, display_name, node_type: types[n], ..WorkflowNode::default() });
            nodes.len() - 1
        });
        node_of[n] = Some(node);
        let node = &mut nodes[node];
        node.item_ids.push(item.id.clone());
        node.errors += u64::from(item.is_error);
        node.duration_ms += item.ended.ms_since(item.started).unwrap_or(0).max(0);
        node.tokens += item.tokens;
    }
    // A parent may start after its children, where clocks disagree.
    for (n, node) in node_of.iter().enumerate() {
        if let (Some(node), Some(parent)) = (node, parent_of[n].and_then(|parent| node_of[parent])) {
            let parent = nodes[parent].id.clone();
            nodes[*node].parent.get_or_insert(parent);
        }
    }
    Groups { nodes, node_of, parent_of, types }
}

/// Containers at the root that hold everything: a lone item with children, and the lone one below it.
fn folded(len: usize, parent_of: &[Option<usize>]) -> FxHashSet<usize> {
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); len];
    let mut level: Vec<usize> = Vec::new();
    for (n, parent) in parent_of.iter().enumerate() {
        match parent {
            Some(parent) => children[*parent].push(n),
            None => level.push(n),
        }
    }
    let mut folded = FxHashSet::default();
    while let [only] = level.as_slice() {
        let only = *only;
        if children[only].is_empty() || !folded.insert(only) {
            break;
        }
        level.clone_from(&children[only]);
    }
    folded
}

fn types(items: &[&Item], parent_of: &[Option<usize>]) -> Vec<NodeType> {
    let mut types: Vec<NodeType> = items.iter().map(|item| item.node_type.unwrap_or_default()).collect();
    // Whoever asks models or runs tools is an agent.
    for (n, item) in items.iter().enumerate() {
        if let (Some(NodeType::Llm | NodeType::Tool), Some(parent)) = (item.node_type, parent_of[n])
            && items[parent].node_type.is_none()
        {
            types[parent] = NodeType::Agent;
        }
    }
    for (n, item) in items.iter().enumerate() {
        if item.node_type.is_none() && types[n] == NodeType::Default {
            types[n] = by_name(&item.name);
        }
    }
    types
}

/// What a name says, where nothing else does.
fn by_name(name: &str) -> NodeType {
    const WORDS: [(&[&str], NodeType); 5] = [
        (&["retriev", "rag", "search"], NodeType::Retrieval),
        (&["embed"], NodeType::Embedding),
        (&["router", "route"], NodeType::Router),
        (&["memory", "store", "cache"], NodeType::Memory),
        (&["tool", "function"], NodeType::Tool),
    ];
    let name = name.to_lowercase();
    let found = WORDS.iter().find(|(words, _)| words.iter().any(|word| name.contains(word)));
    found.map_or(NodeType::Default, |(_, node_type)| *node_type)
}

impl Groups {
    pub(super) fn finish(mut self, items: &[&Item], edges: Vec<WorkflowEdge>) -> Workflow {
        if items.is_empty() || self.nodes.is_empty() {
            return Workflow { auto_generated: true, ..Workflow::default() };
        }
        let end = |id: &str, name: &str, node_type| WorkflowNode {
            id: id.into(),
            display_name: name.into(),
            node_type,
            ..WorkflowNode::default()
        };
        self.nodes.insert(0, end(START, "Start", NodeType::Start));
        self.nodes.push(end(END, "End", NodeType::End));
        Workflow { nodes: self.nodes, edges, auto_generated: true }
    }
}

/// The graph the source itself drew: nodes by their given ids, edges from their given parents. Nothing is added to it.
pub(super) fn manual(items: &[&Item]) -> Workflow {
    let mut nodes: Vec<WorkflowNode> = Vec::new();
    let mut index: FxHashMap<&str, usize> = FxHashMap::default();
    let mut edges: Vec<WorkflowEdge> = Vec::new();
    let mut seen: FxHashMap<(&str, &str), usize> = FxHashMap::default();
    for item in items {
        let Some(manual) = &item.manual else { continue };
        let node = *index.entry(manual.id.as_str()).or_insert_with(|| {
            let named = [&manual.display_name, &item.name].into_iter().find(|name| !name.is_empty());
            nodes.push(WorkflowNode {
                id: manual.id.clone(),
                display_name: named.map_or_else(|| NAMELESS.into(), Clone::clone),
                node_type: type_named(&manual.node_type).or(item.node_type).unwrap_or_default(),
                ..WorkflowNode::default()
            });
            nodes.len() - 1
        });
        let node = &mut nodes[node];
        node.item_ids.push(item.id.clone());
        node.errors += u64::from(item.is_error);
        node.duration_ms += item.ended.ms_since(item.started).unwrap_or(0).max(0);
        node.tokens += item.tokens;
        for parent in &manual.parents {
            let at = *seen.entry((parent.as_str(), manual.id.as_str())).or_insert_with(|| {
                edges.push(WorkflowEdge {
                    source: parent.clone(),
                    target: manual.id.clone(),
                    ..WorkflowEdge::default()
                });
                edges.len() - 1
            });
            edges[at].forward += 1;
        }
    }
    edges.retain(|edge| index.contains_key(edge.source.as_str()) && edge.source != edge.target);
    Workflow { nodes, edges, auto_generated: false }
}

fn type_named(word: &str) -> Option<NodeType> {
    const ALL: [NodeType; 8] = [
        NodeType::Llm,
        NodeType::Tool,
        NodeType::Agent,
        NodeType::Retrieval,
        NodeType::Embedding,
        NodeType::Router,
        NodeType::Memory,
        NodeType::Guardrail,
    ];
    ALL.into_iter().find(|node_type| node_type.name() == word)
}
