//! What sort of step an event witnesses, and the key that finds it.

use crate::declared::Declared;
use crate::draft::Draft;
use crate::requests::Requests;
use crate::spans::Fused;
use crate::symmap::SymMap;
use rustc_hash::FxHashMap;
use unspool_model::flow::NONE;
use unspool_model::{EventFlags, EventKind, KeyKind, Role, StepKind, Sym};

/// What finds a step: a namespace and a value.
pub(crate) type StepKey = (u8, Sym, u32);

pub(super) const BY_MESSAGE: u8 = 1;
pub(super) const BY_REQUEST: u8 = 2;
pub(crate) const BY_TOOL_USE: u8 = 3;
pub(super) const BY_UUID: u8 = 4;
pub(super) const BY_RECORD: u8 = 5;
pub(super) const BY_AGENT_START: u8 = 6;
pub(super) const BY_EVENT: u8 = 7;
pub(super) const BY_HISTORY: u8 = 8;
pub(crate) const BY_STEP: u8 = 9;
pub(super) const BY_SPAN: u8 = 10;

/// Steps by their keys.
pub(super) struct Index {
    by_message: SymMap,
    by_tool_use: SymMap,
    by_uuid: SymMap,
    others: FxHashMap<StepKey, u32>,
}

impl Index {
    pub(super) fn new(draft: &Draft<'_>) -> Index {
        Index {
            by_message: draft.id_map(),
            by_tool_use: draft.id_map(),
            by_uuid: draft.id_map(),
            others: FxHashMap::default(),
        }
    }

    /// The step a key leads to, or `next` from now on.
    pub(super) fn first(&mut self, key: StepKey, next: u32) -> u32 {
        match key.0 {
            BY_MESSAGE => self.by_message.first(key.1, next),
            BY_TOOL_USE => self.by_tool_use.first(key.1, next),
            BY_UUID => self.by_uuid.first(key.1, next),
            _ => *self.others.entry(key).or_insert(next),
        }
    }
}

pub(super) fn step_kind(draft: &Draft<'_>, at: usize) -> Option<StepKind> {
    let event = draft.event(at);
    if let Some(own) = draft.spans.own(at) {
        let looks_like_agent = event.kind == EventKind::AgentStart && !draft.spans.makes_agent(at);
        if event.kind == EventKind::Generic && draft.spans.fused.contains_key(&own.event) {
            return Some(StepKind::ToolCall);
        }
        if own.is_call_itself {
            return Some(StepKind::ModelCall);
        }
        if own.is_wrapper || looks_like_agent {
            return Some(StepKind::Generic);
        }
    } else if draft.spans.dropped.contains(&u32::try_from(at).unwrap_or(NONE)) {
        return None;
    }
    Some(match event.kind {
        EventKind::UserMessage => StepKind::UserMessage,
        // The harness writes such lines in the model's place; no call happened.
        EventKind::ModelCall if event.flags.has(EventFlags::SYNTHETIC) => StepKind::System,
        EventKind::ModelCall => StepKind::ModelCall,
        EventKind::ToolCall | EventKind::ToolResult => StepKind::ToolCall,
        EventKind::AgentStart => StepKind::AgentStart,
        EventKind::AgentStop => StepKind::AgentStop,
        EventKind::Compaction => StepKind::Compaction,
        EventKind::System => StepKind::System,
        EventKind::Hook => StepKind::Hook,
        EventKind::Retrieval => StepKind::Retrieval,
        EventKind::Embedding => StepKind::Embedding,
        EventKind::Memory => StepKind::Memory,
        EventKind::Router => StepKind::Router,
        EventKind::Guardrail => StepKind::Guardrail,
        EventKind::Generic => StepKind::Generic,
        EventKind::AgentInfo
        | EventKind::SpawnLink
        | EventKind::AgentReturn
        | EventKind::SessionInfo
        | EventKind::Context
        | EventKind::ToldLink
        | EventKind::DeclaredLink => return None,
    })
}

/// What other records say about the ids of an event.
pub(super) struct Known {
    pub(super) fused: FxHashMap<usize, StepKey>,
    pub(super) declared: Declared,
    pub(super) requests: Requests,
}

pub(super) fn key_of(draft: &Draft<'_>, at: usize, kind: StepKind, known: &Known) -> StepKey {
    let at = draft.spans.twin(at).unwrap_or(at);
    let event = draft.event(at);
    let key = |kind, role| draft.key(at, kind, role);
    let index = u32::try_from(at).unwrap_or(NONE);
    let by_step = || key(KeyKind::Step, Role::Provides).map(|id| known.declared.key(id));
    let by_span = || {
        let own = draft.spans.own(at)?;
        Some(if own.is_double { (BY_RECORD, Sym::EMPTY, event.record) } else { (BY_SPAN, own.id, 0) })
    };
    let found = match kind {
        StepKind::ModelCall => {
            let request = key(KeyKind::Request, Role::Provides);
            let message = known.requests.message(at, key(KeyKind::Message, Role::Provides), request);
            let by_request = || request.map(|id| (BY_REQUEST, id, draft.event_agent[at]));
            message.map(|id| (BY_MESSAGE, id, 0)).or_else(by_request).or_else(by_span)
        }
        StepKind::ToolCall => key(KeyKind::ToolUse, Role::Provides)
            .or_else(|| key(KeyKind::ToolUse, Role::Refers))
            .map(|id| (BY_TOOL_USE, id, 0))
            .or_else(by_step)
            .or_else(|| match draft.spans.fused.get(&index)? {
                Fused::Call(id) => Some((BY_TOOL_USE, *id, 0)),
                Fused::Span(id) => Some((BY_SPAN, *id, 0)),
            })
            .or_else(by_span)
            .or(Some((BY_EVENT, Sym::EMPTY, index))),
        StepKind::AgentStart => {
            let told = key(KeyKind::Told, Role::Provides).map(|_| (BY_RECORD, Sym::EMPTY, event.record));
            by_span().or(told).or(Some((BY_AGENT_START, Sym::EMPTY, draft.event_agent[at])))
        }
        StepKind::UserMessage => {
            let of_span = || {
                let first = draft.spans.prompt.get(&index).copied().unwrap_or(index);
                draft.spans.node(at).map(|_| (BY_EVENT, Sym::EMPTY, first))
            };
            // A request that is tried again says nothing new.
            let by_history = || {
                let history = key(KeyKind::History, Role::Provides);
                history.map(|id| (BY_HISTORY, id, draft.event_agent[at]))
            };
            known.fused.get(&at).copied().or_else(by_history).or_else(of_span)
        }
        _ => by_span(),
    };
    let by_uuid = || {
        let own = matches!(
            kind,
            StepKind::UserMessage
                | StepKind::Compaction
                | StepKind::System
                | StepKind::ModelCall
                | StepKind::Hook
        );
        key(KeyKind::Uuid, Role::Provides).filter(|_| own).map(|uuid| (BY_UUID, uuid, 0))
    };
    found.or_else(by_step).or_else(by_uuid).unwrap_or((BY_RECORD, Sym::EMPTY, event.record))
}
