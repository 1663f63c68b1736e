//! How large the context of each agent grew, call by call, and where it was compacted.
//!
//! In: a flow. Out: a bounded number of points per agent. Never here: whether that was too much.

use super::sort_by_moment;
use crate::labels::{agent_detail, agent_name};
use schemars::JsonSchema;
use serde::Serialize;
use unspool_model::{Batch, Flow, Step, StepKind};

/// Agents whose context is told: `max_context_agents`.
const MAX_CONTEXT_AGENTS: usize = 12;
/// Points per agent: `max_context_points`.
const MAX_CONTEXT_POINTS: usize = 200;

/// Contexts of a session.
#[derive(Serialize, JsonSchema)]
pub struct ContextDoc {
    /// Agents by the tokens of their fullest call, the fullest first.
    pub agents: Vec<AgentContextDoc>,
    /// Agents with known contexts that are left out, by `max_context_agents`.
    pub agents_left_out: usize,
}

/// The context of one agent.
#[derive(Serialize, JsonSchema)]
pub struct AgentContextDoc {
    /// The agent.
    pub agent_id: String,
    /// Its type, or that it is the main one.
    pub label: String,
    /// Its name, or what it was asked to do.
    pub detail: String,
    /// Model calls that say what they were given.
    pub calls: u64,
    /// Tokens of the fullest call.
    pub peak_tokens: u64,
    /// Calls in order; with more than `max_context_points`, neighbours are one point: the fullest of them.
    pub points: Vec<ContextPointDoc>,
    /// Where the context was compacted, in order.
    pub compactions: Vec<CompactionDoc>,
    /// Compactions that are left out, by `max_context_points`.
    pub compactions_left_out: usize,
}

/// A model call, or the fullest of some that follow each other.
#[derive(Serialize, JsonSchema)]
pub struct ContextPointDoc {
    /// The call.
    pub step_id: String,
    /// Which call of its agent that says so, from 1.
    pub call: u64,
    /// Milliseconds from the session's first moment; null without a time.
    pub at_ms: Option<i64>,
    /// Tokens it was given, from a cache or not.
    pub tokens: u64,
    /// Calls the point stands for.
    pub calls: usize,
}

/// A compaction.
#[derive(Serialize, JsonSchema)]
pub struct CompactionDoc {
    /// The step.
    pub step_id: String,
    /// Calls of the agent before it.
    pub after_call: u64,
    /// Tokens of the call before it; null when none says.
    pub before_tokens: Option<u64>,
    /// Tokens of the call after it; null when none says.
    pub after_tokens: Option<u64>,
}

/// Tokens a model call was given, from a cache or not; none when it does not say.
fn context_of(flow: &Flow, step: &Step) -> Option<u64> {
    let usage = flow.usage_of(step).filter(|_| step.kind == StepKind::ModelCall)?;
    let tokens = usage.input + usage.cache_read + usage.cache_write;
    (tokens > 0).then_some(tokens)
}

/// How the contexts of a flow grew, up to a moment of it.
pub(super) fn contexts(flow: &Flow, batch: &Batch, until_ms: Option<i64>) -> ContextDoc {
    let mut by_agent: Vec<Vec<u32>> = vec![Vec::new(); flow.agents.len()];
    for (n, step) in (0_u32..).zip(&flow.steps) {
        let is_meant = step.kind == StepKind::Compaction || context_of(flow, step).is_some();
        let at_ms = step.started.ms_since(flow.session.started);
        let is_later = until_ms.zip(at_ms).is_some_and(|(until, at)| at > until);
        if let Some(list) = by_agent.get_mut(step.agent as usize).filter(|_| is_meant && !is_later) {
            list.push(n);
        }
    }
    let mut agents: Vec<AgentContextDoc> =
        by_agent.into_iter().enumerate().filter_map(|(n, steps)| agent(flow, batch, n, steps)).collect();
    agents.sort_by_key(|agent| std::cmp::Reverse(agent.peak_tokens));
    let agents_left_out = agents.len().saturating_sub(MAX_CONTEXT_AGENTS);
    agents.truncate(MAX_CONTEXT_AGENTS);
    ContextDoc { agents, agents_left_out }
}

fn agent(flow: &Flow, batch: &Batch, n: usize, mut steps: Vec<u32>) -> Option<AgentContextDoc> {
    let step = |n: u32| &flow.steps[n as usize];
    sort_by_moment(flow, &mut steps);
    let mut points: Vec<ContextPointDoc> = Vec::new();
    let mut compactions: Vec<CompactionDoc> = Vec::new();
    for n in steps {
        let Some(tokens) = context_of(flow, step(n)) else {
            compactions.push(CompactionDoc {
                step_id: step(n).id.show('s'),
                after_call: points.len() as u64,
                before_tokens: points.last().map(|point| point.tokens),
                after_tokens: None,
            });
            continue;
        };
        for open in compactions.iter_mut().rev().take_while(|one| one.after_call == points.len() as u64) {
            open.after_tokens = Some(tokens);
        }
        points.push(ContextPointDoc {
            step_id: step(n).id.show('s'),
            call: points.len() as u64 + 1,
            at_ms: step(n).started.ms_since(flow.session.started),
            tokens,
            calls: 1,
        });
    }
    let calls = points.len() as u64;
    let compactions_left_out = compactions.len().saturating_sub(MAX_CONTEXT_POINTS);
    compactions.truncate(MAX_CONTEXT_POINTS);
    let agent = &flow.agents[n];
    Some(AgentContextDoc {
        agent_id: agent.id.show('a'),
        label: agent_name(batch, agent),
        detail: agent_detail(batch, agent).into(),
        calls,
        peak_tokens: points.iter().map(|point| point.tokens).max()?,
        points: binned(points),
        compactions,
        compactions_left_out,
    })
}

/// Neighbours together until there are few enough, each bin told by its fullest call.
fn binned(points: Vec<ContextPointDoc>) -> Vec<ContextPointDoc> {
    let each = points.len().div_ceil(MAX_CONTEXT_POINTS).max(1);
    let mut bins: Vec<ContextPointDoc> = Vec::new();
    for (n, point) in points.into_iter().enumerate() {
        match bins.last_mut().filter(|_| n % each > 0) {
            None => bins.push(point),
            Some(bin) => {
                let calls = bin.calls + 1;
                if point.tokens > bin.tokens {
                    *bin = point;
                }
                bin.calls = calls;
            }
        }
    }
    bins
}

#[cfg(test)]
mod tests {
    use super::{MAX_CONTEXT_AGENTS, MAX_CONTEXT_POINTS, contexts};
    use crate::drawn::Drawn;
    use unspool_model::{StepKind, Usage};

    fn call(drawn: &mut Drawn, agent: u32, at: i64, tokens: u64) {
        let n = drawn.model(agent, (at, at + 1));
        drawn.usage(n, Usage { cache_read: tokens, output: 5, ..Usage::default() });
    }

    #[test]
    fn a_context_grows_and_is_compacted() {
        let mut drawn = Drawn::new();
        call(&mut drawn, 0, 0, 100);
        call(&mut drawn, 0, 10, 900);
        drawn.step(0, StepKind::Compaction, "", (20, 20));
        call(&mut drawn, 0, 30, 200);
        let doc = contexts(&drawn.flow, &drawn.batch, None);
        let agent = &doc.agents[0];
        let tokens: Vec<u64> = agent.points.iter().map(|point| point.tokens).collect();
        assert_eq!((tokens, agent.peak_tokens, agent.calls), (vec![100, 900, 200], 900, 3));
        let cut = &agent.compactions[0];
        assert_eq!((cut.after_call, cut.before_tokens, cut.after_tokens), (2, Some(900), Some(200)));
    }

    #[test]
    fn points_and_agents_are_bounded_and_the_peak_stays() {
        let mut drawn = Drawn::new();
        for n in 0..=MAX_CONTEXT_POINTS {
            call(&mut drawn, 0, i64::try_from(n).unwrap() * 10, if n == 77 { 9_000 } else { 10 });
        }
        for _ in 0..MAX_CONTEXT_AGENTS {
            let agent = drawn.spawn(0, "Explore");
            call(&mut drawn, agent, 5, 20);
        }
        let doc = contexts(&drawn.flow, &drawn.batch, None);
        assert_eq!((doc.agents.len(), doc.agents_left_out), (MAX_CONTEXT_AGENTS, 1));
        let main = &doc.agents[0];
        assert!(main.points.len() <= MAX_CONTEXT_POINTS);
        assert!(main.points.iter().any(|point| point.tokens == 9_000));
        assert_eq!(main.points.iter().map(|point| point.calls).sum::<usize>() as u64, main.calls);
    }
}
