//! When every step began and ended, and which other moments each of these had to wait for.
//!
//! In: a flow. Out: two moments per step, and arcs from causes to what waited for them. Never here: a scope, a sum.
//!
//! The definition stands in docs/critical-path.md; every paragraph there is a function here.

use super::at_work::works;
use super::class::{Class, classes};
use super::human::said_by_person;
use super::siblings::sibling_arcs;
use crate::dag::{Arcs, order, places};
use crate::sequence::Sequence;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use unspool_model::flow::NONE;
use unspool_model::{EdgeKind, Flow, Interner, Step, StepKind, Timestamp};

/// The moment a step began.
pub(crate) fn begin(step: u32) -> u32 {
    step * 2
}

/// The moment a step ended.
pub(crate) fn end(step: u32) -> u32 {
    step * 2 + 1
}

/// The step of a moment.
pub(crate) fn step_of(moment: u32) -> u32 {
    moment / 2
}

/// Whether a moment is the beginning of its step.
pub(crate) fn is_begin(moment: u32) -> bool {
    moment.is_multiple_of(2)
}

/// Marks "no time" among moments.
pub(crate) const UNTIMED: i64 = i64::MIN;

/// The moments of a flow and what they waited for.
pub(crate) struct Moments<'a> {
    flow: &'a Flow,
    /// Milliseconds since the epoch by moment, rounded down; `UNTIMED` for steps without any time.
    pub(crate) at: Vec<i64>,
    /// By moment, the moments it had to wait for. None of them is later, and no two wait for each other.
    pub(crate) causes: Arcs,
    /// Arcs that only an inferred edge makes, as cause and effect, in order.
    inferred: Vec<(u32, u32)>,
    /// All moments in order of time, causes first.
    pub(crate) order: Vec<u32>,
    /// What each step's time was spent on.
    pub(crate) classes: Vec<Class>,
    /// By step, whether it is work of its own while it lasts.
    pub(crate) works: Vec<bool>,
    triggers: Vec<bool>,
    said_by_person: Vec<bool>,
    /// Edges that contradict the clock or run in a circle and were not used.
    pub(crate) unused_edges: u64,
}

impl<'a> Moments<'a> {
    /// Of a whole session.
    pub(crate) fn new(flow: &'a Flow, text: &Interner) -> Moments<'a> {
        let at = times(flow);
        let mut arcs = Collector { at: &at, pairs: Vec::new(), inferred: Vec::new(), unused_edges: 0 };
        arcs.durations();
        let sequence = Sequence::new(flow);
        arcs.agent_order(&sequence);
        let triggers = triggers(flow);
        arcs.edges(flow, &sequence, &triggers);
        arcs.answers(flow);
        arcs.pairs.extend(sibling_arcs(flow, &at));
        arcs.overlaps(flow, &sequence);
        let Collector { mut pairs, mut inferred, mut unused_edges, .. } = arcs;
        pairs.sort_unstable();
        pairs.dedup();
        inferred.sort_unstable();
        inferred.retain(|pair| pairs.binary_search(pair).is_err());
        pairs.extend(&inferred);
        let effects = Arcs::new(at.len(), pairs.iter().copied());
        let mut order = order(&effects, |moment| (at[moment as usize], moment));
        order.sort_by_key(|moment| at[*moment as usize]);
        let place = places(&order);
        let known = pairs.len();
        pairs.retain(|(cause, effect)| place[*cause as usize] < place[*effect as usize]);
        unused_edges += (known - pairs.len()) as u64;
        let causes = Arcs::new(at.len(), pairs.iter().map(|(cause, effect)| (*effect, *cause)));
        let classes = classes(flow, text);
        let works = works(flow, &at, &classes);
        let said_by_person = said_by_person(flow, text, &sequence, &triggers);
        Moments { flow, at, causes, inferred, order, classes, works, triggers, said_by_person, unused_edges }
    }

    /// Whether a step, of which the last cause is `before`, had to wait for a person: a person said it, and it is the input of a run that is not
    /// the first there, or something else that was said to a main agent which had nothing left to do.
    pub(crate) fn waits_for_human(&self, step: u32, before: Option<u32>) -> bool {
        let steps = &self.flow.steps;
        let this = &steps[step as usize];
        let is_main = self.flow.agents.get(this.agent as usize).is_some_and(|agent| agent.main);
        let cause = before.map(|before| &steps[before as usize]);
        let was_done =
            cause.is_some_and(|cause| cause.agent == this.agent && cause.kind != StepKind::ToolCall);
        let is_awaited = self.triggers[step as usize] && before.is_some() || is_main && was_done;
        self.said_by_person[step as usize] && is_awaited
    }

    /// Whether a step is the input of a run.
    pub(crate) fn starts_run(&self, step: u32) -> bool {
        self.triggers[step as usize]
    }

    /// Whether a step lies in the time of another.
    pub(crate) fn lies_inside(&self, step: u32, around: u32) -> bool {
        let at = |moment: u32| self.at[moment as usize];
        around != NONE && at(begin(around)) <= at(begin(step)) && at(end(step)) <= at(end(around))
    }

    /// Whether an arc is there only because a rule guessed.
    pub(crate) fn is_inferred(&self, cause: u32, effect: u32) -> bool {
        !self.inferred.is_empty() && self.inferred.binary_search(&(cause, effect)).is_ok()
    }
}

fn ms(at: Timestamp) -> Option<i64> {
    at.ns().map(|ns| ns.div_euclid(1_000_000))
}

/// When a step began and ended: what is missing follows from its duration, or is the same moment.
fn interval(step: &Step) -> Option<(i64, i64)> {
    let duration = step.duration_ms.get().unwrap_or(0).max(0);
    match (ms(step.started), ms(step.ended)) {
        (Some(began), Some(ended)) => Some((began, ended.max(began))),
        (Some(began), None) if step.pending => Some((began, began)),
        (Some(began), None) => Some((began, began.saturating_add(duration))),
        (None, Some(ended)) => Some((ended.saturating_sub(duration), ended)),
        (None, None) => None,
    }
}

fn times(flow: &Flow) -> Vec<i64> {
    let mut at = Vec::with_capacity(flow.steps.len() * 2);
    for step in &flow.steps {
        let (began, ended) = interval(step).unwrap_or((UNTIMED, UNTIMED));
        at.extend([began, ended]);
    }
    at
}

pub(super) fn triggers(flow: &Flow) -> Vec<bool> {
    let mut triggers = vec![false; flow.steps.len()];
    for run in &flow.runs {
        if let Some(step) = flow.steps.get(run.trigger as usize) {
            triggers[run.trigger as usize] = step.kind == StepKind::UserMessage;
        }
    }
    triggers
}

/// Gathers arcs. Every arc leads from a moment to one that is not earlier.
struct Collector<'a> {
    at: &'a [i64],
    pairs: Vec<(u32, u32)>,
    inferred: Vec<(u32, u32)>,
    unused_edges: u64,
}

impl Collector<'_> {
    fn is_timed(&self, step: u32) -> bool {
        self.at[begin(step) as usize] != UNTIMED
    }

    /// Adds an arc unless it would lead back in time.
    fn arc(&mut self, cause: u32, effect: u32, is_inferred: bool) -> bool {
        let (from, to) = (self.at[cause as usize], self.at[effect as usize]);
        let holds = from != UNTIMED && to != UNTIMED && from <= to && cause != effect;
        if holds {
            if is_inferred { self.inferred.push((cause, effect)) } else { self.pairs.push((cause, effect)) }
        }
        holds
    }

    /// A step ends after it began.
    fn durations(&mut self) {
        for step in 0..u32::try_from(self.at.len() / 2).unwrap_or(NONE) {
            self.arc(begin(step), end(step), false);
        }
    }

    /// Inside an agent, a step waits for those before it in order that had ended when it began. One that was still at work goes on
    /// beside it, and the next step that begins after its end waits for it.
    fn agent_order(&mut self, sequence: &Sequence) {
        let mut open: BinaryHeap<Reverse<(i64, u32)>> = BinaryHeap::new();
        for first in sequence.firsts() {
            open.clear();
            for step in sequence.from(first) {
                if !self.is_timed(step) {
                    continue;
                }
                let began = self.at[begin(step) as usize];
                while let Some(Reverse((ended, before))) = open.peek().copied()
                    && ended <= began
                {
                    open.pop();
                    self.arc(end(before), begin(step), false);
                }
                open.push(Reverse((self.at[end(step) as usize], step)));
            }
        }
    }

    /// Edges of every kind but order: a step waits for the end of its cause, or for its beginning when the cause was still at
    /// work, as a call that waits for its agent is, or a span around others.
    fn edges(&mut self, flow: &Flow, sequence: &Sequence, triggers: &[bool]) {
        for edge in flow.edges.iter().filter(|edge| edge.kind != EdgeKind::Sequence) {
            if !self.is_timed(edge.from) || !self.is_timed(edge.to) {
                continue;
            }
            let guessed = edge.is_inferred();
            let encloses = edge.kind == EdgeKind::SpanParent;
            let used = (!encloses && self.arc(end(edge.from), begin(edge.to), guessed))
                || self.arc(begin(edge.from), begin(edge.to), guessed);
            self.unused_edges += u64::from(!used);
            if encloses {
                self.arc(end(edge.to), end(edge.from), guessed);
            }
            if edge.kind == EdgeKind::SubagentReturn {
                let messages = sequence.back_from(sequence.previous(edge.to));
                self.notice(flow, edge.from, messages, guessed, triggers);
            }
        }
    }

    /// The message that tells of an agent's end stands before the model call that hears of it, and waited for the agent.
    fn notice(
        &mut self,
        flow: &Flow,
        answer: u32,
        messages: impl Iterator<Item = u32>,
        guessed: bool,
        triggers: &[bool],
    ) {
        let is_notice = |n: u32| {
            let step = flow.steps.get(n as usize);
            step.is_some_and(|step| step.kind == StepKind::UserMessage) && !triggers[n as usize]
        };
        for message in messages {
            if !is_notice(message) || !self.arc(end(answer), begin(message), guessed) {
                break;
            }
        }
    }

    /// A call that waited for an agent ends after everything that agent did until then.
    fn answers(&mut self, flow: &Flow) {
        for (n, step) in (0_u32..).zip(&flow.steps) {
            let Some(spawn) = flow.agents.get(step.agent as usize).and_then(|agent| agent.spawn) else {
                continue;
            };
            let call = flow.steps.get(spawn.step as usize);
            if call.is_some_and(|call| !call.is_async && call.agent != step.agent) {
                self.arc(end(n), end(spawn.step), spawn.is_inferred());
            }
        }
    }

    /// A step that waits for nothing yet waits for the beginning of the one before it in its agent.
    fn overlaps(&mut self, flow: &Flow, sequence: &Sequence) {
        let mut waits = vec![false; flow.steps.len()];
        for (_, effect) in self.pairs.iter().chain(&self.inferred) {
            if is_begin(*effect) {
                waits[step_of(*effect) as usize] = true;
            }
        }
        for n in (0..).take(flow.steps.len()).filter(|n| !waits[*n as usize]) {
            let previous = sequence.previous(n);
            if previous != NONE {
                self.arc(begin(previous), begin(n), false);
            }
        }
    }
}
