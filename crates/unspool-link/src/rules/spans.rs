//! What spans say about each other: agents and the calls or spans they lie in, agents that a call of their name runs beside
//! it, hand-overs, parents and links.

use crate::agents::Origin;
use crate::draft::{Draft, exact};
use crate::spans::{Node, NodeKind};
use rustc_hash::{FxHashMap, FxHashSet};
use unspool_model::flow::NONE;
use unspool_model::{
    AttrName, Confidence, Edge, EdgeKind, EventFlags, KeyKind, RecordIx, Role, Rule, Spawn, Sym, Timestamp,
};

/// Spawns by spans. Explicit ids have spoken before.
pub(crate) fn spawns(draft: &mut Draft<'_>) {
    let tops = top_spans(draft);
    let mut beside = Vec::new();
    for (agent, node) in tops {
        if draft.agents[agent].spawn.is_some() {
            continue;
        }
        let own = &draft.spans.nodes[node as usize];
        let in_call = step_around(draft, own.call, agent);
        let is_beside = in_call.is_none() && own.outer == NONE && draft.spans.is_agent(node);
        if is_beside {
            beside.push((agent, node));
            continue;
        }
        let around = in_call.or_else(|| nearest_step(draft, own.parent, agent));
        if let Some(step) = around {
            believe(draft, agent, node, step, Rule::SpawnSpanParent, Confidence::EXACT);
        }
    }
    by_name(draft, &beside);
    // What no call runs lies in what encloses it.
    for (agent, node) in beside {
        let parent = draft.spans.nodes[node as usize].parent;
        if draft.agents[agent].spawn.is_none()
            && let Some(step) = nearest_step(draft, parent, agent)
        {
            believe(draft, agent, node, step, Rule::SpawnSpanParent, Confidence::EXACT);
        }
    }
}

/// Each agent that has spans and is no main agent, with its first span: the one that lies in somebody else's.
fn top_spans(draft: &Draft<'_>) -> Vec<(usize, u32)> {
    let mut found: FxHashMap<u32, u32> = FxHashMap::default();
    for (n, node) in (0_u32..).zip(&draft.spans.nodes) {
        let agent = draft.event_agent[node.event as usize];
        if matches!(draft.agents[agent as usize].origin, Origin::Main(_)) {
            continue;
        }
        let above = draft.spans.nodes.get(node.parent as usize);
        if above.is_some_and(|above| draft.event_agent[above.event as usize] == agent) {
            continue;
        }
        let place = |node: &Node| (draft.event(node.event as usize).at, draft.text(node.id));
        let slot = found.entry(agent).or_insert(n);
        let best = &draft.spans.nodes[*slot as usize];
        if (node.parent == NONE, place(node)) < (best.parent == NONE, place(best)) {
            *slot = n;
        }
    }
    let mut tops: Vec<(usize, u32)> = found.into_iter().map(|(agent, node)| (agent as usize, node)).collect();
    tops.sort_by_key(|(agent, _)| *agent);
    tops
}

/// The step of a span, when it is another agent's.
fn step_around(draft: &Draft<'_>, node: u32, agent: usize) -> Option<u32> {
    let step = draft.event_step[draft.spans.nodes.get(node as usize)?.event as usize];
    (step != NONE && draft.steps[step as usize].agent as usize != agent).then_some(step)
}

/// The nearest step around a span that is another agent's, a call before anything else up to the next agent.
fn nearest_step(draft: &Draft<'_>, mut node: u32, agent: usize) -> Option<u32> {
    let mut first = None;
    while let Some(own) = draft.spans.nodes.get(node as usize) {
        if let Some(step) = step_around(draft, node, agent) {
            if own.kind == NodeKind::Call {
                return Some(step);
            }
            first.get_or_insert(step);
            if draft.spans.is_agent(node) {
                break;
            }
        }
        node = own.parent;
    }
    first
}

fn believe(draft: &mut Draft<'_>, agent: usize, node: u32, step: u32, rule: Rule, confidence: Confidence) {
    let record = draft.event(draft.spans.nodes[node as usize].event as usize).record;
    let caller = draft.first_record(step);
    let tool_use_id = draft.steps[step as usize].tool_use;
    let agent = &mut draft.agents[agent];
    agent.internal = false;
    agent.spawn = Some(Spawn { step, tool_use_id, rule, confidence });
    agent.spawn_evidence = vec![record, caller];
    agent.spawn_evidence.dedup();
}

/// Agents that run beside their caller: a call of the agent's name, in whose time the agent lies. Of several, the one
/// that began last before it.
fn by_name(draft: &mut Draft<'_>, beside: &[(usize, u32)]) {
    if beside.is_empty() {
        return;
    }
    let mut calls: FxHashMap<(Sym, String), Vec<u32>> = FxHashMap::default();
    for (n, node) in (0_u32..).zip(&draft.spans.nodes) {
        if node.kind == NodeKind::Call {
            let name = bare(draft.text(draft.event(node.event as usize).name));
            calls.entry((node.trace, name)).or_default().push(n);
        }
    }
    let mut pairs = Vec::new();
    for (agent, node) in beside {
        let own = &draft.spans.nodes[*node as usize];
        let name = bare(draft.text(draft.event(own.event as usize).name));
        let (start, end) = times(draft, own);
        let mut fits = 0;
        for call in calls.get(&(own.trace, name)).into_iter().flatten() {
            let other = &draft.spans.nodes[*call as usize];
            let (called, done) = times(draft, other);
            let Some(step) = step_around(draft, *call, *agent) else { continue };
            let tolerance = draft.table.clock_tolerance_ms;
            let inside = start.ms_since(called).is_some_and(|ms| ms >= -tolerance)
                && done.ms_since(end).is_none_or(|ms| ms >= -tolerance);
            if inside {
                fits += 1;
                let (start, called) = (start.ns().unwrap_or(0), called.ns().unwrap_or(0));
                pairs.push((start.abs_diff(called), *agent, *node, *call, step));
            }
        }
        if fits > 1 {
            draft.agents[*agent].rival_count = fits - 1;
        }
    }
    // Equal distances are told apart by the text of ids.
    let id = |node: u32| draft.text(draft.spans.nodes[node as usize].id);
    pairs.sort_by(|a, b| (a.0, id(a.2), id(a.3)).cmp(&(b.0, id(b.2), id(b.3))));
    let mut taken: FxHashSet<u32> = FxHashSet::default();
    for (_, agent, node, _, step) in pairs {
        if draft.agents[agent].spawn.is_some() || !taken.insert(step) {
            continue;
        }
        let table = draft.table;
        let tied = draft.agents[agent].rival_count > 0;
        let confidence = if tied { table.span_name_tied } else { table.span_name };
        believe(draft, agent, node, step, Rule::SpawnSpanName, confidence);
    }
}

fn times(draft: &Draft<'_>, node: &Node) -> (Timestamp, Timestamp) {
    let at = node.event as usize;
    let end = draft.attr_int(at, AttrName::EndedAt).map_or(Timestamp::NONE, Timestamp::from_ns);
    (draft.event(at).at, end)
}

/// A name without what frameworks add to it: `Ask research-agent` and `research_agent` are `research`.
fn bare(name: &str) -> String {
    let mut name: String =
        name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect();
    for prefix in ["ask", "call", "consult", "invoke", "delegateto", "run"] {
        if let Some(rest) = name.strip_prefix(prefix).filter(|rest| rest.len() > 2) {
            name = rest.to_string();
            break;
        }
    }
    for suffix in ["tool", "agent"] {
        if let Some(rest) = name.strip_suffix(suffix).filter(|rest| !rest.is_empty()) {
            name = rest.to_string();
        }
    }
    name
}

/// Edges between spans: parents inside one agent, links, hand-overs.
pub(crate) fn link(draft: &mut Draft<'_>) {
    for n in 0..draft.spans.nodes.len() {
        let (event, parent) = (draft.spans.nodes[n].event as usize, draft.spans.nodes[n].parent);
        let step = draft.event_step[event];
        if step == NONE {
            continue;
        }
        let record = draft.event(event).record;
        if parent == NONE {
            // Also where its parent was not read.
            draft.steps[step as usize].flags.set(EventFlags::TRIGGER);
        }
        let above = draft.spans.nodes.get(parent as usize);
        if let Some(above) = above.filter(|_| !draft.spans.nodes[n].is_echo) {
            let from = draft.event_step[above.event as usize];
            let evidence = [record, draft.event(above.event as usize).record];
            if from != NONE && draft.steps[from as usize].agent == draft.steps[step as usize].agent {
                draft.add_edge(exact(from, step, EdgeKind::SpanParent, Rule::SpanParent), &evidence);
                draft.around.insert(step, from);
            }
        }
        links(draft, event, step, record);
    }
    handoffs(draft);
}

fn links(draft: &mut Draft<'_>, event: usize, step: u32, record: RecordIx) {
    let keys = draft.corpus.batch.keys_of(draft.event(event)).iter();
    let linked: Vec<Sym> = keys
        .filter(|key| key.kind == KeyKind::SpanLink && key.role == Role::Refers)
        .map(|key| key.value)
        .collect();
    for id in linked {
        let Some(other) = draft.spans.find(id).map(|n| draft.spans.nodes[n as usize].event as usize) else {
            continue;
        };
        let (from, evidence) = (draft.event_step[other], [record, draft.event(other).record]);
        draft.add_edge(exact(from, step, EdgeKind::SpanLink, Rule::SpanLink), &evidence);
    }
}

/// A call that names the agent it hands over to, and the first work of an agent of that name after it in the trace.
fn handoffs(draft: &mut Draft<'_>) {
    let nodes = &draft.spans.nodes;
    if !nodes.iter().any(|node| draft.attr_text(node.event as usize, AttrName::Handoff).is_some()) {
        return;
    }
    let mut by_name: FxHashMap<(Sym, String), Vec<(Timestamp, u32)>> = FxHashMap::default();
    for (n, node) in (0_u32..).zip(&draft.spans.nodes) {
        if draft.spans.is_agent(n) {
            let event = draft.event(node.event as usize);
            by_name.entry((node.trace, bare(draft.text(event.name)))).or_default().push((event.at, n));
        }
    }
    let mut found = Vec::new();
    for node in &draft.spans.nodes {
        let at = node.event as usize;
        let Some(target) = draft.attr_text(at, AttrName::Handoff) else { continue };
        let from = draft.event_step[at];
        let began = draft.event(at).at;
        let agents = by_name.get(&(node.trace, bare(draft.text(target)))).into_iter().flatten();
        let next = agents
            .filter(|(start, _)| *start >= began)
            .min_by_key(|(start, n)| (*start, draft.text(draft.spans.nodes[*n as usize].id)));
        if let Some((_, next)) = next {
            let event = draft.spans.nodes[*next as usize].event as usize;
            found.push((from, draft.event_step[event], draft.event(at).record, draft.event(event).record));
        }
    }
    let confidence = draft.table.handoff;
    for (from, to, record, other) in found {
        if from == NONE || to == NONE {
            continue;
        }
        let edge = exact(from, to, EdgeKind::Continuation, Rule::ContinuationHandoff);
        draft.add_edge(Edge { confidence, ..edge }, &[record, other]);
    }
}

#[cfg(test)]
mod tests {
    use super::bare;

    #[test]
    fn names_of_agents_and_of_calls_meet() {
        for name in
            ["research", "Research Agent", "ask_research_agent", "research-agent-tool", "call Research"]
        {
            assert_eq!(bare(name), "research", "{name}");
        }
        assert_eq!(bare("agent"), "agent");
    }
}
