//! Conversations and their sub-tasks: each agent is a conversation, and each agent it started is a sub-task of it.
//!
//! In: a flow. Out: the document. Never here: how sub-tasks were found.

use crate::labels;
use crate::prices::Prices;
use crate::totals::totals;
use serde::Serialize;
use unspool_model::{Batch, Flow, Step, StepKind, Usage};

/// The document.
#[derive(Serialize)]
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
#[derive(Serialize)]
pub struct ConversationNode {
    id: String,
    session_id: String,
    is_subtask: bool,
    /// The request whose answer asked for this one.
    parent_task_request_id: Option<String>,
    messages: Vec<Message>,
    subtasks: Vec<SubTask>,
}

#[derive(Serialize)]
struct Message {
    id: String,
    role: &'static str,
    content: String,
    timestamp: Option<String>,
}

#[derive(Serialize)]
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
    let subtasks_of = |n: usize| {
        children[n].iter().map(|child| {
            let (child, agent) = (*child, &flow.agents[*child]);
            SubTask {
                request_id: requests[child].clone().unwrap_or_else(|| agent.id.show('a')),
                conversation_id: agent.id.show('a'),
                task_number: agent.task_number,
                description: labels::agent_detail(batch, agent).into(),
                message_count: agent.message_count,
                status: agent.status.name(),
                tool_use_id: agent
                    .spawn
                    .and_then(|spawn| spawn.tool_use_id.some())
                    .map(|id| batch.text.get(id).into()),
                total_tokens: sums.subtree[child].stated_usage().map(Usage::total),
            }
        })
    };
    let parent_request = |n: usize| {
        let call = flow.steps.get(flow.agents[n].spawn?.step as usize)?;
        let asked = flow.steps.get(call.parent as usize)?;
        Some(request_id(batch, asked))
    };
    let all = messages.into_iter().enumerate();
    all.map(|(n, messages)| ConversationNode {
        id: flow.agents[n].id.show('a'),
        session_id: flow.session.id.show('x'),
        is_subtask: flow.agents.get(flow.agents[n].parent as usize).is_some(),
        parent_task_request_id: parent_request(n),
        messages,
        subtasks: subtasks_of(n).collect(),
    })
    .collect()
}

/// The id of a request as its answer has it, else ours.
fn request_id(batch: &Batch, step: &Step) -> String {
    step.message_id.some().map_or_else(|| step.id.show('s'), |id| batch.text.get(id).into())
}
