//! Arrows of a timeline: what leads from one bar to another, as much as can be told apart at a zoom.
//!
//! In: where the steps are, and a window. Out: arrows, those that begin and end in the same pixels told as one. Mere order is no arrow: bars
//! beside each other show it.

use super::timeline::Placed;
use rustc_hash::FxHashMap;
use schemars::JsonSchema;
use serde::Serialize;
use unspool_model::{Edge, EdgeKind, Flow};

/// No window tells more arrows: `max_arrows`.
pub const MAX_ARROWS: usize = 2_000;
/// Arrows along a row that are shorter cannot be seen.
const LEAST_PX: i64 = 4;

/// A relation between steps, or several that cannot be told apart.
#[derive(Serialize, JsonSchema)]
pub struct TimelineArrowDoc {
    /// Step it leaves; of several, that of the first.
    pub from_step_id: String,
    /// Step it reaches; of several, that of the first.
    pub to_step_id: String,
    /// Positions of the two steps in the depth-first order of the tree.
    pub seqs: [u32; 2],
    /// A kind of edge.
    pub relation: &'static str,
    /// Lane, row and moment it leaves.
    pub from: ArrowEndDoc,
    /// Lane, row and moment it reaches.
    pub to: ArrowEndDoc,
    /// How many relations it stands for.
    pub count: u32,
    /// How much it is believed.
    pub confidence: f64,
    /// A guess.
    pub inferred: bool,
    /// It carries an error.
    pub is_error: bool,
}

/// An end of an arrow.
#[derive(Serialize, JsonSchema)]
pub struct ArrowEndDoc {
    /// Lane of its bar.
    pub lane: u32,
    /// Row of its bar.
    pub row: u32,
    /// Moment.
    pub at_ns: i64,
}

/// What is told of the relations that touch a window.
pub(super) struct Arrows {
    pub(super) told: Vec<TimelineArrowDoc>,
    pub(super) too_short: usize,
    pub(super) left_out: usize,
}

/// Lane, row and pixel.
type Place = (u32, u32, i64);
/// Arrows that are alike in all of it are one.
type Alike = (Place, Place, EdgeKind, u16, bool, bool);

struct Arrow<'f> {
    edge: &'f Edge,
    from: ArrowEndDoc,
    to: ArrowEndDoc,
    count: u32,
}

/// Relations that touch a window from one moment to another.
pub(super) fn arrows(flow: &Flow, placed: &[Placed], window: (i64, i64), pixel_ns: i64) -> Arrows {
    let mut place_of = vec![u32::MAX; flow.steps.len()];
    for (n, bar) in (0u32..).zip(placed) {
        place_of[bar.step as usize] = n;
    }
    let bar = |step: u32| placed.get(*place_of.get(step as usize)? as usize);
    let pixel_ns = pixel_ns.max(1);
    let mut index: FxHashMap<Alike, usize> = FxHashMap::default();
    let mut found: Vec<Arrow<'_>> = Vec::new();
    let mut too_short = 0;
    for edge in flow.edges.iter().filter(|edge| edge.kind != EdgeKind::Sequence && edge.from != edge.to) {
        let Some((from, to)) = bar(edge.from).zip(bar(edge.to)) else { continue };
        let leaves = from.to_ns.min(to.from_ns).max(from.from_ns);
        let (early, late) = (leaves.min(to.from_ns), leaves.max(to.from_ns));
        if early > window.1 || late < window.0 {
            continue;
        }
        let from = ArrowEndDoc { lane: from.lane, row: from.row, at_ns: leaves };
        let to = ArrowEndDoc { lane: to.lane, row: to.row, at_ns: to.from_ns };
        if (from.lane, from.row) == (to.lane, to.row) && late - early < LEAST_PX * pixel_ns {
            too_short += 1;
            continue;
        }
        let place = |end: &ArrowEndDoc| (end.lane, end.row, (end.at_ns - window.0).div_euclid(pixel_ns));
        let alike = (
            place(&from),
            place(&to),
            edge.kind,
            edge.confidence.ten_thousandths(),
            edge.is_inferred(),
            edge.is_error,
        );
        let at = *index.entry(alike).or_insert_with(|| {
            found.push(Arrow { edge, from, to, count: 0 });
            found.len() - 1
        });
        found[at].count += 1;
    }
    // The sort keeps the order of alike ones, which is that of the flow.
    found.sort_by_key(|arrow| weight(arrow.edge));
    let left_out = found.iter().skip(MAX_ARROWS).map(|arrow| arrow.count as usize).sum();
    found.truncate(MAX_ARROWS);
    Arrows { told: found.into_iter().map(|arrow| doc(flow, arrow)).collect(), too_short, left_out }
}

/// What matters more comes first: errors, then what leads from agent to agent, then what is rare.
fn weight(edge: &Edge) -> u32 {
    match edge.kind {
        _ if edge.is_error => 0,
        EdgeKind::SubagentSpawn => 1,
        EdgeKind::SubagentReturn => 2,
        EdgeKind::DependsOn | EdgeKind::Continuation | EdgeKind::SpanLink | EdgeKind::ContentReuse => 3,
        EdgeKind::Calls | EdgeKind::ToolResult | EdgeKind::SpanParent | EdgeKind::Sequence => 4,
    }
}

fn doc(flow: &Flow, Arrow { edge, from, to, count }: Arrow<'_>) -> TimelineArrowDoc {
    let id = |step: u32| flow.steps[step as usize].id.show('s');
    TimelineArrowDoc {
        from_step_id: id(edge.from),
        to_step_id: id(edge.to),
        seqs: [edge.from, edge.to],
        relation: edge.kind.name(),
        from,
        to,
        count,
        confidence: edge.confidence.as_f64(),
        inferred: edge.is_inferred(),
        is_error: edge.is_error,
    }
}

#[cfg(test)]
mod tests {
    use super::MAX_ARROWS;
    use crate::drawn::Drawn;
    use crate::screen::{TimelineAsked, TimelineDoc, timeline_window};
    use unspool_model::{Confidence, StepKind};

    fn told(drawn: &Drawn, px: u32) -> TimelineDoc {
        timeline_window(&drawn.flow, &drawn.batch, &TimelineAsked { px, ..TimelineAsked::default() })
    }

    /// A model call, its tool call and the call that reads the result, so often, a second each.
    fn rounds(count: i64) -> Drawn {
        let mut drawn = Drawn::new();
        let mut last = None;
        for n in 0..count {
            let call = drawn.model(0, (n * 1_000, n * 1_000 + 100));
            if let Some(tool) = last {
                drawn.result(tool, call);
            }
            last = Some(drawn.tool(call, "Bash", "", (n * 1_000 + 550, n * 1_000 + 580)));
        }
        drawn
    }

    #[test]
    fn every_kind_but_order_is_an_arrow_with_its_confidence() {
        let mut drawn = rounds(2);
        drawn.flow.edges.last_mut().unwrap().confidence = Confidence::from_ten_thousandths(8_000);
        let told = told(&drawn, 2_000);
        let kinds: Vec<(&str, u32)> =
            told.arrows.iter().map(|arrow| (arrow.relation, arrow.seqs[1])).collect();
        assert_eq!(kinds, [("calls", 1), ("tool_result", 2), ("calls", 3)]);
        let sure: Vec<(bool, bool)> =
            told.arrows.iter().map(|arrow| (arrow.inferred, arrow.confidence < 1.0)).collect();
        assert_eq!(sure, [(false, false), (false, false), (true, true)]);
        assert_eq!((told.arrows_too_short, told.arrows_left_out), (0, 0));
    }

    #[test]
    fn what_cannot_be_told_apart_is_counted() {
        let drawn = rounds(100);
        let narrow = told(&drawn, 50);
        assert_eq!((narrow.arrows.len(), narrow.arrows_too_short), (0, 199));
    }

    #[test]
    fn arrows_between_the_same_pixels_are_one() {
        let mut drawn = Drawn::new();
        let first = drawn.model(0, (0, 10));
        for n in 0..5 {
            let call = drawn.tool(first, "Task", "", (20, 900_000));
            drawn.agent(call, "Explore", 500_000 + n);
        }
        let told = told(&drawn, 100);
        let spawns: u32 = told
            .arrows
            .iter()
            .filter(|arrow| arrow.relation == "subagent_spawn")
            .map(|arrow| arrow.count)
            .sum();
        assert_eq!(spawns, 5);
        assert!(told.arrows.len() <= 10);
    }

    #[test]
    fn errors_and_starts_are_told_before_the_rest_is_left_out() {
        let mut drawn = rounds(i64::try_from(MAX_ARROWS).unwrap());
        let last = drawn.flow.edges.len() - 1;
        drawn.flow.edges[last].is_error = true;
        let told = told(&drawn, 20_000);
        assert_eq!(told.arrows.len(), MAX_ARROWS);
        assert!(told.arrows[0].is_error && told.arrows_left_out > 0);
        let count = told.arrows.iter().map(|arrow| arrow.count as usize).sum::<usize>();
        assert_eq!(count + told.arrows_left_out + told.arrows_too_short, 2 * MAX_ARROWS - 1);
    }

    #[test]
    fn a_window_has_the_arrows_that_touch_it() {
        let mut drawn = rounds(10);
        let late = drawn.step(0, StepKind::ModelCall, "opus", (60_000, 61_000));
        drawn.result(1, late);
        let asked = TimelineAsked {
            from_ns: Some(20_000_000_000),
            to_ns: Some(30_000_000_000),
            px: 1_000,
            ..TimelineAsked::default()
        };
        let window = timeline_window(&drawn.flow, &drawn.batch, &asked);
        assert_eq!(window.arrows.iter().map(|arrow| arrow.seqs).collect::<Vec<_>>(), [[1, late]]);
    }
}
