//! Any bytes read as `claude-code-transcript` are records that keep I3 and I8. Written by `cargo xtask docs`.
#![no_main]

unspool_fuzz::decodes!("claude-code-transcript");
