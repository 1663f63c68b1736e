//! Measures decoding and linking alone, without sums and output.
//!
//! In: a file. Out: seconds of processor time for each, best of several, and records per second for both together.

use std::io::Write;
use std::process::ExitCode;
use unspool_formats::{Decoder, Detail, best};
use unspool_link::{Corpus, Table};
use unspool_model::{Batch, Timestamp};
use unspool_testkit::timing::Stopwatch;

/// How often it is measured.
const TIMES: usize = 4;
/// How much is decoded at once, as the program itself does.
const CHUNK_BYTES: usize = 1 << 20;

fn main() -> ExitCode {
    let Some(path) = std::env::args().nth(1) else {
        say("usage: bench-link FILE");
        return ExitCode::from(2);
    };
    let Ok(bytes) = std::fs::read(&path) else {
        say(&format!("{path} cannot be read"));
        return ExitCode::FAILURE;
    };
    let head = bytes.get(..64 << 10).unwrap_or(&bytes);
    let Some((format, sniff)) = best(&path, head) else {
        say(&format!("no format recognises {path}"));
        return ExitCode::FAILURE;
    };
    let mut least: Option<(f64, f64, usize)> = None;
    for _ in 0..TIMES {
        let watch = Stopwatch::start();
        let mut batch = Batch::default();
        let mut decoder = Decoder::new(&mut batch, format, sniff, &path, Detail::Numbers);
        bytes.chunks(CHUNK_BYTES).for_each(|chunk| decoder.push(chunk));
        decoder.finish();
        let decoded_s = watch.elapsed().as_secs_f64();
        let records = batch.records.len();
        let corpus = Corpus::new(batch, Table::default(), Timestamp::NONE);
        let steps: usize = corpus.flows().map(|flow| flow.steps.len()).sum();
        std::hint::black_box(steps);
        let linked_s = watch.elapsed().as_secs_f64() - decoded_s;
        if least.is_none_or(|(decode, link, _)| decoded_s + linked_s < decode + link) {
            least = Some((decoded_s, linked_s, records));
        }
    }
    if let Some((decode, link, records)) = least {
        #[expect(clippy::cast_precision_loss, reason = "shown without digits behind the point")]
        let rate = records as f64 / (decode + link);
        say(&format!(
            "decode {decode:.2} s, link {link:.2} s: {rate:.0} records per second of processor time"
        ));
    }
    ExitCode::SUCCESS
}

fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}
