//! Spawn edges, and the way an agent's answer comes back: in the call's result, by notification, or by message.

use super::tool_calls::{first_after, model_calls};
use crate::draft::{Draft, EdgeDraft, Evidence};
use rustc_hash::FxHashMap;
use unspool_model::flow::NONE;
use unspool_model::{EdgeKind, EventFlags, EventKind, KeyKind, RecordIx, Role, Rule, Spawn, StepKind, Sym};

pub(crate) fn link(draft: &mut Draft<'_>) {
    let returns = returns_by_agent(draft);
    for agent in 0..draft.agents.len() {
        let Some(spawn) = draft.agents[agent].spawn else { continue };
        spawn_edge(draft, agent, spawn);
        let call = &draft.steps[spawn.step as usize];
        let parent = call.agent as usize;
        let is_async = call.flags.has(EventFlags::ASYNC);
        let reported = returns.get(&agent).map_or(&[][..], Vec::as_slice);
        if !reported.is_empty() {
            for event in reported {
                notified(draft, agent, spawn, parent, *event);
            }
        } else if !is_async && call.result_event != NONE {
            answered(draft, agent, spawn, parent);
        }
    }
}

fn spawn_edge(draft: &mut Draft<'_>, agent: usize, spawn: Spawn) {
    let Some(first) = draft.timeline[agent].first().copied() else { return };
    let edge = EdgeDraft {
        from: spawn.step,
        to: first,
        kind: EdgeKind::SubagentSpawn,
        rule: spawn.rule,
        confidence: spawn.confidence,
        tool_use: spawn.tool_use_id,
        is_error: false,
        evidence: Evidence::Many(draft.agents[agent].spawn_evidence.clone()),
    };
    draft.add_edge(edge);
}

/// The result of the call carried the answer.
fn answered(draft: &mut Draft<'_>, agent: usize, spawn: Spawn, parent: usize) {
    let call = &draft.steps[spawn.step as usize];
    let (result, is_error) = (call.result_event as usize, call.is_error);
    let receiver = first_after(&model_calls(draft, parent), draft.place(result));
    let (Some(receiver), Some(last)) = (receiver, draft.timeline[agent].last().copied()) else { return };
    let record = draft.event(result).record;
    return_edge(draft, spawn, last, receiver, Rule::ReturnResultId, is_error, record);
}

/// A notification or message carried the answer; it may come several times for one agent.
fn notified(draft: &mut Draft<'_>, agent: usize, spawn: Spawn, parent: usize, event: usize) {
    let at = draft.event(event).at;
    let receiver = first_after(&model_calls(draft, parent), draft.place(event));
    let by_then = |step: &&u32| {
        let step = &draft.steps[**step as usize];
        step.kind != StepKind::AgentStop && (!at.is_some() || step.started <= at)
    };
    let last = draft.timeline[agent].iter().rev().find(by_then).copied();
    let (Some(receiver), Some(last)) = (receiver, last) else { return };
    let teammate = draft.text(draft.event(event).name) == "teammate";
    let rule = if teammate { Rule::ReturnTeammateId } else { Rule::ReturnNotificationId };
    let record = draft.event(event).record;
    return_edge(draft, spawn, last, receiver, rule, false, record);
}

fn return_edge(
    draft: &mut Draft<'_>,
    spawn: Spawn,
    from: u32,
    to: u32,
    rule: Rule,
    is_error: bool,
    record: RecordIx,
) {
    // A return is no surer than the spawn it answers.
    let rule = if spawn.rule.inferred() { spawn.rule } else { rule };
    let edge = EdgeDraft {
        from,
        to,
        kind: EdgeKind::SubagentReturn,
        rule,
        confidence: spawn.confidence,
        tool_use: spawn.tool_use_id,
        is_error,
        evidence: Evidence::Two(record, draft.first_record(to)),
    };
    let same = |other: &&EdgeDraft| other.kind == edge.kind && other.from == from && other.to == to;
    if !draft.edges.iter().rev().take(64).any(|other| same(&other)) {
        draft.add_edge(edge);
    }
}

/// Events that report an agent's end to its parent. Copies count only where nothing else reports it.
fn returns_by_agent(draft: &Draft<'_>) -> FxHashMap<usize, Vec<usize>> {
    let (mut by_id, mut by_call, mut by_teammate) =
        (FxHashMap::default(), FxHashMap::default(), FxHashMap::<Sym, usize>::default());
    for (n, agent) in draft.agents.iter().enumerate() {
        by_id.insert(agent.native_id, n);
        if let Some(spawn) = agent.spawn {
            by_call.insert(spawn.tool_use_id, n);
        }
        if let Some(teammate) = agent.teammate.some() {
            by_teammate.insert(teammate, n);
        }
    }
    let mut first_hand: FxHashMap<usize, Vec<usize>> = FxHashMap::default();
    let mut copies: FxHashMap<usize, Vec<usize>> = FxHashMap::default();
    for at in 0..draft.group.events.len() {
        let event = draft.event(at);
        if event.kind != EventKind::AgentReturn {
            continue;
        }
        let key = |kind| draft.key(at, kind, Role::Refers);
        let agent = key(KeyKind::Task)
            .and_then(|id| by_id.get(&id))
            .or_else(|| key(KeyKind::ToolUse).and_then(|id| by_call.get(&id)))
            .or_else(|| key(KeyKind::Teammate).and_then(|id| by_teammate.get(&id)));
        let Some(agent) = agent.copied() else { continue };
        let list = if event.flags.has(EventFlags::COPY) { &mut copies } else { &mut first_hand };
        list.entry(agent).or_default().push(at);
    }
    for agent in 0..draft.agents.len() {
        if let Some(events) = copies.remove(&agent) {
            first_hand.entry(agent).or_insert(events);
        }
    }
    first_hand
}
