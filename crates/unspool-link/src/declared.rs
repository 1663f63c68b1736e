//! Steps that their source names itself: which names mean the same step.
//!
//! A call may be named by its source and also bear an id of its own, which any other source may know; then that id finds
//! it. A result that is written as a step of its own and depends on a call is that call's result, and no step besides it.

use crate::draft::Draft;
use crate::steps::{BY_STEP, BY_TOOL_USE, StepKey};
use rustc_hash::{FxHashMap, FxHashSet};
use unspool_model::{EventKind, KeyKind, Role, Sym};

/// What named steps are found by.
pub(crate) struct Declared {
    /// The call a result's name stands for.
    call_of: FxHashMap<Sym, Sym>,
    /// The id a named call bears.
    tool_use: FxHashMap<Sym, Sym>,
}

impl Declared {
    pub(crate) fn new(draft: &Draft<'_>) -> Declared {
        let mut declared = Declared { call_of: FxHashMap::default(), tool_use: FxHashMap::default() };
        if !draft.corpus.has_names {
            return declared;
        }
        let mut calls: FxHashSet<Sym> = FxHashSet::default();
        let mut results: Vec<(usize, Sym)> = Vec::new();
        for at in 0..draft.group.events.len() {
            let kind = draft.event(at).kind;
            if !matches!(kind, EventKind::ToolCall | EventKind::ToolResult) {
                continue;
            }
            let Some(name) = draft.key(at, KeyKind::Step, Role::Provides) else { continue };
            let provided = draft.key(at, KeyKind::ToolUse, Role::Provides);
            if let Some(id) = provided.or_else(|| draft.key(at, KeyKind::ToolUse, Role::Refers)) {
                declared.tool_use.entry(name).or_insert(id);
            }
            if kind == EventKind::ToolCall {
                calls.insert(name);
            } else {
                results.push((at, name));
            }
        }
        for (at, name) in results {
            if calls.contains(&name) {
                continue;
            }
            let keys = draft.corpus.batch.keys_of(draft.event(at)).iter();
            let needs = keys.filter(|key| key.kind == KeyKind::Step && key.role == Role::Refers);
            if let Some(call) = needs.map(|key| key.value).find(|call| calls.contains(call)) {
                declared.call_of.entry(name).or_insert(call);
            }
        }
        declared
    }

    /// What finds the step of that name.
    pub(crate) fn key(&self, name: Sym) -> StepKey {
        let name = self.call_of.get(&name).copied().unwrap_or(name);
        match self.tool_use.get(&name) {
            Some(id) => (BY_TOOL_USE, *id, 0),
            None => (BY_STEP, name, 0),
        }
    }
}
