//! Which events witness the same step.
//!
//! A step is found by its native key: the API message, the tool call, the record's uuid; else it is the record
//! itself. So every copy and every other source of the same thing becomes one more witness.

use crate::agents::Origin;
use crate::draft::Draft;
use crate::grouping::same_content;
use crate::spans::Fused;
use crate::symmap::SymMap;
use rustc_hash::FxHashMap;
use unspool_model::flow::{Millis, NONE};
use unspool_model::{
    Code, Event, EventFlags, EventKind, IntentSource, KeyKind, Role, StepKind, Sym, Timestamp, Witness,
};

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
    standing: u8,
    result_standing: u8,
    pub(crate) start_estimated: bool,
    pub(crate) has_call: bool,
    /// A line with a stop reason gave its usage.
    pub(crate) has_final_usage: bool,
    /// Event that carries its result, first hand if there is one; or `NONE`.
    pub(crate) result_event: u32,
    pub(crate) flags: EventFlags,
    pub(crate) run: u32,
    pub(crate) parent: u32,
    /// For tool calls, the model call that asked for it.
    pub(crate) caller: u32,
    /// The step whose span encloses it, of the same agent.
    pub(crate) around: u32,
    pub(crate) seq: u32,
}

impl StepDraft {
    /// Whether its key says something only inside its agent.
    pub(crate) fn is_of_agent(&self) -> bool {
        self.key_kind == BY_REQUEST
    }
}

/// What finds a step: a namespace and a value.
type StepKey = (u8, Sym, u32);

const BY_MESSAGE: u8 = 1;
const BY_REQUEST: u8 = 2;
const BY_TOOL_USE: u8 = 3;
const BY_UUID: u8 = 4;
const BY_RECORD: u8 = 5;
const BY_AGENT_START: u8 = 6;
const BY_EVENT: u8 = 7;
const BY_SPAN: u8 = 8;

/// Steps by their keys.
struct Index {
    by_message: SymMap,
    by_tool_use: SymMap,
    by_uuid: SymMap,
    others: FxHashMap<StepKey, u32>,
}

impl Index {
    fn new(draft: &Draft<'_>) -> Index {
        Index {
            by_message: draft.id_map(),
            by_tool_use: draft.id_map(),
            by_uuid: draft.id_map(),
            others: FxHashMap::default(),
        }
    }

    /// The step a key leads to, or `next` from now on.
    fn first(&mut self, key: StepKey, next: u32) -> u32 {
        match key.0 {
            BY_MESSAGE => self.by_message.first(key.1, next),
            BY_TOOL_USE => self.by_tool_use.first(key.1, next),
            BY_UUID => self.by_uuid.first(key.1, next),
            _ => *self.others.entry(key).or_insert(next),
        }
    }
}

pub(crate) fn build(draft: &mut Draft<'_>) {
    let fused = Fusion { prompts: fused_prompts(draft), messages: messages_by_request(draft) };
    let mut index = Index::new(draft);
    let mut head_of_uuid = draft.id_map();
    // Memory that is not touched costs nothing, growing by copying does.
    draft.steps.reserve_exact(draft.group.events.len());
    draft.event_step.reserve_exact(draft.group.events.len());
    for at in 0..draft.group.events.len() {
        let Some(kind) = step_kind(draft, at) else {
            draft.event_step.push(NONE);
            continue;
        };
        let mut key = key_of(draft, at, kind, &fused);
        // Only a record that bears the uuid itself can contradict another; a fused one was matched by its text.
        if key.0 == BY_UUID && draft.key(at, KeyKind::Uuid, Role::Provides) == Some(key.1) {
            let first = head_of_uuid.first(key.1, u32::try_from(at).unwrap_or(NONE)) as usize;
            if first != at
                && !same_content(&draft.corpus.batch, Some(draft.event(first)), Some(draft.event(at)))
            {
                let record = draft.event(at).record;
                draft.issue(Code::DuplicateUuid, key.1, Some(record));
                key = (BY_RECORD, Sym::EMPTY, record);
            }
        }
        let next = u32::try_from(draft.steps.len()).unwrap_or(NONE);
        let step = index.first(key, next);
        if step == next {
            draft.steps.push(new_step(kind, key));
        }
        draft.event_step.push(step);
    }
    let ranks = agent_ranks(draft);
    let session_ranks = session_ranks(draft, &ranks);
    name_sessions(draft, &session_ranks);
    choose_agents(draft, &ranks, &session_ranks);
    build_timeline(draft);
}

fn new_step(kind: StepKind, key: StepKey) -> StepDraft {
    StepDraft {
        kind,
        agent: NONE,
        first_event: NONE,
        started: Timestamp::NONE,
        ended: Timestamp::NONE,
        duration_ms: Millis::NONE,
        standing: 0,
        result_standing: 0,
        key: key.1,
        key_kind: key.0,
        name: Sym::EMPTY,
        tool_use: if key.0 == BY_TOOL_USE { key.1 } else { Sym::EMPTY },
        message: if key.0 == BY_MESSAGE { key.1 } else { Sym::EMPTY },
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
        has_final_usage: false,
        result_event: NONE,
        flags: EventFlags::none(),
        run: NONE,
        parent: NONE,
        caller: NONE,
        around: NONE,
        seq: 0,
    }
}

/// The start of an agent none of whose records were read.
pub(crate) fn unwitnessed_start(agent: u32) -> StepDraft {
    StepDraft { agent, ..new_step(StepKind::AgentStart, (BY_AGENT_START, Sym::EMPTY, agent)) }
}

fn step_kind(draft: &Draft<'_>, at: usize) -> Option<StepKind> {
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
        | EventKind::Context => return None,
    })
}

fn key_of(draft: &Draft<'_>, at: usize, kind: StepKind, fused: &Fusion) -> StepKey {
    let event = draft.event(at);
    let key = |kind, role| draft.key(at, kind, role);
    let index = u32::try_from(at).unwrap_or(NONE);
    let by_span = || {
        let own = draft.spans.own(at)?;
        Some(if own.is_double { (BY_RECORD, Sym::EMPTY, event.record) } else { (BY_SPAN, own.id, 0) })
    };
    let found = match kind {
        StepKind::ModelCall => {
            let request = key(KeyKind::Request, Role::Provides);
            let message =
                key(KeyKind::Message, Role::Provides).or_else(|| fused.messages.get(&request?).copied());
            let by_request = || request.map(|id| (BY_REQUEST, id, draft.event_agent[at]));
            message.map(|id| (BY_MESSAGE, id, 0)).or_else(by_request).or_else(by_span)
        }
        StepKind::ToolCall => key(KeyKind::ToolUse, Role::Provides)
            .or_else(|| key(KeyKind::ToolUse, Role::Refers))
            .map(|id| (BY_TOOL_USE, id, 0))
            .or_else(|| match draft.spans.fused.get(&index)? {
                Fused::Call(id) => Some((BY_TOOL_USE, *id, 0)),
                Fused::Span(id) => Some((BY_SPAN, *id, 0)),
            })
            .or_else(by_span)
            .or(Some((BY_EVENT, Sym::EMPTY, index))),
        StepKind::AgentStart => by_span().or(Some((BY_AGENT_START, Sym::EMPTY, draft.event_agent[at]))),
        StepKind::UserMessage => {
            let of_span = || {
                let first = draft.spans.prompt.get(&index).copied().unwrap_or(index);
                draft.spans.node(at).map(|_| (BY_EVENT, Sym::EMPTY, first))
            };
            fused.prompts.get(&event.record).map(|uuid| (BY_UUID, *uuid, 0)).or_else(of_span)
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
    found.or_else(by_uuid).unwrap_or((BY_RECORD, Sym::EMPTY, event.record))
}

/// What sources without an id of their own are joined by.
struct Fusion {
    /// Records that hold a prompt, and the uuid of the record that is that prompt.
    prompts: FxHashMap<u32, Sym>,
    /// Requests whose answer's id is known.
    messages: FxHashMap<Sym, Sym>,
}

/// A source that knows a request only meets one that knows its answer, too.
fn messages_by_request(draft: &Draft<'_>) -> FxHashMap<Sym, Sym> {
    let mut messages: FxHashMap<Sym, Sym> = FxHashMap::default();
    let requests = |at: usize| {
        let stated = draft.key(at, KeyKind::Request, Role::Refers);
        stated.or_else(|| draft.key(at, KeyKind::Request, Role::Provides))
    };
    let message = |at: usize| draft.key(at, KeyKind::Message, Role::Provides);
    let calls = || (0..draft.group.events.len()).filter(|at| draft.event(*at).kind == EventKind::ModelCall);
    if draft.spans.is_empty() && calls().all(|at| message(at).is_some()) {
        return messages;
    }
    for at in calls() {
        if let (Some(request), Some(message)) = (requests(at), message(at)) {
            let slot = messages.entry(request).or_insert(message);
            // One request with several answers is no way to tell them apart; the first in order of text is as good.
            if draft.text(message) < draft.text(*slot) {
                *slot = message;
            }
        }
    }
    messages
}

/// Prompts seen by a source without uuids (hooks) that a transcript holds too: by prompt id and text, else by
/// text within the fusion window. Maps the hook's record to the transcript record's uuid.
fn fused_prompts(draft: &Draft<'_>) -> FxHashMap<u32, Sym> {
    let mut with_uuid: FxHashMap<Sym, Vec<(usize, Sym)>> = FxHashMap::default();
    let mut without = Vec::new();
    for at in 0..draft.group.events.len() {
        if draft.event(at).kind != EventKind::UserMessage {
            continue;
        }
        let Some(hash) = draft.key(at, KeyKind::PromptHash, Role::Provides) else { continue };
        match draft.key(at, KeyKind::Uuid, Role::Provides) {
            Some(uuid) => with_uuid.entry(hash).or_default().push((at, uuid)),
            None => without.push((at, hash)),
        }
    }
    let mut taken: FxHashMap<Sym, u32> = FxHashMap::default();
    let mut fused = FxHashMap::default();
    for (at, hash) in without {
        let event = draft.event(at);
        let prompt = draft.key(at, KeyKind::Prompt, Role::Provides);
        let candidates = with_uuid.get(&hash).into_iter().flatten();
        let distance = |other: usize| event.at.ms_since(draft.event(other).at).unwrap_or(0).abs();
        let best = candidates
            .filter(|(_, uuid)| !taken.contains_key(uuid))
            .filter(|(other, _)| {
                let same_prompt =
                    prompt.is_some() && draft.key(*other, KeyKind::Prompt, Role::Provides) == prompt;
                same_prompt || distance(*other) <= draft.corpus.table.fusion_window_ms
            })
            .min_by_key(|(other, _)| (distance(*other), *other));
        if let Some((_, uuid)) = best {
            taken.insert(*uuid, event.record);
            fused.insert(event.record, *uuid);
        }
    }
    fused
}

/// Which agent a step is of, and which of its events gives it its place. A copy in another agent's stream does
/// not take a step away from the agent that did it.
fn choose_agents(draft: &mut Draft<'_>, ranks: &[u32], session_ranks: &FxHashMap<Sym, u32>) {
    // How good a witness an event is: its standing, whose it is, which session was there first, its place.
    let worth = |draft: &Draft<'_>, at: usize, standing: u8| {
        let strength = standing * 2 + u8::from(draft.event(at).kind == EventKind::ToolResult);
        let session = session_ranks.get(&draft.group.event_native[at]).copied().unwrap_or(u32::MAX);
        (strength, ranks[draft.event_agent[at] as usize], session, draft.place(at))
    };
    let mut standing = 0_u8;
    for at in 0..draft.event_step.len() {
        if is_head(draft, at) {
            // A record of a chain was written by the agent itself; a note about it that names the agent is second
            // hand; a source that cannot name agents (old hooks) says "main" by default.
            let key = |kind, role| draft.key(at, kind, role);
            standing = match (key(KeyKind::Uuid, Role::Provides), key(KeyKind::Agent, Role::Refers)) {
                (Some(_), _) => 0,
                (None, Some(_)) => 1,
                (None, None) => 2,
            };
        }
        let step = draft.event_step[at];
        if step == NONE {
            continue;
        }
        let best = &draft.steps[step as usize];
        let (agent, index) = (draft.event_agent[at], u32::try_from(at).unwrap_or(NONE));
        let own = worth(draft, at, standing);
        let better = |other: u32, other_standing: u8| {
            other == NONE || own < worth(draft, other as usize, other_standing)
        };
        let is_result = is_result(draft.event(at));
        let best_result = is_result && better(best.result_event, best.result_standing);
        let best_place = better(best.first_event, best.standing);
        let step = &mut draft.steps[step as usize];
        if best_result {
            (step.result_event, step.result_standing) = (index, standing);
        }
        if best_place {
            (step.agent, step.first_event, step.standing) = (agent, index, standing);
        }
    }
}

/// Whether an event carries a tool's answer.
fn is_result(event: &Event) -> bool {
    let is_call = matches!(event.kind, EventKind::ToolCall | EventKind::Generic);
    let whole_call = is_call && event.flags.has(EventFlags::WHOLE);
    event.kind == EventKind::ToolResult || whole_call
}

/// The order in which native sessions were there: that of their main agents.
fn session_ranks(draft: &Draft<'_>, ranks: &[u32]) -> FxHashMap<Sym, u32> {
    let mains = draft.agents.iter().zip(ranks).filter_map(|(agent, rank)| match agent.origin {
        Origin::Main(session) => Some((session, *rank)),
        _ => None,
    });
    mains.collect()
}

/// An agent whose records are replayed in later sessions is of the session that was there first.
fn name_sessions(draft: &mut Draft<'_>, rank_of_session: &FxHashMap<Sym, u32>) {
    let mut best = vec![u32::MAX; draft.agents.len()];
    for at in 0..draft.event_agent.len() {
        let (agent, session) = (draft.event_agent[at] as usize, draft.group.event_native[at]);
        let rank = rank_of_session.get(&session).copied().unwrap_or(u32::MAX);
        if rank < best[agent] {
            best[agent] = rank;
            draft.agents[agent].session = session;
        }
    }
}

/// Whether an event is the first of its record.
fn is_head(draft: &Draft<'_>, at: usize) -> bool {
    at == 0 || draft.event(at - 1).record != draft.event(at).record
}

/// Who a step belongs to when several hold it: the session that was there first, mains before sub-agents,
/// forks last.
fn agent_ranks(draft: &Draft<'_>) -> Vec<u32> {
    let mut last_seen = vec![Timestamp::NONE; draft.agents.len()];
    let mut forked = vec![false; draft.agents.len()];
    for at in 0..draft.event_agent.len() {
        let agent = draft.event_agent[at] as usize;
        last_seen[agent] = last_seen[agent].later(draft.event(at).at);
        forked[agent] |= draft.key(at, KeyKind::ForkedFrom, Role::Refers).is_some();
    }
    let mut order: Vec<usize> = (0..draft.agents.len()).collect();
    order.sort_by_key(|n| {
        let agent = &draft.agents[*n];
        let is_main = matches!(agent.origin, Origin::Main(_));
        (!is_main, agent.fork || forked[*n], last_seen[*n], draft.text(agent.native_id))
    });
    let mut rank = vec![0; order.len()];
    for (position, agent) in order.into_iter().enumerate() {
        rank[agent] = u32::try_from(position).unwrap_or(u32::MAX);
    }
    rank
}

pub(crate) fn build_timeline(draft: &mut Draft<'_>) {
    let mut timeline = vec![Vec::new(); draft.agents.len()];
    for (n, step) in draft.steps.iter().enumerate() {
        if step.agent != NONE {
            timeline[step.agent as usize].push(u32::try_from(n).unwrap_or(NONE));
        }
    }
    for steps in &mut timeline {
        steps.sort_by_key(|n| {
            let step = &draft.steps[*n as usize];
            // An agent's start and stop frame its life, whatever a coarse clock says.
            let frame = match step.kind {
                StepKind::AgentStart if step.key_kind == BY_AGENT_START => 0,
                StepKind::AgentStop if !draft.place_of(step).0.is_some() => 2,
                _ => 1,
            };
            let mut place = draft.place_of(step);
            if step.kind == StepKind::AgentStart {
                // Of what began at one moment, the agent's own span was first.
                place.1 = 0;
            }
            if step.kind == StepKind::AgentStop && place.0.is_whole_second() {
                // A clock that counts whole seconds dates the end before what came earlier in its second.
                place.0 = place.0.plus_ms(999);
            }
            (frame, place)
        });
    }
    draft.timeline = timeline;
}
