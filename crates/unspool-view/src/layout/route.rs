//! The ways of edges.
//!
//! In: the grid with places across and along the ranks. Out: paths. An edge passes every rank straight and moves sideways only in the
//! gap between two ranks, so it never touches a node that is not its own.

use super::bands::Bands;
use super::columns::{Across, Frame};
use super::grid::{Grid, LANE_WIDTH, Link, Way};
use super::types::{Path, Point, Rect, Routing, number};

/// A straight stretch along the ranks.
#[derive(Clone, Copy)]
struct Stretch {
    x: f64,
    first_rank: u32,
    last_rank: u32,
}

/// Room between ends of edges at one side of a node, at most.
const PORT_GAP: f64 = 10.0;
/// Nothing ends nearer to a node's corner.
const CORNER: f64 = 8.0;
/// Room between parallel lines in a gap.
const TRACK_GAP: f64 = 7.0;

/// With more lines in a gap, several share a track.
const MOST_TRACKS: usize = 24;
/// How high a curve is for its width.
const STEEPNESS: f64 = 0.12;
/// No gap grows by more for the sake of wide curves.
const MOST_EXTRA: f64 = 60.0;
/// A curve ends so far from a node and goes on straight, so that the head of an arrow points where its line comes from.
const HEAD: f64 = 9.0;

/// Routes before the ranks have their places: stretches and the tracks their joints take.
pub(crate) struct Router<'a> {
    grid: &'a Grid,
    links: &'a [Link],
    routing: Routing,
    /// Of each link, from the lower rank to the higher.
    stretches: Vec<Vec<Stretch>>,
    /// Of each link and joint between stretches: the track in its gap.
    tracks: Vec<Vec<u32>>,
    /// Of each gap: how many tracks.
    track_counts: Vec<u32>,
}

impl<'a> Router<'a> {
    pub(crate) fn new(
        grid: &'a Grid,
        links: &'a [Link],
        across: &Across,
        frames: &[Frame],
        routing: Routing,
        gap: f64,
    ) -> Router<'a> {
        let lanes = lanes(grid, across, frames, gap);
        let ways = grid.ways.iter().zip(links);
        let mut stretches: Vec<Vec<Stretch>> =
            ways.map(|(way, link)| stretches(grid, across, &lanes, way, link)).collect();
        spread_ports(grid, links, &mut stretches);
        let mut router =
            Router { grid, links, routing, stretches, tracks: Vec::new(), track_counts: Vec::new() };
        if routing == Routing::Orthogonal {
            router.share_tracks();
        }
        router
    }

    /// Room each gap needs beyond the usual: for parallel lines, or so that wide curves are not too flat.
    pub(crate) fn extra(&self, gap: f64) -> Vec<f64> {
        if self.routing == Routing::Orthogonal {
            let need = |tracks: &u32| (f64::from(*tracks + 1) * TRACK_GAP - gap).max(0.0);
            return self.track_counts.iter().map(need).collect();
        }
        let mut widest = vec![0.0f64; self.grid.rank_count];
        for pair in self.stretches.iter().flat_map(|stretches| stretches.windows(2)) {
            let gap = &mut widest[pair[0].last_rank as usize];
            *gap = gap.max((pair[0].x - pair[1].x).abs());
        }
        let need = |width: &f64| {
            let heads = if *width > 0.0 { 2.0 * HEAD } else { 0.0 };
            (width * STEEPNESS + heads - gap).clamp(0.0, MOST_EXTRA)
        };
        widest.iter().map(need).collect()
    }

    /// Gives every joint a line of its own in its gap, as long as they overlap.
    fn share_tracks(&mut self) {
        let mut joints: Vec<Vec<(f64, f64, usize, usize)>> = vec![Vec::new(); self.grid.rank_count];
        self.tracks = self.stretches.iter().map(|s| vec![0; s.len().saturating_sub(1)]).collect();
        for (link, stretches) in self.stretches.iter().enumerate() {
            for (joint, pair) in stretches.windows(2).enumerate() {
                let (a, b) = (pair[0].x, pair[1].x);
                if a.total_cmp(&b).is_ne() {
                    joints[pair[0].last_rank as usize].push((a.min(b), a.max(b), link, joint));
                }
            }
        }
        for mut joints in joints {
            joints.sort_unstable_by(|a, b| {
                a.0.total_cmp(&b.0).then(b.1.total_cmp(&a.1)).then((a.2, a.3).cmp(&(b.2, b.3)))
            });
            let mut ends: Vec<f64> = Vec::new();
            for (nth, (left, right, link, joint)) in joints.into_iter().enumerate() {
                let free = ends.iter().position(|end| *end + 1.0 < left);
                let track =
                    free.unwrap_or(if ends.len() < MOST_TRACKS { ends.len() } else { nth % MOST_TRACKS });
                if track == ends.len() {
                    ends.push(right);
                }
                ends[track] = ends[track].max(right);
                self.tracks[link][joint] = super::types::index(track);
            }
            self.track_counts.push(super::types::index(ends.len()));
        }
    }

    /// The path of a link.
    pub(crate) fn path(&self, n: usize, bands: &Bands) -> Path {
        let (grid, link, stretches) = (self.grid, &self.links[n], &self.stretches[n]);
        let node = |leaf: u32| {
            let leaf = &grid.leaves[leaf as usize];
            let (top, bottom) = bands.ranks[leaf.rank as usize];
            (f64::midpoint(top, bottom), leaf.size.height / 2.0)
        };
        let (from, to) = (node(link.from), node(link.to));
        let head = if self.routing == Routing::Spline { HEAD } else { 0.0 };
        let mut points = Points { points: Vec::new(), is_curve: self.routing == Routing::Spline };
        let mut via = Vec::new();
        for (at, stretch) in stretches.iter().enumerate() {
            let mut top = bands.framed[stretch.first_rank as usize].0;
            let mut bottom = bands.framed[stretch.last_rank as usize].1;
            if at == 0 {
                top = from.0 + from.1;
                bottom = bottom.max(top + head);
            } else if at + 1 == stretches.len() {
                bottom = to.0 - to.1;
                top = top.min(bottom - head);
            } else {
                via.push(Point { x: stretch.x, y: f64::midpoint(top, bottom) });
            }
            let upper = Point { x: stretch.x, y: top };
            match at.checked_sub(1) {
                None => points.points.push(upper),
                Some(joint) => {
                    let share = self.tracks.get(n).map_or(0.5, |tracks| {
                        let gap = stretches[joint].last_rank as usize;
                        f64::from(tracks[joint] + 1) / f64::from(self.track_counts[gap] + 1)
                    });
                    points.join(upper, share);
                }
            }
            points.straight(Point { x: stretch.x, y: bottom });
        }
        let label = self.label(n, bands);
        Path { points: points.points, is_curve: points.is_curve, label, is_reversed: false, via }
    }

    fn label(&self, n: usize, bands: &Bands) -> Option<Rect> {
        let size = self.links[n].label?;
        let stretches = &self.stretches[n];
        let (stretch, shift) = match &self.grid.ways[n] {
            Way::Bends { label: Some(leaf), first, .. } => {
                (stretches[(leaf - first) as usize + 1], -size.width / 2.0)
            }
            Way::Bends { .. } => return None,
            Way::Gutter { .. } => (*stretches.get(1)?, LANE_WIDTH / 2.0),
        };
        let top = bands.ranks[stretch.first_rank as usize].0;
        let bottom = bands.ranks[stretch.last_rank as usize].1;
        Some(Rect {
            x: stretch.x + shift,
            y: f64::midpoint(top, bottom) - size.height / 2.0,
            width: size.width,
            height: size.height,
        })
    }
}

/// A path that grows downwards.
struct Points {
    points: Vec<Point>,
    is_curve: bool,
}

impl Points {
    fn straight(&mut self, to: Point) {
        let Some(&from) = self.points.last() else { return };
        if from.y.total_cmp(&to.y).is_eq() {
            return;
        }
        if self.is_curve {
            let third = (to.y - from.y) / 3.0;
            let near = Point { x: from.x, y: from.y + third };
            self.points.extend([near, Point { x: to.x, y: to.y - third }]);
        }
        self.points.push(to);
    }

    /// Through a gap, sideways at this share of its height.
    fn join(&mut self, to: Point, share: f64) {
        let Some(&from) = self.points.last() else { return };
        if from.x.total_cmp(&to.x).is_eq() {
            return self.straight(to);
        }
        let y = from.y + (to.y - from.y) * share;
        self.points.extend([Point { x: from.x, y }, Point { x: to.x, y }, to]);
    }
}

fn stretches(grid: &Grid, across: &Across, lanes: &[Vec<f64>], way: &Way, link: &Link) -> Vec<Stretch> {
    let at = |leaf: u32| {
        let rank = grid.leaves[leaf as usize].rank;
        Stretch { x: across.leaves[leaf as usize], first_rank: rank, last_rank: rank }
    };
    let (from, to) = (at(link.from), at(link.to));
    let mut stretches = vec![from];
    match *way {
        Way::Bends { first, count, .. } => stretches.extend((first..first + count).map(at)),
        Way::Gutter { cluster, lane } => {
            let x = lanes[(cluster as usize).min(lanes.len() - 1)][lane as usize];
            stretches.push(Stretch { x, first_rank: from.last_rank + 1, last_rank: to.first_rank - 1 });
        }
    }
    stretches.push(to);
    stretches
}

/// The places of the gutters' lanes: by cluster, the root last.
fn lanes(grid: &Grid, across: &Across, frames: &[Frame], gap: f64) -> Vec<Vec<f64>> {
    let starts = across.sides.iter().zip(frames).map(|(side, frame)| side.1 - frame.right);
    let starts = starts.chain([root_gutter(grid, across, gap)]);
    let place = |(start, widths): (f64, &Vec<f64>)| {
        let mut left = start;
        let mut next = |width: &f64| {
            let x = left + LANE_WIDTH / 2.0;
            left += width;
            x
        };
        widths.iter().map(&mut next).collect()
    };
    starts.zip(&grid.gutters).map(place).collect()
}

/// Where the gutter beside everything begins.
pub(crate) fn root_gutter(grid: &Grid, across: &Across, gap: f64) -> f64 {
    let leaves = grid.leaves.iter().zip(&across.leaves).map(|(leaf, x)| x + leaf.size.width / 2.0);
    let sides = across.sides.iter().map(|side| side.1);
    leaves.chain(sides).fold(f64::NEG_INFINITY, f64::max) + gap / 2.0
}

/// Lets edges end side by side: a straight one in the middle, others left and right of it in the order of where they lead.
fn spread_ports(grid: &Grid, links: &[Link], stretches: &mut [Vec<Stretch>]) {
    let mut ends: Vec<Vec<(f64, usize)>> = vec![Vec::new(); 2 * grid.leaves.len()];
    for (n, (link, stretches)) in links.iter().zip(stretches.iter()).enumerate() {
        let count = stretches.len();
        ends[2 * link.from as usize].push((stretches[1].x, n));
        ends[2 * link.to as usize + 1].push((stretches[count - 2].x, n));
    }
    for (side, mut ends) in ends.into_iter().enumerate() {
        if ends.len() < 2 {
            continue;
        }
        ends.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let leaf = &grid.leaves[side / 2];
        let is_top = side % 2 == 1;
        let own = |n: usize, stretches: &[Vec<Stretch>]| {
            if is_top { stretches[n].len() - 1 } else { 0 }
        };
        let x = stretches[ends[0].1][own(ends[0].1, stretches)].x;
        let straight = ends.iter().position(|(other, _)| other.total_cmp(&x).is_eq());
        let middle = straight.map_or(number(ends.len() - 1) / 2.0, number);
        let reach = middle.max(number(ends.len() - 1) - middle);
        let gap = PORT_GAP.min((leaf.size.width / 2.0 - CORNER).max(0.0) / reach);
        for (nth, (_, n)) in ends.iter().enumerate() {
            let own = own(*n, stretches);
            stretches[*n][own].x = x + (number(nth) - middle) * gap;
        }
    }
}

/// The ways of a node's edges to itself, at its right.
pub(crate) fn self_loop(
    node: &Rect,
    nth: usize,
    routing: Routing,
    label: Option<super::types::Size>,
) -> Path {
    let middle = node.center().y;
    let share = number(nth + 1) / number(nth + 2);
    let half = node.height / 2.0 * share.min(0.8) * 0.8;
    let x = node.right();
    let out = x + LOOP_WIDTH;
    let corners = [(x, middle - half), (out, middle - half), (out, middle + half), (x, middle + half)];
    let points = corners.map(|(x, y)| Point { x, y }).to_vec();
    let label = label.map(|size| Rect {
        x: out,
        y: middle - size.height / 2.0,
        width: size.width,
        height: size.height,
    });
    Path { points, is_curve: routing == Routing::Spline, label, is_reversed: false, via: Vec::new() }
}

/// Room an edge from a node to itself takes beside it.
pub(crate) const LOOP_WIDTH: f64 = 20.0;
