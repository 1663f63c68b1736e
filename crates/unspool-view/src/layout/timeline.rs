//! Bars along a time axis, in lanes.
//!
//! In: agents with their parents, bars with begin and end, arrows between bars. Out: a lane for each agent — shared by agents that do
//! not overlap, below the lane of whoever started them — rows within lanes where bars overlap, and the ways of the arrows. Never
//! here: what a bar means.

use super::first_fit::FirstFit;
use super::scale::{Break, Room, Scale, Tick};
use super::types::{Path, Point, Rect, Size, index, number, rounded};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Somebody who has bars.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Track {
    /// Who started it.
    pub parent: Option<usize>,
}

/// Something that took time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bar {
    /// Whose it is.
    pub track: usize,
    /// Begin in milliseconds.
    pub start_ms: i64,
    /// End in milliseconds.
    pub end_ms: i64,
    /// How deep it lies in others of its track: it stands at least so many rows down.
    pub depth: u32,
}

/// How to lay a timeline out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimelineOptions {
    /// Of the axis.
    pub width: f64,
    /// Of a bar.
    pub row_height: f64,
    /// Between rows.
    pub row_gap: f64,
    /// Between lanes.
    pub lane_gap: f64,
    /// The narrowest bar.
    pub min_bar: f64,
    /// Between ticks at least.
    pub tick_gap: f64,
    /// Cut idle stretches out.
    pub compress: bool,
    /// What a cut takes.
    pub break_width: f64,
}

impl Default for TimelineOptions {
    fn default() -> TimelineOptions {
        TimelineOptions {
            width: 1000.0,
            row_height: 14.0,
            row_gap: 3.0,
            lane_gap: 10.0,
            min_bar: 2.0,
            tick_gap: 80.0,
            compress: true,
            break_width: 24.0,
        }
    }
}

/// Tracks that share a place.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lane {
    /// Who, in order of begin.
    pub tracks: Vec<usize>,
    /// Where.
    pub rect: Rect,
    /// How many lanes of parents there are above it.
    pub depth: u32,
}

/// A timeline with everything in its place.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Timeline {
    /// As the bars were given.
    pub bars: Vec<Rect>,
    /// From top to bottom.
    pub lanes: Vec<Lane>,
    /// As the arrows were given; empty where a bar does not exist.
    pub arrows: Vec<Path>,
    /// Marks on the axis.
    pub ticks: Vec<Tick>,
    /// What was cut out.
    pub breaks: Vec<Break>,
    /// Moments to places.
    pub scale: Scale,
    /// The whole.
    pub size: Size,
}

/// Lays bars out.
pub fn timeline(
    tracks: &[Track],
    bars: &[Bar],
    arrows: &[(usize, usize)],
    options: &TimelineOptions,
) -> Timeline {
    let known = |bar: &&Bar| bar.track < tracks.len();
    let spans = bars.iter().filter(known).map(|bar| (bar.start_ms, bar.end_ms));
    let room = Room { width: options.width, break_width: options.break_width, compress: options.compress };
    let scale = Scale::new(spans, room);
    let extents: Vec<(f64, f64)> = bars
        .iter()
        .map(|bar| {
            let (start, end) = (scale.x(bar.start_ms), scale.x(bar.end_ms.max(bar.start_ms)));
            // A bar at the very end is drawn to the left of it.
            let start = start.min((options.width - options.min_bar).max(0.0));
            (start, end.max(start + options.min_bar))
        })
        .collect();
    let mut timeline = Timeline { bars: vec![Rect::default(); bars.len()], ..Timeline::default() };
    timeline.lanes = lanes(tracks, bars);
    let mut lane_of = vec![usize::MAX; tracks.len()];
    for (lane, tracks) in timeline.lanes.iter().enumerate() {
        for track in &tracks.tracks {
            lane_of[*track] = lane;
        }
    }
    let mut in_lane: Vec<Vec<usize>> = vec![Vec::new(); timeline.lanes.len()];
    for (n, bar) in bars.iter().enumerate().filter(|(_, bar)| bar.track < tracks.len()) {
        in_lane[lane_of[bar.track]].push(n);
    }
    let mut y = 0.0;
    for (lane, mut members) in timeline.lanes.iter_mut().zip(in_lane) {
        members.sort_by(|a, b| {
            let key = |n: usize| (bars[n].start_ms, bars[n].depth, std::cmp::Reverse(bars[n].end_ms), n);
            key(*a).cmp(&key(*b))
        });
        let mut fit = FirstFit::default();
        for n in members {
            let (start, end) = extents[n];
            let row = fit.place(hundredths(start), hundredths(end), bars[n].depth as usize);
            timeline.bars[n] = Rect {
                x: start,
                y: rounded(y + number(row) * (options.row_height + options.row_gap)),
                width: rounded(end - start),
                height: options.row_height,
            };
        }
        let rows = number(fit.count.max(1));
        let height = rows * options.row_height + (rows - 1.0) * options.row_gap;
        lane.rect = Rect { x: 0.0, y: rounded(y), width: options.width, height: rounded(height) };
        y += height + options.lane_gap;
    }
    timeline.arrows = arrows
        .iter()
        .map(|(from, to)| match (timeline.bars.get(*from), timeline.bars.get(*to)) {
            (Some(from), Some(to)) => route(from, to),
            _ => Path::default(),
        })
        .collect();
    timeline.ticks = scale.ticks(options.tick_gap);
    timeline.breaks.clone_from(&scale.breaks);
    timeline.size = Size { width: options.width, height: rounded((y - options.lane_gap).max(0.0)) };
    timeline.scale = scale;
    timeline
}

/// A place in whole hundredths, which is as exact as it is drawn.
fn hundredths(x: f64) -> i64 {
    #[expect(clippy::cast_possible_truncation, reason = "a drawing is some thousand wide")]
    let hundredths = (x * 100.0).round() as i64;
    hundredths
}

/// Tracks in lanes: each goes to the first lane below its parent's that is free while it lasts, or to a new one.
fn lanes(tracks: &[Track], bars: &[Bar]) -> Vec<Lane> {
    let mut spans: BTreeMap<usize, (i64, i64)> = BTreeMap::new();
    for bar in bars.iter().filter(|bar| bar.track < tracks.len()) {
        let span = spans.entry(bar.track).or_insert((bar.start_ms, bar.end_ms));
        *span = (span.0.min(bar.start_ms), span.1.max(bar.end_ms).max(bar.start_ms));
    }
    let mut by_start: Vec<(i64, i64, usize)> =
        spans.iter().map(|(track, (start, end))| (*start, *end, *track)).collect();
    by_start.sort_unstable_by_key(|(start, end, track)| (*start, std::cmp::Reverse(*end), *track));
    let mut plan = Plan { lanes: Vec::new(), of: vec![None; tracks.len()], below: FxHashMap::default() };
    // Of each track: the last way up that led by.
    let mut way_of = vec![usize::MAX; tracks.len()];
    // Parents get their lanes first, whatever began earlier.
    let spans_of = |track: usize| spans.get(&track).copied();
    for (_, _, track) in by_start {
        let mut way = vec![track];
        let mut at = track;
        way_of[track] = track;
        while let Some(parent) = tracks[at].parent.filter(|parent| *parent < tracks.len()) {
            if plan.of[parent].is_some() || std::mem::replace(&mut way_of[parent], track) == track {
                break;
            }
            way.push(parent);
            at = parent;
        }
        while let Some(next) = way.pop() {
            if plan.of[next].is_none()
                && let Some(span) = spans_of(next)
            {
                let parent = tracks[next].parent.and_then(|parent| *plan.of.get(parent)?);
                plan.place(next, span, parent);
            }
        }
    }
    plan.in_order()
}

/// A lane while tracks are given to it.
struct Open {
    tracks: Vec<usize>,
    /// Ends by begins; they do not overlap.
    spans: BTreeMap<i64, i64>,
    parent: Option<u32>,
    depth: u32,
}

impl Open {
    fn is_free(&self, start: i64, end: i64) -> bool {
        self.spans.range(..=end).next_back().is_none_or(|(_, last)| *last < start)
    }
}

struct Plan {
    lanes: Vec<Open>,
    of: Vec<Option<u32>>,
    /// By lane: those below it.
    below: FxHashMap<Option<u32>, Vec<usize>>,
}

impl Plan {
    fn place(&mut self, track: usize, (start, end): (i64, i64), parent: Option<u32>) {
        let below = self.below.entry(parent).or_default();
        let free = below.iter().copied().find(|lane| self.lanes[*lane].is_free(start, end));
        let lane = free.unwrap_or_else(|| {
            let depth = parent.map_or(0, |parent| self.lanes[parent as usize].depth + 1);
            self.lanes.push(Open { tracks: Vec::new(), spans: BTreeMap::new(), parent, depth });
            below.push(self.lanes.len() - 1);
            self.lanes.len() - 1
        });
        let open = &mut self.lanes[lane];
        open.tracks.push(track);
        open.spans.insert(start, end);
        self.of[track] = Some(index(lane));
    }

    /// Lanes with those below them next.
    fn in_order(self) -> Vec<Lane> {
        let mut below: Vec<Vec<u32>> = vec![Vec::new(); self.lanes.len() + 1];
        for (n, lane) in (0u32..).zip(&self.lanes) {
            below[lane.parent.map_or(self.lanes.len(), |parent| parent as usize)].push(n);
        }
        let mut walk: Vec<u32> = below[self.lanes.len()].iter().rev().copied().collect();
        let mut sorted = Vec::with_capacity(self.lanes.len());
        while let Some(n) = walk.pop() {
            walk.extend(below[n as usize].iter().rev());
            let lane = &self.lanes[n as usize];
            sorted.push(Lane { tracks: lane.tracks.clone(), rect: Rect::default(), depth: lane.depth });
        }
        sorted
    }
}

/// Room before a bar in which an arrow turns.
const LEAD: f64 = 6.0;

/// From one bar to the begin of another: out of its end if the other begins later, else out of its side when it begins.
fn route(from: &Rect, to: &Rect) -> Path {
    let end = Point { x: to.x, y: to.y + to.height / 2.0 };
    let turn = to.x - LEAD;
    let points = if turn >= from.right() {
        let start = Point { x: from.right(), y: from.y + from.height / 2.0 };
        vec![start, Point { x: turn, y: start.y }, Point { x: turn, y: end.y }, end]
    } else {
        let x = turn.clamp(from.x, from.right());
        let y = if to.y > from.y { from.bottom() } else { from.y };
        vec![Point { x, y }, Point { x, y: end.y }, end]
    };
    let mut points: Vec<Point> =
        points.into_iter().map(|point| Point { x: rounded(point.x), y: rounded(point.y) }).collect();
    points.dedup();
    Path { points, ..Path::default() }
}

#[cfg(test)]
mod tests {
    use super::{Bar, Timeline, TimelineOptions, Track, timeline};
    use proptest::prelude::*;

    fn bar(track: usize, start_ms: i64, end_ms: i64) -> Bar {
        Bar { track, start_ms, end_ms, depth: 0 }
    }

    fn lane_tracks(timeline: &Timeline) -> Vec<Vec<usize>> {
        timeline.lanes.iter().map(|lane| lane.tracks.clone()).collect()
    }

    #[test]
    fn agents_that_do_not_overlap_share_a_lane_below_their_parent() {
        let tracks = [None, Some(0), Some(0), Some(0), Some(1)].map(|parent| Track { parent });
        let bars = [bar(0, 0, 100), bar(1, 10, 40), bar(2, 20, 60), bar(3, 50, 90), bar(4, 15, 30)];
        let timeline = timeline(&tracks, &bars, &[(0, 1), (9, 0)], &TimelineOptions::default());
        assert_eq!(lane_tracks(&timeline), [vec![0], vec![1, 3], vec![4], vec![2]]);
        assert!(timeline.arrows[1].points.is_empty());
        assert_eq!(timeline.ticks[1].label, "10ms");
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn bars_do_not_overlap_and_lie_in_their_lanes(
            parents in prop::collection::vec(prop::option::of(0usize..9), 1..8),
            bars in prop::collection::vec((0usize..9, -5_000i64..5_000, 0i64..900, 0u32..3), 0..40),
            compress in any::<bool>(),
        ) {
            let tracks: Vec<Track> = parents.into_iter().map(|parent| Track { parent }).collect();
            let bars: Vec<Bar> = bars
                .into_iter()
                .map(|(track, start_ms, length, depth)| Bar { track, start_ms, end_ms: start_ms + length, depth })
                .collect();
            let arrows: Vec<(usize, usize)> = (1..bars.len()).map(|n| (n - 1, n)).collect();
            let options = TimelineOptions { compress, ..TimelineOptions::default() };
            let drawn = timeline(&tracks, &bars, &arrows, &options);
            prop_assert_eq!(&timeline(&tracks, &bars, &arrows, &options), &drawn);
            let known: Vec<usize> = (0..bars.len()).filter(|n| bars[*n].track < tracks.len()).collect();
            for (at, &a) in known.iter().enumerate() {
                let lane = drawn.lanes.iter().find(|lane| lane.tracks.contains(&bars[a].track)).unwrap();
                let rect = &drawn.bars[a];
                prop_assert!(rect.x >= 0.0 && rect.right() <= options.width + 0.02);
                prop_assert!(lane.rect.y <= rect.y && rect.bottom() <= lane.rect.bottom() + 0.02);
                for &b in &known[at + 1..] {
                    let other = super::Rect { width: drawn.bars[b].width - 0.02, ..drawn.bars[b] };
                    let narrow = super::Rect { width: rect.width - 0.02, ..*rect };
                    prop_assert!(!narrow.overlaps(&other));
                }
            }
            for pair in drawn.lanes.windows(2) {
                prop_assert!(pair[0].rect.bottom() <= pair[1].rect.y);
            }
        }
    }
}
