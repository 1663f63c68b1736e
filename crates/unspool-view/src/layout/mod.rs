//! Where things are drawn: boxes in layers with their frames and arrows, and bars along a time axis.
//!
//! In: sizes, edges, clusters; or bars with lanes and times. Out: rectangles and paths, rounded to hundredths, the same bytes for
//! the same input on every machine. Never here: what a node means, text, colours, a file format.
//!
//! The layered way is that of Sugiyama: cycles are opened along the given order (`acyclic`), every node gets a rank (`rank`), edges
//! over several ranks bend once in each (`grid`), ranks are ordered to cross little (`order`), columns are found by aligning
//! neighbours (`columns`), and paths run through the room between the ranks (`bands`, `route`). A cluster is one interval of ranks
//! and one interval of columns, so frames never overlap. Nothing recurses: a chain may be as long as memory allows.

mod acyclic;
mod adjacency;
mod align;
mod bands;
mod columns;
mod crossings;
mod first_fit;
mod forest;
mod grid;
mod layered;
mod order;
mod pack;
mod previous;
mod rank;
mod route;
mod scale;
mod settle;
mod timeline;
mod types;

pub(crate) use acyclic::turned;
pub(crate) use first_fit::FirstFit;
pub(crate) use forest::without_rings;
pub use layered::layered;
pub use previous::{Hint, Previous};
pub use scale::{Break, Room, Scale, Tick};
pub use timeline::{Bar, Lane, Timeline, TimelineOptions, Track, timeline};
pub use types::{Cluster, Direction, Edge, Graph, Layout, Node, Options, Path, Point, Rect, Routing, Size};
pub(crate) use types::{index, number};

#[cfg(test)]
mod tests;
