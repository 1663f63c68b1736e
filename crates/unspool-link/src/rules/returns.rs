//! Spawn edges, and the way an agent's answer comes back: in the call's result, by notification, or by message.

use super::tool_calls::{Calls, first_after, model_calls, receiver_in_record};
use crate::draft::{Draft, exact};
use rustc_hash::{FxHashMap, FxHashSet};
use unspool_model::flow::NONE;
use unspool_model::{
    Confidence, Edge, EdgeKind, EventFlags, EventKind, KeyKind, LinkSource, RecordIx, Role, Rule, Spawn,
    StepKind, Sym, Timestamp,
};

pub(crate) fn link(draft: &mut Draft<'_>) {
    let (returns, said) = (returns_by_agent(draft), said(draft));
    let calls: Vec<Calls> = (0..draft.agents.len()).map(|agent| model_calls(draft, agent)).collect();
    let mut known = Known::default();
    for agent in 0..draft.agents.len() {
        let Some(spawn) = draft.agents[agent].spawn else { continue };
        spawn_edge(draft, agent, spawn);
        let call = &draft.steps[spawn.step as usize];
        let parent = call.agent as usize;
        let is_async = call.flags.has(EventFlags::ASYNC);
        let reported = returns.get(&agent).map_or(&[][..], Vec::as_slice);
        if !reported.is_empty() {
            // What an agent writes to a peer is no answer to its parent.
            let to_parent = reported.iter().filter(|event| draft.event_agent[**event] as usize == parent);
            let ends = ends(draft, agent);
            for event in to_parent.copied().collect::<Vec<_>>() {
                notified(draft, &mut known, &ends, spawn, &calls[parent], event);
            }
        } else if !is_async && call.result_event != NONE {
            answered(draft, &mut known, &said, agent, spawn, spawn.step, &calls[parent]);
        }
        for call in draft.agents[agent].continued_by.clone() {
            let step = &draft.steps[call as usize];
            if step.result_event != NONE && !step.flags.has(EventFlags::ASYNC) {
                answered(draft, &mut known, &said, agent, spawn, call, &calls[step.agent as usize]);
            }
        }
    }
}

/// The steps returns lead from and to.
type Known = FxHashSet<(u32, u32)>;

/// The last model call of each agent that gave an answer, by the answer.
type Said = FxHashMap<(usize, Sym), u32>;

fn said(draft: &Draft<'_>) -> Said {
    let mut said = Said::default();
    for at in 0..draft.event_step.len() {
        let event = draft.event(at);
        if event.kind != EventKind::ModelCall || draft.event_step[at] == NONE {
            continue;
        }
        let step = draft.event_step[at];
        let agent = draft.steps[step as usize].agent as usize;
        for key in draft.corpus.batch.keys_of(event).iter().filter(|key| key.kind == KeyKind::AnswerHash) {
            said.insert((agent, key.value), step);
        }
    }
    said
}

fn spawn_edge(draft: &mut Draft<'_>, agent: usize, spawn: Spawn) {
    let Some(first) = draft.timeline[agent].first().copied() else { return };
    let edge = Edge {
        tool_use_id: spawn.tool_use_id,
        confidence: spawn.confidence,
        ..exact(spawn.step, first, EdgeKind::SubagentSpawn, spawn.rule)
    };
    let evidence = draft.agents[agent].spawn_evidence.clone();
    draft.add_edge(edge, &evidence);
}

/// The result of a call carried the answer.
fn answered(
    draft: &mut Draft<'_>,
    known: &mut Known,
    said: &Said,
    agent: usize,
    spawn: Spawn,
    call: u32,
    calls: &Calls,
) {
    let step = &draft.steps[call as usize];
    let (result, is_error, tool_use_id) = (step.result_event as usize, step.is_error, step.tool_use);
    let later = || first_after(calls, draft.result_place(result).max(draft.place_of(step)));
    let receiver = receiver_in_record(draft, result).or_else(later);
    let (Some(receiver), Some(last)) = (receiver, last_words(draft, said, agent, result)) else { return };
    let record = draft.event(result).record;
    let spawn = Spawn { tool_use_id, ..spawn };
    if !known.insert((last, receiver)) {
        return;
    }
    let by_order = draft.event(result).flags.has(EventFlags::RESULT_BY_ORDER);
    let rule = if by_order { Rule::ToolResultOrder } else { Rule::ReturnResultId };
    return_edge(draft, spawn, last, receiver, rule, is_error, record);
}

/// The step of an agent whose words a result carried: the model call that said exactly that, whatever the clocks say; else
/// the agent's last step by then. None when the agent had done nothing yet.
fn last_words(draft: &Draft<'_>, said: &Said, agent: usize, result: usize) -> Option<u32> {
    let answer = draft.key(result, KeyKind::AnswerHash, Role::Provides);
    if let Some(step) = answer.and_then(|answer| said.get(&(agent, answer))) {
        return Some(*step);
    }
    let arrived = draft.over(result);
    let by_then = |n: &&u32| {
        let step = &draft.steps[**n as usize];
        let late =
            step.started.ms_since(arrived).unwrap_or(0) > draft.table.tolerance_ms(step.started, arrived);
        step.kind != StepKind::AgentStop && !late
    };
    draft.timeline[agent].iter().rev().find(by_then).copied()
}

/// An agent's steps in order, each with the first moment at which it or a later one had ended.
type Ends = Vec<(Timestamp, u32)>;

fn ends(draft: &Draft<'_>, agent: usize) -> Ends {
    let steps = draft.timeline[agent].iter().map(|n| (&draft.steps[*n as usize], *n));
    let own = steps.filter(|(step, _)| step.kind != StepKind::AgentStop);
    let mut ends: Ends = own.map(|(step, n)| (step.ended.later(step.started), n)).collect();
    for n in (1..ends.len()).rev() {
        ends[n - 1].0 = ends[n - 1].0.min(ends[n].0);
    }
    ends
}

/// The last step that had ended by a moment.
fn last_by(ends: &Ends, at: Timestamp) -> Option<u32> {
    let by_then = if at.is_some() { ends.partition_point(|(end, _)| *end <= at) } else { ends.len() };
    ends[..by_then].last().map(|(_, step)| *step)
}

/// A notification or message carried the answer; it may come several times for one agent.
fn notified(
    draft: &mut Draft<'_>,
    known: &mut Known,
    ends: &Ends,
    spawn: Spawn,
    calls: &Calls,
    event: usize,
) {
    let at = draft.event(event).at;
    // A replayed message is one message: its step has the place, whichever file the report was read from.
    let message = draft.event_step[draft.head_of(event)];
    let place =
        if message == NONE { draft.place(event) } else { draft.place_of(&draft.steps[message as usize]) };
    let receiver = first_after(calls, place);
    let last = last_by(ends, at);
    let (Some(receiver), Some(last)) = (receiver, last) else { return };
    // Several notifications of one end lead to one model call.
    if !known.insert((last, receiver)) {
        return;
    }
    let teammate = draft.event(event).source == LinkSource::Teammate;
    let rule = if teammate { Rule::ReturnTeammateId } else { Rule::ReturnNotificationId };
    let record = if message == NONE { draft.event(event).record } else { draft.first_record(message) };
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
    // A return is no surer than whose child the agent is, or the result that carried it.
    let (rule, confidence) = if spawn.rule.inferred() {
        (spawn.rule, spawn.confidence)
    } else if rule == Rule::ToolResultOrder {
        (rule, draft.table.result_order)
    } else {
        (rule, Confidence::EXACT)
    };
    let edge = Edge {
        tool_use_id: spawn.tool_use_id,
        confidence,
        is_error,
        ..exact(from, to, EdgeKind::SubagentReturn, rule)
    };
    let evidence = [record, draft.first_record(to)];
    draft.add_edge(edge, &evidence);
}

/// Of agents of one id, the one whose end an event reports: a child of the agent it is told to, else the one meant in its session.
fn child_of(draft: &Draft<'_>, namesakes: &[u32], at: usize) -> Option<usize> {
    let is_child = |n: &u32| {
        let spawn = draft.agents[*n as usize].spawn;
        spawn.is_some_and(|spawn| draft.steps[spawn.step as usize].agent == draft.event_agent[at])
    };
    let children: Vec<u32> = namesakes.iter().copied().filter(is_child).collect();
    let closest = if children.is_empty() { namesakes } else { &children };
    draft.meant(closest, draft.group.native_of(at), draft.event(at).at).map(|agent| agent as usize)
}

/// Events that report an agent's end to its parent. Copies count only where nothing else reports it.
fn returns_by_agent(draft: &Draft<'_>) -> FxHashMap<usize, Vec<usize>> {
    let by_id = draft.agents_by_native_id();
    let (mut by_call, mut by_teammate) = (FxHashMap::default(), FxHashMap::<Sym, Vec<u32>>::default());
    for (n, agent) in draft.agents.iter().enumerate() {
        if let Some(spawn) = agent.spawn {
            // What a call with several agents returns is no single agent's answer.
            by_call
                .entry(spawn.tool_use_id)
                .and_modify(|only: &mut Option<usize>| *only = None)
                .or_insert(Some(n));
        }
        if let Some(teammate) = agent.teammate.some() {
            by_teammate.entry(teammate).or_default().push(u32::try_from(n).unwrap_or(NONE));
        }
    }
    // A team nobody named: a message names its sender only, which is enough when one team has that name.
    let mut short_names: FxHashMap<&str, Vec<Sym>> = FxHashMap::default();
    for teammate in draft.agents.iter().filter_map(|agent| agent.teammate.some()) {
        let short = draft.text(teammate).split('@').next().unwrap_or_default();
        let full = short_names.entry(short).or_default();
        if !full.contains(&teammate) {
            full.push(teammate);
        }
    }
    let by_name = |id: Sym, at: Timestamp| {
        let by_short_name = || match short_names.get(draft.text(id)).map(Vec::as_slice) {
            Some([only]) => by_teammate.get(only),
            _ => None,
        };
        let namesakes = by_teammate.get(&id).or_else(by_short_name)?;
        draft.bearer(namesakes, at).map(|agent| agent as usize)
    };
    let mut first_hand: FxHashMap<usize, Vec<usize>> = FxHashMap::default();
    let mut copies: FxHashMap<usize, Vec<usize>> = FxHashMap::default();
    for at in 0..draft.group.events.len() {
        let event = draft.event(at);
        if event.kind != EventKind::AgentReturn {
            continue;
        }
        let key = |kind| draft.key(at, kind, Role::Refers);
        let agent = key(KeyKind::Task)
            .and_then(|id| child_of(draft, by_id.get(&id)?, at))
            .or_else(|| key(KeyKind::ToolUse).and_then(|id| by_call.get(&id).copied().flatten()))
            .or_else(|| key(KeyKind::Teammate).and_then(|id| by_name(id, event.at)));
        let Some(agent) = agent else { continue };
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
