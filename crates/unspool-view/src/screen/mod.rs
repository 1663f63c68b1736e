//! What a page shows of a session, as much of it as fits: windows of its tree and timeline, its graph in place, one step whole.
//!
//! In: a flow and a question. Out: documents for the wire; their comments are the documentation of each field. Never here: HTTP, a store.

mod arrows;
mod chain;
mod graph;
mod step;
mod timeline;
mod tree;
mod words;

pub use arrows::MAX_ARROWS;
pub use chain::{ChainDoc, ChainEnd, chain};
pub use graph::{MAX_GRAPH_NODES, PlacedGraphDoc, PointDoc, RectDoc, placed_graph};
pub use step::{MAX_RECORD_BYTES, StepDetailDoc, record_content, step_detail};
pub use timeline::{MAX_TIMELINE_PX, TimelineAsked, TimelineDoc, timeline_window};
pub use tree::{MAX_TREE_ROWS, TreeAsked, TreeWindowDoc, tree_window};
pub use words::{WordsDoc, words};
