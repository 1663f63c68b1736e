//! Which inputs a person gave.
//!
//! In: a flow. Out: a mark for each step. Never here: how long anybody waited.

use super::moments::triggers;
use crate::sequence::Sequence;
use unspool_model::{EdgeKind, Flow, Interner, StepKind};

/// How messages begin that clients write in a user's name.
const MACHINE_WORDS: &[&str] = &[
    "<task-notification",
    "<agent-notification",
    "<bash-stdout",
    "<bash-stderr",
    "<local-command-stdout",
    "<local-command-stderr",
    "<teammate-message",
    "<system-reminder",
];

/// By step, whether a person said it: no message that a client injects, and none that tells of an agent's end.
pub(crate) fn said(flow: &Flow, text: &Interner) -> Vec<bool> {
    said_by_person(flow, text, &Sequence::new(flow), &triggers(flow))
}

/// The same, where the order of steps and the inputs of runs are known already.
pub(super) fn said_by_person(
    flow: &Flow,
    text: &Interner,
    sequence: &Sequence,
    triggers: &[bool],
) -> Vec<bool> {
    let is_machine = |preview: &str| MACHINE_WORDS.iter().any(|word| preview.starts_with(word));
    let mut said: Vec<bool> = flow
        .steps
        .iter()
        .map(|step| step.kind == StepKind::UserMessage && !step.meta && !is_machine(text.get(step.preview)))
        .collect();
    for edge in flow.edges.iter().filter(|edge| edge.kind == EdgeKind::SubagentReturn) {
        let message = sequence.previous(edge.to) as usize;
        if triggers.get(message) == Some(&false) {
            said[message] = false;
        }
    }
    said
}
