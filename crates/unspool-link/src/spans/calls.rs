//! Calls that a model asked for and the spans of calls that bear no id of theirs.

use super::{Fused, Spans};
use crate::agents::Origin;
use crate::draft::{Draft, IssueDraft};
use rustc_hash::{FxHashMap, FxHashSet};
use unspool_model::flow::NONE;
use unspool_model::{Code, EventFlags, EventKind, KeyKind, Role, Sym, Timestamp};

/// Events and when they began.
type Moments = Vec<(Timestamp, usize)>;

impl Spans {
    /// Spans of calls that bear no id, and the calls a model asked for: in each agent, calls of one name meet in order.
    pub(super) fn fuse_calls(&mut self, draft: &Draft<'_>, issues: &mut Vec<IssueDraft>) {
        let is_listed = |at: usize| {
            let event = draft.event(at);
            let is_call = event.kind == EventKind::ToolCall && !event.flags.has(EventFlags::WHOLE);
            is_call || event.kind == EventKind::ToolResult
        };
        if !(0..draft.group.events.len()).any(is_listed) {
            return;
        }
        let (mut provided, mut names): (FxHashSet<Sym>, FxHashSet<Sym>) = Default::default();
        let (mut whole, mut asked): (FxHashSet<Sym>, FxHashSet<Sym>) = Default::default();
        // For each agent and name, the calls that were asked for and the spans of calls.
        let mut waiting: FxHashMap<(Origin, Sym), (Moments, Moments)> = FxHashMap::default();
        for at in 0..draft.group.events.len() {
            let event = draft.event(at);
            if event.kind == EventKind::ToolCall && !event.flags.has(EventFlags::WHOLE) {
                names.insert(event.name);
            }
            if event.kind == EventKind::ToolCall
                && let Some(id) = draft.key(at, KeyKind::ToolUse, Role::Provides)
            {
                provided.insert(id);
                if event.flags.has(EventFlags::WHOLE) {
                    whole.insert(id)
                } else {
                    asked.insert(id)
                };
            }
        }
        for at in 0..draft.group.events.len() {
            let event = draft.event(at);
            let Some(node) = self.node(at) else { continue };
            if self.twin(at).is_some() {
                continue;
            }
            let id = draft.key(at, KeyKind::ToolUse, Role::Provides);
            match event.kind {
                EventKind::ToolCall
                    if node.event as usize == at && id.is_none_or(|id| !asked.contains(&id)) =>
                {
                    waiting.entry((node.origin, event.name)).or_default().1.push((event.at, at));
                }
                // Some frameworks write a call as a span like any other, with the tool's name.
                EventKind::Generic if node.event as usize == at && names.contains(&event.name) => {
                    waiting.entry((node.origin, event.name)).or_default().1.push((event.at, at));
                }
                EventKind::ToolCall
                    if node.event as usize != at && id.is_none_or(|id| !whole.contains(&id)) =>
                {
                    let asked = draft.event(node.event as usize).at;
                    waiting.entry((node.origin, event.name)).or_default().0.push((asked, at));
                }
                EventKind::ToolResult if event.flags.has(EventFlags::COPY) => {
                    let call = draft.key(at, KeyKind::ToolUse, Role::Refers);
                    if call.is_none_or(|call| !provided.contains(&call)) {
                        self.dropped.insert(u32::try_from(at).unwrap_or(NONE));
                    }
                }
                _ => {}
            }
        }
        let mut waiting: Vec<_> =
            waiting.into_values().filter(|(listed, own)| !listed.is_empty() && !own.is_empty()).collect();
        // What is noted of them is noted in the order of the group.
        waiting.sort_by_key(|(_, own)| own.first().map(|(_, at)| *at));
        for (listed, own) in &mut waiting {
            // Equal moments are told apart by the text of ids, not by where they lie.
            listed.sort_by_key(|(asked, at)| {
                (*asked, draft.text(draft.key(*at, KeyKind::ToolUse, Role::Provides).unwrap_or_default()))
            });
            own.sort_by_key(|(started, at)| (*started, self.node(*at).map(|node| draft.text(node.id))));
            let mut next = 0;
            for (started, span) in own.iter() {
                let Some((asked, call)) = listed.get(next) else { break };
                if asked > started {
                    continue;
                }
                next += 1;
                let index = |at: usize| u32::try_from(at).unwrap_or(NONE);
                let id = |at: usize| draft.key(at, KeyKind::ToolUse, Role::Provides);
                let pair = (id(*call), id(*span));
                if pair.0.is_none() || pair.1.is_none() {
                    let record = Some(draft.event(*span).record);
                    issues.push(IssueDraft { code: Code::FusedByOrder, detail: Sym::EMPTY, record });
                }
                match pair {
                    (Some(id), None) => _ = self.fused.insert(index(*span), Fused::Call(id)),
                    (None, Some(id)) => _ = self.fused.insert(index(*call), Fused::Call(id)),
                    (None, None) => {
                        let id = self.node(*span).map(|node| node.id).unwrap_or_default();
                        self.fused.insert(index(*call), Fused::Span(id));
                        self.fused.insert(index(*span), Fused::Span(id));
                    }
                    // Ids that differ are two calls.
                    (Some(_), Some(_)) => {}
                }
            }
        }
    }
}
