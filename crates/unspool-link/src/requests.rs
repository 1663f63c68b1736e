//! Model calls that sources name differently: one that does not know the API's message id may know the request's, and another
//! may know both. Where there is no common id at all, a span is the call of the same agent that took the same tokens at the
//! same time, because counting it twice would be worse; an issue says so.

use crate::draft::Draft;
use rustc_hash::{FxHashMap, FxHashSet};
use unspool_model::{AttrName, EventKind, KeyKind, Role, Sym, Timestamp, Witness};

/// What leads from a call to its message.
#[derive(Default)]
pub(crate) struct Requests {
    /// The message each request was answered with, where somebody says both.
    messages: FxHashMap<Sym, Sym>,
    /// Messages of spans that no id joins to any, by the span's event.
    by_tokens: FxHashMap<usize, Sym>,
}

impl Requests {
    pub(crate) fn new(draft: &Draft<'_>) -> Requests {
        let calls =
            || (0..draft.group.events.len()).filter(|at| draft.event(*at).kind == EventKind::ModelCall);
        let message = |at: usize| draft.key(at, KeyKind::Message, Role::Provides);
        // Most sessions are told by transcripts alone, which always know the message.
        if calls().all(|at| draft.witness(at) == Witness::Transcript && message(at).is_some()) {
            return Requests::default();
        }
        let mut known = FxHashMap::default();
        let request = |at: usize, role| draft.key(at, KeyKind::Request, role);
        for at in calls() {
            let request = request(at, Role::Refers).or_else(|| request(at, Role::Provides));
            if let (Some(request), Some(message)) = (request, message(at))
                && request != message
            {
                let slot = known.entry(request).or_insert(message);
                // One request with several answers is no way to tell them apart; the first in order of text is as good.
                if draft.text(message) < draft.text(*slot) {
                    *slot = message;
                }
            }
        }
        let mut requests = Requests { messages: known, by_tokens: FxHashMap::default() };
        requests.match_by_tokens(draft);
        requests
    }

    /// Joins spans without a known message to calls of others: same agent, same tokens, nearly the same end; each once.
    fn match_by_tokens(&mut self, draft: &Draft<'_>) {
        let calls = (0..draft.group.events.len()).filter(|at| draft.event(*at).kind == EventKind::ModelCall);
        let (mut spans, mut others) = (Vec::new(), Vec::new());
        for at in calls.filter(|at| draft.spans.twin(*at).is_none()) {
            let Some(usage) = draft.corpus.batch.usage(draft.event(at)).filter(|usage| !usage.is_zero())
            else {
                continue;
            };
            let key = |kind| draft.key(at, kind, Role::Provides);
            let message = self.by_id(key(KeyKind::Message), key(KeyKind::Request));
            let ended = draft.attr_int(at, AttrName::EndedAt).map_or(draft.event(at).at, Timestamp::from_ns);
            if !ended.is_some() {
                continue;
            }
            match (draft.witness(at), message) {
                (Witness::Telemetry, None) => spans.push((ended, at, usage)),
                (Witness::Telemetry, Some(_)) | (_, None) => {}
                (_, Some(message)) => others.push((ended, at, usage, message)),
            }
        }
        if spans.is_empty() || others.is_empty() {
            return;
        }
        spans.sort_unstable_by_key(|(ended, at, _)| (*ended, *at));
        others.sort_unstable_by_key(|(ended, at, ..)| (*ended, *at));
        let window = draft.table.fusion_window_ms;
        let mut taken: FxHashSet<Sym> = FxHashSet::default();
        for (ended, at, usage) in spans {
            let distance = |other: Timestamp| other.ms_since(ended).map_or(i64::MAX, i64::abs);
            let first =
                others.partition_point(|(other, ..)| other.ms_since(ended).is_some_and(|ms| ms < -window));
            let near = others[first..].iter().take_while(|(other, ..)| distance(*other) <= window);
            let best = near
                .filter(|(_, other, tokens, message)| {
                    draft.event_agent[*other] == draft.event_agent[at]
                        && tokens.agrees_with(&usage)
                        && !taken.contains(message)
                })
                .min_by_key(|(other, n, ..)| (distance(*other), *n));
            if let Some((_, _, _, message)) = best {
                taken.insert(*message);
                self.by_tokens.insert(at, *message);
            }
        }
    }

    /// The events that were joined by their tokens alone.
    pub(crate) fn guessed(&self) -> Vec<usize> {
        let mut events: Vec<usize> = self.by_tokens.keys().copied().collect();
        events.sort_unstable();
        events
    }

    /// The message of a call: the one it names, unless that is a request's id by another name; else that of its request.
    pub(crate) fn message(&self, at: usize, message: Option<Sym>, request: Option<Sym>) -> Option<Sym> {
        self.by_id(message, request).or_else(|| self.by_tokens.get(&at).copied())
    }

    fn by_id(&self, message: Option<Sym>, request: Option<Sym>) -> Option<Sym> {
        let by_request = |id: Option<Sym>| id.and_then(|id| self.messages.get(&id).copied());
        by_request(message).or(message).or_else(|| by_request(request))
    }
}
