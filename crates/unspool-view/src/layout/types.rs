//! The words of layout: sizes and relations in, rectangles and paths out.
//!
//! In and out: plain numbers. Never here: an algorithm.

/// Width and height.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Size {
    /// From left to right.
    pub width: f64,
    /// From top to bottom.
    pub height: f64,
}

/// A place; x grows to the right, y grows downwards.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Point {
    /// From the left.
    pub x: f64,
    /// From the top.
    pub y: f64,
}

/// A box by its top left corner.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rect {
    /// Left edge.
    pub x: f64,
    /// Top edge.
    pub y: f64,
    /// From left to right.
    pub width: f64,
    /// From top to bottom.
    pub height: f64,
}

impl Rect {
    /// The right edge.
    pub fn right(&self) -> f64 {
        self.x + self.width
    }

    /// The bottom edge.
    pub fn bottom(&self) -> f64 {
        self.y + self.height
    }

    /// The middle.
    pub fn center(&self) -> Point {
        Point { x: self.x + self.width / 2.0, y: self.y + self.height / 2.0 }
    }

    /// Both share more than an edge.
    pub fn overlaps(&self, other: &Rect) -> bool {
        self.x < other.right() && other.x < self.right() && self.y < other.bottom() && other.y < self.bottom()
    }

    /// The other lies within this one.
    pub fn holds(&self, other: &Rect) -> bool {
        self.x <= other.x
            && self.y <= other.y
            && self.right() >= other.right()
            && self.bottom() >= other.bottom()
    }
}

/// A box to place. The order of nodes is the order in time: edges against it are the first to be turned around.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Node {
    /// How big it is.
    pub size: Size,
    /// The cluster it lies in.
    pub cluster: Option<usize>,
}

/// An arrow to route. Edges to nodes that do not exist get an empty path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Edge {
    /// Node it leaves.
    pub from: usize,
    /// Node it reaches.
    pub to: usize,
    /// How much it should be short and straight; 1 is usual, 0 does not pull.
    pub weight: u32,
    /// Ranks from one end to the other at least: 1 to 16.
    pub min_length: u32,
    /// Room for a label on the way.
    pub label: Option<Size>,
    /// Which of several edges between the same nodes comes first.
    pub order: u64,
}

impl Edge {
    /// A usual edge.
    pub fn new(from: usize, to: usize) -> Edge {
        Edge { from, to, weight: 1, min_length: 1, label: None, order: 0 }
    }
}

/// A frame around nodes and other frames.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cluster {
    /// The cluster it lies in.
    pub parent: Option<usize>,
    /// Room for its label along its top.
    pub label: Size,
    /// Room between the frame and what is in it.
    pub padding: f64,
}

/// What to lay out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Graph {
    /// Boxes, in order of time.
    pub nodes: Vec<Node>,
    /// Arrows, in any order.
    pub edges: Vec<Edge>,
    /// Frames.
    pub clusters: Vec<Cluster>,
}

/// Where edges lead.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    /// Downwards.
    #[default]
    Down,
    /// To the right.
    Right,
}

/// How edges run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Routing {
    /// Curves.
    #[default]
    Spline,
    /// Lines with right angles.
    Orthogonal,
}

/// How to lay out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Where edges lead.
    pub direction: Direction,
    /// How edges run.
    pub routing: Routing,
    /// Room between neighbours of one rank.
    pub node_gap: f64,
    /// Room between ranks.
    pub rank_gap: f64,
}

impl Default for Options {
    fn default() -> Options {
        Options { direction: Direction::Down, routing: Routing::Spline, node_gap: 24.0, rank_gap: 36.0 }
    }
}

/// The way of an edge.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Path {
    /// Corners from the source's border to the target's border.
    pub points: Vec<Point>,
    /// The way is drawn as cubic curves: `points` are then a start and three points for every curve.
    pub is_curve: bool,
    /// Where the label lies.
    pub label: Option<Rect>,
    /// It leads against the direction of the drawing, because of a cycle.
    pub is_reversed: bool,
    /// Where it passes the ranks between its ends, from the lower rank to the higher: what a later layout is reminded of.
    pub via: Vec<Point>,
}

/// Where everything is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Layout {
    /// Boxes, as the nodes were given.
    pub nodes: Vec<Rect>,
    /// Ranks of the nodes, in their component.
    pub ranks: Vec<u32>,
    /// Ways, as the edges were given.
    pub edges: Vec<Path>,
    /// Frames, as the clusters were given.
    pub clusters: Vec<Rect>,
    /// The whole.
    pub size: Size,
}

/// Hundredths are enough for a screen and the same on every machine.
pub(crate) fn rounded(value: f64) -> f64 {
    // Adding zero turns a negative zero into a positive one.
    (value * 100.0).round() / 100.0 + 0.0
}

/// A count as a number to reckon with.
pub(crate) fn number(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

/// An index into tables that cannot have as many rows as `u32` can count.
pub(crate) fn index(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
