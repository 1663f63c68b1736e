//! One file or folder per format.

pub(crate) mod claude_code;
pub(crate) mod claude_hooks;
pub(crate) mod claude_journal;
pub(crate) mod claude_meta;
pub(crate) mod claude_workflow;
