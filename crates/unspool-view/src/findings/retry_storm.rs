//! The same thing tried again and again, and failing.

use super::cost::Cost;
use super::session::Session;
use super::tools::Role;
use super::{Basis, Finder, Finding};
use crate::retries::is_attempt_at_model;
use rustc_hash::FxHashMap;
use unspool_model::flow::NONE;
use unspool_model::{Step, StepKind, Sym};

pub(super) const FINDER: Finder = Finder {
    code: "retry_storm",
    sentence: "A tool or a model failed at least three times in a row, and nothing was done about it in between.",
    rests_on: Basis::Order,
    find,
};

/// Fewer failures in a row are everyday.
const LEAST: usize = 3;

/// Failures of each thing since it last worked.
type Streaks = FxHashMap<(StepKind, Sym), Vec<u32>>;

fn find(session: &Session<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for timeline in &session.timelines {
        let (mut of_commands, mut of_others) = (Streaks::default(), Streaks::default());
        for n in timeline.iter().copied().filter(|n| !session.is_refused(*n)) {
            let step = session.step(n);
            // A command that fails, a change, and the command once more: that is work. And what a person says begins anew.
            let is_said = step.kind == StepKind::UserMessage;
            let role = if step.kind == StepKind::ToolCall { session.role(n) } else { Role::Other };
            if is_said || (role == Role::Write && !step.is_error) {
                close(session, &mut of_commands, &mut found);
            }
            if is_said {
                close(session, &mut of_others, &mut found);
            }
            let Some(what) = what(step) else { continue };
            let streaks = if role == Role::Shell { &mut of_commands } else { &mut of_others };
            if step.is_error {
                streaks.entry(what).or_default().push(n);
            } else if let Some(failed) = streaks.remove(&what) {
                found.extend(finding(session, failed));
            }
        }
        of_commands.extend(of_others);
        close(session, &mut of_commands, &mut found);
    }
    found
}

/// Ends all streaks, the one that began first before the others.
fn close(session: &Session<'_>, streaks: &mut Streaks, found: &mut Vec<Finding>) {
    let mut ended: Vec<Vec<u32>> = streaks.drain().map(|(_, failed)| failed).collect();
    ended.sort_unstable();
    found.extend(ended.into_iter().filter_map(|failed| finding(session, failed)));
}

/// What is tried: a tool, or a model whatever its name.
fn what(step: &Step) -> Option<(StepKind, Sym)> {
    match step.kind {
        _ if is_attempt_at_model(step) => Some((StepKind::ModelCall, Sym::EMPTY)),
        StepKind::ToolCall => Some((step.kind, step.name)),
        _ => None,
    }
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
