//! Failures: what each one touched, what it came from, and whether it was overcome.
//!
//! In: a flow. Out: an entry per failed step, the same in a few sentences; for one step, everything it led to. Never here: whether a
//! step failed, which its source says.

mod cause;
mod outcome;
mod tell;
mod touched;

pub(crate) use cause::{Causes, causes as causes_of};
use outcome::{Outcome, outcomes};
use schemars::JsonSchema;
use serde::Serialize;
pub use tell::Telling;
pub use touched::{TouchedDoc, touched};
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
    /// How many ended a run.
    pub ended_run: u64,
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
    /// `retried` (the same was done again and worked), `worked_around` (the agent went on with something else), `ended_agent` (nothing the
    /// agent did after it worked; whoever started the agent went on), `ended_run` (nothing in the run worked after it).
    pub outcome: &'static str,
    /// The step that worked, for `retried`.
    pub retried_by: Option<String>,
    /// From this failure back to the first one it came from, this one not included. Empty when it is a first one.
    pub caused_by: Vec<CauseDoc>,
    /// How many failures lie before those of `caused_by`: no more than 100 are told (`MAX_CHAIN`).
    pub causes_left_out: u64,
    /// The first failure of the chain; null when this is a first one.
    pub first_cause: Option<String>,
    /// Steps that directly received what failed.
    pub received_by: Vec<String>,
    /// Steps it leads to along causal edges, those of mere order not counted; null when there are too many edges to count.
    pub touched: Option<u64>,
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
    let reach = crate::metrics::reach::of_flow(flow);
    SessionFailuresDoc {
        id: flow.session.id.show('x'),
        native_ids: flow.session.native_ids.iter().map(|id| text.get(*id).to_string()).collect(),
        title: flow.session.title.some().map(|title| text.get(title).to_string()),
        list: failures(flow, text, reach.as_deref()),
    }
}

/// The failures of a flow. `reach` has how many steps each step leads to.
pub fn failures(flow: &Flow, text: &Interner, reach: Option<&[u64]>) -> FailureListDoc {
    let causes = causes_of(flow);
    let id = |step: u32| flow.steps[step as usize].id.show('s');
    let words = |sym: Sym| sym.some().map(|sym| text.get(sym).to_string());
    let mut list = FailureListDoc { failures: Vec::new(), overcome: 0, ended_run: 0 };
    for (n, outcome) in outcomes(flow) {
        let step = &flow.steps[n as usize];
        let agent = flow.agents.get(step.agent as usize);
        let chain = causes.back(n);
        list.overcome += u64::from(outcome.is_overcome());
        list.ended_run += u64::from(outcome == Outcome::EndedRun);
        list.failures.push(FailureDoc {
            step_id: id(n),
            kind: step.kind.name(),
            name: words(step.name),
            agent_id: agent.map(|agent| agent.id.show('a')).unwrap_or_default(),
            error: words(flow.error_of(n as usize)),
            outcome: outcome.name(),
            retried_by: outcome.retried_by().map(id),
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
            touched: reach.map(|reach| reach[n as usize]),
        });
    }
    list
}

#[cfg(test)]
mod tests;
