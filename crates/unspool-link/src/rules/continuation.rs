//! Conversations that go on after a cut: compaction, resume, fork, and messages to an agent that had stopped.

use crate::draft::{Draft, exact};
use crate::symmap::SymMap;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use unspool_model::flow::NONE;
use unspool_model::{
    AttrName, Edge, EdgeKind, EventFlags, EventKind, KeyKind, RecordIx, Role, Rule, StepKind, Sym, Timestamp,
};

pub(crate) fn link(draft: &mut Draft<'_>) {
    let step_of = steps_by_uuid(draft);
    compactions(draft, &step_of);
    resumes_and_forks(draft, &step_of);
    messages(draft);
    branches(draft);
}

/// The step a uuid leads to: its own, or that of the nearest record above it that has one.
fn steps_by_uuid(draft: &Draft<'_>) -> SymMap {
    let (mut step_of, mut above) = (draft.id_map(), draft.id_map());
    let mut without = Vec::new();
    for at in 0..draft.group.events.len() {
        let Some(uuid) = draft.key(at, KeyKind::Uuid, Role::Provides) else { continue };
        if draft.event_step[at] == NONE {
            without.push(uuid);
            if let Some(parent) = draft.key(at, KeyKind::Uuid, Role::Refers) {
                above.first(uuid, u32::try_from(parent.index()).unwrap_or(NONE));
            }
        } else {
            step_of.first(uuid, draft.event_step[at]);
        }
    }
    for start in without {
        let mut path = Vec::new();
        let mut at = start;
        while !step_of.contains(at) {
            // What was passed is taken out, so that a circle ends and nothing is walked twice.
            let Some(parent) = above.get(at) else { break };
            above.insert(at, NONE);
            path.push(at);
            at = Sym::from_raw(i64::from(parent));
        }
        if let Some(step) = step_of.get(at) {
            for uuid in path {
                step_of.insert(uuid, step);
            }
        }
    }
    step_of
}

fn edge(draft: &mut Draft<'_>, from: u32, to: u32, rule: Rule, tool_use_id: Sym) {
    let evidence = [draft.first_record(from), draft.first_record(to)];
    draft.add_edge(Edge { tool_use_id, ..exact(from, to, EdgeKind::Continuation, rule) }, &evidence);
}

fn compactions(draft: &mut Draft<'_>, step_of: &SymMap) {
    for agent in 0..draft.timeline.len() {
        for position in 0..draft.timeline[agent].len() {
            let n = draft.timeline[agent][position];
            let step = &draft.steps[n as usize];
            let before = position.checked_sub(1).map(|p| draft.timeline[agent][p]);
            match step.kind {
                StepKind::Compaction => {
                    let event = step.first_event as usize;
                    let named = draft.key(event, KeyKind::LogicalParent, Role::Refers);
                    let from = named.and_then(|uuid| step_of.get(uuid)).or(before);
                    if let Some(from) = from {
                        edge(draft, from, n, Rule::ContinuationCompaction, Sym::EMPTY);
                    }
                }
                // A summary without a boundary before it is the only trace of the cut.
                StepKind::UserMessage if step.flags.has(EventFlags::COMPACT_SUMMARY) => {
                    let after_boundary =
                        before.is_some_and(|b| draft.steps[b as usize].kind == StepKind::Compaction);
                    if let Some(from) = before.filter(|_| !after_boundary) {
                        edge(draft, from, n, Rule::ContinuationCompaction, Sym::EMPTY);
                    }
                }
                _ => {}
            }
        }
    }
}

/// A main agent whose first own record names a parent in another conversation goes on from there; a prompt
/// that names a record before the last prompt rewinds to it.
fn resumes_and_forks(draft: &mut Draft<'_>, step_of: &SymMap) {
    let parent_of = |draft: &Draft<'_>, step: u32| {
        let event = draft.steps[step as usize].first_event as usize;
        let parent = draft.key(event, KeyKind::Uuid, Role::Refers)?;
        step_of.get(parent)
    };
    for agent in 0..draft.timeline.len() {
        if !draft.agents[agent].is_main() {
            continue;
        }
        let mut last_prompt = None;
        for position in 0..draft.timeline[agent].len() {
            let n = draft.timeline[agent][position];
            let Some(parent) = parent_of(draft, n) else {
                remember_prompt(draft, n, &mut last_prompt);
                continue;
            };
            let other = draft.steps[parent as usize].agent;
            if other as usize != agent && position == 0 {
                let last = draft.timeline[other as usize].last().copied();
                let goes_on = last == Some(parent)
                    || last.is_some_and(|last| {
                        draft.steps[last as usize].started <= draft.steps[n as usize].started
                    });
                let rule = if goes_on { Rule::ContinuationResume } else { Rule::ContinuationFork };
                edge(draft, parent, n, rule, Sym::EMPTY);
            } else if other as usize == agent
                && is_prompt(draft, n)
                && last_prompt.is_some_and(|last: u32| {
                    draft.place_of(&draft.steps[parent as usize])
                        < draft.place_of(&draft.steps[last as usize])
                })
            {
                edge(draft, parent, n, Rule::ContinuationFork, Sym::EMPTY);
            }
            remember_prompt(draft, n, &mut last_prompt);
        }
    }
}

fn is_prompt(draft: &Draft<'_>, step: u32) -> bool {
    let step = &draft.steps[step as usize];
    step.kind == StepKind::UserMessage && !step.flags.has(EventFlags::META)
}

fn remember_prompt(draft: &Draft<'_>, step: u32, last: &mut Option<u32>) {
    if is_prompt(draft, step) {
        *last = Some(step);
    }
}

/// A recorded request that goes on from one that another has gone on from before: the conversation branches there.
fn branches(draft: &mut Draft<'_>) {
    let mut first_of: FxHashMap<RecordIx, usize> = FxHashMap::default();
    let mut order: Vec<RecordIx> = Vec::new();
    for at in 0..draft.event_step.len() {
        let (event, step) = (draft.event(at), draft.event_step[at]);
        if step == NONE || draft.corpus.conversations.of(event.record).is_none() {
            continue;
        }
        if !event.flags.has(EventFlags::COPY) {
            first_of.entry(event.record).or_insert_with(|| {
                order.push(event.record);
                at
            });
        }
    }
    unspool_model::sort_by_meaning(&mut order, |record| draft.place(first_of[record]));
    // What each request was followed by first, as a step: a repeated request is no branch.
    let mut followed: FxHashMap<RecordIx, Vec<u32>> = FxHashMap::default();
    for record in order {
        let Some(parent) = draft.corpus.conversations.parent(record) else { continue };
        let first = draft.event_step[first_of[&record]];
        let before = followed.entry(parent).or_default();
        let is_branch = !before.is_empty() && !before.contains(&first);
        before.push(first);
        if let Some(from) = draft.call_of.get(&parent).copied().filter(|_| is_branch) {
            edge(draft, from, first, Rule::ContinuationFork, Sym::EMPTY);
        }
    }
}

/// A call that writes to an agent, and the message that agent then received.
fn messages(draft: &mut Draft<'_>) {
    let mut sent = sent(draft);
    if sent.is_empty() {
        return;
    }
    sent.sort_by_key(|(n, _)| {
        let step = &draft.steps[*n as usize];
        (step.started, draft.place_of(step))
    });
    // What each agent was told after its first message, by time; messages to a busy agent wait and are received in the
    // order they were sent, each once.
    let mut inbox: FxHashMap<u32, VecDeque<(Timestamp, u32)>> = FxHashMap::default();
    for (n, agent) in sent {
        let (at, tool_use) = (draft.steps[n as usize].started, draft.steps[n as usize].tool_use);
        let waiting = inbox.entry(agent).or_insert_with(|| received(draft, agent));
        if !at.is_some() {
            continue;
        }
        // Calls come in order of time, so what was received before this one was sent by none of the later ones either.
        while waiting.front().is_some_and(|(received, _)| *received < at) {
            waiting.pop_front();
        }
        if let Some((_, received)) = waiting.pop_front() {
            edge(draft, n, received, Rule::ContinuationMessage, tool_use);
        }
    }
}

/// Calls that write to an agent, and the agent that bore the name by then.
fn sent(draft: &Draft<'_>) -> Vec<(u32, u32)> {
    let mut by_name: FxHashMap<&str, Vec<u32>> = FxHashMap::default();
    for (n, agent) in (0_u32..).zip(&draft.agents) {
        let short = draft.text(agent.teammate).split('@').next().unwrap_or_default();
        for name in
            [draft.text(agent.native_id), draft.text(agent.name.value), draft.text(agent.teammate), short]
        {
            let namesakes = by_name.entry(name).or_default();
            if !name.is_empty() && namesakes.last() != Some(&n) {
                namesakes.push(n);
            }
        }
    }
    let mut sent = Vec::new();
    for (n, step) in (0_u32..).zip(&draft.steps) {
        let event = step.first_event as usize;
        if step.kind != StepKind::ToolCall || draft.event(event).kind != EventKind::ToolCall {
            continue;
        }
        let Some(target) = draft.attr_text(event, AttrName::Resume) else { continue };
        let namesakes = by_name.get(draft.text(target)).map_or(&[][..], Vec::as_slice);
        let Some(agent) = draft.bearer(namesakes, step.started) else { continue };
        let spawned_by_it = draft.agents[agent as usize].spawn.is_some_and(|spawn| spawn.step == n);
        if agent != step.agent && !spawned_by_it {
            sent.push((n, agent));
        }
    }
    sent
}

/// The messages an agent received after its first step, in order.
fn received(draft: &Draft<'_>, agent: u32) -> VecDeque<(Timestamp, u32)> {
    let later = draft.timeline[agent as usize].iter().skip(1);
    let steps = later.map(|n| (&draft.steps[*n as usize], *n));
    steps.filter(|(step, _)| step.kind == StepKind::UserMessage).map(|(step, n)| (step.started, n)).collect()
}
