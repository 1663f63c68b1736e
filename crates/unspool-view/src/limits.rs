//! Tokens as limits of APIs count them: by key, in windows that begin with a first call, and by model.
//!
//! In: calls of models out of flows. Out: windows, newest first. Never here: what a limit is; no source says so.

use crate::flow_json::{UsageDoc, usage_doc};
use crate::prices::Prices;
use crate::totals::{Pricer, Totals};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use unspool_model::{AttrName, Batch, Flow, Step, StepKind, Timestamp};

/// Hours of a window, unless somebody says otherwise.
pub const USUAL_WINDOW_HOURS: u32 = 5;

/// A call of a model.
#[derive(Clone, Debug)]
pub struct CountedCall {
    /// What is left of the key it was made with, where a proxy saw it.
    pub key: Option<String>,
    /// The model that answered.
    pub model: String,
    /// When it was made.
    pub at: Timestamp,
    /// Tokens and money.
    pub sum: Totals,
}

/// Tokens in windows of some hours.
#[derive(Serialize, JsonSchema)]
pub struct UsageWindowsDoc {
    /// Hours of a window.
    pub window_hours: u32,
    /// Newest first; those of calls without a known key have none.
    pub windows: Vec<UsageWindowDoc>,
    /// Calls that nobody knows the time of; they are in no window.
    pub calls_without_time: u64,
    /// Sessions that were looked into.
    pub looked_into: u64,
    /// Sessions that were not, by the limit `max_usage_sessions`.
    pub not_looked_into: u64,
}

/// One window of one key: it begins with the first call behind the window before.
#[derive(Serialize, JsonSchema)]
pub struct UsageWindowDoc {
    /// What is left of the key: a keyed hash, the same for the same key.
    pub key: Option<String>,
    /// When its first call was made.
    pub started_at: String,
    /// When it ends.
    pub ends_at: String,
    /// It has not ended yet.
    pub open: bool,
    /// All models together.
    #[serde(flatten)]
    pub sum: UsageSumDoc,
    /// By model, in order of their names.
    pub models: Vec<ModelUsageDoc>,
}

/// Calls of one model in a window.
#[derive(Serialize, JsonSchema)]
pub struct ModelUsageDoc {
    /// The model; null where no source names it.
    pub model: Option<String>,
    /// What its calls took.
    #[serde(flatten)]
    pub sum: UsageSumDoc,
}

/// What calls took.
#[derive(Serialize, JsonSchema)]
pub struct UsageSumDoc {
    /// How many.
    pub calls: u64,
    /// Calls that failed.
    pub errors: u64,
    /// Tokens; null when no source says how many.
    pub usage: Option<UsageDoc>,
    /// Calls whose sources do not say; when not 0, `usage` is a part only.
    pub uncounted_calls: u64,
    /// US dollars for the calls that have a price.
    pub cost_usd: Option<f64>,
    /// Calls whose model has no price; when not 0, `cost_usd` is a part only.
    pub unpriced_calls: u64,
}

/// The calls of models in a session.
pub fn counted_calls(flow: &Flow, batch: &Batch, prices: &Prices) -> Vec<CountedCall> {
    let mut pricer = Pricer::new(flow, &batch.text, prices);
    let calls = flow.steps.iter().filter(|step| step.kind == StepKind::ModelCall);
    calls
        .map(|step| CountedCall {
            key: key(flow, batch, step),
            model: batch.text.get(step.model).into(),
            at: moment(step),
            sum: pricer.step(step),
        })
        .collect()
}

fn moment(step: &Step) -> Timestamp {
    if step.started.is_some() { step.started } else { step.ended }
}

fn key(flow: &Flow, batch: &Batch, step: &Step) -> Option<String> {
    let records = flow.witnesses_of(step).iter();
    let mut keys = records
        .flat_map(|record| batch.events_of(*record))
        .filter_map(|event| batch.attr_text(event, AttrName::Caller));
    keys.next().map(|key| batch.text.get(key).to_string())
}

/// Puts calls into windows.
pub fn windows(mut calls: Vec<CountedCall>, window_hours: u32, now: Timestamp) -> UsageWindowsDoc {
    let window_hours = window_hours.max(1);
    let length_ms = i64::from(window_hours) * 3_600_000;
    let all = calls.len();
    calls.retain(|call| call.at.is_some());
    let calls_without_time = (all - calls.len()) as u64;
    calls.sort_by(|one, other| (&one.key, one.at, &one.model).cmp(&(&other.key, other.at, &other.model)));
    let mut found: Vec<(Option<String>, Timestamp, BTreeMap<String, Totals>)> = Vec::new();
    for call in calls {
        let fits = |(key, start, _): &(Option<String>, Timestamp, _)| {
            *key == call.key && call.at < start.plus_ms(length_ms)
        };
        if !found.last().is_some_and(fits) {
            found.push((call.key.clone(), call.at, BTreeMap::new()));
        }
        if let Some((_, _, models)) = found.last_mut() {
            models.entry(call.model).or_default().add(&call.sum);
        }
    }
    found.sort_unstable_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
    let windows = found.into_iter().map(|(key, start, models)| {
        let mut sum = Totals::default();
        for one in models.values() {
            sum.add(one);
        }
        let models = models.into_iter().map(|(model, sum)| ModelUsageDoc {
            model: (!model.is_empty()).then_some(model),
            sum: sum_doc(&sum),
        });
        let end = start.plus_ms(length_ms);
        let (started_at, ends_at) = (start.to_string(), end.to_string());
        UsageWindowDoc {
            key,
            started_at,
            ends_at,
            open: now < end,
            sum: sum_doc(&sum),
            models: models.collect(),
        }
    });
    let windows = windows.collect();
    UsageWindowsDoc { window_hours, windows, calls_without_time, looked_into: 0, not_looked_into: 0 }
}

fn sum_doc(sum: &Totals) -> UsageSumDoc {
    UsageSumDoc {
        calls: sum.model_calls,
        errors: sum.errors,
        usage: sum.stated_usage().map(usage_doc),
        uncounted_calls: sum.uncounted_calls,
        cost_usd: sum.stated_dollars(),
        unpriced_calls: sum.unpriced_calls,
    }
}

#[cfg(test)]
mod tests {
    use super::{CountedCall, Totals, windows};
    use unspool_model::{Timestamp, Usage};

    fn call(key: Option<&str>, model: &str, minute: i64) -> CountedCall {
        let usage = Usage { input: 10, output: 1, ..Usage::default() };
        let sum = Totals { model_calls: 1, counted: 1, usage, ..Totals::default() };
        let at = Timestamp::from_ms(1_767_348_000_000 + minute * 60_000);
        CountedCall { key: key.map(String::from), model: model.into(), at, sum }
    }

    #[test]
    fn a_window_begins_with_the_first_call_behind_the_one_before() {
        let mut calls = vec![
            call(Some("a"), "m", 0),
            call(Some("a"), "n", 299),
            call(Some("a"), "m", 300),
            call(Some("b"), "m", 10),
            call(None, "", 20),
        ];
        calls.push(CountedCall { at: Timestamp::NONE, ..call(None, "m", 0) });
        calls.reverse();
        let doc = windows(calls, 5, call(None, "", 400).at);
        let told = doc.windows.iter().map(|one| {
            let models: Vec<_> =
                one.models.iter().map(|model| (model.model.as_deref(), model.sum.calls)).collect();
            (one.key.as_deref(), one.open, one.sum.usage.as_ref().unwrap().input, models)
        });
        let told: Vec<_> = told.collect();
        assert_eq!(
            told,
            [
                (Some("a"), true, 10, vec![(Some("m"), 1)]),
                (None, false, 10, vec![(None, 1)]),
                (Some("b"), false, 10, vec![(Some("m"), 1)]),
                (Some("a"), false, 20, vec![(Some("m"), 1), (Some("n"), 1)]),
            ]
        );
        assert_eq!(doc.calls_without_time, 1);
    }
}
