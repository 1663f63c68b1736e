//! One file per rule; each has a specification under `specs/`. Inference has its candidates, the weighing, and the
//! verdict in files of their own.

pub(crate) mod assignment;
pub(crate) mod content_reuse;
pub(crate) mod continuation;
pub(crate) mod declared;
pub(crate) mod manual;
mod manual_ends;
pub(crate) mod returns;
pub(crate) mod sequence;
pub(crate) mod spans;
mod spawn_candidates;
pub(crate) mod spawn_chain;
pub(crate) mod spawn_ids;
pub(crate) mod spawn_inference;
pub(crate) mod spawn_parent;
mod spawn_verdict;
pub(crate) mod spawn_workflow;
pub(crate) mod told;
pub(crate) mod tool_calls;
