//! One file per rule; each has a specification under `specs/`.

pub(crate) mod assignment;
pub(crate) mod continuation;
pub(crate) mod returns;
pub(crate) mod sequence;
pub(crate) mod spawn_ids;
pub(crate) mod spawn_inference;
pub(crate) mod spawn_workflow;
pub(crate) mod tool_calls;
