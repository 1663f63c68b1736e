//! The timeline tree: one node per step, with the indexes `by_uuid`, `by_tool_use_id` and `by_agent_id`.

use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use unspool_model::flow::NONE;
use unspool_model::{Batch, Flow, KeyKind, Role, StepKind};

/// The document `unspool export --format tree-json` writes.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "TreesDoc")]
pub struct TreesDoc<T = Vec<TreeDoc>> {
    /// Always `unspool.tree/1`.
    pub schema: &'static str,
    /// One tree per session, oldest first.
    pub trees: T,
}

impl<T> TreesDoc<T> {
    /// The whole document; `trees` may be a list or something that is written like one.
    pub fn new(trees: T) -> TreesDoc<T> {
        TreesDoc { schema: "unspool.tree/1", trees }
    }
}

/// A session's timeline tree. Nodes refer to each other by id; native content stays in the records.
#[derive(Serialize, JsonSchema)]
pub struct TreeDoc {
    /// The session.
    pub session_id: String,
    /// Ids its sources gave it.
    pub native_ids: Vec<String>,
    /// The root node: the session itself.
    pub root: NodeDoc,
    /// Every node but the root, in flat order.
    pub nodes: Vec<NodeDoc>,
    /// Node ids by native record uuid: every record of a step leads to its node.
    pub by_uuid: BTreeMap<String, String>,
    /// Node ids by native tool call id.
    pub by_tool_use_id: BTreeMap<String, String>,
    /// Node ids by native agent id, in flat order.
    pub by_agent_id: BTreeMap<String, Vec<String>>,
    /// Nodes without the root.
    pub total_nodes: usize,
    /// Greatest depth by agent scope.
    pub max_depth: u32,
    /// Agents, main ones included.
    pub agent_count: usize,
    /// Tool calls.
    pub tool_call_count: usize,
}

/// One node of the tree.
#[derive(Serialize, JsonSchema)]
pub struct NodeDoc {
    /// Step id, or the session's id for the root.
    pub id: String,
    /// Native uuid.
    pub uuid: Option<String>,
    /// `root`, `prompt`, `response`, `tool_call`, `subagent_start`, `subagent_stop`, `compaction`, `system`, `hook`.
    pub node_type: &'static str,
    /// Parent node; null for the root and nothing else.
    pub parent_id: Option<String>,
    /// Child nodes, in order.
    pub children: Vec<String>,
    /// Depth by agent scope.
    pub depth: u32,
    /// Position in the flat order, from 1; 0 is the root.
    pub seq: usize,
    /// When it began.
    pub timestamp: Option<String>,
    /// Milliseconds since the session's first moment.
    pub elapsed_ms: Option<i64>,
    /// Milliseconds it took.
    pub duration_ms: Option<i64>,
    /// Native id of the agent it belongs to; null for the root.
    pub agent_id: Option<String>,
    /// The agent's type.
    pub agent_type: Option<String>,
    /// It belongs to a sub-agent.
    pub is_sidechain: bool,
    /// Tool.
    pub tool_name: Option<String>,
    /// Native id of the tool call.
    pub tool_use_id: Option<String>,
    /// It failed.
    pub is_error: bool,
    /// What it was for.
    pub intent: Option<String>,
    /// The records behind it, for `unspool export --native`.
    pub records: Vec<String>,
}

/// The tree of a flow.
pub fn tree_doc(flow: &Flow, batch: &Batch) -> TreeDoc {
    let text = |sym| batch.text.get(sym).to_string();
    let some = |sym: unspool_model::Sym| sym.some().map(text);
    let root_id = flow.session.id.show('x');
    let mut children: Vec<Vec<String>> = vec![Vec::new(); flow.steps.len()];
    let mut roots = Vec::new();
    for step in &flow.steps {
        let id = step.id.show('s');
        match step.parent {
            NONE => roots.push(id),
            parent => children[parent as usize].push(id),
        }
    }
    let (mut by_uuid, mut by_tool, mut by_agent) =
        (BTreeMap::new(), BTreeMap::new(), BTreeMap::<String, Vec<String>>::new());
    let mut nodes = Vec::with_capacity(flow.steps.len());
    for (n, step) in flow.steps.iter().enumerate() {
        let id = step.id.show('s');
        for record in flow.witnesses_of(step) {
            for event in batch.events_of(*record) {
                if let Some(uuid) = batch.key(event, KeyKind::Uuid, Role::Provides) {
                    by_uuid.entry(text(uuid)).or_insert_with(|| id.clone());
                }
            }
        }
        if let Some(tool) = some(step.tool_use_id) {
            by_tool.insert(tool, id.clone());
        }
        let agent = flow.agents.get(step.agent as usize);
        let agent_id = agent.map(|agent| text(agent.native_id));
        if let Some(agent_id) = &agent_id {
            by_agent.entry(agent_id.clone()).or_default().push(id.clone());
        }
        nodes.push(NodeDoc {
            id,
            uuid: some(step.uuid),
            node_type: node_type(step.kind),
            parent_id: Some(match step.parent {
                NONE => root_id.clone(),
                parent => flow.steps[parent as usize].id.show('s'),
            }),
            children: std::mem::take(&mut children[n]),
            depth: flow.depth_of(step),
            seq: n + 1,
            timestamp: step.started.is_some().then(|| step.started.to_string()),
            elapsed_ms: step.started.ms_since(flow.session.started),
            duration_ms: step.duration_ms.get(),
            agent_id,
            agent_type: agent.and_then(|agent| some(agent.kind)),
            is_sidechain: agent.is_some_and(|agent| !agent.main),
            tool_name: some(step.name).filter(|_| step.kind == StepKind::ToolCall),
            tool_use_id: some(step.tool_use_id),
            is_error: step.is_error,
            intent: some(step.intent),
            records: flow
                .witnesses_of(step)
                .iter()
                .filter_map(|record| batch.records.get(*record as usize))
                .map(|record| record.id.show('r'))
                .collect(),
        });
    }
    TreeDoc {
        session_id: root_id.clone(),
        native_ids: flow.session.native_ids.iter().map(|id| text(*id)).collect(),
        root: root_node(flow, root_id, roots),
        total_nodes: nodes.len(),
        max_depth: flow.steps.iter().map(|step| flow.depth_of(step)).max().unwrap_or(0),
        agent_count: flow.agents.len(),
        tool_call_count: flow.steps.iter().filter(|step| step.kind == StepKind::ToolCall).count(),
        nodes,
        by_uuid,
        by_tool_use_id: by_tool,
        by_agent_id: by_agent,
    }
}

fn root_node(flow: &Flow, id: String, children: Vec<String>) -> NodeDoc {
    NodeDoc {
        id,
        uuid: None,
        node_type: "root",
        parent_id: None,
        children,
        depth: 0,
        seq: 0,
        timestamp: flow.session.started.is_some().then(|| flow.session.started.to_string()),
        elapsed_ms: Some(0),
        duration_ms: flow.session.ended.ms_since(flow.session.started),
        agent_id: None,
        agent_type: None,
        is_sidechain: false,
        tool_name: None,
        tool_use_id: None,
        is_error: false,
        intent: None,
        records: Vec::new(),
    }
}

fn node_type(kind: StepKind) -> &'static str {
    match kind {
        StepKind::UserMessage => "prompt",
        StepKind::ModelCall => "response",
        StepKind::ToolCall => "tool_call",
        StepKind::AgentStart => "subagent_start",
        StepKind::AgentStop => "subagent_stop",
        other => other.name(),
    }
}
