//! What differs between two steps that belong together.
//!
//! In: a step of each side. Out: the fields that differ. Never here: whether they belong together.

use super::doc::{Field, FieldChange};
use super::side::Side;
use unspool_model::{StepKind, Sym};

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
    let tokens =
        |side: &Side<'_>, n: usize| side.flow.usage_of(side.step(n)).map(|usage| usage.total().to_string());
    let is_call = step_a.kind == StepKind::ModelCall;
    let said = if step_a.kind == StepKind::ToolCall { Field::Input } else { Field::Text };
    // A model call is called by its model.
    let name = |sym: Sym, side: &Side<'_>| words(sym, side).filter(|_| !is_call);
    let duration = |ms: Option<i64>| ms.map(|ms| ms.to_string());
    let all = [
        (Field::Name, name(step_a.name, a), name(step_b.name, b)),
        (said, words(step_a.preview, a), words(step_b.preview, b)),
        (Field::Intent, words(step_a.intent, a), words(step_b.intent, b)),
        (Field::Status, status(a, x), status(b, y)),
        (Field::Model, words(step_a.model, a), words(step_b.model, b)),
        (Field::Tokens, tokens(a, x), tokens(b, y)),
        (Field::Duration, duration(step_a.duration_ms.get()), duration(step_b.duration_ms.get())),
    ];
    let differ = all.into_iter().filter(|(_, a, b)| a != b);
    differ.map(|(field, a, b)| FieldChange { field, a, b }).collect()
}
