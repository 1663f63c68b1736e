//! What is wrong with the chains records form by naming their parents: parents that are missing, and circles.
//! The order of steps does not hang on chains, so neither costs more than a note.

use crate::draft::Draft;
use rustc_hash::FxHashMap;
use unspool_model::{Code, EventKind, KeyKind, RecordIx, Role, Sym};

pub(crate) fn check(draft: &mut Draft<'_>) {
    let mut parent: FxHashMap<Sym, Option<Sym>> = FxHashMap::default();
    let mut order: Vec<(Sym, RecordIx)> = Vec::new();
    for at in 0..draft.group.events.len() {
        let Some(uuid) = draft.key(at, KeyKind::Uuid, Role::Provides) else { continue };
        if draft.event(at).kind == EventKind::SessionInfo || parent.contains_key(&uuid) {
            continue;
        }
        parent.insert(uuid, draft.key(at, KeyKind::Uuid, Role::Refers));
        order.push((uuid, draft.event(at).record));
    }
    let missing: Vec<RecordIx> = order
        .iter()
        .filter(|(uuid, _)| parent[uuid].is_some_and(|above| !parent.contains_key(&above)))
        .map(|(_, record)| *record)
        .collect();
    for record in missing {
        draft.issue(Code::ParentMissing, Sym::EMPTY, Some(record));
    }
    for record in circles(&parent, &order) {
        draft.issue(Code::ParentCycle, Sym::EMPTY, Some(record));
    }
}

/// One record of each circle: the first in order.
fn circles(parent: &FxHashMap<Sym, Option<Sym>>, order: &[(Sym, RecordIx)]) -> Vec<RecordIx> {
    // Which walk first met a record; a walk that meets itself has found a circle.
    let mut met: FxHashMap<Sym, usize> = FxHashMap::default();
    let mut found = Vec::new();
    for (walk, (start, record)) in order.iter().enumerate() {
        let mut at = *start;
        while !met.contains_key(&at) {
            met.insert(at, walk);
            match parent.get(&at).copied().flatten() {
                Some(above) if parent.contains_key(&above) => at = above,
                _ => break,
            }
        }
        let came_back = parent.get(&at).copied().flatten().is_some()
            && met.get(&at) == Some(&walk)
            && leads_to_itself(parent, at);
        if came_back {
            found.push(*record);
        }
    }
    found
}

fn leads_to_itself(parent: &FxHashMap<Sym, Option<Sym>>, start: Sym) -> bool {
    let mut at = start;
    for _ in 0..=parent.len() {
        match parent.get(&at).copied().flatten() {
            Some(above) if above == start => return true,
            Some(above) => at = above,
            None => return false,
        }
    }
    false
}
