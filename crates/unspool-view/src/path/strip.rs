//! The path of a session as a strip of so many pixels: its sums, what each pixel was mostly spent on, and the steps on it.
//!
//! In: a flow and a width. Out: as much as can be seen; the whole path may have more parts than the session has steps. Never here: a colour.

use super::class::Class;
use super::doc::{Paths, Scope, ScopeDoc};
use super::moments::{is_begin, step_of};
use schemars::JsonSchema;
use serde::Serialize;
use unspool_model::flow::NONE;
use unspool_model::{Flow, Interner};

/// The path of a session in short.
#[derive(Serialize, JsonSchema)]
pub struct PathStripDoc {
    /// The session.
    pub session_id: String,
    /// Its sums.
    pub path: ScopeDoc,
    /// What its time was spent on, from its first moment to its last; of what shares a pixel, the most.
    pub strip: Vec<StripPartDoc>,
    /// Steps on the path: stretches of positions in the depth-first order of the tree, the first and the last of each.
    pub on_path: Vec<[u32; 2]>,
}

/// A stretch of time.
#[derive(Serialize, JsonSchema, Debug, PartialEq, Eq)]
pub struct StripPartDoc {
    /// Milliseconds since the path's first moment.
    pub at_ms: i64,
    /// How long.
    pub ms: i64,
    /// What it was mostly spent on.
    pub class: &'static str,
}

/// The path of a session as a strip of so many pixels.
pub fn path_strip(flow: &Flow, text: &Interner, px: u32) -> PathStripDoc {
    let paths = Paths::new(flow, text);
    let network = paths.network(Scope::Session);
    let path = network.critical();
    let pieces = || path.iter().flat_map(|slot| network.pieces_of(*slot)).filter(|piece| piece.ms > 0);
    let ends = path.iter().map(|slot| network.moments[*slot as usize]).filter(|moment| !is_begin(*moment));
    let workers = pieces().map(|piece| piece.worker).filter(|worker| *worker != NONE);
    let mut steps: Vec<u32> = ends.map(step_of).chain(workers).collect();
    steps.sort_unstable();
    steps.dedup();
    PathStripDoc {
        session_id: flow.session.id.show('x'),
        strip: strip(pieces().map(|piece| (piece.at, piece.ms, piece.class)), network.wall, px),
        path: paths.sums(Scope::Session, &network, &path),
        on_path: stretches(steps.into_iter()),
    }
}

/// Sorted numbers as the first and last of each stretch without a gap.
pub(crate) fn stretches(sorted: impl Iterator<Item = u32>) -> Vec<[u32; 2]> {
    let mut told: Vec<[u32; 2]> = Vec::new();
    for n in sorted {
        match told.last_mut() {
            Some([_, last]) if *last + 1 == n => *last = n,
            _ => told.push([n, n]),
        }
    }
    told
}

/// Stretches of pixels that are alike.
fn strip(pieces: impl Iterator<Item = (i64, i64, Class)>, wall_ms: i64, px: u32) -> Vec<StripPartDoc> {
    let columns = i64::from(px).clamp(1, wall_ms.max(1));
    let share = |of: i64, part: i64, whole: i64| {
        i64::try_from(i128::from(of) * i128::from(part) / i128::from(whole)).unwrap_or(i64::MAX)
    };
    let begin = |column: i64| share(wall_ms, column, columns);
    let place = |ms: i64| share(columns, ms, wall_ms.max(1));
    let mut spent = vec![[0_i64; Class::ALL.len()]; usize::try_from(columns).unwrap_or(1)];
    for (at, ms, class) in pieces {
        let end = (at + ms).min(wall_ms);
        let class = Class::ALL.iter().position(|one| *one == class).unwrap_or(0);
        for column in place(at).max(0)..=place(end).min(columns - 1) {
            let inside = end.min(begin(column + 1)) - at.max(begin(column));
            spent[usize::try_from(column).unwrap_or(0)][class] += inside.max(0);
        }
    }
    let mut told: Vec<StripPartDoc> = Vec::new();
    for (column, spent) in (0_i64..).zip(&spent) {
        let most = (0..spent.len()).rev().max_by_key(|class| spent[*class]).filter(|class| spent[*class] > 0);
        let Some(class) = most.map(|class| Class::ALL[class].name()) else { continue };
        let (from, to) = (begin(column), begin(column + 1));
        match told.last_mut() {
            Some(last) if last.class == class && last.at_ms + last.ms == from => last.ms += to - from,
            _ => told.push(StripPartDoc { at_ms: from, ms: to - from, class }),
        }
    }
    told
}

#[cfg(test)]
mod tests {
    use super::{StripPartDoc, path_strip, strip};
    use crate::drawn::Drawn;
    use crate::path::Class;

    fn part(at_ms: i64, ms: i64, class: &'static str) -> StripPartDoc {
        StripPartDoc { at_ms, ms, class }
    }

    #[test]
    fn a_pixel_is_what_it_was_mostly_spent_on() {
        let pieces = [(0, 10, Class::Model), (10, 25, Class::Tool), (35, 65, Class::Model)];
        let told = strip(pieces.into_iter(), 100, 1_000);
        assert_eq!(told, [part(0, 10, "model"), part(10, 25, "tool"), part(35, 65, "model")]);
        assert_eq!(strip(pieces.into_iter(), 100, 2), [part(0, 100, "model")]);
        assert_eq!(strip(std::iter::empty(), 0, 10), []);
    }

    #[test]
    fn a_strip_tells_the_steps_on_the_path() {
        let mut drawn = Drawn::new();
        drawn.input(0);
        let ask = drawn.model(0, (0, 10));
        let slow = drawn.tool(ask, "Bash", "", (10, 50));
        let quick = drawn.tool(ask, "Read", "", (11, 20));
        let answer = drawn.model(0, (50, 60));
        drawn.result(slow, answer);
        drawn.result(quick, answer);
        let told = path_strip(&drawn.flow, &drawn.batch.text, 600);
        assert_eq!(told.strip, [part(0, 10, "model"), part(10, 40, "tool"), part(50, 10, "model")]);
        assert!(told.on_path.iter().any(|[first, last]| (*first..=*last).contains(&slow)));
        assert!(!told.on_path.iter().any(|[first, last]| (*first..=*last).contains(&quick)));
        assert_eq!(told.path.wall_ms, 60);
    }
}
