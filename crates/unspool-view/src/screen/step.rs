//! One step whole: what is known of it, the records that say so as they were written, and why it is linked as it is.

use crate::explain::{Explanation, explain_step};
use crate::flow_json::{EdgeDoc, SpawnRivalDoc, StepDoc, edge_doc, step_doc};
use crate::labels::{agent_detail, agent_name, step_detail as detail_of, step_name};
use crate::prices::{Money, Prices};
use crate::search::NativeBytes;
use crate::totals::Pricer;
use schemars::JsonSchema;
use serde::Serialize;
use unspool_model::flow::NONE;
use unspool_model::{Agent, Batch, Edge, Flow, RecordIx};

/// No more bytes of a record are told with a step: `max_record_bytes_shown`. All of them can be asked for by the record's id.
pub const MAX_RECORD_BYTES: usize = 256 << 10;

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
    /// The same in sentences.
    pub explanation: Explanation,
}

/// An agent in few words.
#[derive(Serialize, JsonSchema)]
pub struct AgentBriefDoc {
    /// Deterministic id.
    pub id: String,
    /// Its type, or that it is the main one.
    pub label: String,
    /// Its name, or what it was asked to do.
    pub detail: String,
}

/// A step in few words.
#[derive(Serialize, JsonSchema)]
pub struct StepBriefDoc {
    /// Deterministic id.
    pub id: String,
    /// Position in the depth-first order of the tree.
    pub seq: u32,
    /// Kind of step.
    pub kind: &'static str,
    /// The tool, the model, or who spoke.
    pub label: String,
    /// It failed.
    pub is_error: bool,
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
    pub rivals: Vec<SpawnRivalDoc>,
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
}

/// Bytes of a record.
#[derive(Serialize, JsonSchema)]
pub struct ContentDoc {
    /// `utf-8`, `base64`, or `none` when the bytes cannot be had.
    pub encoding: &'static str,
    /// The bytes in that encoding.
    pub content: String,
    /// How many bytes it has.
    pub bytes: u64,
    /// How many of them are not told here, by the limit `max_record_bytes_shown`.
    pub bytes_left_out: u64,
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
    };
    let edges_in = flow.edges.iter().filter(|one| one.to == index).map(|one| edge(one, one.from));
    let edges_out = flow.edges.iter().filter(|one| one.from == index).map(|one| edge(one, one.to));
    let below = || (0u32..).zip(&flow.steps).filter(|(_, below)| below.parent == index);
    let sums = Pricer::new(flow, &batch.text, prices).step(step);
    StepDetailDoc {
        session_id: flow.session.id.show('x'),
        label: step_name(batch, step),
        detail: detail_of(batch, step).into(),
        cost_usd: sums.full_cost().filter(|_| flow.usage_of(step).is_some()).map(Money::dollars),
        step: step_doc(flow, batch, n),
        agent: flow.agents.get(step.agent as usize).map(|agent| agent_brief(batch, agent)),
        parent: brief(step.parent),
        children: below().take(MAX_CHILDREN).filter_map(|(n, _)| brief(n)).collect(),
        child_count: below().count(),
        edges_in: edges_in.collect(),
        edges_out: edges_out.collect(),
        started: started(flow, batch, index),
        records: flow.witnesses_of(step).iter().map(|record| record_doc(batch, natives, *record)).collect(),
        explanation: explain_step(flow, batch, prices, n),
    }
}

fn agent_brief(batch: &Batch, agent: &Agent) -> AgentBriefDoc {
    AgentBriefDoc {
        id: agent.id.show('a'),
        label: agent_name(batch, agent),
        detail: agent_detail(batch, agent).into(),
    }
}

fn step_brief(flow: &Flow, batch: &Batch, n: u32) -> Option<StepBriefDoc> {
    let step = flow.steps.get(n as usize)?;
    Some(StepBriefDoc {
        id: step.id.show('s'),
        seq: n,
        kind: step.kind.name(),
        label: step_name(batch, step),
        is_error: step.is_error,
    })
}

fn started(flow: &Flow, batch: &Batch, step: u32) -> Vec<StartedDoc> {
    let of_step = flow.agents.iter().filter_map(|agent| Some((agent, agent.spawn?)));
    let rival = |rival: &unspool_model::Rival| SpawnRivalDoc {
        tool_use_id: batch.text.get(rival.tool_use_id).into(),
        reason: rival.reason.name(),
    };
    of_step
        .filter(|(_, spawn)| spawn.step == step)
        .map(|(agent, spawn)| StartedDoc {
            agent: agent_brief(batch, agent),
            rule: spawn.rule.name(),
            rule_sentence: spawn.rule.sentence(),
            confidence: spawn.confidence.as_f64(),
            inferred: spawn.is_inferred(),
            rivals: agent.rivals.iter().map(rival).collect(),
            rival_count: agent.rival_count,
        })
        .collect()
}

fn record_doc(batch: &Batch, natives: &mut dyn NativeBytes, n: RecordIx) -> RecordDoc {
    let stream = batch.stream_of(n);
    let record = batch.records.get(n as usize);
    RecordDoc {
        id: record.map(|record| record.id.show('r')).unwrap_or_default(),
        format: batch.text.get(stream.format).into(),
        stream: batch.text.get(stream.name).into(),
        ordinal: record.map_or(0, |record| record.ordinal),
        content: record_content(natives.bytes(n), MAX_RECORD_BYTES),
    }
}

/// Bytes of a record as text where they are text, at most so many.
pub fn record_content(bytes: Option<&[u8]>, most: usize) -> ContentDoc {
    let Some(bytes) = bytes else {
        return ContentDoc { encoding: "none", content: String::new(), bytes: 0, bytes_left_out: 0 };
    };
    let (encoding, content, told) = if let Ok(text) = std::str::from_utf8(bytes) {
        let end = (0..=most.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        ("utf-8", text[..end].to_string(), end)
    } else {
        let told = &bytes[..bytes.len().min(most)];
        ("base64", base64(told), told.len())
    };
    ContentDoc { encoding, content, bytes: bytes.len() as u64, bytes_left_out: (bytes.len() - told) as u64 }
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let at = |n: usize| u32::from(three.get(n).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for digit in 0..4 {
            if digit <= three.len() {
                text.push(char::from(DIGITS[(bits >> (18 - 6 * digit) & 63) as usize]));
            } else {
                text.push('=');
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{base64, record_content, step_detail};
    use crate::drawn::Drawn;
    use crate::prices::Prices;
    use crate::search::NativeBytes;
    use unspool_model::{RecordIx, StepKind};

    #[test]
    fn bytes_are_text_where_they_can_be() {
        let words = [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")];
        for (plain, packed) in words {
            assert_eq!(base64(plain.as_bytes()), packed);
        }
        let cut = record_content(Some("aé".as_bytes()), 2);
        assert_eq!((cut.encoding, cut.content.as_str(), cut.bytes_left_out), ("utf-8", "a", 2));
        assert_eq!(record_content(Some(&[255, 0]), 9).encoding, "base64");
        assert_eq!(record_content(None, 9).encoding, "none");
    }

    struct Nothing;

    impl NativeBytes for Nothing {
        fn bytes(&mut self, _: RecordIx) -> Option<&[u8]> {
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
        assert!(detail.explanation.subject == "step");
    }
}
