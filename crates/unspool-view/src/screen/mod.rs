//! What a page shows of a session, as much of it as fits: windows of its tree, timeline and runs, its
//! graph in place, its numbers, one step whole.
//!
//! In: a flow and a question. Out: documents for the wire; their comments are the documentation of each field. Never here: HTTP, a store.

mod arrows;
mod brief;
mod chain;
mod complete;
mod content;
mod context;
mod counted;
mod graph;
mod idle;
mod links;
mod numbers;
mod range;
mod runs;
mod step;
mod timeline;
mod tree;
mod trouble;
mod words;

pub use arrows::MAX_ARROWS;
pub use brief::EndDoc;
pub(crate) use brief::end;
pub use chain::{ChainDoc, ChainEnd, chain};
pub use content::{MAX_RECORD_BYTES, record_content};
pub use graph::{InsteadOfDoc, MAX_GRAPH_NODES, PlacedGraphDoc, PointDoc, RectDoc, placed_graph};
pub use links::{
    LinksDoc, MAX_LINK_TEXT_BYTES, Refusal, SaidDoc, Wanted, declare, kind_of, kinds, links, said, take_back,
};
pub use numbers::{MAX_NUMBER_ROWS, NumbersDoc, numbers};
pub use range::{RangeDoc, range};
pub use runs::{MAX_RUN_STEPS, MAX_RUNS, RunsAsked, RunsDoc, runs_window};
pub use step::{StepDetailDoc, step_detail};
pub(crate) use timeline::has_bar;
pub use timeline::{MAX_TIMELINE_PX, TimelineAsked, TimelineDoc, timeline_window};
pub use tree::{MAX_TREE_ROWS, TreeAsked, TreeWindowDoc, tree_window};
pub use trouble::{MAX_TROUBLED_AGENTS, TroubleDoc, trouble};
pub use words::{WordsDoc, words};

/// Puts steps into the order they began, or, where only that is known, ended.
fn sort_by_moment(flow: &unspool_model::Flow, steps: &mut [u32]) {
    unspool_model::sort_by_meaning(steps, |n| {
        let step = &flow.steps[*n as usize];
        (step.started.earlier(step.ended), *n)
    });
}
