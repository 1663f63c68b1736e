//! What the picture of a session rests on: what is missing, what is inferred, what is estimated.
//!
//! In: a flow. Out: counts in words. Never here: a verdict on the session.

use crate::prices::Prices;
use crate::totals::Pricer;
use schemars::JsonSchema;
use serde::Serialize;
use unspool_model::{AgentSource, Batch, Flow, Severity, Step, StepKind};

/// What a session's picture rests on.
#[derive(Serialize, JsonSchema)]
pub struct CompletenessDoc {
    /// Things that are missing.
    pub missing: u64,
    /// Things that are inferred.
    pub inferred: u64,
    /// Things that are estimated.
    pub estimated: u64,
    /// What exactly, the weightiest first.
    pub parts: Vec<GapDoc>,
}

/// One sort of gap.
#[derive(Serialize, JsonSchema)]
pub struct GapDoc {
    /// `missing`, `inferred`, `estimated`, or `noted` for what is worth knowing and changes nothing.
    pub sort: &'static str,
    /// The name of the issue; null when it is none.
    pub code: Option<&'static str>,
    /// How many.
    pub count: u64,
    /// In few words.
    pub label: String,
    /// In a sentence.
    pub sentence: String,
    /// A query that finds the steps; null when none does.
    pub query: Option<&'static str>,
}

const SORTS: [&str; 4] = ["missing", "inferred", "estimated", "noted"];

/// What the picture of a flow rests on.
pub(super) fn completeness(flow: &Flow, batch: &Batch, prices: &Prices) -> CompletenessDoc {
    let mut parts: Vec<GapDoc> = issues(flow, batch).chain(gaps(flow, batch, prices)).collect();
    parts.sort_by_key(|part| {
        (SORTS.iter().position(|sort| *sort == part.sort), std::cmp::Reverse(part.count))
    });
    let sum = |sort: &str| parts.iter().filter(|part| part.sort == sort).map(|part| part.count).sum();
    CompletenessDoc { missing: sum("missing"), inferred: sum("inferred"), estimated: sum("estimated"), parts }
}

fn issues<'a>(flow: &'a Flow, batch: &'a Batch) -> impl Iterator<Item = GapDoc> + 'a {
    flow.issues.iter().map(|issue| {
        let detail = batch.text.get(issue.detail);
        let label = issue.code.name().replace('_', " ");
        GapDoc {
            sort: if issue.code.severity() == Severity::Info { "noted" } else { "missing" },
            code: Some(issue.code.name()),
            count: issue.count,
            label: if detail.is_empty() { label } else { format!("{label}: {detail}") },
            sentence: issue.code.sentence().into(),
            query: None,
        }
    })
}

/// What is counted over steps, edges and agents; what there is none of is left out.
fn gaps(flow: &Flow, batch: &Batch, prices: &Prices) -> impl Iterator<Item = GapDoc> {
    let steps = |is: &dyn Fn(&Step) -> bool| flow.steps.iter().filter(|step| is(step)).count() as u64;
    let mut pricer = Pricer::new(flow, &batch.text, prices);
    let unpriced = pricer.unpriced_models();
    let models: Vec<&str> =
        unpriced.keys().map(|name| if name.is_empty() { "no name" } else { *name }).collect();
    let unpriced_about =
        format!("The cost leaves out calls of models that have no price: {}.", models.join(", "));
    let uncounted = |step: &Step| step.kind == StepKind::ModelCall && flow.usage_of(step).is_none();
    let inferred_edges = flow.edges.iter().filter(|edge| edge.rule.inferred()).count() as u64;
    let inferred_starts =
        flow.agents.iter().filter(|agent| agent.spawn.is_some_and(|spawn| spawn.is_inferred())).count()
            as u64;
    let found = [
        (
            "missing",
            steps(&uncounted),
            "model calls without tokens",
            "No record says how many tokens they took; they are in no sum of tokens or money.",
            Some("kind:model_call -tokens>=0"),
        ),
        (
            "missing",
            unpriced.values().sum(),
            "calls without a price",
            unpriced_about.as_str(),
            Some("is:unpriced"),
        ),
        (
            "missing",
            steps(&|step| step.pending),
            "steps without an end",
            "They began, and nothing says that they ended.",
            Some("is:pending"),
        ),
        (
            "missing",
            steps(&|step| !step.started.is_some() && !step.ended.is_some()),
            "steps without a time",
            "No record says when they happened; they stand where their order puts them.",
            None,
        ),
        (
            "inferred",
            inferred_edges,
            "links inferred",
            "No id says that one step led to another; a rule infers it. Each link says which, and how often it is right.",
            Some("is:inferred"),
        ),
        (
            "inferred",
            inferred_starts,
            "starts of agents inferred",
            "No id says which call started the agent; a rule infers it.",
            None,
        ),
        (
            "inferred",
            steps(&|step| step.agent_source != AgentSource::Stated),
            "steps whose agent is inferred",
            "Their records name no agent: that of the span around them was taken, or the main one.",
            None,
        ),
        (
            "estimated",
            steps(&|step| step.start_estimated),
            "begins estimated",
            "No record has the moment they began; it is the moment their input was complete, or follows from their end.",
            Some("is:estimated"),
        ),
    ];
    let gap =
        |(sort, count, label, sentence, query): (&'static str, u64, &str, &str, Option<&'static str>)| {
            GapDoc { sort, code: None, count, label: label.into(), sentence: sentence.into(), query }
        };
    found.into_iter().filter(|(_, count, ..)| *count > 0).map(gap).collect::<Vec<_>>().into_iter()
}

#[cfg(test)]
mod tests {
    use super::completeness;
    use crate::drawn::Drawn;
    use crate::prices::Prices;
    use crate::query::Query;
    use unspool_model::EdgeKind;

    #[test]
    fn what_is_missing_inferred_and_estimated_is_told_apart() {
        let mut drawn = Drawn::of_words(&["user", "model:opus", "tool:Bash", "model:opus"]);
        drawn.flow.steps[2].pending = true;
        drawn.flow.steps[3].start_estimated = true;
        drawn.edge(2, 3, EdgeKind::ContentReuse);
        let doc = completeness(&drawn.flow, &drawn.batch, &Prices::default());
        assert_eq!((doc.missing, doc.inferred, doc.estimated), (3, 1, 1));
        let sorts: Vec<&str> = doc.parts.iter().map(|part| part.sort).collect();
        assert_eq!(sorts, ["missing", "missing", "inferred", "estimated"]);
        for query in doc.parts.iter().filter_map(|part| part.query) {
            Query::parse(query).unwrap();
        }
    }

    #[test]
    fn a_whole_session_has_no_gap() {
        let drawn = Drawn::of_words(&["user", "tool:Bash"]);
        assert!(completeness(&drawn.flow, &drawn.batch, &Prices::default()).parts.is_empty());
    }
}
