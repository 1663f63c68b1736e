//! Any bytes, read as every format under every kind of name into one batch, give records with outcomes and never a
//! panic (I3), and the outcomes add up (I8).
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| unspool_fuzz::all_decode(bytes));
