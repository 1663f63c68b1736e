//! Numbers of agents, one by one and by type.
//!
//! In: a flow. Out: lifetimes, tools, errors. Never here: tokens and money, which `totals` has.

use super::graph::quotient;
use crate::failures::Causes;
use crate::stats::{DurationsDoc, durations};
use crate::totals::sum_of_known;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use unspool_model::{Agent, Flow, Interner, StepKind};

/// One agent.
#[derive(Serialize, JsonSchema)]
pub struct AgentMetricsDoc {
    /// The agent.
    pub id: String,
    /// `main`, `(internal)`, its type, or `(type unknown)`.
    pub agent_type: String,
    /// Agents it started itself.
    pub spawned: u64,
    /// Milliseconds from its first moment to its last.
    pub lifetime_ms: Option<i64>,
    /// Its steps.
    pub steps: u64,
    /// Its steps that failed.
    pub errors: u64,
    /// Its model and tool calls.
    pub calls: u64,
    /// How many of these failed.
    pub failed_calls: u64,
    /// As a part of all of them; null without any.
    pub error_rate: Option<f64>,
    /// Its failures that led to a failure of another agent. Partly inferred, as the chains of failures are.
    pub errors_propagated: u64,
    /// The tools it called, most calls first.
    pub tools: Vec<ToolUseDoc>,
}

/// Calls of one tool.
#[derive(Clone, Serialize, JsonSchema)]
pub struct ToolUseDoc {
    /// The tool.
    pub name: String,
    /// Calls.
    pub calls: u64,
    /// Calls that failed.
    pub errors: u64,
    /// Milliseconds of all calls whose duration is known; null when none is.
    pub total_ms: Option<i64>,
}

/// Agents of one type together.
#[derive(Serialize, JsonSchema)]
pub struct AgentTypeDoc {
    /// `main`, `(internal)`, the type, or `(type unknown)`. Sub-agents of a type that is called so have a row of their own.
    pub agent_type: String,
    /// How many.
    pub agents: u64,
    /// As a part of all sub-agents; 0 for main and internal ones.
    pub spawn_share: f64,
    /// How many were started per hour of the session's wall clock; null when it has none.
    pub spawns_per_hour: Option<f64>,
    /// Their lifetimes, by nearest rank; null without any.
    pub lifetimes: Option<DurationsDoc>,
    /// Failed model and tool calls as a part of all of them; null without any.
    pub error_rate: Option<f64>,
    /// Failed steps.
    pub errors: u64,
    /// Failures that led to a failure of another agent.
    pub errors_propagated: u64,
    /// The tools they called, most calls first.
    pub tools: Vec<ToolUseDoc>,
}

/// Calls of a tool, how many failed, and milliseconds where any are known.
type Calls = (u64, u64, Option<i64>);

#[derive(Default)]
struct Sums<'a> {
    steps: u64,
    errors: u64,
    calls: u64,
    failed_calls: u64,
    spawned: u64,
    propagated: u64,
    tools: BTreeMap<&'a str, Calls>,
}

pub(super) fn agents(flow: &Flow, text: &Interner) -> Vec<AgentMetricsDoc> {
    let mut sums: Vec<Sums<'_>> = flow.agents.iter().map(|_| Sums::default()).collect();
    let causes = crate::failures::causes_of(flow, text);
    for (n, step) in (0_u32..).zip(&flow.steps) {
        let Some(sum) = sums.get_mut(step.agent as usize) else { continue };
        let is_call = matches!(step.kind, StepKind::ModelCall | StepKind::ToolCall);
        sum.steps += 1;
        sum.errors += u64::from(step.is_error);
        sum.calls += u64::from(is_call);
        sum.failed_calls += u64::from(is_call && step.is_error);
        if step.kind == StepKind::ToolCall {
            let name = step.name.some().map_or(crate::stats::UNNAMED, |name| text.get(name));
            let tool = sum.tools.entry(name).or_default();
            tool.0 += 1;
            tool.1 += u64::from(step.is_error);
            tool.2 = sum_of_known(tool.2, step.duration_ms.get());
        }
        propagate(flow, &causes, n, &mut sums);
    }
    for agent in &flow.agents {
        if let Some(parent) = sums.get_mut(agent.parent as usize) {
            parent.spawned += 1;
        }
    }
    let rows = flow.agents.iter().zip(sums);
    rows.map(|(agent, sum)| AgentMetricsDoc {
        id: agent.id.show('a'),
        agent_type: crate::stats::type_of(agent, text).to_string(),
        spawned: sum.spawned,
        lifetime_ms: agent.ended.ms_since(agent.started),
        steps: sum.steps,
        errors: sum.errors,
        calls: sum.calls,
        failed_calls: sum.failed_calls,
        error_rate: error_rate(sum.failed_calls, sum.calls),
        errors_propagated: sum.propagated,
        tools: mix(sum.tools.into_iter().map(|(name, counts)| (name.to_string(), counts))),
    })
    .collect()
}

/// Counts a failure that came from one of another agent with that agent.
fn propagate(flow: &Flow, causes: &Causes, failure: u32, sums: &mut [Sums<'_>]) {
    let before = flow.steps.get(causes.directly_before(failure) as usize);
    let own = flow.steps[failure as usize].agent;
    if let Some(before) = before.filter(|before| before.agent != own)
        && let Some(sum) = sums.get_mut(before.agent as usize)
    {
        sum.propagated += 1;
    }
}

fn error_rate(failed: u64, calls: u64) -> Option<f64> {
    (calls > 0).then(|| quotient(failed, calls))
}

fn mix(tools: impl Iterator<Item = (String, Calls)>) -> Vec<ToolUseDoc> {
    let doc = |(name, (calls, errors, total_ms))| ToolUseDoc { name, calls, errors, total_ms };
    let mut tools: Vec<ToolUseDoc> = tools.map(doc).collect();
    tools.sort_unstable_by(|a, b| b.calls.cmp(&a.calls).then_with(|| a.name.cmp(&b.name)));
    tools
}

pub(super) fn types(flow: &Flow, text: &Interner, agents: &[AgentMetricsDoc]) -> Vec<AgentTypeDoc> {
    // A type may be called as the rows of main and internal agents are.
    let is_sub = |agent: &Agent| !agent.main && !agent.internal;
    let mut by_type: BTreeMap<(&str, bool), Vec<usize>> = BTreeMap::new();
    for (n, agent) in flow.agents.iter().enumerate() {
        by_type.entry((crate::stats::type_of(agent, text), is_sub(agent))).or_default().push(n);
    }
    let subs = flow.agents.iter().filter(|agent| is_sub(agent)).count() as u64;
    let wall_ms = flow.session.ended.ms_since(flow.session.started).filter(|ms| *ms > 0);
    let row = |((agent_type, is_sub), members): ((&str, bool), Vec<usize>)| {
        let rows = || members.iter().map(|n| &agents[*n]);
        let mut tools: BTreeMap<String, Calls> = BTreeMap::new();
        for tool in rows().flat_map(|row| &row.tools) {
            let sum = tools.entry(tool.name.clone()).or_default();
            *sum = (sum.0 + tool.calls, sum.1 + tool.errors, sum_of_known(sum.2, tool.total_ms));
        }
        let calls = rows().map(|row| row.calls).sum();
        let failed = rows().map(|row| row.failed_calls).sum();
        let hourly = |ms: i64| quotient(members.len() as u64 * 3_600_000, ms.unsigned_abs());
        AgentTypeDoc {
            agent_type: agent_type.to_string(),
            agents: members.len() as u64,
            spawn_share: if is_sub { quotient(members.len() as u64, subs) } else { 0.0 },
            spawns_per_hour: wall_ms.filter(|_| is_sub).map(hourly),
            lifetimes: durations(rows().filter_map(|row| row.lifetime_ms).collect()),
            error_rate: error_rate(failed, calls),
            errors: rows().map(|row| row.errors).sum(),
            errors_propagated: rows().map(|row| row.errors_propagated).sum(),
            tools: mix(tools.into_iter()),
        }
    };
    by_type.into_iter().map(row).collect()
}
