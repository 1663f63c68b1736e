//! Any bytes, read as every format under every kind of name, give records with outcomes and never a panic (I3),
//! and the outcomes add up (I8).
#![no_main]

use libfuzzer_sys::fuzz_target;
use unspool_formats::{Decoder, Detail, FORMATS, Framing, Sniff};
use unspool_link::{Corpus, Table};
use unspool_model::{Batch, Timestamp};

const NAMES: &[&str] = &["s1.jsonl", "s1/subagents/agent-a1.jsonl", "s1/subagents/agent-a1.meta.json", "-"];

fuzz_target!(|bytes: &[u8]| {
    let mut batch = Batch::default();
    for format in FORMATS {
        for name in NAMES {
            let framing = format.sniff(name, bytes).framing;
            for framing in [framing, Framing::Lines] {
                let sniff = Sniff { score: 1, framing };
                let mut decoder = Decoder::new(&mut batch, *format, sniff, name, Detail::Full);
                decoder.push(bytes);
                decoder.finish();
            }
        }
    }
    let corpus = Corpus::new(batch, Table::default(), Timestamp::NONE);
    let counts = corpus.counts();
    assert_eq!(counts.records, counts.stored + counts.duplicate + counts.rejected);
    for flow in corpus.flows() {
        for step in &flow.steps {
            assert!(!flow.witnesses_of(step).is_empty());
        }
    }
});
