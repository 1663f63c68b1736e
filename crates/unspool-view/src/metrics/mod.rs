//! Numbers about a session's graph, its steps, its agents and its time.
//!
//! In: a flow. Out: plain values. Never here: drawing, thresholds, opinions; those are findings.

mod agents;
mod graph;
mod nodes;
pub mod reach;

use crate::failures::{FailureListDoc, failures};
use crate::path::{Paths, Scope, ScopeDoc};
pub use agents::{AgentMetricsDoc, AgentTypeDoc, ToolUseDoc};
pub use graph::{EdgeCountDoc, GraphMetricsDoc};
pub use nodes::NodeMetricsDoc;
use schemars::JsonSchema;
use serde::Serialize;
use unspool_model::{Flow, Interner};

/// All numbers of some sessions.
#[derive(Serialize, JsonSchema)]
pub struct MetricsDoc {
    /// Always `unspool.metrics/1`.
    pub schema: &'static str,
    /// Sessions, oldest first.
    pub sessions: Vec<SessionMetricsDoc>,
}

/// All numbers of one session.
#[derive(Serialize, JsonSchema)]
pub struct SessionMetricsDoc {
    /// Deterministic id.
    pub id: String,
    /// The ids its sources gave it.
    pub native_ids: Vec<String>,
    /// Title, or first prompt.
    pub title: Option<String>,
    /// The graph as a whole.
    pub graph: GraphMetricsDoc,
    /// The session's time.
    pub session: ScopeDoc,
    /// Each run's time.
    pub runs: Vec<ScopeDoc>,
    /// Each agent.
    pub agents: Vec<AgentMetricsDoc>,
    /// Agents of one type together.
    pub agent_types: Vec<AgentTypeDoc>,
    /// Failed steps.
    pub failures: FailureListDoc,
    /// Each step, in order of `seq`.
    pub nodes: Vec<NodeMetricsDoc>,
}

/// All numbers of a flow.
pub fn metrics(flow: &Flow, text: &Interner) -> SessionMetricsDoc {
    let reach = reach::of_flow(flow);
    let paths = Paths::new(flow, text);
    let network = paths.network(Scope::Session);
    let path = network.critical();
    let nodes = nodes::nodes(flow, text, reach.as_deref(), &network, &path);
    let agents = agents::agents(flow, text);
    SessionMetricsDoc {
        id: flow.session.id.show('x'),
        native_ids: flow.session.native_ids.iter().map(|id| text.get(*id).to_string()).collect(),
        title: flow.session.title.some().map(|title| text.get(title).to_string()),
        graph: graph::graph(flow, reach::causal(flow), &nodes),
        session: paths.sums(Scope::Session, &network, &path),
        runs: paths.runs(),
        agent_types: agents::types(flow, text, &agents),
        agents,
        failures: failures(flow, text),
        nodes,
    }
}

#[cfg(test)]
mod tests;
