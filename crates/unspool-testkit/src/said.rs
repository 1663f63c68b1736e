//! Things that people might say about the links of a session: right and wrong, several times, and about what is not there.

use crate::Random;
use serde_json::json;
use unspool_link::Corpus;
use unspool_model::{EdgeKind, Flow, StepKind, Timestamp, Verdict};
use unspool_view::screen::{Wanted, declare};

/// Moments at which something is said: few, so that some things are said at the same time.
const MOMENTS: i64 = 20;

/// So many lines about each session of a corpus, each a record of its own. Half of them are what the server would write.
pub fn said(corpus: &Corpus, random: &mut Random, count: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for flow in corpus.flows().filter(|flow| !flow.steps.is_empty()) {
        for _ in 0..count {
            let now = Timestamp::from_ms(1_800_000_000_000 + random.between(0, MOMENTS) * 1000);
            lines.push(if random.percent(50) {
                checked(&flow, corpus, random, now).unwrap_or_else(|| anything(&flow, corpus, random, now))
            } else {
                anything(&flow, corpus, random, now)
            });
        }
    }
    lines
}

/// What the server would write about an edge that is there.
fn checked(flow: &Flow, corpus: &Corpus, random: &mut Random, now: Timestamp) -> Option<String> {
    let edges: Vec<_> = flow.edges.iter().filter(|edge| edge.kind.can_be_declared()).collect();
    let edge = edges.get(random.below(edges.len()))?;
    let id = |n: u32| flow.steps[n as usize].id.show('s');
    let wanted = Wanted {
        verdict: if random.percent(50) { Verdict::Confirm } else { Verdict::Deny },
        from: &id(edge.from),
        to: &id(edge.to),
        kind: Some(edge.kind.name()),
        who: "ada",
        note: "",
    };
    declare(flow, &corpus.batch, &wanted, now).ok()
}

/// Whatever comes to mind.
fn anything(flow: &Flow, corpus: &Corpus, random: &mut Random, now: Timestamp) -> String {
    let text = |sym| corpus.batch.text.get(sym);
    let kinds: Vec<EdgeKind> = EdgeKind::ALL.into_iter().filter(|kind| kind.can_be_declared()).collect();
    // Starts are what most is inferred about.
    let is_start = random.percent(60);
    let kind = if is_start { EdgeKind::SubagentSpawn } else { kinds[random.below(kinds.len())] };
    let end = |random: &mut Random, is_agent: bool| {
        let step = &flow.steps[random.below(flow.steps.len())];
        let agent = &flow.agents[random.below(flow.agents.len())];
        match random.below(12) {
            0 => "nothing".to_string(),
            1..=3 => step.id.show('s'),
            4 if is_agent => agent.id.show('a'),
            _ if is_agent => text(agent.native_id).into(),
            _ if step.kind == StepKind::ModelCall => text(step.message_id).into(),
            _ => text(step.tool_use_id).into(),
        }
    };
    let line = json!({
        "unspool": "link",
        "at": now.to_string(),
        "session": flow.session.native_ids.first().map_or("", |native| text(*native)),
        "message": flow.steps.iter().map(|step| text(step.message_id)).find(|id| !id.is_empty()),
        "action": Verdict::ALL[random.below(4)].name(),
        "from": end(random, false),
        "to": end(random, is_start),
        "kind": kind.name(),
        "who": if random.percent(50) { "ada" } else { "grace" },
    });
    format!("{line}\n")
}
