//! What people said about links. It stands above everything else: what they added or confirmed comes before ids and guesses,
//! what they denied is taken away when those have spoken.
//!
//! For each pair of ends and each kind, what was said last counts: by its time, then by the id of its record. A denied link is
//! dropped and nothing takes its place: somebody said what was wrong, not what is right.

use super::manual_ends::Ends;
use crate::draft::{Draft, exact};
use crate::limits::MAX_RIVALS;
use rustc_hash::{FxHashMap, FxHashSet};
use unspool_model::flow::{NONE, Rival, RivalReason};
use unspool_model::{
    AttrName, Code, Confidence, DeclaredLink, Edge, EdgeKind, EventKind, KeyKind, LinkStanding, RecordIx,
    Role, Rule, Spawn, Sym, Verdict,
};

/// A thing that was said, and what it speaks of as far as that is known.
pub(crate) struct Said {
    pub(crate) link: DeclaredLink,
    /// The agent that is meant by the effect of a spawn.
    agent: u32,
    is_circle: bool,
}

/// Two things that were said about the same count once.
#[derive(PartialEq, Eq, Hash)]
enum Slot {
    Steps(EdgeKind, u32, u32),
    Names(EdgeKind, Sym, Sym),
}

impl Said {
    fn slot(&self) -> Slot {
        let DeclaredLink { kind, from, to, from_step, to_step, .. } = self.link;
        let effect = if kind == EdgeKind::SubagentSpawn { self.agent } else { to_step };
        match (from_step, effect) {
            (NONE, _) | (_, NONE) => Slot::Names(kind, from, to),
            (cause, effect) => Slot::Steps(kind, cause, effect),
        }
    }

    fn is_found(&self) -> bool {
        matches!(self.slot(), Slot::Steps(..))
    }
}

/// Reads what was said, in order, and lets it say who started whom. Rules that find a parent leave what is here alone.
pub(crate) fn spawns(draft: &mut Draft<'_>) {
    if !draft.corpus.batch.kinds.has(KeyKind::LinkEnd) {
        return;
    }
    let events = (0..draft.group.events.len()).filter(|at| draft.event(*at).kind == EventKind::DeclaredLink);
    let mut said: Vec<Said> = events.filter_map(|at| read(draft, at)).collect();
    let record_id = |record: RecordIx| draft.corpus.batch.records[record as usize].id;
    said.sort_unstable_by_key(|one| (one.link.at, record_id(one.link.record)));
    draft.said = said;
    start(draft);
}

fn read(draft: &Draft<'_>, at: usize) -> Option<Said> {
    let text = |name| draft.attr_text(at, name).unwrap_or_default();
    let word = |name| draft.text(text(name));
    let rule = Rule::ALL.iter().find(|rule| rule.name() == word(AttrName::LinkRule));
    let confidence = draft.attr_int(at, AttrName::LinkConfidence).and_then(|n| u16::try_from(n).ok());
    let link = DeclaredLink {
        record: draft.event(at).record,
        verdict: Verdict::ALL.into_iter().find(|one| one.name() == word(AttrName::Verdict))?,
        kind: EdgeKind::ALL.into_iter().find(|one| one.name() == word(AttrName::EdgeKind))?,
        from: draft.key(at, KeyKind::LinkEnd, Role::Provides)?,
        to: draft.key(at, KeyKind::LinkEnd, Role::Refers)?,
        from_step: NONE,
        to_step: NONE,
        who: text(AttrName::Author),
        note: text(AttrName::Description),
        at: draft.event(at).at,
        was: rule.copied().zip(confidence.map(Confidence::from_ten_thousandths)),
        standing: LinkStanding::Counts,
    };
    Some(Said { link, agent: NONE, is_circle: false })
}

/// Finds the ends that are there by now. Some agents are only known when ids have spoken.
fn find_ends(draft: &mut Draft<'_>) {
    let mut said = std::mem::take(&mut draft.said);
    if said.iter().any(|one| !one.is_found()) {
        let names: FxHashSet<Sym> = said.iter().flat_map(|one| [one.link.from, one.link.to]).collect();
        let ends = Ends::find(draft, &names);
        for one in said.iter_mut().filter(|one| !one.is_found()) {
            one.link.from_step = ends.cause(draft, one.link.from);
            one.link.to_step = ends.effect(draft, one.link.to);
            one.agent = ends.agent(draft, one.link.to);
        }
    }
    draft.said = said;
}

/// Those that count, in order: the last of each slot.
fn counting(draft: &Draft<'_>) -> Vec<usize> {
    let last: FxHashMap<Slot, usize> =
        draft.said.iter().enumerate().map(|(n, one)| (one.slot(), n)).collect();
    (0..draft.said.len()).filter(|n| last.get(&draft.said[*n].slot()) == Some(n)).collect()
}

fn start(draft: &mut Draft<'_>) {
    find_ends(draft);
    for n in counting(draft) {
        let Said { link, agent, .. } = draft.said[n];
        if link.kind != EdgeKind::SubagentSpawn || !link.verdict.asserts() || !draft.said[n].is_found() {
            continue;
        }
        let call = &draft.steps[link.from_step as usize];
        if call.agent == agent || draft.said[n].is_circle {
            continue;
        }
        let (tool_use_id, event) = (call.tool_use, call.first_event as usize);
        let teammate = (event < draft.group.events.len())
            .then(|| draft.key(event, KeyKind::Teammate, Role::Refers))
            .flatten();
        let (rule, confidence) = (Rule::Manual, Confidence::EXACT);
        let started = &mut draft.agents[agent as usize];
        started.internal = false;
        started.spawn = Some(Spawn { step: link.from_step, tool_use_id, rule, confidence });
        started.spawn_tied = false;
        started.spawn_evidence = vec![link.record];
        if started.teammate.is_empty() {
            started.teammate = teammate.unwrap_or_default();
        }
    }
}

/// When ids and guesses have spoken: agents that are known only now, and what was denied.
pub(crate) fn settle_spawns(draft: &mut Draft<'_>) {
    if draft.said.is_empty() {
        return;
    }
    start(draft);
    cut_circles(draft);
    for n in counting(draft) {
        let Said { link, agent, .. } = draft.said[n];
        let is_denial = link.kind == EdgeKind::SubagentSpawn && link.verdict == Verdict::Deny;
        if !is_denial || !draft.said[n].is_found() {
            continue;
        }
        let denied = draft.agents[agent as usize].spawn.filter(|spawn| spawn.step == link.from_step);
        let Some(denied) = denied else { continue };
        if !denied.is_inferred() {
            draft.issue(Code::ExactLinkDenied, link.to, Some(link.record));
        }
        let agent = &mut draft.agents[agent as usize];
        agent.spawn = None;
        if !denied.tool_use_id.is_empty() {
            agent.rival_count += 1;
            agent.rivals.insert(0, Rival { tool_use_id: denied.tool_use_id, reason: RivalReason::Denied });
            agent.rivals.truncate(MAX_RIVALS);
        }
    }
}

/// An agent cannot have started the one that started it: what was said gives way to what ids say.
fn cut_circles(draft: &mut Draft<'_>) {
    for n in counting(draft) {
        let Said { link, agent, .. } = draft.said[n];
        let is_start = link.kind == EdgeKind::SubagentSpawn && link.verdict.asserts();
        if is_start && draft.said[n].is_found() && is_below(draft, link.from_step, agent) {
            draft.said[n].is_circle = true;
            let agent = &mut draft.agents[agent as usize];
            let by_id = agent.spawn_by_id.take();
            (agent.spawn, agent.spawn_evidence) =
                by_id.map(|(spawn, by)| (Some(spawn), by)).unwrap_or_default();
        }
    }
}

/// Whether a step is of an agent, or of one that it started over any number of others.
fn is_below(draft: &Draft<'_>, step: u32, agent: u32) -> bool {
    let mut step = step;
    for _ in 0..=draft.agents.len() {
        let at = draft.steps[step as usize].agent;
        if at == agent {
            return true;
        }
        let Some(spawn) = draft.agents[at as usize].spawn else { return false };
        step = spawn.step;
    }
    true
}

/// Edges of all other kinds, when every rule has drawn its own.
pub(crate) fn edges(draft: &mut Draft<'_>) {
    if draft.said.is_empty() {
        return;
    }
    find_ends(draft);
    for n in counting(draft) {
        let link = draft.said[n].link;
        if link.kind == EdgeKind::SubagentSpawn || !draft.said[n].is_found() {
            continue;
        }
        if link.verdict.asserts() {
            draft.said[n].is_circle = !assert(draft, &link);
        } else if link.verdict == Verdict::Deny {
            deny(draft, &link);
        }
    }
}

/// Draws an edge, or takes a rule's edge over. False when it would make a circle.
fn assert(draft: &mut Draft<'_>, link: &DeclaredLink) -> bool {
    let is_same = |edge: &Edge| link.is_about(edge.from, edge.to, edge.kind);
    let known = draft.edges.iter().find(|edge| is_same(edge)).copied();
    if known.is_none() && leads(draft, link.to_step, link.from_step) {
        return false;
    }
    let mut evidence = vec![link.record];
    let mut edge = exact(link.from_step, link.to_step, link.kind, Rule::Manual);
    if let Some(known) = known {
        let first = known.first_evidence as usize;
        evidence.extend(draft.evidence[first..first + known.evidence_count as usize].iter().copied());
        (edge.tool_use_id, edge.is_error) = (known.tool_use_id, known.is_error);
        draft.edges.retain(|edge| !is_same(edge));
    }
    draft.add_edge(edge, &evidence);
    true
}

fn deny(draft: &mut Draft<'_>, link: &DeclaredLink) {
    let is_denied = |edge: &Edge| link.is_about(edge.from, edge.to, edge.kind);
    if draft.edges.iter().any(|edge| is_denied(edge) && !edge.is_inferred()) {
        draft.issue(Code::ExactLinkDenied, link.to, Some(link.record));
    }
    draft.edges.retain(|edge| !is_denied(edge));
}

/// Whether a step leads to another, over any number of others, or is it.
fn leads(draft: &Draft<'_>, from: u32, to: u32) -> bool {
    let mut next: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
    for edge in &draft.edges {
        next.entry(edge.from).or_default().push(edge.to);
    }
    let mut seen: FxHashSet<u32> = FxHashSet::default();
    let mut open = vec![from];
    while let Some(at) = open.pop() {
        if at == to {
            return true;
        }
        if seen.insert(at) {
            open.extend(next.get(&at).into_iter().flatten());
        }
    }
    false
}

/// Says what became of everything that was said.
pub(crate) fn judge(draft: &mut Draft<'_>) {
    for one in draft.said.iter_mut().filter(|one| one.link.kind == EdgeKind::SubagentSpawn) {
        // Whichever step was named: the start of an agent leads to its first.
        let first = draft.timeline.get(one.agent as usize).and_then(|timeline| timeline.first().copied());
        one.link.to_step = first.unwrap_or(NONE);
    }
    let counting: FxHashSet<usize> = counting(draft).into_iter().collect();
    for n in 0..draft.said.len() {
        let one = &draft.said[n];
        let link = one.link;
        let standing = if !counting.contains(&n) {
            LinkStanding::Superseded
        } else if !one.is_found() {
            LinkStanding::EndMissing
        } else if link.kind == EdgeKind::SubagentSpawn && link.verdict.asserts() {
            standing_of_start(draft, one)
        } else if one.is_circle {
            LinkStanding::Cycle
        } else {
            LinkStanding::Counts
        };
        draft.said[n].link.standing = standing;
        let missing = if link.from_step == NONE { link.from } else { link.to };
        match standing {
            LinkStanding::EndMissing if link.verdict != Verdict::Remove => {
                draft.issue(Code::LinkEndMissing, missing, Some(link.record));
            }
            LinkStanding::Cycle => draft.issue(Code::LinkCycle, link.to, Some(link.record)),
            _ => {}
        }
    }
}

/// An agent has one start: of several that were added, the last counts. One that made a circle of agents was cut.
fn standing_of_start(draft: &Draft<'_>, one: &Said) -> LinkStanding {
    if one.is_circle {
        return LinkStanding::Cycle;
    }
    match draft.agents[one.agent as usize].spawn.filter(|spawn| spawn.rule == Rule::Manual) {
        Some(spawn) if spawn.step == one.link.from_step => LinkStanding::Counts,
        Some(_) => LinkStanding::Superseded,
        None => LinkStanding::Cycle,
    }
}
