//! Which events witness the same step.
//!
//! A step is found by its native key: the API message, the tool call, the record's uuid; else it is the record
//! itself. So every copy and every other source of the same thing becomes one more witness.

mod keys;
mod places;
mod prompts;

use crate::declared::Declared;
use crate::draft::Draft;
use crate::grouping::{Content, same_content};
use crate::requests::Requests;
use keys::{
    BY_AGENT_START, BY_HISTORY, BY_MESSAGE, BY_RECORD, BY_REQUEST, BY_UUID, Index, Known, key_of, step_kind,
};
use places::Standings;
use prompts::fused_prompts;
use rustc_hash::FxHashMap;
use unspool_model::flow::{Millis, NONE};
use unspool_model::{
    Code, EventFlags, EventKind, IntentSource, KeyKind, RecordIx, Role, StepKind, Sym, Timestamp, Witness,
};

pub(crate) use keys::{BY_STEP, BY_TOOL_USE, StepKey};
pub(crate) use places::build_timeline;

/// A step in the making.
pub(crate) struct StepDraft {
    pub(crate) kind: StepKind,
    pub(crate) agent: u32,
    /// Event that gives it its place in the agent.
    pub(crate) first_event: u32,
    pub(crate) started: Timestamp,
    pub(crate) ended: Timestamp,
    pub(crate) duration_ms: Millis,
    pub(crate) key: Sym,
    pub(crate) key_kind: u8,
    pub(crate) name: Sym,
    pub(crate) tool_use: Sym,
    pub(crate) message: Sym,
    /// The exchange it was carried by, which is known before its message is.
    pub(crate) exchange: Sym,
    pub(crate) uuid: Sym,
    pub(crate) model: Sym,
    pub(crate) preview: Sym,
    pub(crate) intent: Sym,
    pub(crate) intent_source: IntentSource,
    /// Index into the draft's usages, or `NONE`.
    pub(crate) usage: u32,
    /// The sort of witness that said so.
    pub(crate) usage_from: Witness,
    /// The sort of witness of the whole thing that gave its times.
    pub(crate) times_from: Option<Witness>,
    pub(crate) is_error: bool,
    /// Standing of the records that give it its place and its result.
    standing: Standings,
    pub(crate) start_estimated: bool,
    pub(crate) has_call: bool,
    /// A witness tells of more than its beginning.
    pub(crate) has_end: bool,
    /// A line with a stop reason gave its usage.
    pub(crate) has_final_usage: bool,
    /// Event that carries its result, first hand if there is one; or `NONE`.
    pub(crate) result_event: u32,
    pub(crate) flags: EventFlags,
    pub(crate) run: u32,
    pub(crate) parent: u32,
    /// For tool calls, the model call that asked for it.
    pub(crate) caller: u32,
    pub(crate) seq: u32,
}

impl StepDraft {
    /// Whether its key says something only inside its agent.
    pub(crate) fn is_of_agent(&self) -> bool {
        matches!(self.key_kind, BY_REQUEST | BY_HISTORY)
    }

    /// Whether only its source's own name for it is known, and no id of a call or message.
    pub(crate) fn is_declared(&self) -> bool {
        self.key_kind == BY_STEP
    }

    /// Whether it has begun and nothing says that it ended.
    pub(crate) fn is_pending(&self) -> bool {
        match self.kind {
            StepKind::ToolCall => self.result_event == NONE,
            _ => self.flags.has(EventFlags::BEGUN) && !self.has_end,
        }
    }
}

pub(crate) fn build(draft: &mut Draft<'_>) {
    let known =
        Known { fused: fused_prompts(draft), declared: Declared::new(draft), requests: Requests::new(draft) };
    for at in known.requests.guessed() {
        let record = draft.event(at).record;
        draft.issue(Code::FusedByTokens, Sym::EMPTY, Some(record));
    }
    let mut index = Index::new(draft);
    let mut head_of_uuid = draft.id_map();
    let mut exchange_of: FxHashMap<Sym, Sym> = FxHashMap::default();
    // Records that say something else than the first of their uuid: each such content is a step of its own.
    let mut contradicting: FxHashMap<(Sym, Content), RecordIx> = FxHashMap::default();
    // Memory that is not touched costs nothing, growing by copying does.
    draft.steps.reserve_exact(draft.group.events.len());
    draft.event_step.reserve_exact(draft.group.events.len());
    for at in 0..draft.group.events.len() {
        let Some(kind) = step_kind(draft, draft.spans.twin(at).unwrap_or(at)) else {
            draft.event_step.push(NONE);
            continue;
        };
        let mut key = key_of(draft, at, kind, &known);
        // Two exchanges are two calls, though an API may answer both with one id.
        if key.0 == BY_MESSAGE
            && let Some(exchange) = draft.key(at, KeyKind::Exchange, Role::Provides)
            && *exchange_of.entry(key.1).or_insert(exchange) != exchange
        {
            key = (BY_RECORD, Sym::EMPTY, draft.event(at).record);
        }
        // Only a record that bears the uuid itself can contradict another; a fused one was matched by its text.
        if key.0 == BY_UUID && draft.key(at, KeyKind::Uuid, Role::Provides) == Some(key.1) {
            let first = head_of_uuid.first(key.1, u32::try_from(at).unwrap_or(NONE)) as usize;
            let (batch, event) = (&draft.corpus.batch, draft.event(at));
            if first != at && !same_content(batch, draft.event(first), event) {
                let record = event.record;
                let content = Content::of(batch, event);
                // What has neither a moment nor an id cannot be told to be the same as another.
                let holder = if content.is_known() {
                    *contradicting.entry((key.1, content)).or_insert(record)
                } else {
                    record
                };
                if holder == record {
                    draft.issue(Code::DuplicateUuid, key.1, Some(record));
                }
                key = (BY_RECORD, Sym::EMPTY, holder);
            }
        }
        let next = u32::try_from(draft.steps.len()).unwrap_or(NONE);
        let step = index.first(key, next);
        if step == next {
            draft.steps.push(new_step(kind, key));
        } else if key.0 == BY_STEP && draft.steps[step as usize].kind == StepKind::Generic {
            // A witness of a step's end alone may not know what it was.
            draft.steps[step as usize].kind = kind;
        }
        draft.event_step.push(step);
        let event = draft.event(at);
        if event.kind == EventKind::ModelCall && draft.corpus.conversations.of(event.record).is_some() {
            let record = event.record;
            draft.call_of.insert(record, step);
        }
    }
    places::choose(draft);
}

fn new_step(kind: StepKind, key: StepKey) -> StepDraft {
    StepDraft {
        kind,
        agent: NONE,
        first_event: NONE,
        started: Timestamp::NONE,
        ended: Timestamp::NONE,
        duration_ms: Millis::NONE,
        standing: Standings::default(),
        key: key.1,
        key_kind: key.0,
        name: Sym::EMPTY,
        tool_use: if key.0 == BY_TOOL_USE { key.1 } else { Sym::EMPTY },
        message: if key.0 == BY_MESSAGE { key.1 } else { Sym::EMPTY },
        exchange: Sym::EMPTY,
        uuid: Sym::EMPTY,
        model: Sym::EMPTY,
        preview: Sym::EMPTY,
        intent: Sym::EMPTY,
        intent_source: IntentSource::None,
        usage: NONE,
        usage_from: Witness::Notice,
        times_from: None,
        is_error: false,
        start_estimated: false,
        has_call: false,
        has_end: false,
        has_final_usage: false,
        result_event: NONE,
        flags: EventFlags::none(),
        run: NONE,
        parent: NONE,
        caller: NONE,
        seq: 0,
    }
}

/// The start of an agent none of whose records were read.
pub(crate) fn unwitnessed_start(agent: u32) -> StepDraft {
    StepDraft { agent, ..new_step(StepKind::AgentStart, (BY_AGENT_START, Sym::EMPTY, agent)) }
}
