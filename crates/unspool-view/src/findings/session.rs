//! What finders need to know about a session, read once.
//!
//! In: a flow. Out: steps in the order of their agents, calls with what they were given, sums. Never here: an opinion.

use super::Basis;
use super::cost::Cost;
use super::tools::{Role, role_of};
use crate::asking::is_refused;
use crate::prices::Prices;
use crate::retries::retries;
use crate::sequence::Sequence;
use crate::totals::Pricer;
use rustc_hash::{FxHashMap, FxHashSet};
use unspool_model::flow::NONE;
use unspool_model::{Code, EdgeKind, Flow, Interner, Step, StepKind, Sym};

/// A session as finders see it.
pub(super) struct Session<'a> {
    pub(super) flow: &'a Flow,
    pub(super) text: &'a Interner,
    /// The steps of each agent, in order.
    pub(super) timelines: Vec<Vec<u32>>,
    /// The model call that asked for a step, or `NONE`.
    callers: Vec<u32>,
    /// How many calls each step asked for.
    asked: Vec<u32>,
    /// How many messages its agent had been told before each step.
    turns: Vec<u32>,
    /// What each step used and cost by itself.
    own: Vec<Cost>,
    roles: FxHashMap<Sym, Role>,
    /// Calls that had failed before.
    retries: FxHashSet<u32>,
}

/// What says that something is missing from the record of a session, was not read, or contradicts itself.
const HOLES: &[Code] = &[
    Code::NotJson,
    Code::NotAnObject,
    Code::NotProtobuf,
    Code::SpanIdBad,
    Code::TornLine,
    Code::NulBytes,
    Code::LineTooLong,
    Code::WrongType,
    Code::UnknownType,
    Code::FileCut,
    Code::DuplicateUuid,
    Code::ParentMissing,
    Code::ResultWithoutCall,
    Code::DependencyMissing,
    Code::MainTranscriptMissing,
    Code::StreamInterrupted,
    Code::StreamTorn,
    Code::ResponseMissing,
    Code::LimitReached,
    Code::SpanParentMissing,
    Code::ReferenceMissing,
    Code::WordUnknown,
];

/// What says that nobody knows in which order things happened.
const DISORDER: &[Code] = &[Code::ParentCycle, Code::SpanParentCycle];

/// What makes two calls the same: the tool and everything it was given.
pub(super) type Given = (Sym, u32);

impl<'a> Session<'a> {
    pub(super) fn new(flow: &'a Flow, text: &'a Interner, prices: &'a Prices) -> Session<'a> {
        let mut callers = vec![NONE; flow.steps.len()];
        let mut asked = vec![0; flow.steps.len()];
        for edge in flow.edges.iter().filter(|edge| edge.kind == EdgeKind::Calls) {
            callers[edge.to as usize] = edge.from;
            asked[edge.from as usize] += 1;
        }
        let sequence = Sequence::new(flow);
        let mut timelines = vec![Vec::new(); flow.agents.len()];
        for step in sequence.firsts().flat_map(|first| sequence.from(first)) {
            if let Some(timeline) = timelines.get_mut(flow.steps[step as usize].agent as usize) {
                timeline.push(step);
            }
        }
        let mut turns = vec![0; flow.steps.len()];
        for timeline in &timelines {
            let mut turn = 0;
            for n in timeline {
                turn += u32::from(flow.steps[*n as usize].kind == StepKind::UserMessage);
                turns[*n as usize] = turn;
            }
        }
        let mut pricer = Pricer::new(flow, text, prices);
        let own = flow.steps.iter().map(|step| Cost::of(step, &pricer.step(step))).collect();
        let mut roles = FxHashMap::default();
        for step in flow.steps.iter().filter(|step| step.kind == StepKind::ToolCall) {
            roles.entry(step.name).or_insert_with(|| role_of(text.get(step.name)));
        }
        let retries = retries(flow).into_iter().map(|retry| retry.again).collect();
        Session { flow, text, timelines, callers, asked, turns, own, roles, retries }
    }

    pub(super) fn step(&self, n: u32) -> &'a Step {
        &self.flow.steps[n as usize]
    }

    /// Whether the record is good enough for claims of a sort.
    pub(super) fn allows(&self, basis: Basis) -> bool {
        match basis {
            Basis::Steps => true,
            Basis::Order => !self.has_issue(DISORDER),
            Basis::Absence => !self.has_issue(DISORDER) && !self.has_issue(HOLES),
        }
    }

    fn has_issue(&self, codes: &[Code]) -> bool {
        self.flow.issues.iter().any(|issue| codes.contains(&issue.code))
    }

    /// The step's tool, model or other name.
    pub(super) fn name(&self, n: u32) -> &'a str {
        self.text.get(self.step(n).name)
    }

    /// What a call was given, shown short; empty when nobody says.
    pub(super) fn given_text(&self, n: u32) -> &'a str {
        self.text.get(self.step(n).preview)
    }

    /// What the tool of a call does, as far as that matters here.
    pub(super) fn role(&self, n: u32) -> Role {
        self.roles.get(&self.step(n).name).copied().unwrap_or(Role::Other)
    }

    /// Everything a call was given, where that is known.
    pub(super) fn given(&self, n: u32) -> Option<Given> {
        let step = self.step(n);
        (step.kind == StepKind::ToolCall).then_some(())?;
        self.flow.input_of(n).map(|input| (step.name, input))
    }

    /// Whether the same call had failed before.
    pub(super) fn is_retry(&self, n: u32) -> bool {
        self.retries.contains(&n)
    }

    /// The tool calls of each agent, in order.
    pub(super) fn calls(&self) -> impl Iterator<Item = Vec<u32>> {
        self.timelines.iter().map(|timeline| {
            timeline.iter().copied().filter(|n| self.step(*n).kind == StepKind::ToolCall).collect()
        })
    }

    /// The model call that asked for a call, or `NONE`.
    pub(super) fn caller(&self, n: u32) -> u32 {
        self.callers[n as usize]
    }

    /// Whether a model call asked for calls.
    pub(super) fn asks(&self, n: u32) -> bool {
        self.asked[n as usize] > 0
    }

    /// Whether a person refused the call: it did not fail by itself.
    pub(super) fn is_refused(&self, n: u32) -> bool {
        is_refused(self.flow, self.text, n)
    }

    /// Whether a call was made after another one was over, by another model call, with nothing said to the agent in between. Two
    /// records of one call are no repetition, and neither is what was asked for again.
    pub(super) fn is_later(&self, n: u32, before: u32) -> bool {
        let (step, other) = (self.step(n), self.step(before));
        let after = other.ended.is_some() && step.started >= other.ended && step.ended.is_some();
        let by_another = self.caller(n) == NONE || self.caller(n) != self.caller(before);
        after && by_another && self.turns[n as usize] == self.turns[before as usize]
    }

    /// What a step used by itself.
    pub(super) fn own(&self, n: u32) -> Cost {
        self.own[n as usize]
    }

    /// What tool calls cost that need not have been: their time, and of the model call that asked for each, its share. The share is
    /// an estimate.
    pub(super) fn cost_of_calls(&self, calls: &[u32]) -> Cost {
        let mut sum = Cost::default();
        for call in calls {
            sum.add(self.own(*call));
            let caller = self.callers[*call as usize];
            if caller != NONE {
                sum.add(self.own(caller).share(self.asked[caller as usize]));
            }
        }
        sum
    }

    /// Tokens a model call was given, from a cache or not; `None` when it does not say.
    pub(super) fn context(&self, n: u32) -> Option<u64> {
        let step = self.step(n);
        let usage = self.flow.usage_of(step).filter(|_| step.kind == StepKind::ModelCall)?;
        let tokens = usage.input + usage.cache_read + usage.cache_write;
        (tokens > 0).then_some(tokens)
    }
}
