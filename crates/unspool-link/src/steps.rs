//! Which events witness the same step.
//!
//! A step is found by its native key: the API message, the tool call, the record's uuid; else it is the record
//! itself. So every copy and every other source of the same thing becomes one more witness.

use crate::agents::Origin;
use crate::declared::Declared;
use crate::draft::Draft;
use crate::grouping::{Content, same_content};
use crate::requests::Requests;
use crate::spans::Fused;
use crate::symmap::SymMap;
use rustc_hash::FxHashMap;
use unspool_model::flow::{Millis, NONE};
use unspool_model::{
    Code, Event, EventFlags, EventKind, IntentSource, KeyKind, RecordIx, Role, StepKind, Sym, Timestamp,
    Witness,
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

/// Standing of the records that give a step its place and its result, four bits each: there are as many steps as lines.
#[derive(Clone, Copy, Default)]
struct Standings(u8);

impl Standings {
    fn place(self) -> u8 {
        self.0 & 15
    }

    fn result(self) -> u8 {
        self.0 >> 4
    }

    fn set_place(&mut self, standing: u8) {
        self.0 = (self.0 & !15) | (standing & 15);
    }

    fn set_result(&mut self, standing: u8) {
        self.0 = (self.0 & 15) | (standing << 4);
    }
}

/// What finds a step: a namespace and a value.
pub(crate) type StepKey = (u8, Sym, u32);

const BY_MESSAGE: u8 = 1;
const BY_REQUEST: u8 = 2;
pub(crate) const BY_TOOL_USE: u8 = 3;
const BY_UUID: u8 = 4;
const BY_RECORD: u8 = 5;
const BY_AGENT_START: u8 = 6;
const BY_EVENT: u8 = 7;
const BY_HISTORY: u8 = 8;
pub(crate) const BY_STEP: u8 = 9;
const BY_SPAN: u8 = 10;

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
    let known =
        Known { fused: fused_prompts(draft), declared: Declared::new(draft), requests: Requests::new(draft) };
    for at in known.requests.guessed() {
        let record = draft.event(at).record;
        draft.issue(Code::FusedByTokens, Sym::EMPTY, Some(record));
    }
    let mut index = Index::new(draft);
    let mut head_of_uuid = draft.id_map();
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
        standing: Standings::default(),
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
        | EventKind::Context
        | EventKind::ToldLink => return None,
    })
}

/// What other records say about the ids of an event.
struct Known {
    fused: FxHashMap<usize, StepKey>,
    declared: Declared,
    requests: Requests,
}

fn key_of(draft: &Draft<'_>, at: usize, kind: StepKind, known: &Known) -> StepKey {
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

/// Prompts that several sources tell of, by the event that is fused to another's step: by prompt id and text, else by text
/// within the fusion window. Whoever has no id of its own for the prompt (a hook, a recorded request) goes to the one who
/// has: a record of a chain, else a recorded conversation.
fn fused_prompts(draft: &Draft<'_>) -> FxHashMap<usize, StepKey> {
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
    let table = &draft.corpus.table;
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

/// Which agent a step is of, and which of its events gives it its place. A copy in another agent's stream does
/// not take a step away from the agent that did it.
fn choose_agents(draft: &mut Draft<'_>, ranks: &[u32], session_ranks: &FxHashMap<Sym, u32>) {
    // How good a witness an event is: its standing, whose it is, which session was there first, its place.
    let worth = |draft: &Draft<'_>, at: usize, standing: u8| {
        let strength = standing * 2 + u8::from(draft.event(at).kind == EventKind::ToolResult);
        let session = session_ranks.get(&draft.group.native_of(at)).copied().unwrap_or(u32::MAX);
        (strength, ranks[draft.event_agent[at] as usize], session, draft.place(at))
    };
    let mut standing = 0_u8;
    for at in 0..draft.event_step.len() {
        if is_head(draft, at) {
            // A record of a chain was written by the agent itself; a note about it that names the agent is second
            // hand; a source that cannot name agents (old hooks) says "main" by default. A copy comes last.
            let key = |kind, role| draft.key(at, kind, role);
            standing = match (key(KeyKind::Uuid, Role::Provides), key(KeyKind::Agent, Role::Refers)) {
                _ if draft.event(at).flags.has(EventFlags::COPY)
                    || draft.event(at).flags.has(EventFlags::MOMENT) =>
                {
                    3
                }
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
        let best_result = is_result && better(best.result_event, best.standing.result());
        let best_place = better(best.first_event, best.standing.place());
        let step = &mut draft.steps[step as usize];
        if best_result {
            step.result_event = index;
            step.standing.set_result(standing);
        }
        if best_place {
            (step.agent, step.first_event) = (agent, index);
            step.standing.set_place(standing);
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
        let (agent, session) = (draft.event_agent[at] as usize, draft.group.native_of(at));
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
        let is_main = matches!(agent.origin, Origin::Main(_) | Origin::Conversation(_));
        (!is_main, agent.fork || forked[*n], last_seen[*n], draft.text(agent.native_id))
    });
    let mut rank = vec![0; order.len()];
    for (position, agent) in order.into_iter().enumerate() {
        rank[agent] = u32::try_from(position).unwrap_or(u32::MAX);
    }
    rank
}

/// The event at whose moment a step stands in its agent's order. A call is listed by the span of the model call that asked
/// for it; should its own lie in a span that began later, it stands there.
fn anchor(draft: &Draft<'_>, step: &StepDraft) -> usize {
    let (first, result) = (step.first_event as usize, step.result_event as usize);
    let own = draft.spans.own(result).filter(|_| step.kind == StepKind::ToolCall);
    let around = own.and_then(|own| draft.spans.nodes.get(own.parent as usize));
    let began_later =
        around.is_some_and(|around| draft.place(around.event as usize).0 > draft.place(first).0);
    if began_later && draft.spans.node(first).is_some() { result } else { first }
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
            let at = anchor(draft, step);
            let mut place = draft.place(at);
            if step.kind == StepKind::AgentStart {
                // Of what began at one moment, the agent's own span was first.
                place.1 = 0;
            }
            if step.kind == StepKind::AgentStop && place.0.is_whole_second() {
                // A clock that counts whole seconds dates the end before what came earlier in its second.
                place.0 = place.0.plus_ms(999);
            }
            // Of spans that began at one moment, the one around the others was first. All of a sub-agent lies in its own.
            let is_outermost =
                step.kind == StepKind::AgentStart && !draft.agents[step.agent as usize].is_main();
            let level = if is_outermost { 0 } else { draft.spans.level(at) };
            (frame, place.0, level, place.1)
        });
    }
    draft.timeline = timeline;
}
