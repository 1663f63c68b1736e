//! Task templates: prompts of sub-agents that share a pattern are one task that was given many times.
//!
//! In: flows, one by one. Out: patterns with how often, how well, how long and for how much. Never here: whole prompts; the
//! first words that a flow keeps are what is compared, so that templates are inferred and marked so.

mod pattern;

use crate::prices::{Money, Prices};
use crate::quantile::quantile;
use crate::stats::{DurationsDoc, durations};
use pattern::{Pattern, Word, Words};
use rustc_hash::FxHashMap;
use schemars::JsonSchema;
use serde::Serialize;
use unspool_model::{Agent, Flow, Interner, Status, StepKind, Sym};

/// One template.
#[derive(Serialize, JsonSchema)]
pub struct TemplateDoc {
    /// What the prompts have in common; `…` stands for what differs.
    pub pattern: String,
    /// The type of agent that was asked for; null when nobody says.
    pub agent_type: Option<String>,
    /// Always true: that these are one task is told from their first words.
    pub inferred: bool,
    /// How often it was given.
    pub count: u64,
    /// How many of these ended with an answer.
    pub completed: u64,
    /// How many ended with an error or an interruption.
    pub failed: u64,
    /// Completed as a part of completed and failed; null when nothing says how any ended.
    pub success_rate: Option<f64>,
    /// How long they took, by nearest rank; null when nobody says.
    pub durations: Option<DurationsDoc>,
    /// Tokens of each agent with those it started, by nearest rank over those whose sources say; null when none does.
    pub tokens: Option<SpreadDoc>,
    /// US dollars of each of these, by nearest rank; null when a call has no price, or no source states tokens.
    pub cost_usd: Option<SpreadUsdDoc>,
    /// The agents, in order of reading.
    pub agent_ids: Vec<String>,
}

/// How a number is spread.
#[derive(Serialize, JsonSchema, Debug, PartialEq, Eq)]
pub struct SpreadDoc {
    /// How many are known.
    pub known: u64,
    /// The sum.
    pub total: u64,
    /// Half had at most this.
    pub p50: u64,
    /// 95 of 100 had at most this.
    pub p95: u64,
    /// The most.
    pub max: u64,
}

/// How dollars are spread.
#[derive(Serialize, JsonSchema)]
pub struct SpreadUsdDoc {
    /// The sum.
    pub total: f64,
    /// Half cost at most this.
    pub p50: f64,
    /// 95 of 100 cost at most this.
    pub p95: f64,
    /// The most.
    pub max: f64,
}

/// How many patterns that begin alike a prompt is compared with: the first ones.
pub const MAX_CANDIDATES: usize = 200;

/// Gathers the sub-agents of flows.
#[derive(Default)]
pub struct Templates {
    words: Words,
    groups: Vec<Group>,
    /// Groups whose pattern begins with a word, by agent type and that word.
    by_start: FxHashMap<(String, Word), Vec<usize>>,
    unmatched: u64,
}

/// What was gathered.
pub struct Gathered {
    /// Patterns that were used more than once, most used first.
    pub templates: Vec<TemplateDoc>,
    /// Prompts that were like none of the first `MAX_CANDIDATES` patterns that begin alike, and were compared with no others.
    pub unmatched: u64,
}

struct Group {
    agent_type: String,
    pattern: Pattern,
    agents: Vec<One>,
}

struct One {
    id: String,
    status: Status,
    ms: Option<i64>,
    /// Tokens and what they cost, unless nothing says how many.
    counted: Option<(u64, Money)>,
    unpriced: bool,
}

impl Templates {
    /// Adds the sub-agents of a session.
    pub fn add(&mut self, flow: &Flow, text: &Interner, prices: &Prices) {
        let sums = crate::totals(flow, text, prices);
        for (agent, sum) in flow.agents.iter().zip(&sums.subtree) {
            if agent.main || agent.internal {
                continue;
            }
            let Some(prompt) = prompt(flow, text, agent) else { continue };
            let one = One {
                id: agent.id.show('a'),
                status: agent.status,
                ms: agent.ended.ms_since(agent.started),
                counted: sum.stated_usage().map(|usage| (usage.total(), sum.cost)),
                unpriced: sum.unpriced_calls > 0,
            };
            let pattern = Pattern::of(prompt, &mut self.words);
            self.put(text.get(agent.kind), pattern, one);
        }
    }

    fn put(&mut self, agent_type: &str, pattern: Pattern, one: One) {
        let starts = self.by_start.entry((agent_type.to_string(), pattern.start())).or_default();
        let like = starts.iter().copied().take(MAX_CANDIDATES).find_map(|n| {
            let common = self.groups[n].pattern.common(&pattern)?;
            Some((n, common))
        });
        if let Some((n, common)) = like {
            self.groups[n].pattern = common;
            self.groups[n].agents.push(one);
        } else {
            self.unmatched += u64::from(starts.len() > MAX_CANDIDATES);
            starts.push(self.groups.len());
            self.groups.push(Group { agent_type: agent_type.to_string(), pattern, agents: vec![one] });
        }
    }

    /// The templates.
    pub fn finish(self) -> Gathered {
        let words = &self.words;
        let groups = self.groups.into_iter().filter(|group| group.agents.len() > 1);
        let mut templates: Vec<TemplateDoc> = groups.map(|group| doc(&group, words)).collect();
        templates.sort_unstable_by(|a, b| b.count.cmp(&a.count).then_with(|| a.pattern.cmp(&b.pattern)));
        Gathered { templates, unmatched: self.unmatched }
    }
}

/// What the agent was told first, or else what the call that started it was given.
fn prompt<'t>(flow: &Flow, text: &'t Interner, agent: &Agent) -> Option<&'t str> {
    let first = flow.steps.get(agent.first_step as usize);
    let first = first.filter(|step| step.kind == StepKind::UserMessage).map(|step| step.preview);
    let call = || agent.spawn.and_then(|spawn| flow.steps.get(spawn.step as usize)).map(|call| call.preview);
    let prompt = first.and_then(Sym::some).or_else(|| call().and_then(Sym::some))?;
    Some(text.get(prompt))
}

fn doc(group: &Group, words: &Words) -> TemplateDoc {
    let agents = &group.agents;
    let count = |status: Status| agents.iter().filter(|one| one.status == status).count() as u64;
    let (completed, failed) = (count(Status::Completed), count(Status::Failed));
    let told = i64::try_from(completed + failed).unwrap_or(i64::MAX);
    let rate = crate::path::ratio(i64::try_from(completed).unwrap_or(i64::MAX), told);
    let counted = || agents.iter().filter_map(|one| one.counted);
    let costs = spread(counted().map(|(_, cost)| cost.picodollars()).collect());
    let is_priced = !agents.iter().any(|one| one.unpriced);
    let dollars = |pico: u64| Money::from_picodollars(pico).dollars();
    TemplateDoc {
        pattern: group.pattern.shown(words),
        agent_type: Some(group.agent_type.clone()).filter(|name| !name.is_empty()),
        inferred: true,
        count: agents.len() as u64,
        completed,
        failed,
        success_rate: (told > 0).then_some(rate),
        durations: durations(agents.iter().filter_map(|one| one.ms).collect()),
        tokens: spread(counted().map(|(tokens, _)| tokens).collect()),
        cost_usd: costs.filter(|_| is_priced).map(|costs| SpreadUsdDoc {
            total: dollars(costs.total),
            p50: dollars(costs.p50),
            p95: dollars(costs.p95),
            max: dollars(costs.max),
        }),
        agent_ids: agents.iter().map(|one| one.id.clone()).collect(),
    }
}

fn spread(mut values: Vec<u64>) -> Option<SpreadDoc> {
    values.sort_unstable();
    let total = values.iter().fold(0_u64, |sum, value| sum.saturating_add(*value));
    Some(SpreadDoc {
        known: values.len() as u64,
        total,
        p50: quantile(&values, 50)?,
        p95: quantile(&values, 95)?,
        max: quantile(&values, 100)?,
    })
}

#[cfg(test)]
mod tests;
