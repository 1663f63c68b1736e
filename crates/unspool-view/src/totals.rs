//! Sums over steps: tokens counted once, money where prices are known, errors, time.

use crate::prices::{ModelPrices, Money, Prices};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use unspool_model::flow::NONE;
use unspool_model::{Flow, Interner, Step, StepKind, Sym, Timestamp, Usage};

/// Sums over some steps.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub struct Totals {
    /// All steps.
    pub steps: u64,
    /// Calls of models.
    pub model_calls: u64,
    /// Calls of tools.
    pub tool_calls: u64,
    /// Steps that failed.
    pub errors: u64,
    /// Steps whose sources say how many tokens they took.
    pub counted: u64,
    /// Model calls whose sources do not.
    pub uncounted_calls: u64,
    /// Tokens, once per call.
    pub usage: Usage,
    /// What the priced calls cost.
    pub cost: Money,
    /// Calls that used tokens of a model without a price.
    pub unpriced_calls: u64,
    /// First moment.
    pub started: Timestamp,
    /// Last moment.
    pub ended: Timestamp,
}

impl Totals {
    /// Adds other sums.
    pub fn add(&mut self, other: &Totals) {
        self.steps += other.steps;
        self.model_calls += other.model_calls;
        self.tool_calls += other.tool_calls;
        self.errors += other.errors;
        self.counted += other.counted;
        self.uncounted_calls += other.uncounted_calls;
        self.usage.add(&other.usage);
        self.cost = self.cost.plus(other.cost);
        self.unpriced_calls += other.unpriced_calls;
        self.started = self.started.earlier(other.started);
        self.ended = self.ended.later(other.ended);
    }

    /// The cost, if everything that used tokens has a price.
    pub fn full_cost(&self) -> Option<Money> {
        (self.unpriced_calls == 0).then_some(self.cost)
    }

    /// Tokens, unless nothing says how many.
    pub fn stated_usage(&self) -> Option<&Usage> {
        (self.counted > 0).then_some(&self.usage)
    }

    /// Dollars for the calls that have a price, unless nothing says how many tokens any took.
    pub fn stated_dollars(&self) -> Option<f64> {
        (self.counted > 0).then(|| self.cost.dollars())
    }

    /// From the first moment to the last.
    pub fn elapsed_ms(&self) -> Option<i64> {
        self.ended.ms_since(self.started)
    }
}

/// Milliseconds added up as far as they are known; none when none are.
pub(crate) fn sum_of_known(one: Option<i64>, other: Option<i64>) -> Option<i64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.saturating_add(other)),
        (one, other) => one.or(other),
    }
}

/// Sums of a session and of each agent, alone and with everything it started.
pub struct FlowTotals {
    /// The session.
    pub session: Totals,
    /// Each agent's own steps.
    pub own: Vec<Totals>,
    /// Each agent's steps and those of all agents below it.
    pub subtree: Vec<Totals>,
}

/// Adds up a flow.
pub fn totals(flow: &Flow, text: &Interner, prices: &Prices) -> FlowTotals {
    let mut pricer = Pricer::new(flow, text, prices);
    let mut own = vec![Totals::default(); flow.agents.len()];
    for step in &flow.steps {
        if let Some(agent) = own.get_mut(step.agent as usize) {
            agent.add(&pricer.step(step));
        }
    }
    let mut subtree = own.clone();
    let mut order: Vec<usize> = (0..flow.agents.len()).collect();
    unspool_model::sort_by_meaning(&mut order, |n| std::cmp::Reverse(flow.agents[*n].depth));
    for n in order {
        let parent = flow.agents[n].parent;
        if parent != NONE {
            let below = subtree[n];
            subtree[parent as usize].add(&below);
        }
    }
    let mut session = Totals::default();
    for sum in &own {
        session.add(sum);
    }
    FlowTotals { session, own, subtree }
}

/// Puts a price on single steps; looks each model up once.
pub struct Pricer<'a> {
    flow: &'a Flow,
    text: &'a Interner,
    prices: &'a Prices,
    by_model: FxHashMap<Sym, ModelPrices<'a>>,
}

impl<'a> Pricer<'a> {
    /// For the steps of a flow.
    pub fn new(flow: &'a Flow, text: &'a Interner, prices: &'a Prices) -> Pricer<'a> {
        Pricer { flow, text, prices, by_model: FxHashMap::default() }
    }

    /// The models of calls that have no price, and how many calls each.
    pub fn unpriced_models(&mut self) -> BTreeMap<&'a str, u64> {
        let (flow, text) = (self.flow, self.text);
        let mut models = BTreeMap::new();
        for step in &flow.steps {
            let unpriced_calls = self.step(step).unpriced_calls;
            if unpriced_calls > 0 {
                *models.entry(text.get(step.model)).or_default() += unpriced_calls;
            }
        }
        models
    }

    /// What the tokens of a step cost, for each bucket in the order of [`Usage::buckets`]; none when it has none or no price.
    pub fn costs(&mut self, step: &Step) -> Option<[Money; 5]> {
        let usage = self.flow.usage_of(step)?;
        let (text, prices) = (self.text, self.prices);
        let model = self.by_model.entry(step.model).or_insert_with(|| prices.of_model(text.get(step.model)));
        model.costs(step.ended, usage)
    }

    /// One step by itself.
    pub fn step(&mut self, step: &Step) -> Totals {
        let mut sum = Totals {
            steps: 1,
            model_calls: u64::from(step.kind == StepKind::ModelCall),
            tool_calls: u64::from(step.kind == StepKind::ToolCall),
            errors: u64::from(step.is_error),
            started: step.started,
            ended: step.ended.later(step.started),
            ..Totals::default()
        };
        if let Some(usage) = self.flow.usage_of(step) {
            let (text, prices) = (self.text, self.prices);
            let model =
                self.by_model.entry(step.model).or_insert_with(|| prices.of_model(text.get(step.model)));
            sum.counted = 1;
            sum.usage = *usage;
            match model.cost(step.ended, usage) {
                Some(cost) => sum.cost = cost,
                None => sum.unpriced_calls = u64::from(!usage.is_zero()),
            }
        } else {
            sum.uncounted_calls = sum.model_calls;
        }
        sum
    }
}
