//! Whether a failure was overcome or ended something.
//!
//! In: a flow. Out: an outcome for each failed step. Never here: why it failed.

use crate::retries::{Retry, retries};
use rustc_hash::{FxHashMap, FxHashSet};
use unspool_model::{Flow, Status, Step, StepKind};

/// What became of a failure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    /// The same was done again and worked.
    Retried(u32),
    /// The agent went on with something else.
    WorkedAround,
    /// The same was tried again, the last time by this step, and nothing worked any more.
    FailedAgain(u32),
    /// Nothing the agent did after it worked.
    EndedAgent,
    /// Nothing in the run worked after it, and the run completed all the same.
    RunCompleted,
    /// Nothing in the run worked after it.
    EndedRun,
}

impl Outcome {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Outcome::Retried(_) => "retried",
            Outcome::WorkedAround => "worked_around",
            Outcome::FailedAgain(_) => "failed_again",
            Outcome::EndedAgent => "ended_agent",
            Outcome::RunCompleted => "run_completed",
            Outcome::EndedRun => "ended_run",
        }
    }

    pub(crate) fn retried_by(self) -> Option<u32> {
        if let Outcome::Retried(by) | Outcome::FailedAgain(by) = self { Some(by) } else { None }
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
    let last_attempts = last_attempts(&retries(flow));
    // From the end on: what still worked after a moment, by agent and run.
    let mut worked_in_agent: FxHashSet<(u32, u32)> = FxHashSet::default();
    let mut worked_in_run: FxHashSet<u32> = FxHashSet::default();
    let mut order: Vec<u32> = (0..).take(flow.steps.len()).collect();
    unspool_model::sort_by_meaning(&mut order, |n| (flow.steps[*n as usize].started, *n));
    let mut found = Vec::new();
    for n in order.into_iter().rev() {
        let step = &flow.steps[n as usize];
        if works(step) {
            worked_in_agent.insert((step.agent, step.run));
            worked_in_run.insert(step.run);
        } else if step.is_error {
            let agent_went_on = worked_in_agent.contains(&(step.agent, step.run));
            let run = flow.runs.get(step.run as usize).map(|run| run.status);
            let run_went_on = worked_in_run.contains(&step.run) && run != Some(Status::Failed);
            found.push((
                n,
                match last_attempts.get(&n).copied() {
                    Some(last) if works(&flow.steps[last as usize]) => Outcome::Retried(last),
                    _ if agent_went_on => Outcome::WorkedAround,
                    Some(last) => Outcome::FailedAgain(last),
                    None if run_went_on => Outcome::EndedAgent,
                    None if run == Some(Status::Completed) => Outcome::RunCompleted,
                    None => Outcome::EndedRun,
                },
            ));
        }
    }
    found.sort_unstable_by_key(|(n, _)| *n);
    found
}

/// For each failed attempt the last of those that followed it. Retries are in order of the later attempt.
fn last_attempts(retries: &[Retry]) -> FxHashMap<u32, u32> {
    let mut last_attempts: FxHashMap<u32, u32> = FxHashMap::default();
    for retry in retries.iter().rev() {
        let last = last_attempts.get(&retry.again).copied().unwrap_or(retry.again);
        last_attempts.insert(retry.failed, last);
    }
    last_attempts
}
