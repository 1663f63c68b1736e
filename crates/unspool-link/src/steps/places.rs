//! Whose a step is, which of its events gives it its place, and the order of each agent's steps.

use super::StepDraft;
use super::keys::BY_AGENT_START;
use crate::agents::Origin;
use crate::draft::Draft;
use rustc_hash::FxHashMap;
use unspool_model::flow::NONE;
use unspool_model::{Event, EventFlags, EventKind, KeyKind, Role, StepKind, Sym, Timestamp};

/// Standing of the records that give a step its place and its result, four bits each: there are as many steps as lines.
#[derive(Clone, Copy, Default)]
pub(super) struct Standings(u8);

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

/// Gives every step its agent and its place in it.
pub(super) fn choose(draft: &mut Draft<'_>) {
    let ranks = agent_ranks(draft);
    let session_ranks = session_ranks(draft, &ranks);
    name_sessions(draft, &session_ranks);
    choose_agents(draft, &ranks, &session_ranks);
    build_timeline(draft);
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
    unspool_model::sort_by_meaning(&mut order, |n| {
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
