//! Which calls are worth weighing for which agent. In an ordinary session all are; in a huge one only those that share
//! a prompt, an answer, a summary or a type with the agent, so that cost does not grow with the square of its size.

use super::spawn_inference::{Call, Child};
use crate::draft::Draft;
use crate::limits::MAX_WEIGHED_PAIRS;
use rustc_hash::FxHashMap;
use unspool_model::Sym;

/// Calls after an agent's start that are weighed all the same: clocks disagree.
const AFTER_START: usize = 8;

/// Which calls are worth weighing for an agent.
pub(super) enum Candidates {
    /// All of them: there are few.
    All(usize),
    /// By what they share with the agent, in order of time; of many, the nearest before it.
    Shared { by_key: FxHashMap<Sym, Vec<usize>>, by_kind: FxHashMap<Sym, Vec<usize>>, most: usize },
}

impl Candidates {
    pub(super) fn new(draft: &Draft<'_>, children: &[Child], calls: &[Call]) -> Candidates {
        if children.len().saturating_mul(calls.len()) <= MAX_WEIGHED_PAIRS {
            return Candidates::All(calls.len());
        }
        let mut order: Vec<usize> = (0..calls.len()).collect();
        unspool_model::sort_by_meaning(&mut order, |s| draft.place_of(&draft.steps[calls[*s].step as usize]));
        let (mut by_key, mut by_kind): (FxHashMap<Sym, Vec<usize>>, FxHashMap<Sym, Vec<usize>>) =
            Default::default();
        for s in order {
            let call = &calls[s];
            for key in
                [call.prompt, call.description].iter().chain(&call.answers).filter(|key| !key.is_empty())
            {
                by_key.entry(*key).or_default().push(s);
            }
            by_kind.entry(call.kind).or_default().push(s);
        }
        Candidates::Shared { by_key, by_kind, most: draft.table.max_joint_assignment }
    }

    /// Whether some calls are not weighed for some agents.
    pub(super) fn are_limited(&self) -> bool {
        matches!(self, Candidates::Shared { .. })
    }

    pub(super) fn of(&self, child: &Child, calls: &[Call]) -> Vec<usize> {
        let Candidates::Shared { by_key, by_kind, most } = self else {
            let Candidates::All(len) = self else { return Vec::new() };
            return (0..*len).collect();
        };
        let nearest = |list: &[usize]| {
            let before = list.partition_point(|s| calls[*s].called <= child.start);
            let end = (before + AFTER_START).min(list.len());
            list[end.saturating_sub(*most)..end].to_vec()
        };
        let keys = child.prompts.iter().chain(&child.answers).chain([&child.summary]);
        let mut found: Vec<usize> =
            keys.filter_map(|key| by_key.get(key)).flat_map(|list| nearest(list)).collect();
        if child.prompts.is_empty() || found.is_empty() {
            found.extend(by_kind.get(&child.kind).into_iter().flat_map(|list| nearest(list)));
        }
        found.sort_unstable();
        found.dedup();
        found
    }
}
