//! The workflow graph: the pattern behind many steps. Steps of one name under one parent are one node, and what followed
//! what is an edge with a count.
//!
//! In: items, which are spans or the steps of a flow. Out: nodes with the items they stand for, transitions, begin and end.
//! Never here: where items come from, how the graph is drawn. The order of the input does not matter.

mod by_run;
mod from_flow;
mod group;
pub(crate) mod holders;
mod process;
mod process_doc;
mod transitions;

pub(crate) use from_flow::span;
pub use from_flow::{Items, items};
pub use process::{
    Difference, FEWEST_RUNS, MAX_COMPARED, Process, ProcessEdge, ProcessNode, RunPattern, Variant, process,
};
pub use process_doc::{
    DifferenceDoc, Kind, OneProcessDoc, ProcessBy, ProcessDoc, ProcessEdgeDoc, ProcessNodeDoc, Processes,
    TransitionDoc, VariantDoc,
};

use crate::totals::Totals;
use group::group;
use std::borrow::Cow;
use std::fmt;
use transitions::transitions;
use unspool_model::{Id, Timestamp};

/// What a node does.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum NodeType {
    /// A model was asked.
    Llm,
    /// A tool ran.
    Tool,
    /// Somebody who asks models and runs tools.
    Agent,
    /// Something was looked up.
    Retrieval,
    /// Text was turned into vectors.
    Embedding,
    /// A decision about who goes on.
    Router,
    /// A memory was read or written.
    Memory,
    /// A check of what goes in or out.
    Guardrail,
    /// The workflow begins.
    Start,
    /// The workflow ends.
    End,
    /// Anything else.
    #[default]
    Default,
}

impl NodeType {
    /// Every type an item can have.
    const OF_ITEMS: [NodeType; 9] = [
        NodeType::Llm,
        NodeType::Tool,
        NodeType::Agent,
        NodeType::Retrieval,
        NodeType::Embedding,
        NodeType::Router,
        NodeType::Memory,
        NodeType::Guardrail,
        NodeType::Default,
    ];

    /// The type of this name.
    pub fn named(word: &str) -> Option<NodeType> {
        NodeType::OF_ITEMS.into_iter().find(|node_type| node_type.name() == word)
    }

    /// The word used in exports.
    pub fn name(self) -> &'static str {
        match self {
            NodeType::Llm => "llm",
            NodeType::Tool => "tool",
            NodeType::Agent => "agent",
            NodeType::Retrieval => "retrieval",
            NodeType::Embedding => "embedding",
            NodeType::Router => "router",
            NodeType::Memory => "memory",
            NodeType::Guardrail => "guardrail",
            NodeType::Start => "start",
            NodeType::End => "end",
            NodeType::Default => "default",
        }
    }
}

/// What an item is known by.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ItemId {
    /// One of Unspool's ids, with the letter of its kind.
    Own(char, Id),
    /// As its source gave it.
    Given(Box<str>),
}

impl fmt::Display for ItemId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ItemId::Own(kind, id) => f.write_str(&id.show(*kind)),
            ItemId::Given(text) => f.write_str(text),
        }
    }
}

impl From<&str> for ItemId {
    fn from(text: &str) -> ItemId {
        ItemId::Given(text.into())
    }
}

/// One thing that happened, as the pattern sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct Item<'a> {
    /// Its own id, unique.
    pub id: ItemId,
    /// The item it happened in; an id that no item has is a parent all the same.
    pub parent: Option<ItemId>,
    /// What it is called; empty = "Operation".
    pub name: Cow<'a, str>,
    /// What it does, if its source says; else it is inferred.
    pub node_type: Option<NodeType>,
    /// What asked for it: items of one caller ran side by side.
    pub caller: Option<ItemId>,
    /// Its place among items that began at the same moment, where its source knows one.
    pub order: u32,
    /// Begin and end.
    pub started: Timestamp,
    /// See `started`.
    pub ended: Timestamp,
    /// Milliseconds it took, where that is not from begin to end: an agent goes on after its call has returned.
    pub took_ms: Option<i64>,
    /// It failed.
    pub is_error: bool,
    /// Tokens and money it took by itself.
    pub totals: Totals,
    /// The id of the span it was, where it was one.
    pub span: Option<&'a str>,
    /// The place its source gave it in a graph of its own.
    pub manual: Option<Box<Manual>>,
}

impl<'a> Item<'a> {
    /// An item of this id and name, of which nothing else is known.
    pub fn new(id: ItemId, name: impl Into<Cow<'a, str>>) -> Item<'a> {
        Item {
            id,
            parent: None,
            name: name.into(),
            node_type: None,
            caller: None,
            order: 0,
            started: Timestamp::NONE,
            ended: Timestamp::NONE,
            took_ms: None,
            is_error: false,
            totals: Totals::default(),
            span: None,
            manual: None,
        }
    }
}

/// `graph.node.*`: where an item belongs by its source's own word.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Manual {
    /// The node's id.
    pub id: String,
    /// The ids of the nodes before it.
    pub parents: Vec<String>,
    /// What to call it.
    pub display_name: String,
    /// What it does, in the source's word.
    pub node_type: String,
}

/// When items of one name are one node.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Grouping {
    /// When they lie in one parent: two agents of one kind stay two.
    #[default]
    Parent,
    /// When their parents are one node too: what all agents of one kind do is one pattern.
    Path,
}

/// How to look for the pattern.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Items of these names are no part of it.
    pub hide_names: Vec<String>,
    /// When items of one name are one node.
    pub grouping: Grouping,
}

/// A node of the pattern.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WorkflowNode {
    /// `{parent|root}:{name}`; by path, the names of everything it lies in.
    pub id: String,
    /// What people see.
    pub display_name: String,
    /// What it does.
    pub node_type: NodeType,
    /// Index of the node it lies in, for what happens inside an agent.
    pub parent: Option<u32>,
    /// The items it stands for, in order.
    pub item_ids: Vec<ItemId>,
    /// The spans that they were, as far as they were spans.
    pub span_ids: Vec<Option<Box<str>>>,
    /// How many of them failed.
    pub errors: u64,
    /// Tokens and money they took by themselves.
    pub totals: Totals,
    /// Milliseconds they took together, as far as known; none when nobody says of any.
    pub duration_ms: Option<i64>,
}

/// What followed what.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkflowEdge {
    /// Index of the node that came first, the first time.
    pub source: u32,
    /// Index of the node that followed.
    pub target: u32,
    /// Both followed each other.
    pub bidirectional: bool,
    /// How often the target followed the source.
    pub forward: u64,
    /// How often the source followed the target.
    pub backward: u64,
    /// It leads into an agent rather than along it.
    pub enters: bool,
}

/// The pattern.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Workflow {
    /// Nodes, begin first, end last, the others by their first item.
    pub nodes: Vec<WorkflowNode>,
    /// Edges by their first occurrence.
    pub edges: Vec<WorkflowEdge>,
    /// Items that are no node: containers that hold everything, and what a graph given by the source leaves out.
    pub folded: Vec<ItemId>,
    /// The nodes were found, not given by the source.
    pub auto_generated: bool,
    /// Transitions beyond `MAX_TRANSITIONS`, which no edge counts.
    pub transitions_left_out: u64,
}

/// Id of the node where everything begins.
pub const START: &str = "__start__";
/// Id of the node where everything ends.
pub const END: &str = "__end__";

/// The pattern of some items.
pub fn workflow(items: &[Item<'_>], options: &Options) -> Workflow {
    let is_hidden = |item: &&Item<'_>| options.hide_names.iter().any(|name| *name == item.name);
    let mut sorted: Vec<&Item<'_>> = items.iter().filter(|item| !is_hidden(item)).collect();
    sorted.sort_unstable_by(|a, b| (a.started, a.order, &a.id).cmp(&(b.started, b.order, &b.id)));
    if sorted.iter().any(|item| item.manual.is_some()) {
        return group::manual(&sorted);
    }
    let groups = group(&sorted, options);
    let (edges, transitions_left_out) = transitions(&sorted, &groups);
    Workflow { transitions_left_out, ..groups.finish(edges) }
}

#[cfg(test)]
mod tests;
