//! The same thing tried again and again, and failing.

use super::cost::Cost;
use super::session::Session;
use super::tools::Role;
use super::{Finder, Finding};
use crate::retries::is_attempt_at_model;
use unspool_model::flow::NONE;
use unspool_model::{Step, StepKind, Sym};

pub(super) const FINDER: Finder = Finder {
    code: "retry_storm",
    sentence: "A tool or a model failed at least three times in a row, and nothing was done about it in between.",
    find,
};

/// Fewer failures in a row are everyday.
const LEAST: usize = 3;

/// Failures of one thing since it last worked.
type Streak = ((StepKind, Sym), Vec<u32>);

fn find(session: &Session<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for timeline in &session.timelines {
        let mut streaks: Vec<Streak> = Vec::new();
        for n in timeline.iter().copied().filter(|n| !session.is_refused(*n)) {
            for streak in streaks.iter_mut().filter(|streak| begins_anew(session, n, streak)) {
                found.extend(finding(session, std::mem::take(&mut streak.1)));
            }
            let Some(what) = what(session.step(n)) else { continue };
            let known = streaks.iter().position(|(other, _)| *other == what);
            let slot = known.unwrap_or(streaks.len());
            if known.is_none() {
                streaks.push((what, Vec::new()));
            }
            if session.step(n).is_error {
                streaks[slot].1.push(n);
            } else {
                found.extend(finding(session, std::mem::take(&mut streaks[slot].1)));
            }
        }
        found.extend(streaks.into_iter().filter_map(|(_, failed)| finding(session, failed)));
    }
    found
}

/// What is tried: a tool, or a model whatever its name.
fn what(step: &Step) -> Option<(StepKind, Sym)> {
    match step.kind {
        _ if is_attempt_at_model(step) => Some((StepKind::ModelCall, Sym::EMPTY)),
        StepKind::ToolCall => Some((step.kind, step.name)),
        _ => None,
    }
}

/// A command that fails, a change, and the command once more: that is work. And what a person says begins anew.
fn begins_anew(session: &Session<'_>, n: u32, (_, failed): &Streak) -> bool {
    let step = session.step(n);
    let Some(first) = failed.first() else { return false };
    let is_change = step.kind == StepKind::ToolCall && session.role(n) == Role::Write && !step.is_error;
    (is_change && session.role(*first) == Role::Shell) || step.kind == StepKind::UserMessage
}

fn finding(session: &Session<'_>, failed: Vec<u32>) -> Option<Finding> {
    let first = *failed.first().filter(|_| failed.len() >= LEAST)?;
    let is_tool = session.step(first).kind == StepKind::ToolCall;
    let mut callers: Vec<u32> = failed.iter().map(|call| session.caller(*call)).collect();
    callers.dedup();
    if is_tool && callers.len() < LEAST && !callers.contains(&NONE) {
        // Calls of one answer fail together, not one after the other.
        return None;
    }
    let cost = if is_tool {
        session.cost_of_calls(&failed[1..])
    } else {
        let mut sum = Cost::default();
        for n in &failed {
            sum.add(session.own(*n));
        }
        sum
    };
    let who = if is_tool { session.name(first) } else { "The model" };
    let error = session.text.get(session.flow.error_of(first as usize));
    let why = if error.is_empty() { String::new() } else { format!(": {error}") };
    let same = failed.iter().filter(|n| is_tool && session.is_retry(**n)).count();
    let same = if same > 0 { format!(" ({same} of them the same call again)") } else { String::new() };
    let title = format!("{who} failed {} times in a row{same}{why}", failed.len());
    Some(Finding { title, steps: failed, cost })
}
