//! A session's flow in the making. The walk: agents, steps, facts, links, structure, flow.

use crate::agents::AgentDraft;
use crate::corpus::Corpus;
use crate::grouping::Group;
use crate::order::{self, Place};
use crate::spans::Spans;
use crate::steps::StepDraft;
use crate::structure::stated_runs::StatedRun;
use crate::surroundings::Surroundings;
use crate::symmap::SymMap;
use crate::{Table, agents, facts, finish, rules, steps, structure};
use rustc_hash::FxHashMap;
use unspool_model::flow::NONE;
use unspool_model::{
    AttrName, Code, Confidence, Edge, EdgeKind, Event, EventFlags, Flow, KeyKind, Lines, RecordIx,
    RequestKind, Role, Rule, Run, Sym, Timestamp, Usage, Witness,
};

/// Everything known about a session while it is being linked.
pub(crate) struct Draft<'c> {
    pub(crate) corpus: &'c Corpus,
    /// Where the session is at work.
    pub(crate) place: Surroundings,
    /// Names and windows, as they are there.
    pub(crate) table: &'c Table,
    pub(crate) group: &'c Group,
    /// For each event of the group, the latest time its stream had reached.
    pub(crate) reached: Vec<Timestamp>,
    /// The trees of spans.
    pub(crate) spans: Spans,
    pub(crate) agents: Vec<AgentDraft>,
    /// For each event of the group, the agent its record belongs to.
    pub(crate) event_agent: Vec<u32>,
    pub(crate) steps: Vec<StepDraft>,
    /// For each event of the group, the step it witnesses, or `NONE`.
    pub(crate) event_step: Vec<u32>,
    /// The model call of each recorded request that belongs to a conversation.
    pub(crate) call_of: FxHashMap<RecordIx, u32>,
    /// Tokens of the steps that have some.
    pub(crate) usages: Vec<Usage>,
    /// First words of what went wrong, by step.
    pub(crate) errors: FxHashMap<u32, Sym>,
    /// Hashes of what tools were given, by step; the first witness counts.
    pub(crate) inputs: Vec<(u32, u32)>,
    pub(crate) lines: Vec<(u32, Lines)>,
    /// What recorded requests were for, by step; the first witness counts.
    pub(crate) requests: Vec<(u32, RequestKind)>,
    /// The step around a step, for spans that lie in others.
    pub(crate) around: FxHashMap<u32, u32>,
    /// Each agent's steps in order.
    pub(crate) timeline: Vec<Vec<u32>>,
    /// Edges between steps as numbered here; `finish` renumbers them.
    pub(crate) edges: Vec<Edge>,
    pub(crate) evidence: Vec<RecordIx>,
    pub(crate) runs: Vec<Run>,
    /// What sources say of the runs they name, which are the first of `runs`.
    pub(crate) stated_runs: Vec<StatedRun>,
    pub(crate) issues: Vec<IssueDraft>,
    /// Whom results name and no record does.
    pub(crate) nameless: Vec<rules::spawn_ids::Nameless>,
    /// What people said about links.
    pub(crate) said: Vec<rules::manual::Said>,
}

/// An issue found while linking.
pub(crate) struct IssueDraft {
    pub(crate) code: Code,
    pub(crate) detail: Sym,
    pub(crate) record: Option<RecordIx>,
}

pub(crate) fn flow(corpus: &Corpus, group: &Group) -> Flow {
    let place = Surroundings::of(corpus, group);
    let mut draft = Draft {
        corpus,
        table: place.table(corpus),
        place,
        group,
        reached: order::reached(corpus, group),
        spans: Spans::default(),
        agents: Vec::new(),
        event_agent: Vec::new(),
        steps: Vec::new(),
        event_step: Vec::new(),
        call_of: FxHashMap::default(),
        usages: Vec::new(),
        errors: FxHashMap::default(),
        inputs: Vec::new(),
        lines: Vec::new(),
        requests: Vec::new(),
        around: FxHashMap::default(),
        timeline: Vec::new(),
        edges: Vec::new(),
        evidence: Vec::new(),
        runs: Vec::new(),
        stated_runs: Vec::new(),
        issues: Vec::new(),
        nameless: Vec::new(),
        said: Vec::new(),
    };
    draft.spans = Spans::build(&mut draft);
    agents::assign(&mut draft);
    steps::build(&mut draft);
    facts::fill(&mut draft);
    draft.edges.reserve_exact(draft.steps.len() * 3);
    draft.evidence.reserve_exact(draft.steps.len() * 6);
    rules::tool_calls::link(&mut draft);
    rules::declared::link(&mut draft);
    order::causes_first(&mut draft);
    rules::manual::spawns(&mut draft);
    rules::told::spawns(&mut draft);
    rules::spawn_ids::link(&mut draft);
    rules::spawn_chain::link(&mut draft);
    rules::spans::spawns(&mut draft);
    rules::spawn_inference::link(&mut draft);
    rules::spawn_workflow::link(&mut draft);
    rules::spawn_ids::settle_nameless(&mut draft);
    rules::spawn_parent::link(&mut draft);
    rules::manual::settle_spawns(&mut draft);
    structure::clocks::compare(&mut draft);
    rules::returns::link(&mut draft);
    rules::continuation::link(&mut draft);
    rules::content_reuse::link(&mut draft);
    rules::spans::link(&mut draft);
    rules::sequence::link(&mut draft);
    rules::told::edges(&mut draft);
    rules::manual::edges(&mut draft);
    structure::tree::depths(&mut draft);
    rules::manual::judge(&mut draft);
    structure::runs::build(&mut draft);
    structure::status::judge(&mut draft);
    structure::tree::arrange(&mut draft);
    structure::chains::check(&mut draft);
    finish::finish(draft)
}

impl Draft<'_> {
    /// The event at a place in the group.
    pub(crate) fn event(&self, at: usize) -> &Event {
        &self.corpus.batch.events[self.group.events[at] as usize]
    }

    pub(crate) fn text(&self, sym: Sym) -> &str {
        self.corpus.batch.text.get(sym)
    }

    pub(crate) fn key(&self, at: usize, kind: KeyKind, role: Role) -> Option<Sym> {
        self.corpus.batch.key(self.event(at), kind, role)
    }

    pub(crate) fn attr_text(&self, at: usize, name: AttrName) -> Option<Sym> {
        self.corpus.batch.attr_text(self.event(at), name)
    }

    pub(crate) fn attr_int(&self, at: usize, name: AttrName) -> Option<i64> {
        self.corpus.batch.attr_int(self.event(at), name)
    }

    /// How close the source of an event stands to what it tells of.
    pub(crate) fn witness(&self, at: usize) -> Witness {
        self.corpus.batch.stream_of(self.event(at).record).witness
    }

    /// When what an event tells of was over: a witness of the whole thing says so.
    pub(crate) fn over(&self, at: usize) -> Timestamp {
        let event = self.event(at);
        let ended = self.attr_int(at, AttrName::EndedAt).filter(|_| event.flags.has(EventFlags::WHOLE));
        ended.map_or(event.at, Timestamp::from_ns)
    }

    /// Where a result stands in the order: at its end.
    pub(crate) fn result_place(&self, at: usize) -> Place {
        let (reached, index) = self.place(at);
        (if self.event(at).flags.has(EventFlags::WHOLE) { self.over(at) } else { reached }, index)
    }

    pub(crate) fn place(&self, at: usize) -> Place {
        let reached = self.reached.get(at).copied().unwrap_or_default();
        (reached, u32::try_from(at).unwrap_or(u32::MAX))
    }

    /// What a step's source calls it.
    pub(crate) fn native_id_of(&self, step: &StepDraft) -> Sym {
        let event = step.first_event as usize;
        if event >= self.group.events.len() {
            return Sym::EMPTY;
        }
        self.key(event, KeyKind::Step, Role::Provides).unwrap_or_default()
    }

    /// Where a step stands in the order.
    pub(crate) fn place_of(&self, step: &StepDraft) -> Place {
        self.place(step.first_event as usize)
    }

    /// The first event of an event's record. Events of a record are neighbours, and those of the group are in order.
    pub(crate) fn head_of(&self, at: usize) -> usize {
        let record = self.event(at).record;
        let offset = self.group.events[at] - self.corpus.first_event[record as usize];
        at - offset as usize
    }

    /// An empty map for ids of this session.
    pub(crate) fn id_map(&self) -> SymMap {
        SymMap::new(self.group.events.len(), self.corpus.batch.text.len())
    }

    /// When an agent began, as far as its steps say.
    pub(crate) fn began(&self, agent: u32) -> Timestamp {
        let first = self.timeline[agent as usize].first();
        first.map(|first| self.steps[*first as usize].started).unwrap_or_default()
    }

    /// Agents by the ids their sources gave them, which another session's may bear, too.
    pub(crate) fn agents_by_native_id(&self) -> FxHashMap<Sym, Vec<u32>> {
        let mut by_id: FxHashMap<Sym, Vec<u32>> = FxHashMap::default();
        for (n, agent) in (0_u32..).zip(&self.agents) {
            by_id.entry(agent.native_id).or_default().push(n);
        }
        by_id
    }

    /// Of agents of one id, the one that is meant in a session at a moment.
    pub(crate) fn meant(&self, namesakes: &[u32], session: Sym, at: Timestamp) -> Option<u32> {
        let is_of_session = |n: &u32| self.agents[*n as usize].session == session;
        let of_session: Vec<u32> = namesakes.iter().copied().filter(is_of_session).collect();
        self.bearer(if of_session.is_empty() { namesakes } else { &of_session }, at)
    }

    /// Of agents that bore one name one after the other, the one who bore it at a moment: the last to have been called,
    /// or to have begun where the call is not known.
    pub(crate) fn bearer(&self, namesakes: &[u32], at: Timestamp) -> Option<u32> {
        let since = |agent: u32| match self.agents[agent as usize].spawn {
            Some(spawn) => self.steps[spawn.step as usize].started,
            None => self.began(agent),
        };
        let order = |agent: &&u32| (since(**agent), self.text(self.agents[**agent as usize].native_id));
        let by_then = namesakes.iter().filter(|agent| !at.is_some() || since(**agent) <= at);
        by_then.max_by_key(order).or(namesakes.iter().min_by_key(order)).copied()
    }

    /// The first witness record of a step.
    pub(crate) fn first_record(&self, step: u32) -> RecordIx {
        self.event(self.steps[step as usize].first_event as usize).record
    }

    pub(crate) fn issue(&mut self, code: Code, detail: Sym, record: Option<RecordIx>) {
        self.issues.push(IssueDraft { code, detail, record });
    }

    /// Adds an edge and the records that show it. A step never leads to itself.
    pub(crate) fn add_edge(&mut self, mut edge: Edge, evidence: &[RecordIx]) {
        if edge.from == edge.to || edge.from == NONE || edge.to == NONE {
            return;
        }
        edge.first_evidence = u32::try_from(self.evidence.len()).unwrap_or(NONE);
        for (n, record) in evidence.iter().enumerate() {
            if !evidence[..n].contains(record) {
                self.evidence.push(*record);
            }
        }
        let last = u32::try_from(self.evidence.len()).unwrap_or(NONE);
        edge.evidence_count = u16::try_from(last - edge.first_evidence).unwrap_or(u16::MAX);
        self.edges.push(edge);
    }
}

/// An exact edge that carries no tool call and no error; most are.
pub(crate) fn exact(from: u32, to: u32, kind: EdgeKind, rule: Rule) -> Edge {
    Edge {
        from,
        to,
        first_evidence: 0,
        evidence_count: 0,
        tool_use_id: Sym::EMPTY,
        confidence: Confidence::EXACT,
        kind,
        rule,
        is_error: false,
    }
}
