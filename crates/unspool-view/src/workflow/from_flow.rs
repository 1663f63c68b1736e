//! The steps of a flow as items of a pattern.
//!
//! What an agent does lies in that agent; `holders` says where everything lies. A call that started an agent is that agent. Of steps that are
//! left out, what they hold lies in whatever holds them.

use super::holders::{Holder, Holders};
use super::{Item, ItemId, Manual, NodeType};
use crate::labels::short_model;
use crate::prices::Prices;
use crate::totals::{Pricer, Totals};
use rustc_hash::FxHashSet;
use unspool_model::flow::NONE;
use unspool_model::{
    Agent, AttrName, Batch, Event, EventKind, Flow, Key, KeyKind, Role, Step, StepKind, Sym, Timestamp,
};

/// The items of a flow, or of one of its runs.
pub fn items<'b>(flow: &Flow, batch: &'b Batch, prices: &Prices, run: Option<u32>) -> Vec<Item<'b>> {
    let wanted = |n: &u32| run.is_none_or(|run| flow.steps[*n as usize].run == run);
    let all = Items::new(flow, batch, prices, false);
    all.into_only((0_u32..).zip(&flow.steps).map(|(n, _)| n).filter(wanted))
}

/// The place of an agent or step in its list, and what it lies in.
type Placed = (usize, Option<ItemId>);

/// All items of a flow.
pub struct Items<'a, 'b> {
    flow: &'a Flow,
    holders: Holders,
    of_agent: Vec<Option<Item<'b>>>,
    of_step: Vec<Option<Item<'b>>>,
}

impl<'a, 'b> Items<'a, 'b> {
    /// The items of a flow; `full`: steps that say nothing about the work, too.
    pub fn new(flow: &'a Flow, batch: &'b Batch, prices: &Prices, full: bool) -> Items<'a, 'b> {
        let holders = Holders::new(flow);
        let mut maker = Maker { flow, batch, pricer: Pricer::new(flow, &batch.text, prices) };
        let agents = (0_u32..).zip(&flow.agents);
        let of_agent = agents.map(|(n, agent)| {
            let is_call =
                agent.spawn.is_some_and(|spawn| holders.started.get(spawn.step as usize) == Some(&n));
            (full || !agent.internal).then(|| maker.agent(agent, is_call, holders.first_of[n as usize]))
        });
        let of_agent = of_agent.collect();
        let first_below = first_below(flow);
        let steps = (0_u32..).zip(&flow.steps).zip(&holders.started);
        let of_step = steps.map(|((n, step), started)| {
            let internal = flow.agents.get(step.agent as usize).is_none_or(|agent| agent.internal);
            let is_item = (full || !step.is_aside() && !internal) && *started == NONE;
            is_item.then(|| maker.step(n, step, first_below[n as usize]))
        });
        let of_step = of_step.collect();
        Items { flow, holders, of_agent, of_step }
    }

    /// The item that tells of a step: its own, or the agent it started.
    pub fn of(&self, step: usize) -> Option<&ItemId> {
        let of_agent = || self.of_agent.get(self.holders.started[step] as usize)?.as_ref();
        self.of_step[step].as_ref().or_else(of_agent).map(|item| &item.id)
    }

    /// The items of some steps, given in order, with the agents that hold them.
    pub fn only(&self, steps: impl Iterator<Item = u32>) -> Vec<Item<'b>> {
        let (agents, steps) = self.chosen(&steps.collect::<Vec<u32>>());
        let placed = |item: &Option<Item<'b>>, parent| Some(Item { parent, ..item.clone()? });
        let agents = agents.into_iter().filter_map(|(n, parent)| placed(&self.of_agent[n], parent));
        let steps = steps.into_iter().filter_map(|(n, parent)| placed(&self.of_step[n], parent));
        agents.chain(steps).collect()
    }

    /// The same, where no others will be asked for.
    pub fn into_only(mut self, steps: impl Iterator<Item = u32>) -> Vec<Item<'b>> {
        let (agents, steps) = self.chosen(&steps.collect::<Vec<u32>>());
        let placed = |item: &mut Option<Item<'b>>, parent| Some(Item { parent, ..item.take()? });
        let agents = agents.into_iter().filter_map(|(n, parent)| placed(&mut self.of_agent[n], parent));
        let steps = steps.into_iter().filter_map(|(n, parent)| placed(&mut self.of_step[n], parent));
        agents.chain(steps).collect()
    }

    /// The agents and steps to take, each with what it lies in.
    fn chosen(&self, steps: &[u32]) -> (Vec<Placed>, Vec<Placed>) {
        let mut agents: FxHashSet<u32> = FxHashSet::default();
        for n in steps.iter().copied() {
            for agent in [self.holders.started[n as usize], self.flow.steps[n as usize].agent] {
                self.mark(Holder::Agent(agent), &mut agents);
            }
            self.mark(Holder::Step(n), &mut agents);
        }
        let mut ordered: Vec<usize> = agents.iter().map(|agent| *agent as usize).collect();
        ordered.sort_unstable();
        let placed = |n: usize, at: Holder| (n, self.nearest(at, &agents, steps));
        let of_agents = ordered.into_iter().map(|n| placed(n, self.holders.of_agent[n])).collect();
        let of_steps = steps.iter().map(|n| *n as usize);
        let of_steps = of_steps.map(|n| placed(n, self.holders.of_step[n])).collect();
        (of_agents, of_steps)
    }

    /// Marks the agents that hold something, and whoever holds them.
    fn mark(&self, mut at: Holder, agents: &mut FxHashSet<u32>) {
        loop {
            match at {
                Holder::Nothing => return,
                Holder::Agent(agent) => {
                    if agent as usize >= self.of_agent.len() || !agents.insert(agent) {
                        return;
                    }
                }
                Holder::Step(_) => {}
            }
            at = self.holders.above(at);
        }
    }

    /// The next holder that is an item and chosen.
    fn nearest(&self, mut at: Holder, agents: &FxHashSet<u32>, steps: &[u32]) -> Option<ItemId> {
        loop {
            let item = match at {
                Holder::Nothing => return None,
                Holder::Step(n) => {
                    self.of_step[n as usize].as_ref().filter(|_| steps.binary_search(&n).is_ok())
                }
                Holder::Agent(n) => self.of_agent[n as usize].as_ref().filter(|_| agents.contains(&n)),
            };
            if let Some(item) = item {
                return Some(item.id.clone());
            }
            at = self.holders.above(at);
        }
    }
}

/// By step: when the first of those that stand under it in the tree began.
fn first_below(flow: &Flow) -> Vec<Timestamp> {
    let mut first = vec![Timestamp::NONE; flow.steps.len()];
    for step in &flow.steps {
        if let Some(first) = first.get_mut(step.parent as usize) {
            *first = first.earlier(step.started);
        }
    }
    first
}

fn of_agent(agent: &Agent) -> ItemId {
    ItemId::Own('a', agent.id)
}

fn of_step(step: &Step) -> ItemId {
    ItemId::Own('s', step.id)
}

struct Maker<'a, 'b> {
    flow: &'a Flow,
    batch: &'b Batch,
    pricer: Pricer<'a>,
}

impl<'b> Maker<'_, 'b> {
    fn agent(&mut self, agent: &Agent, is_call: bool, first: u32) -> Item<'b> {
        let (flow, batch) = (self.flow, self.batch);
        let by_id = if agent.main { Sym::EMPTY } else { agent.native_id };
        let named = [agent.kind, agent.name, by_id].into_iter().find(|name| !name.is_empty());
        // A span that agents lie in is not their call.
        let call = agent.spawn.map(|spawn| spawn.step);
        let call = call.filter(|call| {
            flow.steps.get(*call as usize).is_some_and(|step| step.kind == StepKind::ToolCall)
        });
        let order = call.unwrap_or(agent.first_step);
        let call = call.map(|call| &flow.steps[call as usize]);
        let begin = flow.steps.get(first as usize).filter(|step| step.kind == StepKind::AgentStart);
        // A span that is an agent says when it began and ended; what is only assumed to be the agent's may lie around it.
        let told = call
            .filter(|call| call.ended.is_some())
            .or(begin.filter(|begin| begin.duration_ms.get().is_some()));
        Item {
            id: of_agent(agent),
            parent: None,
            name: named.map_or(if agent.main { "main" } else { "" }, |name| batch.text.get(name)).into(),
            node_type: Some(NodeType::Agent),
            caller: call.and_then(|call| caller(flow, call)),
            order,
            started: call.or(told).map_or(agent.started, |step| step.started),
            // Whoever calls an agent and does not wait goes on at once.
            ended: told.map_or(agent.ended, |step| step.ended),
            took_ms: agent.ended.ms_since(agent.started),
            is_error: call.is_some_and(|call| call.is_error),
            totals: call.filter(|_| is_call).map_or_else(Totals::default, |call| self.pricer.step(call)),
            span: call.filter(|_| is_call).or(begin).and_then(|step| span(flow, batch, step)),
            manual: begin.and_then(|step| manual(flow, batch, step)),
        }
    }

    fn step(&mut self, n: u32, step: &Step, first_below: Timestamp) -> Item<'b> {
        let (flow, batch) = (self.flow, self.batch);
        let name = match step.kind {
            StepKind::UserMessage => "user",
            StepKind::Compaction => "compaction",
            StepKind::ModelCall => short_model(batch.text.get(step.name)),
            _ => batch.text.get(step.name),
        };
        let (mut started, mut ended) = (step.started, step.ended);
        if step.kind == StepKind::UserMessage && first_below.ms_since(started).is_some_and(|ms| ms < 0) {
            // What was said is told by a span inside of what it started.
            (started, ended) = (first_below, first_below);
        }
        Item {
            id: of_step(step),
            parent: None,
            name: name.into(),
            node_type: Some(node_type(step.kind)),
            caller: caller(flow, step),
            order: n,
            started,
            ended,
            took_ms: step.duration_ms.get(),
            is_error: step.is_error,
            totals: self.pricer.step(step),
            span: span(flow, batch, step),
            manual: manual(flow, batch, step),
        }
    }
}

/// The id of the span that a step was.
pub(crate) fn span<'b>(flow: &Flow, batch: &'b Batch, step: &Step) -> Option<&'b str> {
    if !batch.kinds.has(KeyKind::Span) {
        return None;
    }
    // The span of a model call also tells of what was said and of the calls that were asked for.
    let fits = |event: &&Event| match step.kind {
        StepKind::UserMessage => event.kind == EventKind::UserMessage,
        StepKind::ModelCall => event.kind == EventKind::ModelCall,
        StepKind::ToolCall => matches!(event.kind, EventKind::ToolCall | EventKind::AgentStart),
        _ => !matches!(event.kind, EventKind::ModelCall | EventKind::ToolCall),
    };
    let mut events = flow.witnesses_of(step).iter().flat_map(|record| batch.events_of(*record)).filter(fits);
    let key = events.find_map(|event| batch.key(event, KeyKind::Span, Role::Provides))?;
    let text = batch.text.get(key);
    Some(text.rsplit_once('/').map_or(text, |(_, own)| own))
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

fn node_type(kind: StepKind) -> NodeType {
    match kind {
        StepKind::ModelCall => NodeType::Llm,
        StepKind::ToolCall => NodeType::Tool,
        StepKind::Retrieval => NodeType::Retrieval,
        StepKind::Embedding => NodeType::Embedding,
        StepKind::Memory => NodeType::Memory,
        StepKind::Router => NodeType::Router,
        StepKind::Guardrail => NodeType::Guardrail,
        _ => NodeType::Default,
    }
}
