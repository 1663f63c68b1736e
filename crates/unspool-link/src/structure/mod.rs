//! What the links add up to: depth, runs, status, the timeline tree.

pub(crate) mod chains;
pub(crate) mod clocks;
pub(crate) mod runs;
pub(crate) mod stated_runs;
pub(crate) mod status;
mod traces;
pub(crate) mod tree;
