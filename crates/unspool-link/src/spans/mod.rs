//! The trees that spans make: who encloses whom, which spans are agents, which only repeat what lies inside them.
//!
//! In: the events of a group. Out: for every span its parent, the agent it belongs to and the call that encloses it; for
//! every event what it stands for. Without recursion, and a circle cannot hang it. Never here: edges; `rules/spans.rs`
//! draws them.

mod calls;
mod moments;
mod prompts;
mod twins;

use crate::agents::Origin;
use crate::draft::{Draft, IssueDraft};
use crate::symmap::SymMap;
use rustc_hash::{FxHashMap, FxHashSet};
use unspool_model::flow::NONE;
use unspool_model::{
    AgentSource, AttrName, Code, EventFlags, EventKind, KeyKind, Role, Sym, Timestamp, Witness,
};

/// All spans of a group.
#[derive(Default)]
pub(crate) struct Spans {
    pub(crate) nodes: Vec<Node>,
    /// For each event of the group the span of its record, or `NONE`; empty when there are no spans.
    of_event: Vec<u32>,
    by_id: Option<SymMap>,
    /// Listed calls and call spans that are one: the call's id for a span, the span for a call without id.
    pub(crate) fused: FxHashMap<u32, Fused>,
    /// Model calls that several instruments watched, and what these asked for: the event that names each, also for itself. Moments of
    /// something: the event that tells of it.
    twins: FxHashMap<u32, u32>,
    /// Prompts that are repeated: the first event that tells of each.
    pub(crate) prompt: FxHashMap<u32, u32>,
    /// Events that are no step: prompts and results that are only copies.
    pub(crate) dropped: FxHashSet<u32>,
}

/// One span.
pub(crate) struct Node {
    /// The event that is the span.
    pub(crate) event: u32,
    pub(crate) id: Sym,
    pub(crate) trace: Sym,
    pub(crate) parent: u32,
    /// How many spans lie around it.
    level: u32,
    /// The nearest agent span around it, itself included, or `NONE`.
    pub(crate) agent: u32,
    /// The nearest call between it and the agent around it, itself excluded, or `NONE`.
    pub(crate) call: u32,
    /// For an agent span, the agent around it.
    pub(crate) outer: u32,
    pub(crate) kind: NodeKind,
    /// Another span bears the same id and says something else.
    pub(crate) is_double: bool,
    /// Its parent is named and was not read.
    pub(crate) is_orphan: bool,
    /// Another span of its call gives it its place.
    pub(crate) is_echo: bool,
    /// A model call that another one inside it does.
    pub(crate) is_wrapper: bool,
    /// A loop that is no agent and in which no model call was traced: it is the call.
    pub(crate) is_call_itself: bool,
    /// Its tokens are those of spans inside it.
    pub(crate) repeats_usage: bool,
    origin: Origin,
}

/// What a span is, as far as agents and calls go.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum NodeKind {
    Agent,
    /// An agent if nothing around it is.
    Umbrella,
    Call,
    Model,
    Other,
}

/// What an event is fused with.
#[derive(Clone, Copy)]
pub(crate) enum Fused {
    /// A call by its id.
    Call(Sym),
    /// A span.
    Span(Sym),
}

impl Spans {
    pub(crate) fn build(draft: &mut Draft<'_>) -> Spans {
        let mut spans = Spans::default();
        let telemetry = |at: usize| draft.witness(at) == Witness::Telemetry;
        if !(0..draft.group.events.len()).any(telemetry) {
            return spans;
        }
        let mut issues = Vec::new();
        spans.collect(draft, &mut issues);
        let mut order = spans.order(draft, &mut issues);
        if spans.place_moments(draft, &order, &mut issues) {
            order = spans.order(draft, &mut issues);
        }
        if spans.find_twins(draft, &order, &mut issues) {
            order = spans.order(draft, &mut issues);
        }
        spans.find_agents(draft, &order);
        spans.find_wrappers(draft, &order, &mut issues);
        spans.name_owners(draft, &mut issues);
        spans.fuse_calls(draft, &mut issues);
        spans.choose_prompts(draft);
        draft.issues.append(&mut issues);
        spans
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The span an event belongs to.
    pub(crate) fn node(&self, at: usize) -> Option<&Node> {
        self.nodes.get(*self.of_event.get(at)? as usize)
    }

    /// The span an event is.
    pub(crate) fn own(&self, at: usize) -> Option<&Node> {
        self.node(at).filter(|node| node.event as usize == at)
    }

    /// The event that names what an event tells of, when another instrument's span does.
    pub(crate) fn twin(&self, at: usize) -> Option<usize> {
        let index = u32::try_from(at).ok()?;
        self.twins.get(&index).copied().filter(|head| *head != index).map(|head| head as usize)
    }

    pub(crate) fn find(&self, id: Sym) -> Option<u32> {
        self.by_id.as_ref()?.get(id)
    }

    /// How many spans lie around the one an event belongs to; 0 for other events.
    pub(crate) fn level(&self, at: usize) -> u32 {
        self.node(at).map_or(0, |node| node.level)
    }

    /// The agent an event belongs to by its span.
    pub(crate) fn origin(&self, at: usize) -> Option<Origin> {
        self.node(at).map(|node| node.origin)
    }

    /// Whether an event is an agent's span and makes an agent.
    pub(crate) fn makes_agent(&self, at: usize) -> bool {
        self.of_event.get(at).is_some_and(|n| self.is_agent(*n))
    }

    /// Whether a span makes an agent; others only look like one.
    pub(crate) fn is_agent(&self, n: u32) -> bool {
        self.nodes.get(n as usize).is_some_and(|node| node.agent == n)
    }

    /// How it is known whose an event is.
    pub(crate) fn agent_source(&self, draft: &Draft<'_>, at: usize) -> AgentSource {
        let Some(node) = self.node(at) else { return AgentSource::Stated };
        let is_named = draft.event(node.event as usize).flags.has(EventFlags::NAMES_AGENT);
        if is_named || self.makes_agent(at) {
            AgentSource::Stated
        } else if node.agent == NONE {
            AgentSource::Assumed
        } else {
            AgentSource::Inherited
        }
    }

    fn collect(&mut self, draft: &Draft<'_>, issues: &mut Vec<IssueDraft>) {
        let events = draft.group.events.len();
        let mut by_id = draft.id_map();
        self.of_event = vec![NONE; events];
        self.nodes.reserve(events);
        let mut at = 0;
        while at < events {
            let record = draft.event(at).record;
            let mut end = at + 1;
            while end < events && draft.event(end).record == record {
                end += 1;
            }
            let own = (at..end).find_map(|at| Some((at, draft.key(at, KeyKind::Span, Role::Provides)?)));
            if let Some((main, id)) = own {
                let n = u32::try_from(self.nodes.len()).unwrap_or(NONE);
                let first = by_id.first(id, n);
                let is_double = first != n && !same(draft, self.nodes[first as usize].event as usize, main);
                if is_double {
                    issues.push(IssueDraft {
                        code: Code::DuplicateSpan,
                        detail: Sym::EMPTY,
                        record: Some(record),
                    });
                }
                self.of_event[at..end].fill(n);
                self.nodes.push(Node {
                    event: u32::try_from(main).unwrap_or(NONE),
                    id,
                    trace: draft.key(main, KeyKind::Trace, Role::Refers).unwrap_or_default(),
                    parent: NONE,
                    level: 0,
                    agent: NONE,
                    call: NONE,
                    outer: NONE,
                    kind: node_kind(draft, main),
                    is_double,
                    is_orphan: false,
                    is_echo: false,
                    is_wrapper: false,
                    is_call_itself: false,
                    repeats_usage: false,
                    origin: Origin::Unknown,
                });
            }
            at = end;
        }
        for n in 0..self.nodes.len() {
            let event = self.nodes[n].event as usize;
            let Some(parent) = draft.key(event, KeyKind::Span, Role::Refers) else { continue };
            let found = by_id.get(parent);
            self.nodes[n].parent = found.unwrap_or(NONE);
            self.nodes[n].is_orphan = found.is_none();
            if found.is_none() {
                let record = Some(draft.event(event).record);
                issues.push(IssueDraft { code: Code::SpanParentMissing, detail: Sym::EMPTY, record });
            }
        }
        self.by_id = Some(by_id);
    }

    /// All spans, parents before children. A circle is cut at its first span in the order of ids.
    fn order(&mut self, draft: &Draft<'_>, issues: &mut Vec<IssueDraft>) -> Vec<u32> {
        let mut done = vec![false; self.nodes.len()];
        let mut on_path = vec![false; self.nodes.len()];
        let mut order = Vec::with_capacity(self.nodes.len());
        let mut path = Vec::new();
        for start in 0..self.nodes.len() {
            let mut at = start;
            loop {
                if done[at] {
                    break;
                }
                if on_path[at] {
                    let from = path.iter().position(|n| *n == at).unwrap_or(0);
                    let circle = path[from..].iter().copied();
                    let text = |n: &usize| {
                        (
                            draft.text(self.nodes[*n].id),
                            draft.text(draft.event(self.nodes[*n].event as usize).name),
                        )
                    };
                    let first = circle.min_by_key(text).unwrap_or(at);
                    self.nodes[first].parent = NONE;
                    let record = draft.event(self.nodes[first].event as usize).record;
                    issues.push(IssueDraft {
                        code: Code::SpanParentCycle,
                        detail: Sym::EMPTY,
                        record: Some(record),
                    });
                    // Walk anew from where the circle was entered, now that it is open.
                    for n in path.drain(..) {
                        on_path[n] = false;
                    }
                    at = start;
                    continue;
                }
                on_path[at] = true;
                path.push(at);
                match self.nodes[at].parent {
                    NONE => break,
                    parent => at = parent as usize,
                }
            }
            for n in path.drain(..).rev() {
                let above = self.nodes.get(self.nodes[n].parent as usize);
                self.nodes[n].level = above.map_or(0, |above| above.level + 1);
                done[n] = true;
                on_path[n] = false;
                order.push(u32::try_from(n).unwrap_or(NONE));
            }
        }
        order
    }

    /// Which spans are agents, and what encloses every span.
    fn find_agents(&mut self, draft: &Draft<'_>, order: &[u32]) {
        // Whether a model or a tool is at work in a span.
        let mut works = vec![false; self.nodes.len()];
        for n in order.iter().rev() {
            let node = &self.nodes[*n as usize];
            let is_work = !matches!(
                draft.event(node.event as usize).kind,
                EventKind::AgentStart | EventKind::Generic | EventKind::Hook
            );
            let own = works[*n as usize] || is_work;
            if let Some(slot) = works.get_mut(node.parent as usize) {
                *slot |= own;
            }
        }
        for n in order {
            let (agent, call) = match self.nodes.get(self.nodes[*n as usize].parent as usize) {
                None => (NONE, NONE),
                Some(above) if above.kind == NodeKind::Call => (above.agent, self.nodes[*n as usize].parent),
                Some(above) if above.agent == self.nodes[*n as usize].parent => (above.agent, NONE),
                Some(above) => (above.agent, above.call),
            };
            let name = |n: u32| draft.event(self.nodes[n as usize].event as usize).name;
            let makes_agent = match self.nodes[*n as usize].kind {
                // A wrapper of the same name around an agent is the agent, and one in which nothing happens is a step.
                NodeKind::Agent => {
                    agent == NONE || call != NONE || (name(agent) != name(*n) && works[*n as usize])
                }
                NodeKind::Umbrella => agent == NONE || call != NONE,
                _ => false,
            };
            let node = &mut self.nodes[*n as usize];
            (node.agent, node.call) = (if makes_agent { *n } else { agent }, call);
            node.outer = if makes_agent { agent } else { NONE };
        }
    }

    /// Spans that repeat what lies inside them. A call or an agent between two model calls makes them two.
    fn find_wrappers(&mut self, draft: &Draft<'_>, order: &[u32], issues: &mut Vec<IssueDraft>) {
        #[derive(Clone, Copy, Default)]
        struct Below {
            any: bool,
            model: bool,
            usage: bool,
            near_usage: bool,
            /// A moment of the span itself says that tokens were used.
            told_usage: bool,
        }
        let mut below = vec![Below::default(); self.nodes.len()];
        for n in order.iter().rev() {
            let own = below[*n as usize];
            let event = self.nodes[*n as usize].event as usize;
            let has_usage = has_tokens(draft, event);
            let cuts = self.nodes[*n as usize].kind == NodeKind::Call || self.nodes[*n as usize].agent == *n;
            let node = &mut self.nodes[*n as usize];
            let is_model = node.kind == NodeKind::Model;
            let says_nothing = draft.event(event).name.is_empty() && !has_usage && own.any;
            node.is_wrapper = is_model
                && !self.twins.contains_key(&node.event)
                && (own.model || says_nothing)
                && draft.key(event, KeyKind::Message, Role::Provides).is_none();
            node.is_call_itself =
                node.kind == NodeKind::Umbrella && node.agent != *n && has_usage && !own.model;
            let repeats = has_usage && if is_model { own.near_usage } else { own.usage };
            node.repeats_usage |= repeats;
            if repeats {
                let record = Some(draft.event(event).record);
                issues.push(IssueDraft { code: Code::UsageOfWrapper, detail: Sym::EMPTY, record });
            }
            let (parent, tells_usage) = (node.parent, has_usage || own.told_usage);
            let is_moment = self.is_moment(*n);
            if let Some(above) = below.get_mut(parent as usize) {
                above.told_usage |= is_moment && tells_usage;
                above.any |= !is_moment || own.any;
                above.usage |= own.usage || (!is_moment && tells_usage);
                above.model |= !cuts && (own.model || (!is_moment && is_model));
                above.near_usage |= !cuts && (own.near_usage || (!is_moment && tells_usage));
            }
        }
    }

    /// The agent of every span. Agent spans that neither an agent nor a call encloses are the session's main agent when they all bear one
    /// name; else those at the root of a trace are main agents by their names, and the others agents of their own.
    fn name_owners(&mut self, draft: &Draft<'_>, issues: &mut Vec<IssueDraft>) {
        let native = |node: &Node| draft.group.native_of(node.event as usize);
        let name = |node: &Node| draft.event(node.event as usize).name;
        let start = |node: &Node| draft.event(node.event as usize).at;
        // For each session, the name of its main agent, and whether there are several names.
        let mut mains: FxHashMap<Sym, (bool, Timestamp, Sym)> = FxHashMap::default();
        let mut several: FxHashSet<Sym> = FxHashSet::default();
        for (n, node) in (0_u32..).zip(&self.nodes) {
            if node.agent != n || node.outer != NONE || node.call != NONE {
                continue;
            }
            let own = (node.parent != NONE, start(node), name(node));
            let slot = mains.entry(native(node)).or_insert(own);
            if slot.2 != own.2 {
                several.insert(native(node));
            }
            let text = |entry: &(bool, Timestamp, Sym)| (entry.0, entry.1, draft.text(entry.2).to_string());
            if text(&own) < text(slot) {
                *slot = own;
            }
        }
        let mut origins: Vec<Origin> = Vec::with_capacity(self.nodes.len());
        for (n, node) in (0_u32..).zip(&self.nodes) {
            let session = native(node);
            let main = mains.get(&session);
            origins.push(if node.agent != n {
                Origin::Unknown
            } else if node.outer != NONE
                || node.call != NONE
                || (node.parent != NONE && several.contains(&session))
            {
                Origin::Span(node.id)
            } else if node.parent != NONE || main.is_none_or(|(_, _, main)| *main == name(node)) {
                Origin::Main(session)
            } else {
                Origin::Main(name(node))
            });
        }
        for n in 0..self.nodes.len() {
            let node = &self.nodes[n];
            let origin = origins.get(node.agent as usize).copied();
            let session = native(node);
            if origin.is_none() && node.is_orphan && mains.contains_key(&session) {
                let record = Some(draft.event(node.event as usize).record);
                issues.push(IssueDraft { code: Code::AgentAssumed, detail: Sym::EMPTY, record });
            }
            self.nodes[n].origin = origin.unwrap_or(Origin::Main(session));
        }
    }
}

fn node_kind(draft: &Draft<'_>, at: usize) -> NodeKind {
    let event = draft.event(at);
    match event.kind {
        EventKind::AgentStart if event.flags.has(EventFlags::UMBRELLA) => NodeKind::Umbrella,
        EventKind::AgentStart => NodeKind::Agent,
        EventKind::ToolCall => NodeKind::Call,
        EventKind::ModelCall => NodeKind::Model,
        _ => NodeKind::Other,
    }
}

/// Whether a span says that tokens were used.
fn has_tokens(draft: &Draft<'_>, at: usize) -> bool {
    draft.corpus.batch.usage(draft.event(at)).is_some_and(|usage| !usage.is_zero())
}

/// Whether two spans of one id are one span, told twice. Formats differ in what they keep of a span's name and time.
fn same(draft: &Draft<'_>, a: usize, b: usize) -> bool {
    let (one, other) = (draft.event(a), draft.event(b));
    let parent = |at| draft.key(at, KeyKind::Span, Role::Refers);
    let close = one.at.ms_since(other.at).is_none_or(|ms| ms.abs() <= 1);
    let named = one.name == other.name
        || draft.attr_int(a, AttrName::EndedAt) == draft.attr_int(b, AttrName::EndedAt);
    one.kind == other.kind && close && named && parent(a) == parent(b)
}
