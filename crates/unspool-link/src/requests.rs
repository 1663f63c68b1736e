//! Model calls by the id of their request: a source that does not know the API's message id may know the request's, and
//! another may know both.

use crate::draft::Draft;
use rustc_hash::FxHashMap;
use unspool_model::{EventKind, KeyKind, Role, Sym, Witness};

/// The message each request was answered with, where somebody says both.
#[derive(Default)]
pub(crate) struct Requests(FxHashMap<Sym, Sym>);

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
        Requests(known)
    }

    /// The message of a call: the one it names, unless that is a request's id by another name; else that of its request.
    pub(crate) fn message(&self, message: Option<Sym>, request: Option<Sym>) -> Option<Sym> {
        let by_request = |id: Option<Sym>| id.and_then(|id| self.0.get(&id).copied());
        by_request(message).or(message).or_else(|| by_request(request))
    }
}
