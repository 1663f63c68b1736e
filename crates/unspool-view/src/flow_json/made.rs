//! How the JSON of a flow is made from it: one function for each type of the wire.
//!
//! In: a flow, its batch and prices. Out: documents. Never here: what a field means.

use super::{
    AgentDoc, EdgeDoc, IntentDoc, IssueDoc, LinkDoc, RunDoc, SessionDoc, SpawnDoc, SpawnRivalDoc, StepDoc,
    TotalsDoc, UsageDoc, WitnessDoc,
};
use crate::prices::Prices;
use crate::totals::{FlowTotals, Totals, totals};
use unspool_model::flow::NONE;
use unspool_model::{
    Batch, DeclaredLink, Edge, Flow, IntentSource, Issue, RecordIx, RequestKind, Sym, Timestamp, Usage,
};

/// A flow as its JSON document.
pub fn session_doc(flow: &Flow, batch: &Batch, prices: &Prices) -> SessionDoc {
    let show = Show { batch };
    let sums = totals(flow, &batch.text, prices);
    let session = &flow.session;
    SessionDoc {
        id: session.id.show('x'),
        native_ids: session.native_ids.iter().map(|id| show.text(*id)).collect(),
        title: show.some(session.title),
        title_inferred: session.title_inferred,
        cwd: show.some(session.cwd),
        cwd_inferred: session.cwd_inferred,
        versions: session.versions.iter().map(|id| show.text(*id)).collect(),
        formats: session.formats.iter().map(|id| show.text(*id)).collect(),
        started_at: time(session.started),
        ended_at: time(session.ended),
        agents: (0..flow.agents.len()).map(|n| agent_doc(flow, n, &sums, &show)).collect(),
        runs: flow.runs.iter().map(|run| run_doc(flow, run, &show)).collect(),
        steps: (0..flow.steps.len()).map(|n| step_doc(flow, batch, n)).collect(),
        edges: flow.edges.iter().map(|edge| edge_doc(flow, batch, edge)).collect(),
        links: flow.links.iter().map(|link| link_doc(flow, batch, link)).collect(),
        issues: flow.issues.iter().map(|issue| issue_doc(issue, batch)).collect(),
        totals: totals_doc(&sums.session),
        context_records: flow.context_records,
    }
}

fn step_id(flow: &Flow, n: u32) -> Option<String> {
    flow.steps.get(n as usize).map(|step| step.id.show('s'))
}

fn agent_doc(flow: &Flow, n: usize, sums: &FlowTotals, show: &Show<'_>) -> AgentDoc {
    let agent = &flow.agents[n];
    let spawn = |spawn: unspool_model::Spawn| SpawnDoc {
        tool_use_id: show.some(spawn.tool_use_id),
        step_id: step_id(flow, spawn.step).unwrap_or_default(),
        rule: spawn.rule.name(),
        confidence: spawn.confidence.as_f64(),
        inferred: spawn.is_inferred(),
        rivals: agent.rival_count,
    };
    let rival = |rival: &unspool_model::Rival| SpawnRivalDoc {
        tool_use_id: show.some(rival.tool_use_id),
        reason: rival.reason.name(),
    };
    AgentDoc {
        id: agent.id.show('a'),
        native_id: show.text(agent.native_id),
        kind: show.some(agent.kind),
        type_inferred: agent.kind_inferred,
        name: show.some(agent.name),
        parent_id: flow.agents.get(agent.parent as usize).map(|parent| parent.id.show('a')),
        depth: agent.depth,
        status: agent.status.name(),
        internal: agent.internal,
        main: agent.main,
        task_number: (agent.task_number > 0).then_some(agent.task_number),
        spawn: agent.spawn.map(spawn),
        rivals: agent.rivals.iter().map(rival).collect(),
        rival_count: agent.rival_count,
        model: show.some(agent.model),
        first_step_id: step_id(flow, agent.first_step),
        last_step_id: step_id(flow, agent.last_step),
        started_at: time(agent.started),
        ended_at: time(agent.ended),
        message_count: agent.message_count,
        totals: totals_doc(&sums.own[n]),
        subtree_totals: totals_doc(&sums.subtree[n]),
    }
}

fn run_doc(flow: &Flow, run: &unspool_model::Run, show: &Show<'_>) -> RunDoc {
    RunDoc {
        id: run.id.show('u'),
        native_id: show.some(run.native_id),
        channel: show.some(run.channel),
        stated_status: show.some(run.stated),
        trigger_step_id: step_id(flow, run.trigger).unwrap_or_default(),
        status: run.status.name(),
        started_at: time(run.started),
        ended_at: time(run.ended),
        duration_ms: run.ended.ms_since(run.started),
    }
}

/// A relation as its JSON document.
pub fn edge_doc(flow: &Flow, batch: &Batch, edge: &Edge) -> EdgeDoc {
    let show = Show { batch };
    EdgeDoc {
        from: step_id(flow, edge.from).unwrap_or_default(),
        to: step_id(flow, edge.to).unwrap_or_default(),
        kind: edge.kind.name(),
        rule: edge.rule.name(),
        confidence: edge.confidence.as_f64(),
        inferred: edge.is_inferred(),
        tool_use_id: show.some(edge.tool_use_id),
        is_error: edge.is_error,
        evidence: flow.evidence_of(edge).iter().map(|record| show.record_id(*record)).collect(),
    }
}

/// What somebody said about a link as its JSON document.
pub fn link_doc(flow: &Flow, batch: &Batch, link: &DeclaredLink) -> LinkDoc {
    let show = Show { batch };
    LinkDoc {
        id: show.record_id(link.record),
        action: link.verdict.name(),
        kind: link.kind.name(),
        from: show.text(link.from),
        to: show.text(link.to),
        from_step_id: step_id(flow, link.from_step),
        to_step_id: step_id(flow, link.to_step),
        who: show.some(link.who),
        at: time(link.at),
        note: show.some(link.note),
        was_rule: link.was.map(|(rule, _)| rule.name()),
        was_confidence: link.was.map(|(_, confidence)| confidence.as_f64()),
        standing: link.standing.name(),
    }
}

/// The step at a place in the flow as its JSON document.
pub fn step_doc(flow: &Flow, batch: &Batch, n: usize) -> StepDoc {
    let show = Show { batch };
    let step = &flow.steps[n];
    let lines = u32::try_from(n).ok().and_then(|n| flow.lines_of(n));
    StepDoc {
        id: step.id.show('s'),
        kind: step.kind.name(),
        request: u32::try_from(n).ok().and_then(|n| flow.request_of(n)).map(RequestKind::name),
        agent_id: flow.agents.get(step.agent as usize).map(|agent| agent.id.show('a')).unwrap_or_default(),
        agent_source: step.agent_source.name(),
        run_id: flow.runs.get(step.run as usize).map(|run| run.id.show('u')),
        parent_id: (step.parent != NONE).then(|| flow.steps[step.parent as usize].id.show('s')),
        seq: u32::try_from(n).unwrap_or(u32::MAX),
        depth: flow.depth_of(step),
        name: show.some(step.name),
        tool_use_id: show.some(step.tool_use_id),
        message_id: show.some(step.message_id),
        uuid: show.some(step.uuid),
        native_id: show.some(step.native_id),
        model: show.some(step.model),
        started_at: time(step.started),
        started_at_estimated: step.start_estimated,
        ended_at: time(step.ended),
        duration_ms: step.duration_ms.get(),
        elapsed_ms: step.started.ms_since(flow.session.started),
        is_error: step.is_error,
        pending: step.pending,
        is_async: step.is_async,
        meta: step.meta,
        preview: show.some(step.preview),
        input_hash: u32::try_from(n).ok().and_then(|n| flow.input_of(n)),
        first_line: lines.map(|lines| lines.first),
        last_line: lines.map(|lines| lines.last),
        error: show.some(flow.error_of(n)),
        intent: show
            .some(step.intent)
            .map(|text| IntentDoc { text, inferred: step.intent_source == IntentSource::Rule }),
        usage: flow.usage_of(step).map(usage_doc),
        witnesses: flow.witnesses_of(step).iter().map(|record| show.witness(*record)).collect(),
    }
}

/// An issue as its JSON document.
pub fn issue_doc(issue: &Issue, batch: &Batch) -> IssueDoc {
    let show = Show { batch };
    IssueDoc {
        code: issue.code.name(),
        severity: issue.code.severity().name(),
        count: issue.count,
        detail: detail_of(issue, batch),
        records: issue.records.iter().map(|record| show.record_id(*record)).collect(),
    }
}

/// What an issue is about, or its code's sentence.
pub(crate) fn detail_of(issue: &Issue, batch: &Batch) -> String {
    issue.detail.some().map_or(issue.code.sentence(), |detail| batch.text.get(detail)).to_string()
}

/// Sums as their JSON document.
pub fn totals_doc(totals: &Totals) -> TotalsDoc {
    TotalsDoc {
        steps: totals.steps,
        model_calls: totals.model_calls,
        tool_calls: totals.tool_calls,
        errors: totals.errors,
        usage: totals.stated_usage().map(usage_doc),
        uncounted_calls: totals.uncounted_calls,
        cost_usd: totals.stated_dollars(),
        unpriced_calls: totals.unpriced_calls,
        duration_ms: totals.elapsed_ms(),
    }
}

/// Tokens as their JSON document.
pub fn usage_doc(usage: &Usage) -> UsageDoc {
    UsageDoc {
        input: usage.input,
        cache_read: usage.cache_read,
        cache_write: usage.cache_write,
        cache_write_long: usage.cache_write_long,
        output: usage.output,
        reasoning: usage.reasoning,
    }
}

pub(crate) fn time(at: Timestamp) -> Option<String> {
    at.is_some().then(|| at.to_string())
}

/// Resolves names against a batch.
struct Show<'b> {
    batch: &'b Batch,
}

impl Show<'_> {
    fn text(&self, sym: Sym) -> String {
        self.batch.text.get(sym).to_string()
    }

    fn some(&self, sym: Sym) -> Option<String> {
        sym.some().map(|sym| self.text(sym))
    }

    fn record_id(&self, record: RecordIx) -> String {
        self.batch.records.get(record as usize).map(|record| record.id.show('r')).unwrap_or_default()
    }

    fn witness(&self, record: RecordIx) -> WitnessDoc {
        let stream = self.batch.stream_of(record);
        WitnessDoc {
            record_id: self.record_id(record),
            format: self.text(stream.format),
            stream: self.text(stream.name),
            ordinal: self.batch.records.get(record as usize).map_or(0, |record| record.ordinal),
        }
    }
}
