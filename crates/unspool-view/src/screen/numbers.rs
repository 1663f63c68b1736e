//! The numbers of a session that fit on a screen: sums by bucket, tables by type of agent, tool and model, and what they rest on.
//!
//! In: a flow, up to a moment of it. Out: rows of bounded number. Never here: the growth of contexts, and what is worth a look.

use super::complete::{CompletenessDoc, completeness};
use super::context::{ContextDoc, contexts};
use crate::flow_json::{TotalsDoc, totals_doc};
use crate::prices::{Money, Prices};
use crate::quantile::quantile;
use crate::stats::{UNNAMED, type_of};
use crate::totals::{Pricer, Totals};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use unspool_model::{Agent, Batch, Flow, Step, StepKind, Usage};

/// No table has more rows: `max_number_rows`.
pub const MAX_NUMBER_ROWS: usize = 200;

/// The numbers of a session, or of its part up to a moment.
#[derive(Serialize, JsonSchema)]
pub struct NumbersDoc {
    /// The session.
    pub session_id: String,
    /// Only what had begun so many milliseconds after the first moment is in the sums and tables; null for all of it.
    pub until_ms: Option<i64>,
    /// Sums.
    pub totals: TotalsDoc,
    /// All tokens; null when no call says how many it took.
    pub tokens: Option<u64>,
    /// Agents that had begun.
    pub agents: u64,
    /// Runs that had begun.
    pub runs: u64,
    /// Tokens and what they cost, bucket by bucket; buckets never overlap. Empty when no call says how many it took.
    pub buckets: Vec<BucketDoc>,
    /// Per type of agent.
    pub agent_types: TableDoc,
    /// Per tool.
    pub tools: TableDoc,
    /// Per model.
    pub models: TableDoc,
    /// How large the contexts grew.
    pub context: ContextDoc,
    /// What is missing, inferred or estimated, of the whole session.
    pub completeness: CompletenessDoc,
}

/// Tokens of one sort.
#[derive(Serialize, JsonSchema)]
pub struct BucketDoc {
    /// `input`, `cache_read`, `cache_write`, `output` or `reasoning`.
    pub name: &'static str,
    /// How many.
    pub tokens: u64,
    /// US dollars, of the calls whose model has a price; null when none has.
    pub cost_usd: Option<f64>,
}

/// A table.
#[derive(Serialize, JsonSchema)]
pub struct TableDoc {
    /// Most calls or agents first.
    pub rows: Vec<NumberRowDoc>,
    /// Rows that are left out, by `max_number_rows`.
    pub rows_left_out: usize,
}

/// One line of a table.
#[derive(Serialize, JsonSchema)]
pub struct NumberRowDoc {
    /// Type of agent, tool or model.
    pub name: String,
    /// A query that finds its steps; null when none does.
    pub query: Option<String>,
    /// Agents or calls.
    pub count: u64,
    /// Steps that failed.
    pub errors: u64,
    /// Milliseconds of all whose length is known; null when none is.
    pub total_ms: Option<i64>,
    /// Half took at most this, by nearest rank.
    pub p50_ms: Option<i64>,
    /// 90 of 100 took at most this.
    pub p90_ms: Option<i64>,
    /// 99 of 100 took at most this.
    pub p99_ms: Option<i64>,
    /// The longest.
    pub max_ms: Option<i64>,
    /// All tokens; null when none were reported.
    pub tokens: Option<u64>,
    /// US dollars; null when nothing says how many tokens it took.
    pub cost_usd: Option<f64>,
    /// Calls of models without a price, which the cost leaves out.
    pub unpriced_calls: u64,
}

#[derive(Default)]
struct Line {
    query: Option<String>,
    count: u64,
    totals: Totals,
    durations_ms: Vec<i64>,
}

#[derive(Default)]
struct Lines(BTreeMap<String, Line>);

/// The numbers of a flow, or of what of it had begun so many milliseconds after its first moment.
pub fn numbers(flow: &Flow, batch: &Batch, prices: &Prices, until_ms: Option<i64>) -> NumbersDoc {
    let text = &batch.text;
    let had_begun = |at: unspool_model::Timestamp| match (until_ms, at.ms_since(flow.session.started)) {
        (Some(until), Some(ms)) => ms <= until,
        // What has no time is shown with the first.
        _ => true,
    };
    let mut pricer = Pricer::new(flow, text, prices);
    let (mut totals, mut costs, mut is_priced) = (Totals::default(), [Money::default(); 5], false);
    let (mut types, mut tools, mut models) = (Lines::default(), Lines::default(), Lines::default());
    let is_shown: Vec<bool> = flow.agents.iter().map(|agent| had_begun(agent.started)).collect();
    for (agent, _) in flow.agents.iter().zip(&is_shown).filter(|(_, shown)| **shown) {
        let line = types.of(type_of(agent, text), &|_| type_query(agent, text.get(agent.kind)));
        line.count += 1;
        line.durations_ms.extend(agent.ended.ms_since(agent.started));
    }
    for step in flow.steps.iter().filter(|step| had_begun(step.started.earlier(step.ended))) {
        let sum = pricer.step(step);
        totals.add(&sum);
        if let Some(parts) = pricer.costs(step) {
            is_priced = true;
            for (cost, part) in costs.iter_mut().zip(parts) {
                *cost = cost.plus(part);
            }
        }
        if let Some(agent) = flow.agents.get(step.agent as usize) {
            types.of(type_of(agent, text), &|_| type_query(agent, text.get(agent.kind))).totals.add(&sum);
        }
        match step.kind {
            StepKind::ToolCall => tools.call(text.get(step.name), "tool", step, &sum),
            StepKind::ModelCall => models.call(text.get(step.name), "model", step, &sum),
            _ if sum.counted > 0 => models.of(named(text.get(step.model)), &|_| None).totals.add(&sum),
            _ => {}
        }
    }
    NumbersDoc {
        session_id: flow.session.id.show('x'),
        until_ms,
        buckets: totals.stated_usage().map(|usage| buckets(usage, costs, is_priced)).unwrap_or_default(),
        totals: totals_doc(&totals),
        tokens: totals.stated_usage().map(Usage::total),
        agents: is_shown.iter().filter(|shown| **shown).count() as u64,
        runs: flow.runs.iter().filter(|run| had_begun(run.started)).count() as u64,
        agent_types: types.table(),
        tools: tools.table(),
        models: models.table(),
        context: contexts(flow, batch, until_ms),
        completeness: completeness(flow, batch, prices),
    }
}

/// Tokens bucket by bucket, with what each cost.
pub(super) fn buckets(usage: &Usage, costs: [Money; 5], is_priced: bool) -> Vec<BucketDoc> {
    let bucket = |((name, tokens), cost): ((&'static str, u64), Money)| BucketDoc {
        name,
        tokens,
        cost_usd: is_priced.then(|| cost.dollars()),
    };
    usage.buckets().into_iter().zip(costs).map(bucket).collect()
}

fn named(name: &str) -> &str {
    if name.is_empty() { UNNAMED } else { name }
}

/// `field:"name"`, as the query language reads it.
fn query(field: &str, name: &str) -> Option<String> {
    let escaped = name.replace('\\', "\\\\").replace('"', "\\\"");
    (!name.is_empty()).then(|| format!("{field}:\"{escaped}\""))
}

fn type_query(agent: &Agent, kind: &str) -> Option<String> {
    match (agent.main, agent.internal) {
        (true, _) => Some("agent:main".into()),
        (_, true) => Some("agent:internal".into()),
        _ => query("agent", kind),
    }
}

impl Lines {
    fn of(&mut self, name: &str, query: &dyn Fn(&str) -> Option<String>) -> &mut Line {
        if !self.0.contains_key(name) {
            self.0.insert(name.into(), Line { query: query(name), ..Line::default() });
        }
        self.0.entry(name.into()).or_default()
    }

    fn call(&mut self, name: &str, field: &str, step: &Step, sum: &Totals) {
        let line = self.of(named(name), &|_| query(field, name));
        line.count += 1;
        line.totals.add(sum);
        line.durations_ms.extend(step.duration_ms.get());
    }

    fn table(self) -> TableDoc {
        let mut rows: Vec<NumberRowDoc> = self.0.into_iter().map(|(name, line)| row(name, line)).collect();
        rows.sort_unstable_by(|a, b| b.count.cmp(&a.count).then_with(|| a.name.cmp(&b.name)));
        let rows_left_out = rows.len().saturating_sub(MAX_NUMBER_ROWS);
        rows.truncate(MAX_NUMBER_ROWS);
        TableDoc { rows, rows_left_out }
    }
}

fn row(name: String, mut line: Line) -> NumberRowDoc {
    line.durations_ms.sort_unstable();
    let known = &line.durations_ms;
    NumberRowDoc {
        name,
        query: line.query,
        count: line.count,
        errors: line.totals.errors,
        total_ms: (!known.is_empty()).then(|| known.iter().fold(0, |sum: i64, ms| sum.saturating_add(*ms))),
        p50_ms: quantile(known, 50),
        p90_ms: quantile(known, 90),
        p99_ms: quantile(known, 99),
        max_ms: quantile(known, 100),
        tokens: line.totals.stated_usage().map(Usage::total),
        cost_usd: line.totals.stated_dollars(),
        unpriced_calls: line.totals.unpriced_calls,
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_NUMBER_ROWS, numbers};
    use crate::drawn::Drawn;
    use crate::prices::Prices;
    use crate::query::Query;
    use unspool_model::{StepKind, Usage};

    fn drawn() -> Drawn {
        let mut drawn = Drawn::new();
        drawn.flow.session.started = unspool_model::Timestamp::from_ms(0);
        drawn.input(0);
        let call = drawn.step(0, StepKind::ModelCall, "claude-haiku-4-5", (0, 1_000));
        drawn.usage(call, Usage { input: 1_000_000, output: 10, ..Usage::default() });
        for n in 0..4 {
            let at = 1_000 + n * 1_000;
            let tool = drawn.tool(call, "Bash", "ls", (at, at + 100 * (n + 1)));
            drawn.flow.steps[tool as usize].is_error = n == 3;
        }
        drawn
    }

    #[test]
    fn tables_have_counts_times_tokens_costs_errors_and_percentiles() {
        let Drawn { flow, batch } = drawn();
        let doc = numbers(&flow, &batch, &Prices::default(), None);
        let bash = &doc.tools.rows[0];
        assert_eq!((bash.name.as_str(), bash.count, bash.errors, bash.total_ms), ("Bash", 4, 1, Some(1_000)));
        assert_eq!(
            (bash.p50_ms, bash.p90_ms, bash.p99_ms, bash.max_ms),
            (Some(200), Some(400), Some(400), Some(400))
        );
        assert_eq!((bash.tokens, bash.cost_usd), (None, None));
        let model = &doc.models.rows[0];
        assert_eq!((model.count, model.tokens), (1, Some(1_000_010)));
        assert_eq!(doc.buckets.iter().map(|one| one.tokens).collect::<Vec<_>>(), [1_000_000, 0, 0, 10, 0]);
        let sum: f64 = doc.buckets.iter().filter_map(|one| one.cost_usd).sum();
        assert!((sum - doc.totals.cost_usd.unwrap()).abs() < 1e-9);
        assert_eq!(doc.agent_types.rows[0].query.as_deref(), Some("agent:main"));
    }

    #[test]
    fn numbers_up_to_a_moment_know_nothing_later() {
        let Drawn { flow, batch } = drawn();
        let at = |ms| numbers(&flow, &batch, &Prices::default(), Some(ms)).totals;
        assert_eq!((at(0).tool_calls, at(2_000).tool_calls, at(9_000).tool_calls), (0, 2, 4));
        assert_eq!((at(3_999).errors, at(4_000).errors), (0, 1));
    }

    #[test]
    fn queries_of_rows_are_queries_and_rows_are_bounded() {
        let mut drawn = drawn();
        for n in 0..=MAX_NUMBER_ROWS {
            drawn.step(0, StepKind::ToolCall, &format!("odd \"name\" \\ {n}"), (9, 9));
        }
        let doc = numbers(&drawn.flow, &drawn.batch, &Prices::default(), None);
        assert_eq!((doc.tools.rows.len(), doc.tools.rows_left_out), (MAX_NUMBER_ROWS, 2));
        for row in &doc.tools.rows {
            Query::parse(row.query.as_deref().unwrap()).unwrap();
        }
    }
}
