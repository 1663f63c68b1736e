//! What differs between two steps or agents that belong together.
//!
//! In: a step or an agent of each side. Out: the fields that differ. Never here: whether they belong together.

use super::doc::{Field, FieldChange};
use super::side::Side;
use unspool_model::{Agent, StepKind, Sym, Usage};

/// The fields in which two steps differ.
pub(super) fn field_changes(a: &Side<'_>, x: usize, b: &Side<'_>, y: usize) -> Vec<FieldChange> {
    let (step_a, step_b) = (a.step(x), b.step(y));
    let words = |sym: Sym, side: &Side<'_>| sym.some().map(|sym| side.text(sym).to_string());
    let status = |side: &Side<'_>, n: usize| {
        let step = side.step(n);
        let error = words(side.flow.error_of(n), side);
        match (step.is_error, step.pending) {
            (true, _) => Some(error.map_or_else(|| "failed".into(), |error| format!("failed: {error}"))),
            (_, true) => Some("not finished".into()),
            _ => Some("ok".to_string()),
        }
    };
    let tokens = tokens(a.flow.usage_of(step_a), b.flow.usage_of(step_b));
    let is_call = step_a.kind == StepKind::ModelCall;
    let said = if step_a.kind == StepKind::ToolCall { Field::Input } else { Field::Text };
    // A model call is called by its model.
    let name = |sym: Sym, side: &Side<'_>| words(sym, side).filter(|_| !is_call);
    let mut given = (words(step_a.preview, a), words(step_b.preview, b));
    let inputs = (a.input(x), b.input(y));
    if given.0 == given.1 && inputs.0 != inputs.1 && inputs.0 > 0 && inputs.1 > 0 {
        // The first words are the same and what follows is not.
        let marked = |words: Option<String>, input: u32| {
            Some(format!("{} [input {input:08x}]", words.unwrap_or_default()))
        };
        given = (marked(given.0, inputs.0), marked(given.1, inputs.1));
    }
    let duration = |ms: Option<i64>| ms.map(|ms| ms.to_string());
    let all = [
        (Field::Name, name(step_a.name, a), name(step_b.name, b)),
        (said, given.0, given.1),
        (Field::Intent, words(step_a.intent, a), words(step_b.intent, b)),
        (Field::Status, status(a, x), status(b, y)),
        (Field::Model, words(step_a.model, a), words(step_b.model, b)),
        (Field::Tokens, tokens.0, tokens.1),
        (Field::Duration, duration(step_a.duration_ms.get()), duration(step_b.duration_ms.get())),
    ];
    those_that_differ(all)
}

/// The fields in which two agents differ.
pub(super) fn agent_changes(a: &Side<'_>, x: usize, b: &Side<'_>, y: usize) -> Vec<FieldChange> {
    let (agent_a, agent_b) = (&a.flow.agents[x], &b.flow.agents[y]);
    let words = |sym: Sym, side: &Side<'_>| sym.some().map(|sym| side.text(sym).to_string());
    let status = |agent: &Agent| Some(agent.status.name().to_string());
    those_that_differ([
        (Field::Type, words(agent_a.kind, a), words(agent_b.kind, b)),
        (Field::Name, words(agent_a.name, a), words(agent_b.name, b)),
        (Field::Model, words(agent_a.model, a), words(agent_b.model, b)),
        (Field::Status, status(agent_a), status(agent_b)),
    ])
}

fn those_that_differ<const N: usize>(all: [(Field, Option<String>, Option<String>); N]) -> Vec<FieldChange> {
    let differ = all.into_iter().filter(|(_, a, b)| a != b);
    differ.map(|(field, a, b)| FieldChange { field, a, b }).collect()
}

/// The tokens of both sides; bucket by bucket where only the buckets differ.
fn tokens(a: Option<&Usage>, b: Option<&Usage>) -> (Option<String>, Option<String>) {
    let total = |usage: &Usage| usage.total().to_string();
    let buckets = |usage: &Usage| {
        format!(
            "{} (input {}, cache read {}, cache write {} with {} for an hour, output {}, reasoning {})",
            usage.total(),
            usage.input,
            usage.cache_read,
            usage.cache_write,
            usage.cache_write_long,
            usage.output,
            usage.reasoning
        )
    };
    let shown: &dyn Fn(&Usage) -> String =
        if a != b && a.map(Usage::total) == b.map(Usage::total) { &buckets } else { &total };
    (a.map(shown), b.map(shown))
}
