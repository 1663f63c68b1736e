//! The inference graph: `workflow_graph` with model calls as nodes, what tools and sub-agents did between them as edges.
//!
//! In: flows, each with its graph at the level of model calls. Out: the document. Never here: how edges were found.

use crate::graph::{Edge, Graph, Relation};
use crate::labels;
use rustc_hash::FxHashMap;
use serde::Serialize;
use unspool_model::{Batch, Confidence, EdgeKind, Flow, Step, StepKind, Timestamp};

/// The document.
#[derive(Serialize, Default)]
pub struct CausalityDoc {
    workflow_graph: WorkflowGraph,
}

#[derive(Serialize, Default)]
struct WorkflowGraph {
    nodes: Vec<InferenceNode>,
    edges: Vec<InferenceEdge>,
}

/// One call of a model.
#[derive(Serialize)]
struct InferenceNode {
    id: String,
    /// Position among all nodes, from 0.
    log_index: usize,
    session_id: String,
    timestamp: Option<String>,
    agent_type: AgentType,
    model: Option<String>,
    duration_ms: Option<i64>,
    tokens: Option<Tokens>,
    is_error: bool,
    /// The call that asked for the agent this one belongs to.
    parent_id: Option<String>,
    /// First calls of the agents this one asked for.
    child_ids: Vec<String>,
    /// The calls before and after in the same agent.
    previous_id: Option<String>,
    next_id: Option<String>,
    tool_uses: Vec<ToolUse>,
    /// By id of the call, the node that received its result.
    tool_dependencies: Vec<ToolDependency>,
}

#[derive(Serialize)]
struct AgentType {
    name: String,
    label: String,
}

#[derive(Serialize, Default)]
struct Tokens {
    input: u64,
    output: u64,
    total: u64,
}

#[derive(Serialize)]
struct ToolUse {
    id: String,
    name: String,
}

#[derive(Serialize)]
struct ToolDependency {
    tool_use_id: String,
    target_node_id: String,
}

#[derive(Serialize)]
struct InferenceEdge {
    source: String,
    target: String,
    #[serde(rename = "type")]
    kind: &'static str,
    confidence: f64,
    metadata: Metadata,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Metadata {
    Tool {
        tool_use_id: String,
        tool_name: String,
        is_error: bool,
    },
    Spawn {
        subagent_type: String,
        spawn_time: Option<String>,
        model: Option<String>,
        task_tool_id: Option<String>,
    },
    Sequential {
        time_gap_ms: Option<i64>,
        same_agent_type: bool,
    },
}

impl CausalityDoc {
    /// Adds a session. `graph` is its graph at the level of model calls.
    pub fn add(&mut self, flow: &Flow, batch: &Batch, graph: &Graph) {
        let base = self.workflow_graph.nodes.len();
        self.nodes(flow, batch, graph);
        for edge in &graph.edges {
            for found in edges(flow, batch, graph, edge) {
                let (from, to) = (base + edge.from as usize, base + edge.to as usize);
                let nodes = &mut self.workflow_graph.nodes;
                match &found.metadata {
                    Metadata::Tool { tool_use_id, .. } => {
                        nodes[from].tool_dependencies.push(ToolDependency {
                            tool_use_id: tool_use_id.clone(),
                            target_node_id: found.target.clone(),
                        });
                    }
                    Metadata::Spawn { .. } => {
                        nodes[from].child_ids.push(found.target.clone());
                        nodes[to].parent_id = Some(found.source.clone());
                    }
                    Metadata::Sequential { .. } => {}
                }
                self.workflow_graph.edges.push(found);
            }
        }
    }

    fn nodes(&mut self, flow: &Flow, batch: &Batch, graph: &Graph) {
        let text = |sym: unspool_model::Sym| batch.text.get(sym).to_string();
        let mut uses: FxHashMap<u32, Vec<ToolUse>> = FxHashMap::default();
        for edge in flow.edges.iter().filter(|edge| edge.kind == EdgeKind::Calls) {
            let tool = &flow.steps[edge.to as usize];
            let found = ToolUse { id: text(tool.tool_use_id), name: text(tool.name) };
            uses.entry(edge.from).or_default().push(found);
        }
        let mut last_of_agent: FxHashMap<u32, usize> = FxHashMap::default();
        for node in &graph.nodes {
            let Some((n, step)) = node.steps.first().and_then(|n| Some((*n, flow.steps.get(*n as usize)?)))
            else {
                continue;
            };
            let log_index = self.workflow_graph.nodes.len();
            let agent = flow.agents.get(step.agent as usize);
            let previous = last_of_agent.insert(step.agent, log_index);
            if let Some(previous) = previous {
                self.workflow_graph.nodes[previous].next_id = Some(node.id.clone());
            }
            self.workflow_graph.nodes.push(InferenceNode {
                id: node.id.clone(),
                log_index,
                session_id: flow.session.id.show('x'),
                timestamp: moment(step.started),
                agent_type: AgentType {
                    name: agent.map_or_else(String::new, |agent| labels::agent_name(batch, agent)),
                    label: agent.map_or_else(String::new, |agent| labels::agent_detail(batch, agent).into()),
                },
                model: step.model.some().map(text),
                duration_ms: step.duration_ms.get(),
                tokens: tokens(flow, step),
                is_error: step.is_error,
                parent_id: None,
                child_ids: Vec::new(),
                previous_id: previous.map(|previous| self.workflow_graph.nodes[previous].id.clone()),
                next_id: None,
                tool_uses: uses.remove(&n).unwrap_or_default(),
                tool_dependencies: Vec::new(),
            });
        }
    }
}

fn moment(at: Timestamp) -> Option<String> {
    at.is_some().then(|| at.to_string())
}

/// None where no source states them.
fn tokens(flow: &Flow, step: &Step) -> Option<Tokens> {
    let usage = flow.usage_of(step)?;
    let (input, output) =
        (usage.input + usage.cache_read + usage.cache_write, usage.output + usage.reasoning);
    Some(Tokens { input, output, total: input + output })
}

/// An edge for each tool whose result it carries, for the agent it starts, or for the guess. Other relations have no name here.
fn edges(flow: &Flow, batch: &Batch, graph: &Graph, edge: &Edge) -> Vec<InferenceEdge> {
    let text = |sym: unspool_model::Sym| batch.text.get(sym).to_string();
    let step_of =
        |node: u32| graph.nodes[node as usize].steps.first().and_then(|n| flow.steps.get(*n as usize));
    let made = |kind, confidence: Confidence, metadata| InferenceEdge {
        source: graph.nodes[edge.from as usize].id.clone(),
        target: graph.nodes[edge.to as usize].id.clone(),
        kind,
        confidence: confidence.as_f64(),
        metadata,
    };
    let tools = || {
        let through = edge.through.iter().filter_map(|way| Some((way, flow.steps.get(way.step as usize)?)));
        through.filter(|(_, step)| step.kind == StepKind::ToolCall)
    };
    match edge.relation {
        Relation::Flow(EdgeKind::ToolResult) => tools()
            .map(|(way, tool)| {
                let (tool_use_id, tool_name, is_error) =
                    (text(tool.tool_use_id), text(tool.name), tool.is_error);
                made("tool_result", way.confidence, Metadata::Tool { tool_use_id, tool_name, is_error })
            })
            .collect(),
        Relation::Flow(EdgeKind::SubagentSpawn) => {
            let task = tools().next().map(|(_, tool)| tool);
            let agent = step_of(edge.to).and_then(|step| flow.agents.get(step.agent as usize));
            vec![made(
                "subagent_spawn",
                edge.confidence,
                Metadata::Spawn {
                    subagent_type: agent.map_or_else(String::new, |agent| text(agent.kind)),
                    spawn_time: task.and_then(|task| moment(task.started)),
                    model: step_of(edge.to).and_then(|step| step.model.some()).map(text),
                    task_tool_id: task.and_then(|task| task.tool_use_id.some()).map(text),
                },
            )]
        }
        Relation::Sequential => {
            let ends = step_of(edge.from).zip(step_of(edge.to));
            let time_gap_ms = ends.and_then(|(from, to)| to.started.ms_since(from.ended));
            vec![made(
                "sequential",
                edge.confidence,
                Metadata::Sequential { time_gap_ms, same_agent_type: true },
            )]
        }
        _ => Vec::new(),
    }
}
