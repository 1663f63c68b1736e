//! A query's answer as JSON: schema `unspool.query/1`, a contract. Field names and meanings only grow.
//!
//! In: a flow and the steps that were selected. Out: rows for the wire and for tables. Never here: evaluating.

use crate::prices::Prices;
use crate::query::Selection;
use crate::search::{Answers, Snippet};
use crate::totals::Pricer;
use schemars::JsonSchema;
use serde::Serialize;
use unspool_model::{Agent, Batch, Flow, Sym, Timestamp};

/// The name and version of this schema.
const SCHEMA: &str = "unspool.query/1";

/// The steps for which a query holds.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "QueryDoc")]
pub struct QueryDoc<S = Vec<SessionHits>> {
    /// Always `unspool.query/1`.
    pub schema: &'static str,
    /// The query as it was understood.
    pub query: String,
    /// Sessions with such steps, oldest first.
    pub sessions: S,
}

impl<S> QueryDoc<S> {
    /// The whole document; `sessions` may be a list or something that is written like one.
    pub fn new(query: String, sessions: S) -> QueryDoc<S> {
        QueryDoc { schema: SCHEMA, query, sessions }
    }
}

/// What was selected in one session.
#[derive(Serialize, JsonSchema)]
pub struct SessionHits {
    /// Deterministic id.
    pub id: String,
    /// The ids its sources gave it, sorted.
    pub native_ids: Vec<String>,
    /// Given title, or the first prompt.
    pub title: Option<String>,
    /// For how many of its steps the query holds; `steps` may list fewer.
    pub found: usize,
    /// How many steps it has in all.
    pub of_steps: usize,
    /// Records that could not be looked into for `text:` conditions.
    pub unread_records: u64,
    /// The steps, in order of `seq`.
    pub steps: Vec<StepHit>,
}

/// One step that was selected.
#[derive(Serialize, JsonSchema)]
pub struct StepHit {
    /// Deterministic id; `unspool explain` takes it.
    pub id: String,
    /// Position in the depth-first order of the session's tree.
    pub seq: usize,
    /// Kind of step, as in the JSON export.
    pub kind: &'static str,
    /// Tool, model, agent type, subtype or hook, as the kind has it.
    pub name: Option<String>,
    /// Id of the agent whose step it is.
    pub agent_id: String,
    /// What the agent is called: `main`, its type, or its name.
    pub agent: String,
    /// The run it belongs to.
    pub run_id: Option<String>,
    /// When it began.
    pub started_at: Option<String>,
    /// Milliseconds it took.
    pub duration_ms: Option<i64>,
    /// All its tokens; null when none were reported.
    pub tokens: Option<u64>,
    /// US dollars; null when it used no tokens or its model has no price.
    pub cost_usd: Option<f64>,
    /// It failed.
    pub is_error: bool,
    /// It has begun and nothing says that it ended.
    pub pending: bool,
    /// First words of the message, or what the tool was given, without what is meant for a terminal (colours and the like).
    pub preview: Option<String>,
    /// What it was for.
    pub intent: Option<String>,
    /// First words of what went wrong.
    pub error: Option<String>,
    /// The first hit of each `text:` condition that it has one of.
    pub snippets: Vec<SnippetDoc>,
}

/// Words that were looked for, with what stands around them.
#[derive(Serialize, JsonSchema)]
pub struct SnippetDoc {
    /// Before.
    pub before: String,
    /// The words as they stand there.
    pub hit: String,
    /// Behind.
    pub after: String,
}

impl From<&Snippet> for SnippetDoc {
    fn from(snippet: &Snippet) -> SnippetDoc {
        let Snippet { before, hit, after } = snippet.clone();
        SnippetDoc { before, hit, after }
    }
}

/// The selected steps of a flow, at most so many of them.
pub fn session_hits(
    flow: &Flow,
    batch: &Batch,
    prices: &Prices,
    selected: &Selection,
    answers: &Answers,
    limit: usize,
) -> SessionHits {
    let text = |sym: Sym| sym.some().map(|sym| batch.text.get(sym).to_string());
    let time = |at: Timestamp| at.is_some().then(|| at.to_string());
    let mut pricer = Pricer::new(flow, &batch.text, prices);
    let steps = selected.iter().take(limit).map(|seq| {
        let step = &flow.steps[seq];
        let agent = flow.agents.get(step.agent as usize);
        let sums = pricer.step(step);
        let tokens = flow.usage_of(step).map(unspool_model::Usage::total);
        let found = answers.found.iter().filter_map(|found| found.snippet(seq));
        StepHit {
            id: step.id.show('s'),
            seq,
            kind: step.kind.name(),
            name: text(step.name),
            agent_id: agent.map(|agent| agent.id.show('a')).unwrap_or_default(),
            agent: agent.map(|agent| agent_label(agent, batch)).unwrap_or_default(),
            run_id: flow.runs.get(step.run as usize).map(|run| run.id.show('u')),
            started_at: time(step.started),
            duration_ms: step.duration_ms.get(),
            tokens,
            cost_usd: sums.full_cost().filter(|_| tokens.is_some()).map(crate::Money::dollars),
            is_error: step.is_error,
            pending: step.pending,
            preview: text(step.preview),
            intent: text(step.intent),
            error: text(flow.error_of(seq)),
            snippets: found.map(SnippetDoc::from).collect(),
        }
    });
    SessionHits {
        id: flow.session.id.show('x'),
        native_ids: flow.session.native_ids.iter().filter_map(|id| text(*id)).collect(),
        title: text(flow.session.title),
        found: selected.count(),
        of_steps: flow.steps.len(),
        unread_records: answers.unread_records,
        steps: steps.collect(),
    }
}

/// What an agent is called: `main`, its type, its name, or its id.
pub fn agent_label(agent: &Agent, batch: &Batch) -> String {
    let name = |sym: Sym| sym.some().map(|sym| batch.text.get(sym));
    let own = name(agent.kind).or(name(agent.name)).or(name(agent.native_id));
    let label = if agent.main { Some("main") } else { own };
    label.unwrap_or("agent").to_string()
}
