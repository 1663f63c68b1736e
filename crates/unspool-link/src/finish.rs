//! From the draft to the flow: stable order, ids, columns.

use crate::agents::Origin;
use crate::draft::{Draft, IssueDraft};
use crate::steps::StepDraft;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::{BTreeMap, BinaryHeap};
use unspool_model::flow::NONE;
use unspool_model::issue::Occurrence;
use unspool_model::{
    Agent, AttrName, Code, DeclaredLink, EventFlags, EventKind, Flow, Id, Issue, KeyKind, RecordIx, Role,
    Session, Step, StepKind, Sym, Timestamp, Usage,
};

pub(crate) fn finish(mut draft: Draft<'_>) -> Flow {
    note_unlinked(&mut draft);
    check_ledger(&mut draft);
    let agent_order = order_agents(&draft);
    let agent_index = inverse(&agent_order);
    let mut step_order: Vec<u32> = (0..u32::try_from(draft.steps.len()).unwrap_or(NONE)).collect();
    step_order.sort_unstable_by_key(|n| draft.steps[*n as usize].seq);
    let step_index = inverse(&step_order);
    let run_order = order_runs(&draft, &step_index);
    let run_index = inverse(&run_order);
    let map = |index: &[u32], n: u32| index.get(n as usize).copied().unwrap_or(NONE);

    let mut flow = Flow { session: session(&draft), ..Flow::default() };
    let failed = |n: &u32| draft.steps[*n as usize].is_error;
    let errors = draft.errors.iter().filter(|(n, _)| failed(n));
    flow.errors = errors.map(|(n, words)| (step_index[*n as usize], *words)).collect();
    flow.errors.sort_unstable_by_key(|(n, _)| *n);
    flow.inputs = by_step(std::mem::take(&mut draft.inputs), &step_index);
    flow.lines = by_step(std::mem::take(&mut draft.lines), &step_index);
    flow.requests = by_step(std::mem::take(&mut draft.requests), &step_index);
    flow.agents = agents(&draft, &agent_order, &agent_index, &step_index);
    draft.reached = Vec::new();
    draft.timeline = Vec::new();
    draft.event_agent = Vec::new();
    steps(&mut draft, &step_order, &step_index, &mut flow);
    draft.event_step = Vec::new();
    flow.usages = std::mem::take(&mut draft.usages);
    for step in &mut flow.steps {
        step.agent = map(&agent_index, step.agent);
        step.run = map(&run_index, step.run);
        step.parent = map(&step_index, step.parent);
    }
    for n in &run_order {
        let mut run = draft.runs[*n as usize].clone();
        run.trigger = map(&step_index, run.trigger);
        run.id = Id::of(&[b"run", &flow.steps[run.trigger as usize].id.to_bytes()]);
        flow.runs.push(run);
    }
    edges(&mut draft, &step_index, &mut flow);
    flow.links = links(&draft, &step_index);
    flow.issues = issues(&draft);
    flow.context_records = context_records(&draft, &flow);
    flow
}

/// What is known of some steps, by their place in the flow; of several for one step, the first counts.
fn by_step<T>(mut known: Vec<(u32, T)>, step_index: &[u32]) -> Vec<(u32, T)> {
    for (step, _) in &mut known {
        *step = step_index[*step as usize];
    }
    known.sort_by_key(|(step, _)| *step);
    known.dedup_by_key(|(step, _)| *step);
    known
}

fn inverse(order: &[u32]) -> Vec<u32> {
    let mut index = vec![NONE; order.len()];
    for (position, n) in order.iter().enumerate() {
        index[*n as usize] = u32::try_from(position).unwrap_or(NONE);
    }
    index
}

/// Spawns and agents nobody could link, agents that are internal, sessions without a main transcript.
fn note_unlinked(draft: &mut Draft<'_>) {
    let mut found = Vec::new();
    let mut claimed: FxHashSet<u32> = FxHashSet::default();
    for (n, agent) in draft.agents.iter().enumerate() {
        if let Some(spawn) = agent.spawn {
            claimed.insert(spawn.step);
        }
        let record = draft.timeline[n].first().map(|step| draft.first_record(*step));
        let is_sub = !matches!(agent.origin, Origin::Main(_) | Origin::Conversation(_));
        if agent.internal {
            found.push((Code::AgentInternal, Sym::EMPTY, record));
        } else if is_sub && agent.spawn.is_none() && agent.witnessed {
            found.push((Code::AgentUnlinked, agent.native_id, record));
        }
    }
    for (n, step) in (0_u32..).zip(&draft.steps) {
        if step.kind != StepKind::ToolCall || !step.has_call || claimed.contains(&n) {
            continue;
        }
        let says = |name| draft.attr_text(step.first_event as usize, name).is_some();
        let is_spawn_tool = draft.table.is_spawn_tool(draft.text(step.name));
        if is_spawn_tool && !says(AttrName::Resume) {
            found.push((Code::SpawnUnlinked, step.tool_use, Some(draft.first_record(n))));
        }
        // A tool that was given a prompt and an agent type is a spawn tool by another name.
        if !is_spawn_tool && says(AttrName::AgentType) {
            found.push((Code::SpawnToolUnknown, step.name, Some(draft.first_record(n))));
        }
    }
    let has_main =
        draft.agents.iter().enumerate().any(|(n, agent)| agent.is_main() && !draft.timeline[n].is_empty());
    let first_sub =
        draft.agents.iter().position(|agent| matches!(agent.origin, Origin::Native(_) | Origin::Chain(_)));
    if let (false, Some(sub)) = (has_main, first_sub) {
        let record = draft.timeline[sub].first().map(|step| draft.first_record(*step));
        found.push((Code::MainTranscriptMissing, Sym::EMPTY, record));
    }
    for (code, detail, record) in found {
        draft.issue(code, detail, record);
    }
}

/// The client's own sums against ours, when the session wrote them.
fn check_ledger(draft: &mut Draft<'_>) {
    let mut ledger = None;
    for at in 0..draft.group.events.len() {
        let event = draft.event(at);
        if event.kind == EventKind::SessionInfo && draft.attr_int(at, AttrName::LedgerInput).is_some() {
            let sums = [
                AttrName::LedgerInput,
                AttrName::LedgerCacheRead,
                AttrName::LedgerCacheWrite,
                AttrName::LedgerOutput,
            ]
            .map(|name| draft.attr_int(at, name).and_then(|n| u64::try_from(n).ok()).unwrap_or(0));
            ledger = Some((event.record, sums));
        }
    }
    let Some((record, expected)) = ledger else { return };
    let mut sum = Usage::default();
    for usage in &draft.usages {
        sum.add(usage);
    }
    if [sum.input, sum.cache_read, sum.cache_write, sum.output + sum.reasoning] != expected {
        draft.issue(Code::LedgerMismatch, Sym::EMPTY, Some(record));
    }
}

/// Main agents first, then by start, then by native id.
fn order_agents(draft: &Draft<'_>) -> Vec<u32> {
    let used = |n: &u32| {
        let agent = &draft.agents[*n as usize];
        !draft.timeline[*n as usize].is_empty() || agent.spawn.is_some()
    };
    let mut order: Vec<u32> = (0..u32::try_from(draft.agents.len()).unwrap_or(NONE)).filter(used).collect();
    unspool_model::sort_by_meaning(&mut order, |n| {
        let agent = &draft.agents[*n as usize];
        let sub = !agent.is_main();
        (sub, agent.started, draft.text(agent.native_id))
    });
    // Unused agents keep no place, but the inverse needs every index.
    let unused = (0..u32::try_from(draft.agents.len()).unwrap_or(NONE)).filter(|n| !used(n));
    order.extend(unused.collect::<Vec<_>>());
    order
}

fn order_runs(draft: &Draft<'_>, step_index: &[u32]) -> Vec<u32> {
    let runs = (0..).zip(&draft.runs);
    in_order(runs.map(|(n, run)| (run.started, step_index[run.trigger as usize], n)))
}

/// Things by their moment and place. A heap is less code than a sort, and every report carries it.
fn in_order(all: impl Iterator<Item = (Timestamp, u32, u32)>) -> Vec<u32> {
    all.collect::<BinaryHeap<_>>().into_sorted_vec().into_iter().map(|(_, _, n)| n).collect()
}

fn agents(draft: &Draft<'_>, order: &[u32], index: &[u32], step_index: &[u32]) -> Vec<Agent> {
    let mut agents = Vec::new();
    let task_numbers = task_numbers(draft, order, step_index);
    for n in order {
        let agent = &draft.agents[*n as usize];
        let timeline = &draft.timeline[*n as usize];
        if timeline.is_empty() && agent.spawn.is_none() {
            continue;
        }
        let main = agent.is_main();
        let call = agent.spawn.map(|spawn| &draft.steps[spawn.step as usize]);
        let asked =
            |name| call.and_then(|call| draft.attr_text(call.first_event as usize, name)).unwrap_or_default();
        let or = |first: Sym, second: Sym| if first.is_empty() { second } else { first };
        let step = |n: Option<&u32>| n.map_or(NONE, |n| step_index[*n as usize]);
        let messages = timeline.iter().filter(|n| {
            matches!(draft.steps[**n as usize].kind, StepKind::UserMessage | StepKind::ModelCall)
        });
        agents.push(Agent {
            id: agent_id(draft, *n),
            native_id: agent.native_id,
            kind: or(agent.kind.value, asked(AttrName::AgentType)),
            kind_inferred: agent.kind.is_inferred(),
            name: or(
                agent.name.value,
                or(agent.description.value, or(asked(AttrName::AgentName), asked(AttrName::Description))),
            ),
            model: agent.model.value,
            parent: index.get(agent.parent as usize).copied().unwrap_or(NONE),
            depth: agent.depth,
            status: agent.status,
            internal: agent.internal,
            main,
            task_number: task_numbers.get(n).copied().unwrap_or(0),
            spawn: agent.spawn.map(|mut spawn| {
                spawn.step = step_index[spawn.step as usize];
                spawn
            }),
            rivals: agent.rivals.clone(),
            rival_count: agent.rival_count,
            started: agent.started,
            ended: agent.ended,
            first_step: step(timeline.first()),
            last_step: step(timeline.last()),
            message_count: u32::try_from(messages.count()).unwrap_or(u32::MAX),
        });
    }
    agents
}

/// Sub-agents are counted in the order they were asked for, which for those of one answer is their place in it, and not when each began. One whose call is
/// not known counts where it began.
fn task_numbers(draft: &Draft<'_>, order: &[u32], step_index: &[u32]) -> FxHashMap<u32, u32> {
    let asked = |n: u32| {
        let call = draft.agents[n as usize].spawn.map(|spawn| spawn.step);
        let first = call.or_else(|| draft.timeline[n as usize].first().copied())?;
        Some((draft.steps[first as usize].started, step_index[first as usize], n))
    };
    let is_task = |n: &u32| !draft.agents[*n as usize].is_main() && !draft.agents[*n as usize].internal;
    let tasks = order.iter().copied().filter(is_task).filter_map(asked);
    in_order(tasks).into_iter().zip(1..).collect()
}

pub(crate) fn agent_id(draft: &Draft<'_>, n: u32) -> Id {
    let agent = &draft.agents[n as usize];
    let kind: &[u8] = match agent.origin {
        Origin::Main(_) => b"main",
        Origin::Native(_) => b"native",
        Origin::Chain(_) => b"chain",
        Origin::Conversation(_) => b"conversation",
        Origin::Helper(_) => b"helper",
        Origin::Span(_) => b"span",
        Origin::Unknown => b"unknown",
    };
    Id::of(&[b"agent", kind, draft.text(agent.session).as_bytes(), draft.text(agent.native_id).as_bytes()])
}

/// How many steps are turned at a time before the memory of the drafts is given back.
const STEPS_AT_A_TIME: usize = 1 << 15;

/// Turns drafts into steps from the end on, giving memory back on the way: a huge session is never held twice.
fn steps(draft: &mut Draft<'_>, order: &[u32], index: &[u32], flow: &mut Flow) {
    let (starts, records) = witnesses(draft);
    let mut drafts = std::mem::take(&mut draft.steps);
    permute(&mut drafts, index);
    flow.witnesses.reserve_exact(records.len());
    flow.steps.reserve_exact(drafts.len().min(STEPS_AT_A_TIME));
    while let Some(step) = drafts.pop() {
        if drafts.len().is_multiple_of(STEPS_AT_A_TIME) {
            drafts.shrink_to_fit();
        }
        let n = order[drafts.len()] as usize;
        let mut own = &records[starts[n] as usize..starts[n + 1] as usize];
        if own.is_empty() {
            // A step made for an agent without records is witnessed by what names the agent.
            own = &draft.agents[step.agent as usize].spawn_evidence;
        }
        let first_witness = u32::try_from(flow.witnesses.len()).unwrap_or(NONE);
        flow.witnesses.extend_from_slice(own);
        flow.steps.push(finished(draft, &step, first_witness, own));
    }
    flow.steps.reverse();
}

/// Brings every item to the place `index` gives it, in place.
fn permute<T>(items: &mut [T], index: &[u32]) {
    let mut target = index.to_vec();
    for n in 0..items.len() {
        while target[n] as usize != n {
            let to = target[n] as usize;
            items.swap(n, to);
            target.swap(n, to);
        }
    }
}

fn finished(draft: &Draft<'_>, step: &StepDraft, first_witness: u32, witnesses: &[RecordIx]) -> Step {
    Step {
        id: step_id(draft, step, witnesses.first().copied()),
        started: step.started,
        ended: step.ended,
        duration_ms: step.duration_ms,
        agent: step.agent,
        run: step.run,
        parent: step.parent,
        first_witness,
        witness_count: u32::try_from(witnesses.len()).unwrap_or(0),
        usage: step.usage,
        name: step.name,
        tool_use_id: step.tool_use,
        message_id: step.message,
        uuid: step.uuid,
        native_id: draft.native_id_of(step),
        model: step.model,
        preview: step.preview,
        intent: step.intent,
        intent_source: step.intent_source,
        kind: step.kind,
        is_error: step.is_error,
        start_estimated: step.start_estimated,
        pending: step.is_pending(),
        // A call that a model asked for is not the client's, whatever its result is marked as.
        meta: step.kind != StepKind::ToolCall
            && (step.flags.has(EventFlags::META) || step.flags.has(EventFlags::COMMAND)),
        is_async: step.flags.has(EventFlags::ASYNC),
        agent_source: draft.spans.agent_source(draft, step.first_event as usize),
    }
}

/// The records that witness each step, once each and in order, as ranges of one column.
fn witnesses(draft: &Draft<'_>) -> (Vec<u32>, Vec<RecordIx>) {
    // Events of one record that witness one step need not be neighbours (a call between two others of its record).
    let mut last: Vec<RecordIx> = vec![NONE; draft.steps.len()];
    let mut pairs: Vec<(u32, RecordIx)> = Vec::with_capacity(draft.event_step.len());
    let mut starts: Vec<u32> = vec![0; draft.steps.len() + 1];
    for (at, step) in draft.event_step.iter().enumerate().filter(|(_, step)| **step != NONE) {
        let record = draft.event(at).record;
        if std::mem::replace(&mut last[*step as usize], record) != record {
            pairs.push((*step, record));
            starts[*step as usize + 1] += 1;
        }
    }
    for n in 1..starts.len() {
        starts[n] += starts[n - 1];
    }
    let mut next = starts.clone();
    let mut records = vec![0; pairs.len()];
    for (step, record) in pairs {
        let slot = &mut next[step as usize];
        records[*slot as usize] = record;
        *slot += 1;
    }
    (starts, records)
}

/// The id of a step whose first witness is that record.
pub(crate) fn step_id(draft: &Draft<'_>, step: &StepDraft, first_record: Option<RecordIx>) -> Id {
    let agent = &draft.agents[step.agent as usize];
    let session = draft.text(agent.session).as_bytes();
    let kind = step.kind.name().as_bytes();
    if !step.exchange.is_empty() {
        // While it runs and when it is over it is the same.
        return Id::of(&[b"step", kind, b"exchange", draft.text(step.exchange).as_bytes()]);
    }
    if step.key.is_empty() {
        let record =
            first_record.map(|record| draft.corpus.batch.records[record as usize].id).unwrap_or_default();
        let agent = draft.text(agent.native_id).as_bytes();
        // Several steps of one record are told apart by where in it they stand.
        let event = step.first_event as usize;
        let nth = if event < draft.group.events.len() { event - draft.head_of(event) } else { 0 };
        return Id::of(&[b"step", kind, session, agent, &record.to_bytes(), &nth.to_le_bytes()]);
    }
    // A request without a message id is a step of its agent only.
    let owner = if step.is_of_agent() { draft.text(agent.native_id).as_bytes() } else { b"" };
    Id::of(&[b"step", kind, session, &[step.key_kind], draft.text(step.key).as_bytes(), owner])
}

/// Edges in place: renumbered, then ordered by target, source, kind and rule.
fn edges(draft: &mut Draft<'_>, step_index: &[u32], flow: &mut Flow) {
    let mut edges = std::mem::take(&mut draft.edges);
    for edge in &mut edges {
        edge.from = step_index[edge.from as usize];
        edge.to = step_index[edge.to as usize];
    }
    edges.sort_unstable_by_key(|edge| {
        let steps = (u64::from(edge.to) << 32) | u64::from(edge.from);
        (steps, edge.kind, edge.rule, edge.first_evidence)
    });
    flow.edges = edges;
    flow.evidence = std::mem::take(&mut draft.evidence);
}

fn links(draft: &Draft<'_>, step_index: &[u32]) -> Vec<DeclaredLink> {
    let step = |n: u32| step_index.get(n as usize).copied().unwrap_or(NONE);
    let placed = |link: DeclaredLink| DeclaredLink {
        from_step: step(link.from_step),
        to_step: step(link.to_step),
        ..link
    };
    draft.said.iter().map(|one| placed(one.link)).collect()
}

fn session(draft: &Draft<'_>) -> Session {
    let batch = &draft.corpus.batch;
    let mut session = Session {
        native_ids: draft.group.natives.clone(),
        cwd: draft.place.folder,
        cwd_inferred: draft.place.folder_inferred,
        ..Session::default()
    };
    let (mut versions, mut formats) = (BTreeMap::new(), BTreeMap::new());
    let mut title = (i64::MIN, Timestamp::NONE, Sym::EMPTY);
    // Clients leave titles of other sessions' records in a file, too.
    let mut uuids = None;
    let mut last_format = Sym::EMPTY;
    for at in 0..draft.group.events.len() {
        let event = draft.event(at);
        let format = batch.stream_of(event.record).format;
        if std::mem::replace(&mut last_format, format) != format {
            formats.insert(draft.text(format), format);
        }
        if let Some(version) = draft.attr_text(at, AttrName::Version) {
            versions.insert(draft.text(version), version);
        }
        if let Some(text) = draft.attr_text(at, AttrName::Title)
            && leaf_of_title(draft, at)
                .is_none_or(|leaf| uuids.get_or_insert_with(|| own_uuids(draft)).contains(&leaf))
        {
            let rank = draft.attr_int(at, AttrName::TitleRank).unwrap_or(0);
            if (rank, event.at) >= (title.0, title.1) {
                title = (rank, event.at, text);
            }
        }
    }
    session.versions = versions.into_values().collect();
    session.formats = formats.into_values().collect();
    session.title = title.2;
    for step in &draft.steps {
        session.started = session.started.earlier(step.started);
        session.ended = session.ended.later(step.ended.later(step.started));
    }
    if session.title.is_empty() {
        let first_run =
            draft.runs.iter().min_by_key(|run| draft.place_of(&draft.steps[run.trigger as usize]));
        let prompt = first_run.map(|run| {
            let trigger = &draft.steps[run.trigger as usize];
            if trigger.preview.is_empty() { trigger.name } else { trigger.preview }
        });
        session.title = prompt.unwrap_or_default();
        session.title_inferred = !session.title.is_empty();
    }
    session.id = draft.group.id(batch);
    session
}

/// The record a title belongs to, where it names one instead of its session.
fn leaf_of_title(draft: &Draft<'_>, at: usize) -> Option<Sym> {
    let says_session = draft.key(at, KeyKind::Session, Role::Refers).is_some();
    draft.key(at, KeyKind::Uuid, Role::Refers).filter(|_| !says_session)
}

fn own_uuids(draft: &Draft<'_>) -> FxHashSet<Sym> {
    (0..draft.group.events.len()).filter_map(|at| draft.key(at, KeyKind::Uuid, Role::Provides)).collect()
}

/// Issues of reading and linking, equal ones added up.
fn issues(draft: &Draft<'_>) -> Vec<Issue> {
    let batch = &draft.corpus.batch;
    let read = draft.group.issues.iter().filter_map(|n| batch.issues.get(*n as usize)).copied();
    let linked = draft.issues.iter().map(|IssueDraft { code, detail, record }| Occurrence {
        detail: *detail,
        stream: u32::MAX,
        record: record.unwrap_or(u32::MAX),
        code: *code,
    });
    draft.corpus.add_up(read.chain(linked))
}

/// Records of the session that witness no step.
fn context_records(draft: &Draft<'_>, flow: &Flow) -> u32 {
    let mut witnesses: Vec<RecordIx> = flow.witnesses.clone();
    witnesses.sort_unstable();
    witnesses.dedup();
    draft.group.records.saturating_sub(u32::try_from(witnesses.len()).unwrap_or(u32::MAX))
}
