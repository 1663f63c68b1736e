//! Model calls that several instruments watched without knowing of each other: a framework's span and, beside it, the
//! provider's.
//!
//! In: the tree of spans. Out: which spans tell of one call, all of them in the innermost place. Spans are of one call when their
//! instruments differ, one lies in the time of the other, what encloses one encloses the other, and both tell the same answer or the
//! same tokens and nothing that differs. Two calls that one instrument watched are two calls.

use super::{NodeKind, Spans, has_tokens};
use crate::draft::{Draft, IssueDraft};
use crate::limits::MAX_OPEN_CALLS;
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use unspool_model::flow::NONE;
use unspool_model::{AttrName, Code, EventFlags, EventKind, KeyKind, Role, Sym, Timestamp, Usage};

/// A model call as one instrument saw it.
struct Sight {
    node: u32,
    instrument: Sym,
    start: Timestamp,
    end: Timestamp,
    /// The first sight of the same call; its own place when it is the first.
    first: usize,
}

impl Spans {
    /// Finds them; whether a span got another parent.
    pub(super) fn find_twins(
        &mut self,
        draft: &Draft<'_>,
        order: &[u32],
        issues: &mut Vec<IssueDraft>,
    ) -> bool {
        let mut sights = self.sights(draft, order);
        self.compare(draft, &mut sights, issues);
        let mut calls: Vec<Vec<u32>> = sights.iter().map(|_| Vec::new()).collect();
        for sight in &sights {
            calls[sight.first].push(sight.node);
        }
        let mut moved = false;
        for nodes in calls.iter().filter(|nodes| nodes.len() > 1) {
            self.join(draft, nodes);
            moved |= self.move_inside(nodes);
            let record = Some(draft.event(self.nodes[nodes[0] as usize].event as usize).record);
            issues.push(IssueDraft { code: Code::FusedByOverlap, detail: Sym::EMPTY, record });
        }
        moved
    }

    /// Model calls that no other does for them, in order of start; none where one instrument saw all of them.
    fn sights(&self, draft: &Draft<'_>, order: &[u32]) -> Vec<Sight> {
        let instrument =
            |n: u32| draft.attr_text(self.nodes[n as usize].event as usize, AttrName::Instrument);
        let is_model = |n: &&u32| self.nodes[**n as usize].kind == NodeKind::Model;
        let mut instruments = order.iter().filter(is_model).filter_map(|n| instrument(*n));
        let first = instruments.next();
        if instruments.all(|other| Some(other) == first) {
            return Vec::new();
        }
        let mut around_model = vec![false; self.nodes.len()];
        for n in order.iter().rev() {
            let node = &self.nodes[*n as usize];
            let own = around_model[*n as usize] || node.kind == NodeKind::Model;
            if let Some(above) = around_model.get_mut(node.parent as usize) {
                *above |= own;
            }
        }
        let mut sights = Vec::new();
        for n in order.iter().filter(is_model) {
            let node = &self.nodes[*n as usize];
            let event = node.event as usize;
            let start = draft.event(event).at;
            let end = draft.attr_int(event, AttrName::EndedAt).map_or(Timestamp::NONE, Timestamp::from_ns);
            let is_told_before = self.find(node.id) != Some(*n);
            if around_model[*n as usize] || is_told_before || !start.is_some() || !end.is_some() {
                continue;
            }
            if let Some(instrument) = instrument(*n) {
                sights.push(Sight { node: *n, instrument, start, end, first: 0 });
            }
        }
        sights.sort_by_key(|sight| {
            (sight.start, Reverse(sight.end), draft.text(self.nodes[sight.node as usize].id))
        });
        for (n, sight) in sights.iter_mut().enumerate() {
            sight.first = n;
        }
        sights
    }

    /// Compares each call with those that are open when it begins, the last one first.
    fn compare(&self, draft: &Draft<'_>, sights: &mut [Sight], issues: &mut Vec<IssueDraft>) {
        let tolerance = draft.table.clock_tolerance_ms;
        // By trace; the instruments of each call, by its first sight.
        let mut open: FxHashMap<Sym, Vec<usize>> = FxHashMap::default();
        let mut instruments: Vec<Vec<Sym>> = sights.iter().map(|sight| vec![sight.instrument]).collect();
        for n in 0..sights.len() {
            let own = &sights[n];
            let open = open.entry(self.nodes[own.node as usize].trace).or_default();
            open.retain(|other| own.start <= sights[*other].end);
            let found = open.iter().rev().copied().find(|other| {
                let outer = &sights[*other];
                own.end <= outer.end.plus_ms(tolerance)
                    && !instruments[outer.first].contains(&own.instrument)
                    && self.is_one_line(outer.node, own.node)
                    && self.is_one_call(draft, outer.node, own.node)
            });
            if let Some(other) = found {
                let first = sights[other].first;
                instruments[first].push(sights[n].instrument);
                sights[n].first = first;
            }
            if open.len() == MAX_OPEN_CALLS {
                let detail = draft.corpus.limits.open_calls;
                issues.push(IssueDraft { code: Code::LimitReached, detail, record: None });
                open.remove(0);
            }
            open.push(n);
        }
    }

    /// Whether what encloses one span encloses the other.
    fn is_one_line(&self, a: u32, b: u32) -> bool {
        let parent = |n: u32| self.nodes[n as usize].parent;
        let level = |n: u32| self.nodes[n as usize].level;
        let (outer, mut inner) = if level(a) <= level(b) { (a, b) } else { (b, a) };
        while level(inner) > level(outer) {
            inner = parent(inner);
        }
        parent(outer) == parent(inner)
    }

    /// Whether two spans tell of the same call: something they say is the same, and nothing differs.
    fn is_one_call(&self, draft: &Draft<'_>, a: u32, b: u32) -> bool {
        let (a, b) = (self.nodes[a as usize].event as usize, self.nodes[b as usize].event as usize);
        let by_key = |kind| {
            let key = |at| draft.key(at, kind, Role::Provides);
            key(a).zip(key(b)).map(|(a, b)| a == b)
        };
        let usage = |at| draft.corpus.batch.usage(draft.event(at)).filter(|usage| !usage.is_zero());
        let by_usage = usage(a).zip(usage(b)).map(|(a, b)| in_and_out(&a) == in_and_out(&b));
        let said = [
            by_key(KeyKind::Message),
            by_key(KeyKind::Request),
            by_key(KeyKind::AnswerHash),
            by_key(KeyKind::CallsHash),
            by_usage,
        ];
        let model = |at| draft.text(draft.event(at).name);
        said.contains(&Some(true)) && !said.contains(&Some(false)) && is_one_model(model(a), model(b))
    }

    /// Spans of one call, the outermost first, become witnesses of one step. The one with the most ids names it, the innermost that
    /// counts tokens counts them.
    fn join(&mut self, draft: &Draft<'_>, nodes: &[u32]) {
        let event = |n: &u32| self.nodes[*n as usize].event;
        let listed = |n: &u32| {
            let record = draft.event(event(n) as usize).record;
            let after = event(n) as usize + 1..draft.group.events.len();
            let own = after.take_while(move |at| draft.event(*at).record == record);
            own.filter(|at| {
                let event = draft.event(*at);
                event.kind == EventKind::ToolCall && !event.flags.has(EventFlags::WHOLE)
            })
        };
        let index = |at: usize| u32::try_from(at).unwrap_or(NONE);
        let call_id = |at: usize| draft.key(at, KeyKind::ToolUse, Role::Provides);
        let ids = |n: &&u32| {
            let key = |kind| draft.key(event(n) as usize, kind, Role::Provides).is_none();
            (key(KeyKind::Message), key(KeyKind::Request), !listed(n).any(|at| call_id(at).is_some()))
        };
        let Some(head) = nodes.iter().min_by_key(ids) else { return };
        let mut same_calls = Vec::new();
        for (own, other) in nodes.iter().flat_map(|n| listed(head).zip(listed(n))) {
            if draft.event(own).name == draft.event(other).name && call_id(other).is_none() {
                same_calls.push((index(other), index(own)));
            }
        }
        let head = self.nodes[*head as usize].event;
        self.twins.extend(same_calls);
        let mut is_counted = false;
        for n in nodes.iter().rev() {
            let node = &mut self.nodes[*n as usize];
            self.twins.insert(node.event, head);
            node.repeats_usage = is_counted;
            is_counted |= has_tokens(draft, node.event as usize);
        }
    }

    /// Gives spans of one call the innermost place any of them has; whether one had another.
    fn move_inside(&mut self, nodes: &[u32]) -> bool {
        let Some(innermost) = nodes.iter().max_by_key(|n| self.nodes[**n as usize].level) else {
            return false;
        };
        let parent = self.nodes[*innermost as usize].parent;
        let mut moved = false;
        for n in nodes.iter().filter(|n| *n != innermost) {
            let node = &mut self.nodes[*n as usize];
            node.is_echo = true;
            moved |= std::mem::replace(&mut node.parent, parent) != parent;
        }
        moved
    }
}

/// Tokens in and out; instruments differ in whether they tell what was cached.
fn in_and_out(usage: &Usage) -> (u64, u64) {
    (usage.input + usage.cache_read + usage.cache_write, usage.output + usage.reasoning)
}

/// Whether two names may be of one model: one is missing, or the other with a version (`gpt-4o`, `openai/gpt-4o-2024-08-06`).
fn is_one_model(a: &str, b: &str) -> bool {
    let bare = |name: &'_ str| name.rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
    let (a, b) = (bare(a), bare(b));
    let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    let Some(rest) = long.strip_prefix(&short) else { return false };
    let version = rest.trim_start_matches(['-', '@', ':', '_']);
    short.is_empty() || rest.is_empty() || (version != rest && is_version(version))
}

fn is_version(text: &str) -> bool {
    text == "latest" || text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')
}

#[cfg(test)]
mod tests {
    use super::is_one_model;

    #[test]
    fn models_with_and_without_version() {
        for (a, b) in [
            ("gpt-4o", "gpt-4o-2024-08-06"),
            ("openai/gpt-4o", "gpt-4o"),
            ("", "m-1"),
            ("claude-sonnet-4-5", "claude-sonnet-4-5@20250929"),
        ] {
            assert!(is_one_model(a, b) && is_one_model(b, a), "{a} {b}");
        }
        for (a, b) in [("gpt-4o", "gpt-4o-mini"), ("gpt-4", "gpt-4o"), ("m-1", "m-2")] {
            assert!(!is_one_model(a, b) && !is_one_model(b, a), "{a} {b}");
        }
    }
}
