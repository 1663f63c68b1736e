//! Findings: waste and trouble in a session that a person would want to know of.
//!
//! In: a flow and prices. Out: findings, each with its steps and its cost. Never here: advice, a guess about intent, a
//! second opinion on causes. Every finder has a file and a line in `FINDERS`; docs/findings.md says what each takes for what.

mod compaction;
mod context_growth;
mod cost;
mod cycles;
mod re_read;
mod repeated_calls;
mod retry_storm;
mod session;
mod slow_steps;
mod tools;
mod unanswered;
mod unused_agents;

pub use cost::CostDoc;

use crate::prices::Prices;
use cost::Cost;
use schemars::JsonSchema;
use serde::Serialize;
use session::Session;
use unspool_model::{Batch, Flow};

/// One finder.
pub struct Finder {
    /// Stable name.
    pub code: &'static str,
    /// One sentence for people: what it looks for.
    pub sentence: &'static str,
    rests_on: Basis,
    find: fn(&Session<'_>) -> Vec<Finding>,
}

/// What must be known of a session before a finder can say anything.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Basis {
    /// Single steps.
    Steps,
    /// What came after what.
    Order,
    /// That something is not recorded: inferred, and only in a record that is known to lack nothing.
    Absence,
}

/// All finders, in the order their findings are told.
pub const FINDERS: &[Finder] = &[
    retry_storm::FINDER,
    cycles::FINDER,
    repeated_calls::FINDER,
    re_read::FINDER,
    compaction::FINDER,
    context_growth::FINDER,
    slow_steps::FINDER,
    unanswered::FINDER,
    unused_agents::FINDER,
];

/// What a finder found.
struct Finding {
    title: String,
    /// In order.
    steps: Vec<u32>,
    /// The steps that need not have been.
    cost: Cost,
}

/// Findings of some sessions.
#[derive(Serialize, JsonSchema)]
pub struct FindingsDoc {
    /// Always `unspool.findings/1`.
    pub schema: &'static str,
    /// Sessions with what was found in them, oldest first; those without findings too.
    pub sessions: Vec<SessionFindingsDoc>,
    /// Patterns that the prompts of sub-agents share, over all sessions, most used first.
    pub templates: Vec<crate::templates::TemplateDoc>,
    /// Prompts that were compared with the first 200 patterns that begin alike (`MAX_CANDIDATES`), and with no others: templates
    /// may be missing.
    pub unmatched_prompts: u64,
}

/// Findings of one session.
#[derive(Serialize, JsonSchema)]
pub struct SessionFindingsDoc {
    /// Deterministic id.
    pub id: String,
    /// The ids its sources gave it.
    pub native_ids: Vec<String>,
    /// Title, or first prompt.
    pub title: Option<String>,
    /// What was found, by finder, then in order of `seq`.
    pub findings: Vec<FindingDoc>,
}

/// One finding.
#[derive(Serialize, JsonSchema)]
pub struct FindingDoc {
    /// Stable name of the finder; docs/findings.md has them all.
    pub code: &'static str,
    /// What was found, in a sentence.
    pub title: String,
    /// It rests on something that is not recorded, in a record that holds all else of its sort.
    pub inferred: bool,
    /// The agent it is about.
    pub agent_id: String,
    /// The steps it is about, in order.
    pub step_ids: Vec<String>,
    /// What it cost.
    pub cost: CostDoc,
}

/// Looks for everything in one session. The flow must hold text (`Detail::Full`) for all finders to work.
pub fn findings(flow: &Flow, batch: &Batch, prices: &Prices) -> SessionFindingsDoc {
    let session = Session::new(flow, &batch.text, prices);
    let mut docs = Vec::new();
    for finder in FINDERS.iter().filter(|finder| session.allows(finder.rests_on)) {
        let mut found = (finder.find)(&session);
        found.sort_by(|a, b| a.steps.cmp(&b.steps));
        docs.extend(found.into_iter().map(|finding| doc(finder, finding, flow)));
    }
    SessionFindingsDoc {
        id: flow.session.id.show('x'),
        native_ids: flow.session.native_ids.iter().map(|id| batch.text.get(*id).to_string()).collect(),
        title: flow.session.title.some().map(|title| batch.text.get(title).to_string()),
        findings: docs,
    }
}

fn doc(finder: &Finder, finding: Finding, flow: &Flow) -> FindingDoc {
    let first = finding.steps.first().and_then(|step| flow.steps.get(*step as usize));
    let agent = first.and_then(|step| flow.agents.get(step.agent as usize));
    FindingDoc {
        code: finder.code,
        title: finding.title,
        inferred: finder.rests_on == Basis::Absence,
        agent_id: agent.map(|agent| agent.id.show('a')).unwrap_or_default(),
        step_ids: finding.steps.iter().map(|step| flow.steps[*step as usize].id.show('s')).collect(),
        cost: finding.cost.doc(),
    }
}

#[cfg(test)]
mod tests;
