//! Long stretches of a session in which nothing happened, and how short they may be drawn.
//!
//! In: when every step was at work. Out: stretches, each with the length it is drawn with where gaps are folded. Never here: pixels.

use super::timeline::{Placed, last_of};
use crate::layout::{Room, Scale, TimelineOptions};
use crate::path::said;
use schemars::JsonSchema;
use serde::Serialize;
use unspool_model::{Batch, Flow};

/// A stretch in which nothing happened.
#[derive(Serialize, JsonSchema)]
pub struct IdleDoc {
    /// From when.
    pub from_ns: i64,
    /// To when.
    pub to_ns: i64,
    /// How long it is drawn when it is folded: the same as a moment of work that took so long.
    pub folded_ns: i64,
    /// It ended when a person said something.
    pub waits_for_person: bool,
}

const NS_PER_MS: i64 = 1_000_000;
/// A folded stretch is drawn as this part of the time in which something happened,
const FOLDED_PART: i64 = 14;
/// and all of them together as this part of it at most,
const ALL_FOLDED_PART: i64 = 3;
/// as if something had happened for so long at least.
const LEAST_BUSY_NS: i64 = 1_000_000_000;

/// Stretches that a drawing may cut out.
pub(super) fn idle(flow: &Flow, batch: &Batch, placed: &[Placed]) -> Vec<IdleDoc> {
    let last_ns = last_of(placed);
    let spans = placed.iter().map(|bar| (bar.from_ns / NS_PER_MS, bar.kept_until(last_ns) / NS_PER_MS));
    let usual = TimelineOptions::default();
    let room = Room { width: usual.width, break_width: usual.break_width, compress: true };
    let cuts = Scale::new(spans, room).breaks;
    if cuts.is_empty() {
        return Vec::new();
    }
    let said = said(flow, &batch.text);
    let mut begun: Vec<(i64, u32)> = placed.iter().map(|bar| (bar.from_ns / NS_PER_MS, bar.step)).collect();
    begun.sort_unstable();
    let by_person = |at_ms: i64| {
        let after = begun.partition_point(|(from_ms, _)| *from_ms < at_ms);
        let mut first = begun[after..].iter().take_while(|(from_ms, _)| *from_ms == begun[after].0);
        first.any(|(_, step)| said[*step as usize])
    };
    let idle_ns: i64 = cuts.iter().map(|cut| (cut.to_ms - cut.from_ms) * NS_PER_MS).sum();
    let busy_ns = last_ns.saturating_sub(idle_ns).max(LEAST_BUSY_NS);
    let count = i64::try_from(cuts.len()).unwrap_or(i64::MAX);
    let most_ns = busy_ns / FOLDED_PART.max(count.saturating_mul(ALL_FOLDED_PART));
    cuts.iter()
        .map(|cut| {
            let (from_ns, to_ns) = (cut.from_ms * NS_PER_MS, cut.to_ms * NS_PER_MS);
            IdleDoc {
                from_ns,
                to_ns,
                folded_ns: most_ns.clamp(1, to_ns - from_ns),
                waits_for_person: by_person(cut.to_ms),
            }
        })
        .collect()
}

/// How long a window is drawn when these stretches are folded.
pub(super) fn drawn_ns(folded: &[IdleDoc], (from_ns, to_ns): (i64, i64)) -> i64 {
    let saved = folded.iter().map(|gap| {
        let inside = gap.to_ns.min(to_ns).saturating_sub(gap.from_ns.max(from_ns)).max(0);
        let length = gap.to_ns - gap.from_ns;
        let kept = i128::from(inside) * i128::from(gap.folded_ns) / i128::from(length.max(1));
        inside - i64::try_from(kept).unwrap_or(inside)
    });
    (to_ns - from_ns).saturating_sub(saved.sum())
}

#[cfg(test)]
mod tests {
    use super::drawn_ns;
    use crate::drawn::Drawn;
    use crate::screen::{TimelineAsked, TimelineDoc, timeline_window};

    fn told(drawn: &Drawn, folded: bool) -> TimelineDoc {
        let asked = TimelineAsked { px: 100, folded, ..TimelineAsked::default() };
        timeline_window(&drawn.flow, &drawn.batch, &asked)
    }

    /// Ten calls of a second each, and after two days ten more.
    fn two_days() -> Drawn {
        let mut drawn = Drawn::new();
        for n in 0..20 {
            let at = n * 1_000 + if n < 10 { 0 } else { 172_800_000 };
            drawn.model(0, (at, at + 1_000));
        }
        drawn
    }

    #[test]
    fn a_gap_says_whether_a_person_ended_it() {
        let mut drawn = Drawn::new();
        drawn.input(0);
        drawn.model(0, (0, 10_000));
        drawn.input(3_000_000);
        drawn.model(0, (3_000_000, 3_010_000));
        drawn.model(0, (9_000_000, 9_010_000));
        let waits: Vec<bool> = told(&drawn, false).idle.iter().map(|idle| idle.waits_for_person).collect();
        assert_eq!(waits, [true, false]);
    }

    #[test]
    fn a_folded_gap_leaves_the_room_to_what_happened() {
        let drawn = two_days();
        let (whole, folded) = (told(&drawn, false), told(&drawn, true));
        assert_eq!(whole.bars.len(), 2);
        assert_eq!((folded.bars.len(), folded.bars_in_window), (20, 20));
        let gap = &folded.idle[0];
        assert!(gap.folded_ns < 2_000_000_000 && gap.to_ns - gap.from_ns > 172_000_000_000_000);
    }

    #[test]
    fn what_lies_beside_a_gap_keeps_its_length() {
        let drawn = two_days();
        let idle = told(&drawn, true).idle;
        let (from, to) = (idle[0].from_ns, idle[0].to_ns);
        assert_eq!(drawn_ns(&idle, (0, from)), from);
        assert_eq!(drawn_ns(&idle, (0, to)), from + idle[0].folded_ns);
        assert_eq!(drawn_ns(&idle, (from, from + (to - from) / 2)), idle[0].folded_ns / 2);
        assert_eq!(drawn_ns(&[], (from, to)), to - from);
    }
}
