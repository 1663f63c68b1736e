//! Small flows for tests, one word per step.

use unspool_model::flow::{Millis, NONE};
use unspool_model::{Agent, Batch, Flow, Id, Run, Step, StepKind, Sym, Timestamp};

/// A step of a kind and name (`tool:Bash`), `!` behind a failed one, words behind a space as its preview.
pub(crate) fn step(batch: &mut Batch, word: &str, n: usize) -> Step {
    let (word, preview) = word.split_once(' ').unwrap_or((word, ""));
    let (word, is_error) = word.strip_suffix('!').map_or((word, false), |word| (word, true));
    let (kind, name) = word.split_once(':').unwrap_or((word, ""));
    let kind = match kind {
        "model" => StepKind::ModelCall,
        "tool" => StepKind::ToolCall,
        "start" => StepKind::AgentStart,
        "user" => StepKind::UserMessage,
        _ => StepKind::Generic,
    };
    let second = i64::try_from(n).unwrap_or(0) * 1_000;
    let name = batch.text.intern(name);
    Step {
        id: Id::of(&[&n.to_le_bytes()]),
        started: Timestamp::from_ms(second),
        ended: Timestamp::from_ms(second + 500),
        duration_ms: Millis::new(Some(500)),
        agent: 0,
        run: 0,
        parent: if n == 0 { NONE } else { 0 },
        name,
        model: if kind == StepKind::ModelCall { name } else { Sym::EMPTY },
        preview: batch.text.intern(preview),
        kind,
        is_error,
        ..Step::default()
    }
}

/// A main agent with these steps in one run.
pub(crate) fn flow(batch: &mut Batch, words: &[&str]) -> Flow {
    let steps: Vec<Step> = words.iter().enumerate().map(|(n, word)| step(batch, word, n)).collect();
    let main = Agent {
        main: true,
        parent: NONE,
        last_step: u32::try_from(steps.len()).unwrap_or(1) - 1,
        ..Agent::default()
    };
    Flow { agents: vec![main], runs: vec![Run::default()], steps, ..Flow::default() }
}
