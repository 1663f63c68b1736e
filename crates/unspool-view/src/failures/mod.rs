//! Failures: what each one touched, what it came from, and whether it was overcome.
//!
//! In: a flow. Out: an entry per failed step, the same in a few sentences; for one step, everything it led to. Never here: whether a
//! step failed, which its source says.

mod cause;
mod outcome;
mod tell;
mod touched;

use crate::asking::is_refused;
pub(crate) use cause::{Causes, causes as causes_of};
pub(crate) use outcome::{Outcome, outcomes};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;
pub use tell::Telling;
use touched::Touches;
use unspool_model::{Flow, Interner, Sym};

/// Failures of some sessions.
#[derive(Serialize, JsonSchema)]
pub struct FailuresDoc {
    /// Always `unspool.failures/1`.
    pub schema: &'static str,
    /// Sessions, oldest first; those without failures too.
    pub sessions: Vec<SessionFailuresDoc>,
}

/// Failures of one session.
#[derive(Serialize, JsonSchema)]
pub struct SessionFailuresDoc {
    /// Deterministic id.
    pub id: String,
    /// The ids its sources gave it.
    pub native_ids: Vec<String>,
    /// Title, or first prompt.
    pub title: Option<String>,
    /// Its failed steps.
    #[serde(flatten)]
    pub list: FailureListDoc,
}

/// All failures of a session.
#[derive(Serialize, JsonSchema)]
pub struct FailureListDoc {
    /// Failed steps, in order of `seq`.
    pub failures: Vec<FailureDoc>,
    /// How many of them were overcome.
    pub overcome: u64,
    /// How many ended a run: those after which nothing in it worked.
    pub ended_run: u64,
    /// How many runs those ended.
    pub runs_ended: u64,
}

/// One failed step.
#[derive(Serialize, JsonSchema)]
pub struct FailureDoc {
    /// The step.
    pub step_id: String,
    /// Its kind.
    pub kind: &'static str,
    /// Its tool, model or other name.
    pub name: Option<String>,
    /// Its agent.
    pub agent_id: String,
    /// First words of what went wrong, where its source says.
    pub error: Option<String>,
    /// `retried` (the same was done again and worked), `worked_around` (the agent went on with something else), `failed_again` (the same
    /// was tried again and failed, and nothing the agent did worked any more: see the last try), `ended_agent` (nothing the
    /// agent did after it worked; whoever started the agent went on), `run_completed` (nothing worked after it, and the run completed
    /// all the same, as with a hook at its end), `ended_run` (nothing in the run worked after it).
    pub outcome: &'static str,
    /// The last try of the same: it worked for `retried`, and failed for `failed_again`.
    pub retried_by: Option<String>,
    /// A person refused it, as its source says: it did not fail by itself.
    pub refused: bool,
    /// From this failure back to the first one it came from, this one not included. Empty when it is a first one.
    pub caused_by: Vec<CauseDoc>,
    /// How many failures lie before those of `caused_by`: no more than 10 are told (`MAX_CHAIN`); each of them is a failure with causes of its own.
    pub causes_left_out: u64,
    /// The first failure of the chain; null when this is a first one.
    pub first_cause: Option<String>,
    /// Steps that directly received what failed.
    pub received_by: Vec<String>,
    /// Steps it leads to along causal edges, those of mere order not counted, and not what the failed step had asked for, started or
    /// enclosed before; null when there are too many edges to count.
    pub touched: Option<u64>,
    /// These steps, nearest first; null where they are only counted, as in `unspool metrics`.
    pub touched_ids: Option<Vec<String>>,
}

/// An earlier failure that led to a later one.
#[derive(Serialize, JsonSchema)]
pub struct CauseDoc {
    /// The earlier failed step.
    pub step_id: String,
    /// `edge`: a causal edge leads from it. `agent`: it ended the agent that the later one had started. `answer`: a model was told
    /// of it and then asked for the later one; that this is a cause is inferred.
    pub link: &'static str,
    /// Whether the link is inferred.
    pub inferred: bool,
}

/// The failures of a session, with how many steps each leads to.
pub fn session_failures(flow: &Flow, text: &Interner) -> SessionFailuresDoc {
    SessionFailuresDoc {
        id: flow.session.id.show('x'),
        native_ids: flow.session.native_ids.iter().map(|id| text.get(*id).to_string()).collect(),
        title: flow.session.title.some().map(|title| text.get(title).to_string()),
        list: failures(flow, text),
    }
}

/// The same, with the id of every step that a failure leads to.
pub fn session_failures_in_full(flow: &Flow, text: &Interner) -> SessionFailuresDoc {
    let mut session = session_failures(flow, text);
    let touches = Touches::new(flow);
    let failed = (0_u32..).zip(&flow.steps).filter(|(_, step)| step.is_error);
    for (failure, (n, _)) in session.list.failures.iter_mut().zip(failed) {
        let touched = touches.of(n, usize::MAX).into_iter();
        failure.touched_ids = Some(touched.map(|step| flow.steps[step as usize].id.show('s')).collect());
    }
    session
}

/// The failures of a flow.
pub fn failures(flow: &Flow, text: &Interner) -> FailureListDoc {
    let causes = causes_of(flow, text);
    let touches = Touches::new(flow);
    let mut runs_ended: BTreeSet<u32> = BTreeSet::new();
    let id = |step: u32| flow.steps[step as usize].id.show('s');
    let words = |sym: Sym| sym.some().map(|sym| text.get(sym).to_string());
    let mut list = FailureListDoc { failures: Vec::new(), overcome: 0, ended_run: 0, runs_ended: 0 };
    for (n, outcome) in outcomes(flow) {
        let step = &flow.steps[n as usize];
        let agent = flow.agents.get(step.agent as usize);
        let chain = causes.back(n);
        list.overcome += u64::from(outcome.is_overcome());
        if outcome == Outcome::EndedRun {
            list.ended_run += 1;
            runs_ended.insert(step.run);
        }
        list.failures.push(FailureDoc {
            step_id: id(n),
            kind: step.kind.name(),
            name: words(step.name),
            agent_id: agent.map(|agent| agent.id.show('a')).unwrap_or_default(),
            error: words(flow.error_of(n as usize)),
            outcome: outcome.name(),
            retried_by: outcome.retried_by().map(id),
            refused: is_refused(flow, text, n),
            causes_left_out: chain.left_out,
            first_cause: chain.first.map(id),
            caused_by: chain
                .told
                .into_iter()
                .map(|(step, link)| CauseDoc {
                    step_id: id(step),
                    link: link.name(),
                    inferred: link.inferred(),
                })
                .collect(),
            received_by: causes.receivers(n).map(id).collect(),
            touched: touches.count(n),
            touched_ids: None,
        });
    }
    list.runs_ended = runs_ended.len() as u64;
    list
}

#[cfg(test)]
mod tests;
