//! Why: the evidence of a link, the rivals, and how a number was counted.

mod search;

pub use search::{Answer, Candidate, Search};

use crate::failures::Telling;
use crate::prices::Prices;
use crate::screen::{EndDoc, end};
use crate::totals::{Totals, totals};
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt::Write as _;
use unspool_model::flow::NONE;
use unspool_model::{
    Agent, AgentSource, Batch, DeclaredLink, Edge, EventKind, Flow, LinkStanding, RecordIx, Rule, StepKind,
    Sym, Verdict, Witness,
};

/// An explanation: headed lists of sentences, the same for people and programs.
#[derive(Serialize, JsonSchema, Debug)]
pub struct Explanation {
    /// What is explained: `agent`, `step` or `edge`.
    pub subject: &'static str,
    /// In one line.
    pub title: String,
    /// The steps that an edge leads from and to; empty for an agent or a step.
    pub ends: Vec<EndDoc>,
    /// Parts, in order.
    pub sections: Vec<Section>,
}

/// One part of an explanation.
#[derive(Serialize, JsonSchema, Debug)]
pub struct Section {
    /// What the part answers.
    pub heading: String,
    /// Sentences.
    pub lines: Vec<String>,
}

/// Requests of a conversation that are shown one by one.
const MAX_JOINS: usize = 8;

/// What is to be explained, by position in the flow.
#[derive(Clone, Copy)]
enum Subject {
    Agent(usize),
    Step(usize),
    Edge(usize, usize),
}

struct Why<'a> {
    flow: &'a Flow,
    batch: &'a Batch,
    prices: &'a Prices,
}

/// A step, explained.
pub fn explain_step(flow: &Flow, batch: &Batch, prices: &Prices, n: usize) -> Explanation {
    Why { flow, batch, prices }.step(n)
}

impl Why<'_> {
    fn text(&self, sym: Sym) -> &str {
        self.batch.text.get(sym)
    }

    fn explain(&self, subject: Subject) -> Explanation {
        match subject {
            Subject::Agent(n) => self.agent(n),
            Subject::Step(n) => self.step(n),
            Subject::Edge(from, to) => self.edge(from, to),
        }
    }

    /// A step in a few words.
    fn name(&self, n: u32) -> String {
        let Some(step) = self.flow.steps.get(n as usize) else { return "nothing".into() };
        let native = [step.tool_use_id, step.message_id, step.uuid].into_iter().find(|id| !id.is_empty());
        let is_named = native.is_none()
            || matches!(step.kind, StepKind::ToolCall | StepKind::AgentStart | StepKind::Generic);
        // What its source gave no id is told by its position, which can be typed, too.
        let native = native.map_or_else(|| format!(" #{n}"), |id| format!(" {}", self.text(id)));
        let name = if is_named && !step.name.is_empty() {
            format!(" {}", self.text(step.name))
        } else {
            String::new()
        };
        format!("{}{name}{native}", step.kind.name())
    }

    fn record(&self, record: RecordIx) -> String {
        let stream = self.batch.stream_of(record);
        let Some(row) = self.batch.records.get(record as usize) else { return String::new() };
        let place = format!("{} = record {} of {}", row.id.show('r'), row.ordinal, self.text(stream.name));
        match stream.witness {
            Witness::Answer => format!("{place}, an export; the records it was made from are not at hand"),
            _ => place,
        }
    }

    fn agent(&self, n: usize) -> Explanation {
        let agent = &self.flow.agents[n];
        let mut sections = Vec::new();
        let mut push = |heading: &str, lines: Vec<String>| {
            if !lines.is_empty() {
                sections.push(Section { heading: heading.into(), lines });
            }
        };
        push("Why it hangs where it hangs", self.why_spawned(n));
        push("Candidates that were not chosen", self.rivals(n));
        push("What people said", self.said(|link| link.to_step == agent.first_step && link.to_step != NONE));
        push("Why its requests belong together", self.conversation(n));
        let sums = totals(self.flow, &self.batch.text, self.prices);
        let (own, all) = (&sums.own[n], &sums.subtree[n]);
        let tokens = |sums: &Totals| {
            sums.stated_usage().map_or_else(|| "not stated".into(), |usage| usage.total().to_string())
        };
        push(
            "What it did",
            vec![
                format!(
                    "status {}, {} messages, {} steps, {} errors",
                    agent.status.name(),
                    agent.message_count,
                    own.steps,
                    own.errors
                ),
                format!("own tokens {}, with everything below it {}", tokens(own), tokens(all)),
                match all.full_cost() {
                    _ if all.stated_usage().is_none() => "cost not known, as no tokens are stated".into(),
                    Some(cost) => format!("cost ${:.4} with everything below it", cost.dollars()),
                    None => format!(
                        "cost at least ${:.4}: {} calls are of models without a price",
                        all.cost.dollars(),
                        all.unpriced_calls
                    ),
                },
            ],
        );
        Explanation {
            subject: "agent",
            title: format!("agent {} ({})", self.text(agent.native_id), agent.id.show('a')),
            ends: Vec::new(),
            sections,
        }
    }

    fn why_spawned(&self, n: usize) -> Vec<String> {
        let agent = &self.flow.agents[n];
        let Some(spawn) = agent.spawn else {
            return vec![match (agent.main, agent.internal) {
                (true, _) => "It is the main agent of its session; nothing started it.".into(),
                (_, true) => {
                    "The client runs it for itself (by its id or first message); it has no parent by design."
                        .into()
                }
                _ => {
                    "No id names its spawn, and no spawn call fits its prompt, answer, type and time.".into()
                }
            }];
        };
        let mut lines = vec![
            format!("started by {}", self.name(spawn.step)),
            format!("rule {}: {}", spawn.rule.name(), spawn.rule.sentence()),
            if spawn.rule.inferred() {
                format!(
                    "inferred, confidence {} (share of right links when measured with all ids hidden)",
                    spawn.confidence.as_f64()
                )
            } else if spawn.is_inferred() {
                format!(
                    "its parent is stated; that this step started it is a guess, confidence {}",
                    spawn.confidence.as_f64()
                )
            } else if spawn.rule == Rule::Manual {
                "declared: it stands before what ids and rules say".into()
            } else {
                "exact: explicit ids".into()
            },
        ];
        let edge =
            self.flow.edges.iter().find(|edge| {
                edge.kind == unspool_model::EdgeKind::SubagentSpawn && edge.to == agent.first_step
            });
        if let Some(edge) = edge {
            lines.extend(
                self.flow.evidence_of(edge).iter().map(|record| format!("evidence {}", self.record(*record))),
            );
        }
        lines
    }

    /// How the requests of a recorded conversation are known to be one.
    fn conversation(&self, n: usize) -> Vec<String> {
        let of_agent =
            |step: u32| self.flow.steps.get(step as usize).is_some_and(|step| step.agent as usize == n);
        let joins = [Rule::ConversationHistory, Rule::ContinuationFork, Rule::ContinuationCompaction];
        let edges = self.flow.edges.iter().filter(|edge| {
            let [.., to] = self.flow.evidence_of(edge) else { return false };
            joins.contains(&edge.rule)
                && of_agent(edge.to)
                && self.batch.stream_of(*to).witness == Witness::Wire
        });
        let edges: Vec<&Edge> = edges.collect();
        let mut lines = Vec::new();
        for rule in joins {
            let own: Vec<&&Edge> = edges.iter().filter(|edge| edge.rule == rule).collect();
            if own.is_empty() {
                continue;
            }
            lines.push(format!("{} × {}: {}", own.len(), rule.name(), rule.sentence()));
            for edge in own.iter().take(MAX_JOINS) {
                let [from, .., to] = self.flow.evidence_of(edge) else { continue };
                lines.push(format!("  {} goes on from {}", self.record(*to), self.record(*from)));
            }
            if own.len() > MAX_JOINS {
                lines.push(format!("  and {} more, which `unspool export` has", own.len() - MAX_JOINS));
            }
        }
        lines
    }

    /// What was said about some links and still stands, and what became of it; what came before is counted.
    fn said(&self, wanted: impl Fn(&DeclaredLink) -> bool) -> Vec<String> {
        let end =
            |name: Sym, step: u32| if step == NONE { self.text(name).to_string() } else { self.name(step) };
        let line = |link: &DeclaredLink| {
            let who = link.who.some().map_or("somebody", |who| self.text(who));
            let (from, to) = (end(link.from, link.from_step), end(link.to, link.to_step));
            let mut line = format!(
                "{} {who}: {} {} from {from} to {to}",
                link.at,
                link.verdict.name(),
                link.kind.name()
            );
            if let Some((rule, confidence)) = link.was {
                let _ = write!(line, "; before, rule {}, confidence {}", rule.name(), confidence.as_f64());
            }
            if let Some(note) = link.note.some() {
                let _ = write!(line, "; \"{}\"", self.text(note));
            }
            match link.standing {
                LinkStanding::Counts => line,
                other => format!("{line} ({})", other.name()),
            }
        };
        let stands = |link: &&DeclaredLink| {
            link.standing != LinkStanding::Superseded && link.verdict != Verdict::Remove
        };
        let about: Vec<&DeclaredLink> = self.flow.links.iter().filter(|link| wanted(link)).collect();
        let mut lines: Vec<String> = about.iter().copied().filter(stands).map(line).collect();
        let before = about.len() - lines.len();
        if before > 0 {
            lines.push(format!(
                "{before} things that were said do not count any more; the session's `links` has them"
            ));
        }
        lines
    }

    fn rivals(&self, n: usize) -> Vec<String> {
        let rivals = self.flow.agents[n].rivals.iter();
        rivals.map(|rival| format!("{} {}", self.text(rival.tool_use_id), rival.reason.phrase())).collect()
    }

    fn step(&self, n: usize) -> Explanation {
        let step = &self.flow.steps[n];
        let index = index(n);
        let mut sections = Vec::new();
        let mut push = |heading: &str, lines: Vec<String>| {
            if !lines.is_empty() {
                sections.push(Section { heading: heading.into(), lines });
            }
        };
        let agent = self.flow.agents.get(step.agent as usize);
        let mut place = vec![format!(
            "agent {}, depth {}, position {n}",
            agent.map(|agent| self.text(agent.native_id)).unwrap_or_default(),
            self.flow.depth_of(step)
        )];
        if step.parent != NONE {
            place.push(format!("under {}", self.name(step.parent)));
        }
        match step.agent_source {
            AgentSource::Stated => {}
            AgentSource::Inherited => {
                place.push("its records name no agent: it is that of the span around them".into());
            }
            AgentSource::Assumed => {
                place.push("nothing says whose it is: the session's main agent was taken".into());
            }
        }
        if step.start_estimated {
            place.push(
                "its start is estimated: the moment its input was complete, or what its end says".into(),
            );
        }
        push("Where it stands", place);
        let error = self.flow.error_of(n).some();
        push("What went wrong", error.map(|error| self.text(error).into()).into_iter().collect());
        if step.is_error {
            let telling = Telling::new(self.flow, &self.batch.text);
            push("What became of the failure", telling.tell(index, &|step| self.name(step)));
        }
        push(
            "Records that witness it",
            self.flow.witnesses_of(step).iter().map(|record| self.record(*record)).collect(),
        );
        let edges = |incoming: bool| {
            let edges = self
                .flow
                .edges
                .iter()
                .filter(move |edge| if incoming { edge.to } else { edge.from } == index);
            edges
                .map(|edge| {
                    let other = if incoming { edge.from } else { edge.to };
                    let how = if edge.is_inferred() {
                        format!("inferred, {}", edge.confidence.as_f64())
                    } else if edge.rule == Rule::Manual {
                        "declared".into()
                    } else {
                        "exact".into()
                    };
                    let arrow = if incoming { "from" } else { "to" };
                    format!(
                        "{} {arrow} {} — {} ({how}): {}",
                        edge.kind.name(),
                        self.name(other),
                        edge.rule.name(),
                        edge.rule.sentence()
                    )
                })
                .collect::<Vec<_>>()
        };
        push("What led to it", edges(true));
        push("What it led to", edges(false));
        push("What people said", self.said(|link| [link.from_step, link.to_step].contains(&index)));
        push("How its tokens were counted", self.tokens(n));
        Explanation {
            subject: "step",
            title: format!("{} ({})", self.name(index), step.id.show('s')),
            ends: Vec::new(),
            sections,
        }
    }

    fn tokens(&self, n: usize) -> Vec<String> {
        let step = &self.flow.steps[n];
        let Some(counted) = self.flow.usage_of(step) else { return Vec::new() };
        let show = |usage: &unspool_model::Usage| {
            format!(
                "input {} · cache read {} · cache write {} · output {} · reasoning {}",
                usage.input, usage.cache_read, usage.cache_write, usage.output, usage.reasoning
            )
        };
        let witnesses = self.flow.witnesses_of(step);
        let mut lines = Vec::new();
        for event in self
            .batch
            .events
            .iter()
            .filter(|event| event.kind == EventKind::ModelCall && witnesses.contains(&event.record))
        {
            if let Some(usage) = self.batch.usage(event) {
                lines.push(format!("{}: {}", self.record(event.record), show(&usage)));
            }
        }
        lines.push(format!(
            "counted once for the message, the largest value of each field: {}",
            show(counted)
        ));
        lines.push(match self.prices.of_model(self.text(step.model)).cost(step.ended, counted) {
            Some(cost) => format!("cost ${:.6} at the price of {}", cost.dollars(), self.text(step.model)),
            None => format!("no price for {}: the cost is left open", self.text(step.model)),
        });
        lines
    }

    fn edges(&self, from: usize, to: usize) -> impl Iterator<Item = &Edge> {
        self.flow.edges.iter().filter(move |edge| edge.from as usize == from && edge.to as usize == to)
    }

    fn edge(&self, from: usize, to: usize) -> Explanation {
        let mut sections: Vec<Section> = self
            .edges(from, to)
            .map(|edge| {
                let mut lines = vec![format!("rule {}: {}", edge.rule.name(), edge.rule.sentence())];
                lines.push(format!(
                    "confidence {}{}",
                    edge.confidence.as_f64(),
                    if edge.is_inferred() { ", inferred" } else { "" }
                ));
                let evidence = self.flow.evidence_of(edge).iter();
                lines.extend(evidence.map(|record| format!("evidence {}", self.record(*record))));
                lines.extend(self.said(|link| link.is_about(edge.from, edge.to, edge.kind)));
                Section { heading: edge.kind.name().into(), lines }
            })
            .collect();
        let starts = |agent: &Agent| agent.spawn.is_some_and(|spawn| spawn.step as usize == from);
        let started = self.flow.steps[to].agent as usize;
        let rivals =
            self.flow.agents.get(started).filter(|agent| starts(agent)).map(|_| self.rivals(started));
        if let Some(lines) = rivals.filter(|lines| !lines.is_empty()) {
            sections.push(Section { heading: "Candidates that were not chosen".into(), lines });
        }
        Explanation {
            subject: "edge",
            title: format!("{} → {}", self.name(index(from)), self.name(index(to))),
            ends: [from, to].map(|n| end(self.flow, self.batch, index(n))).into(),
            sections,
        }
    }
}

fn index(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(NONE)
}

#[cfg(test)]
mod tests {
    use super::{Answer, EndDoc, Search};
    use crate::drawn::Drawn;
    use crate::prices::Prices;

    #[test]
    fn an_edge_names_its_ends_as_people_do_and_other_things_have_none() {
        let mut drawn = Drawn::new();
        let input = drawn.input(1_000);
        let model = drawn.model(0, (2_000, 3_000));
        let call = drawn.tool(model, "Task", "look around", (3_000, 9_000));
        drawn.agent(call, "Explore", 4_000);
        let explained = |what: &str| {
            let mut search = Search::new(what);
            search.add(&drawn.flow, &drawn.batch, &Prices::default());
            match search.finish() {
                Answer::One(explanation) => explanation,
                other => panic!("{what}: {other:?}"),
            }
        };
        let why = explained(&format!("#{call}..#{}", call + 1));
        let [from, to] = &why.ends[..] else { panic!("{why:?}") };
        let named = |end: &EndDoc| {
            (end.step.brief.label.clone(), end.agent.as_ref().map(|agent| agent.label.clone()).unwrap())
        };
        assert_eq!(named(from), ("Task".into(), "main".into()));
        assert_eq!(named(to), ("user".into(), "Explore".into()));
        assert_eq!((from.step.detail.as_str(), to.step.brief.seq), ("look around", call + 1));
        assert_eq!(to.started_at.as_deref(), Some("1970-01-01T00:00:04.000Z"));
        assert!(explained(&format!("#{input}")).ends.is_empty());
    }
}
