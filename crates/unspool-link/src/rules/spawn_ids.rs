//! Spawns by explicit ids: the result, the meta file, a hook, a notification, progress, a teammate's name, a
//! workflow's run, or an id in the result's text. Worth 1.0, unless only order says which call a result answers.

use crate::agents::{AgentDraft, Learned, Origin};
use crate::draft::Draft;
use crate::limits::MAX_LINK_EVIDENCE;
use crate::steps::build_timeline;
use rustc_hash::{FxHashMap, FxHashSet};
use unspool_model::flow::NONE;
use unspool_model::{
    AttrName, Code, Confidence, Event, EventFlags, EventKind, KeyKind, LinkSource, RecordIx, Role, Rule,
    Spawn, StepKind, Sym, Timestamp,
};

/// One explicit statement that a call started an agent.
struct Claim {
    step: u32,
    agent: u32,
    rule: Rule,
    /// The record that states it.
    record: RecordIx,
    event: usize,
    /// The call continues an agent rather than starting one.
    continues: bool,
}

pub(crate) fn link(draft: &mut Draft<'_>) {
    let calls = calls_by_id(draft);
    let mut claims = collect(draft, &calls);
    in_order_of_strength(draft, &mut claims);
    let mut at = 0;
    while at < claims.len() {
        let agent = claims[at].agent;
        let end = at + claims[at..].iter().take_while(|claim| claim.agent == agent).count();
        believe(draft, &claims[at..end]);
        at = end;
    }
    witness_missing(draft);
}

/// Of several claims, one that does not continue the agent wins, then the stronger source, then the earlier call.
fn in_order_of_strength(draft: &Draft<'_>, claims: &mut [Claim]) {
    claims.sort_by_key(|claim| {
        let step = &draft.steps[claim.step as usize];
        (claim.agent, claim.continues, strength(claim.rule), step.started, draft.place_of(step), claim.event)
    });
}

/// A call's result names somebody whom no record names.
pub(crate) struct Nameless {
    step: u32,
    /// The name of a teammate, or the id of an agent.
    name: Sym,
    rule: Rule,
    event: usize,
    continues: bool,
}

/// Those that a result names and no record does. If inference found the agent of their call, that one bears the name; else
/// they are agents whose records were not read.
pub(crate) fn settle_nameless(draft: &mut Draft<'_>) {
    let mut by_name: FxHashMap<(Sym, bool), usize> = FxHashMap::default();
    let mut groups: Vec<Vec<Nameless>> = Vec::new();
    for one in std::mem::take(&mut draft.nameless) {
        let key = (one.name, one.rule == Rule::SpawnTeammateId);
        let at = *by_name.entry(key).or_insert_with(|| {
            groups.push(Vec::new());
            groups.len() - 1
        });
        groups[at].push(one);
    }
    for group in groups {
        let Some(Nameless { name, rule, event, .. }) = group.first().map(|first| Nameless { ..*first })
        else {
            continue;
        };
        let is_teammate = rule == Rule::SpawnTeammateId;
        let starts = |one: &&Nameless| !one.continues;
        let found = group.iter().filter(starts).find_map(|one| {
            draft.agents.iter().position(|agent| agent.spawn.is_some_and(|spawn| spawn.step == one.step))
        });
        if let Some(found) = found {
            // Where only time told calls apart, which of their agents bears the name is not known.
            let agent = &mut draft.agents[found];
            if !is_teammate && !agent.spawn_tied && matches!(agent.origin, Origin::Conversation(_)) {
                agent.native_id = name;
            }
            continue;
        }
        if is_teammate && draft.agents.iter().any(|agent| agent.teammate == name) {
            continue;
        }
        let agent = add_unwitnessed(draft, name, event);
        if is_teammate {
            draft.agents[agent as usize].teammate = name;
        }
        let claim = |one: &Nameless| {
            let Nameless { step, rule, event, continues, .. } = *one;
            Claim { step, agent, rule, record: draft.event(event).record, event, continues }
        };
        let mut claims: Vec<Claim> = group.iter().map(claim).collect();
        in_order_of_strength(draft, &mut claims);
        believe(draft, &claims);
    }
    witness_missing(draft);
}

fn calls_by_id(draft: &Draft<'_>) -> FxHashMap<Sym, u32> {
    let steps = draft.steps.iter().enumerate();
    steps
        .filter(|(_, step)| step.kind == StepKind::ToolCall && !step.tool_use.is_empty())
        .map(|(n, step)| (step.tool_use, u32::try_from(n).unwrap_or(NONE)))
        .collect()
}

fn strength(rule: Rule) -> u8 {
    match rule {
        Rule::SpawnMetaId => 0,
        Rule::SpawnResultId => 1,
        Rule::SpawnHookId => 2,
        Rule::SpawnNotificationId => 3,
        Rule::SpawnProgressId => 4,
        Rule::SpawnTeammateId => 5,
        Rule::SpawnWorkflowId => 6,
        _ => 7,
    }
}

/// Agents by their ids, and by their names in teams.
fn named_agents(draft: &Draft<'_>) -> (FxHashMap<Sym, u32>, FxHashMap<Sym, Vec<u32>>) {
    let mut agents: FxHashMap<Sym, u32> = FxHashMap::default();
    let mut teammates: FxHashMap<Sym, Vec<u32>> = FxHashMap::default();
    for (n, agent) in (0_u32..).zip(&draft.agents) {
        if let Origin::Native(id) = agent.origin {
            agents.insert(id, n);
        }
        if let Some(teammate) = agent.teammate.some() {
            teammates.entry(teammate).or_default().push(n);
        }
    }
    (agents, teammates)
}

/// The rule by which a link is believed: where it is written.
fn rule_of(event: &Event) -> Rule {
    match event.source {
        LinkSource::Meta => Rule::SpawnMetaId,
        LinkSource::Result if event.flags.has(EventFlags::RESULT_BY_ORDER) => Rule::SpawnResultOrder,
        LinkSource::Result => Rule::SpawnResultId,
        LinkSource::Hook => Rule::SpawnHookId,
        LinkSource::Notification => Rule::SpawnNotificationId,
        LinkSource::Progress => Rule::SpawnProgressId,
        LinkSource::Text | LinkSource::Teammate | LinkSource::Workflow | LinkSource::Unstated => {
            Rule::SpawnTextId
        }
    }
}

fn collect(draft: &mut Draft<'_>, calls: &FxHashMap<Sym, u32>) -> Vec<Claim> {
    let (mut agents, teammates) = named_agents(draft);
    let has_conversations = draft.agents.iter().any(|agent| matches!(agent.origin, Origin::Conversation(_)));
    let mut claims = Vec::new();
    let mut mentions = mentions_in_calls(draft);
    for at in 0..draft.group.events.len() {
        let event = *draft.event(at);
        if event.kind != EventKind::SpawnLink {
            continue;
        }
        let Some(call) = draft.key(at, KeyKind::ToolUse, Role::Refers) else { continue };
        let Some(step) = calls.get(&call).copied() else { continue };
        let tool = draft.text(draft.steps[step as usize].name).to_string();
        let table = draft.table;
        if table.is_message_tool(&tool) {
            continue;
        }
        let is_spawn_tool = table.is_spawn_tool(&tool);
        let continues = continues_agent(draft, step);
        let mut claim = |agent: u32, rule: Rule| {
            claims.push(Claim { step, agent, rule, record: event.record, event: at, continues });
        };
        if let Some(run) = draft.key(at, KeyKind::WorkflowRun, Role::Provides) {
            for (n, agent) in draft.agents.iter().enumerate() {
                if agent.workflow == run && !agent.internal {
                    claim(u32::try_from(n).unwrap_or(NONE), Rule::SpawnWorkflowId);
                }
            }
            continue;
        }
        if let Some(teammate) = draft.key(at, KeyKind::Teammate, Role::Provides) {
            if teammates.contains_key(&teammate) {
                mentions.entry(teammate).or_default().push(Mention { step, record: event.record, event: at });
            } else if is_spawn_tool {
                let rule = Rule::SpawnTeammateId;
                draft.nameless.push(Nameless { step, name: teammate, rule, event: at, continues });
            }
            continue;
        }
        let Some(id) = draft.key(at, KeyKind::Agent, Role::Provides) else { continue };
        let rule = rule_of(&event);
        // Structured fields speak for themselves; text and notifications also name things that are no agents.
        let structured = matches!(
            rule,
            Rule::SpawnMetaId | Rule::SpawnResultId | Rule::SpawnResultOrder | Rule::SpawnHookId
        );
        if !is_spawn_tool && !structured {
            continue;
        }
        let agent = match agents.get(&id) {
            Some(agent) => *agent,
            // One of the recorded conversations, which do not say their id, may be that agent.
            None if is_spawn_tool && has_conversations => {
                draft.nameless.push(Nameless { step, name: id, rule, event: at, continues });
                continue;
            }
            // A field called `agentId` in some other tool's result names something of that tool's.
            None if is_spawn_tool => {
                let agent = add_unwitnessed(draft, id, at);
                agents.insert(id, agent);
                agent
            }
            None => continue,
        };
        if draft.table.is_internal_id(draft.text(id)) {
            continue;
        }
        if !is_spawn_tool && !table_knows(draft, &tool) {
            let name = draft.steps[step as usize].name;
            draft.issue(Code::SpawnToolUnknown, name, Some(event.record));
        }
        claims.push(Claim { step, agent, rule, record: event.record, event: at, continues });
    }
    claims.extend(claims_by_name(draft, &teammates, &mentions));
    claims
}

/// A call that starts a teammate of some name, by what the call or its result says.
struct Mention {
    step: u32,
    record: RecordIx,
    event: usize,
}

/// Calls that ask for a teammate of a name in a team.
fn mentions_in_calls(draft: &Draft<'_>) -> FxHashMap<Sym, Vec<Mention>> {
    let mut mentions: FxHashMap<Sym, Vec<Mention>> = FxHashMap::default();
    for event in 0..draft.group.events.len() {
        let (row, step) = (draft.event(event), draft.event_step[event]);
        if row.kind != EventKind::ToolCall || !draft.table.is_spawn_tool(draft.text(row.name)) {
            continue;
        }
        if let Some(name) = draft.key(event, KeyKind::Teammate, Role::Refers) {
            let record = draft.first_record(step);
            mentions.entry(name).or_default().push(Mention { step, record, event });
        }
    }
    mentions
}

/// Calls and the agents that bear the names they give. A name may be used again: each bearer was started by the latest
/// call for its name before it began, and a call that continues an agent speaks of the one who bears the name by then.
fn claims_by_name(
    draft: &Draft<'_>,
    teammates: &FxHashMap<Sym, Vec<u32>>,
    mentions: &FxHashMap<Sym, Vec<Mention>>,
) -> Vec<Claim> {
    let mut claims = Vec::new();
    for (agent, row) in (0_u32..).zip(&draft.agents) {
        let Some(mentions) = mentions.get(&row.teammate) else { continue };
        let namesakes = teammates.get(&row.teammate).map_or(&[][..], Vec::as_slice);
        let began = draft.began(agent);
        let place = |mention: &&Mention| draft.place_of(&draft.steps[mention.step as usize]);
        let starts = || mentions.iter().filter(|mention| !continues_agent(draft, mention.step));
        let in_time = |mention: &&Mention| {
            let called = draft.steps[mention.step as usize].started;
            let tolerance = draft.table.tolerance_ms(began, called);
            called.ms_since(began).is_none_or(|ms| ms <= tolerance)
        };
        // An id holds whatever the clocks say, if nobody else bears the name.
        let only = || starts().min_by_key(place).filter(|_| namesakes.len() == 1);
        let started_by = starts().filter(in_time).max_by_key(place).or_else(only).map(|mention| mention.step);
        for mention in mentions {
            let continues = continues_agent(draft, mention.step);
            let called = draft.steps[mention.step as usize].started;
            let is_meant = if continues {
                draft.bearer(namesakes, called) == Some(agent)
            } else {
                started_by == Some(mention.step)
            };
            if is_meant {
                let Mention { step, record, event } = *mention;
                claims.push(Claim { step, agent, rule: Rule::SpawnTeammateId, record, event, continues });
            }
        }
    }
    claims
}

fn table_knows(draft: &Draft<'_>, tool: &str) -> bool {
    draft.table.is_spawn_tool(tool) || draft.table.is_workflow_tool(tool)
}

fn continues_agent(draft: &Draft<'_>, step: u32) -> bool {
    let event = draft.steps[step as usize].first_event as usize;
    draft.attr_text(event, AttrName::Resume).is_some()
}

/// An agent that is named and whose records were not read.
fn add_unwitnessed(draft: &mut Draft<'_>, id: Sym, at: usize) -> u32 {
    draft.agents.push(AgentDraft {
        origin: Origin::Native(id),
        native_id: id,
        session: draft.group.native_of(at),
        kind: Learned::of_spawn(draft.attr_text(at, AttrName::AgentType)),
        model: Learned::of_spawn(draft.attr_text(at, AttrName::Model)),
        parent: NONE,
        ..AgentDraft::default()
    });
    draft.timeline.push(Vec::new());
    u32::try_from(draft.agents.len() - 1).unwrap_or(NONE)
}

fn believe(draft: &mut Draft<'_>, claims: &[Claim]) {
    let Some(best) = claims.first() else { return };
    let own_step = draft.steps[best.step as usize].agent == best.agent;
    if own_step {
        return;
    }
    let rival = claims.iter().find(|claim| {
        claim.step != best.step
            && !claim.continues
            && !best.continues
            && strength(claim.rule) <= strength(Rule::SpawnHookId)
    });
    if let Some(rival) = rival
        && rival.rule != best.rule
    {
        let id = draft.agents[best.agent as usize].native_id;
        draft.issue(Code::SpawnConflict, id, Some(rival.record));
    }
    // The strongest sources are kept; among equals, whichever records they are, not where they lie.
    let records = &draft.corpus.batch.records;
    let mut evidence: Vec<(u8, RecordIx)> = claims
        .iter()
        .filter(|claim| claim.step == best.step)
        .map(|claim| (strength(claim.rule), claim.record))
        .collect();
    evidence.sort_unstable_by_key(|(strength, record)| (*strength, records[*record as usize].id));
    let mut evidence: Vec<RecordIx> = evidence.into_iter().map(|(_, record)| record).collect();
    let mut seen = FxHashSet::default();
    evidence.retain(|record| seen.insert(*record));
    for record in evidence.drain(MAX_LINK_EVIDENCE.min(evidence.len())..) {
        draft.issue(Code::LimitReached, draft.corpus.limits.link_evidence, Some(record));
    }
    let tool_use_id = draft.steps[best.step as usize].tool_use;
    let by_order = best.rule == Rule::SpawnResultOrder;
    let confidence = if by_order { draft.table.result_order } else { Confidence::EXACT };
    let agent = &mut draft.agents[best.agent as usize];
    agent.internal = false;
    let mut continued_by: Vec<u32> = claims
        .iter()
        .filter(|claim| claim.continues && claim.step != best.step)
        .map(|claim| claim.step)
        .collect();
    continued_by.dedup();
    agent.continued_by = continued_by;
    let spawn = Spawn { step: best.step, tool_use_id, rule: best.rule, confidence };
    if agent.is_declared() {
        agent.spawn_by_id = Some((spawn, evidence));
    } else {
        (agent.spawn, agent.spawn_evidence) = (Some(spawn), evidence);
    }
}

/// A named agent without records gets one step, witnessed by what names it, so that it can be seen.
fn witness_missing(draft: &mut Draft<'_>) {
    let mut added = false;
    for n in 0..draft.agents.len() {
        let agent = &draft.agents[n];
        if !draft.timeline[n].is_empty() {
            continue;
        }
        let Some(spawn) = agent.spawn else { continue };
        let call = &draft.steps[spawn.step as usize];
        let (started, call_event) = (call.started, call.first_event);
        let mut step = crate::steps::unwitnessed_start(u32::try_from(n).unwrap_or(NONE));
        step.started = started;
        step.ended = Timestamp::NONE;
        step.first_event = call_event;
        step.name = agent.kind.value;
        draft.steps.push(step);
        let record = agent.spawn_evidence.first().copied();
        let id = agent.native_id;
        draft.issue(Code::AgentTranscriptMissing, id, record);
        added = true;
    }
    if added {
        build_timeline(draft);
    }
}
