//! Calls that were tried again.
//!
//! In: a flow. Out: the calls that follow a failed one of the same sort. Never here: whether trying again helped.

use super::selection::Selection;
use rustc_hash::FxHashMap;
use unspool_model::{Flow, StepKind, Sym};

/// Calls right after a failed call of the same tool, or of a model, by the same agent. Calls that one model call made
/// together are no retries of each other.
pub(super) fn retries(flow: &Flow) -> Selection {
    let mut found = Selection::none(flow.steps.len());
    // The last calls of a sort: whether one failed, and what called them.
    let mut last: FxHashMap<(u32, StepKind, Sym), (bool, u32)> = FxHashMap::default();
    for (n, step) in flow.steps.iter().enumerate() {
        let name = match step.kind {
            StepKind::ToolCall => step.name,
            StepKind::ModelCall => Sym::EMPTY,
            _ => continue,
        };
        let (failed, parent) = last.entry((step.agent, step.kind, name)).or_insert((false, step.parent));
        let is_together = step.kind == StepKind::ToolCall && *parent == step.parent;
        if *failed && !is_together {
            found.add(n);
        }
        *failed = step.is_error || is_together && *failed;
        *parent = step.parent;
    }
    found
}
