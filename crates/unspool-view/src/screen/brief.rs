//! Steps and agents in few words, the same wherever a page lists them.

use crate::draw::{Look, class};
use crate::flow_json::time;
use crate::labels::{agent_detail, agent_name, step_detail, step_name};
use schemars::JsonSchema;
use serde::Serialize;
use unspool_model::{Agent, Batch, Flow, RequestKind, Step, Usage};

/// An agent in few words.
#[derive(Serialize, JsonSchema, Debug)]
pub struct AgentBriefDoc {
    /// Deterministic id.
    pub id: String,
    /// Its type, or that it is the main one.
    pub label: String,
    /// Its name, or what it was asked to do.
    pub detail: String,
}

pub(crate) fn agent_brief(batch: &Batch, agent: &Agent) -> AgentBriefDoc {
    AgentBriefDoc {
        id: agent.id.show('a'),
        label: agent_name(batch, agent),
        detail: agent_detail(batch, agent).into(),
    }
}

/// A step in few words.
#[derive(Serialize, JsonSchema, Debug)]
pub struct StepBriefDoc {
    /// Deterministic id.
    pub id: String,
    /// Position in the depth-first order of the tree.
    pub seq: u32,
    /// Kind of step.
    pub kind: &'static str,
    /// The tool, the model, or who spoke.
    pub label: String,
    /// It failed.
    pub is_error: bool,
}

/// A step by its position, if there is one.
pub(crate) fn step_brief(flow: &Flow, batch: &Batch, n: u32) -> Option<StepBriefDoc> {
    Some(brief(batch, flow.steps.get(n as usize)?, n))
}

fn brief(batch: &Batch, step: &Step, seq: u32) -> StepBriefDoc {
    StepBriefDoc {
        id: step.id.show('s'),
        seq,
        kind: step.kind.name(),
        label: step_name(batch, step),
        is_error: step.is_error,
    }
}

/// A step as a line of a list.
#[derive(Serialize, JsonSchema, Debug)]
pub struct StepLineDoc {
    /// What it is.
    #[serde(flatten)]
    pub brief: StepBriefDoc,
    /// What it looks like.
    pub look: &'static str,
    /// What it was for, or the first words of it.
    pub detail: String,
    /// Milliseconds from the session's first moment to its start.
    pub elapsed_ms: Option<i64>,
    /// Milliseconds it took.
    pub duration_ms: Option<i64>,
    /// All its tokens; null when none were reported.
    pub tokens: Option<u64>,
    /// It has begun and nothing says that it ended.
    pub pending: bool,
    /// What a recorded request was for; null for an agent's work.
    pub request: Option<&'static str>,
}

/// A step of the flow by its position.
pub(crate) fn step_line(flow: &Flow, batch: &Batch, n: u32) -> StepLineDoc {
    let step = &flow.steps[n as usize];
    StepLineDoc {
        brief: brief(batch, step, n),
        look: class(Look::of(step.kind.name())),
        detail: step_detail(batch, step).into(),
        elapsed_ms: step.started.ms_since(flow.session.started),
        duration_ms: step.duration_ms.get(),
        tokens: flow.usage_of(step).map(Usage::total),
        pending: step.pending,
        request: flow.request_of(n).map(RequestKind::name),
    }
}

/// A step at an end of a link: what it is, whose, and when.
#[derive(Serialize, JsonSchema, Debug)]
pub struct EndDoc {
    /// What it is.
    #[serde(flatten)]
    pub step: StepLineDoc,
    /// Whose step.
    pub agent: Option<AgentBriefDoc>,
    /// When it began; null when nobody knows.
    pub started_at: Option<String>,
}

/// A step of the flow by its position, as an end of a link.
pub(crate) fn end(flow: &Flow, batch: &Batch, n: u32) -> EndDoc {
    let step = &flow.steps[n as usize];
    EndDoc {
        step: step_line(flow, batch, n),
        agent: flow.agents.get(step.agent as usize).map(|agent| agent_brief(batch, agent)),
        started_at: time(step.started),
    }
}
