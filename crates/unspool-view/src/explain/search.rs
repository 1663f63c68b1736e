//! What a text means: ids of every kind and their starts, over one session or many.
//!
//! In: what the user typed, and flows one by one. Out: the one thing it names, explained, or all it may name. Never here:
//! a choice among things that are named equally well.

use super::{Explanation, Subject, Why, index};
use crate::prices::Prices;
use unspool_model::{Batch, Flow, KeyKind, RecordIx, Role, Step, Sym};

/// Looks for what a text names, flow by flow, and explains it.
pub struct Search<'w> {
    wanted: &'w str,
    named: Named,
    found: Vec<Candidate>,
    explanation: Option<Explanation>,
}

/// What a search came to.
#[derive(Debug)]
pub enum Answer {
    /// The text names nothing.
    Nothing,
    /// It names one thing.
    One(Explanation),
    /// It names several things equally well.
    Several(Vec<Candidate>),
}

/// Something a text may mean.
#[derive(Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Deterministic id, which means nothing else; two of them for an edge.
    pub id: String,
    /// In a few words.
    pub title: String,
    /// The session it belongs to, as its source calls it.
    pub session: String,
}

/// How a text names something; the first is the strongest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Named {
    AgentId,
    StepId,
    ToolUseId,
    MessageId,
    Uuid,
    SpanId,
    Position,
    StartOfAgentId,
    StartOfStepId,
    Not,
}

/// Starts of ids that are shorter mean too much.
const LEAST_AGENT_START: usize = 4;
const LEAST_STEP_START: usize = 6;

impl<'w> Search<'w> {
    /// For an id of a step or agent, a start of one, `#` and a step's position, or `FROM..TO` for an edge.
    pub fn new(wanted: &'w str) -> Search<'w> {
        Search { wanted, named: Named::Not, found: Vec::new(), explanation: None }
    }

    /// Looks into one session.
    pub fn add(&mut self, flow: &Flow, batch: &Batch, prices: &Prices) {
        let why = Why { flow, batch, prices };
        let (named, subjects) = why.subjects(self.wanted);
        if subjects.is_empty() || named > self.named {
            return;
        }
        if named < self.named {
            *self = Search { named, ..Search::new(self.wanted) };
        }
        for subject in subjects {
            let candidate = why.candidate(subject);
            if self.found.iter().any(|known| known.id == candidate.id) {
                continue;
            }
            if self.found.is_empty() {
                self.explanation = Some(why.explain(subject));
            }
            self.found.push(candidate);
        }
    }

    /// What was found.
    pub fn finish(self) -> Answer {
        match (self.found.len(), self.explanation) {
            (1, Some(explanation)) => Answer::One(explanation),
            (0 | 1, _) => Answer::Nothing,
            _ => Answer::Several(self.found),
        }
    }
}

impl Why<'_> {
    /// What a text names most strongly here; several when it names them alike.
    fn subjects(&self, wanted: &str) -> (Named, Vec<Subject>) {
        if let Some((from, to)) = wanted.split_once("..") {
            let ((how_from, from), (how_to, to)) = (self.steps(from), self.steps(to));
            let pairs = from.iter().flat_map(|from| to.iter().map(|to| (*from, *to)));
            let edges = pairs.filter(|(from, to)| self.edges(*from, *to).next().is_some());
            return (how_from.max(how_to), edges.map(|(from, to)| Subject::Edge(from, to)).collect());
        }
        let (how_agent, agents) = self.agents(wanted);
        let (how_step, steps) = self.steps(wanted);
        if how_agent < how_step {
            (how_agent, agents.into_iter().map(Subject::Agent).collect())
        } else {
            (how_step, steps.into_iter().map(Subject::Step).collect())
        }
    }

    fn agents(&self, wanted: &str) -> (Named, Vec<usize>) {
        let by = |test: &dyn Fn(&str) -> bool| -> Vec<usize> {
            let agents = self.flow.agents.iter().enumerate();
            let named = agents.filter(|(_, a)| test(self.text(a.native_id)) || test(&a.id.show('a')));
            named.map(|(n, _)| n).collect()
        };
        let exact = by(&|id| id == wanted);
        if !exact.is_empty() {
            return (Named::AgentId, exact);
        }
        let starts = by(&|id| wanted.len() >= LEAST_AGENT_START && id.starts_with(wanted));
        (if starts.is_empty() { Named::Not } else { Named::StartOfAgentId }, starts)
    }

    /// The steps that a span is a witness of; spans bear `trace/span`, people copy the second half.
    fn steps_of_span(&self, wanted: &str) -> Vec<usize> {
        let batch = self.batch;
        let is_it = |record: &RecordIx| {
            let events = batch.events_of(*record).iter();
            let mut spans = events.filter_map(|event| batch.key(event, KeyKind::Span, Role::Provides));
            spans.any(|span| {
                let text = self.text(span);
                text == wanted || text.rsplit_once('/').is_some_and(|(_, own)| own == wanted)
            })
        };
        let steps = self.flow.steps.iter().enumerate();
        steps.filter(|(_, step)| self.flow.witnesses_of(step).iter().any(is_it)).map(|(n, _)| n).collect()
    }

    fn steps(&self, wanted: &str) -> (Named, Vec<usize>) {
        let by = |test: &dyn Fn(&Step) -> bool| -> Vec<usize> {
            let steps = self.flow.steps.iter().enumerate();
            steps.filter(|(_, step)| test(step)).map(|(n, _)| n).collect()
        };
        let is = |sym: Sym| self.text(sym) == wanted && !wanted.is_empty();
        let starts = |sym: Sym| self.text(sym).starts_with(wanted);
        let position = wanted.strip_prefix('#').and_then(|n| n.parse::<usize>().ok());
        let ways: [(Named, &dyn Fn() -> Vec<usize>); 7] = [
            (Named::StepId, &|| by(&|step| step.id.show('s') == wanted)),
            (Named::ToolUseId, &|| by(&|step| is(step.tool_use_id))),
            (Named::MessageId, &|| by(&|step| is(step.message_id))),
            (Named::Uuid, &|| by(&|step| is(step.uuid))),
            (Named::SpanId, &|| self.steps_of_span(wanted)),
            (Named::Position, &|| position.filter(|n| *n < self.flow.steps.len()).into_iter().collect()),
            (Named::StartOfStepId, &|| {
                if wanted.len() < LEAST_STEP_START {
                    return Vec::new();
                }
                by(&|step| {
                    [step.tool_use_id, step.message_id, step.uuid].into_iter().any(starts)
                        || step.id.show('s').starts_with(wanted)
                })
            }),
        ];
        let mut found = ways.iter().map(|(named, way)| (*named, way()));
        found.find(|(_, steps)| !steps.is_empty()).unwrap_or((Named::Not, Vec::new()))
    }

    fn candidate(&self, subject: Subject) -> Candidate {
        let step_id = |n: usize| self.flow.steps[n].id.show('s');
        let (id, title) = match subject {
            Subject::Agent(n) => {
                let agent = &self.flow.agents[n];
                (agent.id.show('a'), format!("agent {}", self.text(agent.native_id)))
            }
            Subject::Step(n) => (step_id(n), self.name(index(n))),
            Subject::Edge(from, to) => (
                format!("{}..{}", step_id(from), step_id(to)),
                format!("{} → {}", self.name(index(from)), self.name(index(to))),
            ),
        };
        let session = self.flow.session.native_ids.first().map(|id| self.text(*id)).unwrap_or_default();
        Candidate { id, title, session: session.into() }
    }
}
