//! One step whole: what is known of it, the records that say so as they were written, and why it is linked as it is.

use super::brief::{AgentBriefDoc, StepBriefDoc, agent_brief, step_brief};
use super::content::{ContentDoc, MAX_RECORD_BYTES, record_content};
use super::counted::why_counted;
use super::links::{SaidDoc, said, said_of};
use super::numbers::{BucketDoc, buckets};
use crate::explain::{Explanation, explain_step};
use crate::flow_json::{EdgeDoc, StepDoc, edge_doc, step_doc};
use crate::labels::{step_detail as detail_of, step_name};
use crate::prices::{Money, Prices};
use crate::search::NativeBytes;
use crate::totals::Pricer;
use schemars::JsonSchema;
use serde::Serialize;
use std::borrow::Cow;
use unspool_model::flow::NONE;
use unspool_model::{
    Agent, Batch, DeclaredLink, Edge, EdgeKind, Flow, LinkStanding, RecordIx, Rule, Verdict,
};

/// One step whole.
#[derive(Serialize, JsonSchema)]
pub struct StepDetailDoc {
    /// The session.
    pub session_id: String,
    /// The tool, the model, or who spoke.
    pub label: String,
    /// What it was for, or the first words of it.
    pub detail: String,
    /// US dollars; null when it used no tokens or its model has no price.
    pub cost_usd: Option<f64>,
    /// Its tokens and what they cost, bucket by bucket; empty when none were reported.
    pub buckets: Vec<BucketDoc>,
    /// Why these tokens are counted, or why none are, in sentences.
    pub why_counted: Vec<String>,
    /// What is known of it.
    pub step: StepDoc,
    /// Whose step.
    pub agent: Option<AgentBriefDoc>,
    /// The step above it in the tree.
    pub parent: Option<StepBriefDoc>,
    /// The steps directly below it in the tree, the first of them.
    pub children: Vec<StepBriefDoc>,
    /// How many steps are directly below it.
    pub child_count: usize,
    /// What led to it.
    pub edges_in: Vec<StepEdgeDoc>,
    /// What it led to.
    pub edges_out: Vec<StepEdgeDoc>,
    /// Agents it started, with the starts that were considered and not believed.
    pub started: Vec<StartedDoc>,
    /// The records that say it happened, as they were written.
    pub records: Vec<RecordDoc>,
    /// What people said about its links that is no edge now: denied, or not possible.
    pub said: Vec<SaidDoc>,
    /// The same in sentences.
    pub explanation: Explanation,
}

/// A relation, seen from one of its ends.
#[derive(Serialize, JsonSchema)]
pub struct StepEdgeDoc {
    /// The relation.
    #[serde(flatten)]
    pub edge: EdgeDoc,
    /// Why such a relation is believed, in words.
    pub rule_sentence: &'static str,
    /// Its other end.
    pub other: Option<StepBriefDoc>,
    /// What somebody said of it.
    pub said: Option<SaidDoc>,
    /// Somebody may confirm or deny it.
    pub can_say: bool,
    /// Of the start of an agent: starts that were considered for it and not believed; the first of them, if there are many.
    pub rivals: Vec<RivalDoc>,
    /// How many starts had something speak for them and were not chosen.
    pub rival_count: u32,
}

/// A start that was considered for an agent and not believed.
#[derive(Serialize, JsonSchema)]
pub struct RivalDoc {
    /// Native id of the call; null where it has none.
    pub tool_use_id: Option<String>,
    /// The call, where it is a step of the session.
    pub step_id: Option<String>,
    /// Why not.
    pub reason: &'static str,
    /// Why not, in words.
    pub sentence: &'static str,
}

/// An agent that a step started.
#[derive(Serialize, JsonSchema)]
pub struct StartedDoc {
    /// The agent.
    pub agent: AgentBriefDoc,
    /// Why it is believed.
    pub rule: &'static str,
    /// Why such a start is believed, in words.
    pub rule_sentence: &'static str,
    /// 1 for explicit ids; for inferred rules, the share that was right when measured.
    pub confidence: f64,
    /// The rule guesses.
    pub inferred: bool,
    /// Starts that were considered for it and not believed; the first of them, if there are many.
    pub rivals: Vec<RivalDoc>,
    /// How many starts had something speak for them and were not chosen.
    pub rival_count: u32,
}

/// A record as it was written.
#[derive(Serialize, JsonSchema)]
pub struct RecordDoc {
    /// Its id.
    pub id: String,
    /// The format that read it.
    pub format: String,
    /// The stream it came from.
    pub stream: String,
    /// Its position in the stream, from 0.
    pub ordinal: u32,
    /// Its bytes, or the first of them.
    #[serde(flatten)]
    pub content: ContentDoc,
    /// What the bytes say, as JSON, when they are no text themselves: spans in protobuf. Null when that is too long to be told.
    pub readable: Option<String>,
}

/// Steps below a step that are listed: `max_children_shown`.
const MAX_CHILDREN: usize = 200;

/// One step of a flow, by its place, whole.
pub fn step_detail(
    flow: &Flow,
    batch: &Batch,
    prices: &Prices,
    natives: &mut dyn NativeBytes,
    n: usize,
) -> StepDetailDoc {
    let step = &flow.steps[n];
    let index = u32::try_from(n).unwrap_or(NONE);
    let brief = |at: u32| step_brief(flow, batch, at);
    let edge = |edge: &Edge, other: u32| StepEdgeDoc {
        edge: edge_doc(flow, batch, edge),
        rule_sentence: edge.rule.sentence(),
        other: brief(other),
        said: said_of(flow, edge).map(|link| said(flow, batch, link)),
        can_say: edge.kind.can_be_declared(),
        rivals: started_by(flow, edge).map(|agent| rivals(flow, batch, agent)).unwrap_or_default(),
        rival_count: started_by(flow, edge).map_or(0, |agent| agent.rival_count),
    };
    let edges_in = flow.edges.iter().filter(|one| one.to == index).map(|one| edge(one, one.from));
    let edges_out = flow.edges.iter().filter(|one| one.from == index).map(|one| edge(one, one.to));
    let below = || (0u32..).zip(&flow.steps).filter(|(_, below)| below.parent == index);
    let mut pricer = Pricer::new(flow, &batch.text, prices);
    let (sums, costs) = (pricer.step(step), pricer.costs(step));
    let in_buckets = |usage| buckets(usage, costs.unwrap_or_default(), costs.is_some());
    StepDetailDoc {
        session_id: flow.session.id.show('x'),
        label: step_name(batch, step),
        detail: detail_of(batch, step).into(),
        cost_usd: sums.full_cost().filter(|_| flow.usage_of(step).is_some()).map(Money::dollars),
        buckets: flow.usage_of(step).map(in_buckets).unwrap_or_default(),
        why_counted: why_counted(flow, batch, step, costs.is_some()),
        step: step_doc(flow, batch, n),
        agent: flow.agents.get(step.agent as usize).map(|agent| agent_brief(batch, agent)),
        parent: brief(step.parent),
        children: below().take(MAX_CHILDREN).filter_map(|(n, _)| brief(n)).collect(),
        child_count: below().count(),
        edges_in: edges_in.collect(),
        edges_out: edges_out.collect(),
        started: started(flow, batch, index),
        said: unseen(flow, batch, index),
        records: flow.witnesses_of(step).iter().map(|record| record_doc(batch, natives, *record)).collect(),
        explanation: explain_step(flow, batch, prices, n),
    }
}

/// What counts and shows in no edge of a step.
fn unseen(flow: &Flow, batch: &Batch, step: u32) -> Vec<SaidDoc> {
    let is_edge = |link: &DeclaredLink| {
        flow.edges
            .iter()
            .any(|edge| edge.rule == Rule::Manual && link.is_about(edge.from, edge.to, edge.kind))
    };
    let about = flow.links.iter().filter(|link| [link.from_step, link.to_step].contains(&step));
    about
        .filter(|link| link.standing != LinkStanding::Superseded && link.verdict != Verdict::Remove)
        .filter(|link| !is_edge(link))
        .map(|link| said(flow, batch, link))
        .collect()
}

/// The agent that an edge is the start of.
fn started_by<'f>(flow: &'f Flow, edge: &Edge) -> Option<&'f Agent> {
    let is_start = edge.kind == EdgeKind::SubagentSpawn;
    flow.agents.iter().find(|agent| is_start && agent.first_step == edge.to)
}

fn rivals(flow: &Flow, batch: &Batch, agent: &Agent) -> Vec<RivalDoc> {
    let rival = |rival: &unspool_model::Rival| RivalDoc {
        tool_use_id: rival.tool_use_id.some().map(|id| batch.text.get(id).into()),
        step_id: flow
            .steps
            .iter()
            .find(|step| rival.tool_use_id.some().is_some() && step.tool_use_id == rival.tool_use_id)
            .map(|step| step.id.show('s')),
        reason: rival.reason.name(),
        sentence: rival.reason.phrase(),
    };
    agent.rivals.iter().map(rival).collect()
}

fn started(flow: &Flow, batch: &Batch, step: u32) -> Vec<StartedDoc> {
    let of_step = flow.agents.iter().filter_map(|agent| Some((agent, agent.spawn?)));
    of_step
        .filter(|(_, spawn)| spawn.step == step)
        .map(|(agent, spawn)| StartedDoc {
            agent: agent_brief(batch, agent),
            rule: spawn.rule.name(),
            rule_sentence: spawn.rule.sentence(),
            confidence: spawn.confidence.as_f64(),
            inferred: spawn.is_inferred(),
            rivals: rivals(flow, batch, agent),
            rival_count: agent.rival_count,
        })
        .collect()
}

fn record_doc(batch: &Batch, natives: &mut dyn NativeBytes, n: RecordIx) -> RecordDoc {
    let stream = batch.stream_of(n);
    let record = batch.records.get(n as usize);
    let told = |text: &Cow<'_, str>| text.starts_with('{') && text.len() <= MAX_RECORD_BYTES;
    let readable = match natives.readable(n).filter(told) {
        Some(Cow::Owned(text)) => Some(text),
        Some(Cow::Borrowed(_)) | None => None,
    };
    RecordDoc {
        id: record.map(|record| record.id.show('r')).unwrap_or_default(),
        format: batch.text.get(stream.format).into(),
        stream: batch.text.get(stream.name).into(),
        ordinal: record.map_or(0, |record| record.ordinal),
        content: record_content(natives.bytes(n), MAX_RECORD_BYTES),
        readable,
    }
}

#[cfg(test)]
mod tests {
    use super::step_detail;
    use crate::drawn::Drawn;
    use crate::prices::Prices;
    use crate::search::NativeBytes;
    use std::borrow::Cow;
    use unspool_model::{RecordIx, StepKind};

    struct Nothing;

    impl NativeBytes for Nothing {
        fn bytes(&mut self, _: RecordIx) -> Option<&[u8]> {
            None
        }

        fn readable(&mut self, _: RecordIx) -> Option<Cow<'_, str>> {
            None
        }
    }

    #[test]
    fn a_step_tells_of_both_ends() {
        let mut drawn = Drawn::new();
        drawn.step(0, StepKind::UserMessage, "", (0, 1));
        drawn.step(0, StepKind::ModelCall, "opus", (1, 5));
        drawn.step(0, StepKind::ToolCall, "Bash", (5, 9));
        let detail = step_detail(&drawn.flow, &drawn.batch, &Prices::default(), &mut Nothing, 1);
        assert_eq!(detail.label, "opus");
        assert_eq!(detail.edges_in[0].other.as_ref().unwrap().label, "user");
        assert_eq!(detail.edges_out[0].other.as_ref().unwrap().label, "Bash");
        assert_eq!((detail.buckets.len(), detail.why_counted.len()), (0, 1));
        assert!(detail.explanation.subject == "step");
    }
}
