//! What must hold whatever bytes a decoder is given.
//!
//! In: bytes. Out: nothing, or a panic that says which property failed. Never here: how bytes are made up.

use unspool_formats::{Decoder, Detail, FORMATS, Format, Framing, Sniff};
use unspool_link::{Corpus, Table};
use unspool_model::{Batch, Outcome, Record, Timestamp};

const NAMES: &[&str] = &["s1.jsonl", "s1/subagents/agent-a1.jsonl", "s1/subagents/agent-a1.meta.json", "-"];

const FRAMINGS: &[Framing] = &[Framing::Lines, Framing::Whole, Framing::Messages];

/// A fuzz target that gives any bytes to one decoder.
#[macro_export]
macro_rules! decodes {
    ($format:literal) => {
        libfuzzer_sys::fuzz_target!(|bytes: &[u8]| $crate::decodes($format, bytes));
    };
}

/// Bytes given to the decoder of that id are records that keep what is promised of them.
///
/// # Panics
/// When they do not, or when no format has that id.
pub fn decodes(id: &str, bytes: &[u8]) {
    let format = FORMATS.iter().find(|format| format.descriptor().id == id).expect("a format has this id");
    for name in NAMES {
        for framing in FRAMINGS {
            let mut batch = Batch::default();
            read(&mut batch, *format, name, *framing, bytes);
            keeps_promises(batch, bytes);
        }
    }
}

/// Reads bytes as a stream of that format, whether or not it claims them.
pub fn read(batch: &mut Batch, format: &'static dyn Format, name: &str, framing: Framing, bytes: &[u8]) {
    let mut decoder = Decoder::new(batch, format, Sniff { score: 1, framing }, name, Detail::Full);
    decoder.push(bytes);
    decoder.finish();
}

/// Every format under every name, in one batch.
///
/// # Panics
/// When the records do not keep what is promised of them.
pub fn all_decode(bytes: &[u8]) {
    let mut batch = Batch::default();
    for format in FORMATS {
        for name in NAMES {
            for framing in FRAMINGS {
                read(&mut batch, *format, name, *framing, bytes);
            }
        }
    }
    keeps_promises(batch, bytes);
}

fn keeps_promises(batch: Batch, bytes: &[u8]) {
    records_are_numbered_and_lie_in_the_stream(&batch.records, bytes);
    for event in &batch.events {
        let record = &batch.records[event.record as usize];
        assert_eq!(record.outcome, Outcome::Stored, "a rejected record leaves no events");
    }
    let records = batch.records.len() as u64;
    let corpus = Corpus::new(batch, Table::default(), Timestamp::NONE);
    let counts = corpus.counts();
    assert_eq!(counts.records, records, "every record is counted");
    assert_eq!(records, counts.stored + counts.duplicate + counts.rejected, "every record has one outcome");
    for flow in corpus.flows() {
        for step in &flow.steps {
            assert!(!flow.witnesses_of(step).is_empty(), "a step has records");
        }
    }
}

fn records_are_numbered_and_lie_in_the_stream(records: &[Record], bytes: &[u8]) {
    for stream in records.chunk_by(|one, next| one.stream == next.stream) {
        for (ordinal, record) in stream.iter().enumerate() {
            assert_eq!(record.ordinal as usize, ordinal, "records are numbered as they come");
            let end = record.offset + u64::from(record.len);
            assert!(end <= bytes.len() as u64, "a record lies in its stream");
        }
    }
}
