//! One result that filled the context, and was carried along from there.

use super::cost::Cost;
use super::session::Session;
use super::{Basis, Finder, Finding};
use unspool_model::StepKind;

pub(super) const FINDER: Finder = Finder {
    code: "context_growth",
    sentence: "What came in between two model calls made the context much larger, and later calls carried it along.",
    rests_on: Basis::Order,
    find,
};

/// Growth below this is everyday.
const LEAST_TOKENS: u64 = 10_000;
/// Growth by less than half of what was there before is everyday, too.
const LEAST_PART: u64 = 2;
/// Tokens over all calls that carried it; with fewer, it hardly matters.
const LEAST_CARRIED: u64 = 100_000;

fn find(session: &Session<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for timeline in &session.timelines {
        let contexts: Vec<(usize, u64)> = timeline
            .iter()
            .enumerate()
            .filter_map(|(place, n)| session.context(*n).map(|tokens| (place, tokens)))
            .collect();
        for (at, pair) in contexts.windows(2).enumerate() {
            let ((from, before), (to, after)) = (pair[0], pair[1]);
            let output = session.flow.usage_of(session.step(timeline[from])).map_or(0, |usage| usage.output);
            let grown = after.saturating_sub(before).saturating_sub(output);
            if grown < LEAST_TOKENS || grown < before / LEAST_PART {
                continue;
            }
            let calls = carried(&contexts[at + 1..], after);
            let between: Vec<u32> = timeline[from + 1..to]
                .iter()
                .copied()
                .filter(|n| matches!(session.step(*n).kind, StepKind::ToolCall | StepKind::UserMessage))
                .collect();
            if grown.saturating_mul(calls) >= LEAST_CARRIED && !between.is_empty() {
                found.push(finding(session, between, grown, calls));
            }
        }
    }
    found
}

/// Model calls until the context is smaller again.
fn carried(contexts: &[(usize, u64)], after: u64) -> u64 {
    contexts.iter().take_while(|(_, tokens)| *tokens >= after / 10 * 9).count() as u64
}

fn finding(session: &Session<'_>, between: Vec<u32>, grown: u64, calls: u64) -> Finding {
    let tools: Vec<u32> =
        between.iter().copied().filter(|n| session.step(*n).kind == StepKind::ToolCall).collect();
    let who = match tools.as_slice() {
        [] => "A message".to_string(),
        [one] => format!("One result of {}", session.name(*one)),
        several => format!("{} results at once ({}, …)", several.len(), session.name(several[0])),
    };
    let title =
        format!("{who} added about {grown} tokens to the context, which {calls} model calls were given");
    Finding { title, steps: between, cost: Cost::of_tokens(grown.saturating_mul(calls)) }
}
