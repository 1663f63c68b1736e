//! Dependencies that a step's source states itself. By the names the source gave its steps.
//!
//! A name that no step bears is an issue, and so is a circle. Both are shown as they are: nothing here decides the order
//! of steps, so nothing hangs on dependencies being sound.

use crate::draft::{Draft, exact};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use unspool_model::flow::NONE;
use unspool_model::{Code, EdgeKind, KeyKind, RecordIx, Role, Rule, StepKind, Sym};

/// Who depends on whom, with the records that say so: effect, cause.
type Stated = BTreeMap<(u32, u32), Vec<RecordIx>>;

pub(crate) fn link(draft: &mut Draft<'_>) {
    if !draft.corpus.has_names {
        return;
    }
    let steps = named_steps(draft);
    let (stated, missing) = stated(draft, &steps);
    for (name, record) in missing {
        draft.issue(Code::DependencyMissing, name, Some(record));
    }
    for circle in circles(draft.steps.len(), &stated) {
        // The first of them in order stands for all.
        let first = circle.iter().copied().min_by_key(|n| draft.place_of(&draft.steps[*n as usize]));
        if let Some(first) = first {
            let (name, record) =
                (draft.native_id_of(&draft.steps[first as usize]), draft.first_record(first));
            draft.issue(Code::DependencyCycle, name, Some(record));
        }
    }
    for ((to, from), records) in &stated {
        draft.add_edge(exact(*from, *to, EdgeKind::DependsOn, Rule::DeclaredDependency), records);
        choose_caller(draft, *from, *to);
    }
}

/// A call that depends on an answer of a model was asked for by it; of several, by the last one before it.
fn choose_caller(draft: &mut Draft<'_>, from: u32, to: u32) {
    let (cause, effect) = (&draft.steps[from as usize], &draft.steps[to as usize]);
    let fits = cause.kind == StepKind::ModelCall
        && effect.kind == StepKind::ToolCall
        && cause.agent == effect.agent
        && draft.place_of(cause) < draft.place_of(effect);
    let later =
        effect.caller == NONE || draft.place_of(&draft.steps[effect.caller as usize]) < draft.place_of(cause);
    if fits && later {
        draft.steps[to as usize].caller = from;
    }
}

/// The step each name leads to.
fn named_steps(draft: &Draft<'_>) -> FxHashMap<Sym, u32> {
    let mut steps = FxHashMap::default();
    for at in 0..draft.group.events.len() {
        if let Some(name) = draft.key(at, KeyKind::Step, Role::Provides)
            && draft.event_step[at] != NONE
        {
            steps.entry(name).or_insert(draft.event_step[at]);
        }
    }
    steps
}

/// What depends on what, and the names that lead nowhere, each with the first record that says so.
fn stated(draft: &Draft<'_>, steps: &FxHashMap<Sym, u32>) -> (Stated, Vec<(Sym, RecordIx)>) {
    let (mut found, mut missing) = (Stated::new(), Vec::new());
    let mut noted: FxHashSet<(u32, Sym)> = FxHashSet::default();
    for at in 0..draft.group.events.len() {
        let (event, to) = (draft.event(at), draft.event_step[at]);
        let own = draft.key(at, KeyKind::Step, Role::Provides);
        for key in draft.corpus.batch.keys_of(event) {
            if key.kind != KeyKind::Step || key.role != Role::Refers || to == NONE {
                continue;
            }
            let name = key.value;
            match steps.get(&name) {
                // A result that is part of its call does not depend on itself.
                Some(from) if *from == to && own != Some(name) => {}
                Some(from) => found.entry((to, *from)).or_default().push(event.record),
                None if !noted.insert((to, name)) => {}
                None => missing.push((name, event.record)),
            }
        }
    }
    (found, missing)
}

/// The steps of each circle of dependencies: sets in which every step leads to every other, or to itself. Tarjan's walk
/// with a stack of its own, because a chain of dependencies may be long.
fn circles(count: usize, stated: &Stated) -> Vec<Vec<u32>> {
    let cause_from = |step: u32, least: u32| {
        stated.range((step, least)..=(step, u32::MAX)).next().map(|((_, from), _)| *from)
    };
    let mut order = vec![0_u32; count];
    let mut lowest = vec![0_u32; count];
    let mut open = vec![false; count];
    let (mut path, mut walk, mut found) = (Vec::new(), Vec::new(), Vec::new());
    let mut next = 1;
    for start in stated.keys().map(|(to, _)| *to) {
        if order[start as usize] == 0 {
            walk.push((start, 0));
        }
        while let Some((step, least)) = walk.pop() {
            let n = step as usize;
            if order[n] == 0 {
                (order[n], lowest[n], open[n]) = (next, next, true);
                next += 1;
                path.push(step);
            }
            if let Some(cause) = cause_from(step, least) {
                walk.push((step, cause + 1));
                if order[cause as usize] == 0 {
                    walk.push((cause, 0));
                } else if open[cause as usize] {
                    lowest[n] = lowest[n].min(order[cause as usize]);
                }
                continue;
            }
            if let Some((above, _)) = walk.last() {
                lowest[*above as usize] = lowest[*above as usize].min(lowest[n]);
            }
            if lowest[n] == order[n] {
                let from = path.iter().rposition(|other| *other == step).unwrap_or(0);
                let circle = path.split_off(from);
                for member in &circle {
                    open[*member as usize] = false;
                }
                if circle.len() > 1 || stated.contains_key(&(step, step)) {
                    found.push(circle);
                }
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{Stated, circles};

    fn of(pairs: &[(u32, u32)]) -> Vec<Vec<u32>> {
        let stated: Stated = pairs.iter().map(|pair| (*pair, Vec::new())).collect();
        let mut found = circles(100_001, &stated);
        for circle in &mut found {
            circle.sort_unstable();
        }
        found.sort();
        found
    }

    #[test]
    fn circles_are_found_and_what_leads_to_them_is_not_in_them() {
        assert!(of(&[(1, 0), (2, 0), (3, 1), (3, 2)]).is_empty(), "a diamond is no circle");
        assert_eq!(of(&[(1, 0), (0, 1), (2, 1), (0, 5)]), [[0, 1]]);
        assert_eq!(of(&[(4, 4), (5, 4)]), [[4]]);
        assert_eq!(of(&[(0, 1), (1, 2), (2, 0), (3, 4), (4, 3), (2, 3)]), vec![vec![0, 1, 2], vec![3, 4]]);
    }

    #[test]
    fn long_chains_and_wide_fans_take_no_stack() {
        let mut chain: Vec<(u32, u32)> = (0..100_000).map(|n| (n, n + 1)).collect();
        assert!(of(&chain).is_empty());
        chain.push((100_000, 0));
        assert_eq!(of(&chain)[0].len(), 100_001);
    }
}
