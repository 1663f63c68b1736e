//! Sums of both sides: overall, per agent, per tool, per model.
//!
//! In: two sides and how they belong together. Out: what each side has of everything. Never here: which steps differ.

use super::align::{Alignment, Pair, Row};
use super::doc::{AgentSide, ModelsDiff, SideDoc, ToolDiff, ToolSide, TotalsDelta, TotalsDiff};
use super::side::{Part, Side};
use crate::flow_json::totals_doc;
use crate::totals::sum_of_known;
use crate::totals::{Pricer, Totals};
use std::collections::{BTreeMap, BTreeSet};
use unspool_model::{StepKind, Sym, Timestamp};

/// Sums of both sides, and the second less the first.
pub(super) fn totals_diff(a: &Side<'_>, b: &Side<'_>, alignment: &Alignment) -> TotalsDiff {
    let (sum_a, sum_b) =
        (totals_of(a, all(alignment, |row| row.0)), totals_of(b, all(alignment, |row| row.1)));
    let less = |b: u64, a: u64| i64::try_from(i128::from(b) - i128::from(a)).unwrap_or(i64::MAX);
    let picodollars = |sum: &Totals| {
        let cost = sum.full_cost().filter(|_| sum.counted > 0)?;
        i64::try_from(cost.picodollars()).ok()
    };
    let tokens = |sum: &Totals| sum.stated_usage().map(unspool_model::Usage::total);
    let delta = TotalsDelta {
        steps: less(sum_b.steps, sum_a.steps),
        model_calls: less(sum_b.model_calls, sum_a.model_calls),
        tool_calls: less(sum_b.tool_calls, sum_a.tool_calls),
        errors: less(sum_b.errors, sum_a.errors),
        tokens: tokens(&sum_b).zip(tokens(&sum_a)).map(|(b, a)| less(b, a)),
        cost_usd: picodollars(&sum_b).zip(picodollars(&sum_a)).map(|(b, a)| in_dollars(b - a)),
        duration_ms: sum_b.elapsed_ms().zip(sum_a.elapsed_ms()).map(|(b, a)| b.saturating_sub(a)),
    };
    TotalsDiff { a: totals_doc(&sum_a), b: totals_doc(&sum_b), delta }
}

/// Rounded to a billionth, so that the shortest decimal is shown.
#[expect(clippy::cast_precision_loss, reason = "shown, never summed")]
fn in_dollars(picodollars: i64) -> f64 {
    (picodollars as f64 / 1e3).round() / 1e9
}

/// Sums over some steps of a side.
fn totals_of(side: &Side<'_>, steps: impl Iterator<Item = usize>) -> Totals {
    let mut pricer = Pricer::new(side.flow, &side.batch.text, side.prices);
    let mut sum = Totals::default();
    for step in steps {
        sum.add(&pricer.step(side.step(step)));
    }
    sum
}

pub(super) fn agent_totals(
    side: &Side<'_>,
    agent: usize,
    steps: impl Iterator<Item = usize> + Clone,
) -> AgentSide {
    let row = &side.flow.agents[agent];
    let prompt = steps.clone().find(|n| side.step(*n).kind == StepKind::UserMessage);
    AgentSide {
        id: row.id.show('a'),
        native_id: side.text(row.native_id).to_string(),
        prompt: prompt.and_then(|n| some(side, side.step(n).preview)),
        status: row.status.name(),
        totals: totals_doc(&totals_of(side, steps)),
    }
}

fn some(side: &Side<'_>, sym: Sym) -> Option<String> {
    sym.some().map(|sym| side.text(sym).to_string())
}

fn all<'a>(
    alignment: &'a Alignment,
    side_of: impl Fn(&Row) -> Option<usize> + 'a,
) -> impl Iterator<Item = usize> + 'a {
    alignment.pairs.iter().flat_map(|pair| &pair.rows).filter_map(side_of)
}

pub(super) fn tools(a: &Side<'_>, b: &Side<'_>, alignment: &Alignment) -> Vec<ToolDiff> {
    let mut tools: BTreeMap<String, (ToolSide, ToolSide)> = BTreeMap::new();
    let mut add = |side: &Side<'_>, n: usize, pick: fn(&mut (ToolSide, ToolSide)) -> &mut ToolSide| {
        let step = &side.flow.steps[n];
        if step.kind == StepKind::ToolCall {
            let use_of = pick(tools.entry(name_in(side, step.name).to_string()).or_default());
            use_of.calls += 1;
            use_of.errors += u64::from(step.is_error);
            use_of.duration_ms = sum_of_known(use_of.duration_ms, step.duration_ms.get());
        }
    };
    all(alignment, |row| row.0).for_each(|n| add(a, n, |both| &mut both.0));
    all(alignment, |row| row.1).for_each(|n| add(b, n, |both| &mut both.1));
    tools.into_iter().map(|(name, (a, b))| ToolDiff { name, a, b }).collect()
}

fn name_in<'a>(side: &Side<'a>, name: Sym) -> &'a str {
    let name = side.text(name);
    if name.is_empty() { crate::stats::UNNAMED } else { name }
}

pub(super) fn models(a: &Side<'_>, b: &Side<'_>, alignment: &Alignment) -> ModelsDiff {
    let names = |side: &Side<'_>, steps: &mut dyn Iterator<Item = usize>| -> Vec<String> {
        let names: BTreeSet<&str> = steps.map(|n| side.text(side.step(n).model)).collect();
        names.into_iter().filter(|name| !name.is_empty()).map(String::from).collect()
    };
    ModelsDiff {
        a: names(a, &mut all(alignment, |row| row.0)),
        b: names(b, &mut all(alignment, |row| row.1)),
    }
}

pub(super) fn side_doc(
    side: &Side<'_>,
    alignment: &Alignment,
    agent_of: impl Fn(&Pair) -> Option<usize>,
    step_of: impl Fn(&Row) -> Option<usize>,
) -> SideDoc {
    let session = &side.flow.session;
    let of_side = alignment.pairs.iter().filter(|pair| agent_of(pair).is_some());
    let steps: Vec<usize> = of_side.flat_map(|pair| &pair.rows).filter_map(step_of).collect();
    let started = steps.iter().fold(Timestamp::NONE, |first, n| first.earlier(side.step(*n).started));
    let (run, agent) = match side.part {
        Part::Whole => (None, None),
        Part::Run(run) => (side.flow.runs.get(run), None),
        Part::Agent(agent) => (None, side.flow.agents.get(agent)),
    };
    let said =
        steps.iter().map(|n| side.step(*n)).find(|step| step.kind == StepKind::UserMessage && !step.meta);
    SideDoc {
        session_id: session.id.show('x'),
        native_ids: session.native_ids.iter().map(|id| side.text(*id).to_string()).collect(),
        title: some(side, session.title),
        started_at: started.is_some().then(|| started.to_string()),
        run_id: run.map(|run| run.id.show('u')),
        agent_id: agent.map(|agent| agent.id.show('a')),
        prompt: said.and_then(|step| some(side, step.preview)),
    }
}
