//! What a compaction lost: reads and lookups that had to be made again after it.

use super::session::{Given, Session};
use super::{Basis, Finder, Finding};
use rustc_hash::FxHashMap;
use unspool_model::StepKind;

pub(super) const FINDER: Finder = Finder {
    code: "compaction_loss",
    sentence: "The context was compacted, and what had been read before was read again after.",
    rests_on: Basis::Order,
    find,
};

fn find(session: &Session<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for timeline in &session.timelines {
        let mut before: FxHashMap<Given, u32> = FxHashMap::default();
        let mut since: FxHashMap<Given, u32> = FxHashMap::default();
        let mut compaction = None;
        let mut again: Vec<u32> = Vec::new();
        for (place, n) in timeline.iter().copied().enumerate() {
            if session.step(n).kind == StepKind::Compaction {
                found.extend(finding(session, timeline, compaction, std::mem::take(&mut again)));
                before.extend(since.drain());
                compaction = Some(place);
                continue;
            }
            if session.step(n).kind != StepKind::ToolCall || session.role(n).may_change() {
                continue;
            }
            let Some(given) = session.given(n).filter(|_| !session.role(n).repeats_on_purpose()) else {
                continue;
            };
            if before.contains_key(&given) && !since.contains_key(&given) {
                again.push(n);
            }
            since.insert(given, n);
        }
        found.extend(finding(session, timeline, compaction, again));
    }
    found
}

fn finding(
    session: &Session<'_>,
    timeline: &[u32],
    compaction: Option<usize>,
    again: Vec<u32>,
) -> Option<Finding> {
    let place = compaction.filter(|_| !again.is_empty())?;
    let context = |n: &u32| session.context(*n);
    let before = timeline[..place].iter().rev().find_map(context);
    let after = timeline[place..].iter().find_map(context);
    let size = match (before, after) {
        (Some(before), Some(after)) if after < before => format!("from {before} to {after} tokens"),
        _ => "to an unknown size".into(),
    };
    let title = format!(
        "The context was compacted {size}, and {} of what had been looked up before {} looked up again",
        again.len(),
        if again.len() == 1 { "was" } else { "were" }
    );
    let cost = session.cost_of_calls(&again);
    let steps = std::iter::once(timeline[place]).chain(again).collect();
    Some(Finding { title, steps, cost })
}
