//! Spawns by inference, for agents that no id links: exact prompt, equal answer, the summary on a teammate's
//! first message, or type and time. All candidates of the session are weighed together.
//!
//! Never: a spawn later than the agent's start, a spawn whose prompt is known and another one, an internal
//! agent. What is chosen is marked as inferred and carries a measured confidence.

use super::spawn_candidates::Candidates;
use super::spawn_verdict::{in_order_of_time, jointly};
use crate::agents::Origin;
use crate::draft::Draft;
use crate::limits::MAX_RIVALS;
use crate::steps::StepDraft;
use crate::union::Union;
use rustc_hash::{FxHashMap, FxHashSet};
use unspool_model::flow::{NONE, Rival, RivalReason};
use unspool_model::{
    AttrName, Code, Confidence, EventFlags, EventKind, KeyKind, Role, Rule, Spawn, StepKind, Sym, Timestamp,
    Witness,
};

/// Weights of evidence. Only their order and rough distance matter: a prompt outweighs everything else, what an
/// agent answered outweighs how it looked, and time decides only between equals.
mod weight {
    pub(super) const PROMPT: i64 = 1000;
    pub(super) const SUMMARY: i64 = 800;
    pub(super) const ANSWER: i64 = 600;
    pub(super) const OTHER_ANSWER: i64 = -300;
    pub(super) const TOOL_COUNT: i64 = 60;
    pub(super) const TYPE: i64 = 30;
    pub(super) const INSIDE_CALL: i64 = 20;
    pub(super) const AFTER_RESULT: i64 = -200;
}

/// Beyond this, distances in time are all the same.
const MAX_DISTANCE_MS: i64 = 1_000_000;

#[derive(Default)]
pub(super) struct Child {
    agent: u32,
    pub(super) prompts: Vec<Sym>,
    pub(super) summary: Sym,
    pub(super) kind: Sym,
    pub(super) answers: Vec<Sym>,
    /// What it wrote to others.
    messages: Vec<Sym>,
    tool_count: i64,
    pub(super) start: Timestamp,
    end: Timestamp,
    has_answered: bool,
}

#[derive(Default)]
pub(super) struct Call {
    pub(super) step: u32,
    agent: u32,
    pub(super) prompt: Sym,
    pub(super) description: Sym,
    pub(super) kind: Sym,
    pub(super) answers: Vec<Sym>,
    tool_count: Option<i64>,
    pub(super) called: Timestamp,
    /// When its agent probably began.
    due: Timestamp,
    answered: Timestamp,
    /// When a notification of its agent's end came.
    notified: Timestamp,
    is_async: bool,
    taken: bool,
}

#[derive(Clone, Copy)]
pub(super) struct Match {
    pub(super) evidence: i64,
    pub(super) time: i64,
    rule: Rule,
}

pub(crate) fn link(draft: &mut Draft<'_>) {
    let children = children(draft);
    if children.is_empty() {
        return;
    }
    let calls = calls(draft);
    let nearby = Candidates::new(draft, &children, &calls);
    if nearby.are_limited() {
        draft.issue(Code::LimitReached, draft.corpus.limits.weighed_pairs, None);
    }
    let mut pairs = Vec::new();
    let mut refused: Vec<Vec<(usize, RivalReason)>> = vec![Vec::new(); children.len()];
    for (c, child) in children.iter().enumerate() {
        for s in nearby.of(child, &calls) {
            match weigh(draft, child, &calls[s]) {
                Ok(found) => pairs.push((c, s, found)),
                // A conversation that nothing started has no rivals.
                Err(Some(reason)) if !reason.plausible() && is_conversation(draft, child) => {}
                Err(Some(reason)) if refused[c].len() < MAX_RIVALS || reason.plausible() => {
                    refused[c].push((s, reason));
                }
                Err(_) => {}
            }
        }
    }
    for component in components(&pairs, children.len(), calls.len()) {
        settle(draft, &children, &calls, &component);
    }
    for (child, mut refused) in children.iter().zip(refused) {
        // Those that something speaks for come first, in case they are many.
        refused.sort_by_key(|(_, reason)| !reason.plausible());
        for (s, reason) in refused {
            add_rival(draft, child.agent, &calls[s], reason);
        }
    }
}

fn is_conversation(draft: &Draft<'_>, child: &Child) -> bool {
    matches!(draft.agents[child.agent as usize].origin, Origin::Conversation(_))
}

fn add_rival(draft: &mut Draft<'_>, agent: u32, call: &Call, reason: RivalReason) {
    let tool_use_id = draft.steps[call.step as usize].tool_use;
    let agent = &mut draft.agents[agent as usize];
    agent.rival_count += u32::from(reason.plausible());
    if agent.rivals.len() < MAX_RIVALS {
        agent.rivals.push(Rival { tool_use_id, reason });
    } else if reason.plausible() {
        let record = draft.first_record(call.step);
        draft.issue(Code::LimitReached, draft.corpus.limits.rivals, Some(record));
    }
}

fn children(draft: &Draft<'_>) -> Vec<Child> {
    let mut children: Vec<Child> = Vec::new();
    let mut index: FxHashMap<u32, usize> = FxHashMap::default();
    for (n, agent) in draft.agents.iter().enumerate() {
        let may_have_parent = match agent.origin {
            Origin::Native(_) | Origin::Chain(_) | Origin::Conversation(_) => true,
            Origin::Main(_) => !agent.teammate.is_empty(),
            Origin::Helper(_) | Origin::Span(_) | Origin::Unknown => false,
        };
        let own: Vec<u32> = draft.timeline[n].clone();
        if !may_have_parent || agent.internal || agent.spawn.is_some() || own.is_empty() {
            continue;
        }
        let n = u32::try_from(n).unwrap_or(NONE);
        let times = own.iter().map(|step| &draft.steps[*step as usize]);
        let child = Child {
            agent: n,
            kind: agent.kind.value,
            start: times.clone().map(|step| step.started).find(|at| at.is_some()).unwrap_or_default(),
            end: times.clone().map(|step| step.ended.later(step.started)).max().unwrap_or_default(),
            tool_count: i64::try_from(times.filter(|step| step.kind == StepKind::ToolCall).count())
                .unwrap_or(0),
            ..Child::default()
        };
        index.insert(n, children.len());
        children.push(child);
    }
    if children.is_empty() {
        return children;
    }
    open_conversations(draft, &index, &mut children);
    let mut last_answer: FxHashMap<u32, u32> = FxHashMap::default();
    for at in 0..draft.event_step.len() {
        let step = draft.event_step[at];
        let owner = if step == NONE { NONE } else { draft.steps[step as usize].agent };
        let Some(child) = index.get(&owner).map(|n| &mut children[*n]) else { continue };
        let event = draft.event(at);
        let keys = draft.corpus.batch.keys_of(event).iter();
        match event.kind {
            EventKind::UserMessage
                if child.prompts.is_empty()
                    && !child.has_answered
                    && !event.flags.has(EventFlags::META)
                    && !event.flags.has(EventFlags::NOTIFICATION) =>
            {
                child.prompts.extend(keys.filter(|key| key.kind == KeyKind::PromptHash).map(|key| key.value));
                child.summary = draft.attr_text(at, AttrName::Description).unwrap_or_default();
            }
            EventKind::ModelCall | EventKind::AgentStop => {
                // What is said to an agent after its first answer is not what it was started with.
                child.has_answered = true;
                let hashes: Vec<Sym> =
                    keys.filter(|key| key.kind == KeyKind::AnswerHash).map(|key| key.value).collect();
                if !hashes.is_empty() {
                    // Only the last answer is what the parent gets.
                    if last_answer.insert(owner, step) != Some(step) && event.kind == EventKind::ModelCall {
                        child.answers.clear();
                    }
                    child.answers.extend(hashes);
                }
            }
            EventKind::ToolCall => {
                child
                    .messages
                    .extend(keys.filter(|key| key.kind == KeyKind::AnswerHash).map(|key| key.value));
            }
            _ => {}
        }
    }
    for child in &mut children {
        let messages = std::mem::take(&mut child.messages);
        child.answers.extend(messages);
    }
    children
}

/// The first message of a recorded conversation stands in each of its requests, also where the first was not recorded.
fn open_conversations(draft: &Draft<'_>, index: &FxHashMap<u32, usize>, children: &mut [Child]) {
    for at in 0..draft.group.events.len() {
        let event = draft.event(at);
        if event.kind != EventKind::Context {
            continue;
        }
        let Some(child) = index.get(&draft.event_agent[at]).map(|n| &mut children[*n]) else { continue };
        if child.prompts.is_empty() {
            let keys = draft.corpus.batch.keys_of(event).iter();
            let opening = keys.filter(|key| key.kind == KeyKind::PromptHash && key.role == Role::Refers);
            child.prompts.extend(opening.map(|key| key.value));
        }
    }
}

fn calls(draft: &Draft<'_>) -> Vec<Call> {
    let taken: FxHashSet<u32> =
        draft.agents.iter().filter_map(|agent| agent.spawn).map(|spawn| spawn.step).collect();
    let mut calls: Vec<Call> = Vec::new();
    let mut index: FxHashMap<u32, usize> = FxHashMap::default();
    let mut by_id: FxHashMap<Sym, usize> = FxHashMap::default();
    let mut by_name: FxHashMap<&str, usize> = FxHashMap::default();
    for (n, step) in draft.steps.iter().enumerate() {
        let n = u32::try_from(n).unwrap_or(NONE);
        if step.kind != StepKind::ToolCall || !draft.table.is_spawn_tool(draft.text(step.name)) {
            continue;
        }
        index.insert(n, calls.len());
        by_id.insert(step.tool_use, calls.len());
        // Messages name their sender with or without the team.
        let event = step.first_event as usize;
        let name =
            draft.key(event, KeyKind::Teammate, Role::Refers).or(draft.attr_text(event, AttrName::AgentName));
        if let Some(name) = name {
            by_name.insert(short(draft.text(name)), calls.len());
        }
        let (called, due) = called(draft, step);
        calls.push(Call {
            step: n,
            agent: step.agent,
            called,
            due,
            answered: step.ended,
            // A call that failed has started nothing that goes on.
            is_async: step.flags.has(EventFlags::ASYNC) && !step.is_error,
            taken: taken.contains(&n),
            ..Call::default()
        });
    }
    for at in 0..draft.event_step.len() {
        let event = draft.event(at);
        let call = match event.kind {
            EventKind::AgentReturn => {
                let key = |kind| draft.key(at, kind, Role::Refers);
                let by_name = || key(KeyKind::Teammate).and_then(|name| by_name.get(short(draft.text(name))));
                key(KeyKind::ToolUse).and_then(|id| by_id.get(&id)).or_else(by_name)
            }
            EventKind::ToolCall | EventKind::ToolResult => index.get(&draft.event_step[at]),
            _ => None,
        };
        let Some(call) = call.map(|n| &mut calls[*n]) else { continue };
        let keep = |slot: &mut Sym, value: Option<Sym>| {
            if slot.is_empty() {
                *slot = value.unwrap_or_default();
            }
        };
        if event.kind == EventKind::ToolCall {
            keep(&mut call.prompt, draft.key(at, KeyKind::PromptHash, Role::Provides));
            keep(&mut call.kind, draft.attr_text(at, AttrName::AgentType));
            keep(&mut call.description, draft.attr_text(at, AttrName::Description));
            // A call that continues an agent starts none.
            call.taken |= draft.attr_text(at, AttrName::Resume).is_some();
        }
        if event.kind == EventKind::AgentReturn {
            call.notified = call.notified.earlier(event.at);
        }
        call.tool_count = call.tool_count.or(draft.attr_int(at, AttrName::ToolUseCount));
        call.answers.extend(draft.key(at, KeyKind::AnswerHash, Role::Provides));
    }
    calls
}

/// When a call may have started its agent at the earliest, and when it probably did: where its line stands in its file, not
/// what a clock that went back says. A recorded answer is dated by its end, and a call in it may run before that, in the order
/// of the calls; of a call whose own answer was not recorded, only the request before it is known.
fn called(draft: &Draft<'_>, step: &StepDraft) -> (Timestamp, Timestamp) {
    let event = step.first_event as usize;
    let place = draft.place_of(step);
    if draft.witness(event) != Witness::Wire {
        return (place.0, place.0);
    }
    if let Some(caller) = draft.steps.get(step.caller as usize) {
        let before = i64::try_from(event - draft.head_of(event)).unwrap_or(0);
        return (caller.started, step.started.later(caller.started).plus_ms(before));
    }
    if !draft.event(event).flags.has(EventFlags::COPY) {
        return (place.0, place.0);
    }
    let own = draft.timeline.get(step.agent as usize).map_or(&[][..], Vec::as_slice);
    let earlier = own.iter().rev().map(|n| &draft.steps[*n as usize]);
    let mut before =
        earlier.filter(|other| other.kind == StepKind::ModelCall && draft.place_of(other) < place);
    before.next().map(|other| (other.started, other.ended.later(other.started))).unwrap_or_default()
}

/// A teammate's name without its team.
fn short(name: &str) -> &str {
    name.split('@').next().unwrap_or(name)
}

/// What speaks for a pair, or why it is impossible. `Err(None)`: nothing speaks for it at all.
fn weigh(draft: &Draft<'_>, child: &Child, call: &Call) -> Result<Match, Option<RivalReason>> {
    if call.agent == child.agent || !is_of_stated_parent(draft, child, call) {
        return Err(None);
    }
    let among = &draft.agents[child.agent as usize].among;
    if !among.is_empty() && !among.contains(&call.step) {
        return Err(Some(RivalReason::OtherRecord));
    }
    let table = draft.table;
    let same_prompt = !call.prompt.is_empty() && child.prompts.contains(&call.prompt);
    let prompts_known = !call.prompt.is_empty() && !child.prompts.is_empty();
    let same_summary = !child.summary.is_empty() && child.summary == call.description;
    let same_answer = child.answers.iter().any(|answer| call.answers.contains(answer));
    let types_known = !child.kind.is_empty() && !call.kind.is_empty();
    let same_type = types_known && child.kind == call.kind;
    if prompts_known && !same_prompt && !same_summary {
        return Err(Some(RivalReason::OtherPrompt));
    }
    if !same_prompt && !same_summary && !same_answer {
        if types_known && !same_type {
            return Err(Some(RivalReason::OtherType));
        }
        if !same_type {
            return Err(None);
        }
    }
    let tolerance = table.tolerance_ms(child.start, call.called);
    let waited = child.start.ms_since(call.called).unwrap_or(0);
    if waited < -tolerance {
        return Err(Some(RivalReason::InTheFuture));
    }
    let strong = same_prompt || same_summary || same_answer;
    let window = if strong { table.prompt_window_ms } else { table.type_window_ms };
    if waited > window {
        return Err(Some(RivalReason::OutOfWindow));
    }
    if call.taken {
        return Err(strong.then_some(RivalReason::TakenById));
    }
    let mut evidence = 0;
    evidence += i64::from(same_prompt) * weight::PROMPT;
    evidence += i64::from(same_summary) * weight::SUMMARY;
    evidence += i64::from(same_type) * weight::TYPE;
    if same_answer {
        evidence += weight::ANSWER;
    } else if !call.answers.is_empty() && !child.answers.is_empty() && !call.is_async {
        evidence += weight::OTHER_ANSWER;
    }
    if let Some(count) = call.tool_count {
        evidence += if count == child.tool_count { weight::TOOL_COUNT } else { -weight::TOOL_COUNT };
    }
    if !call.is_async
        && let Some(left) = call.answered.ms_since(child.start)
    {
        let lived_on = child.end.ms_since(call.answered).unwrap_or(0) > tolerance;
        evidence += if left >= -tolerance { weight::INSIDE_CALL } else { weight::AFTER_RESULT };
        evidence -= i64::from(lived_on) * weight::INSIDE_CALL;
    }
    if evidence <= 0 {
        return Err(Some(RivalReason::Outweighed));
    }
    let rule = match (same_prompt, same_summary, same_answer) {
        (true, _, _) => Rule::SpawnPrompt,
        (_, true, _) => Rule::SpawnSummary,
        (_, _, true) => Rule::SpawnAnswer,
        _ => Rule::SpawnTypeTime,
    };
    // A call starts its agent at once, and its end is reported as soon as the agent has answered.
    let squared = |ms: i64| ms.abs().min(MAX_DISTANCE_MS).pow(2);
    let reported = if call.is_async { call.notified } else { call.answered };
    let after_end = reported.ms_since(child.end).unwrap_or(0);
    let time = squared(child.start.ms_since(call.due).unwrap_or(0)) + squared(after_end);
    Ok(Match { evidence, time, rule })
}

/// An agent that names its parent was started by a call of that one.
fn is_of_stated_parent(draft: &Draft<'_>, child: &Child, call: &Call) -> bool {
    let stated = draft.agents[child.agent as usize].stated_parent;
    stated.is_empty() || draft.agents.get(call.agent as usize).is_some_and(|agent| agent.native_id == stated)
}

type Pair = (usize, usize, Match);

/// Pairs that compete with each other, directly or through others.
fn components(pairs: &[Pair], children: usize, calls: usize) -> Vec<Vec<Pair>> {
    let mut union = Union::new(children + calls);
    let index = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    for (c, s, _) in pairs {
        union.join(index(*c), index(children + s));
    }
    let mut of_root: FxHashMap<u32, usize> = FxHashMap::default();
    let mut components: Vec<Vec<Pair>> = Vec::new();
    for pair in pairs {
        let root = union.find(index(pair.0));
        let at = *of_root.entry(root).or_insert_with(|| {
            components.push(Vec::new());
            components.len() - 1
        });
        components[at].push(*pair);
    }
    components
}

fn settle(draft: &mut Draft<'_>, children: &[Child], calls: &[Call], pairs: &[Pair]) {
    let mut rows: Vec<usize> = pairs.iter().map(|(c, _, _)| *c).collect();
    let mut columns: Vec<usize> = pairs.iter().map(|(_, s, _)| *s).collect();
    rows.sort_unstable();
    rows.dedup();
    columns.sort_unstable();
    columns.dedup();
    // Nothing may hang on the order of reading: rows and columns go by time, then by native id.
    unspool_model::sort_by_meaning(&mut rows, |c| {
        (children[*c].start, draft.text(draft.agents[children[*c].agent as usize].native_id))
    });
    unspool_model::sort_by_meaning(&mut columns, |s| draft.place_of(&draft.steps[calls[*s].step as usize]));
    let row_of: FxHashMap<usize, usize> = rows.iter().enumerate().map(|(n, c)| (*c, n)).collect();
    let column_of: FxHashMap<usize, usize> = columns.iter().enumerate().map(|(n, s)| (*s, n)).collect();
    let placed = pairs.iter().map(|(c, s, found)| (row_of[c], column_of[s], *found));
    let verdicts = if rows.len().max(columns.len()) <= draft.table.max_joint_assignment {
        jointly(rows.len(), columns.len(), placed)
    } else {
        let record = draft.first_record(calls[columns[0]].step);
        draft.issue(Code::SpawnGroupTooLarge, Sym::EMPTY, Some(record));
        in_order_of_time(rows.len(), columns.len(), placed)
    };
    for (row, verdict) in verdicts.into_iter().enumerate() {
        let agent = children[rows[row]].agent;
        if let Some((column, found)) = verdict.chosen {
            accept(draft, agent, &calls[columns[column]], found, verdict.tied);
        }
        for (column, reason) in verdict.rivals {
            add_rival(draft, agent, &calls[columns[column]], reason);
        }
    }
}

fn accept(draft: &mut Draft<'_>, agent: u32, call: &Call, found: Match, tied: bool) {
    let table = draft.table;
    let confidence: Confidence = match (found.rule, tied) {
        (Rule::SpawnPrompt, false) => table.prompt,
        (Rule::SpawnPrompt, true) if is_recorded(draft, call) => table.prompt_tied_recorded,
        (Rule::SpawnPrompt, true) => table.prompt_tied,
        (Rule::SpawnAnswer, _) => table.answer,
        (Rule::SpawnSummary, _) => table.summary,
        (_, false) => table.type_time,
        (_, true) => table.type_time_tied,
    };
    let tool_use_id = draft.steps[call.step as usize].tool_use;
    let first = draft.timeline[agent as usize].first().copied().unwrap_or(call.step);
    let evidence = vec![draft.first_record(call.step), draft.first_record(first)];
    if tied {
        let id = draft.agents[agent as usize].native_id;
        draft.issue(Code::SpawnAmbiguous, id, evidence.first().copied());
    }
    let teammate =
        draft.key(draft.steps[call.step as usize].first_event as usize, KeyKind::Teammate, Role::Refers);
    let agent = &mut draft.agents[agent as usize];
    if agent.teammate.is_empty() {
        agent.teammate = teammate.unwrap_or_default();
    }
    agent.spawn = Some(Spawn { step: call.step, tool_use_id, rule: found.rule, confidence });
    agent.spawn_tied = tied;
    agent.spawn_evidence = evidence;
}

/// Whether only recorded traffic tells of a call.
fn is_recorded(draft: &Draft<'_>, call: &Call) -> bool {
    draft.witness(draft.steps[call.step as usize].first_event as usize) == Witness::Wire
}
