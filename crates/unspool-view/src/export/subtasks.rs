//! Conversations and their sub-tasks: each agent is a conversation, and each agent it started is a sub-task of it.
//!
//! In: a flow. Out: the document. Never here: how sub-tasks were found.

use crate::labels;
use crate::prices::Prices;
use crate::totals::{FlowTotals, totals};
use schemars::JsonSchema;
use serde::Serialize;
use unspool_model::{Batch, Flow, Step, StepKind, Usage};

/// The document.
#[derive(Serialize, JsonSchema)]
pub struct ConversationsDoc<C> {
    conversations: C,
}

impl<C> ConversationsDoc<C> {
    /// The whole document; `conversations` may be a list or something that is written like one.
    pub fn new(conversations: C) -> ConversationsDoc<C> {
        ConversationsDoc { conversations }
    }
}

/// An agent and what it started.
#[derive(Serialize, JsonSchema)]
pub struct ConversationNode {
    id: String,
    session_id: String,
    is_subtask: bool,
    /// The request whose answer asked for this one.
    parent_task_request_id: Option<String>,
    messages: Vec<Message>,
    subtasks: Vec<SubTask>,
}

/// What somebody said.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ConversationMessage")]
struct Message {
    id: String,
    role: &'static str,
    content: String,
    timestamp: Option<String>,
}

/// The sub-tasks that one request asked for.
#[derive(Serialize, JsonSchema)]
pub struct RequestDoc {
    /// The request, as its answer has it.
    request_id: String,
    /// The agent that made it.
    conversation_id: String,
    session_id: String,
    is_subtask: bool,
    /// The request whose answer asked for the conversation of this one.
    parent_task_request_id: Option<String>,
    subtasks: Vec<SubTask>,
}

/// An agent that another one started.
#[derive(Serialize, JsonSchema)]
struct SubTask {
    /// The first request of the sub-task.
    request_id: String,
    conversation_id: String,
    task_number: u32,
    description: String,
    message_count: u32,
    status: &'static str,
    tool_use_id: Option<String>,
    /// Tokens of the sub-task and everything it started, unless no source says how many.
    total_tokens: Option<u64>,
}

/// The conversations of a session.
pub fn conversations(flow: &Flow, batch: &Batch, prices: &Prices) -> Vec<ConversationNode> {
    let sums = totals(flow, &batch.text, prices);
    let mut messages: Vec<Vec<Message>> = flow.agents.iter().map(|_| Vec::new()).collect();
    let mut requests: Vec<Option<String>> = vec![None; flow.agents.len()];
    for step in &flow.steps {
        let Some(own) = messages.get_mut(step.agent as usize) else { continue };
        let role = match step.kind {
            StepKind::UserMessage => "user",
            StepKind::ModelCall => "assistant",
            _ => continue,
        };
        if role == "assistant" {
            requests[step.agent as usize].get_or_insert_with(|| request_id(batch, step));
        }
        own.push(Message {
            id: step.id.show('s'),
            role,
            content: batch.text.get(step.preview).into(),
            timestamp: step.started.is_some().then(|| step.started.to_string()),
        });
    }
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); flow.agents.len()];
    for (n, agent) in flow.agents.iter().enumerate() {
        if let Some(siblings) = children.get_mut(agent.parent as usize) {
            siblings.push(n);
        }
    }
    let all = messages.into_iter().enumerate();
    all.map(|(n, messages)| ConversationNode {
        id: flow.agents[n].id.show('a'),
        session_id: flow.session.id.show('x'),
        is_subtask: flow.agents.get(flow.agents[n].parent as usize).is_some(),
        parent_task_request_id: parent_request(flow, batch, n),
        messages,
        subtasks: children[n].iter().map(|child| subtask(flow, batch, &sums, &requests, *child)).collect(),
    })
    .collect()
}

/// The sub-tasks that the request at a place asked for.
pub fn request(flow: &Flow, batch: &Batch, prices: &Prices, place: usize) -> RequestDoc {
    let sums = totals(flow, &batch.text, prices);
    let step = &flow.steps[place];
    let mut requests: Vec<Option<String>> = vec![None; flow.agents.len()];
    for step in flow.steps.iter().filter(|step| step.kind == StepKind::ModelCall) {
        if let Some(first) = requests.get_mut(step.agent as usize) {
            first.get_or_insert_with(|| request_id(batch, step));
        }
    }
    let asked_for = |n: &usize| asking(flow, *n) == Some(place);
    let own = step.agent as usize;
    let started = (0..flow.agents.len()).filter(asked_for);
    RequestDoc {
        request_id: request_id(batch, step),
        conversation_id: flow.agents.get(own).map(|agent| agent.id.show('a')).unwrap_or_default(),
        session_id: flow.session.id.show('x'),
        is_subtask: flow
            .agents
            .get(own)
            .is_some_and(|agent| flow.agents.get(agent.parent as usize).is_some()),
        parent_task_request_id: parent_request(flow, batch, own),
        subtasks: started.map(|n| subtask(flow, batch, &sums, &requests, n)).collect(),
    }
}

fn subtask(flow: &Flow, batch: &Batch, sums: &FlowTotals, requests: &[Option<String>], n: usize) -> SubTask {
    let agent = &flow.agents[n];
    SubTask {
        request_id: requests[n].clone().unwrap_or_else(|| agent.id.show('a')),
        conversation_id: agent.id.show('a'),
        task_number: agent.task_number,
        description: labels::agent_detail(batch, agent).into(),
        message_count: agent.message_count,
        status: agent.status.name(),
        tool_use_id: agent
            .spawn
            .and_then(|spawn| spawn.tool_use_id.some())
            .map(|id| batch.text.get(id).into()),
        total_tokens: sums.subtree[n].stated_usage().map(Usage::total),
    }
}

fn parent_request(flow: &Flow, batch: &Batch, agent: usize) -> Option<String> {
    asking(flow, agent).map(|place| request_id(batch, &flow.steps[place]))
}

/// The place of the request whose answer asked for an agent. Where only the parent is stated, the agent hangs on a request and on no call in its answer.
fn asking(flow: &Flow, agent: usize) -> Option<usize> {
    let place = flow.agents.get(agent)?.spawn?.step as usize;
    let step = flow.steps.get(place)?;
    let above = step.parent as usize;
    if step.kind == StepKind::ModelCall { Some(place) } else { flow.steps.get(above).map(|_| above) }
}

/// The id of a request as its answer has it, else ours.
fn request_id(batch: &Batch, step: &Step) -> String {
    step.message_id.some().map_or_else(|| step.id.show('s'), |id| batch.text.get(id).into())
}
