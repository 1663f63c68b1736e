//! Workflow runs whose id no result names: the folder tells which agents are one run, and the call that started it is
//! a workflow call at the right time. Runs and calls are matched jointly, like agents and their spawns.

use super::assignment::{Cost, assign};
use crate::draft::Draft;
use rustc_hash::FxHashSet;
use std::collections::BTreeMap;
use unspool_model::flow::{NONE, Rival, RivalReason};
use unspool_model::{Code, Rule, Spawn, StepKind, Sym, Timestamp};

/// The agents of one run and when the first of them began.
struct Run {
    agents: Vec<u32>,
    start: Timestamp,
}

pub(crate) fn link(draft: &mut Draft<'_>) {
    let runs = runs(draft);
    if runs.is_empty() {
        return;
    }
    let calls = calls(draft);
    let table = draft.table;
    if runs.len().max(calls.len()) > table.max_joint_assignment {
        let record = calls.first().map(|call| draft.first_record(*call));
        draft.issue(Code::SpawnGroupTooLarge, Sym::EMPTY, record);
        return;
    }
    let cost = |run: &Run, call: u32| {
        let called = draft.place_of(&draft.steps[call as usize]).0;
        let waited = run.start.ms_since(called).unwrap_or(0);
        if waited < -table.tolerance_ms(run.start, called) || waited > table.prompt_window_ms {
            return Cost::IMPOSSIBLE;
        }
        let distance = waited.abs().min(1_000_000);
        Cost { evidence: -1, time: distance * distance, order: 0 }
    };
    let costs: Vec<Vec<Cost>> =
        runs.iter().map(|run| calls.iter().map(|call| cost(run, *call)).collect()).collect();
    for (run, column) in assign(&costs).into_iter().enumerate() {
        let Some(call) = column.map(|column| calls[column]) else { continue };
        let possible = calls.iter().zip(&costs[run]).filter(|(_, cost)| **cost < Cost::IMPOSSIBLE);
        let rivals: Vec<Rival> = possible
            .filter(|(other, _)| **other != call)
            .map(|(other, _)| Rival {
                tool_use_id: draft.steps[*other as usize].tool_use,
                reason: RivalReason::Tied,
            })
            .collect();
        let confidence = if rivals.is_empty() { table.type_time } else { table.type_time_tied };
        let tool_use_id = draft.steps[call as usize].tool_use;
        for agent in &runs[run].agents {
            let first = draft.timeline[*agent as usize].first().copied().unwrap_or(call);
            let evidence = vec![draft.first_record(call), draft.first_record(first)];
            let agent = &mut draft.agents[*agent as usize];
            agent.spawn = Some(Spawn { step: call, tool_use_id, rule: Rule::SpawnTypeTime, confidence });
            agent.spawn_evidence = evidence;
            agent.rival_count = u32::try_from(rivals.len()).unwrap_or(u32::MAX);
            agent.rivals.clone_from(&rivals);
        }
    }
}

fn runs(draft: &Draft<'_>) -> Vec<Run> {
    let mut by_name: BTreeMap<&str, Run> = BTreeMap::new();
    for (n, agent) in draft.agents.iter().enumerate() {
        if agent.workflow.is_empty()
            || agent.spawn.is_some()
            || agent.internal
            || draft.timeline[n].is_empty()
        {
            continue;
        }
        let times = draft.timeline[n].iter().map(|step| draft.steps[*step as usize].started);
        let start = times.fold(Timestamp::NONE, Timestamp::earlier);
        let run = by_name
            .entry(draft.text(agent.workflow))
            .or_insert(Run { agents: Vec::new(), start: Timestamp::NONE });
        run.agents.push(u32::try_from(n).unwrap_or(NONE));
        run.start = run.start.earlier(start);
    }
    let mut runs: Vec<Run> = by_name.into_values().collect();
    runs.sort_by_key(|run| run.start);
    runs
}

/// Workflow calls that no id gives to a run, in order.
fn calls(draft: &Draft<'_>) -> Vec<u32> {
    let taken: FxHashSet<u32> =
        draft.agents.iter().filter_map(|agent| agent.spawn).map(|spawn| spawn.step).collect();
    let mut calls: Vec<u32> = Vec::new();
    for (n, step) in draft.steps.iter().enumerate() {
        let n = u32::try_from(n).unwrap_or(NONE);
        let is_workflow = draft.table.is_workflow_tool(draft.text(step.name));
        if step.kind == StepKind::ToolCall && is_workflow && !taken.contains(&n) {
            calls.push(n);
        }
    }
    unspool_model::sort_by_meaning(&mut calls, |n| draft.place_of(&draft.steps[*n as usize]));
    calls
}
