//! A flow as rows.
//!
//! In: a flow, the batch its records are in, and what only the caller knows. Out: rows whose every reference is an id. Never here: a store.

use crate::list::hash_of;
use crate::rows::{AgentRow, EdgeRow, IssueRow, List, RunRow, SessionFacts, SessionRow, Source, StepRow};
use rustc_hash::FxHashSet;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;
use unspool_model::flow::NONE;
use unspool_model::{
    Agent, Batch, Code, Edge, Flow, Id, IntentSource, Issue, RecordIx, Run, Step, StepKind, Sym, Timestamp,
    Usage,
};

/// Parts of a session's time that its activity is told in.
pub const ACTIVITY_PARTS: usize = 24;

/// What a flow does not say about its session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Beside {
    /// What it cost, where all prices are known.
    pub cost_nano_usd: Option<i64>,
    /// Bytes of its records.
    pub native_bytes: u64,
    /// Where its records came from.
    pub sources: Vec<String>,
    /// Where in the log its records lie: from its first to behind its last.
    pub positions: Range<u64>,
}

impl SessionFacts {
    /// The rows of a flow.
    pub fn of(flow: &Arc<Flow>, batch: &Arc<Batch>, beside: &Beside) -> SessionFacts {
        let rows = Rows { flow, batch };
        let source = Arc::new(Derived { flow: Arc::clone(flow), batch: Arc::clone(batch) });
        let steps = flow.steps.iter().enumerate().map(|(n, step)| hash_of(&rows.step(n, step)));
        let edges = flow.edges.iter().map(|edge| hash_of(&rows.edge(edge)));
        SessionFacts {
            session: rows.session(beside),
            agents: flow.agents.iter().map(|agent| rows.agent(agent)).collect(),
            runs: flow.runs.iter().map(|run| rows.run(run)).collect(),
            steps: List::new(steps.collect(), Arc::clone(&source) as Arc<dyn Source<StepRow>>),
            edges: List::new(edges.collect(), source),
            issues: flow.issues.iter().map(|issue| rows.issue(issue)).collect(),
        }
    }
}

impl SessionRow {
    /// What a flow says of its session in a list.
    pub fn of(flow: &Flow, batch: &Batch, beside: &Beside) -> SessionRow {
        Rows { flow, batch }.session(beside)
    }
}

/// What is needed to make rows when somebody asks for them.
struct Derived {
    flow: Arc<Flow>,
    batch: Arc<Batch>,
}

impl Derived {
    fn rows(&self) -> Rows<'_> {
        Rows { flow: &self.flow, batch: &self.batch }
    }
}

impl Source<StepRow> for Derived {
    fn rows(&self, places: Range<usize>) -> Vec<StepRow> {
        let rows = self.rows();
        let steps = places.clone().zip(&self.flow.steps[places]);
        steps.map(|(n, step)| rows.step(n, step).into_owned()).collect()
    }

    fn ids(&self, places: Range<usize>, each: &mut dyn FnMut(Id)) {
        for step in &self.flow.steps[places] {
            each(step.id);
            self.rows().each_record_id(self.flow.witnesses_of(step), each);
        }
    }
}

impl Source<EdgeRow> for Derived {
    fn rows(&self, places: Range<usize>) -> Vec<EdgeRow> {
        let rows = self.rows();
        self.flow.edges[places].iter().map(|edge| rows.edge(edge).into_owned()).collect()
    }

    fn ids(&self, places: Range<usize>, each: &mut dyn FnMut(Id)) {
        let rows = self.rows();
        for edge in &self.flow.edges[places] {
            each(rows.step_id(edge.to).unwrap_or_default());
            each(rows.step_id(edge.from).unwrap_or_default());
            rows.each_record_id(self.flow.evidence_of(edge), each);
        }
    }
}

struct Rows<'a> {
    flow: &'a Flow,
    batch: &'a Batch,
}

impl<'a> Rows<'a> {
    /// Text as every database takes it: not all have room for NUL.
    fn view(&self, sym: Sym) -> Cow<'a, str> {
        let text = self.batch.text.get(sym);
        if text.contains('\0') { text.replace('\0', "\u{fffd}").into() } else { text.into() }
    }

    fn text(&self, sym: Sym) -> String {
        self.view(sym).into_owned()
    }

    fn texts(&self, syms: &[Sym]) -> Vec<String> {
        syms.iter().map(|sym| self.text(*sym)).collect()
    }

    fn step_id(&self, n: u32) -> Option<Id> {
        self.flow.steps.get(n as usize).filter(|_| n != NONE).map(|step| step.id)
    }

    fn agent_id(&self, n: u32) -> Option<Id> {
        self.flow.agents.get(n as usize).filter(|_| n != NONE).map(|agent| agent.id)
    }

    fn record_ids(&self, records: &[RecordIx]) -> Vec<Id> {
        let mut ids = Vec::with_capacity(records.len());
        self.each_record_id(records, &mut |id| ids.push(id));
        ids
    }

    fn each_record_id(&self, records: &[RecordIx], each: &mut dyn FnMut(Id)) {
        let records = records.iter().filter_map(|n| self.batch.records.get(*n as usize));
        records.for_each(|record| each(record.id));
    }

    fn session(&self, beside: &Beside) -> SessionRow {
        let Flow { session, agents, runs, steps, issues, .. } = self.flow;
        let mut usage = Usage::default();
        steps.iter().filter_map(|step| self.flow.usage_of(step)).for_each(|one| usage.add(one));
        let calls = steps.iter().filter(|step| step.kind == StepKind::ModelCall);
        let uncounted = calls.filter(|step| self.flow.usage_of(step).is_none());
        SessionRow {
            id: session.id,
            native_ids: self.texts(&session.native_ids),
            title: self.text(session.title),
            title_inferred: session.title_inferred,
            cwd: self.text(session.cwd),
            versions: self.texts(&session.versions),
            formats: self.texts(&session.formats),
            status: self.flow.status().name().into(),
            started_ns: session.started.ns(),
            ended_ns: session.ended.ns(),
            sources: beside.sources.clone(),
            agent_kinds: self.distinct(agents.iter().filter(|one| !one.kind_inferred).map(|one| one.kind)),
            models: self.distinct(steps.iter().map(|step| step.model)),
            agent_count: count(agents.len()),
            subagent_count: count(agents.iter().filter(|agent| !agent.main && !agent.internal).count()),
            run_count: count(runs.len()),
            step_count: count(steps.len()),
            error_count: count(steps.iter().filter(|step| step.is_error).count()),
            issue_count: count(issues.iter().filter(|issue| issue.code.is_worth_a_look()).count()),
            gaps: self.gaps(),
            activity: activity(session.started, session.ended, steps),
            input_tokens: number(usage.input),
            cache_read_tokens: number(usage.cache_read),
            cache_write_tokens: number(usage.cache_write),
            cache_write_long_tokens: number(usage.cache_write_long),
            output_tokens: number(usage.output),
            reasoning_tokens: number(usage.reasoning),
            uncounted_calls: count(uncounted.count()),
            cost_nano_usd: beside.cost_nano_usd,
            context_records: self.flow.context_records.into(),
            native_bytes: number(beside.native_bytes),
            first_position: number(beside.positions.start),
            end_position: number(beside.positions.end),
        }
    }

    /// Each text once, in order.
    fn distinct(&self, syms: impl Iterator<Item = Sym>) -> Vec<String> {
        let syms: FxHashSet<Sym> = syms.filter(|sym| !sym.is_empty()).collect();
        let texts: BTreeSet<String> = syms.into_iter().map(|sym| self.text(sym)).collect();
        texts.into_iter().collect()
    }

    fn gaps(&self) -> Vec<String> {
        let codes: BTreeSet<Code> =
            self.flow.issues.iter().map(|issue| issue.code).filter(|code| code.is_gap()).collect();
        codes.into_iter().map(|code| code.name().into()).collect()
    }

    fn agent(&self, agent: &Agent) -> AgentRow {
        let spawn = agent.spawn.as_ref();
        AgentRow {
            id: agent.id,
            native_id: self.text(agent.native_id),
            kind: self.text(agent.kind),
            kind_inferred: agent.kind_inferred,
            name: self.text(agent.name),
            model: self.text(agent.model),
            parent_id: self.agent_id(agent.parent),
            depth: agent.depth.into(),
            status: agent.status.name().into(),
            internal: agent.internal,
            main: agent.main,
            task_number: agent.task_number.into(),
            spawn_step_id: spawn.and_then(|spawn| self.step_id(spawn.step)),
            spawn_tool_use_id: spawn.map(|spawn| self.text(spawn.tool_use_id)).unwrap_or_default(),
            spawn_rule: spawn.map(|spawn| spawn.rule.name().into()).unwrap_or_default(),
            spawn_confidence: spawn.map_or(0, |spawn| spawn.confidence.ten_thousandths().into()),
            rival_count: agent.rival_count.into(),
            started_ns: agent.started.ns(),
            ended_ns: agent.ended.ns(),
            message_count: agent.message_count.into(),
        }
    }

    fn run(&self, run: &Run) -> RunRow {
        RunRow {
            id: run.id,
            native_id: self.text(run.native_id),
            channel: self.text(run.channel),
            stated: self.text(run.stated),
            trigger_id: self.step_id(run.trigger),
            status: run.status.name().into(),
            started_ns: run.started.ns(),
            ended_ns: run.ended.ns(),
        }
    }

    fn step(&self, n: usize, step: &Step) -> StepRow<Cow<'a, str>> {
        let usage = self.flow.usage_of(step);
        let tokens = |bucket: fn(&Usage) -> u64| usage.map(|usage| number(bucket(usage)));
        let run = self.flow.runs.get(step.run as usize).filter(|_| step.run != NONE);
        StepRow {
            id: step.id,
            kind: step.kind.name().into(),
            started_ns: Timestamp::ns(step.started),
            ended_ns: step.ended.ns(),
            duration_ms: step.duration_ms.get(),
            agent_id: self.agent_id(step.agent),
            agent_source: step.agent_source.name().into(),
            run_id: run.map(|run| run.id),
            parent_id: self.step_id(step.parent),
            name: self.view(step.name),
            tool_use_id: self.view(step.tool_use_id),
            message_id: self.view(step.message_id),
            uuid: self.view(step.uuid),
            native_id: self.view(step.native_id),
            model: self.view(step.model),
            preview: self.view(step.preview),
            intent: self.view(step.intent),
            intent_inferred: step.intent_source == IntentSource::Rule,
            error: self.view(self.flow.error_of(n)),
            input_hash: u32::try_from(n).ok().and_then(|n| self.flow.input_of(n)).map(i64::from),
            is_error: step.is_error,
            start_estimated: step.start_estimated,
            pending: step.pending,
            meta: step.meta,
            is_async: step.is_async,
            input_tokens: tokens(|usage| usage.input),
            cache_read_tokens: tokens(|usage| usage.cache_read),
            cache_write_tokens: tokens(|usage| usage.cache_write),
            cache_write_long_tokens: tokens(|usage| usage.cache_write_long),
            output_tokens: tokens(|usage| usage.output),
            reasoning_tokens: tokens(|usage| usage.reasoning),
            witnesses: self.record_ids(self.flow.witnesses_of(step)),
        }
    }

    fn edge(&self, edge: &Edge) -> EdgeRow<Cow<'a, str>> {
        EdgeRow {
            from_id: self.step_id(edge.from).unwrap_or_default(),
            to_id: self.step_id(edge.to).unwrap_or_default(),
            kind: edge.kind.name().into(),
            rule: edge.rule.name().into(),
            confidence: edge.confidence.ten_thousandths().into(),
            tool_use_id: self.view(edge.tool_use_id),
            is_error: edge.is_error,
            evidence: self.record_ids(self.flow.evidence_of(edge)),
        }
    }

    fn issue(&self, issue: &Issue) -> IssueRow {
        IssueRow {
            code: issue.code.name().into(),
            detail: self.text(issue.detail),
            count: number(issue.count),
            records: self.record_ids(&issue.records),
        }
    }
}

/// How many steps began in each part of the session's time, as shares of the busiest part.
fn activity(started: Timestamp, ended: Timestamp, steps: &[Step]) -> Vec<u8> {
    let (Some(first), Some(last)) = (started.ns(), ended.ns()) else { return Vec::new() };
    let span = i128::from(last) - i128::from(first);
    if span <= 0 {
        return Vec::new();
    }
    let mut counts = [0_u64; ACTIVITY_PARTS];
    for at in steps.iter().filter_map(|step| step.started.ns()) {
        let part = (i128::from(at) - i128::from(first)) * ACTIVITY_PARTS as i128 / span;
        let part = usize::try_from(part.max(0)).unwrap_or(usize::MAX).min(ACTIVITY_PARTS - 1);
        counts[part] += 1;
    }
    let most = counts.iter().copied().max().unwrap_or(0).max(1);
    let share = |count: u64| u8::try_from((count * 255).div_ceil(most)).unwrap_or(u8::MAX);
    counts.into_iter().map(share).collect()
}

fn number(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

fn count(value: usize) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
