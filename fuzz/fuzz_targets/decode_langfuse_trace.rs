//! Any bytes read as `langfuse-trace` are records that keep I3 and I8. Written by `cargo xtask docs`.
#![no_main]

unspool_fuzz::decodes!("langfuse-trace");
