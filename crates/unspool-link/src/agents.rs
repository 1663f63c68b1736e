//! Which agent each record belongs to.
//!
//! In order of strength: the agent id the record names, the agent the stream's name speaks of, the root of an
//! in-file side chain, else the main agent of the record's native session, which may be the agent that another session
//! started.

use crate::draft::Draft;
use rustc_hash::{FxHashMap, FxHashSet};
use unspool_model::flow::{NONE, Rival};
use unspool_model::{
    AttrName, Event, EventFlags, EventKind, KeyKind, RecordIx, Role, Rule, Spawn, Status, Sym, Timestamp,
    Witness,
};

/// An agent in the making.
#[derive(Default)]
pub(crate) struct AgentDraft {
    pub(crate) origin: Origin,
    pub(crate) native_id: Sym,
    /// The native session it was first seen in.
    pub(crate) session: Sym,
    pub(crate) kind: Learned,
    pub(crate) name: Learned,
    pub(crate) description: Learned,
    pub(crate) model: Learned,
    pub(crate) teammate: Sym,
    /// The agent that started it, as its own records say.
    pub(crate) stated_parent: Sym,
    pub(crate) workflow: Sym,
    pub(crate) fork: bool,
    pub(crate) internal: bool,
    /// Whether any record of its own was read.
    pub(crate) witnessed: bool,
    pub(crate) spawn: Option<Spawn>,
    /// Other calls fitted as well.
    pub(crate) spawn_tied: bool,
    /// Records that show the spawn.
    pub(crate) spawn_evidence: Vec<RecordIx>,
    /// What ids say of its start where somebody said otherwise, and the records that show it.
    pub(crate) spawn_by_id: Option<(Spawn, Vec<RecordIx>)>,
    /// The calls its side chain goes on from: one of them started it. Empty when nothing says so.
    pub(crate) among: Vec<u32>,
    pub(crate) rivals: Vec<Rival>,
    pub(crate) rival_count: u32,
    /// Calls that set it to work again.
    pub(crate) continued_by: Vec<u32>,
    pub(crate) parent: u32,
    pub(crate) depth: u32,
    pub(crate) status: Status,
    pub(crate) started: Timestamp,
    pub(crate) ended: Timestamp,
}

/// Standing of what was not stated about an agent, but follows from other words.
const INFERRED: u8 = 4;

/// A fact about an agent, and how good the source was that said so.
#[derive(Clone, Copy, Default)]
pub(crate) struct Learned {
    pub(crate) value: Sym,
    standing: u8,
}

impl Learned {
    /// Takes a value from a better source than before; of equal sources, the first.
    fn learn(&mut self, standing: u8, value: Option<Sym>) {
        if let Some(value) = value
            && (self.value.is_empty() || standing < self.standing)
        {
            *self = Learned { value, standing };
        }
    }

    /// Whether nobody stated it as what it is.
    pub(crate) fn is_inferred(self) -> bool {
        !self.value.is_empty() && self.standing == INFERRED
    }

    /// A value from a spawn's own record.
    pub(crate) fn of_spawn(value: Option<Sym>) -> Learned {
        Learned { value: value.unwrap_or_default(), standing: 2 }
    }
}

impl AgentDraft {
    /// Whether it is nobody's sub-agent: the main agent of a session, or a conversation that nothing started.
    pub(crate) fn is_main(&self) -> bool {
        matches!(self.origin, Origin::Main(_) | Origin::Conversation(_)) && self.spawn.is_none()
    }

    /// Whether somebody said who started it.
    pub(crate) fn is_declared(&self) -> bool {
        self.spawn.is_some_and(|spawn| spawn.rule == Rule::Manual)
    }
}

/// What tells an agent apart.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub(crate) enum Origin {
    /// The main agent of a native session.
    Main(Sym),
    /// An agent with an id.
    Native(Sym),
    /// An in-file side chain, by the uuid of its root.
    Chain(Sym),
    /// A conversation in recorded traffic.
    Conversation(Sym),
    /// What a client asks models for besides its work, by what it is for.
    Helper(Sym),
    /// An agent that a span tells of, by the span.
    Span(Sym),
    #[default]
    Unknown,
}

pub(crate) fn assign(draft: &mut Draft<'_>) {
    let roots = chain_roots(draft);
    let known = known_conversations(draft, &roots);
    let started = started_sessions(draft);
    let mut index: FxHashMap<Origin, u32> = FxHashMap::default();
    let mut record = u32::MAX;
    let mut current = NONE;
    draft.event_agent.reserve_exact(draft.group.events.len());
    for at in 0..draft.group.events.len() {
        let event = *draft.event(at);
        if event.record != record {
            record = event.record;
            let origin = match origin_of(draft, at, &roots) {
                Origin::Main(session) if started.contains(&session) => Origin::Native(session),
                origin => known.get(&origin).copied().unwrap_or(origin),
            };
            current = find_or_add(draft, &mut index, origin, draft.group.native_of(at));
            if is_own_record(event.kind) {
                draft.agents[current as usize].witnessed = true;
            }
        }
        // One record may describe several agents.
        if matches!(event.kind, EventKind::AgentInfo | EventKind::AgentStart | EventKind::AgentStop)
            && let Some(id) = draft.key(at, KeyKind::Agent, Role::Provides)
        {
            current = find_or_add(draft, &mut index, named(&event, id), draft.group.native_of(at));
        }
        draft.event_agent.push(current);
        if let Some(parent) = draft.key(at, KeyKind::ParentAgent, Role::Refers) {
            draft.agents[current as usize].stated_parent = parent;
        }
        if event.kind != EventKind::SpawnLink {
            learn(draft, &index, at, current);
        }
    }
    // Links speak of agents that may stand anywhere in the order.
    for at in 0..draft.group.events.len() {
        if draft.event(at).kind == EventKind::SpawnLink {
            learn(draft, &index, at, draft.event_agent[at]);
        }
    }
    mark_internal(draft);
}

/// Sessions that a call in another session started: their main agent is that call's agent, though it does not say so.
fn started_sessions(draft: &Draft<'_>) -> FxHashSet<Sym> {
    let links = (0..draft.group.events.len()).filter(|at| draft.event(*at).kind == EventKind::SpawnLink);
    let named = links
        .filter_map(|at| Some((draft.key(at, KeyKind::Agent, Role::Provides)?, draft.group.native_of(at))));
    named.filter(|(agent, native)| agent != native).map(|(agent, _)| agent).collect()
}

fn find_or_add(
    draft: &mut Draft<'_>,
    index: &mut FxHashMap<Origin, u32>,
    origin: Origin,
    session: Sym,
) -> u32 {
    *index.entry(origin).or_insert_with(|| {
        let native_id = match origin {
            Origin::Main(sym)
            | Origin::Native(sym)
            | Origin::Chain(sym)
            | Origin::Conversation(sym)
            | Origin::Helper(sym)
            | Origin::Span(sym) => sym,
            Origin::Unknown => Sym::EMPTY,
        };
        draft.agents.push(AgentDraft { origin, native_id, session, parent: NONE, ..AgentDraft::default() });
        u32::try_from(draft.agents.len() - 1).unwrap_or(NONE)
    })
}

/// Whether such an event is a moment of the agent's own life, not somebody's note about it.
fn is_own_record(kind: EventKind) -> bool {
    !matches!(
        kind,
        EventKind::AgentInfo
            | EventKind::SessionInfo
            | EventKind::SpawnLink
            | EventKind::Context
            | EventKind::ToldLink
            | EventKind::DeclaredLink
    )
}

/// The agent that an event names.
fn named(event: &Event, agent: Sym) -> Origin {
    if event.flags.has(EventFlags::MAIN_AGENT) { Origin::Main(agent) } else { Origin::Native(agent) }
}

fn origin_of(draft: &Draft<'_>, at: usize, roots: &FxHashMap<Sym, Sym>) -> Origin {
    let event = draft.event(at);
    let native = draft.group.native_of(at);
    let stream = draft.corpus.batch.stream_of(event.record);
    let about = matches!(event.kind, EventKind::AgentStart | EventKind::AgentStop | EventKind::AgentInfo);
    let role = if about { Role::Provides } else { Role::Refers };
    if let Some(agent) = draft.key(at, KeyKind::Agent, role) {
        return named(event, agent);
    }
    if let Some(agent) = stream.agent.some() {
        return Origin::Native(agent);
    }
    if let Some(origin) = draft.spans.origin(at) {
        return origin;
    }
    if event.flags.has(EventFlags::SIDECHAIN) {
        let uuid = draft.key(at, KeyKind::Uuid, Role::Provides).unwrap_or_default();
        return Origin::Chain(roots.get(&uuid).copied().unwrap_or(uuid));
    }
    if let Some(purpose) = draft.corpus.conversations.helper(event.record) {
        return Origin::Helper(purpose);
    }
    draft.corpus.conversations.of(event.record).map_or(Origin::Main(native), Origin::Conversation)
}

/// Recorded conversations whose answers another source tells as some agent's: the conversation is that agent's.
fn known_conversations(draft: &Draft<'_>, roots: &FxHashMap<Sym, Sym>) -> FxHashMap<Origin, Origin> {
    let mut known: FxHashMap<Origin, Origin> = FxHashMap::default();
    if draft.corpus.conversations.is_empty() {
        return known;
    }
    let mut said: FxHashMap<Sym, Origin> = FxHashMap::default();
    let mut recorded: Vec<(Sym, Origin)> = Vec::new();
    let mut record = (u32::MAX, Origin::Unknown);
    for at in 0..draft.group.events.len() {
        let event = draft.event(at);
        if event.record != record.0 {
            record = (event.record, origin_of(draft, at, roots));
        }
        let key = match event.kind {
            EventKind::ModelCall => draft.key(at, KeyKind::Message, Role::Provides),
            EventKind::ToolCall if !event.flags.has(EventFlags::COPY) => {
                draft.key(at, KeyKind::ToolUse, Role::Provides)
            }
            _ => None,
        };
        let Some(id) = key else { continue };
        if let Origin::Conversation(_) = record.1 {
            recorded.push((id, record.1));
        } else if draft.witness(at) == Witness::Transcript || matches!(record.1, Origin::Native(_)) {
            // Who cannot name agents says "main" of all of them; only a transcript's word counts for that.
            said.entry(id).or_insert(record.1);
        }
    }
    for (id, conversation) in recorded {
        if let Some(origin) = said.get(&id) {
            known.entry(conversation).or_insert(*origin);
        }
    }
    main_conversations(draft, roots, &mut known);
    known
}

/// A session whose main agent another source tells of, and one recorded conversation that no call opened: that is the main
/// agent's.
fn main_conversations(draft: &Draft<'_>, roots: &FxHashMap<Sym, Sym>, known: &mut FxHashMap<Origin, Origin>) {
    let mut mains: FxHashSet<Sym> = FxHashSet::default();
    let mut asked: FxHashSet<Sym> = FxHashSet::default();
    let mut opened: FxHashMap<Origin, (Sym, Vec<Sym>)> = FxHashMap::default();
    let mut record = (u32::MAX, Origin::Unknown);
    for at in 0..draft.group.events.len() {
        let event = draft.event(at);
        if event.record != record.0 {
            record = (event.record, origin_of(draft, at, roots));
            if let (Origin::Main(session), true) = (record.1, is_own_record(event.kind)) {
                mains.insert(session);
            }
        }
        let hashes = |role| {
            let keys = draft.corpus.batch.keys_of(event).iter();
            keys.filter(move |key| key.kind == KeyKind::PromptHash && key.role == role).map(|key| key.value)
        };
        match (event.kind, record.1) {
            (EventKind::ToolCall, _) => asked.extend(hashes(Role::Provides)),
            (EventKind::Context, Origin::Conversation(_)) if !known.contains_key(&record.1) => {
                let slot = opened.entry(record.1).or_insert((draft.group.native_of(at), Vec::new()));
                slot.1.extend(hashes(Role::Refers));
            }
            _ => {}
        }
    }
    let mut mains: Vec<Sym> = mains.into_iter().collect();
    mains.sort_unstable_by_key(|session| draft.text(*session));
    for session in mains {
        let own = opened.iter().filter(|(_, (native, _))| *native == session);
        let mut free = own.filter(|(_, (_, prompts))| !prompts.iter().any(|prompt| asked.contains(prompt)));
        if let (Some((conversation, _)), None) = (free.next(), free.next()) {
            known.insert(*conversation, Origin::Main(session));
        }
    }
}

/// The root of every in-file side chain, by the uuid of each of its records.
fn chain_roots(draft: &Draft<'_>) -> FxHashMap<Sym, Sym> {
    let mut parent: FxHashMap<Sym, Sym> = FxHashMap::default();
    let mut in_order = Vec::new();
    for at in 0..draft.group.events.len() {
        let event = draft.event(at);
        let agent_known = draft.key(at, KeyKind::Agent, Role::Refers).is_some()
            || !draft.corpus.batch.stream_of(event.record).agent.is_empty();
        if !event.flags.has(EventFlags::SIDECHAIN) || agent_known {
            continue;
        }
        if let Some(uuid) = draft.key(at, KeyKind::Uuid, Role::Provides)
            && !parent.contains_key(&uuid)
        {
            parent.insert(uuid, draft.key(at, KeyKind::Uuid, Role::Refers).unwrap_or_default());
            in_order.push(uuid);
        }
    }
    let mut roots: FxHashMap<Sym, Sym> = FxHashMap::default();
    for start in &in_order {
        let mut path = Vec::new();
        let mut on_path = FxHashSet::default();
        let mut at = *start;
        let root = loop {
            if let Some(known) = roots.get(&at) {
                break *known;
            }
            if !on_path.insert(at) {
                // The circle is cut at its first record in text order, wherever it was entered.
                let from = path.iter().position(|uuid| *uuid == at).unwrap_or(0);
                let circle = path[from..].iter().copied();
                break circle.min_by_key(|uuid: &Sym| draft.text(*uuid)).unwrap_or(at);
            }
            path.push(at);
            match parent.get(&at) {
                Some(above) if parent.contains_key(above) => at = *above,
                _ => break at,
            }
        };
        for uuid in path {
            roots.insert(uuid, root);
        }
    }
    roots
}

/// Takes what an event says about an agent: the one it belongs to, or one it speaks of.
fn learn(draft: &mut Draft<'_>, index: &FxHashMap<Origin, u32>, at: usize, current: u32) {
    let event = *draft.event(at);
    // A span that only looks like an agent says nothing about the one around it.
    if event.kind == EventKind::AgentStart && draft.spans.own(at).is_some() && !draft.spans.makes_agent(at) {
        return;
    }
    let target = match event.kind {
        EventKind::AgentInfo | EventKind::AgentStart | EventKind::AgentStop | EventKind::ModelCall => current,
        EventKind::UserMessage | EventKind::ToolResult | EventKind::ToolCall => {
            if let Some(teammate) = draft.key(at, KeyKind::Teammate, Role::Provides) {
                draft.agents[current as usize].teammate = teammate;
            }
            return;
        }
        EventKind::SpawnLink => {
            let Some(agent) = draft.key(at, KeyKind::Agent, Role::Provides) else { return };
            let Some(known) = index.get(&Origin::Native(agent)).copied() else { return };
            known
        }
        _ => return,
    };
    let kind = draft.attr_text(at, AttrName::AgentType);
    let name = draft.attr_text(at, AttrName::AgentName);
    let description = draft.attr_text(at, AttrName::Description);
    let model = draft.attr_text(at, AttrName::Model);
    let teammate = draft.key(at, KeyKind::Teammate, Role::Provides);
    let names_no_agent = draft.spans.own(at).is_some() && !event.flags.has(EventFlags::NAMES_AGENT);
    let stream_workflow = draft.corpus.batch.stream_of(event.record).workflow;
    let agent = &mut draft.agents[target as usize];
    let is_main = matches!(agent.origin, Origin::Main(_));
    // Who knows an agent best: what was written about it, then hooks, then its spawn, then what its calls are billed to.
    let standing = match event.kind {
        EventKind::AgentInfo => 0,
        EventKind::AgentStart if names_no_agent => INFERRED,
        EventKind::AgentStart | EventKind::AgentStop => 1,
        EventKind::SpawnLink => 2,
        _ => 3,
    };
    // The attribution on a main agent's model call names what it acts for, not what it is.
    agent.kind.learn(standing, kind.filter(|_| event.kind != EventKind::ModelCall || !is_main));
    agent.name.learn(standing, name);
    agent.description.learn(standing, description);
    agent.model.learn(standing, model);
    if agent.teammate.is_empty() {
        agent.teammate = teammate.unwrap_or_default();
    }
    if event.kind != EventKind::SpawnLink && agent.workflow.is_empty() {
        agent.workflow = stream_workflow;
    }
    agent.fork |= event.flags.has(EventFlags::FORK);
}

/// A status in a source's words.
pub(crate) fn stated(word: &str) -> Option<Status> {
    match word {
        "completed" | "done" | "success" => Some(Status::Completed),
        "failed" | "error" | "killed" | "stopped" | "cancelled" | "canceled" | "aborted" => {
            Some(Status::Failed)
        }
        _ => None,
    }
}

/// Agents a client runs for itself, by id or by their whole first message.
fn mark_internal(draft: &mut Draft<'_>) {
    let (table, prompts) = (draft.table, &draft.corpus.internal_prompts);
    let mut first_seen = vec![false; draft.agents.len()];
    let mut internal = vec![false; draft.agents.len()];
    for at in 0..draft.group.events.len() {
        let event = draft.event(at);
        let agent = draft.event_agent[at] as usize;
        if event.kind != EventKind::UserMessage || event.flags.has(EventFlags::META) || first_seen[agent] {
            continue;
        }
        first_seen[agent] = true;
        internal[agent] =
            draft.key(at, KeyKind::PromptHash, Role::Provides).is_some_and(|hash| prompts.contains(&hash));
    }
    for (n, by_prompt) in internal.into_iter().enumerate() {
        let by_id = table.is_internal_id(draft.corpus.batch.text.get(draft.agents[n].native_id));
        let agent = &mut draft.agents[n];
        let is_sub = matches!(agent.origin, Origin::Native(_) | Origin::Chain(_));
        let helper = matches!(agent.origin, Origin::Helper(_));
        agent.internal = helper || is_sub && (by_id || by_prompt);
    }
}
