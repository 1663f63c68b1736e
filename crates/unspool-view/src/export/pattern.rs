//! The workflow graph as `WorkflowNode` and `WorkflowEdge`: nodes with the ids of the spans and steps they stand for.
//!
//! In: a workflow. Out: the document. Never here: what is one node.

use crate::workflow;
use serde::Serialize;

/// The document.
#[derive(Serialize)]
pub struct WorkflowsDoc<W> {
    workflows: W,
}

impl<W> WorkflowsDoc<W> {
    /// The whole document; `workflows` may be a list or something that is written like one.
    pub fn new(workflows: W) -> WorkflowsDoc<W> {
        WorkflowsDoc { workflows }
    }
}

/// A session's pattern.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkflowDoc {
    session_id: String,
    nodes: Vec<WorkflowNode>,
    edges: Vec<WorkflowEdge>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WorkflowNode {
    node_id: String,
    display_name: String,
    node_type: &'static str,
    /// The source's own ids where a step was a span, else as in `item_ids`.
    span_ids: Vec<String>,
    /// Unspool's ids of the steps and agents, in the same order.
    item_ids: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_node_id: Option<String>,
}

#[derive(Serialize)]
struct WorkflowEdge {
    source: String,
    target: String,
    bidirectional: bool,
}

/// A pattern as its document.
pub fn workflow_doc(session_id: String, workflow: &workflow::Workflow) -> WorkflowDoc {
    let id = |n: u32| workflow.nodes.get(n as usize).map(|node| node.id.clone());
    let nodes = workflow.nodes.iter().map(|node| WorkflowNode {
        node_id: node.id.clone(),
        display_name: node.display_name.clone(),
        node_type: node.node_type.name(),
        span_ids: span_ids(node),
        item_ids: node.item_ids.iter().map(ToString::to_string).collect(),
        parent_node_id: node.parent.and_then(id),
    });
    let edges = workflow.edges.iter().filter_map(|edge| {
        let (source, target) = (id(edge.source)?, id(edge.target)?);
        Some(WorkflowEdge { source, target, bidirectional: edge.bidirectional })
    });
    WorkflowDoc { session_id, nodes: nodes.collect(), edges: edges.collect() }
}

fn span_ids(node: &workflow::WorkflowNode) -> Vec<String> {
    let ids = node.item_ids.iter().zip(&node.span_ids);
    ids.map(|(item, span)| span.as_deref().map_or_else(|| item.to_string(), String::from)).collect()
}
