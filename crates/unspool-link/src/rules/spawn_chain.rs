//! Spawns by the chain: the first record of an in-file side chain may name as its parent the record that holds the spawn
//! call. One call there, and no other chain that goes on from it: worth 1.0. Several: the agent is one of theirs, and
//! inference chooses among those only. Never against a known different prompt.

use crate::agents::Origin;
use crate::draft::Draft;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;
use unspool_model::flow::NONE;
use unspool_model::{AttrName, Confidence, EventKind, KeyKind, RecordIx, Role, Rule, Spawn, StepKind, Sym};

/// The record that opens a side chain.
struct Root {
    agent: u32,
    parent: Sym,
    prompts: Vec<Sym>,
    record: RecordIx,
}

/// A spawn call in a record that a side chain goes on from.
#[derive(Clone, Copy)]
struct Call {
    step: u32,
    prompt: Option<Sym>,
}

pub(crate) fn link(draft: &mut Draft<'_>) {
    let roots = roots(draft);
    if roots.is_empty() {
        return;
    }
    let calls = calls_by_record(draft, &roots);
    let mut chains_of: FxHashMap<Sym, usize> = FxHashMap::default();
    for root in &roots {
        *chains_of.entry(root.parent).or_default() += 1;
    }
    let taken: FxHashSet<u32> =
        draft.agents.iter().filter_map(|agent| agent.spawn).map(|spawn| spawn.step).collect();
    let by_caller = calls_by_caller(draft);
    for root in roots {
        let Some(there) = calls.get(&root.parent) else { continue };
        let fits = |call: &&Call| {
            let other_prompt =
                !root.prompts.is_empty() && call.prompt.is_some_and(|prompt| !root.prompts.contains(&prompt));
            let own = draft.steps[call.step as usize].agent == root.agent;
            !own && !other_prompt && !taken.contains(&call.step)
        };
        let mut fitting: Vec<u32> = there.iter().filter(fits).map(|call| call.step).collect();
        match fitting.as_slice() {
            [] => {}
            [only] if there.len() == 1 && chains_of[&root.parent] == 1 => believe(draft, &root, *only),
            _ => {
                // A message cut into several records may be named by its last: its other calls are as near.
                let callers: BTreeSet<u32> =
                    fitting.iter().map(|call| draft.steps[*call as usize].caller).collect();
                let beside = callers.iter().filter_map(|caller| by_caller.get(caller)).flatten();
                fitting.extend(beside.filter(|call| !taken.contains(call)));
                draft.agents[root.agent as usize].among = fitting;
            }
        }
    }
}

/// The spawn calls each model call asked for.
fn calls_by_caller(draft: &Draft<'_>) -> FxHashMap<u32, Vec<u32>> {
    let mut calls: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
    for (n, step) in (0_u32..).zip(&draft.steps) {
        if step.caller != NONE && is_spawn(draft, n) {
            calls.entry(step.caller).or_default().push(n);
        }
    }
    calls
}

fn is_spawn(draft: &Draft<'_>, step: u32) -> bool {
    let step = &draft.steps[step as usize];
    step.kind == StepKind::ToolCall
        && draft.table.is_spawn_tool(draft.text(step.name))
        && draft.attr_text(step.first_event as usize, AttrName::Resume).is_none()
}

/// Roots of side chains that no id links and that name a parent.
fn roots(draft: &Draft<'_>) -> Vec<Root> {
    let mut open: FxHashMap<Sym, u32> = FxHashMap::default();
    for (n, agent) in (0_u32..).zip(&draft.agents) {
        if let Origin::Chain(root) = agent.origin
            && agent.spawn.is_none()
            && !agent.internal
        {
            open.insert(root, n);
        }
    }
    let mut roots = Vec::new();
    if open.is_empty() {
        return roots;
    }
    for at in 0..draft.group.events.len() {
        let Some(uuid) = draft.key(at, KeyKind::Uuid, Role::Provides) else { continue };
        // Of replayed roots the first will do.
        let Some(agent) = open.get(&uuid).copied().filter(|agent| draft.event_agent[at] == *agent) else {
            continue;
        };
        open.remove(&uuid);
        if let Some(parent) = draft.key(at, KeyKind::Uuid, Role::Refers) {
            let event = draft.event(at);
            let keys = draft.corpus.batch.keys_of(event).iter();
            let prompts = keys.filter(|key| key.kind == KeyKind::PromptHash).map(|key| key.value).collect();
            roots.push(Root { agent, parent, prompts, record: event.record });
        }
    }
    roots
}

/// The spawn calls in each record that is the parent of a root.
fn calls_by_record(draft: &Draft<'_>, roots: &[Root]) -> FxHashMap<Sym, Vec<Call>> {
    let parents: FxHashSet<Sym> = roots.iter().map(|root| root.parent).collect();
    let mut calls: FxHashMap<Sym, Vec<Call>> = FxHashMap::default();
    let (mut record, mut parent) = (u32::MAX, None);
    for at in 0..draft.group.events.len() {
        let event = draft.event(at);
        if event.record != record {
            record = event.record;
            let uuid = draft.key(at, KeyKind::Uuid, Role::Provides);
            parent = uuid.filter(|uuid| parents.contains(uuid));
        }
        let (Some(parent), EventKind::ToolCall) = (parent, event.kind) else { continue };
        let step = draft.event_step[at];
        let known = calls.entry(parent).or_default();
        if is_spawn(draft, step) && !known.iter().any(|call| call.step == step) {
            known.push(Call { step, prompt: draft.key(at, KeyKind::PromptHash, Role::Provides) });
        }
    }
    calls
}

fn believe(draft: &mut Draft<'_>, root: &Root, step: u32) {
    let tool_use_id = draft.steps[step as usize].tool_use;
    let evidence = vec![draft.first_record(step), root.record];
    let agent = &mut draft.agents[root.agent as usize];
    agent.spawn = Some(Spawn { step, tool_use_id, rule: Rule::SpawnChainId, confidence: Confidence::EXACT });
    agent.spawn_evidence = evidence;
}
