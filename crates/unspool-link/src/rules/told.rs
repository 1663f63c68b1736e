//! Links that an export tells of: spawns, edges and places in the tree come back with the rule and confidence they had.
//!
//! What ids and order say anew (calls, results, sequence) is left to their own rules. A word that is not known says nothing.

use crate::draft::{Draft, exact};
use rustc_hash::{FxHashMap, FxHashSet};
use unspool_model::flow::NONE;
use unspool_model::{
    AttrName, Confidence, Edge, EdgeKind, EventFlags, EventKind, KeyKind, Role, Rule, Spawn, Sym,
};

/// The step each told id leads to; none when nothing was told.
fn steps(draft: &Draft<'_>) -> Option<FxHashMap<Sym, u32>> {
    if !draft.corpus.batch.kinds.has(KeyKind::Told) {
        return None;
    }
    let told = |at: usize| Some((draft.key(at, KeyKind::Told, Role::Provides)?, draft.event_step[at]));
    Some((0..draft.group.events.len()).filter_map(told).filter(|(_, step)| *step != NONE).collect())
}

/// A link as it is told: its event, the step it leads from, its rule and confidence.
fn links(draft: &Draft<'_>, steps: &FxHashMap<Sym, u32>) -> Vec<(usize, u32, Rule, Confidence)> {
    let link = |at: usize| {
        let from = steps.get(&draft.key(at, KeyKind::Told, Role::Refers)?)?;
        let word = draft.text(draft.attr_text(at, AttrName::LinkRule)?);
        let rule = Rule::ALL.iter().find(|rule| rule.name() == word)?;
        let confidence = draft.attr_int(at, AttrName::LinkConfidence).and_then(|n| u16::try_from(n).ok())?;
        Some((at, *from, *rule, Confidence::from_ten_thousandths(confidence)))
    };
    let events = 0..draft.group.events.len();
    events.filter(|at| draft.event(*at).kind == EventKind::ToldLink).filter_map(link).collect()
}

/// Who started whom. What is told stands before what ids and guesses would say.
pub(crate) fn spawns(draft: &mut Draft<'_>) {
    let Some(steps) = steps(draft) else { return };
    for (at, step, rule, confidence) in links(draft, &steps) {
        if draft.event(draft.head_of(at)).kind != EventKind::AgentInfo {
            continue;
        }
        let evidence = vec![draft.event(at).record];
        let tool_use_id = draft.steps[step as usize].tool_use;
        let agent = &mut draft.agents[draft.event_agent[at] as usize];
        if agent.is_declared() {
            continue;
        }
        agent.spawn = Some(Spawn { step, tool_use_id, rule, confidence });
        agent.spawn_evidence = evidence;
    }
}

/// Edges that no rule can draw again from what an export holds. All of them are told: others are guesses from half the facts.
pub(crate) fn edges(draft: &mut Draft<'_>) {
    let Some(steps) = steps(draft) else { return };
    let mut told = Vec::new();
    for (at, from, rule, confidence) in links(draft, &steps) {
        let to = draft.event_step[draft.head_of(at)];
        let word = draft.attr_text(at, AttrName::EdgeKind).unwrap_or_default();
        let kind = EdgeKind::ALL.into_iter().find(|kind| kind.name() == draft.text(word));
        if let Some(kind) = kind.filter(|_| to != NONE) {
            let edge = Edge {
                confidence,
                tool_use_id: draft.key(at, KeyKind::ToolUse, Role::Refers).unwrap_or_default(),
                is_error: draft.event(at).flags.has(EventFlags::ERROR),
                ..exact(from, to, kind, rule)
            };
            told.push((edge, draft.event(at).record));
        }
    }
    // A result has one receiver, whichever one its time speaks for.
    let ends = |edge: &Edge| {
        let to = if edge.kind == EdgeKind::ToolResult { NONE } else { edge.to };
        (edge.from, to, edge.kind)
    };
    let again: FxHashSet<_> = told.iter().map(|(edge, _)| ends(edge)).collect();
    let targets: FxHashSet<u32> = steps.values().copied().collect();
    let is_drawn_anew = |kind: EdgeKind| {
        matches!(kind, EdgeKind::Calls | EdgeKind::ToolResult | EdgeKind::Sequence | EdgeKind::SubagentSpawn)
    };
    draft.edges.retain(|edge| {
        !again.contains(&ends(edge)) && (is_drawn_anew(edge.kind) || !targets.contains(&edge.to))
    });
    for (edge, record) in told {
        draft.add_edge(edge, &[record]);
    }
}

/// The place of every told step in the tree.
pub(crate) fn parents(draft: &mut Draft<'_>) {
    let Some(steps) = steps(draft) else { return };
    for at in 0..draft.group.events.len() {
        let step = draft.event_step[at];
        if step == NONE || draft.key(at, KeyKind::Told, Role::Provides).is_none() {
            continue;
        }
        let above = draft.key(at, KeyKind::Told, Role::Refers);
        draft.steps[step as usize].parent = above.and_then(|id| steps.get(&id)).copied().unwrap_or(NONE);
    }
}
