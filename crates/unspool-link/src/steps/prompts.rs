//! Prompts that several sources tell of.

use super::StepKey;
use super::keys::{BY_HISTORY, BY_UUID};
use crate::draft::Draft;
use rustc_hash::FxHashMap;
use unspool_model::{EventKind, KeyKind, Role, Sym, Witness};

/// Prompts that several sources tell of, by the event that is fused to another's step: by prompt id and text, else by text
/// within the fusion window. Whoever has no id of its own for the prompt (a hook, a recorded request) goes to the one who
/// has: a record of a chain, else a recorded conversation.
pub(super) fn fused_prompts(draft: &Draft<'_>) -> FxHashMap<usize, StepKey> {
    let mut anchors: [FxHashMap<Sym, Vec<(usize, StepKey)>>; 2] = Default::default();
    let mut told: Vec<usize> = Vec::new();
    for at in 0..draft.group.events.len() {
        if draft.event(at).kind != EventKind::UserMessage {
            continue;
        }
        let by_uuid = draft.key(at, KeyKind::Uuid, Role::Provides).map(|uuid| (0, (BY_UUID, uuid, 0)));
        let agent = draft.event_agent[at];
        let anchor = by_uuid.or_else(|| {
            draft.key(at, KeyKind::History, Role::Provides).map(|hash| (1, (BY_HISTORY, hash, agent)))
        });
        if by_uuid.is_none() {
            told.push(at);
        }
        if let Some((sort, key)) = anchor {
            for hash in prompt_hashes(draft, at) {
                anchors[sort].entry(hash).or_default().push((at, key));
            }
        }
    }
    if told.is_empty() {
        return FxHashMap::default();
    }
    let table = draft.table;
    // Each sort of source tells of a prompt once, or again in a request that is tried again.
    let mut taken: FxHashMap<(StepKey, Witness), Option<Sym>> = FxHashMap::default();
    let mut fused = FxHashMap::default();
    for at in told {
        let (event, witness) = (draft.event(at), draft.witness(at));
        let prompt = draft.key(at, KeyKind::Prompt, Role::Provides);
        let history = draft.key(at, KeyKind::History, Role::Provides);
        let distance = |other: usize| event.at.ms_since(draft.event(other).at).unwrap_or(0).abs();
        let is_free = |key: StepKey| {
            let other = taken.get(&(key, witness));
            other.is_none_or(|other| other.is_some() && *other == history)
        };
        let is_same = |other: usize| {
            let same_prompt = prompt.is_some() && draft.key(other, KeyKind::Prompt, Role::Provides) == prompt;
            // What stands in a request may have been said long before it was sent.
            let waited = event.at.ms_since(draft.event(other).at).unwrap_or(0);
            let sent_later = witness == Witness::Wire && (0..=table.conversation_window_ms).contains(&waited);
            same_prompt || sent_later || distance(other) <= table.fusion_window_ms
        };
        // A recorded request has a conversation of its own already.
        let sorts = if history.is_some() { &anchors[..1] } else { &anchors[..] };
        let best = sorts.iter().find_map(|anchors| {
            let hashes = prompt_hashes(draft, at);
            let candidates = hashes.filter_map(|hash| anchors.get(&hash)).flatten();
            let fitting = candidates.filter(|(other, key)| is_free(*key) && is_same(*other));
            fitting.min_by_key(|(other, _)| {
                (draft.event_agent[*other] != draft.event_agent[at], distance(*other), *other)
            })
        });
        if let Some((_, key)) = best {
            taken.insert((*key, witness), history);
            fused.insert(at, *key);
        }
    }
    fused
}

fn prompt_hashes<'d>(draft: &'d Draft<'_>, at: usize) -> impl Iterator<Item = Sym> + 'd {
    let keys = draft.corpus.batch.keys_of(draft.event(at)).iter();
    keys.filter(|key| key.kind == KeyKind::PromptHash && key.role == Role::Provides).map(|key| key.value)
}
