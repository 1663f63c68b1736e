//! A flow as a graph to draw, at the level asked for.
//!
//! In: a flow and a view of it. Out: nodes, edges and the boxes around them, with every step accounted for. Never here:
//! where anything is drawn, and what format it is written in.

mod contract;
mod filter;
mod from_process;
mod from_workflow;
mod gather;
mod guess;

pub(crate) use contract::shown_edges;
pub use filter::{Filter, StatusFilter};
pub use from_process::from_process;
pub use from_workflow::{Pattern, from_workflow, pattern};

use crate::prices::Prices;
use crate::totals::Totals;
use unspool_model::{Batch, Confidence, EdgeKind, Flow, Id, Sym};

/// What one node stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Level {
    /// One step.
    #[default]
    Step,
    /// One call of a model; what tools did between two calls is an edge.
    ModelCall,
    /// One agent.
    Agent,
    /// One run.
    Run,
}

impl Level {
    /// All levels, finest first.
    pub const ALL: [Level; 4] = [Level::Step, Level::ModelCall, Level::Agent, Level::Run];

    /// The word used on the command line and in exports.
    pub fn name(self) -> &'static str {
        match self {
            Level::Step => "step",
            Level::ModelCall => "model-call",
            Level::Agent => "agent",
            Level::Run => "run",
        }
    }
}

/// What the boxes around nodes are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum GroupBy {
    /// A box per sub-agent, inside that of the agent that started it.
    #[default]
    Agent,
    /// A box per run.
    Run,
    /// No boxes.
    Nothing,
}

/// How to look at a flow.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// What a node is.
    pub level: Level,
    /// What a box is.
    pub group_by: GroupBy,
    /// What to leave out.
    pub filter: Filter,
    /// Also guess that conversations of one sort that follow each other closely belong together.
    pub sequential: bool,
    /// Steps that say nothing about the work (system, hooks, what the client injected) as nodes too.
    pub full: bool,
    /// Agents whose steps are nodes of their own where an agent is a node.
    pub open: Vec<Id>,
    /// Agents that are one node, with all they started, where a step or model call is a node.
    pub shut: Vec<Id>,
}

/// A graph to draw.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// What it is a graph of.
    pub title: String,
    /// In order of start.
    pub nodes: Vec<Node>,
    /// By target, source and relation.
    pub edges: Vec<Edge>,
    /// Boxes around nodes; outer ones first.
    pub groups: Vec<Group>,
    /// What became of the steps and edges.
    pub tally: Tally,
}

/// Something that happened, or several things that are drawn as one.
#[derive(Clone, Debug, Default)]
pub struct Node {
    /// Stable and unique in the graph.
    pub id: String,
    /// What it is called.
    pub label: String,
    /// What it was about.
    pub detail: String,
    /// What sort of thing it is: a kind of step, `agent`, `run`, or a type of the workflow graph.
    pub kind: &'static str,
    /// The box it lies in.
    pub group: Option<u32>,
    /// The steps it stands for, in order, where it was made from one flow; an agent stands for the call that started it.
    pub steps: Vec<u32>,
    /// Sums over them.
    pub totals: Totals,
    /// Milliseconds they took together, as far as known; none when nobody says of any.
    pub busy_ms: Option<i64>,
    /// It failed, or something in it did.
    pub is_error: bool,
    /// It has begun and nothing says that it ended.
    pub pending: bool,
}

/// A relation between two nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct Edge {
    /// Index of the cause.
    pub from: u32,
    /// Index of the effect.
    pub to: u32,
    /// What relation.
    pub relation: Relation,
    /// How many edges of the flow it stands for.
    pub count: u64,
    /// What it leads through: the tool of a result, the agent that was started.
    pub label: String,
    /// How much it is believed: as much as the weakest part of any way it stands for.
    pub confidence: Confidence,
    /// Something in it is a guess.
    pub inferred: bool,
    /// It carries an error.
    pub is_error: bool,
    /// Steps it leads through that are no nodes, in order; of several ways, the first of each.
    pub through: Vec<Through>,
    /// It goes both ways.
    pub both_ways: bool,
    /// The edge of the flow it stands for, by its steps; the first of several. None where it stands for none.
    pub link: Option<(u32, u32)>,
}

/// A step that a way leads through.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Through {
    /// The step.
    pub step: u32,
    /// How much the way is believed.
    pub confidence: Confidence,
    /// The way carries an error.
    pub is_error: bool,
}

/// The relations a graph can have.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Relation {
    /// An edge of the flow.
    Flow(EdgeKind),
    /// A guess from time alone, on demand.
    Sequential,
    /// One was seen to follow the other.
    Follows,
    /// It leads into an agent.
    Enters,
}

impl Relation {
    /// The word used in exports.
    pub fn name(self) -> &'static str {
        match self {
            Relation::Flow(kind) => kind.name(),
            Relation::Sequential => "sequential",
            Relation::Follows => "follows",
            Relation::Enters => "enters",
        }
    }

    /// Whether it starts an agent, which is drawn dashed.
    pub fn is_spawn(self) -> bool {
        matches!(self, Relation::Flow(EdgeKind::SubagentSpawn) | Relation::Enters)
    }
}

/// A box around nodes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Group {
    /// Stable and unique in the graph.
    pub id: String,
    /// What it is called.
    pub label: String,
    /// The box it lies in.
    pub parent: Option<u32>,
}

/// Sums over steps that are drawn alike.
#[derive(Clone, Copy, Debug, Default)]
pub struct Share {
    /// Steps, tokens, money, errors.
    pub totals: Totals,
    /// Milliseconds they took together, as far as known; none when nobody says of any.
    pub busy_ms: Option<i64>,
}

/// What became of the steps and edges of a flow. All shares together are the flow.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    /// Steps that are in a node.
    pub shown: Share,
    /// Steps that edges lead through or that the level leaves out.
    pub contracted: Share,
    /// Steps a filter left out.
    pub filtered: Share,
    /// Edges of the flow between steps of different nodes.
    pub shown_edges: u64,
    /// Edges of the flow between steps of one node.
    pub inner_edges: u64,
    /// Edges of the flow to or from steps that are in no node.
    pub contracted_edges: u64,
    /// Edges of the flow that a filter left out.
    pub filtered_edges: u64,
    /// Edges of the flow that tell only of order, where something else of its agent leads to a step.
    pub order_edges: u64,
    /// So many edges were followed to find what leads through steps that are no nodes, and then no more: some may be missing.
    pub limit_reached: Option<u64>,
    /// Transitions of a workflow that were not counted, because there are too many (`MAX_TRANSITIONS`).
    pub transitions_left_out: u64,
}

/// Draws a view of a flow.
///
/// `wanted` says which steps the caller wants besides the filter of the view: a query's answer.
pub fn graph(
    flow: &Flow,
    batch: &Batch,
    prices: &Prices,
    view: &View,
    wanted: &dyn Fn(usize) -> bool,
) -> Graph {
    let gathered = gather::gather(flow, batch, prices, view, wanted);
    contract::edges(flow, batch, view, gathered)
}

fn words(batch: &Batch, sym: Sym) -> String {
    batch.text.get(sym).to_string()
}
