//! Spans that are only moments of something: of a call that another span begins, or of what they lie in.
//!
//! In: the tree of spans. Out: each such span as one more witness of what it tells of; what lies in it lies in that. What became of
//! a call belongs to the last call of its course that began before it and has not been told the same of.

use super::Spans;
use crate::draft::{Draft, IssueDraft};
use rustc_hash::{FxHashMap, FxHashSet};
use unspool_model::flow::NONE;
use unspool_model::{AttrName, Code, EventFlags, KeyKind, Role, Sym, Timestamp};

/// When, of which course, by which span.
type Told = (Timestamp, Sym, u32);

impl Spans {
    /// Finds them; whether a span got another parent.
    pub(super) fn place_moments(
        &mut self,
        draft: &Draft<'_>,
        order: &[u32],
        issues: &mut Vec<IssueDraft>,
    ) -> bool {
        let mut of = self.ends_of_courses(draft, issues);
        for n in order {
            let node = &self.nodes[*n as usize];
            if draft.event(node.event as usize).flags.has(EventFlags::MOMENT) && node.parent != NONE {
                of.insert(*n, node.parent);
            }
        }
        if of.is_empty() {
            return false;
        }
        // A moment may lie in another; the order of a tree has an end.
        let whole = |mut n: u32| {
            for _ in 0..=of.len() {
                match of.get(&n) {
                    Some(next) => n = *next,
                    None => break,
                }
            }
            n
        };
        for n in 0..self.nodes.len() {
            let own = u32::try_from(n).unwrap_or(NONE);
            let told = whole(own);
            if told != own {
                let event = self.nodes[told as usize].event;
                self.twins.insert(self.nodes[n].event, event);
                self.nodes[n].is_echo = true;
                self.nodes[n].parent = told;
            } else if self.nodes[n].parent != NONE {
                self.nodes[n].parent = whole(self.nodes[n].parent);
            }
        }
        true
    }

    /// Whether a span is only a moment of the one it lies in.
    pub(super) fn is_moment(&self, n: u32) -> bool {
        let node = &self.nodes[n as usize];
        let around = self.nodes.get(node.parent as usize).map(|around| around.event);
        node.is_echo && around.is_some() && self.twins.get(&node.event).copied() == around
    }

    /// Spans that tell what became of something, and the spans that tell its beginning.
    fn ends_of_courses(&self, draft: &Draft<'_>, issues: &mut Vec<IssueDraft>) -> FxHashMap<u32, u32> {
        let mut of = FxHashMap::default();
        if !draft.corpus.batch.kinds.has(KeyKind::Course) {
            return of;
        }
        let (mut starts, mut ends): (Vec<Told>, Vec<Told>) = Default::default();
        for (n, node) in (0_u32..).zip(&self.nodes) {
            let at = node.event as usize;
            if let Some(course) = draft.key(at, KeyKind::Course, Role::Provides) {
                starts.push((draft.event(at).at, course, n));
            } else if let Some(course) = draft.key(at, KeyKind::Course, Role::Refers) {
                ends.push((draft.event(at).at, course, n));
            }
        }
        // Equal moments are told apart by the text of ids, not by where they lie.
        let id = |n: u32| draft.text(self.nodes[n as usize].id);
        for list in [&mut starts, &mut ends] {
            list.sort_by(|a, b| (a.0, id(a.2)).cmp(&(b.0, id(b.2))));
        }
        let mut begun: FxHashMap<Sym, Vec<(Timestamp, u32)>> = FxHashMap::default();
        for (at, course, n) in starts {
            begun.entry(course).or_default().push((at, n));
        }
        let mut told: FxHashSet<(u32, Sym)> = FxHashSet::default();
        for (at, course, n) in ends {
            let event = self.nodes[n as usize].event as usize;
            let word = draft.attr_text(event, AttrName::Status).unwrap_or_default();
            let starts = begun.get(&course).map(Vec::as_slice).unwrap_or_default();
            let mut open =
                starts.iter().rev().filter(|(began, start)| *began <= at && !told.contains(&(*start, word)));
            let (Some((_, start)), is_only) = (open.next(), open.next().is_none()) else { continue };
            if !is_only {
                let record = Some(draft.event(event).record);
                issues.push(IssueDraft { code: Code::FusedByOrder, detail: Sym::EMPTY, record });
            }
            told.insert((*start, word));
            of.insert(n, *start);
        }
        of
    }
}
