//! Steps that took far longer than their like in the same session.

use super::session::Session;
use super::tools::Role;
use super::{Finder, Finding};
use std::collections::BTreeMap;
use unspool_model::StepKind;

pub(super) const FINDER: Finder = Finder {
    code: "slow_step",
    sentence: "A step took far longer than the other calls of the same tool or model in the session.",
    find,
};

/// With fewer of its like nothing can be said.
const LEAST_LIKE: usize = 8;
/// Shorter steps are not worth a word.
const LEAST_MS: i64 = 20_000;
/// How many times the usual.
const TIMES: i64 = 5;
/// Steps told of per tool or model: the slowest.
const MAX_SLOW_STEPS: usize = 3;

fn find(session: &Session<'_>) -> Vec<Finding> {
    let mut like: BTreeMap<(bool, &str), Vec<(i64, u32)>> = BTreeMap::new();
    for (n, step) in (0_u32..).zip(&session.flow.steps) {
        let is_tool = step.kind == StepKind::ToolCall;
        let waits = is_tool && matches!(session.role(n), Role::Ask | Role::Poll | Role::Spawn);
        if (is_tool || step.kind == StepKind::ModelCall) && !waits {
            let name = session.text.get(if is_tool { step.name } else { step.model });
            if let Some(ms) = step.duration_ms.get() {
                like.entry((is_tool, name)).or_default().push((ms, n));
            }
        }
    }
    let mut found = Vec::new();
    for ((_, name), mut steps) in like {
        steps.sort_unstable();
        if steps.len() < LEAST_LIKE {
            continue;
        }
        let rank = |quarter: usize| steps[(steps.len() * quarter / 4).min(steps.len() - 1)].0;
        let (q1, median, q3) = (rank(1), rank(2), rank(3));
        let limit = (q3 + 3 * (q3 - q1)).max(median.saturating_mul(TIMES)).max(LEAST_MS);
        let slow: Vec<(i64, u32)> = steps.iter().rev().copied().take_while(|(ms, _)| *ms > limit).collect();
        for (ms, n) in slow.iter().take(MAX_SLOW_STEPS) {
            found.push(finding(session, name, *n, *ms, median, slow.len()));
        }
    }
    found
}

fn finding(session: &Session<'_>, name: &str, n: u32, ms: i64, median: i64, slow: usize) -> Finding {
    let more = match slow.saturating_sub(MAX_SLOW_STEPS) {
        0 => String::new(),
        more => format!(" ({more} more slow ones are not told of)"),
    };
    let seconds = |ms: i64| format!("{}.{} s", ms / 1000, ms % 1000 / 100);
    let title = format!(
        "{name} took {}, its usual time in this session is {}{more}: {}",
        seconds(ms),
        seconds(median),
        session.given_text(n)
    );
    Finding { title: title.trim_end_matches([' ', ':']).to_string(), steps: vec![n], cost: session.own(n) }
}
