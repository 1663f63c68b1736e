//! The critical path: which steps made a session, run or agent take as long as it did, and how much room the others had.
//!
//! In: a flow and a scope. Out: the path with its sums, slack by step, and the wall clock under other durations. Never
//! here: guesses about causes; what waits for what comes from the flow's edges. docs/critical-path.md has the definition.

mod at_work;
mod class;
mod doc;
mod human;
mod joints;
mod left_out;
mod moments;
mod network;
mod siblings;
mod split;
mod strip;
mod what_if;

pub use class::Class;
pub use doc::{
    PathDoc, Paths, Scope, ScopeDoc, ScopePathDoc, SegmentDoc, SessionPathDoc, StepSlackDoc, session_path,
};
pub(crate) use human::said;
pub use left_out::LeftOutDoc;
pub(crate) use moments::{is_begin, step_of};
pub(crate) use network::Network;
pub(crate) use split::ratio;
pub use split::{ParallelismDoc, SplitDoc};
pub(crate) use strip::stretches;
pub use strip::{PathStripDoc, StripPartDoc, path_strip};
pub use what_if::{Change, ChangeDoc, Subject, WhatIfDoc};

#[cfg(test)]
mod tests;
