//! A window of a session's timeline: what can be told apart at a zoom.
//!
//! A lane and a row have the same place at every zoom, so that bars stay where they are when a page zooms or moves. Bars that are narrower than
//! a pixel and lie in the same one are told as one, with how many they are. What runs has no end yet: nothing is placed behind it in its row.

use super::arrows::{Arrows, TimelineArrowDoc, arrows};
use super::brief::{AgentBriefDoc, agent_brief};
use super::idle::{IdleDoc, drawn_ns, idle};
use crate::draw::{Look, agent_colour, class};
use crate::labels::{step_detail, step_name};
use crate::layout::{Bar, TimelineOptions, Track, timeline};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use unspool_model::{Batch, Flow, RequestKind, Status, Step, Timestamp};

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
    /// Idle stretches are drawn as short as they may be, so that the rest has more pixels.
    pub folded: bool,
    /// Steps of internal agents, too.
    pub full: bool,
    /// What has not ended counts as running so long after the last that was heard of it.
    pub running_window_ms: i64,
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
    /// Relations that touch the window and can be told apart, all but mere order; what matters more comes first.
    pub arrows: Vec<TimelineArrowDoc>,
    /// Relations that touch the window and whose ends cannot be told apart in it.
    pub arrows_too_short: usize,
    /// Relations that touch the window and are not told, by the limit `max_arrows`.
    pub arrows_left_out: usize,
    /// Long stretches in which nothing happened, of the whole timeline.
    pub idle: Vec<IdleDoc>,
    /// Steps that have a bar somewhere in the timeline.
    pub total_bars: usize,
    /// Steps whose bars touch the window, also those told as one.
    pub bars_in_window: usize,
    /// Steps without a time, which have no bar.
    pub untimed_steps: usize,
    /// Steps with a time of internal agents: what the client asked for itself. They have a bar only with `full`.
    pub internal_steps: usize,
    /// Those of them that failed.
    pub internal_errors: usize,
    /// Until when steps that run may be drawn as going on, unless something else is heard; null when none runs.
    pub grows_until_ns: Option<i64>,
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
    /// Steps of its agents that failed.
    pub errors: u32,
}

/// An agent of a lane.
#[derive(Serialize, JsonSchema)]
pub struct LaneAgentDoc {
    /// Who.
    #[serde(flatten)]
    pub agent: AgentBriefDoc,
    /// `running`, `completed`, `failed` or `unknown`.
    pub status: &'static str,
    /// The place of its type's colour in the schema.
    pub colour: u32,
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
    /// Which of the agents of its lane.
    pub agent: u32,
    /// The step; the first of several.
    pub step_id: String,
    /// Its position in the depth-first order of the tree; of several, the least.
    pub seq: u32,
    /// Of several, the greatest position.
    pub last_seq: u32,
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
    /// What a recorded request was for; null for an agent's work and for several.
    pub request: Option<&'static str>,
    /// It has begun and nothing says that it ended.
    pub pending: bool,
    /// It is at work as far as anybody knows: it goes on until now.
    pub running: bool,
}

/// Where a step is.
#[derive(Clone, Copy)]
pub(super) struct Placed {
    pub(super) step: u32,
    pub(super) from_ns: i64,
    /// Of what runs, the last that is known.
    pub(super) to_ns: i64,
    pub(super) lane: u32,
    pub(super) row: u32,
    running: bool,
}

impl Placed {
    /// Nothing else has its place until then, when `last_ns` is the last moment that is known.
    pub(super) fn kept_until(&self, last_ns: i64) -> i64 {
        if self.running { last_ns } else { self.to_ns }
    }
}

const NS_PER_MS: i64 = 1_000_000;

/// Part of a session's timeline.
pub fn timeline_window(flow: &Flow, batch: &Batch, asked: &TimelineAsked) -> TimelineDoc {
    let first = first_ns(flow);
    let all = Timeline::new(flow, first.unwrap_or(0), asked.full);
    let span_ns = last_of(&all.placed);
    let from_ns = asked.from_ns.unwrap_or(0);
    let to_ns = asked.to_ns.unwrap_or(span_ns).max(from_ns);
    let px = asked.px.clamp(1, MAX_TIMELINE_PX);
    let touches = |from: i64, to: i64| from <= to_ns && to >= from_ns;
    let inside: Vec<&Placed> =
        all.placed.iter().filter(|bar| touches(bar.from_ns, bar.kept_until(i64::MAX))).collect();
    let idle = idle(flow, batch, &all.placed);
    let cut = if asked.folded { idle.as_slice() } else { &[] };
    let pixel_ns = drawn_ns(cut, (from_ns, to_ns)) / i64::from(px);
    let Arrows { told, too_short, left_out } = arrows(flow, &all.placed, (from_ns, to_ns), pixel_ns);
    let has_bar = |(n, step): &(u32, &Step)| has_bar(flow, *n, step, asked.full);
    let internal = internal_steps(flow);
    TimelineDoc {
        session_id: flow.session.id.show('x'),
        first_at: first.map(|ns| Timestamp::from_ns(ns).to_string()),
        span_ns,
        from_ns,
        to_ns,
        px,
        bars: bars(flow, batch, &inside, &all.agent_in_lane(flow), from_ns, pixel_ns),
        arrows: told,
        arrows_too_short: too_short,
        arrows_left_out: left_out,
        idle,
        grows_until_ns: all
            .placed
            .iter()
            .any(|bar| bar.running)
            .then(|| span_ns.saturating_add(asked.running_window_ms.saturating_mul(NS_PER_MS))),
        total_bars: all.placed.len(),
        bars_in_window: inside.len(),
        untimed_steps: (0u32..)
            .zip(&flow.steps)
            .filter(has_bar)
            .filter(|(_, step)| !step.started.is_some())
            .count(),
        internal_steps: internal.len(),
        internal_errors: internal.iter().filter(|step| step.is_error).count(),
        lanes: all.lanes(flow, batch),
    }
}

/// Whether a step is of the client's own agents.
pub(crate) fn is_internal(flow: &Flow, step: &Step) -> bool {
    flow.agents.get(step.agent as usize).is_some_and(|agent| agent.internal)
}

/// Whether a step has a bar if it has a time. Of internal agents what they asked for has one, whatever it is, if that is wanted.
pub(crate) fn has_bar(flow: &Flow, n: u32, step: &Step, full: bool) -> bool {
    if is_internal(flow, step) {
        return full && (!step.is_aside() || flow.request_of(n).is_some());
    }
    !step.is_aside()
}

/// What has a bar only where steps of internal agents are wanted, too.
pub(super) fn internal_steps(flow: &Flow) -> Vec<&Step> {
    let steps = (0u32..).zip(&flow.steps).filter(|(_, step)| is_internal(flow, step));
    let timed = steps.filter(|(n, step)| step.started.is_some() && has_bar(flow, *n, step, true));
    timed.map(|(_, step)| step).collect()
}

/// The first moment of any step that may have a bar: the same whoever is shown, so that moments mean the same.
pub(super) fn first_ns(flow: &Flow) -> Option<i64> {
    let steps = (0u32..).zip(&flow.steps).filter(|(n, step)| has_bar(flow, *n, step, true));
    steps.filter_map(|(_, step)| step.started.ns()).min()
}

struct Timeline {
    /// By lane, row and begin.
    placed: Vec<Placed>,
    /// Agents of each lane, and its depth.
    lanes: Vec<(Vec<usize>, u32)>,
    rows: Vec<u32>,
}

impl Timeline {
    fn new(flow: &Flow, first_ns: i64, full: bool) -> Timeline {
        let span = |step: &Step| {
            let start = step.started.ns()?.saturating_sub(first_ns);
            let end = step.ended.ns().map_or(start, |end| end.saturating_sub(first_ns));
            Some((start, end.max(start)))
        };
        let timed = (0u32..).zip(&flow.steps).filter(|(n, step)| has_bar(flow, *n, step, full));
        let mut placed: Vec<Placed> = timed
            .filter_map(|(n, step)| {
                let (from_ns, to_ns) = span(step)?;
                Some(Placed {
                    step: n,
                    from_ns,
                    to_ns,
                    lane: u32::MAX,
                    row: 0,
                    running: is_running(flow, step),
                })
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
        placed.sort_unstable_by_key(|bar| (bar.lane, bar.from_ns, std::cmp::Reverse(bar.to_ns), bar.step));
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
            ends[free] = bar.kept_until(i64::MAX).max(bar.from_ns + 1);
            bar.row = u32::try_from(free).unwrap_or(u32::MAX);
            rows[bar.lane as usize] = rows[bar.lane as usize].max(bar.row + 1);
        }
        placed.sort_unstable_by_key(|bar| (bar.lane, bar.row, bar.from_ns, bar.step));
        Timeline { placed, lanes, rows }
    }

    fn lanes(&self, flow: &Flow, batch: &Batch) -> Vec<LaneDoc> {
        let mut errors: Vec<u32> = vec![0; flow.agents.len()];
        for step in flow.steps.iter().filter(|step| step.is_error) {
            if let Some(failed) = errors.get_mut(step.agent as usize) {
                *failed += 1;
            }
        }
        let agent = |n: &usize| {
            let agent = &flow.agents[*n];
            let brief = agent_brief(batch, agent);
            let colour = agent_colour(&brief.label);
            LaneAgentDoc { agent: brief, status: agent.status.name(), colour }
        };
        let lane = |((agents, depth), rows): (&(Vec<usize>, u32), &u32)| LaneDoc {
            agents: agents.iter().map(agent).collect(),
            depth: *depth,
            rows: *rows,
            errors: agents.iter().map(|agent| errors[*agent]).sum(),
        };
        self.lanes.iter().zip(&self.rows).map(lane).collect()
    }

    /// By agent, its place among those of its lane.
    fn agent_in_lane(&self, flow: &Flow) -> Vec<u32> {
        let mut place = vec![0; flow.agents.len()];
        for (agents, _) in &self.lanes {
            for (n, agent) in (0u32..).zip(agents) {
                place[*agent] = n;
            }
        }
        place
    }
}

/// The last moment that is known.
pub(super) fn last_of(placed: &[Placed]) -> i64 {
    placed.iter().map(|bar| bar.to_ns).max().unwrap_or(0)
}

fn is_running(flow: &Flow, step: &Step) -> bool {
    let agent = flow.agents.get(step.agent as usize);
    step.pending && agent.is_some_and(|agent| agent.status == Status::Running)
}

/// Agents that share lanes, by the layout's rule, and the depth of each lane.
fn lanes(flow: &Flow, tracks: &[Track], placed: &[Placed]) -> Vec<(Vec<usize>, u32)> {
    let last_ns = last_of(placed);
    let mut spans: BTreeMap<usize, (i64, i64)> = BTreeMap::new();
    for bar in placed {
        let span =
            spans.entry(flow.steps[bar.step as usize].agent as usize).or_insert((bar.from_ns, bar.to_ns));
        *span = (span.0.min(bar.from_ns), span.1.max(bar.kept_until(last_ns)));
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
fn bars(
    flow: &Flow,
    batch: &Batch,
    inside: &[&Placed],
    agent_in_lane: &[u32],
    from_ns: i64,
    pixel_ns: i64,
) -> Vec<BarDoc> {
    let mut told: Vec<BarDoc> = Vec::new();
    // The pixel of the last bar, when that is narrower than one.
    let mut last: Option<(u32, u32, i64)> = None;
    for bar in inside {
        let step = &flow.steps[bar.step as usize];
        let is_narrow = pixel_ns > 0 && bar.to_ns - bar.from_ns < pixel_ns && !bar.running;
        let pixel = is_narrow.then(|| (bar.lane, bar.row, (bar.from_ns - from_ns).div_euclid(pixel_ns)));
        if let (Some(one), true) = (told.last_mut(), pixel.is_some() && pixel == last) {
            one.count += 1;
            (one.seq, one.last_seq) = (one.seq.min(bar.step), one.last_seq.max(bar.step));
            one.errors += u32::from(step.is_error);
            one.to_ns = one.to_ns.max(bar.to_ns);
            one.pending |= step.pending;
            one.request = None;
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
            agent: agent_in_lane.get(step.agent as usize).copied().unwrap_or(0),
            step_id: step.id.show('s'),
            seq: bar.step,
            last_seq: bar.step,
            count: 1,
            errors: u32::from(step.is_error),
            look: class(Look::of(step.kind.name())),
            label: step_name(batch, step),
            detail: step_detail(batch, step).into(),
            request: flow.request_of(bar.step).map(RequestKind::name),
            pending: step.pending,
            running: bar.running,
        });
    }
    told
}

#[cfg(test)]
mod tests {
    use super::{TimelineAsked, timeline_window};
    use crate::drawn::Drawn;
    use unspool_model::{RequestKind, Status, StepKind};

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
        let asked = TimelineAsked {
            from_ns: Some(502_000_000),
            to_ns: Some(512_000_000),
            px: 1000,
            ..TimelineAsked::default()
        };
        let window = timeline_window(&flow, &batch, &asked);
        let labels: Vec<&str> = window.bars.iter().map(|bar| bar.label.as_str()).collect();
        assert_eq!(labels, ["Edit", "Bash"]);
        assert_eq!((window.bars_in_window, window.total_bars), (2, 100));
    }

    #[test]
    fn what_runs_goes_on_and_nothing_lies_behind_it() {
        let mut drawn = Drawn::new();
        drawn.step(0, StepKind::ToolCall, "Bash", (0, 0));
        drawn.step(0, StepKind::ToolCall, "Edit", (500, 900));
        drawn.flow.steps[0].pending = true;
        let asked = TimelineAsked { px: 100, running_window_ms: 60_000, ..TimelineAsked::default() };
        let told = |drawn: &Drawn, asked: &TimelineAsked| timeline_window(&drawn.flow, &drawn.batch, asked);
        let ended = told(&drawn, &asked);
        assert_eq!((ended.lanes[0].rows, ended.bars[0].running, ended.grows_until_ns), (1, false, None));
        drawn.flow.agents[0].status = Status::Running;
        let running = told(&drawn, &asked);
        assert_eq!((running.lanes[0].rows, running.bars[0].running), (2, true));
        assert_eq!(running.grows_until_ns, Some(60_900_000_000));
        let later = TimelineAsked { from_ns: Some(5_000_000_000), to_ns: Some(6_000_000_000), ..asked };
        let later = told(&drawn, &later);
        assert_eq!(later.bars.iter().map(|bar| bar.seq).collect::<Vec<_>>(), [0]);
    }

    #[test]
    fn what_a_client_asks_for_itself_is_counted_and_drawn_when_asked_for() {
        let mut drawn = Drawn::new();
        drawn.step(0, StepKind::ModelCall, "opus", (10, 20));
        let own = drawn.spawn(0, "helper") as usize;
        drawn.flow.agents[own].internal = true;
        let own = u32::try_from(own).unwrap();
        let counted = drawn.step(own, StepKind::System, "count_tokens", (0, 5));
        let hook = drawn.step(own, StepKind::Hook, "Stop", (5, 6));
        drawn.flow.requests = vec![(counted, RequestKind::CountTokens)];
        drawn.flow.steps[counted as usize].is_error = true;
        let told = |full| {
            let asked = TimelineAsked { px: 100, full, ..TimelineAsked::default() };
            timeline_window(&drawn.flow, &drawn.batch, &asked)
        };
        let (usual, full) = (told(false), told(true));
        assert_eq!((usual.total_bars, usual.internal_steps, usual.internal_errors), (1, 1, 1));
        assert_eq!((full.total_bars, full.internal_steps), (2, 1));
        let requests: Vec<_> = full.bars.iter().filter_map(|bar| bar.request).collect();
        assert_eq!(requests, ["count_tokens"]);
        assert_eq!(usual.bars[0].from_ns, 10_000_000, "moments mean the same either way");
        assert!(!full.bars.iter().any(|bar| bar.seq == hook));
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
