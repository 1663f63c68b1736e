//! One line per session.

use crate::flow_json::{UsageDoc, usage_doc};
use crate::totals::Totals;
use schemars::JsonSchema;
use serde::Serialize;
use unspool_model::{Batch, Flow, Severity, Timestamp, Usage};

/// A session in a list.
#[derive(Serialize, JsonSchema)]
pub struct SessionRow {
    /// Deterministic id.
    pub id: String,
    /// The ids its sources gave it.
    pub native_ids: Vec<String>,
    /// Title, or first prompt.
    pub title: Option<String>,
    /// Working directory.
    pub cwd: Option<String>,
    /// First moment.
    pub started_at: Option<String>,
    /// Last moment.
    pub ended_at: Option<String>,
    /// Milliseconds between them.
    pub duration_ms: Option<i64>,
    /// Status of its last run; where its source names runs, `failed` when one failed and `completed` when all did.
    pub status: &'static str,
    /// Runs.
    pub runs: usize,
    /// Sub-agents, without internal ones.
    pub subagents: usize,
    /// Sub-agents whose spawn was inferred.
    pub inferred_links: usize,
    /// Steps.
    pub steps: u64,
    /// Steps that failed.
    pub errors: u64,
    /// Tokens in five buckets; null when no source says how many.
    pub usage: Option<UsageDoc>,
    /// Tokens in all; null when no source says how many.
    pub tokens: Option<u64>,
    /// US dollars for the calls that have a price; null when no source says how many tokens were used.
    pub cost_usd: Option<f64>,
    /// Calls without a price.
    pub unpriced_calls: u64,
    /// Issues that are warnings or errors.
    pub issues: u64,
}

/// The line of a flow, given its sums.
pub fn session_row(flow: &Flow, batch: &Batch, sums: &Totals) -> SessionRow {
    let text = |sym| batch.text.get(sym).to_string();
    let time = |at: Timestamp| at.is_some().then(|| at.to_string());
    let serious = |issue: &&unspool_model::Issue| issue.code.severity() < Severity::Info;
    let subagents = || flow.agents.iter().filter(|agent| !agent.main && !agent.internal);
    SessionRow {
        id: flow.session.id.show('x'),
        native_ids: flow.session.native_ids.iter().map(|id| text(*id)).collect(),
        title: flow.session.title.some().map(text),
        cwd: flow.session.cwd.some().map(text),
        started_at: time(flow.session.started),
        ended_at: time(flow.session.ended),
        duration_ms: flow.session.ended.ms_since(flow.session.started),
        status: flow.status().name(),
        runs: flow.runs.len(),
        subagents: subagents().count(),
        inferred_links: subagents().filter(|a| a.spawn.is_some_and(|s| s.is_inferred())).count(),
        steps: sums.steps,
        errors: sums.errors,
        usage: sums.stated_usage().map(usage_doc),
        tokens: sums.stated_usage().map(Usage::total),
        cost_usd: sums.stated_dollars(),
        unpriced_calls: sums.unpriced_calls,
        issues: flow.issues.iter().filter(serious).map(|issue| issue.count).sum(),
    }
}
