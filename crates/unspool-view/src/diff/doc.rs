//! A comparison as JSON: schema `unspool.diff/1`, a contract. Field names and meanings only grow.

use super::align::Pair;
use super::side::Side;
use crate::flow_json::TotalsDoc;
use crate::query_json::agent_label;
use schemars::JsonSchema;
use serde::Serialize;

/// The name and version of this schema.
pub(super) const SCHEMA: &str = "unspool.diff/1";

/// What differs between two sides.
#[derive(Serialize, JsonSchema, Debug)]
pub struct DiffDoc {
    /// Always `unspool.diff/1`.
    pub schema: &'static str,
    /// The first side.
    pub a: SideDoc,
    /// The second side.
    pub b: SideDoc,
    /// Nothing differs, not even times and tokens.
    pub same: bool,
    /// Steps by what became of them.
    pub counts: Counts,
    /// The first step that was added, removed or changed in more than figures; null when there is none.
    pub first_divergence: Option<StepDiff>,
    /// Sums of each side, and what changed.
    pub totals: TotalsDiff,
    /// Tools that either side used, by name.
    pub tools: Vec<ToolDiff>,
    /// Models that each side used.
    pub models: ModelsDiff,
    /// Agents, those that belong together as one.
    pub agents: Vec<AgentDiff>,
    /// Steps that are not the same, agent by agent, in order.
    pub steps: Vec<StepDiff>,
    /// Steps in parts too different to be aligned (`max_diff_edits`); they count as removed and added.
    pub unaligned_steps: usize,
}

/// Sums of both sides.
#[derive(Serialize, JsonSchema, Debug, Clone)]
pub struct TotalsDiff {
    /// Of the first.
    pub a: TotalsDoc,
    /// Of the second.
    pub b: TotalsDoc,
    /// The second less the first.
    pub delta: TotalsDelta,
}

/// How much more the second side has; negative when it has less.
#[derive(Serialize, JsonSchema, Debug, Clone)]
pub struct TotalsDelta {
    /// Steps.
    pub steps: i64,
    /// Calls of models.
    pub model_calls: i64,
    /// Calls of tools.
    pub tool_calls: i64,
    /// Steps that failed.
    pub errors: i64,
    /// Tokens of all five buckets; null when either side states none.
    pub tokens: Option<i64>,
    /// US dollars; null when a call of either side has no price, or either states no tokens.
    pub cost_usd: Option<f64>,
    /// Milliseconds from first to last moment; null when either is not known.
    pub duration_ms: Option<i64>,
}

/// Models that were used, sorted.
#[derive(Serialize, JsonSchema, Debug, Clone)]
pub struct ModelsDiff {
    /// On the first side.
    pub a: Vec<String>,
    /// On the second side.
    pub b: Vec<String>,
}

/// What was compared.
#[derive(Serialize, JsonSchema, Debug, Clone)]
pub struct SideDoc {
    /// Deterministic id of the session.
    pub session_id: String,
    /// The ids its sources gave it.
    pub native_ids: Vec<String>,
    /// Its title, or the first prompt.
    pub title: Option<String>,
    /// When what is compared began.
    pub started_at: Option<String>,
    /// Id of the run, when only one is compared.
    pub run_id: Option<String>,
    /// Id of the agent, when only it and those below it are compared.
    pub agent_id: Option<String>,
    /// The first words it began with.
    pub prompt: Option<String>,
}

/// What became of a step or an agent.
#[derive(Serialize, Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// Only the first side has it.
    Removed,
    /// Only the second side has it.
    Added,
    /// Both have it, with another name, input, status or model.
    Changed,
    /// Both have it; at most times and tokens differ.
    Figures,
}

/// Steps by what became of them.
#[derive(Serialize, JsonSchema, Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// The same in everything.
    pub same: u64,
    /// The same but for times and tokens.
    pub figures: u64,
    /// In both, with another name, input, status or model.
    pub changed: u64,
    /// Only in the second.
    pub added: u64,
    /// Only in the first.
    pub removed: u64,
}

impl Counts {
    pub(super) fn add(&mut self, change: Option<Change>) {
        let count = match change {
            None => &mut self.same,
            Some(Change::Figures) => &mut self.figures,
            Some(Change::Changed) => &mut self.changed,
            Some(Change::Added) => &mut self.added,
            Some(Change::Removed) => &mut self.removed,
        };
        *count += 1;
    }

    pub(super) fn join(&mut self, other: &Counts) {
        self.same += other.same;
        self.figures += other.figures;
        self.changed += other.changed;
        self.added += other.added;
        self.removed += other.removed;
    }
}

/// What differs in a step that both sides have.
#[derive(Serialize, Debug, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Field {
    /// The type of an agent.
    Type,
    /// What it is called.
    Name,
    /// What a tool was given.
    Input,
    /// What was said.
    Text,
    /// What it was for.
    Intent,
    /// Whether it failed, and why, or is not finished; how an agent ended.
    Status,
    /// The model that answered.
    Model,
    /// All its tokens, or the buckets they are in.
    Tokens,
    /// Milliseconds it took.
    Duration,
}

impl Field {
    /// Whether it is a number that differs between any two runs.
    pub fn is_figure(self) -> bool {
        matches!(self, Field::Tokens | Field::Duration)
    }

    /// Its word.
    pub fn name(self) -> &'static str {
        match self {
            Field::Type => "type",
            Field::Name => "name",
            Field::Input => "input",
            Field::Text => "text",
            Field::Intent => "intent",
            Field::Status => "status",
            Field::Model => "model",
            Field::Tokens => "tokens",
            Field::Duration => "duration",
        }
    }
}

/// One difference of a step or an agent that both sides have.
#[derive(Serialize, JsonSchema, Debug, Clone, PartialEq, Eq)]
pub struct FieldChange {
    /// What differs: `name`, `input`, `text`, `intent`, `status`, `model`, `tokens` or `duration`; of an agent `type`, `name`, `model` or
    /// `status`.
    #[schemars(with = "String")]
    pub field: Field,
    /// How it is on the first side.
    pub a: Option<String>,
    /// How it is on the second side.
    pub b: Option<String>,
}

/// A step that is not the same on both sides.
#[derive(Serialize, JsonSchema, Debug, Clone, PartialEq)]
pub struct StepDiff {
    /// What became of it: `removed`, `added`, `changed` or `figures` (at most times and tokens differ).
    #[schemars(with = "String")]
    pub change: Change,
    /// What its agent is called.
    pub agent: String,
    /// It on the first side.
    pub a: Option<StepSide>,
    /// It on the second side.
    pub b: Option<StepSide>,
    /// What differs, when both have it.
    pub fields: Vec<FieldChange>,
}

/// A step of one side.
#[derive(Serialize, JsonSchema, Debug, Clone, PartialEq)]
pub struct StepSide {
    /// Deterministic id.
    pub id: String,
    /// Position in its session.
    pub seq: usize,
    /// Kind of step, as in the JSON export.
    pub kind: &'static str,
    /// Tool, model, agent type, subtype or hook.
    pub name: Option<String>,
    /// First words, or what the tool was given.
    pub text: Option<String>,
    /// It failed.
    pub is_error: bool,
}

/// An agent, or two that belong together.
#[derive(Serialize, JsonSchema, Debug, Clone)]
pub struct AgentDiff {
    /// What became of it: `removed`, `added`, `changed` or `figures` (at most times and tokens differ).
    #[schemars(with = "String")]
    pub change: Change,
    /// What it is called.
    pub agent: String,
    /// It on the first side.
    pub a: Option<AgentSide>,
    /// It on the second side.
    pub b: Option<AgentSide>,
    /// Its steps by what became of them.
    pub counts: Counts,
    /// What differs in the agent itself, when both have it.
    pub fields: Vec<FieldChange>,
}

/// An agent of one side.
#[derive(Serialize, JsonSchema, Debug, Clone)]
pub struct AgentSide {
    /// Deterministic id.
    pub id: String,
    /// The id its source gave it.
    pub native_id: String,
    /// The first words it was asked.
    pub prompt: Option<String>,
    /// How it ended.
    pub status: &'static str,
    /// Sums over its own steps that were compared.
    pub totals: TotalsDoc,
}

/// A tool that either side used.
#[derive(Serialize, JsonSchema, Debug, Clone)]
pub struct ToolDiff {
    /// Its name.
    pub name: String,
    /// Its use on the first side.
    pub a: ToolSide,
    /// Its use on the second side.
    pub b: ToolSide,
}

/// The use of a tool.
#[derive(Serialize, JsonSchema, Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ToolSide {
    /// Calls.
    pub calls: u64,
    /// Calls that failed.
    pub errors: u64,
    /// Milliseconds of all calls whose duration is known; null when none is.
    pub duration_ms: Option<i64>,
}

/// What the agents of a pair are called; both names when they differ.
pub(super) fn pair_label(a: &Side<'_>, b: &Side<'_>, pair: &Pair) -> String {
    let label =
        |side: &Side<'_>, agent: Option<usize>| agent.map(|n| agent_label(&side.flow.agents[n], side.batch));
    match (label(a, pair.a), label(b, pair.b)) {
        (Some(a), Some(b)) if a != b => format!("{a} / {b}"),
        (a, b) => a.or(b).unwrap_or_default(),
    }
}

pub(super) fn step_side(side: &Side<'_>, n: usize) -> StepSide {
    let step = side.step(n);
    let some = |sym: unspool_model::Sym| sym.some().map(|sym| side.text(sym).to_string());
    StepSide {
        id: step.id.show('s'),
        seq: n,
        kind: step.kind.name(),
        name: some(step.name),
        text: some(step.preview).or_else(|| some(step.intent)),
        is_error: step.is_error,
    }
}
