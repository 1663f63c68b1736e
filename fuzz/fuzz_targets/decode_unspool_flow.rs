//! Any bytes read as `unspool-flow` are records that keep I3 and I8. Written by `cargo xtask docs`.
#![no_main]

unspool_fuzz::decodes!("unspool-flow");
