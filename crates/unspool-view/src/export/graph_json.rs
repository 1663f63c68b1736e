//! A graph as JSON: schema `unspool.graph/1`, a contract like that of the flow.
//!
//! The types here are the wire, not the core; their comments are the documentation of each field.

use crate::flow_json::{TotalsDoc, totals_doc};
use crate::graph::{Edge, Graph, Group, Level, Node, Share};
use crate::workflow::span;
use schemars::JsonSchema;
use serde::Serialize;
use unspool_model::{Batch, Flow};

/// The document `unspool export --format graph-json` writes.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "GraphsDoc")]
pub struct GraphsDoc<G = Vec<GraphDoc>> {
    /// Always `unspool.graph/1`.
    pub schema: &'static str,
    /// One graph per session, oldest first.
    pub graphs: G,
}

impl<G> GraphsDoc<G> {
    /// The whole document; `graphs` may be a list or something that is written like one.
    pub fn new(graphs: G) -> GraphsDoc<G> {
        GraphsDoc { schema: "unspool.graph/1", graphs }
    }
}

/// A session's graph.
#[derive(Serialize, JsonSchema)]
pub struct GraphDoc {
    /// The session; null for the process behind many.
    pub session_id: Option<String>,
    /// What it is a graph of.
    pub title: String,
    /// What a node is: `step`, `model-call`, `agent`, `run`, `pattern` in a workflow, or `process`.
    pub level: &'static str,
    /// Nodes in order of start.
    pub nodes: Vec<GraphNodeDoc>,
    /// Edges by target, source and relation.
    pub edges: Vec<GraphEdgeDoc>,
    /// Boxes around nodes; outer ones first.
    pub groups: Vec<GraphGroupDoc>,
    /// What became of the steps and edges of the session; null for a process.
    pub tally: Option<TallyDoc>,
}

/// Something that happened, or several things that are drawn as one.
#[derive(Serialize, JsonSchema)]
pub struct GraphNodeDoc {
    /// Stable and unique in the graph.
    pub id: String,
    /// What it is called.
    pub label: String,
    /// What it was about.
    pub detail: String,
    /// A kind of step, `agent`, `run`, or a type of the workflow.
    pub kind: &'static str,
    /// Id of the box it lies in.
    pub group_id: Option<String>,
    /// Ids of the steps it stands for, in order; an agent of a workflow stands for the call that started it. Empty in a process.
    pub step_ids: Vec<String>,
    /// The source's own ids of those of them that were spans.
    pub span_ids: Vec<String>,
    /// First moment.
    pub started_at: Option<String>,
    /// Last moment.
    pub ended_at: Option<String>,
    /// Milliseconds its steps took together, as far as known; null when nobody says of any.
    pub busy_ms: Option<i64>,
    /// It failed, or something in it did.
    pub is_error: bool,
    /// It has begun and nothing says that it ended.
    pub pending: bool,
    /// Sums over its steps.
    pub totals: TotalsDoc,
}

/// A relation between two nodes.
#[derive(Serialize, JsonSchema)]
pub struct GraphEdgeDoc {
    /// Id of the cause.
    pub from: String,
    /// Id of the effect.
    pub to: String,
    /// A kind of edge of the flow; `sequential` for the guess made on demand; `follows` and `enters` in a workflow.
    pub relation: &'static str,
    /// How many edges of the flow it stands for.
    pub count: u64,
    /// What it leads through: the tool of a result, the agent that was started.
    pub label: String,
    /// How much it is believed: as much as the weakest part of any way it stands for.
    pub confidence: f64,
    /// Something in it is a guess.
    pub inferred: bool,
    /// It carries an error.
    pub is_error: bool,
    /// It goes both ways.
    pub both_ways: bool,
    /// Ids of steps it leads through that are no nodes.
    pub through: Vec<String>,
}

/// A box around nodes.
#[derive(Serialize, JsonSchema)]
pub struct GraphGroupDoc {
    /// Stable and unique in the graph.
    pub id: String,
    /// What it is called.
    pub label: String,
    /// Id of the box it lies in.
    pub parent_id: Option<String>,
}

/// What became of the steps and edges of a session. All shares together are the session.
#[derive(Serialize, JsonSchema)]
pub struct TallyDoc {
    /// Steps that are in a node.
    pub shown: ShareDoc,
    /// Steps that edges lead through or that the level leaves out.
    pub contracted: ShareDoc,
    /// Steps a filter left out.
    pub filtered: ShareDoc,
    /// Edges of the flow between steps of different nodes; null in a workflow, like the next four: its edges are not those of the flow.
    pub shown_edges: Option<u64>,
    /// Edges of the flow between steps of one node.
    pub inner_edges: Option<u64>,
    /// Edges of the flow to or from steps that are in no node.
    pub contracted_edges: Option<u64>,
    /// Edges of the flow that a filter left out.
    pub filtered_edges: Option<u64>,
    /// Edges of the flow that tell only of order, where something else of its agent leads to a step.
    pub order_edges: Option<u64>,
    /// So many edges were followed to find what leads through steps that are no nodes, and then no more: some may be missing.
    pub limit_reached: Option<u64>,
    /// Transitions of a workflow that were not counted, because there are too many (`MAX_TRANSITIONS`).
    pub transitions_left_out: u64,
}

/// Sums over steps that are drawn alike.
#[derive(Serialize, JsonSchema)]
pub struct ShareDoc {
    /// Steps, tokens, money, errors.
    pub totals: TotalsDoc,
    /// Milliseconds they took together, as far as known; null when nobody says of any.
    pub busy_ms: Option<i64>,
}

/// What a graph is of.
#[derive(Clone, Copy)]
pub enum Of {
    /// A flow, at a level.
    Flow(Level),
    /// The pattern of a flow.
    Workflow,
    /// The process behind many runs.
    Process,
}

impl Of {
    fn level(self) -> &'static str {
        match self {
            Of::Flow(level) => level.name(),
            Of::Workflow => "pattern",
            Of::Process => "process",
        }
    }
}

/// A graph as its JSON document. That of a process has no flow: give an empty one.
pub fn graph_doc(flow: &Flow, batch: &Batch, graph: &Graph, of: Of) -> GraphDoc {
    let tally = &graph.tally;
    let edges = |count: u64| matches!(of, Of::Flow(_)).then_some(count);
    let group = |group: &Group| GraphGroupDoc {
        id: group.id.clone(),
        label: group.label.clone(),
        parent_id: group_id(graph, group.parent),
    };
    GraphDoc {
        session_id: (!matches!(of, Of::Process)).then(|| flow.session.id.show('x')),
        title: graph.title.clone(),
        level: of.level(),
        nodes: graph.nodes.iter().map(|node| node_doc(flow, batch, graph, node)).collect(),
        edges: graph.edges.iter().map(|edge| edge_doc(flow, graph, edge)).collect(),
        groups: graph.groups.iter().map(group).collect(),
        tally: (!matches!(of, Of::Process)).then(|| TallyDoc {
            shown: share_doc(&tally.shown),
            contracted: share_doc(&tally.contracted),
            filtered: share_doc(&tally.filtered),
            shown_edges: edges(tally.shown_edges),
            inner_edges: edges(tally.inner_edges),
            contracted_edges: edges(tally.contracted_edges),
            filtered_edges: edges(tally.filtered_edges),
            order_edges: edges(tally.order_edges),
            limit_reached: tally.limit_reached,
            transitions_left_out: tally.transitions_left_out,
        }),
    }
}

fn node_doc(flow: &Flow, batch: &Batch, graph: &Graph, node: &Node) -> GraphNodeDoc {
    let steps = node.steps.iter().filter_map(|step| flow.steps.get(*step as usize));
    let moment = |at: unspool_model::Timestamp| at.is_some().then(|| at.to_string());
    GraphNodeDoc {
        id: node.id.clone(),
        label: node.label.clone(),
        detail: node.detail.clone(),
        kind: node.kind,
        group_id: group_id(graph, node.group),
        step_ids: step_ids(flow, node.steps.iter().copied()),
        span_ids: steps.filter_map(|step| span(flow, batch, step)).map(String::from).collect(),
        started_at: moment(node.totals.started),
        ended_at: moment(node.totals.ended),
        busy_ms: node.busy_ms,
        is_error: node.is_error,
        pending: node.pending,
        totals: totals_doc(&node.totals),
    }
}

fn edge_doc(flow: &Flow, graph: &Graph, edge: &Edge) -> GraphEdgeDoc {
    GraphEdgeDoc {
        from: graph.nodes[edge.from as usize].id.clone(),
        to: graph.nodes[edge.to as usize].id.clone(),
        relation: edge.relation.name(),
        count: edge.count,
        label: edge.label.clone(),
        confidence: edge.confidence.as_f64(),
        inferred: edge.inferred,
        is_error: edge.is_error,
        both_ways: edge.both_ways,
        through: step_ids(flow, edge.through.iter().map(|through| through.step)),
    }
}

fn group_id(graph: &Graph, group: Option<u32>) -> Option<String> {
    group.and_then(|group| graph.groups.get(group as usize)).map(|group| group.id.clone())
}

fn step_ids(flow: &Flow, steps: impl Iterator<Item = u32>) -> Vec<String> {
    steps.filter_map(|step| flow.steps.get(step as usize)).map(|step| step.id.show('s')).collect()
}

fn share_doc(share: &Share) -> ShareDoc {
    ShareDoc { totals: totals_doc(&share.totals), busy_ms: share.busy_ms }
}
