//! Whether a failure was overcome or ended something.
//!
//! In: a flow. Out: an outcome for each failed step. Never here: why it failed.

use rustc_hash::FxHashMap;
use unspool_model::{Flow, Status, Step, StepKind, Sym};

/// What became of a failure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    /// The same was done again and worked.
    Retried(u32),
    /// The agent went on with something else.
    WorkedAround,
    /// Nothing the agent did after it worked.
    EndedAgent,
    /// Nothing in the run worked after it.
    EndedRun,
}

impl Outcome {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Outcome::Retried(_) => "retried",
            Outcome::WorkedAround => "worked_around",
            Outcome::EndedAgent => "ended_agent",
            Outcome::EndedRun => "ended_run",
        }
    }

    pub(crate) fn retried_by(self) -> Option<u32> {
        if let Outcome::Retried(by) = self { Some(by) } else { None }
    }

    pub(crate) fn is_overcome(self) -> bool {
        matches!(self, Outcome::Retried(_) | Outcome::WorkedAround)
    }
}

/// Outcomes of all failed steps, in order of `seq`.
pub(crate) fn outcomes(flow: &Flow) -> Vec<(u32, Outcome)> {
    let works = |step: &Step| {
        !step.is_error && !step.pending && matches!(step.kind, StepKind::ModelCall | StepKind::ToolCall)
    };
    // From the end on: the last thing that worked, by agent and run, and the next time that the same worked.
    let mut worked_in_agent: FxHashMap<(u32, u32), u32> = FxHashMap::default();
    let mut worked_in_run: FxHashMap<u32, u32> = FxHashMap::default();
    let mut same: FxHashMap<(u32, u32, StepKind, Sym, Sym), u32> = FxHashMap::default();
    let mut order: Vec<u32> = (0..).take(flow.steps.len()).collect();
    order.sort_by_key(|n| (flow.steps[*n as usize].started, *n));
    let mut found = Vec::new();
    for n in order.into_iter().rev() {
        let step = &flow.steps[n as usize];
        let given = if step.kind == StepKind::ToolCall { step.preview } else { Sym::EMPTY };
        let key = (step.agent, step.run, step.kind, step.name, given);
        if works(step) {
            worked_in_agent.entry((step.agent, step.run)).or_insert(n);
            worked_in_run.entry(step.run).or_insert(n);
            same.insert(key, n);
        } else if step.is_error {
            let is_told = step.kind != StepKind::ToolCall || !step.preview.is_empty();
            let again = same.get(&key).filter(|_| is_told && !step.name.is_empty());
            found.push((n, judge(flow, step, again, &worked_in_agent, &worked_in_run)));
        }
    }
    found.sort_unstable_by_key(|(n, _)| *n);
    found
}

fn judge(
    flow: &Flow,
    step: &Step,
    again: Option<&u32>,
    worked_in_agent: &FxHashMap<(u32, u32), u32>,
    worked_in_run: &FxHashMap<u32, u32>,
) -> Outcome {
    let run_failed = flow.runs.get(step.run as usize).is_some_and(|run| run.status == Status::Failed);
    match (again, worked_in_agent.contains_key(&(step.agent, step.run))) {
        (Some(again), _) => Outcome::Retried(*again),
        (None, true) => Outcome::WorkedAround,
        (None, false) if worked_in_run.contains_key(&step.run) && !run_failed => Outcome::EndedAgent,
        (None, false) => Outcome::EndedRun,
    }
}
