//! Sessions that were linked elsewhere and come back as they are.
//!
//! In: flows in the text and records of one batch. Out: the same in those of another. Never here: linking, or which of two
//! copies counts.

use crate::{Agent, DeclaredLink, Edge, Flow, Issue, RecordIx, Rival, Run, Session, Step, Sym};

/// What exports hold: nothing in it needs linking.
#[derive(Clone, Debug, Default)]
pub struct Given {
    /// Their sessions.
    pub sessions: Vec<GivenSession>,
    /// Their issues that belong to no session.
    pub issues: Vec<Issue>,
}

/// One session as an export holds it.
#[derive(Clone, Debug)]
pub struct GivenSession {
    /// The record that is the session. It stands for all records the flow was made from: they are not at hand.
    pub record: RecordIx,
    /// The flow.
    pub flow: Flow,
}

impl Given {
    pub(crate) fn append(&mut self, other: Given, sym: impl Fn(Sym) -> Sym, record_base: u32) {
        let moved = Moved { sym, record: |record| record + record_base };
        self.sessions.extend(other.sessions.into_iter().map(|given| moved.session_of_export(given)));
        self.issues.extend(other.issues.into_iter().map(|issue| moved.issue(issue)));
    }
}

/// How text and records are called in the batch they come to.
pub(crate) struct Moved<S, R> {
    pub(crate) sym: S,
    pub(crate) record: R,
}

impl<S: Fn(Sym) -> Sym, R: Fn(RecordIx) -> RecordIx> Moved<S, R> {
    pub(crate) fn session_of_export(&self, given: GivenSession) -> GivenSession {
        GivenSession { record: (self.record)(given.record), flow: self.flow(given.flow) }
    }

    fn sym(&self, old: Sym) -> Sym {
        (self.sym)(old)
    }

    fn syms(&self, old: Vec<Sym>) -> Vec<Sym> {
        old.into_iter().map(|sym| self.sym(sym)).collect()
    }

    fn records(&self, old: Vec<RecordIx>) -> Vec<RecordIx> {
        old.into_iter().map(&self.record).collect()
    }

    fn flow(&self, flow: Flow) -> Flow {
        Flow {
            session: self.session(flow.session),
            agents: flow.agents.into_iter().map(|agent| self.agent(agent)).collect(),
            runs: flow.runs.into_iter().map(|run| self.run(run)).collect(),
            steps: flow.steps.into_iter().map(|step| self.step(step)).collect(),
            edges: flow
                .edges
                .into_iter()
                .map(|edge| Edge { tool_use_id: self.sym(edge.tool_use_id), ..edge })
                .collect(),
            witnesses: self.records(flow.witnesses),
            evidence: self.records(flow.evidence),
            errors: flow.errors.into_iter().map(|(step, words)| (step, self.sym(words))).collect(),
            links: flow.links.into_iter().map(|link| self.link(link)).collect(),
            issues: flow.issues.into_iter().map(|issue| self.issue(issue)).collect(),
            usages: flow.usages,
            inputs: flow.inputs,
            lines: flow.lines,
            requests: flow.requests,
            context_records: flow.context_records,
        }
    }

    fn session(&self, session: Session) -> Session {
        Session {
            native_ids: self.syms(session.native_ids),
            title: self.sym(session.title),
            cwd: self.sym(session.cwd),
            versions: self.syms(session.versions),
            formats: self.syms(session.formats),
            ..session
        }
    }

    fn agent(&self, mut agent: Agent) -> Agent {
        for slot in [&mut agent.native_id, &mut agent.kind, &mut agent.name, &mut agent.model] {
            *slot = self.sym(*slot);
        }
        if let Some(spawn) = &mut agent.spawn {
            spawn.tool_use_id = self.sym(spawn.tool_use_id);
        }
        for Rival { tool_use_id, .. } in &mut agent.rivals {
            *tool_use_id = self.sym(*tool_use_id);
        }
        agent
    }

    fn run(&self, mut run: Run) -> Run {
        for slot in [&mut run.native_id, &mut run.channel, &mut run.stated] {
            *slot = self.sym(*slot);
        }
        run
    }

    fn step(&self, mut step: Step) -> Step {
        for slot in [
            &mut step.name,
            &mut step.tool_use_id,
            &mut step.message_id,
            &mut step.uuid,
            &mut step.native_id,
            &mut step.model,
            &mut step.preview,
            &mut step.intent,
        ] {
            *slot = self.sym(*slot);
        }
        step
    }

    fn link(&self, mut link: DeclaredLink) -> DeclaredLink {
        for slot in [&mut link.from, &mut link.to, &mut link.who, &mut link.note] {
            *slot = self.sym(*slot);
        }
        DeclaredLink { record: (self.record)(link.record), ..link }
    }

    pub(crate) fn issue(&self, issue: Issue) -> Issue {
        Issue { detail: self.sym(issue.detail), records: self.records(issue.records), ..issue }
    }
}
