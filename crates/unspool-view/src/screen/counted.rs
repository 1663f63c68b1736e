//! Why the tokens of a step are counted as they are.

use unspool_model::{Batch, Code, Flow, Step, StepKind};

/// What may have become of the tokens that records report.
const ABOUT_TOKENS: &[Code] = &[
    Code::UsageConflict,
    Code::UsageUnsplit,
    Code::UsageDisagreement,
    Code::UsageOfWrapper,
    Code::FusedByTokens,
    Code::FusedByOverlap,
    Code::StreamInterrupted,
    Code::ResponseMissing,
];

/// Sentences about where a step's tokens come from, and why they are counted once.
pub(super) fn why_counted(flow: &Flow, batch: &Batch, step: &Step, is_priced: bool) -> Vec<String> {
    let witnesses = flow.witnesses_of(step);
    let mut said = Vec::new();
    match flow.usage_of(step) {
        None if step.kind == StepKind::ModelCall => {
            said.push("None of its records says how many tokens it took. That is unknown, not nothing: no sum has it.".into());
        }
        None => {}
        Some(_) => {
            let mut formats: Vec<&str> =
                witnesses.iter().map(|record| batch.text.get(batch.stream_of(*record).format)).collect();
            formats.sort_unstable();
            formats.dedup();
            let records = witnesses.len();
            said.push(match records {
                0 => "Its source states them.".into(),
                1 => format!("One record of {} states them.", formats.join(", ")),
                _ => format!(
                    "{records} records of {} tell of it; however many repeat its tokens, they count once.",
                    formats.join(", ")
                ),
            });
            if step.kind != StepKind::ModelCall {
                said.push(
                    "It is no model call; nothing inside it reports these tokens, so they count here.".into(),
                );
            }
            let model = batch.text.get(step.model);
            said.push(match (is_priced, model) {
                (true, _) => format!("Priced as {model}, with the price of the day it ended."),
                (false, "") => "No record names its model, so that it has no price.".into(),
                (false, _) => format!("{model} has no price; the cost is left open rather than guessed."),
            });
        }
    }
    let concerns = flow.issues.iter().filter(|issue| ABOUT_TOKENS.contains(&issue.code));
    let concerns = concerns.filter(|issue| issue.records.iter().any(|record| witnesses.contains(record)));
    said.extend(concerns.map(|issue| issue.code.sentence().to_string()));
    said
}

#[cfg(test)]
mod tests {
    use super::why_counted;
    use crate::drawn::Drawn;
    use unspool_model::Usage;

    #[test]
    fn tokens_that_nobody_states_are_unknown() {
        let mut drawn = Drawn::of_words(&["user", "model:opus", "tool:Bash"]);
        let said =
            |drawn: &Drawn, n: usize| why_counted(&drawn.flow, &drawn.batch, &drawn.flow.steps[n], false);
        assert!(said(&drawn, 0).is_empty() && said(&drawn, 2).is_empty());
        assert!(said(&drawn, 1)[0].contains("not nothing"));
        drawn.usage(1, Usage { input: 1, ..Usage::default() });
        drawn.usage(2, Usage { input: 1, ..Usage::default() });
        assert_eq!(
            said(&drawn, 1),
            ["Its source states them.", "opus has no price; the cost is left open rather than guessed."]
        );
        assert!(said(&drawn, 2)[1].starts_with("It is no model call"));
    }
}
