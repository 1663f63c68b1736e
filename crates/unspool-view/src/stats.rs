//! Sums over many sessions: per session, agent type, tool, model and day.

use crate::flow_json::{CountsDoc, IssueDoc, TotalsDoc, issue_doc, totals_doc};
use crate::list::{SessionRow, session_row};
use crate::prices::Prices;
use crate::quantile::quantile;
use crate::totals::{Pricer, Totals};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use unspool_model::{Agent, Batch, Code, Flow, Interner, Issue, StepKind, Timestamp};

/// All tables.
#[derive(Serialize, JsonSchema)]
pub struct StatsDoc {
    /// Always `unspool.stats/1`.
    pub schema: &'static str,
    /// What became of the records.
    pub counts: CountsDoc,
    /// Over everything.
    pub totals: TotalsDoc,
    /// Per session, oldest first.
    pub sessions: Vec<SessionRow>,
    /// Per agent type; `main` for main agents, `(internal)` for a client's own.
    pub agents: Vec<StatsRow>,
    /// Per tool.
    pub tools: Vec<StatsRow>,
    /// Per model, with the steps that say what a model used without being one of its calls.
    pub models: Vec<StatsRow>,
    /// Per day (UTC) on which a step ended.
    pub days: Vec<StatsRow>,
    /// Issues over everything, by code and detail.
    pub issues: Vec<IssueDoc>,
}

/// One line of a table.
#[derive(Serialize, JsonSchema)]
pub struct StatsRow {
    /// Agent type, tool, model or day.
    pub name: String,
    /// Agents, tool calls, model calls, or sessions active that day.
    pub count: u64,
    /// Sums over its steps.
    #[serde(flatten)]
    pub totals: TotalsDoc,
    /// Milliseconds of each step or agent, by nearest rank; null without any.
    pub durations: Option<DurationsDoc>,
}

/// How long things took.
#[derive(Serialize, JsonSchema)]
pub struct DurationsDoc {
    /// How many durations are known.
    pub known: u64,
    /// Their sum.
    pub total_ms: i64,
    /// Half took at most this.
    pub p50_ms: i64,
    /// 95 of 100 took at most this.
    pub p95_ms: i64,
    /// The longest.
    pub max_ms: i64,
}

/// What a tool or model without a name is called in tables.
pub(crate) const UNNAMED: &str = "(unnamed)";

/// Where steps without any time are added up.
const NO_DAY: &str = "(time unknown)";

/// Adds flows up one by one, so that none need be kept.
#[derive(Default)]
pub struct Stats {
    totals: Totals,
    sessions: Vec<SessionRow>,
    agents: BTreeMap<String, Line>,
    tools: BTreeMap<String, Line>,
    models: BTreeMap<String, Line>,
    days: BTreeMap<String, Line>,
    issues: BTreeMap<(Code, String), Issue>,
}

#[derive(Default)]
struct Line {
    count: u64,
    totals: Totals,
    durations_ms: Vec<i64>,
}

impl Stats {
    /// Adds a session.
    pub fn add(&mut self, flow: &Flow, batch: &Batch, prices: &Prices) {
        let text = &batch.text;
        let sums = crate::totals(flow, text, prices);
        self.sessions.push(session_row(flow, batch, &sums.session));
        self.totals.add(&sums.session);
        for (agent, own) in flow.agents.iter().zip(&sums.own) {
            let line = line(&mut self.agents, type_of(agent, text));
            line.count += 1;
            line.totals.add(own);
            line.durations_ms.extend(agent.ended.ms_since(agent.started));
        }
        let mut days: BTreeMap<Option<i64>, (Timestamp, Totals)> = BTreeMap::new();
        let mut pricer = Pricer::new(flow, text, prices);
        for step in &flow.steps {
            let sum = &pricer.step(step);
            let table = match step.kind {
                StepKind::ToolCall => Some(&mut self.tools),
                StepKind::ModelCall => Some(&mut self.models),
                _ => None,
            };
            if let Some(table) = table {
                let name = text.get(step.name);
                let line = line(table, if name.is_empty() { UNNAMED } else { name });
                line.count += 1;
                line.totals.add(sum);
                line.durations_ms.extend(step.duration_ms.get());
            }
            if step.kind != StepKind::ModelCall && sum.counted > 0 {
                let model = text.get(step.model);
                line(&mut self.models, if model.is_empty() { UNNAMED } else { model }).totals.add(sum);
            }
            let at = step.ended.later(step.started);
            days.entry(at.day_number()).or_insert((at, Totals::default())).1.add(sum);
        }
        for (at, totals) in days.into_values() {
            let day = if at.is_some() { at.day() } else { NO_DAY.into() };
            let line = line(&mut self.days, &day);
            line.count += 1;
            line.totals.add(&totals);
        }
        for issue in &flow.issues {
            self.issue(issue, batch);
        }
    }

    /// Adds an issue that belongs to no session.
    pub fn issue(&mut self, issue: &Issue, batch: &Batch) {
        let key = (issue.code, batch.text.get(issue.detail).to_string());
        let slot = self.issues.entry(key).or_insert_with(|| Issue {
            count: 0,
            records: Vec::new(),
            ..issue.clone()
        });
        slot.count += issue.count;
        let room = unspool_model::issue::ISSUE_SAMPLES - slot.records.len();
        slot.records.extend(issue.records.iter().take(room));
    }

    /// Issues so far, by code and detail.
    pub(crate) fn issues(&self) -> impl Iterator<Item = &Issue> {
        self.issues.values()
    }

    /// Models with calls that have no price, and how many.
    pub(crate) fn unpriced_models(&self) -> impl Iterator<Item = (&str, u64)> {
        let models = self.models.iter().map(|(name, line)| (name.as_str(), line.totals.unpriced_calls));
        models.filter(|(_, calls)| *calls > 0)
    }

    /// Tools and how often they were called.
    pub(crate) fn tools(&self) -> impl Iterator<Item = (&str, u64)> {
        self.tools.iter().map(|(name, line)| (name.as_str(), line.count))
    }

    /// The first day of anything.
    pub(crate) fn first_day(&self) -> Option<&str> {
        self.days.keys().find(|day| day.as_str() != NO_DAY).map(String::as_str)
    }

    /// The tables.
    pub fn finish(self, counts: CountsDoc, batch: &Batch) -> StatsDoc {
        StatsDoc {
            schema: "unspool.stats/1",
            counts,
            totals: totals_doc(&self.totals),
            sessions: self.sessions,
            agents: rows(self.agents),
            tools: rows(self.tools),
            models: rows(self.models),
            days: rows(self.days),
            issues: self.issues.values().map(|issue| issue_doc(issue, batch)).collect(),
        }
    }
}

/// What agents of its sort are called in tables.
pub(crate) fn type_of<'t>(agent: &Agent, text: &'t Interner) -> &'t str {
    match (agent.main, agent.internal, text.get(agent.kind)) {
        (true, _, _) => "main",
        (_, true, _) => "(internal)",
        (_, _, "") => "(type unknown)",
        (_, _, kind) => kind,
    }
}

fn line<'t>(table: &'t mut BTreeMap<String, Line>, name: &str) -> &'t mut Line {
    table.entry(name.to_string()).or_default()
}

fn rows(table: BTreeMap<String, Line>) -> Vec<StatsRow> {
    let row = |(name, line): (String, Line)| StatsRow {
        name,
        count: line.count,
        totals: totals_doc(&line.totals),
        durations: durations(line.durations_ms),
    };
    table.into_iter().map(row).collect()
}

/// Percentiles by nearest rank.
pub(crate) fn durations(mut known_ms: Vec<i64>) -> Option<DurationsDoc> {
    known_ms.sort_unstable();
    Some(DurationsDoc {
        known: known_ms.len() as u64,
        total_ms: known_ms.iter().fold(0, |sum: i64, ms| sum.saturating_add(*ms)),
        p50_ms: quantile(&known_ms, 50)?,
        p95_ms: quantile(&known_ms, 95)?,
        max_ms: quantile(&known_ms, 100)?,
    })
}

#[cfg(test)]
mod tests {
    use super::durations;

    #[test]
    fn percentiles_by_nearest_rank() {
        let doc = durations((1..=100).rev().collect()).unwrap();
        assert_eq!((doc.p50_ms, doc.p95_ms, doc.max_ms, doc.total_ms), (50, 95, 100, 5050));
        let one = durations(vec![7]).unwrap();
        assert_eq!((one.p50_ms, one.p95_ms), (7, 7));
        assert!(durations(Vec::new()).is_none());
    }
}
