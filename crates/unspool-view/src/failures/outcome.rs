//! Whether a failure was overcome or ended something.
//!
//! In: a flow. Out: an outcome for each failed step. Never here: why it failed.

use crate::retries::retries;
use rustc_hash::{FxHashMap, FxHashSet};
use unspool_model::{Flow, Status, Step, StepKind};

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
    let again: FxHashMap<u32, u32> =
        retries(flow).into_iter().map(|retry| (retry.failed, retry.again)).collect();
    // From the end on: what still worked after a moment, by agent and run.
    let mut worked_in_agent: FxHashSet<(u32, u32)> = FxHashSet::default();
    let mut worked_in_run: FxHashSet<u32> = FxHashSet::default();
    let mut order: Vec<u32> = (0..).take(flow.steps.len()).collect();
    order.sort_by_key(|n| (flow.steps[*n as usize].started, *n));
    let mut found = Vec::new();
    for n in order.into_iter().rev() {
        let step = &flow.steps[n as usize];
        if works(step) {
            worked_in_agent.insert((step.agent, step.run));
            worked_in_run.insert(step.run);
        } else if step.is_error {
            let agent_went_on = worked_in_agent.contains(&(step.agent, step.run));
            let run_failed = flow.runs.get(step.run as usize).is_some_and(|run| run.status == Status::Failed);
            found.push((
                n,
                match last_attempt(&again, n).filter(|last| works(&flow.steps[*last as usize])) {
                    Some(worked) => Outcome::Retried(worked),
                    None if agent_went_on => Outcome::WorkedAround,
                    None if worked_in_run.contains(&step.run) && !run_failed => Outcome::EndedAgent,
                    None => Outcome::EndedRun,
                },
            ));
        }
    }
    found.sort_unstable_by_key(|(n, _)| *n);
    found
}

/// The last of the attempts that began with a failed one. Each comes after the one before it.
fn last_attempt(again: &FxHashMap<u32, u32>, failed: u32) -> Option<u32> {
    std::iter::successors(again.get(&failed), |next| again.get(next)).last().copied()
}
