//! A window of a session's timeline: what can be told apart at a zoom.
//!
//! A lane and a row have the same place at every zoom, so that bars stay where they are when a page zooms or moves. Bars that are narrower than
//! a pixel and lie in the same one are told as one, with how many they are.

use crate::draw::{Look, class};
use crate::labels::{agent_name, step_detail, step_name};
use crate::layout::{Bar, Room, Scale, TimelineOptions, Track, timeline};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use unspool_model::{Batch, EdgeKind, Flow, Step};

/// No window is wider: `max_timeline_px`.
pub const MAX_TIMELINE_PX: u32 = 20_000;

/// Which part of the timeline. Moments are nanoseconds since its first one.
#[derive(Clone, Copy, Debug, Default)]
pub struct TimelineAsked {
    /// From when; the begin if none.
    pub from_ns: Option<i64>,
    /// To when; the end if none.
    pub to_ns: Option<i64>,
    /// Pixels there are for it.
    pub px: u32,
}

/// Part of a timeline. Moments are nanoseconds since `first_at`.
#[derive(Serialize, JsonSchema)]
pub struct TimelineDoc {
    /// The session.
    pub session_id: String,
    /// The first moment of any step; null when no step has a time.
    pub first_at: Option<String>,
    /// From the first moment to the last.
    pub span_ns: i64,
    /// Where the window begins.
    pub from_ns: i64,
    /// Where it ends.
    pub to_ns: i64,
    /// Pixels it is told for.
    pub px: u32,
    /// All lanes, from top to bottom.
    pub lanes: Vec<LaneDoc>,
    /// Bars that touch the window, by lane, row and begin.
    pub bars: Vec<BarDoc>,
    /// Arrows between agents that touch the window.
    pub arrows: Vec<TimelineArrowDoc>,
    /// Long stretches in which nothing happened, of the whole timeline.
    pub idle: Vec<IdleDoc>,
    /// Steps that have a bar somewhere in the timeline.
    pub total_bars: usize,
    /// Steps whose bars touch the window, also those told as one.
    pub bars_in_window: usize,
    /// Steps without a time, which have no bar.
    pub untimed_steps: usize,
}

/// Agents that share a place because they do not overlap.
#[derive(Serialize, JsonSchema)]
pub struct LaneDoc {
    /// Who, in order of begin.
    pub agents: Vec<LaneAgentDoc>,
    /// How many lanes of parents there are above it.
    pub depth: u32,
    /// How many rows of bars it has.
    pub rows: u32,
}

/// An agent of a lane.
#[derive(Serialize, JsonSchema)]
pub struct LaneAgentDoc {
    /// Its id.
    pub id: String,
    /// Its type, or that it is the main one.
    pub label: String,
}

/// A step, or several that are too narrow to be told apart.
#[derive(Serialize, JsonSchema)]
pub struct BarDoc {
    /// Its lane.
    pub lane: u32,
    /// Its row in the lane.
    pub row: u32,
    /// When it began.
    pub from_ns: i64,
    /// When it ended.
    pub to_ns: i64,
    /// The step; the first of several.
    pub step_id: String,
    /// How many steps it stands for.
    pub count: u32,
    /// How many of them failed.
    pub errors: u32,
    /// What it looks like; that of the first of several.
    pub look: &'static str,
    /// What it is called; empty for several.
    pub label: String,
    /// What it was about; empty for several.
    pub detail: String,
    /// It has begun and nothing says that it ended.
    pub pending: bool,
}

/// One agent started another, or answered it.
#[derive(Serialize, JsonSchema)]
pub struct TimelineArrowDoc {
    /// Step it leaves.
    pub from_step_id: String,
    /// Step it reaches.
    pub to_step_id: String,
    /// `subagent_spawn` or `subagent_return`.
    pub relation: &'static str,
    /// Lane, row and moment it leaves.
    pub from: ArrowEndDoc,
    /// Lane, row and moment it reaches.
    pub to: ArrowEndDoc,
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

/// A stretch in which nothing happened.
#[derive(Serialize, JsonSchema)]
pub struct IdleDoc {
    /// From when.
    pub from_ns: i64,
    /// To when.
    pub to_ns: i64,
}

/// Where a step is.
#[derive(Clone, Copy)]
struct Placed {
    step: u32,
    from_ns: i64,
    to_ns: i64,
    lane: u32,
    row: u32,
}

const NS_PER_MS: i64 = 1_000_000;

/// Part of a session's timeline.
pub fn timeline_window(flow: &Flow, batch: &Batch, asked: &TimelineAsked) -> TimelineDoc {
    let first = flow.steps.iter().filter(|step| !step.is_aside()).filter_map(|step| step.started.ns()).min();
    let all = Timeline::new(flow, first.unwrap_or(0));
    let span_ns = all.placed.iter().map(|bar| bar.to_ns).max().unwrap_or(0);
    let from_ns = asked.from_ns.unwrap_or(0);
    let to_ns = asked.to_ns.unwrap_or(span_ns).max(from_ns);
    let px = asked.px.clamp(1, MAX_TIMELINE_PX);
    let touches = |from: i64, to: i64| from <= to_ns && to >= from_ns;
    let inside: Vec<&Placed> = all.placed.iter().filter(|bar| touches(bar.from_ns, bar.to_ns)).collect();
    let pixel_ns = (to_ns - from_ns) / i64::from(px);
    let timed = flow.steps.iter().filter(|step| !step.is_aside());
    TimelineDoc {
        session_id: flow.session.id.show('x'),
        first_at: first.map(|ns| unspool_model::Timestamp::from_ns(ns).to_string()),
        span_ns,
        from_ns,
        to_ns,
        px,
        bars: bars(flow, batch, &inside, from_ns, pixel_ns),
        arrows: all.arrows(flow, &touches),
        idle: all.idle(),
        total_bars: all.placed.len(),
        bars_in_window: inside.len(),
        untimed_steps: timed.filter(|step| !step.started.is_some()).count(),
        lanes: all.lanes(flow, batch),
    }
}

struct Timeline {
    /// By lane, row and begin.
    placed: Vec<Placed>,
    /// Agents of each lane, and its depth.
    lanes: Vec<(Vec<usize>, u32)>,
    rows: Vec<u32>,
}

impl Timeline {
    fn new(flow: &Flow, first_ns: i64) -> Timeline {
        let span = |step: &Step| {
            let start = step.started.ns()?.saturating_sub(first_ns);
            let end = step.ended.ns().map_or(start, |end| end.saturating_sub(first_ns));
            Some((start, end.max(start)))
        };
        let timed = (0u32..).zip(&flow.steps).filter(|(_, step)| !step.is_aside());
        let mut placed: Vec<Placed> = timed
            .filter_map(|(n, step)| {
                let (from_ns, to_ns) = span(step)?;
                Some(Placed { step: n, from_ns, to_ns, lane: u32::MAX, row: 0 })
            })
            .collect();
        let tracks: Vec<Track> = flow
            .agents
            .iter()
            .map(|agent| Track {
                parent: Some(agent.parent as usize).filter(|parent| *parent < flow.agents.len()),
            })
            .collect();
        let lanes = lanes(flow, &tracks, &placed);
        let mut lane_of = vec![u32::MAX; flow.agents.len()];
        for (lane, (agents, _)) in (0u32..).zip(&lanes) {
            for agent in agents {
                lane_of[*agent] = lane;
            }
        }
        for bar in &mut placed {
            let agent = flow.steps[bar.step as usize].agent;
            bar.lane = lane_of.get(agent as usize).copied().unwrap_or(u32::MAX);
        }
        placed.retain(|bar| bar.lane != u32::MAX);
        placed.sort_by_key(|bar| (bar.lane, bar.from_ns, std::cmp::Reverse(bar.to_ns), bar.step));
        let mut rows = vec![0; lanes.len()];
        let mut ends: Vec<i64> = Vec::new();
        let mut at = u32::MAX;
        for bar in &mut placed {
            if std::mem::replace(&mut at, bar.lane) != bar.lane {
                ends.clear();
            }
            let free = ends.iter().position(|end| *end <= bar.from_ns).unwrap_or_else(|| {
                ends.push(0);
                ends.len() - 1
            });
            ends[free] = bar.to_ns.max(bar.from_ns + 1);
            bar.row = u32::try_from(free).unwrap_or(u32::MAX);
            rows[bar.lane as usize] = rows[bar.lane as usize].max(bar.row + 1);
        }
        placed.sort_by_key(|bar| (bar.lane, bar.row, bar.from_ns, bar.step));
        Timeline { placed, lanes, rows }
    }

    fn lanes(&self, flow: &Flow, batch: &Batch) -> Vec<LaneDoc> {
        let agent = |n: &usize| {
            let agent = &flow.agents[*n];
            LaneAgentDoc { id: agent.id.show('a'), label: agent_name(batch, agent) }
        };
        let lane = |((agents, depth), rows): (&(Vec<usize>, u32), &u32)| LaneDoc {
            agents: agents.iter().map(agent).collect(),
            depth: *depth,
            rows: *rows,
        };
        self.lanes.iter().zip(&self.rows).map(lane).collect()
    }

    fn arrows(&self, flow: &Flow, touches: &dyn Fn(i64, i64) -> bool) -> Vec<TimelineArrowDoc> {
        let by_step: BTreeMap<u32, &Placed> = self.placed.iter().map(|bar| (bar.step, bar)).collect();
        let id = |step: u32| flow.steps[step as usize].id.show('s');
        let between = flow
            .edges
            .iter()
            .filter(|e| matches!(e.kind, EdgeKind::SubagentSpawn | EdgeKind::SubagentReturn));
        let arrow = |edge: &unspool_model::Edge| {
            let (from, to) = (by_step.get(&edge.from)?, by_step.get(&edge.to)?);
            let leaves = from.to_ns.min(to.from_ns).max(from.from_ns);
            let (early, late) = (leaves.min(to.from_ns), leaves.max(to.from_ns));
            touches(early, late).then(|| TimelineArrowDoc {
                from_step_id: id(edge.from),
                to_step_id: id(edge.to),
                relation: edge.kind.name(),
                from: ArrowEndDoc { lane: from.lane, row: from.row, at_ns: leaves },
                to: ArrowEndDoc { lane: to.lane, row: to.row, at_ns: to.from_ns },
                inferred: edge.is_inferred(),
                is_error: edge.is_error,
            })
        };
        between.filter_map(arrow).collect()
    }

    /// Stretches that a drawing may cut out.
    fn idle(&self) -> Vec<IdleDoc> {
        let spans = self.placed.iter().map(|bar| (bar.from_ns / NS_PER_MS, bar.to_ns / NS_PER_MS));
        let usual = TimelineOptions::default();
        let room = Room { width: usual.width, break_width: usual.break_width, compress: true };
        let idle = Scale::new(spans, room).breaks;
        idle.iter()
            .map(|cut| IdleDoc { from_ns: cut.from_ms * NS_PER_MS, to_ns: cut.to_ms * NS_PER_MS })
            .collect()
    }
}

/// Agents that share lanes, by the layout's rule, and the depth of each lane.
fn lanes(flow: &Flow, tracks: &[Track], placed: &[Placed]) -> Vec<(Vec<usize>, u32)> {
    let mut spans: BTreeMap<usize, (i64, i64)> = BTreeMap::new();
    for bar in placed {
        let span =
            spans.entry(flow.steps[bar.step as usize].agent as usize).or_insert((bar.from_ns, bar.to_ns));
        *span = (span.0.min(bar.from_ns), span.1.max(bar.to_ns));
    }
    let bar = |(track, (from, to)): (&usize, &(i64, i64))| Bar {
        track: *track,
        start_ms: from / NS_PER_MS,
        end_ms: to / NS_PER_MS,
        depth: 0,
    };
    let bars: Vec<Bar> = spans.iter().map(bar).collect();
    let laid = timeline(tracks, &bars, &[], &TimelineOptions::default());
    laid.lanes.into_iter().map(|lane| (lane.tracks, lane.depth)).collect()
}

/// Bars, with those that fall into one pixel told as one.
fn bars(flow: &Flow, batch: &Batch, inside: &[&Placed], from_ns: i64, pixel_ns: i64) -> Vec<BarDoc> {
    let mut told: Vec<BarDoc> = Vec::new();
    // The pixel of the last bar, when that is narrower than one.
    let mut last: Option<(u32, u32, i64)> = None;
    for bar in inside {
        let step = &flow.steps[bar.step as usize];
        let is_narrow = pixel_ns > 0 && bar.to_ns - bar.from_ns < pixel_ns;
        let pixel = is_narrow.then(|| (bar.lane, bar.row, (bar.from_ns - from_ns).div_euclid(pixel_ns)));
        if let (Some(one), true) = (told.last_mut(), pixel.is_some() && pixel == last) {
            one.count += 1;
            one.errors += u32::from(step.is_error);
            one.to_ns = one.to_ns.max(bar.to_ns);
            one.pending |= step.pending;
            one.label.clear();
            one.detail.clear();
            continue;
        }
        last = pixel;
        told.push(BarDoc {
            lane: bar.lane,
            row: bar.row,
            from_ns: bar.from_ns,
            to_ns: bar.to_ns,
            step_id: step.id.show('s'),
            count: 1,
            errors: u32::from(step.is_error),
            look: class(Look::of(step.kind.name())),
            label: step_name(batch, step),
            detail: step_detail(batch, step).into(),
            pending: step.pending,
        });
    }
    told
}

#[cfg(test)]
mod tests {
    use super::{TimelineAsked, timeline_window};
    use crate::drawn::Drawn;
    use unspool_model::StepKind;

    fn drawn() -> Drawn {
        let mut drawn = Drawn::new();
        for n in 0..100 {
            let name = if n == 50 { "Edit" } else { "Bash" };
            drawn.step(0, StepKind::ToolCall, name, (n * 10, n * 10 + 5));
        }
        drawn.flow.steps[7].is_error = true;
        drawn
    }

    #[test]
    fn narrow_bars_are_told_as_one_and_none_is_lost() {
        let Drawn { flow, batch } = drawn();
        let told = |px| timeline_window(&flow, &batch, &TimelineAsked { px, ..TimelineAsked::default() });
        let wide = told(2_000);
        assert_eq!((wide.bars.len(), wide.lanes.len(), wide.span_ns), (100, 1, 995_000_000));
        let narrow = told(10);
        assert!(narrow.bars.len() <= 11, "{}", narrow.bars.len());
        assert_eq!(narrow.bars.iter().map(|bar| bar.count).sum::<u32>(), 100);
        assert_eq!(narrow.bars.iter().map(|bar| bar.errors).sum::<u32>(), 1);
    }

    #[test]
    fn a_window_has_what_touches_it() {
        let Drawn { flow, batch } = drawn();
        let asked = TimelineAsked { from_ns: Some(502_000_000), to_ns: Some(512_000_000), px: 1000 };
        let window = timeline_window(&flow, &batch, &asked);
        let labels: Vec<&str> = window.bars.iter().map(|bar| bar.label.as_str()).collect();
        assert_eq!(labels, ["Edit", "Bash"]);
        assert_eq!((window.bars_in_window, window.total_bars), (2, 100));
    }

    #[test]
    fn bars_of_one_agent_that_overlap_lie_in_rows() {
        let mut drawn = Drawn::new();
        drawn.step(0, StepKind::ToolCall, "Bash", (0, 10));
        drawn.step(0, StepKind::ToolCall, "Edit", (5, 20));
        let asked = TimelineAsked { px: 100, ..TimelineAsked::default() };
        let window = timeline_window(&drawn.flow, &drawn.batch, &asked);
        assert_eq!((window.lanes[0].rows, window.bars[1].row), (2, 1));
    }
}
