//! What went wrong in a session, agent by agent: who failed, at what, why, and who had started it. What somebody wants to know first.
//!
//! In: a flow. Out: a bounded number of agents, those that failed for good first. Never here: what a failure touched.

use super::brief::{AgentBriefDoc, StepBriefDoc, agent_brief, step_brief};
use crate::asking::is_refused;
use crate::failures::{Outcome, causes_of, outcomes};
use crate::labels::step_detail;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use unspool_model::{Batch, EdgeKind, Flow};

/// Agents that are told: `max_troubled_agents`.
pub const MAX_TROUBLED_AGENTS: usize = 50;

/// What went wrong in a session.
#[derive(Serialize, JsonSchema)]
pub struct TroubleDoc {
    /// The session.
    pub session_id: String,
    /// Steps that failed.
    pub failures: usize,
    /// How many of them were overcome: the same worked later, or the agent went on with something else.
    pub overcome: usize,
    /// Agents of which a step failed: those that did not overcome it first, then in order of appearance.
    pub agents: Vec<TroubledAgentDoc>,
    /// Agents that are not told, by `max_troubled_agents`.
    pub agents_left_out: usize,
}

/// An agent of which a step failed.
#[derive(Serialize, JsonSchema)]
pub struct TroubledAgentDoc {
    /// Who.
    pub agent: AgentBriefDoc,
    /// `running`, `completed`, `failed` or `unknown`.
    pub status: &'static str,
    /// Who started it, and who started that one: the outermost first. Empty for a main agent.
    pub above: Vec<AgentBriefDoc>,
    /// The call that started it; null for a main agent, or when nobody knows.
    pub started_by: Option<StepBriefDoc>,
    /// The link that leads into it from there, as FROM..TO; null when there is none.
    pub link: Option<String>,
    /// That call is inferred.
    pub inferred: bool,
    /// Somebody started it, and no record says who.
    pub start_unknown: bool,
    /// Its steps that failed.
    pub failures: usize,
    /// How many of them were overcome.
    pub overcome: usize,
    /// The one that matters most: the last of the worst.
    pub worst: WorstDoc,
}

/// A failed step.
#[derive(Serialize, JsonSchema)]
pub struct WorstDoc {
    /// Which.
    pub step: StepBriefDoc,
    /// What it was for, or the first words of it.
    pub detail: String,
    /// First words of what went wrong, where its source says.
    pub error: Option<String>,
    /// What became of it, as in the failures of a session.
    pub outcome: &'static str,
    /// A person refused it.
    pub refused: bool,
    /// The failure that it came from in the first place; null when it is a first one.
    pub first_cause: Option<StepBriefDoc>,
}

/// How bad a failure is; what a person refused did not fail by itself.
fn badness(outcome: Outcome, is_refused: bool) -> u32 {
    let bad = match outcome {
        Outcome::Retried(_) => 0,
        Outcome::WorkedAround => 1,
        Outcome::RunCompleted => 2,
        Outcome::EndedAgent | Outcome::FailedAgain(_) => 3,
        Outcome::EndedRun => 4,
    };
    2 * bad + u32::from(!is_refused)
}

#[derive(Default)]
struct Failed {
    count: usize,
    overcome: usize,
    /// How bad, and which.
    worst: Option<(u32, u32, Outcome)>,
}

/// What went wrong in a flow.
pub fn trouble(flow: &Flow, batch: &Batch) -> TroubleDoc {
    let mut by_agent: BTreeMap<u32, Failed> = BTreeMap::new();
    let (mut failures, mut overcome) = (0, 0);
    for (n, outcome) in outcomes(flow) {
        let failed = by_agent.entry(flow.steps[n as usize].agent).or_default();
        let bad = badness(outcome, is_refused(flow, &batch.text, n));
        failed.count += 1;
        failed.overcome += usize::from(outcome.is_overcome());
        failed.worst = failed.worst.filter(|(worse, _, _)| *worse > bad).or(Some((bad, n, outcome)));
        (failures, overcome) = (failures + 1, overcome + usize::from(outcome.is_overcome()));
    }
    let mut agents: Vec<(u32, Failed)> = by_agent.into_iter().collect();
    agents.sort_by_key(|(_, failed)| failed.overcome == failed.count);
    let agents_left_out = agents.len().saturating_sub(MAX_TROUBLED_AGENTS);
    agents.truncate(MAX_TROUBLED_AGENTS);
    let causes = causes_of(flow, &batch.text);
    let starts = starts(flow);
    let told = agents.into_iter().filter_map(|(n, failed)| {
        let agent = flow.agents.get(n as usize)?;
        let (_, worst, outcome) = failed.worst?;
        let error = flow.error_of(worst as usize).some();
        Some(TroubledAgentDoc {
            agent: agent_brief(batch, agent),
            status: agent.status.name(),
            above: above(flow, batch, agent.parent),
            started_by: agent.spawn.and_then(|spawn| step_brief(flow, batch, spawn.step)),
            link: starts.get(&n).cloned(),
            inferred: agent.spawn.is_some_and(|spawn| spawn.is_inferred()),
            start_unknown: agent.spawn.is_none() && !agent.main && !agent.internal,
            failures: failed.count,
            overcome: failed.overcome,
            worst: WorstDoc {
                step: step_brief(flow, batch, worst)?,
                detail: step_detail(batch, flow.steps.get(worst as usize)?).into(),
                error: error.map(|error| batch.text.get(error).to_string()),
                outcome: outcome.name(),
                refused: is_refused(flow, &batch.text, worst),
                first_cause: causes.back(worst).first.and_then(|cause| step_brief(flow, batch, cause)),
            },
        })
    });
    TroubleDoc {
        session_id: flow.session.id.show('x'),
        failures,
        overcome,
        agents: told.collect(),
        agents_left_out,
    }
}

/// By agent, the first link that starts it.
fn starts(flow: &Flow) -> BTreeMap<u32, String> {
    let id = |step: u32| flow.steps[step as usize].id.show('s');
    let mut starts = BTreeMap::new();
    for edge in flow.edges.iter().filter(|edge| edge.kind == EdgeKind::SubagentSpawn) {
        let agent = flow.steps[edge.to as usize].agent;
        starts.entry(agent).or_insert_with(|| format!("{}..{}", id(edge.from), id(edge.to)));
    }
    starts
}

/// An agent and those that started it, the outermost first. Agents that start each other in a circle end the walk.
fn above(flow: &Flow, batch: &Batch, mut at: u32) -> Vec<AgentBriefDoc> {
    let mut above = Vec::new();
    while let Some(agent) = flow.agents.get(at as usize).filter(|_| above.len() < flow.agents.len()) {
        above.push(agent_brief(batch, agent));
        at = agent.parent;
    }
    above.reverse();
    above
}

#[cfg(test)]
mod tests {
    use super::{MAX_TROUBLED_AGENTS, trouble};
    use crate::drawn::Drawn;
    use unspool_model::EdgeKind;

    #[test]
    fn an_agent_that_failed_for_good_comes_before_one_that_went_on() {
        let words = ["user", "model:opus", "tool:Bash!", "model:opus", "tool:Task", "model:opus"];
        let mut drawn =
            Drawn::of_words(&words).with_agent(4, "Explore", &["user", "model:opus", "tool:Grep! needle"]);
        let failed = drawn.flow.steps.iter().rposition(|step| step.is_error).unwrap();
        let words = drawn.batch.text.intern("no such file");
        drawn.edge(4, 6, EdgeKind::SubagentSpawn);
        drawn.flow.errors.push((u32::try_from(failed).unwrap(), words));
        let doc = trouble(&drawn.flow, &drawn.batch);
        assert_eq!((doc.failures, doc.overcome, doc.agents_left_out), (2, 1, 0));
        let told: Vec<(&str, &str, usize)> = doc
            .agents
            .iter()
            .map(|one| (one.agent.label.as_str(), one.worst.step.label.as_str(), one.overcome))
            .collect();
        assert_eq!(told, [("Explore", "Grep", 0), ("main", "Bash", 1)]);
        let explore = &doc.agents[0];
        assert_eq!(
            (explore.worst.error.as_deref(), explore.worst.detail.as_str()),
            (Some("no such file"), "needle")
        );
        assert_eq!(explore.started_by.as_ref().map(|step| step.seq), Some(4));
        assert_eq!(explore.above.iter().map(|agent| agent.label.as_str()).collect::<Vec<_>>(), ["main"]);
        let link = explore.link.as_deref().unwrap();
        assert!(link.starts_with(&drawn.flow.steps[4].id.show('s')), "{link}");
        assert!(doc.agents[1].above.is_empty() && doc.agents[1].started_by.is_none());
    }

    #[test]
    fn an_agent_that_nobody_is_known_to_have_started_says_so() {
        let mut drawn = Drawn::of_words(&["user", "tool:Task"]).with_agent(1, "Explore", &["tool:Grep!"]);
        let unknown = |drawn: &Drawn| trouble(&drawn.flow, &drawn.batch).agents[0].start_unknown;
        assert!(!unknown(&drawn));
        drawn.flow.agents[1].spawn = None;
        assert!(unknown(&drawn));
        drawn.flow.agents[1].internal = true;
        assert!(!unknown(&drawn), "the client runs it for itself");
    }

    #[test]
    fn nothing_failed_and_too_much_failed() {
        let Drawn { flow, batch } = Drawn::of_words(&["user", "model:opus", "tool:Bash"]);
        assert!(trouble(&flow, &batch).agents.is_empty());
        let mut drawn = Drawn::of_words(&["user", "model:opus", "tool:Task"]);
        for _ in 0..MAX_TROUBLED_AGENTS + 3 {
            drawn = drawn.with_agent(2, "Explore", &["user", "tool:Grep!"]);
        }
        let doc = trouble(&drawn.flow, &drawn.batch);
        assert_eq!((doc.agents.len(), doc.agents_left_out), (MAX_TROUBLED_AGENTS, 3));
    }
}
