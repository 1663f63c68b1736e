//! Steps that took far longer than their like in the same session.

use super::session::Session;
use super::tools::Role;
use super::{Basis, Finder, Finding};
use crate::duration::duration;
use crate::quantile::{median, quantile};
use std::collections::BTreeMap;
use unspool_model::StepKind;

pub(super) const FINDER: Finder = Finder {
    code: "slow_step",
    sentence: "A step took far longer than the other calls of the same tool or model in the session.",
    rests_on: Basis::Steps,
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
        // A change of a file takes no time: a slow one waited for a person to allow it.
        let waits = is_tool && matches!(session.role(n), Role::Ask | Role::Poll | Role::Spawn | Role::Write);
        let waits = waits || session.is_refused(n);
        if (is_tool || step.kind == StepKind::ModelCall) && !waits {
            let name = session.text.get(if is_tool { step.name } else { step.model });
            if let Some(ms) = step.duration_ms.get() {
                like.entry((is_tool, name)).or_default().push((ms, n));
            }
        }
    }
    let mut found = Vec::new();
    for ((is_tool, name), mut steps) in like {
        steps.sort_unstable();
        if steps.len() < LEAST_LIKE {
            continue;
        }
        let [Some(q1), Some(middle), Some(q3)] =
            [25, 50, 75].map(|percent| quantile(&steps, percent).map(|(ms, _)| ms))
        else {
            continue;
        };
        let far = q3.saturating_add(q3.saturating_sub(q1).saturating_mul(3));
        let limit = far.max(middle.saturating_mul(TIMES)).max(LEAST_MS);
        let Some(pace) = usual_pace(session, is_tool, &steps) else { continue };
        let is_long = |n: u32, ms: i64| {
            let is_usual = |tokens: i64| ms <= tokens.saturating_mul(pace).saturating_mul(PACES);
            output(session, n).is_none_or(|tokens| tokens < LEAST_OUTPUT || is_usual(tokens))
        };
        let slow: Vec<(i64, u32)> = steps
            .iter()
            .rev()
            .copied()
            .take_while(|(ms, _)| *ms > limit)
            .filter(|(ms, n)| is_tool || !is_long(*n, *ms))
            .collect();
        for (ms, n) in slow.iter().take(MAX_SLOW_STEPS) {
            found.push(finding(session, name, *n, *ms, middle, slow.len()));
        }
    }
    found
}

/// How many times the usual pace of a model; a long answer takes long.
const PACES: i64 = 3;

/// Answers of fewer tokens say too little about a model's pace.
const LEAST_OUTPUT: i64 = 20;
/// No answer that asks for a call has so few tokens: clients note them while the answer still streams in. Where a quarter of such
/// answers have no more, tokens are not counted to the end.
const PLACEHOLDER: i64 = 8;

/// Tokens of an answer; none where nobody says.
fn output(session: &Session<'_>, n: u32) -> Option<i64> {
    let usage = session.flow.usage_of(session.step(n))?;
    i64::try_from(usage.output.saturating_add(usage.reasoning))
        .ok()
        .filter(|tokens| (1..1 << 32).contains(tokens))
}

/// Milliseconds per token of output, as half of the calls have it or less; 0 for tools. None where tokens cannot be believed:
/// then nothing tells a slow answer from a long one.
fn usual_pace(session: &Session<'_>, is_tool: bool, steps: &[(i64, u32)]) -> Option<i64> {
    if is_tool {
        return Some(0);
    }
    let asking = steps.iter().filter(|(_, n)| session.asks(*n));
    let mut outputs: Vec<i64> = asking.filter_map(|(_, n)| output(session, *n)).collect();
    outputs.sort_unstable();
    if quantile(&outputs, 25).is_some_and(|tokens| tokens <= PLACEHOLDER) {
        return None;
    }
    median(steps.iter().filter_map(|(ms, n)| output(session, *n).map(|tokens| ms / tokens)).collect())
}

fn finding(session: &Session<'_>, name: &str, n: u32, ms: i64, usual: i64, slow: usize) -> Finding {
    let more = match slow.saturating_sub(MAX_SLOW_STEPS) {
        0 => String::new(),
        more => format!(" ({more} more slow ones are not told of)"),
    };
    let is_tool = session.step(n).kind == StepKind::ToolCall;
    let title = format!(
        "{name} took {}{}, its usual time in this session is {}{more}: {}",
        duration(ms),
        if is_tool { " (with waiting to be allowed)" } else { "" },
        duration(usual),
        session.given_text(n)
    );
    Finding { title: title.trim_end_matches([' ', ':']).to_string(), steps: vec![n], cost: session.own(n) }
}
