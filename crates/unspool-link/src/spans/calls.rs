//! Calls that a model asked for and the spans of calls that bear no id of theirs.

use super::{Fused, Spans};
use crate::agents::Origin;
use crate::draft::{Draft, IssueDraft};
use rustc_hash::{FxHashMap, FxHashSet};
use unspool_model::flow::NONE;
use unspool_model::{Code, EventFlags, EventKind, KeyKind, Role, Sym, Timestamp};

/// Events and when they began.
type Moments = Vec<(Timestamp, usize)>;

/// For each agent and name, the calls that were asked for and the spans of calls.
type Waiting = FxHashMap<(Origin, Sym), (Moments, Moments)>;

/// The ids and names of the calls of a group.
#[derive(Default)]
struct Known {
    provided: FxHashSet<Sym>,
    /// Names of calls that were asked for.
    names: FxHashSet<Sym>,
    /// Ids of calls that a span tells.
    whole: FxHashSet<Sym>,
    /// Ids of calls that were asked for.
    asked: FxHashSet<Sym>,
}

impl Known {
    fn of(draft: &Draft<'_>) -> Known {
        let mut known = Known::default();
        for at in 0..draft.group.events.len() {
            let event = draft.event(at);
            if event.kind != EventKind::ToolCall {
                continue;
            }
            let is_whole = event.flags.has(EventFlags::WHOLE);
            if !is_whole {
                known.names.insert(event.name);
            }
            if let Some(id) = call_id(draft, at) {
                known.provided.insert(id);
                if is_whole {
                    known.whole.insert(id)
                } else {
                    known.asked.insert(id)
                };
            }
        }
        known
    }
}

fn call_id(draft: &Draft<'_>, at: usize) -> Option<Sym> {
    draft.key(at, KeyKind::ToolUse, Role::Provides)
}

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
        let waiting = self.waiting(draft);
        let mut waiting: Vec<_> =
            waiting.into_values().filter(|(listed, own)| !listed.is_empty() && !own.is_empty()).collect();
        // What is noted of them is noted in the order of the group.
        waiting.sort_by_key(|(_, own)| own.first().map(|(_, at)| *at));
        for (mut listed, mut own) in waiting {
            // Equal moments are told apart by the text of ids, not by where they lie.
            listed.sort_by_key(|(asked, at)| (*asked, draft.text(call_id(draft, *at).unwrap_or_default())));
            own.sort_by_key(|(started, at)| (*started, self.node(*at).map(|node| draft.text(node.id))));
            let mut listed = listed.into_iter().peekable();
            for (started, span) in own {
                if let Some((_, call)) = listed.next_if(|(asked, _)| *asked <= started) {
                    self.fuse(draft, call, span, issues);
                }
            }
        }
    }

    /// The calls and spans that may meet. Copies of results whose call is not there are no steps.
    fn waiting(&mut self, draft: &Draft<'_>) -> Waiting {
        let known = Known::of(draft);
        let mut waiting = Waiting::default();
        for at in 0..draft.group.events.len() {
            let event = draft.event(at);
            let Some(node) = self.node(at) else { continue };
            if self.twin(at).is_some() {
                continue;
            }
            let (id, is_span) = (call_id(draft, at), node.event as usize == at);
            let place = (node.origin, event.name);
            match event.kind {
                EventKind::ToolCall if is_span && id.is_none_or(|id| !known.asked.contains(&id)) => {
                    waiting.entry(place).or_default().1.push((event.at, at));
                }
                // Some frameworks write a call as a span like any other, with the tool's name.
                EventKind::Generic if is_span && known.names.contains(&event.name) => {
                    waiting.entry(place).or_default().1.push((event.at, at));
                }
                EventKind::ToolCall if !is_span && id.is_none_or(|id| !known.whole.contains(&id)) => {
                    let asked = draft.event(node.event as usize).at;
                    waiting.entry(place).or_default().0.push((asked, at));
                }
                EventKind::ToolResult if event.flags.has(EventFlags::COPY) => {
                    let call = draft.key(at, KeyKind::ToolUse, Role::Refers);
                    if call.is_none_or(|call| !known.provided.contains(&call)) {
                        self.dropped.insert(u32::try_from(at).unwrap_or(NONE));
                    }
                }
                _ => {}
            }
        }
        waiting
    }

    /// A call that was asked for and a span are one, unless their ids differ.
    fn fuse(&mut self, draft: &Draft<'_>, call: usize, span: usize, issues: &mut Vec<IssueDraft>) {
        let index = |at: usize| u32::try_from(at).unwrap_or(NONE);
        let pair = (call_id(draft, call), call_id(draft, span));
        if pair.0.is_none() || pair.1.is_none() {
            let record = Some(draft.event(span).record);
            issues.push(IssueDraft { code: Code::FusedByOrder, detail: Sym::EMPTY, record });
        }
        match pair {
            (Some(id), None) => _ = self.fused.insert(index(span), Fused::Call(id)),
            (None, Some(id)) => _ = self.fused.insert(index(call), Fused::Call(id)),
            (None, None) => {
                let id = self.node(span).map(|node| node.id).unwrap_or_default();
                self.fused.insert(index(call), Fused::Span(id));
                self.fused.insert(index(span), Fused::Span(id));
            }
            // Ids that differ are two calls.
            (Some(_), Some(_)) => {}
        }
    }
}
