//! A query's answer for one flow.
//!
//! In: a query, a flow with its names, and what was found in native records. Out: the steps for which it holds, in time
//! that grows with the number of steps, edges and conditions only. Never here: the clock, or reading records.

use super::amount::{Amount, Moment, Period};
use super::ast::{Choice, Compare, Query, Value};
use super::fields::{Mark, NumberField, TextField, TimeField};
use super::pattern::Pattern;
use super::relations::related;
use super::selection::Selection;
use crate::labels::agent_is;
use crate::prices::Prices;
use crate::retries::retries;
use crate::totals::Pricer;
use unspool_model::flow::NONE;
use unspool_model::{Agent, Batch, Confidence, Edge, Flow, Id, Run, Step, StepKind, Sym, Timestamp};

/// What a query is asked of.
#[derive(Clone, Copy)]
pub struct Scope<'a> {
    /// The session.
    pub flow: &'a Flow,
    /// Its names.
    pub batch: &'a Batch,
    /// For `cost`.
    pub prices: &'a Prices,
    /// The moment "two hours ago" is counted from.
    pub now: Timestamp,
}

/// The steps for which a query holds. `payloads` has one selection for each of its `text:` conditions, in order; where
/// one is missing, the condition holds for no step.
pub fn select(query: &Query, scope: &Scope<'_>, payloads: &[Selection]) -> Selection {
    let steps = scope.flow.steps.len();
    let mut evaluation = Evaluation { scope, payloads: payloads.iter() };
    let plan = plan(query, &mut evaluation.payloads);
    evaluation.select(&plan, &Selection::all(steps))
}

/// A query whose conditions on payloads are answered, and whose cheap conditions come first.
enum Plan<'a> {
    Everything,
    All(Vec<Plan<'a>>),
    Any(Vec<Plan<'a>>),
    Not(Box<Plan<'a>>),
    Related(super::fields::Relation, Box<Plan<'a>>),
    Answered(Option<&'a Selection>),
    Condition(&'a Query),
}

fn plan<'a>(query: &'a Query, payloads: &mut std::slice::Iter<'a, Selection>) -> Plan<'a> {
    match query {
        Query::Everything => Plan::Everything,
        Query::All(parts) => {
            let mut parts: Vec<Plan<'a>> = parts.iter().map(|part| plan(part, payloads)).collect();
            parts.sort_by_key(cost);
            Plan::All(parts)
        }
        Query::Any(parts) => Plan::Any(parts.iter().map(|part| plan(part, payloads)).collect()),
        Query::Not(inner) => Plan::Not(Box::new(plan(inner, payloads))),
        Query::Related(relation, inner) => Plan::Related(*relation, Box::new(plan(inner, payloads))),
        Query::Payload(_) => Plan::Answered(payloads.next()),
        condition => Plan::Condition(condition),
    }
}

/// What is tested on every step comes before what reads much text or all edges.
fn cost(plan: &Plan<'_>) -> u8 {
    match plan {
        Plan::Everything | Plan::Answered(_) => 0,
        Plan::Condition(Query::Words(_)) => 5,
        Plan::Condition(Query::Text { inside: true, .. }) => 3,
        Plan::Condition(Query::Choice(..)) => 2,
        Plan::Condition(_) => 1,
        Plan::Not(inner) => cost(inner),
        Plan::All(parts) | Plan::Any(parts) => parts.iter().map(cost).max().unwrap_or(0),
        Plan::Related(..) => 4,
    }
}

struct Evaluation<'a> {
    scope: &'a Scope<'a>,
    payloads: std::slice::Iter<'a, Selection>,
}

impl<'a> Evaluation<'a> {
    /// The steps among `of` for which it holds.
    fn select(&self, plan: &Plan<'_>, of: &Selection) -> Selection {
        match plan {
            Plan::Everything => of.clone(),
            Plan::All(parts) => {
                let mut left = of.clone();
                for part in parts {
                    left = self.select(part, &left);
                }
                left
            }
            Plan::Any(parts) => {
                let mut found = Selection::none(of.steps());
                for part in parts {
                    found = found.or(&self.select(part, &of.without(&found)));
                }
                found
            }
            Plan::Not(inner) => of.without(&self.select(inner, of)),
            Plan::Related(relation, inner) => {
                let inner = self.select(inner, &Selection::all(of.steps()));
                related(*relation, self.scope.flow, &inner).and(of)
            }
            Plan::Answered(answer) => {
                answer.map_or_else(|| Selection::none(of.steps()), |answer| of.and(answer))
            }
            Plan::Condition(condition) => self.condition(condition, of),
        }
    }

    fn condition(&self, condition: &Query, of: &Selection) -> Selection {
        match condition {
            Query::Words(value) => self.words(value, of),
            Query::Text { field, inside, values } => {
                let looks: Vec<Look> = values.iter().map(|value| Look::new(value, *inside)).collect();
                self.text(*field, &looks, of)
            }
            Query::Choice(_, choices) => {
                let mut found = Selection::none(of.steps());
                for choice in choices {
                    found = found.or(&self.choice(*choice, &of.without(&found)));
                }
                found
            }
            Query::Number(field, compare, amount) => self.number(*field, *compare, *amount, of),
            Query::Time(field, moment) => self.time(*field, *moment, of),
            // Everything else is part of the plan.
            _ => Selection::none(of.steps()),
        }
    }

    fn step(&self, n: usize) -> &'a Step {
        &self.scope.flow.steps[n]
    }

    fn words(&self, value: &Value, of: &Selection) -> Selection {
        let pattern = Pattern::new(value);
        let text = &self.scope.batch.text;
        let mut names = Memo::new(text.len());
        of.filter(|n| {
            let step = self.step(n);
            let has = |sym: Sym| !sym.is_empty() && pattern.find(text.get(sym)).is_some();
            names.test(step.name, has)
                || has(step.preview)
                || step.intent != step.preview && has(step.intent)
                || step.is_error && has(self.scope.flow.error_of(n))
        })
    }

    fn text(&self, field: TextField, looks: &[Look], of: &Selection) -> Selection {
        let (flow, batch) = (self.scope.flow, self.scope.batch);
        let text = &batch.text;
        let is = |sym: Sym| !sym.is_empty() && looks.iter().any(|look| look.is(text.get(sym)));
        let mut names = Memo::new(text.len());
        match field {
            TextField::Tool => of.filter(|n| {
                let step = self.step(n);
                step.kind == StepKind::ToolCall && names.test(step.name, is)
            }),
            TextField::Name => of.filter(|n| names.test(self.step(n).name, is)),
            TextField::Model => of.filter(|n| names.test(self.step(n).model, is)),
            TextField::Agent => {
                let agents: Vec<bool> = flow.agents.iter().map(|agent| self.is_agent(agent, looks)).collect();
                of.filter(|n| agents.get(self.step(n).agent as usize).is_some_and(|yes| *yes))
            }
            TextField::Run => {
                let runs = flow.runs.iter().enumerate();
                let runs: Vec<bool> = runs.map(|(n, run)| self.is_run(n, run, looks)).collect();
                of.filter(|n| runs.get(self.step(n).run as usize).is_some_and(|yes| *yes))
            }
            TextField::Session => {
                let natives = &flow.session.native_ids;
                let ours = flow.session.id.show('x');
                let of_native = |look: &Look| natives.iter().any(|id| look.starts(text.get(*id)));
                when(looks.iter().any(|look| look.starts(&ours) || of_native(look)), of)
            }
            TextField::Title => when(is(flow.session.title), of),
            TextField::Cwd => when(is(flow.session.cwd), of),
            TextField::Id => of.filter(|n| looks.iter().any(|look| self.is_id(n, look))),
            TextField::Intent => of.filter(|n| is(self.step(n).intent)),
            TextField::Preview => of.filter(|n| is(self.step(n).preview)),
            TextField::Error => of.filter(|n| is(flow.error_of(n))),
            TextField::Format => {
                let formats: Vec<bool> = batch.streams.iter().map(|stream| is(stream.format)).collect();
                of.filter(|n| {
                    let records = flow.witnesses_of(self.step(n)).iter();
                    let mut rows = records.filter_map(|record| batch.records.get(*record as usize));
                    rows.any(|record| formats.get(record.stream as usize).is_some_and(|yes| *yes))
                })
            }
        }
    }

    fn is_agent(&self, agent: &Agent, looks: &[Look]) -> bool {
        let text = &self.scope.batch.text;
        looks.iter().any(|look| agent_is(text, agent, &|name| look.is(name), &|id| look.starts(id)))
    }

    fn is_run(&self, n: usize, run: &Run, looks: &[Look]) -> bool {
        let native = self.scope.batch.text.get(run.native_id);
        looks.iter().any(|look| {
            look.is(&(n + 1).to_string()) || look.starts(native) || look.starts(&run.id.show('u'))
        })
    }

    fn is_id(&self, n: usize, look: &Look) -> bool {
        let (step, text) = (self.step(n), &self.scope.batch.text);
        let natives = [step.tool_use_id, step.message_id, step.uuid, step.native_id];
        look.position == Some(n)
            || natives.iter().any(|id| look.starts(text.get(*id)))
            || look.may_be_ours('s') && look.starts(&step.id.show('s'))
            || look.may_be_ours('r') && self.is_witnessed(step, look)
    }

    fn is_witnessed(&self, step: &Step, look: &Look) -> bool {
        let records = self.scope.flow.witnesses_of(step).iter();
        let mut rows = records.filter_map(|record| self.scope.batch.records.get(*record as usize));
        rows.any(|record| look.starts(&record.id.show('r')))
    }

    fn choice(&self, choice: Choice, of: &Selection) -> Selection {
        let flow = self.scope.flow;
        match choice {
            Choice::Mark(mark) => self.mark(mark, of),
            Choice::Kind(kind) => of.filter(|n| self.step(n).kind == kind),
            Choice::Request(request) => of.filter(|n| {
                let told = u32::try_from(n).ok().and_then(|n| flow.request_of(n));
                request.is(self.step(n).kind, told)
            }),
            Choice::Edge(kind) => reached(flow, |edge| edge.kind == kind).and(of),
            Choice::Rule(rule) => reached(flow, |edge| edge.rule == rule).and(of),
        }
    }

    fn mark(&self, mark: Mark, of: &Selection) -> Selection {
        let flow = self.scope.flow;
        let agent = |n: usize| flow.agents.get(self.step(n).agent as usize);
        match mark {
            Mark::Error => of.filter(|n| self.step(n).is_error),
            Mark::Pending => of.filter(|n| self.step(n).pending),
            Mark::Async => of.filter(|n| self.step(n).is_async),
            Mark::Estimated => of.filter(|n| self.step(n).start_estimated),
            Mark::Meta => of.filter(|n| self.step(n).meta),
            Mark::Main => of.filter(|n| agent(n).is_some_and(|agent| agent.main)),
            Mark::Internal => of.filter(|n| agent(n).is_some_and(|agent| agent.internal)),
            Mark::Subagent => of.filter(|n| agent(n).is_some_and(|agent| !agent.main && !agent.internal)),
            Mark::Retry => some_of(retries(flow).into_iter().map(|retry| retry.again), of),
            Mark::Inferred => reached(flow, unspool_model::Edge::is_inferred).and(of),
            Mark::Trigger => some_of(flow.runs.iter().map(|run| run.trigger), of),
            Mark::Spawn => some_of(flow.agents.iter().filter_map(|agent| Some(agent.spawn?.step)), of),
            Mark::Unpriced => {
                let mut pricer = Pricer::new(flow, &self.scope.batch.text, self.scope.prices);
                of.filter(|n| pricer.step(self.step(n)).unpriced_calls > 0)
            }
        }
    }

    fn number(&self, field: NumberField, compare: Compare, amount: Amount, of: &Selection) -> Selection {
        let flow = self.scope.flow;
        let test = |number: Option<u64>| number.is_some_and(|number| compare.holds(number, amount.0));
        let ms = |ms: Option<i64>| ms.and_then(|ms| u64::try_from(ms).ok());
        let usage = |n: usize| flow.usage_of(self.step(n));
        match field {
            NumberField::Duration => of.filter(|n| test(ms(self.step(n).duration_ms.get()))),
            NumberField::Elapsed => {
                of.filter(|n| test(ms(self.step(n).started.ms_since(flow.session.started))))
            }
            NumberField::Tokens => of.filter(|n| test(usage(n).map(unspool_model::Usage::total))),
            NumberField::Input => of.filter(|n| test(usage(n).map(|usage| usage.input))),
            NumberField::CacheRead => of.filter(|n| test(usage(n).map(|usage| usage.cache_read))),
            NumberField::CacheWrite => of.filter(|n| test(usage(n).map(|usage| usage.cache_write))),
            NumberField::Output => of.filter(|n| test(usage(n).map(|usage| usage.output))),
            NumberField::Reasoning => of.filter(|n| test(usage(n).map(|usage| usage.reasoning))),
            NumberField::Cost => {
                let mut pricer = Pricer::new(flow, &self.scope.batch.text, self.scope.prices);
                of.filter(|n| {
                    let step = self.step(n);
                    let sums = (step.usage != NONE).then(|| pricer.step(step));
                    test(sums.and_then(|sums| sums.full_cost()).map(crate::Money::picodollars))
                })
            }
            NumberField::Confidence => {
                let least = least_confidence(flow);
                of.filter(|n| test(least.get(n).copied().flatten().map(|c| u64::from(c.ten_thousandths()))))
            }
            NumberField::Depth => of.filter(|n| test(Some(u64::from(flow.depth_of(self.step(n)))))),
            NumberField::Witnesses => of.filter(|n| test(Some(u64::from(self.step(n).witness_count)))),
        }
    }

    fn time(&self, field: TimeField, moment: Moment, of: &Selection) -> Selection {
        let (start, end) = moment.span(self.scope.now);
        let period = match field {
            TimeField::After => moment.after(self.scope.now),
            TimeField::Before => moment.before(self.scope.now),
            TimeField::Since => Period { from: Some(start), until: None },
            TimeField::Until => Period { from: None, until: Some(end) },
            TimeField::On => Period { from: Some(start), until: Some(end) },
        };
        of.filter(|n| period.has(self.step(n).started))
    }
}

/// One value to look for in names and ids.
struct Look {
    pattern: Pattern,
    inside: bool,
    /// In small letters, when no letter stands for others.
    literal: Option<String>,
    position: Option<usize>,
}

/// The start of an id must have this many letters.
const LEAST_START: usize = 4;

impl Look {
    fn new(value: &Value, inside: bool) -> Look {
        Look {
            pattern: Pattern::new(value),
            inside,
            literal: value.is_literal().then(|| value.text().to_lowercase()),
            position: value.text().strip_prefix('#').and_then(|n| n.parse().ok()),
        }
    }

    fn is(&self, text: &str) -> bool {
        if self.inside { self.pattern.find(text).is_some() } else { self.pattern.is(text) }
    }

    /// Whether it is an id or the start of one.
    fn starts(&self, id: &str) -> bool {
        let starts = |start: &String| {
            start.len() >= LEAST_START
                && id.get(..start.len()).is_some_and(|head| head.eq_ignore_ascii_case(start))
        };
        !id.is_empty() && (self.is(id) || self.literal.as_ref().is_some_and(starts))
    }

    /// Whether it could be one of our ids at all; they are made text for every step, which takes time.
    fn may_be_ours(&self, kind: char) -> bool {
        let Some(text) = &self.literal else { return true };
        let digits = text.strip_prefix(kind).unwrap_or(text);
        let is_ours = self.inside || text.starts_with(kind);
        is_ours
            && digits.len() <= Id::default().show(kind).len()
            && digits.bytes().all(|b| b.is_ascii_hexdigit())
    }
}

/// Answers for names that repeat.
struct Memo {
    answers: Vec<u8>,
}

impl Memo {
    fn new(names: usize) -> Memo {
        Memo { answers: vec![0; names] }
    }

    fn test(&mut self, name: Sym, test: impl Fn(Sym) -> bool) -> bool {
        const YES: u8 = 1;
        const NO: u8 = 2;
        let Some(answer) = self.answers.get_mut(name.index()) else { return test(name) };
        if *answer == 0 {
            *answer = if test(name) { YES } else { NO };
        }
        *answer == YES
    }
}

fn when(yes: bool, of: &Selection) -> Selection {
    if yes { of.clone() } else { Selection::none(of.steps()) }
}

fn some_of(steps: impl Iterator<Item = u32>, of: &Selection) -> Selection {
    let mut found = Selection::none(of.steps());
    for step in steps {
        found.add(step as usize);
    }
    found.and(of)
}

/// The steps that such an edge leads to.
fn reached(flow: &Flow, test: impl Fn(&Edge) -> bool) -> Selection {
    let edges = flow.edges.iter().filter(|edge| test(edge));
    some_of(edges.map(|edge| edge.to), &Selection::all(flow.steps.len()))
}

/// How much the least believed edge that leads to a step is believed.
fn least_confidence(flow: &Flow) -> Vec<Option<Confidence>> {
    let mut least: Vec<Option<Confidence>> = vec![None; flow.steps.len()];
    for edge in &flow.edges {
        if let Some(known) = least.get_mut(edge.to as usize) {
            *known = Some(known.map_or(edge.confidence, |known| known.min(edge.confidence)));
        }
    }
    least
}
