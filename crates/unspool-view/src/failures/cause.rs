//! From a failure back to the one it came from.
//!
//! In: a flow. Out: for each failed step, the failed step before it in the chain of causes. Never here: recursion, order alone as
//! a cause.

use crate::asking::is_refused;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;
use unspool_model::flow::NONE;
use unspool_model::{Agent, EdgeKind, Flow, Interner, StepKind};

/// How an earlier failure led to a later one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Link {
    /// A causal edge leads from one failed step to the other.
    Edge { inferred: bool },
    /// It ended the agent that the later step, a call, had started.
    Agent,
    /// A model was told of it and then asked for the later step.
    Answer,
}

impl Link {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Link::Edge { .. } => "edge",
            Link::Agent => "agent",
            Link::Answer => "answer",
        }
    }

    /// That a model acted because of what it was told is a guess, however good.
    pub(crate) fn inferred(self) -> bool {
        matches!(self, Link::Answer | Link::Edge { inferred: true })
    }
}

/// For each failed step, the failure it came from and who received it.
pub(crate) struct Causes {
    before: FxHashMap<u32, (u32, Link)>,
    receivers: FxHashMap<u32, Vec<u32>>,
    /// How many failures lie before each, and the first of them.
    origins: FxHashMap<u32, Origin>,
}

#[derive(Clone, Copy)]
struct Origin {
    links: u64,
    first: u32,
}

/// From a failure back to the first one, as far as it is told.
pub(crate) struct Chain {
    /// The failures, nearest first.
    pub(crate) told: Vec<(u32, Link)>,
    /// How many lie before those.
    pub(crate) left_out: u64,
    /// The first of all, where there is any.
    pub(crate) first: Option<u32>,
}

/// Whether an edge out of a failed step hands on the failure. What the step encloses, asked for or started came before it failed.
pub(super) fn carries(kind: EdgeKind) -> bool {
    !matches!(kind, EdgeKind::Sequence | EdgeKind::Calls | EdgeKind::SpanParent | EdgeKind::SubagentSpawn)
}

/// Failed calls that a failed agent had been started by, each with the step that failed last in the agent.
pub(super) fn failed_agents(flow: &Flow) -> impl Iterator<Item = (u32, u32)> + Clone {
    let failed = |n: u32| flow.steps.get(n as usize).is_some_and(|step| step.is_error);
    let both = move |agent: &Agent| {
        let call =
            agent.spawn.map(|spawn| spawn.step).filter(|call| failed(*call) && *call != agent.last_step);
        call.filter(|_| failed(agent.last_step)).map(|call| (call, agent.last_step))
    };
    flow.agents.iter().filter_map(both)
}

/// Reads the edges of a flow once.
pub(crate) fn causes(flow: &Flow, text: &Interner) -> Causes {
    let failed = |n: u32| flow.steps[n as usize].is_error;
    let mut told: FxHashMap<u32, u32> = FxHashMap::default();
    let mut causes = Causes {
        before: FxHashMap::default(),
        receivers: FxHashMap::default(),
        origins: FxHashMap::default(),
    };
    for edge in flow.edges.iter().filter(|edge| carries(edge.kind) && failed(edge.from)) {
        causes.receivers.entry(edge.from).or_default().push(edge.to);
        if failed(edge.to) {
            causes.note(edge.to, edge.from, Link::Edge { inferred: edge.is_inferred() });
        }
        if flow.steps[edge.to as usize].kind == StepKind::ModelCall {
            let last = told.entry(edge.to).or_insert(edge.from);
            *last = (*last).max(edge.from);
        }
    }
    // A span fails because one inside it did; a call, because its agent did.
    for edge in flow.edges.iter().filter(|edge| edge.kind == EdgeKind::SpanParent) {
        if failed(edge.from) && failed(edge.to) {
            causes.note(edge.from, edge.to, Link::Edge { inferred: edge.is_inferred() });
        }
    }
    for (call, last) in failed_agents(flow) {
        causes.receivers.entry(last).or_default().push(call);
        causes.note(call, last, Link::Agent);
    }
    for edge in flow.edges.iter().filter(|edge| edge.kind == EdgeKind::Calls && failed(edge.to)) {
        // A person who says no does so for reasons of their own.
        if let Some(error) = told.get(&edge.from).filter(|_| !is_refused(flow, text, edge.to)) {
            causes.note(edge.to, *error, Link::Answer);
        }
    }
    causes.find_origins();
    causes
}

impl Causes {
    /// The first that is noted stays, unless it is inferred and one that is stated follows.
    fn note(&mut self, later: u32, earlier: u32, link: Link) {
        if later == earlier {
            return;
        }
        let known = self.before.entry(later).or_insert((earlier, link));
        if known.1.inferred() && !link.inferred() {
            *known = (earlier, link);
        }
    }

    /// Walks every chain once. Where links go round in a circle, the chain begins at the failure that was met first.
    fn find_origins(&mut self) {
        for start in self.before.keys().copied().collect::<BTreeSet<u32>>() {
            let mut walked = Vec::new();
            let mut on_walk = FxHashSet::default();
            let mut at = start;
            let mut origin = loop {
                if let Some(known) = self.origins.get(&at) {
                    break *known;
                }
                let Some((earlier, _)) = self.before.get(&at) else { break Origin { links: 0, first: at } };
                if !on_walk.insert(at) {
                    break Origin { links: 0, first: at };
                }
                walked.push(at);
                at = *earlier;
            };
            for failure in walked.into_iter().rev() {
                origin.links += 1;
                self.origins.insert(failure, origin);
            }
        }
    }

    /// From a failure back to the first one.
    pub(crate) fn back(&self, failure: u32) -> Chain {
        let mut chain = Chain { told: Vec::new(), left_out: 0, first: None };
        let mut at = failure;
        while let Some((earlier, link)) = self.before.get(&at) {
            if *earlier == failure || chain.told.iter().any(|(step, _)| step == earlier) {
                break;
            }
            if chain.told.len() == MAX_CHAIN {
                chain.left_out = self.origins.get(&at).map_or(0, |origin| origin.links);
                chain.first = self.origins.get(&at).map(|origin| origin.first);
                return chain;
            }
            chain.told.push((*earlier, *link));
            at = *earlier;
        }
        chain.first = chain.told.last().map(|(first, _)| *first);
        chain
    }

    /// The failure a failure directly came from; `NONE` for a first one.
    pub(crate) fn directly_before(&self, failure: u32) -> u32 {
        self.before.get(&failure).map_or(NONE, |(earlier, _)| *earlier)
    }

    /// Who received what failed.
    pub(crate) fn receivers(&self, failure: u32) -> impl Iterator<Item = u32> {
        self.receivers.get(&failure).into_iter().flatten().copied()
    }
}

/// So many links back a chain of failures is told; the rest is counted.
pub(crate) const MAX_CHAIN: usize = 10;
