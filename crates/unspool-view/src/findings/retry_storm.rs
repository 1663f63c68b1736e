//! The same thing tried again and again, and failing.

use super::cost::Cost;
use super::{Finder, Finding, session::Session};
use unspool_model::{Step, StepKind, Sym};

pub(super) const FINDER: Finder =
    Finder { code: "retry_storm", sentence: "A tool or a model failed at least three times in a row.", find };

/// Fewer failures in a row are everyday.
const LEAST: usize = 3;

fn find(session: &Session<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for timeline in &session.timelines {
        let mut open: Vec<((StepKind, Sym), Vec<u32>)> = Vec::new();
        for n in timeline.iter().copied() {
            let Some(what) = what(session.step(n)) else { continue };
            let slot = match open.iter().position(|(other, _)| *other == what) {
                Some(slot) => slot,
                None => {
                    open.push((what, Vec::new()));
                    open.len() - 1
                }
            };
            if session.step(n).is_error {
                open[slot].1.push(n);
            } else {
                found.extend(finding(session, std::mem::take(&mut open[slot].1)));
            }
        }
        found.extend(open.into_iter().filter_map(|(_, failed)| finding(session, failed)));
    }
    found
}

/// What is tried: a tool, or a model whatever its name; a client notes failed attempts at a model as its own messages.
fn what(step: &Step) -> Option<(StepKind, Sym)> {
    match step.kind {
        StepKind::ToolCall => Some((step.kind, step.name)),
        StepKind::ModelCall => Some((StepKind::ModelCall, Sym::EMPTY)),
        StepKind::System if step.is_error => Some((StepKind::ModelCall, Sym::EMPTY)),
        _ => None,
    }
}

fn finding(session: &Session<'_>, failed: Vec<u32>) -> Option<Finding> {
    let first = *failed.first().filter(|_| failed.len() >= LEAST)?;
    let is_tool = session.step(first).kind == StepKind::ToolCall;
    let cost = if is_tool {
        session.cost_of_calls(&failed[1..])
    } else {
        let mut sum = Cost::default();
        failed.iter().for_each(|n| sum.add(session.own(*n)));
        sum
    };
    let who = if is_tool { session.name(first) } else { "The model" };
    let error = session.text.get(session.flow.error_of(first as usize));
    let why = if error.is_empty() { String::new() } else { format!(": {error}") };
    Some(Finding { title: format!("{who} failed {} times in a row{why}", failed.len()), steps: failed, cost })
}
