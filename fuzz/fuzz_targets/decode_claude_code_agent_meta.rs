//! Any bytes read as `claude-code-agent-meta` are records that keep I3 and I8. Written by `cargo xtask docs`.
#![no_main]

unspool_fuzz::decodes!("claude-code-agent-meta");
