//! Retries: the same thing tried again after it failed. The one meaning of the word, for queries, the time split, failures and
//! findings.
//!
//! In: a flow. Out: pairs of a failed attempt and the next one. Never here: whether trying again helped or was wise.

use rustc_hash::FxHashMap;
use unspool_model::{Flow, Step, StepKind, Sym};

/// A failed attempt and the agent's next one at the same thing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Retry {
    /// The step that failed.
    pub(crate) failed: u32,
    /// The step that tried it again.
    pub(crate) again: u32,
}

/// What is tried: a tool with all it was given, or a model.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Thing {
    Model,
    /// Tool, and a hash of its input.
    Call(Sym, u32),
    /// Tool, and the first words of its input, where only they are known.
    CallInWords(Sym, Sym),
}

/// A model whatever its name, or a tool with the same input, in the same run of the same agent, whatever lies between. Calls that one
/// answer asked for together are no retries of each other.
pub(crate) fn retries(flow: &Flow) -> Vec<Retry> {
    let mut failed: FxHashMap<(u32, u32, Thing), Vec<u32>> = FxHashMap::default();
    let mut found = Vec::new();
    for (n, step) in (0_u32..).zip(&flow.steps) {
        let Some(thing) = thing(flow, n, step) else { continue };
        let key = (step.agent, step.run, thing);
        if let Some(before) = failed.get_mut(&key) {
            before.retain(|before| {
                let is_retry = !are_together(flow, *before, n);
                found.extend(is_retry.then_some(Retry { failed: *before, again: n }));
                !is_retry
            });
        }
        if step.is_error {
            failed.entry(key).or_default().push(n);
        }
    }
    found
}

fn thing(flow: &Flow, n: u32, step: &Step) -> Option<Thing> {
    match step.kind {
        _ if is_attempt_at_model(step) => Some(Thing::Model),
        StepKind::ToolCall => flow.input_of(n).map(|input| Thing::Call(step.name, input)).or_else(|| {
            let words = step.preview.some()?;
            Some(Thing::CallInWords(step.name, words))
        }),
        _ => None,
    }
}

/// A model call, or a failed one that a client notes as a message of its own.
pub(crate) fn is_attempt_at_model(step: &Step) -> bool {
    step.kind == StepKind::ModelCall || (step.kind == StepKind::System && step.is_error)
}

fn are_together(flow: &Flow, one: u32, other: u32) -> bool {
    let (one, other) = (&flow.steps[one as usize], &flow.steps[other as usize]);
    let asked_by = |step: &Step| flow.steps.get(step.parent as usize).map(|above| above.kind);
    one.kind == StepKind::ToolCall && one.parent == other.parent && asked_by(one) == Some(StepKind::ModelCall)
}

#[cfg(test)]
mod tests {
    use super::{Retry, retries};
    use crate::drawn::Drawn;
    use unspool_model::StepKind;

    #[test]
    fn the_same_call_again_is_a_retry_and_another_one_is_not() {
        let mut drawn = Drawn::new();
        drawn.input(0);
        let first = drawn.model(0, (0, 10));
        let test = drawn.tool(first, "Bash", "make test", (10, 20));
        let beside = drawn.tool(first, "Bash", "make test", (10, 20));
        drawn.fail(test);
        drawn.fail(beside);
        let second = drawn.model(0, (20, 30));
        let list = drawn.tool(second, "Bash", "ls", (30, 40));
        let third = drawn.model(0, (40, 50));
        let again = drawn.tool(third, "Bash", "make test", (50, 60));
        let once_more = drawn.tool(third, "Bash", "ls", (60, 70));
        assert!(list < once_more);
        let expected = [Retry { failed: test, again }, Retry { failed: beside, again }];
        assert_eq!(retries(&drawn.flow), expected);
    }

    #[test]
    fn attempts_at_a_model_count_whoever_notes_them_and_a_new_run_begins_anew() {
        let mut drawn = Drawn::new();
        drawn.input(0);
        let note = drawn.step(0, StepKind::System, "api_error", (0, 5));
        drawn.fail(note);
        let failed = drawn.model(0, (5, 10));
        drawn.fail(failed);
        let again = drawn.model(0, (10, 20));
        drawn.fail(again);
        drawn.input(30);
        drawn.model(0, (30, 40));
        let expected = [Retry { failed: note, again: failed }, Retry { failed, again }];
        assert_eq!(retries(&drawn.flow), expected);
    }
}
