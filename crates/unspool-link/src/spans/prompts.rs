//! What was said: spans around each other repeat it, and one of them tells it.

use super::{NodeKind, Spans};
use crate::agents::Origin;
use crate::draft::Draft;
use rustc_hash::{FxHashMap, FxHashSet};
use unspool_model::flow::NONE;
use unspool_model::{EventFlags, EventKind, KeyKind, Role, Sym};

impl Spans {
    /// What was said to an agent in a trace is told by its own span; else by the first span in it that holds a prompt.
    /// Spans around each other repeat it.
    pub(super) fn choose_prompts(&mut self, draft: &Draft<'_>) {
        #[derive(Default)]
        struct Said {
            stated: Vec<usize>,
            implied: Vec<usize>,
        }
        let mut said: FxHashMap<(Origin, Sym), Said> = FxHashMap::default();
        let mut spoken: FxHashSet<Sym> = FxHashSet::default();
        for at in 0..draft.group.events.len() {
            if draft.event(at).kind != EventKind::UserMessage {
                continue;
            }
            let Some(node) = self.node(at) else {
                // Somebody nearer wrote down what was said in this session.
                spoken.insert(draft.group.native_of(at));
                continue;
            };
            let slot = said.entry((node.origin, node.trace)).or_default();
            let is_agent = node.kind == NodeKind::Agent || node.kind == NodeKind::Umbrella;
            let only_looks = is_agent && !self.makes_agent(at);
            let implied = only_looks || draft.event(at).flags.has(EventFlags::IMPLIED);
            if implied { slot.implied.push(at) } else { slot.stated.push(at) }
        }
        let place = |at: &usize| {
            let id = self.node(*at).map(|node| node.id).unwrap_or_default();
            (draft.event(*at).at, draft.text(id).to_string())
        };
        let mut dropped = Vec::new();
        let mut prompts = Vec::new();
        let mut all: Vec<Said> = said.into_values().collect();
        for Said { stated, implied } in &mut all {
            implied.sort_by_key(place);
            stated.sort_by_key(place);
            let keeps = stated.is_empty()
                && implied.first().is_some_and(|at| !spoken.contains(&draft.group.native_of(*at)));
            let hash = |at: usize| draft.key(at, KeyKind::PromptHash, Role::Provides);
            // What is kept, by its text; everything else tells of the same or is left out.
            let mut kept: FxHashMap<Option<Sym>, usize> = FxHashMap::default();
            let said = stated.iter().chain(implied.iter().take(usize::from(keeps)));
            for at in said {
                match kept.get(&hash(*at)) {
                    Some(first) => prompts.push((*at, *first)),
                    None => _ = kept.insert(hash(*at), *at),
                }
            }
            for at in implied.iter().skip(usize::from(keeps)) {
                match kept.get(&hash(*at)) {
                    Some(first) => prompts.push((*at, *first)),
                    None => dropped.push(*at),
                }
            }
        }
        let index = |at: usize| u32::try_from(at).unwrap_or(NONE);
        self.dropped.extend(dropped.into_iter().map(index));
        self.prompt.extend(prompts.into_iter().map(|(at, first)| (index(at), index(first))));
    }
}
