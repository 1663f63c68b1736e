//! The steps of a flow as items of a pattern.
//!
//! What an agent does lies in that agent: a tool call stands beside the model call that asked for it, not below it. A call
//! that started an agent is that agent.

use super::{Item, ItemId, Manual, NodeType};
use crate::labels::short_model;
use crate::prices::Prices;
use crate::totals::{Pricer, Totals};
use unspool_model::flow::NONE;
use unspool_model::{Agent, AttrName, Batch, Flow, Key, KeyKind, Role, Step, StepKind};

/// The items of a flow, or of one of its runs.
pub fn items<'b>(flow: &Flow, batch: &'b Batch, prices: &Prices, run: Option<u32>) -> Vec<Item<'b>> {
    let wanted = |step: &Step| run.is_none_or(|run| step.run == run);
    let mut spawned_by = vec![NONE; flow.steps.len()];
    for (n, agent) in (0_u32..).zip(&flow.agents) {
        if let Some(spawn) = agent.spawn
            && let Some(slot) = spawned_by.get_mut(spawn.step as usize)
            && flow.steps[spawn.step as usize].kind == StepKind::ToolCall
        {
            *slot = n;
        }
    }
    let mut active = vec![false; flow.agents.len()];
    for step in flow.steps.iter().filter(|step| wanted(step)) {
        if let Some(active) = active.get_mut(step.agent as usize) {
            *active = true;
        }
    }
    let mut pricer = Pricer::new(flow, &batch.text, prices);
    let mut items = Vec::new();
    for ((n, agent), active) in (0_u32..).zip(&flow.agents).zip(active) {
        if agent.internal || !active {
            continue;
        }
        let named = [agent.kind, agent.name, agent.native_id].into_iter().find(|name| !name.is_empty());
        let call = agent.spawn.and_then(|spawn| flow.steps.get(spawn.step as usize));
        let is_call = agent.spawn.is_some_and(|spawn| spawned_by[spawn.step as usize] == n);
        let begin =
            flow.steps.get(agent.first_step as usize).filter(|step| step.kind == StepKind::AgentStart);
        items.push(Item {
            id: of_agent(agent),
            parent: flow.agents.get(agent.parent as usize).map(of_agent),
            name: if agent.main {
                "main".into()
            } else {
                named.map_or("", |name| batch.text.get(name)).into()
            },
            node_type: Some(NodeType::Agent),
            caller: call.and_then(|call| caller(flow, call)),
            order: agent.spawn.map_or(0, |spawn| spawn.step),
            started: call.map_or(agent.started, |call| call.started),
            // Whoever calls an agent and does not wait goes on at once.
            ended: call.filter(|call| call.ended.is_some()).map_or(agent.ended, |call| call.ended),
            took_ms: agent.ended.ms_since(agent.started),
            is_error: call.is_some_and(|call| call.is_error),
            totals: call.filter(|_| is_call).map_or_else(Totals::default, |call| pricer.step(call)),
            manual: begin.and_then(|step| manual(flow, batch, step)),
        });
    }
    for (n, step) in flow.steps.iter().enumerate() {
        let internal = flow.agents.get(step.agent as usize).is_none_or(|agent| agent.internal);
        if step.is_aside() || internal || !wanted(step) || spawned_by[n] != NONE {
            continue;
        }
        let order = u32::try_from(n).unwrap_or(NONE);
        items.push(Item { order, ..item(flow, batch, &mut pricer, step) });
    }
    items
}

fn of_agent(agent: &Agent) -> ItemId {
    ItemId::Own('a', agent.id)
}

fn of_step(step: &Step) -> ItemId {
    ItemId::Own('s', step.id)
}

fn item<'b>(flow: &Flow, batch: &'b Batch, pricer: &mut Pricer<'_>, step: &Step) -> Item<'b> {
    let agent = flow.agents.get(step.agent as usize).map(of_agent);
    // What lies in another step of its own agent, other than the model call that asked for it, stays there.
    let above = flow.steps.get(step.parent as usize).filter(|above| above.agent == step.agent);
    let container = above.filter(|above| {
        matches!(above.kind, StepKind::Generic | StepKind::ToolCall | StepKind::Retrieval | StepKind::Router)
    });
    let name = match step.kind {
        StepKind::UserMessage => "user",
        StepKind::Compaction => "compaction",
        StepKind::ModelCall => short_model(batch.text.get(step.name)),
        _ => batch.text.get(step.name),
    };
    Item {
        id: of_step(step),
        parent: container.map(of_step).or(agent),
        name: name.into(),
        node_type: node_type(step.kind),
        caller: caller(flow, step),
        order: 0,
        started: step.started,
        ended: step.ended,
        took_ms: step.duration_ms.get(),
        is_error: step.is_error,
        totals: pricer.step(step),
        manual: manual(flow, batch, step),
    }
}

/// The place a step's source gave it in a graph of its own.
fn manual(flow: &Flow, batch: &Batch, step: &Step) -> Option<Box<Manual>> {
    if !batch.kinds.has(KeyKind::GraphNode) {
        return None;
    }
    let mut events = flow.witnesses_of(step).iter().flat_map(|record| batch.events_of(*record));
    let own = |event| batch.key(event, KeyKind::GraphNode, Role::Provides);
    let (event, id) = events.find_map(|event| Some((event, own(event)?)))?;
    let text =
        |name| batch.attr_text(event, name).map_or_else(String::new, |text| batch.text.get(text).into());
    let is_parent = |key: &&Key| key.kind == KeyKind::GraphNode && key.role == Role::Refers;
    let parents = batch.keys_of(event).iter().filter(is_parent);
    Some(Box::new(Manual {
        id: batch.text.get(id).to_string(),
        parents: parents.map(|key| batch.text.get(key.value).to_string()).collect(),
        display_name: text(AttrName::GraphLabel),
        node_type: text(AttrName::GraphType),
    }))
}

/// The model call that asked for a tool.
fn caller(flow: &Flow, step: &Step) -> Option<ItemId> {
    let above = flow.steps.get(step.parent as usize)?;
    (step.kind == StepKind::ToolCall && above.kind == StepKind::ModelCall).then(|| of_step(above))
}

fn node_type(kind: StepKind) -> Option<NodeType> {
    Some(match kind {
        StepKind::ModelCall => NodeType::Llm,
        StepKind::ToolCall => NodeType::Tool,
        StepKind::Retrieval => NodeType::Retrieval,
        StepKind::Embedding => NodeType::Embedding,
        StepKind::Memory => NodeType::Memory,
        StepKind::Router => NodeType::Router,
        StepKind::Guardrail => NodeType::Guardrail,
        StepKind::Generic => return None,
        _ => NodeType::Default,
    })
}
