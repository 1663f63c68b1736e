//! In which order nodes are written: causes first, one agent's work together, what ran side by side in one group.
//!
//! In: a picture. Out: groups of boxes with what leads to and from them, and the arrows that lead back.

use super::super::picture::Picture;
use crate::layout::turned;
use std::collections::{BTreeMap, BTreeSet};

/// Boxes with the same causes and effects.
pub(super) struct Group {
    pub(super) members: Vec<usize>,
    /// Numbers of later groups, and whether all ways there are guesses.
    pub(super) next: Vec<(usize, bool)>,
    /// Its own number.
    pub(super) number: usize,
}

pub(super) struct Sequence {
    pub(super) groups: Vec<Group>,
    /// For each box, where its arrows lead back to.
    pub(super) back: Vec<Vec<usize>>,
}

pub(super) fn sequence(picture: &Picture) -> Sequence {
    let count = picture.boxes.len();
    let known = picture.arrows.iter().filter(|arrow| arrow.from < count && arrow.to < count);
    let arrows: Vec<_> = known.filter(|arrow| arrow.from != arrow.to).collect();
    let pairs: Vec<(u32, u32)> = arrows
        .iter()
        .map(|arrow| (crate::layout::index(arrow.from), crate::layout::index(arrow.to)))
        .collect();
    let mut back = vec![Vec::new(); count];
    let mut causes: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); count];
    let mut effects: Vec<BTreeMap<usize, bool>> = vec![BTreeMap::new(); count];
    for (arrow, is_turned) in arrows.iter().zip(turned(count, &pairs)) {
        if is_turned {
            back[arrow.from].push(arrow.to);
        } else {
            if arrow.both_ways {
                back[arrow.to].push(arrow.from);
            }
            causes[arrow.to].insert(arrow.from);
            let is_guess = effects[arrow.from].entry(arrow.to).or_insert(true);
            *is_guess &= arrow.is_inferred;
        }
    }
    let groups = grouped(picture, &causes, &effects, &back);
    let mut group_of = vec![0; count];
    for (n, members) in groups.iter().enumerate() {
        for member in members {
            group_of[*member] = n;
        }
    }
    let order = ordered(picture, &groups, &group_of, &causes, &effects);
    let groups = order.into_iter().map(|n| {
        let first = groups[n][0];
        let mut next: BTreeMap<usize, bool> = BTreeMap::new();
        for (to, is_guess) in &effects[first] {
            *next.entry(group_of[*to]).or_insert(true) &= is_guess;
        }
        Group { members: groups[n].clone(), next: next.into_iter().collect(), number: n }
    });
    Sequence { groups: groups.collect(), back }
}

/// Boxes of one frame with the same causes, effects and ways back are one group.
fn grouped(
    picture: &Picture,
    causes: &[BTreeSet<usize>],
    effects: &[BTreeMap<usize, bool>],
    back: &[Vec<usize>],
) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut known = BTreeMap::new();
    for (n, part) in picture.boxes.iter().enumerate() {
        if !causes[n].is_empty() {
            let key = (part.frame, &causes[n], &effects[n], &back[n]);
            let at = *known.entry(key).or_insert(groups.len());
            if at < groups.len() {
                groups[at].push(n);
                continue;
            }
        }
        groups.push(vec![n]);
    }
    groups
}

/// Causes before effects; while there is a choice, the frame that was entered last goes on, else the earliest.
fn ordered(
    picture: &Picture,
    groups: &[Vec<usize>],
    group_of: &[usize],
    causes: &[BTreeSet<usize>],
    effects: &[BTreeMap<usize, bool>],
) -> Vec<usize> {
    let distinct =
        |boxes: &mut dyn Iterator<Item = usize>| boxes.map(|n| group_of[n]).collect::<BTreeSet<_>>();
    let mut waiting: Vec<usize> =
        groups.iter().map(|members| distinct(&mut causes[members[0]].iter().copied()).len()).collect();
    let frame = |group: usize| picture.boxes[groups[group][0]].frame;
    let mut ready: BTreeMap<Option<usize>, BTreeSet<usize>> = BTreeMap::new();
    let mut all_ready: BTreeSet<usize> = BTreeSet::new();
    let mut order = Vec::with_capacity(groups.len());
    for group in (0..groups.len()).filter(|group| waiting[*group] == 0) {
        ready.entry(frame(group)).or_default().insert(group);
        all_ready.insert(group);
    }
    // Frames that were entered, the last one last; each may be there more than once.
    let mut entered: Vec<Option<usize>> = Vec::new();
    while let Some(&earliest) = all_ready.first() {
        let mut next = None;
        while let Some(last) = entered.last() {
            next = ready.get(last).and_then(|ready| ready.first().copied());
            if next.is_some() {
                break;
            }
            entered.pop();
        }
        let next = next.unwrap_or(earliest);
        let current = frame(next);
        if entered.last() != Some(&current) {
            entered.push(current);
        }
        all_ready.remove(&next);
        if let Some(ready) = ready.get_mut(&current) {
            ready.remove(&next);
        }
        order.push(next);
        for effect in distinct(&mut effects[groups[next][0]].keys().copied()) {
            waiting[effect] -= 1;
            if waiting[effect] == 0 {
                ready.entry(frame(effect)).or_default().insert(effect);
                all_ready.insert(effect);
                if frame(effect) != current && lies_in(picture, frame(effect), current) {
                    entered.push(frame(effect));
                }
            }
        }
    }
    order
}

/// Whether a frame lies in another; all of them lie in none.
fn lies_in(picture: &Picture, frame: Option<usize>, outer: Option<usize>) -> bool {
    let above = std::iter::successors(frame, |at| picture.frames.get(*at).and_then(|frame| frame.parent));
    outer.is_none() || above.take(picture.frames.len()).any(|at| Some(at) == outer)
}
