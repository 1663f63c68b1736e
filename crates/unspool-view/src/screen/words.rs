//! The words documents use, with their meanings, looks and colours: what a page needs to know to show them.

use crate::draw::{AGENT_COLOURS, AgentColour, Colours, Look, class, colours_of};
use crate::export::{Format, View};
use crate::findings::FINDERS;
use crate::graph::Level;
use crate::query::{QueryFieldDoc, query_fields};
use schemars::JsonSchema;
use serde::Serialize;
use unspool_model::{Code, EdgeKind, Rule, Status, StepKind};

/// The words documents use.
#[derive(Serialize, JsonSchema)]
pub struct WordsDoc {
    /// Kinds of steps.
    pub step_kinds: Vec<KindDoc>,
    /// Kinds of edges.
    pub edge_kinds: Vec<&'static str>,
    /// Those that somebody may confirm, deny or add.
    pub link_kinds: Vec<&'static str>,
    /// How agents, runs and sessions ended.
    pub statuses: Vec<&'static str>,
    /// What things look like.
    pub looks: Vec<LookDoc>,
    /// Colours of the light theme.
    pub light: Colours,
    /// Colours of the dark theme.
    pub dark: Colours,
    /// Colours of types of agents; agents name theirs by its place here.
    pub agent_colours: Vec<AgentColour>,
    /// Reasons for edges.
    pub rules: Vec<RuleDoc>,
    /// What can be odd.
    pub issues: Vec<IssueWordDoc>,
    /// What can be found.
    pub findings: Vec<WordDoc>,
    /// What a node of a graph can be.
    pub levels: Vec<&'static str>,
    /// What an export can show.
    pub views: Vec<WordDoc>,
    /// Formats to export to.
    pub formats: Vec<FormatDoc>,
    /// Fields of the query language.
    pub query_fields: Vec<QueryFieldDoc>,
}

/// A word and what it means.
#[derive(Serialize, JsonSchema)]
pub struct WordDoc {
    /// The word.
    pub name: &'static str,
    /// What it means.
    pub about: &'static str,
}

/// A kind of step.
#[derive(Serialize, JsonSchema)]
pub struct KindDoc {
    /// The word.
    pub name: &'static str,
    /// What steps of it look like.
    pub look: &'static str,
}

/// A look.
#[derive(Serialize, JsonSchema)]
pub struct LookDoc {
    /// The word in other documents.
    pub name: &'static str,
    /// The word for people.
    pub title: &'static str,
    /// Its colour in the light theme.
    pub light: &'static str,
    /// Its colour in the dark theme.
    pub dark: &'static str,
}

/// A reason for an edge.
#[derive(Serialize, JsonSchema)]
pub struct RuleDoc {
    /// The word.
    pub name: &'static str,
    /// Why such an edge is believed.
    pub about: &'static str,
    /// It guesses.
    pub inferred: bool,
}

/// Something that can be odd.
#[derive(Serialize, JsonSchema)]
pub struct IssueWordDoc {
    /// The word.
    pub name: &'static str,
    /// What it means.
    pub about: &'static str,
    /// `error`, `warning` or `info`.
    pub severity: &'static str,
    /// A source wrote something that is not known yet.
    pub drift: bool,
    /// It says that something of what happened is missing in what is shown.
    pub gap: bool,
}

/// A format to export to.
#[derive(Serialize, JsonSchema)]
pub struct FormatDoc {
    /// The word.
    pub name: &'static str,
    /// What it is.
    pub about: &'static str,
    /// How files of it end.
    pub endings: &'static [&'static str],
    /// What it can show; the first is shown unless something else is asked for.
    pub views: Vec<&'static str>,
}

/// The words.
pub fn words() -> WordsDoc {
    let (light, dark) = colours_of();
    let look = |(n, look): (usize, Look)| LookDoc {
        name: class(look),
        title: look.name(),
        light: light.looks[n],
        dark: dark.looks[n],
    };
    let kind = |kind: &StepKind| KindDoc { name: kind.name(), look: class(Look::of(kind.name())) };
    let rule = |rule: &Rule| RuleDoc { name: rule.name(), about: rule.sentence(), inferred: rule.inferred() };
    let issue = |code: &Code| IssueWordDoc {
        name: code.name(),
        about: code.sentence(),
        severity: code.severity().name(),
        drift: code.is_drift(),
        gap: code.is_gap(),
    };
    let format = |format: &Format| FormatDoc {
        name: format.name(),
        about: format.about(),
        endings: format.endings(),
        views: format.views().iter().map(|view| view.name()).collect(),
    };
    WordsDoc {
        step_kinds: StepKind::ALL.iter().map(kind).collect(),
        edge_kinds: EdgeKind::ALL.iter().map(|kind| kind.name()).collect(),
        link_kinds: super::links::kinds(),
        statuses: Status::ALL.iter().map(|status| status.name()).collect(),
        looks: Look::ALL.into_iter().enumerate().map(look).collect(),
        light,
        dark,
        agent_colours: AGENT_COLOURS.to_vec(),
        rules: Rule::ALL.iter().map(rule).collect(),
        issues: Code::ALL.iter().map(issue).collect(),
        findings: FINDERS.iter().map(|one| WordDoc { name: one.code, about: one.sentence }).collect(),
        levels: Level::ALL.iter().map(|level| level.name()).collect(),
        views: View::ALL.iter().map(|view| WordDoc { name: view.name(), about: view.about() }).collect(),
        formats: Format::ALL.iter().map(format).collect(),
        query_fields: query_fields(),
    }
}
