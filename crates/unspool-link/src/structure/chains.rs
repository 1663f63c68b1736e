//! What is wrong with the chains records form by naming their parents: parents that are missing, and circles.
//! The order of steps does not hang on chains, so neither costs more than a note.

use crate::draft::Draft;
use crate::symmap::SymMap;
use unspool_model::flow::NONE;
use unspool_model::{Code, EventKind, KeyKind, RecordIx, Role, Sym};

/// Stands for "names no parent" among the numbers of parents; the empty text is nobody's uuid.
const NO_PARENT: u32 = 0;

pub(crate) fn check(draft: &mut Draft<'_>) {
    let mut parent = draft.id_map();
    let mut order: Vec<(Sym, RecordIx)> = Vec::new();
    for at in 0..draft.group.events.len() {
        let Some(uuid) = draft.key(at, KeyKind::Uuid, Role::Provides) else { continue };
        if draft.event(at).kind == EventKind::SessionInfo || parent.contains(uuid) {
            continue;
        }
        let above = draft.key(at, KeyKind::Uuid, Role::Refers).unwrap_or_default();
        parent.insert(uuid, u32::try_from(above.index()).unwrap_or(NO_PARENT));
        order.push((uuid, draft.event(at).record));
    }
    let is_missing = |uuid: Sym| above(&parent, uuid).is_some_and(|above| !parent.contains(above));
    let missing: Vec<RecordIx> =
        order.iter().filter(|(uuid, _)| is_missing(*uuid)).map(|(_, record)| *record).collect();
    for record in missing {
        draft.issue(Code::ParentMissing, Sym::EMPTY, Some(record));
    }
    for record in circles(draft.id_map(), &parent, &order) {
        draft.issue(Code::ParentCycle, Sym::EMPTY, Some(record));
    }
}

/// The parent a record names.
fn above(parent: &SymMap, uuid: Sym) -> Option<Sym> {
    parent.get(uuid).filter(|above| *above != NO_PARENT).map(|above| Sym::from_raw(i64::from(above)))
}

/// The first record in order that leads into each circle.
fn circles(mut walked: SymMap, parent: &SymMap, order: &[(Sym, RecordIx)]) -> Vec<RecordIx> {
    // `walked` holds which walk passed a record first; a walk that meets itself has found a circle.
    let mut found = Vec::new();
    for (walk, (start, record)) in order.iter().enumerate() {
        let walk = u32::try_from(walk).unwrap_or(NONE - 1);
        let mut at = *start;
        loop {
            if let Some(earlier) = walked.get(at) {
                if earlier == walk {
                    found.push(*record);
                }
                break;
            }
            walked.insert(at, walk);
            match above(parent, at) {
                Some(next) if parent.contains(next) => at = next,
                _ => break,
            }
        }
    }
    found
}
