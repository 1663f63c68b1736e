//! What time was spent on.
//!
//! In: a flow. Out: a class for each step. Never here: how long anything took.

use crate::retries::retries;
use rustc_hash::FxHashMap;
use unspool_model::{Flow, Interner, Step, StepKind, Sym};

/// What time was spent on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Class {
    /// A model worked.
    Model,
    /// A tool worked, or something was looked up, checked or remembered.
    Tool,
    /// A person was waited for.
    Human,
    /// A failed attempt that was made again, and the pause before the next one.
    Retry,
    /// Nothing that is recorded happened.
    Idle,
    /// Work of another sort, such as what a span does besides the spans in it.
    Other,
}

impl Class {
    /// All classes, in the order they are shown.
    pub const ALL: [Class; 6] =
        [Class::Model, Class::Tool, Class::Human, Class::Retry, Class::Idle, Class::Other];

    /// The class of a word used in documents.
    pub fn of_name(name: &str) -> Option<Class> {
        Class::ALL.into_iter().find(|class| class.name() == name)
    }

    /// The word used in documents.
    pub fn name(self) -> &'static str {
        match self {
            Class::Model => "model",
            Class::Tool => "tool",
            Class::Human => "human",
            Class::Retry => "retry",
            Class::Idle => "idle",
            Class::Other => "other",
        }
    }
}

/// Tools whose time is a person's: they ask, and wait for the answer.
const ASKING_TOOLS: &[&str] = &[
    "AskUserQuestion",
    "ExitPlanMode",
    "ask_followup_question",
    "ask_user",
    "request_user_input",
    "question",
];

/// The class of every step.
pub(crate) fn classes(flow: &Flow, text: &Interner) -> Vec<Class> {
    let mut asks: FxHashMap<Sym, bool> = FxHashMap::default();
    let mut is_asking =
        |name: Sym| *asks.entry(name).or_insert_with(|| ASKING_TOOLS.contains(&text.get(name)));
    let mut classes: Vec<Class> = flow.steps.iter().map(|step| plain(step, &mut is_asking)).collect();
    for retry in retries(flow) {
        classes[retry.failed as usize] = Class::Retry;
    }
    classes
}

fn plain(step: &Step, is_asking: &mut impl FnMut(Sym) -> bool) -> Class {
    match step.kind {
        StepKind::ModelCall | StepKind::Compaction => Class::Model,
        StepKind::ToolCall if is_asking(step.name) => Class::Human,
        StepKind::ToolCall
        | StepKind::Retrieval
        | StepKind::Embedding
        | StepKind::Memory
        | StepKind::Guardrail
        | StepKind::Hook => Class::Tool,
        StepKind::UserMessage
        | StepKind::AgentStart
        | StepKind::AgentStop
        | StepKind::System
        | StepKind::Router
        | StepKind::Generic => Class::Other,
    }
}
