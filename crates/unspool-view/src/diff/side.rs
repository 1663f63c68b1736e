//! What is compared: a whole session, one run of it, or an agent with all below it.
//!
//! In: a flow and which part of it. Out: its agents with their steps and children. Never here: the other side.

use crate::prices::Prices;
use unspool_model::flow::NONE;
use unspool_model::{Batch, Flow, Step, StepKind, Sym};

/// One of the two things that are compared.
#[derive(Clone, Copy)]
pub struct Side<'a> {
    /// The session.
    pub flow: &'a Flow,
    /// Its names.
    pub batch: &'a Batch,
    /// For costs.
    pub prices: &'a Prices,
    /// Which part of it.
    pub part: Part,
}

/// A part of a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// All of it.
    Whole,
    /// One run, by index.
    Run(usize),
    /// An agent, by index, and all agents below it.
    Agent(usize),
}

/// An agent of a side with those of its steps that are compared.
#[derive(Debug)]
pub(super) struct Member {
    /// Index in the flow.
    pub(super) agent: usize,
    /// Steps in order.
    pub(super) steps: Vec<usize>,
    /// Members that it started, in order of start.
    pub(super) children: Vec<usize>,
}

/// The agents of a side.
#[derive(Debug, Default)]
pub(super) struct Members {
    pub(super) all: Vec<Member>,
    /// Those that no other member started.
    pub(super) roots: Vec<usize>,
}

impl<'a> Side<'a> {
    pub(super) fn text(&self, sym: Sym) -> &'a str {
        self.batch.text.get(sym)
    }

    pub(super) fn step(&self, n: usize) -> &'a Step {
        &self.flow.steps[n]
    }

    /// A hash of everything a tool was given; 0 where it is not known.
    pub(super) fn input(&self, n: usize) -> u32 {
        u32::try_from(n).ok().and_then(|n| self.flow.input_of(n)).unwrap_or(0)
    }

    /// What an agent was asked: the first message it got.
    pub(super) fn prompt(&self, member: &Member) -> &'a str {
        let mut said = member.steps.iter().map(|n| self.step(*n));
        said.find(|step| step.kind == StepKind::UserMessage).map_or("", |step| self.text(step.preview))
    }

    pub(super) fn members(&self) -> Members {
        let agents = self.flow.agents.len();
        let mut steps: Vec<Vec<usize>> = vec![Vec::new(); agents];
        let mut has_steps = vec![false; agents];
        for (n, step) in self.flow.steps.iter().enumerate() {
            let is_in = match self.part {
                Part::Run(run) => step.run as usize == run,
                Part::Whole | Part::Agent(_) => true,
            };
            if let Some(own) = steps.get_mut(step.agent as usize) {
                has_steps[step.agent as usize] = true;
                own.extend(is_in.then_some(n));
            }
        }
        let mut member_of = vec![None; agents];
        let mut members = Members::default();
        for (agent, steps) in steps.into_iter().enumerate() {
            let is_in = match self.part {
                Part::Whole => true,
                Part::Agent(top) => self.is_below(agent, top),
                Part::Run(run) => !steps.is_empty() || self.started_in(agent) == Some(run),
            };
            if is_in && (!steps.is_empty() || !has_steps[agent]) {
                member_of[agent] = Some(members.all.len());
                members.all.push(Member { agent, steps, children: Vec::new() });
            }
        }
        for n in 0..members.all.len() {
            let parent = self.flow.agents[members.all[n].agent].parent;
            match member_of.get(parent as usize).copied().flatten() {
                Some(parent) => members.all[parent].children.push(n),
                None => members.roots.push(n),
            }
        }
        members
    }

    /// The run of the call that started an agent.
    fn started_in(&self, agent: usize) -> Option<usize> {
        let call = self.flow.steps.get(self.flow.agents[agent].spawn?.step as usize)?;
        Some(call.run as usize)
    }

    /// Whether an agent is another or was started by it, directly or not.
    fn is_below(&self, agent: usize, top: usize) -> bool {
        let mut at = agent;
        for _ in 0..=self.flow.agents.len() {
            if at == top {
                return true;
            }
            match self.flow.agents[at].parent {
                NONE => return false,
                parent => at = parent as usize,
            }
        }
        false
    }
}
