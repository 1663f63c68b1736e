//! What can be typed: the fields of the language, and the values that a session has for them.
//!
//! In: the table of fields, and a flow. Out: words to offer while somebody types a query. Never here: what was typed.

use super::ast::Choice;
use super::fields::{ChoiceField, FIELDS, Field, MARKS, Sort, TextField};
use rustc_hash::FxHashMap;
use schemars::JsonSchema;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use unspool_model::{Agent, Batch, Flow, Rule, Step, StepKind, Sym};

/// No field is told with more values: `max_field_values`.
pub const MAX_FIELD_VALUES: usize = 200;

/// A field of the query language.
#[derive(Serialize, JsonSchema)]
pub struct QueryFieldDoc {
    /// As it is written.
    pub name: &'static str,
    /// Other ways to write it.
    pub aliases: &'static [&'static str],
    /// What may follow: `text`, `choice`, `number`, `time`, `condition` or `words`.
    pub takes: &'static str,
    /// What it means.
    pub about: &'static str,
    /// In use.
    pub example: &'static str,
    /// The words of a `choice`; empty for others.
    pub choices: Vec<ChoiceDoc>,
}

/// A word of a fixed list.
#[derive(Serialize, JsonSchema)]
pub struct ChoiceDoc {
    /// The word.
    pub name: &'static str,
    /// What it means; empty where the word says it.
    pub about: &'static str,
}

/// The values that a session has for fields.
#[derive(Serialize, JsonSchema)]
pub struct FieldValuesDoc {
    /// Those fields whose values are names, in the order of the table of fields.
    pub fields: Vec<FieldValues>,
    /// Agents with steps, in the order of the session; at most `max_field_values` (200).
    pub agents: Vec<AgentPlaceDoc>,
    /// How many such agents there are in all.
    pub different_agents: usize,
}

/// An agent, and where it begins.
#[derive(Serialize, JsonSchema)]
pub struct AgentPlaceDoc {
    /// Its id.
    pub id: String,
    /// By what `agent:` knows it; null when its type is not known.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// Its own name or description.
    pub name: Option<String>,
    /// Its first step.
    pub first_step: String,
    /// Its steps.
    pub steps: usize,
    /// Those of them that failed.
    pub errors: usize,
}

/// The values of one field.
#[derive(Serialize, JsonSchema)]
pub struct FieldValues {
    /// The field.
    pub field: &'static str,
    /// Most steps first; at most `max_field_values` (200).
    pub values: Vec<FieldValue>,
    /// How many values there are in all.
    pub different: usize,
}

/// A value that occurs.
#[derive(Serialize, JsonSchema)]
pub struct FieldValue {
    /// As it is written.
    pub value: String,
    /// Steps that have it.
    pub steps: u64,
}

/// All fields.
pub fn query_fields() -> Vec<QueryFieldDoc> {
    let doc = |field: &Field| QueryFieldDoc {
        name: field.name,
        aliases: field.aliases,
        takes: match field.sort {
            Sort::Text(_) => "text",
            Sort::Choice(_) => "choice",
            Sort::Number(_) => "number",
            Sort::Time(_) => "time",
            Sort::Relation(_) => "condition",
            Sort::Payload => "words",
        },
        about: field.meaning,
        example: field.example,
        choices: match field.sort {
            Sort::Choice(choice) => choices(choice),
            _ => Vec::new(),
        },
    };
    FIELDS.iter().map(doc).collect()
}

fn choices(field: ChoiceField) -> Vec<ChoiceDoc> {
    let about = |choice: Choice| match choice {
        Choice::Mark(mark) => MARKS.iter().find(|(known, ..)| *known == mark).map_or("", |(.., about)| about),
        Choice::Rule(rule) => Rule::sentence(rule),
        Choice::Request(request) => request.about(),
        Choice::Kind(_) | Choice::Edge(_) => "",
    };
    Choice::all(field).into_iter().map(|one| ChoiceDoc { name: one.name(), about: about(one) }).collect()
}

/// The values that a session has.
pub fn field_values(flow: &Flow, batch: &Batch) -> FieldValuesDoc {
    let fields = FIELDS.iter().filter_map(|field| {
        let counts = counts(flow, batch, field.sort)?;
        let different = counts.len();
        let mut values: Vec<FieldValue> =
            counts.into_iter().map(|(value, steps)| FieldValue { value: value.into(), steps }).collect();
        values.sort_by_key(|value| Reverse(value.steps));
        values.truncate(MAX_FIELD_VALUES);
        Some(FieldValues { field: field.name, values, different })
    });
    let mut agents = agents(flow, batch);
    let different_agents = agents.len();
    agents.truncate(MAX_FIELD_VALUES);
    FieldValuesDoc { fields: fields.collect(), agents, different_agents }
}

fn agents(flow: &Flow, batch: &Batch) -> Vec<AgentPlaceDoc> {
    let mut steps: Vec<Vec<&Step>> = vec![Vec::new(); flow.agents.len()];
    for step in &flow.steps {
        if let Some(of_agent) = steps.get_mut(step.agent as usize) {
            of_agent.push(step);
        }
    }
    let place = |(agent, steps): (&Agent, Vec<&Step>)| {
        Some(AgentPlaceDoc {
            id: agent.id.show('a'),
            kind: agent_name(agent, batch).map(String::from),
            name: agent.name.some().map(|name| batch.text.get(name).to_string()),
            first_step: steps.first()?.id.show('s'),
            steps: steps.len(),
            errors: steps.iter().filter(|step| step.is_error).count(),
        })
    };
    flow.agents.iter().zip(steps).filter_map(place).collect()
}

/// How many steps have each value; nothing for fields whose values are not names.
fn counts<'a>(flow: &'a Flow, batch: &'a Batch, sort: Sort) -> Option<BTreeMap<&'a str, u64>> {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    let steps = &flow.steps;
    match sort {
        Sort::Choice(ChoiceField::Kind) => {
            for step in steps {
                *counts.entry(step.kind.name()).or_default() += 1;
            }
        }
        Sort::Choice(ChoiceField::Request) => {
            for (_, request) in &flow.requests {
                *counts.entry(request.name()).or_default() += 1;
            }
        }
        Sort::Text(TextField::Agent) => {
            let known = |agent: &Agent| agent_name(agent, batch).filter(|name| !name.is_empty());
            let names: Vec<Option<&str>> = flow.agents.iter().map(known).collect();
            for name in steps.iter().filter_map(|step| *names.get(step.agent as usize)?) {
                *counts.entry(name).or_default() += 1;
            }
        }
        Sort::Text(field) => {
            let tools = steps.iter().filter(|step| step.kind == StepKind::ToolCall);
            let syms: FxHashMap<Sym, u64> = match field {
                TextField::Tool => tally(tools.map(|step| step.name)),
                TextField::Model => tally(steps.iter().map(|step| step.model)),
                TextField::Name => tally(steps.iter().map(|step| step.name)),
                TextField::Format => tally(steps.iter().flat_map(|step| formats(flow, batch, step))),
                _ => return None,
            };
            counts.extend(syms.into_iter().map(|(sym, count)| (batch.text.get(sym), count)));
        }
        _ => return None,
    }
    Some(counts)
}

/// The formats of a step's witnesses, each once.
fn formats(flow: &Flow, batch: &Batch, step: &Step) -> Vec<Sym> {
    let mut formats: Vec<Sym> = Vec::new();
    for record in flow.witnesses_of(step).iter().filter_map(|n| batch.records.get(*n as usize)) {
        let format = batch.streams.get(record.stream as usize).map(|stream| stream.format);
        formats.extend(format.filter(|format| !formats.contains(format)));
    }
    formats
}

/// By what `agent:` knows an agent.
fn agent_name<'a>(agent: &Agent, batch: &'a Batch) -> Option<&'a str> {
    match (agent.main, agent.internal) {
        (true, _) => Some("main"),
        (_, true) => Some("internal"),
        _ => agent.kind.some().map(|kind| batch.text.get(kind)),
    }
}

fn tally(syms: impl Iterator<Item = Sym>) -> FxHashMap<Sym, u64> {
    let mut counts: FxHashMap<Sym, u64> = FxHashMap::default();
    syms.filter(|sym| !sym.is_empty()).for_each(|sym| *counts.entry(sym).or_default() += 1);
    counts
}
