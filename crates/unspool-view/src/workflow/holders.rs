//! Where the steps and agents of a flow lie: in a step that holds others, in an agent, or in nothing.
//!
//! In: a flow. Out: the holder of each step and agent, never in a circle. A step lies where its span lies, where it was one; else where the
//! tree has it. What a model call asked for stands beside that call, not in it, and a call that started an agent is that agent.
//! Never here: names, times, which steps are drawn.

use unspool_model::flow::NONE;
use unspool_model::{EdgeKind, Flow, Step, StepKind};

/// What something lies in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Holder {
    Nothing,
    Step(u32),
    Agent(u32),
}

/// The holders of everything in a flow.
pub(crate) struct Holders {
    /// By step.
    pub(super) of_step: Vec<Holder>,
    /// By agent.
    pub(super) of_agent: Vec<Holder>,
    /// By step: the agent that a call started, or `NONE`.
    pub(super) started: Vec<u32>,
    /// By agent: the step that is its begin, or its first one.
    pub(super) first_of: Vec<u32>,
}

impl Holders {
    pub(crate) fn new(flow: &Flow) -> Holders {
        let finder = Finder::new(flow);
        let steps = u32::try_from(flow.steps.len()).unwrap_or(NONE);
        let agents = u32::try_from(flow.agents.len()).unwrap_or(NONE);
        let mut holders = Holders {
            of_step: (0..steps).map(|step| finder.of_step(step)).collect(),
            of_agent: (0..agents).map(|agent| finder.of_agent(agent)).collect(),
            started: finder.started,
            first_of: finder.first_of,
        };
        holders.cut_circles();
        holders
    }

    /// What something that lies in a holder lies in further out.
    pub(super) fn above(&self, holder: Holder) -> Holder {
        match holder {
            Holder::Nothing => Holder::Nothing,
            Holder::Step(step) => self.of_step[step as usize],
            Holder::Agent(agent) => self.of_agent[agent as usize],
        }
    }

    /// By step: how many other steps of its own agent it lies in.
    pub(crate) fn depths(&self, flow: &Flow) -> Vec<u32> {
        let mut depths: Vec<Option<u32>> = vec![None; self.of_step.len()];
        let mut way = Vec::new();
        for n in 0..depths.len() {
            // Up to a step whose depth is known, or that lies in none, then down again.
            let mut at = Some(n);
            while let Some(step) = at.filter(|step| depths[*step].is_none()) {
                way.push(step);
                at = self.step_around(flow, step);
            }
            while let Some(step) = way.pop() {
                let around = self.step_around(flow, step).and_then(|around| depths[around]);
                depths[step] = Some(around.map_or(0, |around| around + 1));
            }
        }
        depths.into_iter().map(Option::unwrap_or_default).collect()
    }

    /// The next step of the same agent that a step lies in.
    fn step_around(&self, flow: &Flow, step: usize) -> Option<usize> {
        let mut at = self.of_step[step];
        loop {
            match at {
                Holder::Nothing => return None,
                Holder::Step(around) if flow.steps[around as usize].agent == flow.steps[step].agent => {
                    return Some(around as usize);
                }
                _ => at = self.above(at),
            }
        }
    }

    /// Whoever lies in itself, by whatever way, lies in nothing.
    fn cut_circles(&mut self) {
        let steps = self.of_step.len();
        let place = |holder| match holder {
            Holder::Nothing => None,
            Holder::Step(step) => Some(step as usize),
            Holder::Agent(agent) => Some(steps + agent as usize),
        };
        // 0: not looked at; else the number of the walk that came by.
        let mut walk_of = vec![0_usize; steps + self.of_agent.len()];
        let agents = (0_u32..).zip(&self.of_agent).map(|(agent, _)| Holder::Agent(agent));
        let all: Vec<Holder> =
            agents.chain((0_u32..).zip(&self.of_step).map(|(step, _)| Holder::Step(step))).collect();
        for (walk, start) in (1..).zip(all) {
            let (mut at, mut before) = (start, Holder::Nothing);
            while let Some(n) = place(at) {
                match walk_of[n] {
                    0 => walk_of[n] = walk,
                    known if known == walk => {
                        match before {
                            Holder::Step(step) => self.of_step[step as usize] = Holder::Nothing,
                            Holder::Agent(agent) => self.of_agent[agent as usize] = Holder::Nothing,
                            Holder::Nothing => {}
                        }
                        break;
                    }
                    _ => break,
                }
                (before, at) = (at, self.above(at));
            }
        }
    }
}

struct Finder<'a> {
    flow: &'a Flow,
    /// By step: the span its span lies in, or `NONE`.
    span_above: Vec<u32>,
    started: Vec<u32>,
    /// By agent: the step that is its begin, or its first one.
    first_of: Vec<u32>,
    /// By step: it lies around the begin of its own agent.
    is_around: Vec<bool>,
}

impl<'a> Finder<'a> {
    fn new(flow: &'a Flow) -> Finder<'a> {
        let mut span_above = vec![NONE; flow.steps.len()];
        for edge in flow.edges.iter().filter(|edge| edge.kind == EdgeKind::SpanParent) {
            if let Some(above) = span_above.get_mut(edge.to as usize).filter(|above| **above == NONE) {
                *above = edge.from;
            }
        }
        let mut started = vec![NONE; flow.steps.len()];
        for (n, agent) in (0_u32..).zip(&flow.agents) {
            if let Some(spawn) = agent.spawn
                && let Some(slot) = started.get_mut(spawn.step as usize)
                && flow.steps[spawn.step as usize].kind == StepKind::ToolCall
            {
                *slot = n;
            }
        }
        let mut first_of: Vec<u32> = flow.agents.iter().map(|agent| agent.first_step).collect();
        for (n, step) in (0_u32..).zip(&flow.steps).collect::<Vec<_>>().into_iter().rev() {
            if let (StepKind::AgentStart, Some(first)) = (step.kind, first_of.get_mut(step.agent as usize)) {
                *first = n;
            }
        }
        let is_around = vec![false; flow.steps.len()];
        let mut finder = Finder { flow, span_above, started, first_of, is_around };
        finder.find_around();
        finder
    }

    /// Spans that begin before their agent does and hold it.
    fn find_around(&mut self) {
        for (n, step) in self.flow.steps.iter().enumerate() {
            if step.kind != StepKind::AgentStart {
                continue;
            }
            let mut at = self.span_above[n];
            while let Some(above) = self.flow.steps.get(at as usize) {
                let around = &mut self.is_around[at as usize];
                if above.agent != step.agent || above.kind == StepKind::AgentStart || *around {
                    break;
                }
                *around = true;
                at = self.span_above[at as usize];
            }
        }
    }

    fn step(&self, n: u32) -> Option<&'a Step> {
        self.flow.steps.get(n as usize)
    }

    /// The step that a step is told to be in.
    fn up(&self, n: u32) -> u32 {
        match self.span_above[n as usize] {
            NONE => self.flow.steps[n as usize].parent,
            above => above,
        }
    }

    fn of_step(&self, n: u32) -> Holder {
        let own = self.flow.steps[n as usize].agent;
        let fallback = match self.flow.agents.get(own as usize) {
            Some(agent) if self.is_around[n as usize] => self.agent(agent.parent),
            _ => self.agent(own),
        };
        let mut at = self.up(n);
        // Each turn goes up one model call, and no model call lies in more steps than there are.
        for _ in 0..self.flow.steps.len() {
            let Some(above) = self.step(at) else { return fallback };
            if above.agent != own {
                return fallback;
            }
            match self.holds(at, above) {
                Some(holder) => return holder,
                None if above.kind == StepKind::ModelCall => at = self.up(at),
                None => return fallback,
            }
        }
        fallback
    }

    /// What a step is to those it holds; none if it holds none.
    fn holds(&self, n: u32, step: &Step) -> Option<Holder> {
        let started = self.started[n as usize];
        if started != NONE {
            return Some(self.agent(started));
        }
        match step.kind {
            StepKind::AgentStart => Some(self.agent(step.agent)),
            StepKind::Generic
            | StepKind::ToolCall
            | StepKind::Retrieval
            | StepKind::Embedding
            | StepKind::Memory
            | StepKind::Router
            | StepKind::Guardrail => Some(Holder::Step(n)),
            _ => None,
        }
    }

    fn agent(&self, n: u32) -> Holder {
        if (n as usize) < self.flow.agents.len() { Holder::Agent(n) } else { Holder::Nothing }
    }

    /// The holder of the call that started it; else of its span; else the agent it is told to be of.
    fn of_agent(&self, n: u32) -> Holder {
        let agent = &self.flow.agents[n as usize];
        if let Some(spawn) = agent.spawn.filter(|spawn| self.started.get(spawn.step as usize) == Some(&n)) {
            return self.of_step(spawn.step);
        }
        let first = self.first_of[n as usize];
        let span_above = self.span_above.get(first as usize).copied().unwrap_or(NONE);
        let mut at = agent.spawn.map_or(span_above, |spawn| spawn.step);
        for _ in 0..self.flow.steps.len() {
            let Some(above) = self.step(at) else { break };
            match self.holds(at, above) {
                Some(Holder::Agent(own)) if own == n => {}
                Some(holder) => return holder,
                None => {}
            }
            at = self.up(at);
        }
        self.agent(agent.parent)
    }
}
