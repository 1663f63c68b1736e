//! A query as a tree, and back as text.
//!
//! In: what the parser understood. Out: text that is understood as the same again. Never here: meaning for a flow.

use super::amount::{Amount, Moment};
use super::fields::{ChoiceField, FIELDS, MARKS, Mark, NumberField, Relation, Sort, TextField, TimeField};
use std::fmt;
use unspool_model::{EdgeKind, RequestKind, Rule, StepKind};

/// A condition on steps.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Query {
    /// Every step.
    Everything,
    /// All of these hold.
    All(Vec<Query>),
    /// One of these holds.
    Any(Vec<Query>),
    /// It does not hold.
    Not(Box<Query>),
    /// The step stands so to one for which it holds.
    Related(Relation, Box<Query>),
    /// Words in names, previews, intents and errors.
    Words(Value),
    /// Words in native records.
    Payload(Value),
    /// A text is one of these.
    Text {
        /// Which.
        field: TextField,
        /// The words may stand anywhere in it.
        inside: bool,
        /// Any of them.
        values: Vec<Value>,
    },
    /// One of these of a fixed list.
    Choice(ChoiceField, Vec<Choice>),
    /// A comparison.
    Number(NumberField, Compare, Amount),
    /// When it began.
    Time(TimeField, Moment),
}

impl Query {
    /// The words to be looked for in native records, in the order they stand in the query.
    pub fn payload_words(&self) -> Vec<&Value> {
        match self {
            Query::Payload(value) => vec![value],
            Query::All(parts) | Query::Any(parts) => parts.iter().flat_map(Query::payload_words).collect(),
            Query::Not(inner) | Query::Related(_, inner) => inner.payload_words(),
            _ => Vec::new(),
        }
    }

    /// The figures of the steps themselves that are compared with something.
    pub fn figures(&self) -> Vec<NumberField> {
        match self {
            Query::Number(field, ..) => vec![*field],
            Query::All(parts) | Query::Any(parts) => parts.iter().flat_map(Query::figures).collect(),
            Query::Not(inner) => inner.figures(),
            _ => Vec::new(),
        }
    }
}

/// Words as typed. In quotes, `*` and `?` are letters; without them there is no difference.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Value {
    text: String,
    literal: bool,
}

impl Value {
    /// Typed without quotes.
    pub fn typed(text: &str) -> Value {
        Value { text: text.into(), literal: !text.contains(['*', '?']) }
    }

    /// Typed in quotes.
    pub fn quoted(text: &str) -> Value {
        Value { text: text.into(), literal: true }
    }

    /// The words.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether every letter stands for itself.
    pub fn is_literal(&self) -> bool {
        self.literal
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_plain = |c: char| c.is_alphanumeric() || "_-./@#+%".contains(c);
        let starts_plain = self.text.chars().next().is_some_and(|c| c != '-' && is_plain(c));
        let is_word = starts_plain && self.text.chars().all(is_plain) && !is_keyword(&self.text);
        if is_word || !self.literal {
            return f.write_str(&self.text);
        }
        write!(f, "\"{}\"", self.text.replace('\\', "\\\\").replace('"', "\\\""))
    }
}

/// Words that join conditions.
pub(super) fn is_keyword(word: &str) -> bool {
    ["and", "or", "not"].iter().any(|keyword| keyword.eq_ignore_ascii_case(word))
}

/// One value of a fixed list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Choice {
    /// A mark of the step.
    Mark(Mark),
    /// Its kind.
    Kind(StepKind),
    /// What a recorded request was for.
    Request(Request),
    /// A kind of edge.
    Edge(EdgeKind),
    /// A rule.
    Rule(Rule),
}

impl Choice {
    /// Every value of a list.
    pub fn all(field: ChoiceField) -> Vec<Choice> {
        match field {
            ChoiceField::Is => MARKS.iter().map(|(mark, ..)| Choice::Mark(*mark)).collect(),
            ChoiceField::Kind => StepKind::ALL.iter().map(|kind| Choice::Kind(*kind)).collect(),
            ChoiceField::Request => Request::all().map(Choice::Request).collect(),
            ChoiceField::Edge => EdgeKind::ALL.iter().map(|kind| Choice::Edge(*kind)).collect(),
            ChoiceField::Rule => Rule::ALL.iter().map(|rule| Choice::Rule(*rule)).collect(),
        }
    }

    /// Its word.
    pub fn name(self) -> &'static str {
        match self {
            Choice::Mark(mark) => {
                MARKS.iter().find(|(known, ..)| *known == mark).map_or("", |(_, name, _)| name)
            }
            Choice::Kind(kind) => kind.name(),
            Choice::Request(request) => request.name(),
            Choice::Edge(kind) => kind.name(),
            Choice::Rule(rule) => rule.name(),
        }
    }
}

/// What recorded requests may be asked for by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Request {
    /// Model calls of which nothing else is said: an agent's work.
    Inference,
    /// Whatever a client has a model help it with.
    Helper,
    /// Requests of one kind.
    Of(RequestKind),
}

impl Request {
    fn all() -> impl Iterator<Item = Request> {
        [Request::Inference, Request::Helper].into_iter().chain(RequestKind::ALL.map(Request::Of))
    }

    fn name(self) -> &'static str {
        match self {
            Request::Inference => "inference",
            Request::Helper => "helper",
            Request::Of(kind) => kind.name(),
        }
    }

    /// In words.
    pub(super) fn about(self) -> &'static str {
        match self {
            Request::Inference => "a model call of which nothing else is said: an agent's work",
            Request::Helper => "a model helps the client: title, topic and the like",
            Request::Of(kind) => kind.phrase(),
        }
    }

    /// Whether a step is meant, by its kind and what it was for.
    pub(super) fn is(self, step: StepKind, told: Option<RequestKind>) -> bool {
        match self {
            Request::Inference => step == StepKind::ModelCall && told.is_none(),
            Request::Helper => told.is_some_and(RequestKind::is_helper),
            Request::Of(kind) => told == Some(kind),
        }
    }
}

/// How a number is compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Compare {
    /// Less.
    Less,
    /// Less or the same.
    AtMost,
    /// The same.
    Equal,
    /// Not the same.
    Other,
    /// The same or more.
    AtLeast,
    /// More.
    More,
}

impl Compare {
    /// All of them, those with longer signs first.
    pub const ALL: [(Compare, &'static str); 6] = [
        (Compare::AtMost, "<="),
        (Compare::AtLeast, ">="),
        (Compare::Other, "!="),
        (Compare::Less, "<"),
        (Compare::More, ">"),
        (Compare::Equal, "="),
    ];

    /// Its sign.
    pub fn sign(self) -> &'static str {
        Compare::ALL.iter().find(|(known, _)| *known == self).map_or("", |(_, sign)| sign)
    }

    /// Whether a number compares so to a wanted one.
    pub fn holds(self, number: u64, wanted: u64) -> bool {
        match self {
            Compare::Less => number < wanted,
            Compare::AtMost => number <= wanted,
            Compare::Equal => number == wanted,
            Compare::Other => number != wanted,
            Compare::AtLeast => number >= wanted,
            Compare::More => number > wanted,
        }
    }
}

fn name_of(sort: Sort) -> &'static str {
    FIELDS.iter().find(|field| field.sort == sort).map_or("", |field| field.name)
}

/// Text that is parsed as the same query.
impl fmt::Display for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Query::Everything => Ok(()),
            Query::All(parts) => joined(f, parts, " "),
            Query::Any(parts) => joined(f, parts, " or "),
            Query::Not(inner) => {
                f.write_str("-")?;
                part(f, inner)
            }
            Query::Related(relation, inner) => {
                write!(f, "{}:", name_of(Sort::Relation(*relation)))?;
                if matches!(**inner, Query::Words(_) | Query::Not(_)) {
                    write!(f, "({inner})")
                } else {
                    part(f, inner)
                }
            }
            Query::Words(value) => write!(f, "{value}"),
            Query::Payload(value) => write!(f, "{}:{value}", name_of(Sort::Payload)),
            Query::Text { field, inside, values } => {
                let sign = if *inside && !field.is_prose() { '~' } else { ':' };
                write!(f, "{}{sign}", name_of(Sort::Text(*field)))?;
                listed(f, values.iter())
            }
            Query::Choice(field, choices) => {
                write!(f, "{}:", name_of(Sort::Choice(*field)))?;
                listed(f, choices.iter().map(|choice| choice.name()))
            }
            Query::Number(field, compare, amount) => {
                write!(f, "{}{}{}", name_of(Sort::Number(*field)), compare.sign(), amount.show(field.unit()))
            }
            Query::Time(field, moment) => write!(f, "{}:{moment}", name_of(Sort::Time(*field))),
        }
    }
}

/// A part of something larger: in parentheses when it has parts itself.
fn part(f: &mut fmt::Formatter<'_>, query: &Query) -> fmt::Result {
    if matches!(query, Query::All(_) | Query::Any(_)) { write!(f, "({query})") } else { write!(f, "{query}") }
}

fn joined(f: &mut fmt::Formatter<'_>, parts: &[Query], by: &str) -> fmt::Result {
    for (n, one) in parts.iter().enumerate() {
        if n > 0 {
            f.write_str(by)?;
        }
        part(f, one)?;
    }
    Ok(())
}

fn listed(f: &mut fmt::Formatter<'_>, values: impl Iterator<Item = impl fmt::Display>) -> fmt::Result {
    for (n, value) in values.enumerate() {
        write!(f, "{}{value}", if n > 0 { "," } else { "" })?;
    }
    Ok(())
}
