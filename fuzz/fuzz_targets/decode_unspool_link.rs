//! Any bytes read as `unspool-link` are records that keep I3 and I8. Written by `cargo xtask docs`.
#![no_main]

unspool_fuzz::decodes!("unspool-link");
